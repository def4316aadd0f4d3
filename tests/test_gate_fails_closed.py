"""Nothing that is missing, damaged or of other samples passes, by `run` or by `compare`, and each message says what."""

import re
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from accgate import load_config
from accgate.cli.main import main
from accgate.evaluation.presence import missing_records
from accgate.planning.checks import plan_checks
from accgate.planning.design import planned_model
from tests.support.cases import each
from tests.support.gates import RIGHT, Project, questions, right_but, write_lines, write_task

N = 200
OUTSIDE = "a score outside 0 to 100 for 1 of 200 samples"
Rows = list[dict[str, Any]]


def project_of(folder: Path, *, early: bool = False) -> Project:
    """A recorded reference with a mean of 75."""
    project = Project(folder, n=N, **({"theta": 5.0, "num_samples": N} if early else {}))
    project.write(early_stopping=early)
    return project.recorded(right_but(50, N))


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return project_of(tmp_path)


def rows_of(project: Project) -> Rows:
    return [{"id": i, "score": s} for i, s in zip(project.ids(), right_but(50, N), strict=True)]


def ended(capsys, code: int) -> tuple[int, str]:
    """The exit code, and one line of everything said."""
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err
    return code, " ".join((captured.out + captured.err).split())


def assert_refused(capsys, code: int, words: str) -> None:
    """A command ended as one with bad input does, and said this."""
    code, said = ended(capsys, code)
    assert code == 2
    assert words in said


BROKEN = {  # how the recorded rows are broken, the exit code, and what is said
    "nothing": (lambda rows: rows[:0], 2, "holds no"),
    "no wrong ones": (lambda rows: [row for row in rows if row["score"]], 3, "o record of 50 of 200 samples"),
    "ids counted from one": (
        lambda rows: [row | {"id": f"{int(row['id'], 16) + 1:016x}"} for row in rows],
        2, "200 recorded samples belong to none of its tasks",
    ),
    "nulls": (lambda rows: [row if row["score"] else row | {"score": None} for row in rows], 2, "neither score nor"),
    "failed": (lambda rows: [r if r["score"] else {"id": r["id"], "error": "HTTP 500"} for r in rows], 3, "HTTP 500"),
    "one twice": (lambda rows: [*rows, rows[0] | {"score": RIGHT}], 2, "jsonl:201: id '.*' \\(repeat 0\\)"),
    "extra": (
        lambda rows: [*rows, *({"id": f"{i:016x}", "score": RIGHT} for i in range(7))],
        2, "7 recorded samples belong to none",
    ),
}  # fmt: skip


@each("kind", BROKEN)
@each("early", [False, True])
def test_run_refuses_broken_recordings(tmp_path: Path, capsys, early: bool, kind: str) -> None:
    change, expected, message = BROKEN[kind]
    project = project_of(tmp_path, early=early)
    write_lines(project.scores, change(rows_of(project)))
    capsys.readouterr()
    code, said = ended(capsys, project.run())
    assert code == expected
    assert re.search(message, said)
    if code == 3:
        assert project.check["verdict"] == "error"


def test_a_recording_behind_replicas_must_have_every_sample_and_no_others(tmp_path: Path, capsys) -> None:
    project = Project(tmp_path, n=N)
    project.models["m"] |= {"engine": "ray", "options": {"engine": "recorded"}}
    project.tasks["sums"]["target"] = 50.0
    project.write()
    write_lines(project.scores, [{"id": id_, "score": RIGHT} for id_ in project.ids()[1:]])
    config = load_config(project.config)
    (check,) = plan_checks(config)
    lacking = missing_records(planned_model(config, "m").engine(), check.task)
    assert lacking.startswith(f"no record of 1 of {N} samples: {project.ids()[0]};")
    write_lines(project.scores, [{"id": id_, "score": RIGHT} for id_ in [*project.ids(), "f" * 16]])
    assert missing_records(planned_model(config, "m").engine(), check.task) is None
    assert_refused(capsys, project.run(), "1 recorded sample belongs to none of its tasks")


@each(
    ("wrong", "failing", "max_failed", "code", "verdict"),
    [
        (50, 2, 0.01, 0, "pass"),
        (90, 2, 0.01, 1, "regression"),
        (50, 2, 0.0099, 3, "error"),
        (50, 1, 0.0, 3, "error"),
        (53, 4, 0.02, 3, "error"),  # 3 losses pass and 7 do not: the two cases disagree
    ],
)
def test_failed_samples_are_decided_both_ways_and_never_dropped(
    tmp_path: Path, wrong: int, failing: int, max_failed: float, code: int, verdict: str
) -> None:
    project = project_of(tmp_path)
    project.write(max_failed=max_failed)
    rows = [{"id": i, "score": s} for i, s in zip(project.ids(), right_but(wrong, N), strict=True)]
    for row in rows[-failing:]:
        row.update(score=None, error="HTTP 500")
    write_lines(project.scores, rows)
    assert project.run() == code
    check = project.check
    assert (check["verdict"], check["n"], check["candidate"]["n"]) == (verdict, N, N)
    if failing <= max_failed * N:
        assert check["candidate"]["errors"] == failing
        assert f"{failing} of {N} samples failed" in check["reasons"][-1]
        assert check["candidate"]["mean"] == pytest.approx(100 - 100 * (wrong + failing) / N)


def sides(folder: Path, before: Sequence[float], now: Sequence[float]) -> list[str]:
    """Two files of these scores."""
    files = []
    for name, scores in (("before", before), ("now", now)):
        rows = [{"id": f"q{i}", "score": score} for i, score in enumerate(scores)]
        files.append(str(write_lines(folder / name, rows)))
    return files


