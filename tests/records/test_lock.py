"""Locks of folders: one writer at a time, whatever becomes of the folder in between."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import pytest

from accgate.records.lock import sole_writer

fcntl = pytest.importorskip("fcntl")


def test_who_waited_for_a_folder_that_was_removed_again_has_the_new_one_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, real, ends = tmp_path / "references" / "m", fcntl.flock, []
    waits, is_removed = threading.Event(), threading.Event()

    def flock(*args: Any) -> None:
        if threading.current_thread() is other:
            waits.set()
        real(*args)

    def write() -> None:
        with sole_writer(folder):
            assert is_removed.wait(60)
            third = os.open(folder, os.O_RDONLY)
            try:
                real(third, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                ends.append("alone")
            finally:
                os.close(third)

    other = threading.Thread(target=write)
    monkeypatch.setattr(fcntl, "flock", flock)
    with sole_writer(folder):  # which writes nothing, and so removes it
        other.start()
        assert waits.wait(60)
    is_removed.set()
    other.join()
    assert ends == ["alone"]
    assert not folder.parent.exists()


def test_who_writes_into_a_new_folder_leaves_it_there(tmp_path: Path) -> None:
    folder = tmp_path / "references" / "m"
    with sole_writer(folder):
        (folder / "sums.toml").touch()
    with sole_writer(folder):
        pass
    assert [path.name for path in folder.iterdir()] == ["sums.toml"]
