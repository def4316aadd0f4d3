"""The wait for an engine that gives no reply.

The terminal reports the silence, then the wait ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal, TypeVar

from accgate.engines.base import EngineDied

if sys.version_info >= (3, 11):  # its asyncio.wait_for still forgets a cancellation that comes with the outcome
    from asyncio import timeout as timeout  # noqa: PLC0414
else:
    from async_timeout import timeout as timeout  # noqa: PLC0414

T = TypeVar("T")
Sign = Literal["reply", "life", "none"]

# Chosen by judgement: a limit must outlast the slowest honest reply, and end long before a CI job's own limit.
SLOWEST = 10.0  # times the slowest reply so far is a stall
LONGEST = 2.0  # times that reply, scaled to the tokens that an awaited one may have, is a stall too
LEAST = 0.2  # share of the longest silence below which the limit never falls
WARN_SHARE = 0.25  # of the limit, after which the terminal says that nothing comes
ADVICE = (
    "finished samples are kept: find out what holds it up, then go on with --resume. Where replies may take longer, "
    "raise options.max_silence"
)


class Stalled(EngineDied):
    """Requests wait, and no reply came within the limit.

    `fact` says who is silent, for how long and since when.
    """

    def __init__(self, fact: str, advice: str = "") -> None:
        super().__init__(f"{fact}; {advice}" if advice else fact)
        self.fact, self.advice = fact, advice

    def __reduce__(self) -> tuple[type[Stalled], tuple[str, str]]:
        return type(self), (self.fact, self.advice)  # it travels between processes


@dataclass(eq=False)
class _Waiting:
    """A request that waits.

    `since` is when it began, and `tokens` is how many its reply may have.
    """

    task: asyncio.Task[Any] | None
    since: float
    tokens: int
    cut: Stalled | None = None

    def is_cancelled_too(self) -> bool:
        """Tell whether something besides `Silence` cancelled the task.

        Only Python 3.11 and later count cancellations.
        """
        return sys.version_info >= (3, 11) and self.task is not None and self.task.uncancel() > 0


@dataclass(eq=False)
class Silence:
    """A wait for the replies of one engine or one server.

    It ends when none of them comes. Before the first reply it lasts `most` seconds. After that it lasts ten times as
    long as the slowest reply so far, and longer if an awaited reply may have many more tokens, but always between a
    fifth of `most` and `most`. Time in which this process did not run, or its event loop was busy, does not count.

    `who` names the engine in messages; `tell` prints a line on the terminal.
    """

    who: str
    most: float
    tell: Callable[[str], None] = logging.getLogger(__name__).warning
    clock: Callable[[], float] = time.monotonic
    _waiting: set[_Waiting] = field(default_factory=set, init=False)
    _timer: asyncio.TimerHandle | None = field(default=None, init=False)
    _looked: float = field(default=0.0, init=False)  # when the silence was last counted, or began
    _silent: float = field(default=0.0, init=False)  # seconds of silence so far
    _warned: bool = field(default=False, init=False)
    _slowest: float = field(default=0.0, init=False)  # seconds; 0 before the first reply
    _tokens: int = field(default=1, init=False)  # of the longest reply

    @property
    def _tick(self) -> float:
        return min(1.0, self.most / 20)

    @property
    def limit(self) -> float:
        """Seconds of silence that are tolerated now."""
        if not self._slowest:
            return self.most
        longer = max((waiting.tokens for waiting in self._waiting), default=1) / self._tokens
        derived = max(SLOWEST * self._slowest, LONGEST * self._slowest * longer)
        return min(self.most, max(LEAST * self.most, derived))

    async def reply(self, answer: Awaitable[T], tokens: int = 1, sign: Callable[[T], Sign] = lambda _: "reply") -> T:
        """Return what the engine answers, in at most `tokens` tokens.

        `sign` classifies an outcome: a reply, only a sign of life, or neither.

        Raises
        ------
        Stalled
            When nothing comes, of this request and of all others.
        """
        waiting = _Waiting(asyncio.current_task(), self.clock(), tokens)
        if not self._waiting:  # the silence goes on, since attempts can be given up and made again
            self._looked = waiting.since
        self._waiting.add(waiting)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._tick, self._look)
        try:
            outcome = await answer
            if (kind := sign(outcome)) == "none" and self._count() >= self.limit:  # it gave up at the limit itself
                waiting.task = None
                self._cut()
        except asyncio.CancelledError:
            if waiting.cut is None or waiting.is_cancelled_too():
                raise
            raise waiting.cut from None
        except Exception:
            self.heard()
            raise
        finally:
            self._waiting.discard(waiting)
        if waiting.cut is not None:
            raise waiting.cut
        if kind != "none":
            self.heard()
        if kind == "reply":
            self._slowest = max(self._slowest, self.clock() - waiting.since, 1e-6)
            self._tokens = max(self._tokens, getattr(outcome, "completion_tokens", None) or 1)
        return outcome

    def heard(self) -> None:
        """Record a sign of life, which restarts the count of silence."""
        self._silent, self._looked = 0.0, self.clock()
        if self._warned:
            self._warned = False
            self.tell(f"{self.who} answers again")

    def _look(self) -> None:
        """Count the silence, and warn or end the wait.

        The timer runs only while a request waits.
        """
        self._timer = None
        if not self._waiting:
            return
        limit = self.limit
        if self._count() >= limit:
            self._cut()
            return
        if self._silent >= WARN_SHARE * limit and not self._warned:
            self._warned = True
            self.tell(f"{self._words()}; it counts as stalled after {limit:.4g} s")
        self._timer = asyncio.get_running_loop().call_later(self._tick, self._look)

    def _count(self) -> float:
        """Return the seconds of silence until now."""
        now = self.clock()
        self._silent += min(now - self._looked, 2 * self._tick)
        self._looked = now
        return self._silent

    def _words(self) -> str:
        since = datetime.now().astimezone() - timedelta(seconds=self._silent)
        slowest = f"the slowest reply took {self._slowest:.3g} s" if self._slowest else "no reply came before"
        more = f"requests that wait: {len(self._waiting)}; {slowest}"
        return f"{self.who} has given no reply for {self._silent:.4g} s, since {since:%H:%M:%S} ({more})"

    def _cut(self) -> None:
        words, self._warned, self._silent = self._words(), False, 0.0
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for waiting in self._waiting:
            waiting.cut = Stalled(f"{words} and counts as stalled", ADVICE)
            if waiting.task is not None:
                waiting.task.cancel()


async def at_most(seconds: float | None, work: Awaitable[object]) -> None:
    """Await something for up to `seconds`, then cancel it and go on."""
    with contextlib.suppress(asyncio.TimeoutError):
        async with timeout(seconds):
            await work
