"""Runs programs confined, several at once, for the event loop."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType

from accgate.errors import CannotEvaluate
from accgate.sandbox.cases import Case
from accgate.sandbox.limits import Limits, Outcome
from accgate.sandbox.packages import Packages
from accgate.sandbox.probe import confinement
from accgate.sandbox.process import Confinement, Worker

_READING = """
import os
for path in {!r}:
    os.listdir(path) if os.path.isdir(path) else open(path, "rb").close()
"""


class Sandbox:
    """Workers that run programs, `workers` at once (one per usable processor where it is None).

    Use it as an asynchronous context; entering raises CannotConfine where nothing confines a program, unless the
    confinement was found before and is given. Programs can import `packages` beside the standard library; entering
    raises CannotEvaluate where they could not.
    """

    def __init__(
        self,
        limits: Limits | None = None,
        workers: int | None = None,
        confinement: Confinement | None = None,
        packages: Packages | None = None,
    ) -> None:
        if workers is not None and workers < 1:
            raise ValueError("workers must be 1 or more")
        self.limits = Limits() if limits is None else limits
        self._count = workers
        self._confinement = confinement
        self._packages = packages or Packages()

    async def __aenter__(self) -> Sandbox:
        walls = self._confinement
        if walls is None:
            walls = await asyncio.get_running_loop().run_in_executor(None, confinement)
        count = len(os.sched_getaffinity(0)) if self._count is None else self._count
        self._pool = ThreadPoolExecutor(count, "accgate-sandbox")
        self._workers = [Worker(self.limits, walls, self._packages) for _ in range(count)]
        self._idle: asyncio.LifoQueue[Worker] = asyncio.LifoQueue()
        for worker in self._workers:
            self._idle.put_nowait(worker)
        if self._packages.paths:
            await self._try_packages()
        return self

    async def _try_packages(self) -> None:
        """Read what programs may read of packages; raises CannotEvaluate where the user they become cannot."""
        try:
            outcome = await self.passes(_READING.format(self._packages.paths))
            if not outcome.passed:
                raise CannotEvaluate(f"programs cannot read the packages they may use: {outcome.reason}")
        except BaseException:
            await self.__aexit__(None, None, None)
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        loop = asyncio.get_running_loop()
        await asyncio.gather(*(loop.run_in_executor(None, worker.stop) for worker in self._workers))
        self._pool.shutdown()

    async def passes(self, program: str, tests: str = "") -> Outcome:
        """Whether a program and the tests after it run to the last line, in a fresh confined process.

        Of the tests, assertions that compare with a literal are decided in this process, not in the program's.
        Raises WorkerEnded where the worker ended, which is no outcome; the next program gets a new worker. Cancelled,
        it kills the program.
        """
        return await self._with_worker(lambda worker: worker.run(program, tests))

    async def passes_cases(self, program: str, cases: Sequence[Case], before: str = "") -> Outcome:
        """Whether a program gives each test case's output, in a process for each; decided in this process.

        `before` runs before the program in the same module. Raises as `passes` does.
        """
        return await self._with_worker(lambda worker: worker.run_cases(program, cases, before))

    async def _with_worker(self, job: Callable[[Worker], Outcome]) -> Outcome:
        worker = await self._idle.get()
        running = asyncio.get_running_loop().run_in_executor(self._pool, job, worker)
        try:
            outcome = await asyncio.shield(running)
        except BaseException:
            self._replace(worker)
            await asyncio.get_running_loop().run_in_executor(None, worker.stop)
            await asyncio.gather(running, return_exceptions=True)
            raise
        self._idle.put_nowait(worker)
        return outcome

    def _replace(self, worker: Worker) -> None:
        """A fresh worker in place of this one, which is to be stopped."""
        fresh = Worker(self.limits, worker.confinement, self._packages)
        self._workers.append(fresh)
        self._idle.put_nowait(fresh)
