"""A dataset that gains rows: runs decide on what has a reference, and `record --add-rows` asks only what is new."""

import contextlib
import re
from pathlib import Path
from typing import Any

import pytest

from accgate import load_config
from accgate.cli.main import main
from accgate.planning.checks import plan_checks
from accgate.records.file import paths_of
from accgate.records.log import read_log
from tests.references.projects import N, answers_of_runs, damage, reference_of
from tests.support.gates import Project, questions, refused, right_but, said, write_lines, write_task

MORE = 10


def test_a_run_decides_on_the_rows_that_have_a_reference_and_says_so(project: Project) -> None:
    write_task(project.folder, rows=questions(N + MORE))
    assert project.run(right_but(0, N + MORE)) == 0
    check = project.check
    assert check["n"] == check["reference"]["n"] == N
    said = "40 of 50 questions have a reference; the others were added later and are not compared"
    assert any(reason.startswith(said) for reason in check["reasons"])
    write_task(project.folder, rows=questions(N))
    assert project.run(right_but(0, N)) == 0
    assert not any("have a reference" in reason for reason in project.check["reasons"])


def test_a_number_of_samples_is_met_by_recorded_rows_whatever_was_added(project: Project) -> None:
    """Added rows cannot thin out those that are compared."""
    project.tasks["sums"]["num_samples"] = 30
    project.write()
    write_task(project.folder, rows=questions(N + 400))
    (check,) = plan_checks(load_config(project.config))
    known = reference_of(project).scores.ids
    assert check.n == 30
    assert not check.task.samples.ids.without(known)


def test_compare_takes_the_common_samples_where_the_dataset_may_differ(tmp_path: Path, capsys) -> None:
    sides = [
        write_lines(tmp_path / f"{n}.jsonl", [{"id": f"q{i}", "score": 100.0} for i in range(n)]) for n in (20, 25)
    ]
    allowed = ["--may-differ", "dataset"]
    assert "5 not in the reference" in refused(capsys, main(["compare", *map(str, sides)]))
    assert main(["compare", *map(str, sides), *allowed]) == 0
    assert "20 of 25 samples have a reference; only these are compared" in said(capsys)
    assert main(["compare", *map(str, reversed(sides)), *allowed]) == 2  # the candidate lacks some


LOST = {
    "a row deleted": questions(N - 1),
    "one row deleted and many added": questions(N + MORE, start=1),
    "an answer changed": [*questions(N - 1), {"q": "What is 39 + 39?", "a": 79}, *questions(MORE, start=N)],
}


@pytest.mark.parametrize("rows", LOST.values(), ids=LOST)
def test_rows_that_changed_or_went_are_refused_by_run_and_by_add_rows(
    project: Project, capsys, rows: list[dict[str, Any]]
) -> None:
    write_task(project.folder, rows=rows)
    assert "the dataset changed since" in refused(capsys, project.run())
    assert project.record(args=["--add-rows"]) == 2
    assert re.search(r"cannot be added: the dataset lacks 1 of the reference's 40: \w+", said(capsys))


def test_add_rows_asks_only_the_new_rows_and_keeps_what_was_recorded(project: Project) -> None:
    assert project.record(right_but(4, N), args=["--reason", "new weights"]) == 0
    damage(project.store / "m/sums.toml", "n = 40\n", "n = 40\ndiscordance = 0.05\n")  # as `--check` measures it
    before = reference_of(project)
    write_task(project.folder, rows=questions(N + MORE))
    wrong = right_but(N + MORE, N + MORE)  # the old rows would be wrong too if they were asked
    assert project.record(wrong, args=["--add-rows"]) == 0
    after = reference_of(project)
    assert after.scores.n == N + MORE
    assert {record.repeat for record in after.records()} == {0}
    assert after.scores.take(before.scores.ids).values.tolist() == before.scores.values.tolist()
    assert after.about.mean == pytest.approx(100 * (N - 4) / (N + MORE))
    same = ("runs", "repeats", "reason", "replaced", "anchor", "runs_sha256", "discordance")
    assert [getattr(after.about, name) for name in same] == [getattr(before.about, name) for name in same]
    asked = read_log(paths_of(sorted(project.folder.glob("record-out-*"))[-1], "m", "sums").records)
    assert len(asked) == MORE
    assert project.run(right_but(0, N + MORE)) == 0
    assert project.check["n"] == N + MORE


def test_new_rows_are_asked_as_often_as_the_others(project: Project) -> None:
    assert project.record(right_but(4, N), args=["--add"]) == 0
    write_task(project.folder, rows=questions(N + MORE))
    write_lines(project.scores, answers_of_runs(project, [right_but(0, N + MORE)] * 2))
    assert project.record(args=["--add-rows"]) == 0
    assert reference_of(project).scores.values.shape == (N + MORE, 2)
    assert (reference_of(project).about.runs, reference_of(project).about.repeats) == (2, 2)


REFUSED: dict[str, tuple[dict[str, Any], list[str], str]] = {
    "nothing new": ({}, [], "there is no row to add"),
    "another prompt": ({"prompt": "Now: {{ q }}"}, [], "the prompt changed since"),
    "another model": ({"model": {"sampling": {"temperature": 0.5}}}, [], "sampling.temperature: 0.0 → 0.5"),
    "runs": ({}, ["--runs", "2"], "leave --runs out"),
    "a shard": ({}, ["--shard", "1/2"], "leave --add, --add-rows and --missing out"),
}


@pytest.mark.parametrize(("change", "options", "message"), REFUSED.values(), ids=REFUSED)
def test_add_rows_is_refused(
    project: Project, capsys, change: dict[str, Any], options: list[str], message: str
) -> None:
    if change:
        project.models["m"] |= change.pop("model", {})
        project.write()
        write_task(project.folder, rows=questions(N + MORE), **change)
    with contextlib.suppress(SystemExit):
        assert project.record(args=["--add-rows", *options]) == 2
    assert message in said(capsys)
