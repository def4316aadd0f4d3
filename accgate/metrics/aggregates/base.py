"""A statistic over samples: how it reads records, its value, its direction, and the value that is decided on."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy.typing as npt

from accgate.metrics.aggregates.columns import Side, read
from accgate.stats.statistics import value_or_nan

Rows = npt.NDArray[Any]

NO_RECORDS = "there are no records"


@dataclass(frozen=True)
class Table:
    """The sides' rows, one for each sample, and the names behind the codes in them."""

    rows: tuple[Rows, ...]
    legend: tuple[str, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """A statistic's value in its unit, None with the reason where it has none (0/0), and the details behind it.

    `details` is ready for JSON: a reliability diagram's bins, a curve's points, rates by group or label.
    """

    value: float | None
    reason: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Aggregate:
    """A statistic over samples, with its options set.

    A record is a mapping or any object with the run record's names. `needs` are the keys it must have; those also in
    `partly` may be missing where the statistic does not ask for them.
    `statistic` takes the rows that `encode` gives, any number of them and with repetitions, and is what
    `accgate.decision.compare_statistic` decides on; NaN for 0/0. It is the value itself but for signed
    differences (`signed` gives them), where a negative value is no better than a positive one. `lowest` and `highest`
    bound it, None where nothing does.
    """

    name: str
    needs: tuple[str, ...]
    tabulate: Callable[[Sequence[Side]], Table]
    statistic: Callable[[Rows], float]
    higher_is_better: bool
    why_undefined: str | Callable[[Table], str] = NO_RECORDS
    unit: str = "points"
    describe: Callable[[Table], Mapping[str, Any]] = lambda _: {}
    signed: Callable[[Rows], float] | None = None
    partly: tuple[str, ...] = ()
    lowest: float | None = 0.0
    highest: float | None = 100.0

    def table(self, *sides: Iterable[Any]) -> Table:
        """The rows of all sides, with the names behind their codes; raises as `encode` does."""
        always = tuple(key for key in self.needs if key not in self.partly)
        return self.tabulate(read(self.name, always, sides))

    def encode(self, *sides: Iterable[Any]) -> tuple[Rows, ...]:
        """An array of shape (samples, k) for each side's records: the same samples, row by row, and the same codes.

        Rows stand in the order in which the first side's samples first come; a sample's repeats are in its row.

        Raises
        ------
        UnusableRecords
            Where a record lacks a key, failed or comes twice, and where the sides do not fit each other.
        """
        return self.table(*sides).rows

    def outcome(self, records: Iterable[Any]) -> Outcome:
        """The value of these records with its details; raises as `encode` does, but for no records at all."""
        records = list(records)
        if not records:
            return Outcome(None, NO_RECORDS)
        table = self.table(records)
        value = value_or_nan(self.signed or self.statistic, table.rows[0])
        details = self.describe(table)
        if not math.isfinite(value):
            why = self.why_undefined
            return Outcome(None, why if isinstance(why, str) else why(table), details)
        return Outcome(value, None, details)

    def __call__(self, records: Iterable[Any]) -> float | None:
        """The value of these records in the statistic's unit; None where it is 0/0."""
        return self.outcome(records).value


def json_number(value: float) -> float | None:
    """The number, None where it is 0/0: JSON has no NaN."""
    return float(value) if math.isfinite(value) else None
