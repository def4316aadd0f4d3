"""Runs pooled into one reference: every run counts, numbered on, and only runs of the same samples."""

import csv
import gzip
import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from accgate.cli.main import main
from accgate.records.file import Record
from accgate.references.store import ReferenceFile, read_reference
from accgate.references.writer import has_runs, write_reference
from accgate.stats.mcnemar import mcnemar_power
from tests.references.projects import N, answers_of_runs, record_into, reference_of
from tests.support.gates import Project, contents, questions, refused, right_but, said, write_lines, write_task


def rows_of(project: Project) -> list[dict[str, str]]:
    with (project.store / "m/sums.scores.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_an_added_run_is_further_repeats_of_the_same_samples(project: Project, capsys) -> None:
    assert project.record(right_but(4, N, start=8), args=["--add"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"added to {project.store / 'm/sums.toml'}"
    reference, rows = reference_of(project), rows_of(project)
    assert reference.scores is not None
    assert [(row["id"], row["repeat"]) for row in rows] == [(i, r) for i in sorted(project.ids()) for r in "01"]
    got = dict(zip(reference.scores.ids, reference.scores.values.tolist(), strict=True))
    assert got == {
        i: list(pair)
        for i, pair in zip(project.ids(), zip(right_but(10, N), right_but(4, N, start=8), strict=True), strict=True)
    }
    average = np.mean([right_but(10, N), right_but(4, N, start=8)], axis=0)
    about = reference.about
    assert (about.n, about.repeats, about.runs) == (N, 2, 2)
    assert about.mean == pytest.approx(average.mean())
    assert about.sigma == pytest.approx(average.std(ddof=1))
    assert len(set(about.runs_sha256)) == 2
    assert project.run() == 0


def test_repeats_are_numbered_on_and_discordance_is_the_share_of_pairs_that_differ(tmp_path: Path) -> None:
    project = Project(tmp_path, n=2, repeats=2)
    for number, runs in enumerate([[(100, 100), (0, 100)], [(100, 100), (100, 100)], [(0, 100), (0, 100)]]):
        write_lines(project.scores, answers_of_runs(project, runs))
        assert project.record(args=["--add"] if number else []) == 0
    about = reference_of(project).about
    assert (about.repeats, about.runs) == (6, 3)
    assert Counter(row["repeat"] for row in rows_of(project)) == {str(r): 2 for r in range(6)}
    assert about.discordance == pytest.approx((9 / 15 + 0) / 2)  # 3 right and 3 wrong: 9 of 15 pairs differ


def test_one_repeat_or_partial_scores_have_no_discordance(project: Project) -> None:
    assert reference_of(project).about.discordance is None
    project.tasks["sums"]["repeats"] = 2
    project.write()
    write_lines(project.scores, answers_of_runs(project, [[30.0] * N, [31.0] * N]))
    assert project.record(args=["--reason", "graded"]) == 0
    about = reference_of(project).about
    assert (about.repeats, about.discordance) == (2, None)


def test_the_plan_takes_the_discordance_that_repeats_showed(project: Project, capsys) -> None:
    assert project.record(right_but(10, N, start=4), args=["--add"]) == 0
    capsys.readouterr()
    assert main(["plan", str(project.config), "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert reference_of(project).about.discordance == pytest.approx(8 / N)
    noise = 8 / N * (1 / 2 + 1 / 1) / 2  # of two answers against one, for one against one
    assert mcnemar_power(N, row["theta"], discordance=noise, alpha=0.05) == pytest.approx(0.8, abs=1e-3)


def test_a_worse_run_counts_like_a_better_one_and_the_reason_of_a_replacement_stays(project: Project) -> None:
    assert project.record(right_but(8, N), args=["--reason", "new weights"]) == 0
    assert project.record(right_but(30, N), args=["--add"]) == 0
    assert project.record(right_but(2, N), args=["--add"]) == 0
    about = reference_of(project).about
    assert about.mean == pytest.approx(100 * (32 + 10 + 38) / (3 * N))
    assert (about.reason, about.replaced["mean"], about.runs) == ("new weights", 75.0, 3)


def test_adding_to_nothing_is_refused_before_anything_is_evaluated(tmp_path: Path, capsys) -> None:
    project = Project(tmp_path, n=N)
    project.scores.write_text("not even read")
    assert "there is no reference to add to" in refused(capsys, project.record(args=["--add"]))
    assert not project.store.exists()


def test_an_added_run_takes_no_reason(project: Project, capsys) -> None:
    with pytest.raises(SystemExit, match="2"):
        project.record(args=["--add", "--reason", "lucky"])
    assert "not allowed with argument" in said(capsys)


OTHER: tuple[dict[str, Any], ...] = (
    {"rows": questions(N + 2)}, {"rows": questions(N, start=1)}, {"metric": "exact_match"}, {"prompt": "Now: {{ q }}"},
)  # fmt: skip


def test_a_run_of_other_samples_or_another_task_is_not_added(
    project: Project, capsys, messages: SnapshotAssertion
) -> None:
    def refusal() -> str:
        said(capsys)
        assert project.record(right_but(0, N), args=["--add"]) == 2
        assert contents(project.store) == before
        return re.sub(r"since 20[-0-9]*", "since DATE", said(capsys))

    before, faults = contents(project.store), []
    for keys in OTHER:
        write_task(project.folder, **{"rows": questions(N)} | keys)
        faults.append(refusal())
    write_task(project.folder, rows=questions(N))
    project.tasks["sums"]["num_samples"] = 15
    project.write()
    assert [*faults, refusal()] == messages


def test_replies_of_every_run_stay_beside_their_scores(tmp_path: Path) -> None:
    project = Project(tmp_path, n=2)
    for number, extra in enumerate(([], ["--add"], ["--add", "--no-replies"])):
        write_lines(project.scores, [{"id": i, "reply": str(number)} for i in project.ids()])
        assert project.record(args=["--accept-low", *extra]) == 0
    assert {r.key: r.reply for r in reference_of(project).kept_records() if r.reply} == {
        (i, r): str(r) for i in project.ids() for r in (0, 1)
    }
    sidecar = project.store / "m/sums.replies.jsonl.gz"
    assert [json.loads(line)["repeat"] for line in gzip.decompress(sidecar.read_bytes()).splitlines()] == [0, 1, 0, 1]
    assert reference_of(project).about.repeats == 3
    assert project.record(args=["--accept-low", "--no-replies", "--reason", "smaller"]) == 0
    assert not sidecar.exists()


def test_a_run_with_other_clusters_is_not_added(project: Project, capsys) -> None:
    write_task(project.folder, rows=questions(N), columns__cluster="page")
    assert "between repeats of 40 of 40 samples" in refused(capsys, project.record(right_but(10, N), args=["--add"]))


def test_what_ran_is_listed_where_runs_differ_in_it(project: Project) -> None:
    for number in ("two", "three", "two"):
        project.models["m"]["model"] = f"{number}.jsonl"
        project.write()
        project.answer(right_but(9, N), path=project.folder / f"{number}.jsonl")
        assert project.record(args=["--add"]) == 0
    about = reference_of(project).about
    assert (about.engine, about.engine_version, about.runs) == ("recorded", "m.jsonl; two.jsonl; three.jsonl", 4)


@pytest.mark.parametrize(
    ("recorded", "repeats", "said_of_it"),
    [
        (1, 1, "set repeats = 4 or more and record again"),
        (1, 4, "the reference has 1 repeat of each sample; add runs with `accgate record --add`"),
        (4, 4, None),
    ],
)
def test_sampled_replies_want_four_repeats_of_run_and_reference(
    project: Project, recorded: int, repeats: int, said_of_it: str | None
) -> None:
    for _ in range(recorded - 1):
        assert project.record(right_but(10, N), args=["--add"]) == 0
    project.models["m"]["sampling"] = {"temperature": 0.7}
    project.tasks["sums"]["repeats"] = repeats
    project.write()
    write_lines(project.scores, answers_of_runs(project, [right_but(10, N)] * repeats))
    assert project.run() == 0
    wanted = f"at temperature 0.7 pairing holds only for averages: {said_of_it}"
    assert [r for r in project.check["reasons"] if "repeat" in r] == ([wanted] if said_of_it else [])


OWN: dict[str, Any] = {"samples_per_second": None, "runs_sha256": ()}  # differs from run to run


def two_projects(folder: Path) -> list[Project]:
    for name in ("one", "other"):
        (folder / name).mkdir()
    return [Project(folder / name, n=N) for name in ("one", "other")]


def test_four_runs_at_once_are_one_to_which_three_were_added(tmp_path: Path) -> None:
    runs = [right_but(10 - k, N, start=k) for k in range(4)]
    single, several = two_projects(tmp_path)
    for number, scores in enumerate(runs):
        assert single.record(scores, args=["--add"] if number else []) == 0
    write_lines(several.scores, answers_of_runs(several, runs))
    assert several.record(args=["--runs", "4"]) == 0
    assert (several.store / "m/sums.scores.csv").read_bytes() == (single.store / "m/sums.scores.csv").read_bytes()
    added, at_once = reference_of(single).about, reference_of(several).about
    assert (at_once.runs, at_once.repeats, len(set(at_once.runs_sha256))) == (4, 4, 4)
    assert replace(at_once, **OWN) == replace(added, **OWN)
    assert several.run(runs[0]) == 0
    assert several.check["test"] == "paired"


def test_several_runs_are_added_and_resumed_as_one(tmp_path: Path, capsys) -> None:
    project = Project(tmp_path, n=N)
    write_lines(project.scores, answers_of_runs(project, [right_but(k, N) for k in range(3)]))
    assert project.record(args=["--runs", "2"]) == 0
    again = ("again", "--add", "--runs")
    assert record_into(project, *again, "3") == 0
    assert (reference_of(project).about.runs, reference_of(project).about.repeats) == (5, 5)
    assert "every run is in its reference already" in refused(capsys, record_into(project, *again, "3", "--resume"))
    with pytest.raises(SystemExit, match="2"):
        record_into(project, *again, "0")
    assert "--runs: '0' is not a number of 1 or more" in said(capsys)


def test_each_of_several_runs_is_known_again_alone(tmp_path: Path) -> None:
    runs = [Record(i, r, 10.0 * r, "", None, None, None, None, None, 0.0, None) for i in "ba" for r in range(4)]
    about = ReferenceFile(model="m", task="t", mean=15.0, n=2)
    reference = read_reference(write_reference(tmp_path, about, runs, reason=None, replies=False, runs=2))
    second = [replace(record, repeat=record.repeat - 2) for record in runs[::-1] if record.repeat >= 2]
    assert reference is not None
    assert has_runs(reference, second, 1)
    assert not has_runs(reference, [*second[:-1], replace(second[-1], score=0.0)], 1)


def test_a_check_against_itself_keeps_the_first_run_and_what_the_second_changed(tmp_path: Path, capsys) -> None:
    once, twice = two_projects(tmp_path)
    assert once.record(right_but(10, N)) == 0
    write_lines(twice.scores, answers_of_runs(twice, [right_but(10, N), right_but(4, N)]))
    assert twice.record(args=["--check"]) == 0
    assert f"two runs differ in {100 * 6 / N:.3g}% of the scores" in capsys.readouterr().out
    plain, checked = reference_of(once).about, reference_of(twice).about
    assert checked.discordance == 6 / N
    assert replace(checked, discordance=None, **OWN) == replace(plain, **OWN)
    assert (twice.store / "m/sums.scores.csv").read_bytes() == (once.store / "m/sums.scores.csv").read_bytes()
    assert twice.run(right_but(10, N)) == 0
    for more in (["--add"], ["--runs", "2"]):
        assert "--check evaluates all twice" in refused(capsys, twice.record(args=["--check", *more]))
