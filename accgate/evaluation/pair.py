"""The comparison of two models that answer the same samples at the same time.

It ends when the samples that both have finished decide the check.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import takewhile
from pathlib import Path

from accgate.errors import writing
from accgate.evaluation.assignment import StopRule, Watch
from accgate.evaluation.outcome import Evaluation
from accgate.planning.checks import Check
from accgate.records.file import Record, paths_of
from accgate.records.log import read_log
from accgate.records.replacement import write_gzip_lines

Records = tuple[Sequence[Record], Sequence[Record]]


class SideBySide:
    """The samples that both sides of a check have finished.

    `decides` tells from both sides' records of the first samples whether these decide the check. Without it no side
    ends early.
    """

    def __init__(self, check: Check, decides: Callable[[Sequence[Record], Sequence[Record]], bool] | None) -> None:
        self._check, self._decides = check, decides
        self._finished: list[Sequence[Record]] = [(), ()]
        self._looked = 0
        self._over = False

    def rule(self, side: int) -> StopRule | None:
        """Return the stop rule of a side.

        Where it ends one side, the other side ends at its next answer.
        """
        return None if self._decides is None else StopRule(partial(self.look, side), self.expected)

    def end(self, side: int, evaluation: Evaluation | None) -> None:
        """Note the evaluation of a side.

        An evaluation that gives no verdict ends the other side too.
        """
        if evaluation is None or not evaluation.complete:
            self._over = True
        else:
            self._finished[side] = evaluation.records

    def is_decided_by(self, evaluations: Sequence[Evaluation]) -> bool:
        """Tell whether both sides' evaluations are whole, or decide the check."""
        first, second = common_records(self._check, evaluations)
        is_whole = len(second) == self._check.n * self._check.repeats
        return is_whole or (self._decides is not None and self._decides(first, second))

    def look(self, side: int, records: Sequence[Record]) -> bool:
        """Tell whether both sides may end, given the finished first records of one."""
        self._finished[side] = records
        common = min(map(len, self._finished))
        if not self._over and common > self._looked:
            self._looked = common
            assert self._decides is not None
            self._over = self._decides(self._finished[0][:common], self._finished[1][:common])
        return self._over

    def expected(self) -> int | None:
        """Return the number of samples by which the plan expects a decision."""
        planned = self._check.expected_n_healthy
        return None if planned is None or planned * self._check.repeats <= self._looked else math.ceil(planned)


Watches = Mapping[tuple[str, str], Watch | SideBySide]  # by a check's key; `SideBySide` for a check of two sides


def common_records(check: Check, sides: Sequence[Evaluation]) -> Records:
    """Return both sides' records of the first samples that both have finished.

    They end before the first sample of the order that a side has not finished.
    """
    by_key = [{record.key: record for record in (*each.records, *each.beyond)} for each in sides]
    keys = ([(id_, repeat) for repeat in range(check.repeats)] for id_ in check.task.samples.ids)
    finished = takewhile(lambda each: all(key in records for key in each for records in by_key), keys)
    common = [key for each in finished for key in each]
    return [by_key[0][key] for key in common], [by_key[1][key] for key in common]


def copy_other_sides(checks: Sequence[Check], out: Path) -> None:
    """Copy the other sides' replies beside the records, for the report.

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
