"""References whose writing is disturbed, by a full disk, an end or another command: whole, and each run counts once."""

import contextlib
import errno
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from accgate import record as recording
from accgate.errors import AccgateError, CannotEvaluate
from accgate.evaluation.assignment import RunOptions
from accgate.evaluation.run import evaluate_checks
from accgate.references.writer import add_runs
from tests.records.test_file import disk_of
from tests.references.projects import N, answers_of_runs, record_into, reference_of
from tests.support.gates import Project, contents, refused, right_but, said, write_lines


def test_a_store_that_cannot_be_written_is_refused_before_anything_is_asked(project: Project, capsys) -> None:
    project.models["other"] = project.models["m"]
    project.write()
    (project.store / "other").write_text("in the way")
    assert f"{project.store / 'other'}: is a file;" in refused(capsys, project.record(args=["--models", "other"]))
    assert not list(project.folder.glob("record-out-*/other"))


def test_a_full_disk_names_the_file_of_the_reference(project: Project) -> None:
    reference = reference_of(project)
    fault = r"sums\.scores\.csv: cannot be written: File too large"
    with disk_of(300), pytest.raises(CannotEvaluate, match=fault):
        add_runs(reference, reference.about, list(reference.records()), replies=False)


def test_a_finished_run_that_is_resumed_is_not_counted_twice(tmp_path: Path, capsys) -> None:
    project = Project(tmp_path, n=N)
    assert project.record(right_but(10, N)) == 0  # which is run, and not copied
    assert record_into(project, "again", "--add") == 0
    before = contents(project.store)
    for out in ("again", "record-out-0"):  # nor the run that the reference began with
        assert record_into(project, out, "--add", "--resume") == 2
        assert "reference already; leave out --resume" in said(capsys)
    assert contents(project.store) == before
    assert record_into(project, "again", "--add") == 0
    assert reference_of(project).about.runs == 3


