"""How far an evaluation that may end early asks ahead of its next decision."""

import asyncio
import math
from bisect import bisect_left
from collections.abc import Callable, Sequence

import numpy as np

from accgate.evaluation.assignment import Assignment, StopRule
from accgate.evaluation.shards.siblings import Siblings
from accgate.evaluation.speed import ENOUGH, Saturation, work_in
from accgate.planning.checks import Check
from accgate.records.file import Record
from accgate.records.log import RecordLog
from accgate.tasks import Task

# What the last three cost on simulated engines, in time and replies, is held by tests/evaluation/test_ahead.py.
ROOM = 1.25  # samples of shards that cannot see each other, times those that a healthy run needs on average
FULL = 8  # requests in flight, or a fifth of the engine's limit, that keep an engine busy
MANY = 128  # limit of requests in flight from which on a quarter of them, not a fifth, keeps an engine busy
MORE = 1.5  # times `FULL` in flight after the first replies, while nothing tells how many saturate the engine


def first_samples(check: Check, part: Task) -> StopRule | None:
    """Return a stop rule for a shard that cannot see the other shards.

    The shard ends after its part of the samples that the check is expected to need. None where that number is unknown.
    """
    if check.expected_n_healthy is None:
        return None
    first = check.task.samples.ids[: math.ceil(ROOM * check.expected_n_healthy)]
    samples = int((first.places(part.samples.ids) >= 0).sum())
    return StopRule(lambda records: len(records) >= samples * check.repeats, lambda: samples, lambda: samples)


