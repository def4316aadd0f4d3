"""A run's folder: its own while the run goes on, and with all records at the end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from accgate.cli.main import main
from accgate.records.file import paths_of, read_records
from accgate.records.lock import LOCK
from tests.evaluation.serving import checks_of, configure, served_by, sums_of
from tests.support.gates import refused
from tests.support.launcher import Launched
from tests.support.servers import Server

N = 40


@pytest.fixture
def folder(tmp_path: Path, server: Server) -> Path:
    one, two = (sums_of(N, high, library="arithmetic", target=50.0) for high in (20, 30))
    configure(tmp_path, {"models.m": served_by(server.url, concurrency=2), "tasks.one": one, "tasks.two": two})
    return tmp_path


def command(folder: Path, *more: str) -> list[str]:
    return ["run", str(folder / "accuracy.toml"), "--out", str(folder / "out"), "--quiet", *more]


def records(folder: Path, task: str) -> Path:
    return paths_of(folder / "out", "m", task).records


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:100])


def replace(path: Path) -> None:
    content = path.read_bytes()
    path.unlink()
    path.write_bytes(content)


def add(path: Path) -> None:
    with path.open("ab") as file:
        file.write(path.read_bytes().splitlines(keepends=True)[0])


WHILE_WRITTEN, WHILE_THE_NEXT_IS_ASKED = N // 2, N + N // 2  # requests
CHANGES = [
    *((WHILE_WRITTEN, change) for change in (Path.unlink, cut, replace, add)),
    *((WHILE_THE_NEXT_IS_ASKED, change) for change in (Path.unlink, cut)),
]


@pytest.mark.parametrize(("after", "change"), CHANGES)
def test_records_that_something_else_changes_while_the_run_goes_on_are_no_pass(
    folder: Path, server: Server, change: Callable[[Path], Any], after: int
) -> None:
    changes = [change]

    def look(_: Any) -> None:
        if len(server.seen) >= after and changes:
            changes.pop()(records(folder, "one"))

    server.fault_of = look
    assert main(command(folder)) == 3
    one, _ = checks_of(folder / "out")
    assert one["verdict"] == "error"
    assert one["reasons"][0].startswith(f"{records(folder, 'one')}: was removed, replaced or changed by something else")


def test_a_second_run_in_a_folder_is_refused_while_one_goes_on(folder: Path, server: Server, capsys) -> None:
    server.hold_after = 10
    with Launched(*command(folder)) as first:
        first.wait_until(lambda: records(folder, "one").exists() and len(server.seen) > 10)
        for more in ([], ["--resume"]):
            assert f"{folder / 'out'}: another run writes into it" in refused(capsys, main(command(folder, *more)))
            assert records(folder, "one").exists()
        server.hold_after = None
        assert first.wait(timeout=120) == 0
    assert len(read_records(records(folder, "one"))) == N
    assert not (folder / "out" / LOCK).exists()
    assert main(command(folder)) == 0
