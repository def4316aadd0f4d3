"""What confines programs on this machine; without anything, these tests are skipped."""

import asyncio
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import pytest

from accgate.sandbox.process import Confinement, Limits, Outcome, Worker
from accgate.sandbox.runner import CannotConfine, Sandbox, confinement

# A machine that is there to prove the sandbox must not skip the proof.
MUST = "ACCGATE_TEST_SANDBOX"


@pytest.fixture(scope="session")
def confined() -> Confinement:
    try:
        return confinement()
    except CannotConfine as error:
        if MUST in os.environ:
            raise
        pytest.skip(str(error))


@pytest.fixture
def worker_of() -> Iterator[Callable[[Limits, Confinement], Worker]]:
    """Starts workers, and ends them."""
    started: list[Worker] = []

    def start(limits: Limits, found: Confinement) -> Worker:
        started.append(Worker(limits, found))
        return started[-1]

    yield start
    for worker in started:
        worker.stop()


@pytest.fixture(scope="module")
def worker(confined: Confinement) -> Iterator[Worker]:
    """One for all tests of a file."""
    worker = Worker(Limits(seconds=10.0), confined)
    yield worker
    worker.stop()


def programs_in(folder: str) -> dict[str, str]:
    """The programs of a folder beside this file, by their names."""
    paths = sorted((Path(__file__).parent / folder).glob("*.txt"))
    return {path.stem: path.read_text(encoding="utf-8") for path in paths}


def outcomes(sandbox: Sandbox, programs: Iterable[Sequence[str]]) -> list[Outcome]:
    """How programs end in a sandbox of their own, each with its tests."""

    async def run() -> list[Outcome]:
        async with sandbox:
            return await asyncio.gather(*(sandbox.passes(*parts) for parts in programs))

    return asyncio.run(run())


def descendants(pid: int) -> list[int]:
    """Processes that this one started, directly or not, and that still are there."""
    children = [int(word) for path in Path(f"/proc/{pid}/task").glob("*/children") for word in path.read_text().split()]
    return [each for child in children for each in (child, *descendants(child))]
