"""The figures of many records as arrays, without their texts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass
from itertools import islice

import numpy as np
import numpy.typing as npt

from accgate.records.file import READINGS, SILENT, Record
from accgate.records.finish import CUT, FULL, REFUSED
from accgate.records.ids import AT_ONCE, At, Ids
from accgate.verdict import Readings

KINDS = (None, *READINGS)
MOST = 2**31 - 1  # the largest count that a column holds; a file may have any whole number
COLUMNS = np.dtype(
    [
        ("repeat", "i4"),
        ("score", "f8"),  # points; NaN where the sample failed
        ("seconds", "f8"),  # NaN where they were not measured, as for a reply from the cache
        ("acceptance", "f8"),  # tokens per decoding step; NaN as for seconds
        ("prompt_tokens", "i4"),  # -1 where nobody counted them
        ("completion_tokens", "i4"),
        ("reading", "i1"),  # place in KINDS
        ("cut", "?"),  # whether the reply was cut off
        ("full", "?"),  # at a limit of the server
        ("refused", "?"),  # whether the model refused, or a filter stopped it
        ("cached", "?"),
        # Counts of replies to attacked prompts whose reading is known.
        *((f"attacked_{name}", "i2") for name in vars(Readings(0))),
    ]
)


def row_of(record: Record) -> tuple[float | int | bool, ...]:
    """Return the figures of one record, as `COLUMNS` has them."""
    attacked = [kind for kind in record.attacked_reading or () if kind]
    return (
        min(max(record.repeat, -1), MOST),
        math.nan if record.score is None else record.score,
        record.seconds if record.seconds > 0.0 and not record.cached else math.nan,
        math.nan if record.acceptance is None or record.cached else record.acceptance,
        _count(record.prompt_tokens),
        -1 if record.completion_tokens == 0 and record.reply else _count(record.completion_tokens),  # nobody counted
        KINDS.index(record.reading),
        record.finish_reason in CUT,
        record.finish_reason in FULL,
        record.finish_reason in REFUSED,
        bool(record.cached),
        len(attacked),
        len(attacked) - attacked.count("read"),
        attacked.count("empty"),
        attacked.count("cut") + attacked.count("full"),
        attacked.count("refused"),
        attacked.count("full"),
    )


def _count(tokens: int | None) -> int:
    return -1 if tokens is None else min(max(tokens, -1), MOST)


@dataclass(frozen=True)
class Figures:
    """The ids of records and their figures in a structured array.

    The array has the dtype `COLUMNS` and the shape (n,).
    """

    ids: Ids
    columns: npt.NDArray[np.void]

    @classmethod
    def of(cls, records: Iterable[Record]) -> Figures:
        """Collect the figures of records in one pass."""
        own = getattr(records, "figures", None)
        if isinstance(own, Figures):
            return own
        parts = [np.zeros(0, dtype=COLUMNS)]

        def ids() -> Iterator[str]:
            rest = iter(records)
            while part := list(islice(rest, AT_ONCE)):
                parts.append(np.array(list(map(row_of, part)), dtype=COLUMNS))
                yield from (record.id for record in part)

        packed = Ids(ids())
        return cls(packed, np.concatenate(parts))

    def __len__(self) -> int:
        return len(self.columns)

    def take(self, places: At) -> Figures:
        """Return the figures at these places."""
        return Figures(self.ids.take(places), self.columns[places])

    @property
    def failed(self) -> npt.NDArray[np.bool_]:
        """Whether each record has no score."""
        failed: npt.NDArray[np.bool_] = np.isnan(self.columns["score"])
        return failed

    @property
    def unread(self) -> npt.NDArray[np.bool_]:
        """Whether each reply held no answer."""
        unread: npt.NDArray[np.bool_] = self.columns["reading"] > KINDS.index("read")
        return unread

    @property
    def silent(self) -> npt.NDArray[np.bool_]:
        """Whether each reply was empty, or cut off before an answer."""
        return np.isin(self.columns["reading"], [KINDS.index(kind) for kind in SILENT])

    @property
    def cached(self) -> int:
        """Number of replies from the cache."""
        return int(self.columns["cached"].sum())

    def tokens(self, name: str) -> int:
        """Sum a column of tokens without replies from the cache, which cost nothing."""
        column = self.columns[name]
        return int(column[~self.columns["cached"] & (column > 0)].sum())


def readings_of(records: Sequence[Record]) -> Readings | None:
    """Count how replies were read, those to attacked prompts included.

    None where there was nothing to read, or where an earlier version wrote the records.
    """
    return sum_of_readings(split_readings(records))


def sum_of_readings(several: Iterable[Readings | None]) -> Readings | None:
    """Sum several counts, None if there are none."""
    counts = [astuple(each) for each in several if each is not None]
    return Readings(*map(sum, zip(*counts, strict=True))) if counts else None


def split_readings(records: Sequence[Record]) -> tuple[Readings | None, Readings | None]:
    """Count how replies to plain and to attacked prompts were read.

    Either count is None in the cases of `readings_of`. Each has its own limit of `max_unread`: where few prompts are
    attacked, the many other replies would hide theirs.
    """
    columns = Figures.of(records).columns
    kinds = np.bincount(columns["reading"], minlength=len(KINDS))
    cut = (columns["reading"] > 0) & ((columns["reading"] == KINDS.index("cut")) | columns["cut"])
    replies, empty = int(kinds[1:].sum()), int(kinds[KINDS.index("empty")])
    refused, full = (int(columns[name][columns["reading"] > 0].sum()) for name in ("refused", "full"))
    own = Readings(replies, replies - int(kinds[KINDS.index("read")]), empty, int(cut.sum()), refused, full)
    attacked = Readings(**{name: int(columns[f"attacked_{name}"].sum()) for name in vars(own)})
    return own if own.replies else None, attacked if attacked.replies else None