@pytest.mark.parametrize("args", [["--add"], ["--reason", "again"]])
def test_a_reference_stays_whole_where_a_later_file_of_it_cannot_be_written(
    project: Project, args: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    before, real, calls = contents(project.store), os.fsync, 0

    def failing_in_the_store(file: int) -> None:
        nonlocal calls
        if any(path.stat().st_ino == os.fstat(file).st_ino for path in project.store.rglob("*.part")):
            calls += 1
            if calls == until:
                raise OSError(errno.EIO, os.strerror(errno.EIO))
        real(file)

    until = 0
    monkeypatch.setattr(os, "fsync", failing_in_the_store)
    for until in range(1, 10):  # noqa: B007 (read by the function)
        calls = 0
        if project.record(right_but(4, N), args=args) == 0:
            break
        assert contents(project.store) == before
    assert until > 2
    assert reference_of(project).scores is not None


@pytest.mark.parametrize("has_links", [True, False])
@pytest.mark.parametrize("args", [["--add"], ["--reason", "again"]])
def test_a_reference_stays_whole_where_a_later_file_of_it_cannot_take_its_place(
    project: Project, args: list[str], has_links: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def has_none(*_: Any) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    if not has_links:
        monkeypatch.setattr(os, "link", has_none)
    (replies,) = project.store.rglob("*.replies.jsonl.gz")
    replies.unlink()
    (replies / "in the way").mkdir(parents=True)
    before = contents(project.store)
    assert project.record(right_but(4, N), args=args) == 3
    assert contents(project.store) == before
    (replies / "in the way").rmdir()
    replies.rmdir()
    assert project.record(right_but(4, N), args=args) == 0
    assert not list(project.store.rglob("*.old"))


def test_a_link_in_the_way_of_a_reference_leads_nothing_elsewhere(project: Project, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("precious")
    for name in ("sums.toml.part", "sums.scores.csv.old"):
        (project.store / "m" / name).symlink_to(elsewhere)
    (project.store / "m/sums.toml.old").mkdir()  # which cannot be removed, and is no error of the writing
    assert project.record(right_but(4, N), args=["--add"]) == 0
    assert elsewhere.read_text() == "precious"
    assert not [path for path in project.store.rglob("*") if path.is_symlink()]
    assert reference_of(project).about.runs == 2


@pytest.mark.parametrize("args", [[], ["--reason", "again"], ["--check"]])
def test_a_recording_of_which_some_references_were_written_goes_on(tmp_path: Path, args: list[str], capsys) -> None:
    project = Project(tmp_path, tasks=("sums", "more"), n=N)
    if "--reason" in args:
        project.recorded(right_but(8, N), right_but(8, N))
    rows = [
        {"id": id_, "repeat": repeat, "score": score}
        for task in project.tasks
        for id_, score in zip(project.ids(task), right_but(4, N), strict=True)
        for repeat in range(1 + ("--check" in args))
    ]
    write_lines(project.scores, rows[:-1])  # the last sample of the second task has no score
    assert record_into(project, "again", *args) == 3
    written = contents(project.store / "m")
    write_lines(project.scores, rows)
    assert record_into(project, "again", *args, "--resume") == 0
    means = [reference_of(project, task).about.mean for task in project.tasks]
    assert means == pytest.approx([100 * (1 - 4 / N)] * 2)
    now = contents(project.store / "m")
    assert all(now[path] == content for path, content in written.items() if path.name.startswith("sums."))
    assert "every run is in its reference already" in refused(capsys, record_into(project, "again", *args, "--resume"))
    assert contents(project.store / "m") == now


def end_beside(patch: pytest.MonkeyPatch, other: Callable[[], int]) -> None:
    """Have another command run and end, once the next evaluation has."""
    others = [other]

    def beside_another(*args: Any, **keys: Any) -> Any:
        evaluated = evaluate_checks(*args, **keys)
        if others:
            assert others.pop()() == 0
        return evaluated

    patch.setattr(recording, "evaluate_checks", beside_another)


def write_at_once(patch: pytest.MonkeyPatch, name: str) -> None:
    """Have this function of recordings wait until two call it."""
    write, both = getattr(recording, name), threading.Barrier(2)

    def once_both_do(*args: Any, **keys: Any) -> Any:
        with contextlib.suppress(threading.BrokenBarrierError):
            both.wait(0.5)
        return write(*args, **keys)

    patch.setattr(recording, name, once_both_do)


def test_two_runs_that_are_written_at_the_same_moment_both_count(
    tmp_path: Path, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_at_once(monkeypatch, "add_runs")
    project.answer(right_but(4, N))
    add = recording.Recording(add=True)
    with ThreadPoolExecutor(2) as runs:
        list(runs.map(lambda out: recording.record(project.config, RunOptions(tmp_path / out), add), ("one", "other")))
    assert reference_of(project).about.runs == 3


def test_of_two_first_references_that_are_written_at_the_same_moment_one_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new = Project(tmp_path, n=N)
    new.answer(right_but(4, N))

    def record(out: str) -> str:
        try:
            return str(recording.record(new.config, RunOptions(tmp_path / out), recording.Recording()))
        except AccgateError as error:
            return str(error)

    write_at_once(monkeypatch, "write_reference")
    with ThreadPoolExecutor(2) as runs:
        ends = sorted(runs.map(record, ("one", "other")))
    assert ends[1] == str([new.store / "m/sums.toml"])
    assert "a reference exists; say with --reason TEXT why it is replaced" in ends[0]
    assert reference_of(new).about.runs == 1


def test_a_recording_in_the_folder_of_a_run_leaves_no_verdict_beside_its_records(project: Project) -> None:
    assert project.run(right_but(10, N)) == 0
    project.answer(right_but(20, N))
    assert record_into(project, "out") == 2  # nothing is asked without a reason
    assert project.check["verdict"] == "pass"
    assert record_into(project, "out", "--reason", "again") == 0
    assert not (project.out / "accgate.json").exists()
    assert not (project.out / "report.md").exists()
    rows = answers_of_runs(project, [right_but(9, N)])
    write_lines(project.scores, [*rows[:-1], {**rows[-1], "score": None, "error": "no answer"}])
    assert project.run() == 3
    write_lines(project.scores, rows)
    assert record_into(project, "out", "--resume", "--reason", "again") == 0
    assert not (project.out / "accgate.json").exists()


def test_a_run_that_two_commands_resume_is_added_once(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    def is_killed(*_: Any, **__: Any) -> Path:
        raise KeyboardInterrupt

    project.answer(right_but(4, N))
    with monkeypatch.context() as patch:
        patch.setattr(recording, "add_runs", is_killed)
        assert record_into(project, "again", "--add") == 130
    end_beside(monkeypatch, lambda: record_into(project, "again", "--add", "--resume"))
    assert record_into(project, "again", "--add", "--resume") == 2
    assert "every run is in its reference already" in said(capsys)
    assert reference_of(project).about.runs == 2