def test_one_score_far_out_of_range_does_not_hide_eighty_losses_of_a_file(tmp_path: Path, capsys) -> None:
    files = sides(tmp_path, [100.0] * 200, [*right_but(80)[:-1], 10_000.0])
    for pair in (files, files[::-1]):
        assert_refused(capsys, main(["compare", *pair]), f"{files[1]}: {OUTSIDE}: q199 (a score of 10000)")
    assert main(["compare", *files, "--bounds", "0", "10000"]) != 2  # what the user says is a score is one
    words = f"{files[0]}: a score outside 0 to 50 for 200 of 200 samples"
    assert_refused(capsys, main(["compare", *files, "--bounds", "0", "50"]), words)
    assert main(["sigma", *files]) == 2


def test_a_recorded_score_out_of_range_is_refused_with_file_id_and_value(project: Project, capsys) -> None:
    words = f"{project.scores}: sample {project.ids()[-1]} has the score 10000, which is outside 0.0 to 100.0"
    assert_refused(capsys, project.run([*right_but(50, N)[:-1], 10_000.0]), words)
    write_lines(project.scores, [row | {"attacked": -5.0} for row in rows_of(project)])
    assert_refused(capsys, project.run(args=["--resume"]), "has the score -5, which is outside")


def test_a_reference_with_a_score_out_of_range_is_refused_when_it_is_loaded(project: Project, capsys) -> None:
    (scores,) = project.store.rglob("*.scores.csv")
    file = scores.with_name(scores.name.replace(".scores.csv", ".toml"))
    lines = scores.read_text().splitlines()
    id_ = lines[1].split(",")[0]
    changed = "\n".join([lines[0], f"{id_},0,10000", *lines[2:]]) + "\n"
    scores.write_text(changed)
    values = [float(line.split(",")[2]) for line in changed.splitlines()[1:]]
    text = re.sub(r"(?m)^mean = .*$", f"mean = {sum(values) / N}", file.read_text())
    file.write_text(re.sub(r'scores_sha256 = ".*"', f'scores_sha256 = "{sha256(changed.encode()).hexdigest()}"', text))
    for command in ("plan", "validate"):
        assert_refused(capsys, main([command, str(project.config)]), f"{scores}: {OUTSIDE}: {id_} (a score of 10000)")
    assert ended(capsys, project.run(right_but(50, N)))[0] == 2


@each("keys", [{"reference": 4400.0, "reference_num_samples": 100}, {"target": 4400.0}])
def test_a_mean_out_of_range_is_refused_with_its_line(tmp_path: Path, keys: dict[str, Any], capsys) -> None:
    project = Project(tmp_path, n=N, **keys)
    project.answer(right_but(50, N))
    code, said = ended(capsys, main(["validate", str(project.config)]))
    assert code == 2
    assert re.search(rf"accuracy\.toml:\d+: tasks\.sums\.{next(iter(keys))}: is 4400, outside 0\.0 to 100\.0", said)


def test_shards_with_a_score_out_of_range_are_not_merged(project: Project, capsys) -> None:
    parts = []
    project.answer(right_but(50, N))
    for index in (1, 2):
        parts.append(project.folder / f"part{index}")
        arguments = ["run", str(project.config), "--out", str(parts[-1]), "--shard", f"{index}/2"]
        assert ended(capsys, main(arguments))[0] == 0
    path = next(parts[1].rglob("sums.jsonl"))
    path.write_text(path.read_text().replace('"score":0.0', '"score":10000.0', 1))
    command = ["merge", *map(str, parts), "--config", str(project.config), "--out", str(project.out)]
    code, said = ended(capsys, main(command))
    assert code == 2
    assert re.search(rf"{re.escape(str(path))}: a score outside 0 to 100 for 1 of \d+ samples: \w+ \(a score of", said)


@each("early", [False, True])
def test_a_reference_at_zero_never_lets_a_run_pass(tmp_path: Path, early: bool) -> None:
    """What never matches scores 0 for ever, and could never be a regression."""
    project = Project(tmp_path, n=N, theta=5.0, num_samples=N)
    project.write(early_stopping=early)
    assert project.record([0.0] * N, args=["--accept-low"]) == 0
    assert project.run([100.0] * N) == 4
    assert project.check["verdict"] == "inconclusive"


@each(("chance", "code"), [(70.0, 0), (73.0, 4)])
def test_a_reference_at_chance_level_is_inconclusive_and_says_so(tmp_path: Path, chance: float, code: int) -> None:
    project = Project(tmp_path, n=N, theta=4.0, num_samples=N)
    write_task(project.folder, chance=chance, rows=questions(N))
    assert project.record(right_but(50, N), args=["--accept-low"]) == 0
    assert project.run(right_but(50, N)) == code
    assert ("2.00 points from chance level (73)" in " ".join(project.check["reasons"])) == (code == 4)
    assert project.check["theta"] is not None


def test_a_plan_of_too_few_samples_names_no_impossible_theta(tmp_path: Path, capsys) -> None:
    project = Project(tmp_path, n=4).recorded([RIGHT] * 4)
    assert main(["plan", str(project.config)]) == 0
    assert "4 samples: no drop can be seen on so few" in capsys.readouterr().out
    assert main(["plan", str(project.config), "--json"]) == 0
    assert '"theta": null' in capsys.readouterr().out
    assert project.run([0.0] * 4) == 4
    assert main(["report", str(project.out / "accgate.json"), "--html", str(tmp_path / "r.html")]) == 0
    page = (tmp_path / "r.html").read_text()
    assert "no drop can be seen" in page.lower()
    assert "154.5" not in page
