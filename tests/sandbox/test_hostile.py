"""Every hostile program is contained, fails for the reason it should, and leaves nothing behind."""

import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from accgate.sandbox.process import Confinement, Worker
from tests.sandbox.conftest import descendants
from tests.sandbox.hostile import LIMITS, PROGRAMS, SECRET, Hostile
from tests.support.cases import each


@dataclass
class Range:
    """Where the programs are run: workers, and what the programs aim at."""

    workers: Mapping[str, Worker]
    outside: Path
    listener: socket.socket

    def run(self, program: Hostile) -> None:
        worker = self.workers[program.limits]
        assert worker._child is not None or passes(worker, "pass")
        child = worker._child
        assert child is not None
        before = descendants(child.process.pid)
        outcome = program.run(worker, self.outside, self.listener.getsockname()[1])
        assert not outcome.passed, outcome
        assert program.reason.match(outcome.reason), outcome
        assert descendants(child.process.pid) == before
        assert list(Path(worker._folder).iterdir()) == []
        assert child.process.poll() is None
        assert self.untouched(), "the file outside was changed"
        assert passes(worker, "assert 1 + 1 == 2")
        assert worker._child is child, "the worker was replaced"

    def untouched(self) -> bool:
        status = self.outside.stat()
        same = (status.st_mode & 0o777, status.st_mtime, status.st_nlink, status.st_uid) == (0o666, 1e9, 1, os.getuid())
        alone = list(self.outside.parent.iterdir()) == [self.outside] and os.listxattr(self.outside) == []
        return same and alone and self.outside.read_text() == "of others"


def passes(worker: Worker, harmless: str) -> bool:
    """Whether a harmless program passes: at last, where a busy machine may not come to it within a short limit."""
    return any(worker.run(harmless).passed for _ in range(50))


def ranged(folder: Path, confinement: Confinement) -> Iterator[Range]:
    outside = folder / "outside"
    outside.write_text("of others")
    outside.chmod(0o666)
    folder.chmod(0o777)
    os.utime(outside, (1e9, 1e9))
    workers = {name: Worker(limits, confinement) for name, limits in LIMITS.items()}
    with socket.create_server(("127.0.0.1", 0)) as listener, pytest.MonkeyPatch.context() as patch:
        patch.setenv(SECRET, "hunter2")
        try:
            yield Range(workers, outside, listener)
        finally:
            for worker in workers.values():
                worker.stop()
    assert not any(Path(worker._folder).exists() for worker in workers.values() if worker._folder)


@pytest.fixture(scope="module")
def here(confined: Confinement, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Range]:
    yield from ranged(tmp_path_factory.mktemp("range"), confined)


@pytest.fixture(scope="module")
def in_bubblewrap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Range]:
    if shutil.which("bwrap") is None or subprocess.run(["bwrap", "--bind", "/", "/", "true"], check=False).returncode:
        pytest.skip("bubblewrap does not work here")
    yield from ranged(tmp_path_factory.mktemp("bubblewrap"), Confinement("bubblewrap"))


@pytest.mark.slow
@each("program", PROGRAMS)
def test_a_hostile_program_fails_and_leaves_nothing(program: Hostile, here: Range) -> None:
    here.run(program)


# Not all: it makes a file system of its own, in which listing folders or reading process 1's environment shows nothing.
IN_BUBBLEWRAP = [
    program
    for program in PROGRAMS
    if program.name.startswith(
        ("fork_", "kill_", "network_", "parent_", "read_outside", "symlink_", "tracing", "write_")
    )
]


@each("program", IN_BUBBLEWRAP)
def test_bubblewrap_with_the_filter_contains_it_too(program: Hostile, in_bubblewrap: Range) -> None:
    in_bubblewrap.run(replace(program, reason=re.compile(program.reason.pattern + "|FileNotFoundError")))


# Harmless outside: each must end well there, or it proves nothing inside.
UNCONFINED = [
    "allocated_file", "connect_out", "create_outside", "environment", "environment_of_c", "exec_other", "hard_link_out",
    "list_root", "listen", "mode_of_outside", "named_pipe", "network_sockets", "owner_of_outside", "own_environ_file",
    "parent_environ", "priority_of_parent", "processors_of_parent", "read_outside", "read_relative", "read_passwd",
    "remove_outside", "shared_mapping", "spawn", "subprocess_shell", "symlink_out", "symlink_out_to_write", "system",
    "times_of_outside", "truncate_by_reading", "truncate_outside", "vfork_and_clone", "write_outside",
]  # fmt: skip


@pytest.mark.slow
@each("name", UNCONFINED)
def test_the_same_program_unconfined_does_what_it_tries(name: str, tmp_path: Path) -> None:
    (program,) = [each for each in PROGRAMS if each.name == name]
    (tmp_path / "work").mkdir()
    outside = tmp_path / "outside"
    outside.write_text("of others")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        command = [sys.executable, "-c", program.against(outside, listener.getsockname()[1])]
        done = subprocess.run(command, cwd=tmp_path / "work", env=os.environ | {SECRET: "x"}, check=False)
    assert done.returncode == 0
