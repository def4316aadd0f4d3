"""Runs programs confined, several at once, for the event loop."""

from __future__ import annotations

import asyncio
import functools
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from accgate.errors import CannotEvaluate
from accgate.sandbox.assertions import Case
from accgate.sandbox.process import NOBODY, Confinement, Limits, Outcome, Packages, Worker
from accgate.text import fill_template

_FIX = (
    "Run accgate on Linux 5.13 or later with Landlock (CONFIG_LSM or lsm= names it, Docker's profile allows it),"
    " or install bubblewrap where user namespaces are allowed."
)


class CannotConfine(CannotEvaluate):
    """Nothing here confines a program, so none is run."""

    def __init__(self, *tried: str) -> None:
        super().__init__(f"generated code cannot be confined here, so it is not run: {'; '.join(tried)}.\n{_FIX}")


@functools.cache
def confinement() -> Confinement:
    """Find the strongest confinement that holds on this machine.

    Raises CannotConfine where none does. Each candidate is started for real and runs a program that tries to get out
    and then does ordinary work. Takes about a fifth of a second, once in a process.
    """
    if not sys.platform.startswith("linux"):
        raise CannotConfine(f"{sys.platform} has neither Landlock nor seccomp")
    if not sys.executable:
        raise CannotConfine("this Python does not know its own executable")
    tried = []
    for candidate in candidates():
        trouble = hole(candidate)
        if trouble is None:
            return candidate
        tried.append(f"{candidate.files}{'' if candidate.uid is None else f' as user {candidate.uid}'}: {trouble}")
    raise CannotConfine(*tried)


def candidates() -> Iterator[Confinement]:
    """Yield confinements from the strongest.

    Root's programs become nobody where nobody can read the Python installation.
    """
    if os.geteuid() == 0:
        yield Confinement("landlock", NOBODY)
    yield Confinement("landlock")
    yield Confinement("bubblewrap")


def hole(candidate: Confinement) -> str | None:
    """Say why this does not confine, or does not work, in one line.

    Return None where it confines and works.
    """
    with tempfile.TemporaryDirectory(prefix="accgate-probe-") as folder:
        outside = Path(folder) / "outside"
        outside.write_text("of others")
        outside.chmod(0o666)
        Path(folder).chmod(0o777)
        places = {"outside": repr(str(outside)), "python": repr(sys.executable)}
        program = fill_template("accgate.sandbox", "escape.py.j2", **places)
        worker = Worker(Limits(seconds=10.0), candidate)
        try:
            outcome = worker.run(program)
        except (CannotEvaluate, OSError) as error:
            return " ".join(str(error).split())
        finally:
            worker.stop()
    return None if outcome.passed else outcome.reason


_READING = """
import os
for path in {!r}:
    os.listdir(path) if os.path.isdir(path) else open(path, "rb").close()
"""


@dataclass(eq=False)
class Sandbox:
    """Workers that run programs, `workers` at once.

    None stands for one per usable processor. Use it as an asynchronous context; entering raises CannotConfine where
    nothing confines a program. Programs can import `packages` beside the standard library; entering raises
    CannotEvaluate where they could not.
    """

    limits: Limits = field(default_factory=Limits)
    workers: int | None = None
    packages: Packages = field(default_factory=Packages)

    async def __aenter__(self) -> Sandbox:
        walls = await asyncio.get_running_loop().run_in_executor(None, confinement)
        count = len(os.sched_getaffinity(0)) if self.workers is None else self.workers
        self._pool = ThreadPoolExecutor(count, "accgate-sandbox")
        self._workers = [Worker(self.limits, walls, self.packages) for _ in range(count)]
        self._idle: asyncio.LifoQueue[Worker] = asyncio.LifoQueue()
        for worker in self._workers:
            self._idle.put_nowait(worker)
        if self.packages.paths:
            await self._try_packages()
        return self

    async def _try_packages(self) -> None:
        """Read what programs may read of packages.

        Raises CannotEvaluate where the user they become cannot.
        """
        try:
            outcome = await self.passes(_READING.format(self.packages.paths))
            if not outcome.passed:
                raise CannotEvaluate(f"programs cannot read the packages they may use: {outcome.reason}")
        except BaseException:
            await self.__aexit__()
            raise

    async def __aexit__(self, *_: object) -> None:
        loop = asyncio.get_running_loop()
        await asyncio.gather(*(loop.run_in_executor(None, worker.stop) for worker in self._workers))
        self._pool.shutdown()

    async def passes(self, program: str, tests: str = "") -> Outcome:
        """Tell whether a program and the tests after it run to the last line.

        They run in a fresh confined process. Of the tests, assertions that compare with a literal are decided in this
        process, not in the program's. Raises WorkerEnded where the worker ended, which is no outcome; the next program
        gets a new worker. Cancelled, it kills the program.
        """
        return await self._with_worker(lambda worker: worker.run(program, tests))

    async def passes_cases(self, program: str, cases: Sequence[Case], before: str = "") -> Outcome:
        """Tell whether a program gives each test case's output.

        Each case runs in a process of its own, and is decided in this one. `before` runs before the program in the same
        module. Raises as `passes` does.
        """
        return await self._with_worker(lambda worker: worker.run_cases(program, cases, before))

    async def _with_worker(self, job: Callable[[Worker], Outcome]) -> Outcome:
        worker = await self._idle.get()
        running = asyncio.get_running_loop().run_in_executor(self._pool, job, worker)
        try:
            outcome = await asyncio.shield(running)
        except BaseException:
            fresh = Worker(self.limits, worker.confinement, self.packages)
            self._workers.append(fresh)
            self._idle.put_nowait(fresh)
            await asyncio.get_running_loop().run_in_executor(None, worker.stop)
            await asyncio.gather(running, return_exceptions=True)
            raise
        self._idle.put_nowait(worker)
        return outcome
