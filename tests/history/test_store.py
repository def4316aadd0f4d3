"""Histories in files: added to by several processes at once, joined in place, refused where they are something else."""

from __future__ import annotations

import multiprocessing
import resource
from collections.abc import Sequence
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest

from accgate.cli.main import main
from accgate.errors import BadInput, CannotEvaluate
from accgate.history.file import add_run, history_of, read_history, write_merged
from tests.history.made import run, season
from tests.support.cases import each


def add_days(path: Path, name: str, joins: Sequence[Path], start: Barrier) -> None:
    start.wait()
    for day in range(1, 26):
        assert add_run(path, run(day, commit=name, result=f"{name}{day}"))[0]
        for other in joins:
            write_merged([path, other], path)


def test_processes_that_add_and_join_in_place_at_once_lose_nothing(tmp_path: Path) -> None:
    path, other = tmp_path / "history.jsonl", tmp_path / "other.jsonl"
    other.write_bytes(season(4).content)
    fork = multiprocessing.get_context("fork")
    start = fork.Barrier(2)
    started = [fork.Process(target=add_days, args=(path, *args, start)) for args in (("a", [other]), ("b", []))]
    for process in started:
        process.start()
    for process in started:
        process.join()
    assert [process.exitcode for process in started] == [0, 0]
    read = read_history(path)
    added = {f"{name}{day}" for name in "ab" for day in range(1, 26)}
    assert {made.result for made in read.runs} == added | {made.result for made in season(4).runs}
    assert not read.notes
    assert path.read_bytes().count(b"\n") == 54


def test_a_run_is_added_once(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "history.jsonl"
    for is_new in (True, False):
        assert add_run(path, run(1))[0] is is_new
        assert path.read_bytes() == history_of([run(1)]).content
    path.write_bytes(b"")
    assert read_history(path).lines == ()
    assert add_run(path, run(1))[1].runs == (run(1),)


@each(("torn", "count"), [(season(3).content[:-30], 3), (season(1).content[:4], 1)])
def test_what_was_there_stays_byte_for_byte(tmp_path: Path, torn: bytes, count: int) -> None:
    path = tmp_path / "history.jsonl"
    path.write_bytes(torn)
    assert add_run(path, run(9))[0] is True
    assert path.read_bytes() == torn + b"\n" + history_of([run(9)]).content
    read = read_history(path)
    assert (len(read.runs), len(read.notes)) == (count, 1)


@each("text", ["verdict,pass\n", '{\n  "verdict": "pass"\n}\n', "[]"])
def test_another_file_is_refused_and_not_touched(tmp_path: Path, text: str) -> None:
    path = tmp_path / "accgate.json"
    path.write_text(text)
    for act in (lambda: read_history(path), lambda: add_run(path, run(1)), lambda: write_merged([path], path)):
        with pytest.raises(BadInput, match="is not a history of accgate"):
            act()
    assert path.read_text() == text


def test_the_run_records_of_an_artifact_are_not_taken_for_histories(tmp_path: Path) -> None:
    for number, folder in enumerate(("a", "b/c"), 1):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / f"history-{number}.jsonl").write_bytes(history_of([run(number)]).content)
        (tmp_path / folder / "gsm8k.jsonl").write_text('{"id": "x", "score": 1}\n')
    assert [made.result for made in read_history(tmp_path).runs] == [run(1).result, run(2).result]
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadInput, match=r"holds no history\*\.jsonl"):
        read_history(tmp_path / "empty")


def test_joined_files_are_the_same_in_either_order(tmp_path: Path) -> None:
    one, two = tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    one.write_bytes(history_of([run(3), run(1)]).content + b'{"id":"torn')
    two.write_bytes(history_of([run(2), run(3)]).content)
    for order in (one, two), (two, one):
        out = tmp_path / f"{order[0].stem}-first.jsonl"
        assert main(["history", "merge", *map(str, order), "--out", str(out)]) == 0
        assert out.read_bytes() == history_of([run(1), run(2), run(3)]).content + b'{"id":"torn\n'


def test_a_join_refuses_to_replace_a_file_that_it_does_not_join_or_to_join_one_that_is_not_there(
    tmp_path: Path,
) -> None:
    one, two, gone = (tmp_path / f"{name}.jsonl" for name in ("one", "two", "gone"))
    add_run(one, run(1))
    add_run(two, run(2))
    with pytest.raises(BadInput, match="exists; name it among the histories"):
        write_merged([one], two)
    assert [made.result for made in read_history(two).runs] == [run(2).result]
    with pytest.raises(BadInput, match=r"gone\.jsonl: cannot be read"):
        write_merged([one, gone], gone)
    assert not gone.exists()


def test_a_full_disk_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    add_run(path, run(1))
    before = path.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 100, hard))
    try:
        with pytest.raises(CannotEvaluate, match="free some space"):
            add_run(path, run(2))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.read_bytes() == before
    assert add_run(path, run(2))[0]


def test_a_name_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match=r"cannot be written: (Not a directory|File exists)"):
        add_run(tmp_path / "file" / "history.jsonl", run(1))
    with pytest.raises(BadInput, match="begin one with `accgate history add`"):
        read_history(tmp_path / "none.jsonl")
