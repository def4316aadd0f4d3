"""A user's own groups, from a column of the dataset to the report, by whole runs of the gate."""

import re
from pathlib import Path
from typing import Any

import pytest

from accgate.cli.main import main
from tests.support.cases import each
from tests.support.gates import RIGHT, WRONG, Project, said, write_lines, write_task
from tests.support.loading import load_task

N = 240
SUBJECTS = ("law", "art", "bio", "gym")


def project_of(folder: Path, *, column: str | None = "subject", early: bool = False) -> Project:
    """A project of 240 questions on four subjects, in turn."""
    project = Project(folder, n=N, **({"theta": 5.0} if early else {}))
    project.gate["early_stopping"] = early
    project.write()
    write(folder, column)
    return project


def write(folder: Path, column: str | None) -> None:
    rows = [{"q": f"What is {i} + {i}?", "a": 2 * i, "subject": SUBJECTS[i % 4], "level": str(i % 3)} for i in range(N)]
    write_task(folder, "sums", rows, **({} if column is None else {"columns__group": column}))


def scores(project: Project, fallen: str, share: int = 2) -> list[float]:
    """All right, but for every second (or so) question of one subject."""
    samples = load_task("sums", file=project.folder / "sums.toml").samples
    number = [int(re.findall(r"\d+", sample.prompt)[0]) for sample in samples]
    return [WRONG if SUBJECTS[i % 4] == fallen and i // 4 % share == 0 else RIGHT for i in number]


def test_a_column_of_the_users_own_data_gives_a_table_of_groups(tmp_path: Path, capsys) -> None:
    project = project_of(tmp_path)
    project.recorded([RIGHT] * N)
    assert project.run(scores(project, "bio")) == 1
    groups = project.check["groups"]
    assert (groups["count"], groups["any_stop"], len(groups["rows"])) == (4, False, 4)
    first = groups["rows"][0]
    assert [first[key] for key in ("name", "n", "lost", "difference", "stands_out")] == ["bio", 60, 30, -50.0, True]
    assert main(["report", str(project.out), "--check", "sums"]) == 0
    out = capsys.readouterr().out
    assert "1 of 4 groups stands out: bio fell by 50.0 points" in " ".join(out.split())
    assert re.search(r"^bio +60 +−50.0 \*", out, re.MULTILINE)
    assert "| bio | 60 |" in (project.out / "report.md").read_text(encoding="utf-8")


def test_groups_that_changed_since_the_reference_are_refused_before_anything_is_asked(tmp_path: Path, capsys) -> None:
    project = project_of(tmp_path)
    project.recorded([RIGHT] * N)
    write(tmp_path, "level")
    capsys.readouterr()
    assert project.run([RIGHT] * N) == 2
    assert "m/sums.toml: the group of 240 of 240 samples changed" in said(capsys)
    assert not list(project.out.glob("m/*.jsonl"))


def test_a_reference_from_before_the_column_was_named_still_pairs(tmp_path: Path) -> None:
    project = project_of(tmp_path, column=None)
    project.recorded([RIGHT] * N)
    write(tmp_path, "subject")
    assert project.run(scores(project, "gym")) == 1
    assert project.check["groups"]["rows"][0]["name"] == "gym"
    write(tmp_path, None)
    assert project.run() == 1
    assert project.check["groups"] is None


def test_two_files_with_a_column_of_groups_are_compared_by_group(tmp_path: Path, capsys) -> None:
    rows = [{"id": str(i), "score": 100, "group": SUBJECTS[i % 4]} for i in range(N)]
    before = write_lines(tmp_path / "before.jsonl", rows)
    worse = [{**row, "score": 0 if i % 8 == 0 else 100} for i, row in enumerate(rows)]
    now = write_lines(tmp_path / "now.jsonl", worse)
    assert main(["compare", str(before), str(now)]) == 1
    assert "1 of 4 groups stands out: law fell by 50.0 points" in " ".join(capsys.readouterr().out.split())
    write_lines(now, [{**row, "group": ["law"]} for row in rows])
    assert main(["compare", str(before), str(now)]) == 2
    assert "now.jsonl:1: group is [" in said(capsys)


@pytest.mark.parametrize(("groups", "code", "verdict"), [("report", 0, "pass"), ("fail", 1, "regression")])
def test_a_group_that_falls_while_the_mean_stands_fails_where_the_rules_say_so(
    tmp_path: Path, capsys, groups: str, code: int, verdict: str
) -> None:
    project = project_of(tmp_path)
    project.write(groups=groups)
    wrong = scores(project, "law", 2)  # half of law is wrong in the reference
    assert project.record(wrong) == 0
    assert project.run(scores(project, "bio", 2)) == code  # and half of bio is now, so that the mean stands
    check = project.check
    assert (check["difference"], check["verdict"]) == (0.0, verdict)
    shares = (0.005, 0.045) if groups == "fail" else (0.0, 0.05)
    assert (project.result["allowed"]["groups"], check["alpha_applied"]) == pytest.approx(shares)
    capsys.readouterr()
    assert main(["report", str(project.out), "--check", "sums"]) == 0
    decides = "A group that fell by more than chance explains fails the check."
    assert (decides in " ".join(capsys.readouterr().out.split())) is (groups == "fail")
    assert main(["report", str(project.out)]) == 0
    if groups == "fail":
        (fell,) = [row["name"] for row in check["groups"]["rows"] if row["outcome"] == "regression"]
        assert (fell, check["by_scores"]) == ("bio", "pass")
        assert "the group bio fell, 100.0 to 50.0 on 60 samples" in " ".join(capsys.readouterr().out.split())


def test_where_no_group_is_large_enough_to_fail_nothing_passes(tmp_path: Path, capsys) -> None:
    project = project_of(tmp_path)
    rows = [{"q": f"What is {i} + {i}?", "a": 2 * i, "subject": f"s{i % 60}"} for i in range(N)]  # four of each
    write_task(project.folder, "sums", rows, columns__group="subject")
    project.write(groups="fail")
    assert project.recorded([RIGHT] * N).run() == 4
    assert "none of 60 groups has enough right answers to fail" in " ".join(capsys.readouterr().out.split())


def test_groups_that_can_fail_need_all_samples(tmp_path: Path) -> None:
    project = project_of(tmp_path, early=True)
    project.write(groups="fail")
    assert project.recorded([RIGHT] * N).run() == 0
    assert (project.check["n"], project.check["stop"]) == (N, None)


IDLE = {
    "groups": 'No task has groups, so groups = "fail" fails nothing.',
    "drift": 'No reference has scores of single samples, so drift = "fail" fails nothing.',
}


@each(
    ("gate", "column", "keys", "idle"),
    [
        ({"groups": "fail"}, None, {}, ["groups"]),
        ({"groups": "fail"}, "subject", {}, []),
        ({"groups": "report"}, None, {}, []),
        ({"drift": "fail"}, None, {"reference": 60.0, "reference_num_samples": 500}, ["drift"]),
        ({"drift": "fail"}, None, {}, []),  # a reference to come can have them
        ({"drift": "fail", "groups": "fail"}, None, {"target": 60.0}, ["groups", "drift"]),
    ],
)
def test_what_can_fail_nothing_is_said_before_a_run(tmp_path: Path, capsys, gate: Any, column: Any, keys, idle) -> None:
    project = project_of(tmp_path, column=column)
    project.tasks["sums"] |= keys
    project.write(**gate)
    project.answer([RIGHT] * N)
    for command in ("validate", "plan"):
        assert main([command, str(project.config)]) == 0
        out = " ".join(capsys.readouterr().out.split())
        assert [name for name, sentence in IDLE.items() if sentence in out] == idle
