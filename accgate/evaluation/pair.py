"""Two models asked the same samples at the same time.

It goes on until what both have finished decides.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from pathlib import Path

from accgate.errors import writing
from accgate.evaluation.assignment import StopRule, Watch
from accgate.evaluation.outcome import Evaluation
from accgate.planning.checks import Check
from accgate.records.file import Record, paths_of
from accgate.records.log import read_log
from accgate.records.replacement import write_gzip_lines

Decides = Callable[[Sequence[Record], Sequence[Record]], bool]
Records = tuple[Sequence[Record], Sequence[Record]]


class SideBySide:
    """What both sides of a check have finished of the order.

    It says whether that decides. `decides` says so of the records of the first samples, finished by both. Without it
    nothing ends early.
    """

    def __init__(self, check: Check, decides: Decides | None) -> None:
        self._check, self._decides = check, decides
        self._finished: list[Sequence[Record]] = [(), ()]
        self._looked = 0
        self._over = False

    def rule(self, side: int) -> StopRule | None:
        """Return what may end the evaluation of a side.

        The other then ends at its next answer.
        """
        return None if self._decides is None else _Side(self, side)

    def end(self, side: int, evaluation: Evaluation | None) -> None:
        """Note what a side came to. The other ends too where that gives no verdict."""
        if evaluation is None or not evaluation.complete:
            self._over = True
        else:
            self._finished[side] = evaluation.records

    def is_decided_by(self, evaluations: Sequence[Evaluation]) -> bool:
        """Tell whether these of both sides are whole, or decide."""
        first, second = common_records(self._check, evaluations)
        is_whole = len(second) == self._check.n * self._check.repeats
        return is_whole or (self._decides is not None and self._decides(first, second))

    def look(self, side: int, records: Sequence[Record]) -> bool:
        """Tell whether both may end.

        These are the finished first records of a side.
        """
        self._finished[side] = records
        common = min(map(len, self._finished))
        if not self._over and common > self._looked:
            self._looked = common
            assert self._decides is not None
            self._over = self._decides(self._finished[0][:common], self._finished[1][:common])
        return self._over

    def expected(self) -> int | None:
        """Return the samples by which a decision is likely, as planned."""
        planned = self._check.expected_n_healthy
        return None if planned is None or planned * self._check.repeats <= self._looked else math.ceil(planned)


class _Side:
    """The stop rule of one side."""

    def __init__(self, both: SideBySide, side: int) -> None:
        self._both, self._side = both, side

    def __call__(self, records: Sequence[Record]) -> bool:
        """Tell whether what both have finished decides."""
        return self._both.look(self._side, records)

    def expected(self) -> int | None:
        """Return the samples by which a decision is likely."""
        return self._both.expected()

    def fewest(self) -> int:
        """Return the samples that a pass takes at least, of which nothing tells."""
        return 0


Watches = Mapping[tuple[str, str], Watch | SideBySide]  # by a check's key, with both sides where it has two


def common_records(check: Check, sides: Sequence[Evaluation]) -> Records:
    """Return the records of the samples that both sides have finished.

    They are from the first of a check's order without a gap.
    """
    found = [{record.key: record for record in (*each.records, *each.beyond)} for each in sides]
    keys = ([(id_, repeat) for repeat in range(check.repeats)] for id_ in check.task.samples.ids)
    finished = takewhile(lambda each: all(key in records for key in each for records in found), keys)
    both = [(found[0][key], found[1][key]) for each in finished for key in each]
    return [first for first, _ in both], [second for _, second in both]


def copy_other_sides(checks: Sequence[Check], out: Path) -> None:
    """Put what the other sides replied beside the records, for the report.

    Raises
    ------
    CannotEvaluate
        When they cannot be written.
    """
    for check in checks:
        if check.other_side is not None and (path := paths_of(out, *check.other_side.key).records).exists():
            rows = (
                {"id": record.id, "repeat": record.repeat, "score": record.score, "reply": record.reply}
                for record in read_log(path)
            )
            with writing(out):
                write_gzip_lines(paths_of(out, *check.key).before, rows)