class Prefix:
    """The finished beginning of the order, and whether it decides.

    The stop rule looks again when the beginning has grown by a fiftieth, and less often while a decision is far, since
    a look costs milliseconds. Where the `assignment` is a shard's part, the beginning is that of the whole order, with
    the records that the `others` have finished in between. `expected` is the number of samples by which a decision is
    likely, None where that is unknown.
    """

    def __init__(
        self,
        stop_rule: StopRule,
        records: RecordLog,
        assignment: Assignment,
        concurrency: int,
        others: Siblings | None = None,
    ) -> None:
        self._stop_rule, self._records, self._repeats = stop_rule, records, assignment.repeats
        self._others = others
        self._ids = (assignment.task if others is None else others.whole).samples.ids
        self._total = len(self._ids) * self._repeats
        self._own = assignment.task.samples.ids.places(self._ids)  # of each of the whole, in this part
        self._numbers = np.flatnonzero(self._own >= 0)
        self._longest_step = max(1, concurrency // 4)
        self._finished = 0
        self._used = 0
        self.expected, self._soonest = self._foresee()
        self._fewest = self._soonest

    @property
    def used(self) -> int:
        """Number of this part's records in the beginning that the stop rule saw last."""
        return bisect_left(self._numbers, self._used) * self._repeats

    def is_needed(self, place: int, *, surely: bool) -> bool:
        """Tell whether the decision needs a place of this part.

        Without `surely` it is enough that the decision is likely to need it.
        """
        sure, likely = self.limits
        number, repeat = divmod(place, self._repeats)
        in_whole = int(self._numbers[number]) * self._repeats + repeat
        return in_whole < (sure if surely else likely)

    def _at(self, place: int) -> Record | None:
        """Return the record at a place of the whole order."""
        number, repeat = divmod(place, self._repeats)
        at = int(self._own[number]) * self._repeats + repeat
        if self._others is None or at >= 0:
            return self._records[at] if self._records.has(at) else None
        return self._others.record((self._ids[number], repeat))

    def _is_there(self, place: int) -> bool:
        """Tell whether a place of the whole order has its record."""
        return self._records.has(place) if self._others is None else self._at(place) is not None

    @property
    def limits(self) -> tuple[float, float]:
        """Return the places of the order up to which samples are needed.

        Samples before the first place are surely needed, samples before the second are likely needed. Both are infinite
        where all samples are. The evidence is a random walk whose variance grows with its drift (Wald), so the number
        of samples that it still needs has about the geometric mean of the rest and the whole as its standard deviation.
        The margin is half of that on both sides. No sample is sure beyond the place at which the check passes if no
        further sample changes.
        """
        if self.expected is None:
            return self._fewest, math.inf
        whole = self.expected * self._repeats
        if whole >= self._total:
            return math.inf, math.inf
        left = max(whole - self._finished, 1)
        margin = 0.5 * math.sqrt(left * whole)
        sure = min(self._finished + left - margin, self._soonest or math.inf)
        return max(sure, self._fewest), self._finished + left + margin

    def decides(self) -> bool:
        """Tell whether the samples that are finished now decide."""
        if self._others is not None:
            self._others.refresh()
        while self._finished < self._total and self._is_there(self._finished):
            self._finished += 1
        samples = self._finished // self._repeats
        all_there = self._finished == self._total
        if all_there or samples < self._used + self._step():
            return False
        self._used = samples
        prefix: Sequence[Record] = self._records[: samples * self._repeats]
        if self._others is not None:
            prefix = [record for place in range(samples * self._repeats) if (record := self._at(place)) is not None]
        if len(prefix) < samples * self._repeats:  # another part was begun anew
            self._finished = self._used = 0
            return False
        if self._stop_rule.decides(prefix):
            return True
        self.expected, self._soonest = self._foresee()
        return False

    def _step(self) -> int:
        """Return how many samples are added between two looks."""
        far = 0 if self.expected is None else min((self.expected - self._used) // 4, self._longest_step)
        return max(1, self._used // 50, far)

    def _foresee(self) -> tuple[int | None, int]:
        """Return the samples of a likely decision, and the fewest records of a pass."""
        return self._stop_rule.expected(), self._stop_rule.fewest() * self._repeats


class Places:
    """The places of the order that have no record, each once.

    They go as far ahead as the limits of `prefix` allow. Places that are surely needed begin at once. Of the others,
    only as many are in flight as keep the engine busy until its replies show how many saturate it: half as many more
    after the first reply, and twice as many with every `ENOUGH` replies. Past the likely places, only as many as keep
    it busy. Where less than half of its limit saturates the engine, half of that number is in flight beyond the sure
    places: more would slow each other down, and the decision waits for the first of them.
    """

    def __init__(
        self,
        records: RecordLog,
        prefix: Prefix | None,
        concurrency: int,
        clock: Callable[[], float],
    ) -> None:
        self._most, self._counts_all = concurrency, concurrency >= MANY
        self._few = max(min(FULL, concurrency // 4), concurrency // (4 if self._counts_all else 5), 1)
        self._open = (place for place in range(len(records)) if not records.has(place))
        self._next = next(self._open, None)
        self._prefix = prefix
        self._saturation = Saturation(concurrency, clock, len(records))
        self.speed = self._saturation.speed
        self._began: dict[int, tuple[float, float]] = {}
        self._tellers: set[int] = set()  # places in flight whose replies let more follow
        self._telling = 0  # replies that let more follow
        self._freed = asyncio.Event()

    async def next(self, is_over: Callable[[], bool]) -> int | None:
        """Return the next place, or None at the end.

        It waits while all places that are left are past the limits.
        """
        while not is_over() and self._next is not None:
            if self._may_begin(self._next):
                place, self._next = self._next, next(self._open, None)
                if self._prefix is not None and (self._counts_all or not self._prefix.is_needed(place, surely=True)):
                    self._tellers.add(place)
                self._began[place] = self._saturation.begin()
                return place
            self._freed.clear()
            await self._freed.wait()
        return None

    def free(self, place: int, record: Record) -> None:
        """Free the place of a finished record, and wake waiting callers."""
        self._saturation.end(self._began.pop(place), work_in(record))
        self._telling += place in self._tellers
        self._tellers.discard(place)
        self._freed.set()

    def _may_begin(self, place: int) -> bool:
        if self._prefix is None or self._prefix.is_needed(place, surely=True):
            return True
        running, enough = self._saturation.in_flight, self._saturation.enough
        if enough is not None and enough <= self._most // 2:
            return running < min((enough + 1) // 2, self._few) or self._prefix.expected is None
        most_untold = self._few * (MORE * 2 ** ((self._telling - 1) // ENOUGH) if self._telling else 1.0)
        if enough is None and running >= most_untold:  # before it shows how many saturate the engine
            return False
        return running < self._few or self._prefix.is_needed(place, surely=False)
