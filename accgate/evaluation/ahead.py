"""How far an evaluation that may end early asks ahead.

It is what the next decision can need, and little more.
"""

import asyncio
import math
from bisect import bisect_left
from collections.abc import Callable, Sequence

import numpy as np

from accgate.evaluation.assignment import Assignment, ForeseeingStopRule, StopRule
from accgate.evaluation.shards.siblings import Siblings
from accgate.evaluation.speed import ENOUGH, Saturation, work_in
from accgate.planning.checks import Check
from accgate.records.file import Record
from accgate.records.log import RecordLog
from accgate.tasks import Task

ROOM = 1.25  # samples that shards evaluate which cannot see each other, times those of a healthy run on average
FULL = 8  # requests in flight, or a fifth of all that an engine takes, that leave no engine idle
MANY = 128  # in flight, from which on an engine is one that takes many: a quarter leaves it idle no longer
MORE = 1.5  # times those few are in flight until then, from the first of their replies on


class FirstSamples:
    """A stop rule for a part of the order whose other parts are out of sight.

    It ends after so many of its samples.
    """

    def __init__(self, samples: int, repeats: int) -> None:
        self._samples, self._repeats = samples, repeats

    def __call__(self, records: Sequence[Record]) -> bool:
        """Tell whether these are as many."""
        return len(records) >= self._samples * self._repeats

    def expected(self) -> int:
        """Return that number."""
        return self._samples

    fewest = expected


def first_samples(check: Check, part: Task) -> FirstSamples | None:
    """Return the rule by which a shard asks what the check may need.

    It is what the whole check is expected to need, None where that is not known.
    """
    if check.expected_n_healthy is None:
        return None
    first = check.task.samples.ids[: math.ceil(ROOM * check.expected_n_healthy)]
    return FirstSamples(int((first.places(part.samples.ids) >= 0).sum()), check.repeats)


class Prefix:
    """The finished beginning of the order, and whether it decides.

    It is looked at again when it has grown by a fiftieth, and less often while a decision is far: a look costs
    milliseconds.

    Of a part of the order (`assignment`, with `records`) the beginning is that of the whole: what the `others` of a run
    have finished is between. `expected` are the samples by which a decision is likely, None where nothing tells.
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
        """Tell whether what is asked at a place of this part is needed.

        It is likely to be, or all but certain.
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
        """Return the places before which what is asked is needed.

        The first is sure, the second likely. Both are infinite where all are. The evidence is a walk whose variance
        grows with its drift (Wald): the samples that the rest of its way takes have about the geometric mean of the
        rest and the whole as their standard deviation. Half of that is the margin to both sides. Nothing is sure beyond
        the place at which the run passes if no further sample changes.
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
        """Tell whether what is finished now decides."""
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
        if self._stop_rule(prefix):
            return True
        self.expected, self._soonest = self._foresee()
        return False

    def _step(self) -> int:
        """Return the samples by which the beginning grows between two looks."""
        far = 0 if self.expected is None else min((self.expected - self._used) // 4, self._longest_step)
        return max(1, self._used // 50, far)

    def _foresee(self) -> tuple[int | None, int]:
        """Return the samples by which a decision is likely.

        It adds the places that a pass takes at least.
        """
        rule = self._stop_rule
        return (rule.expected(), rule.fewest() * self._repeats) if isinstance(rule, ForeseeingStopRule) else (None, 0)


class Places:
    """The places of the order that have no record, each once.

    They go as far ahead as the beginning's limits allow. What is sure to be needed begins at once. Of the rest, few are
    in flight until it shows how many saturate the engine: those that keep it busy, and from the first of their replies
    on half as many more, then twice as many with every `ENOUGH` replies. Past what is likely to be needed, as few keep
    it busy. Where less than half of what it takes saturates the engine, half of what does is in flight beyond what is
    sure: more would slow each other, and a decision waits for the first of them.
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
        """Return the next place.

        None where there is no more to ask. It waits while only places past the limits are left.
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
        """Let those that wait look again.

        The record of a place has finished.
        """
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
