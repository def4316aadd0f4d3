"""The folders of trials: what others put there is never removed."""

from __future__ import annotations

import os
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from accgate.errors import BadInput
from accgate.records.file import paths_of
from accgate.records.lock import LOCK
from accgate.trials.arm import TrialFolder
from accgate.trials.commits import History
from tests.support.cases import refusal
from tests.support.runner import commit

AB, BISECT = TrialFolder("ab", models="*"), TrialFolder("bisect", models="[0-9]*-*/*", files=("answers.jsonl",))


def write(*paths: Path) -> None:
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("precious\n")


def files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_symlink() or not path.is_dir()}


@pytest.mark.parametrize(("name", "resume"), [("m/task.settings.json", False), (".hidden", True)])
def test_a_folder_with_anything_else_is_refused_and_stays_as_it_is(tmp_path: Path, name: str, resume: bool) -> None:
    write(tmp_path / name)
    assert "not from an earlier `accgate ab`; name a new or empty folder" in refusal(AB.begin, tmp_path, resume=resume)
    assert files(tmp_path) == {name}


def test_a_trial_that_was_killed_as_it_began_is_begun_again_by_the_same_command(tmp_path: Path) -> None:
    write(tmp_path / ".accgate.part", tmp_path / LOCK)
    AB.begin(tmp_path)
    assert (tmp_path / ".accgate").read_text() == "ab\n"
    assert (tmp_path / LOCK).read_text() == "precious\n", "which is no lock of accgate's"
    assert "not from an earlier `accgate bisect`" in refusal(BISECT.begin, tmp_path)


def test_only_the_records_of_an_earlier_trial_are_removed(tmp_path: Path) -> None:
    out, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    BISECT.begin(out)
    records = paths_of(out / "0001-abc", "m at abc", "sums")
    write(records.records, records.prompts, records.settings, records.before, out / "answers.jsonl")
    foreign = [out / "thesis.txt", out / "notes/a.jsonl", out / "m/a.settings.json", records.records.parent / "b.jsonl"]
    write(*foreign, elsewhere / "m/a.settings.json")
    (out / "0002-abc").symlink_to(elsewhere)
    BISECT.begin(out, resume=True)
    assert records.records.exists(), "it goes on"
    BISECT.begin(out)
    left = {path.relative_to(out).as_posix() for path in foreign}
    assert files(out) == {".accgate", "0002-abc", *left}
    assert files(elsewhere) == {"m/a.settings.json"}


def test_a_link_to_a_folder_is_that_folder(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    out = tmp_path / "out"
    out.symlink_to(tmp_path / "real")
    for _ in range(2):
        AB.begin(out)
        write(*(getattr(paths_of(out, "m", "sums"), name) for name in ("records", "settings")))
    AB.begin(out)
    assert files(tmp_path / "real") == {".accgate"}
    assert out.is_symlink()


def history_in(project: Path) -> History:
    """Two commits of accuracy.toml and some other files."""
    write(project / "accuracy.toml", *(project / f"{number}.txt" for number in range(9)))
    for subject in ("one", "two"):
        commit(project, subject)
    return History(project / "accuracy.toml", "HEAD~1", "HEAD")


def test_a_working_tree_whose_removal_was_broken_off_anywhere_is_removed_by_the_next_search_and_no_other_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    history, folder = history_in(tmp_path / "project"), tmp_path / "out/tree"
    unlink, left = os.unlink, 0

    def breaking_off(*args: Any, **keys: Any) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise KeyboardInterrupt
        unlink(*args, **keys)

    for count in range(12):
        broken_off = pytest.raises(KeyboardInterrupt) if count < 11 else nullcontext()
        with monkeypatch.context() as patched, broken_off, history.tree(history.commits[0], folder) as path:
            assert path.read_text() == "precious\n"
            left = count
            patched.setattr(os, "unlink", breaking_off)

    assert not folder.exists()
    write(folder / "thesis.txt")
    with pytest.raises(BadInput, match="is not a working tree that bisect made; move it away"):
        history.tree(history.commits[0], folder).__enter__()
    assert files(folder) == {"thesis.txt"}
