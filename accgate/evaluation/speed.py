"""How fast an engine answers, learned from its replies or a probe."""

import asyncio
import math
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from accgate.engines import Engine, all_or_first_error, useful_in_flight
from accgate.evaluation.assignment import assignment_of
from accgate.evaluation.sample import Asker
from accgate.planning.checks import Check
from accgate.planning.cost import Speed
from accgate.records.file import Record
from accgate.tasks import Sample, Task

# What these learn of simulated engines is held by tests/evaluation/test_ahead.py and test_speed.py.
ENOUGH = 8  # replies that an estimate needs
CONTRAST = 0.2  # least number of replies times the squared coefficient of variation of 1 / in flight, for a fit
NEARLY = 0.75  # share of the tokens a second with all requests in flight, from which on an engine counts as saturated
PART = 12  # the speed is shown after a twelfth of all replies at the latest


class Saturation:
    """How many requests in flight nearly saturate an engine, learned from replies.

    They give nearly as many tokens a second as `many` requests do. An engine decodes in steps. A step takes `fixed`
    seconds plus `each` for every request in flight, and gives each request one token, so that with `k` requests in
    flight a token costs `fixed / k + each`. This line is fitted to the replies, with weights that bound the effect of a
    single slow reply.
    """

    def __init__(self, many: int, clock: Callable[[], float], total: int = 1) -> None:
        self._many = many
        self.least = min(total, max(ENOUGH, min(2 * many, total // PART)))  # replies before the speed is told
        self._latest: deque[tuple[float, int]] = deque(maxlen=max(ENOUGH, many // 2))  # engine's seconds, tokens
        self._clock, self._at = clock, clock()
        self._shares = 0.0  # seconds, each divided by the requests in flight
        self._sums = [0.0] * 5  # of weights, 1 / in flight, cost, and their products
        self.in_flight = self.replies = 0

    def begin(self) -> tuple[float, float]:
        """Note that a request begins, and return its mark for `end`."""
        self._pass()
        self.in_flight += 1
        return self._at, self._shares

    def end(self, began: tuple[float, float], tokens: int | None) -> None:
        """Note that a request has ended, with the tokens that `work_in` counts."""
        self._pass()
        self.in_flight -= 1
        seconds, share = self._at - began[0], self._shares - began[1]
        if tokens is None or seconds <= 0.0:
            return
        self.replies += 1
        self._latest.append((share, tokens))
        tokens = max(tokens, 1)
        x, cost = share / seconds, share / tokens
        weight, products = tokens / cost, (1.0, x, cost, x * x, x * cost)
        self._sums = [total + weight * each for total, each in zip(self._sums, products, strict=True)]

    @property
    def enough(self) -> int | None:
        """Return the fewest requests in flight that nearly saturate the engine, None while unknown."""
        weights, x, cost, xx, xcost = self._sums
        if self.replies < ENOUGH or self.replies * (xx * weights - x * x) <= CONTRAST * x * x:
            return None
        fixed = max((xcost * weights - x * cost) / (xx * weights - x * x), 0.0)
        each = max((cost - fixed * x) / weights, 0.0)
        slowest = (fixed / self._many + each) / NEARLY - each
        return max(1, min(math.ceil(fixed / slowest), self._many)) if slowest > 0.0 else self._many

    def speed(self, least: int | None = None) -> Speed | None:
        """Return the speed over the latest replies, None before there are enough.

        Each reply counts with its share of the engine's time, so that neither the first replies, which are short, nor
        those still awaited distort the speed.
        """
        seconds = sum(share for share, _ in self._latest)
        if self.replies < (self.least if least is None else least) or seconds <= 0.0:
            return None
        tokens = [count for _, count in self._latest]
        return Speed(len(tokens) / seconds, sum(tokens) / seconds if all(tokens) else None)

    def _pass(self) -> None:
        now = self._clock()
        self._shares += (now - self._at) / max(self.in_flight, 1)
        self._at = now


def work_in(record: Record) -> int | None:
    """Return the tokens of a record's reply, 0 if nobody counted.

    The result is None if the engine did no work.
    """
    is_lost = record.error is not None and record.completion_tokens is None
    return None if record.cached or is_lost else record.completion_tokens or 0


class _Unscored:
    """A scoring for a probe, which gives no points.

    A probe runs no code of a reply and asks no judge.
    """

    async def points(self, task: Task, sample: Sample, answer: str, *, repeat: int = 0) -> float:  # noqa: ARG002
        return 0.0


class _Enough(Exception):
    """The speed is known."""


def probed_speed(check: Check) -> Speed | str:
    """Measure the speed of a check's running server on a few samples.

    A text says why it was not measured.

    Raises
    ------
    BadInput
        When a URL or a model's name is wrong.
    CannotEvaluate
        When a server does not answer.
    """
    server = check.planned_model.server()
    if server is None or server.starts_server or check.task.is_unread:
        return "a probe takes a server that runs already, and the task's dataset"
    check.planned_model.probe()
    return asyncio.run(_probe(check, server)) or "the probe got no reply"


async def _probe(check: Check, server: Engine) -> Speed | None:
    """Measure the speed of a few replies.

    As many samples are in flight as the run will have.
    """
    total, in_flight = check.n * check.repeats, useful_in_flight(server)
    saturation = Saturation(in_flight, time.perf_counter, total)
    places = iter(range(min(total, in_flight + saturation.least)))

    async def work(asker: Asker) -> None:
        for place in places:
            began = saturation.begin()
            record = await asker.record(check.task.samples[place // check.repeats], place % check.repeats)
            saturation.end(began, work_in(record))
            if saturation.speed() is not None:
                raise _Enough

    try:
        with check.planned_model.locating(), suppress(_Enough):
            await server.start()
            asker = Asker(server, assignment_of(check, server.describe()), _Unscored(), time.perf_counter)
            await all_or_first_error(work(asker) for _ in range(in_flight))
    finally:
        await server.close()
    return saturation.speed(least=1)
