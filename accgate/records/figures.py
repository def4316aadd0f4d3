"""The figures of many records as arrays.

Answers and replies are left out, but for how many replies held an answer.
"""

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
MOST = 2**31 - 1  # of a count in a file, which can be any whole number
COLUMNS = np.dtype(
    [
        ("repeat", "i4"),
        ("score", "f8"),  # points; NaN where the sample failed
        ("seconds", "f8"),  # NaN where nobody measured them, as of a reply that was kept of an earlier run
        ("acceptance", "f8"),  # tokens per decoding step; NaN as for seconds
        ("prompt_tokens", "i4"),  # -1 where nobody counted them
        ("completion_tokens", "i4"),
        ("reading", "i1"),  # place in KINDS
        ("cut", "?"),  # whether the reply was cut off
        ("full", "?"),  # at a limit of the server
        ("refused", "?"),  # whether the model refused, or a filter stopped it
        ("cached", "?"),
        # Of replies to attacked prompts, as far as a reading of each is known.
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
    """The ids of records and their figures, each of shape (n,).

    `columns` is structured, as `COLUMNS` says.
    """

    ids: Ids
    columns: npt.NDArray[np.void]

    @classmethod
    def of(cls, records: Iterable[Record]) -> Figures:
        """Collect those of any records, which are gone through once."""
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
        """Return those at these places."""
        return Figures(self.ids.take(places), self.columns[places])

    @property
    def failed(self) -> npt.NDArray[np.bool_]:
        """Which have no score."""
        failed: npt.NDArray[np.bool_] = np.isnan(self.columns["score"])
        return failed

    @property
    def unread(self) -> npt.NDArray[np.bool_]:
        """Of which the reply held no answer."""
        unread: npt.NDArray[np.bool_] = self.columns["reading"] > KINDS.index("read")
        return unread

    @property
    def silent(self) -> npt.NDArray[np.bool_]:
        """Of which the reply said nothing, or was cut off before an answer."""
        silent: npt.NDArray[np.bool_] = np.isin(self.columns["reading"], [KINDS.index(kind) for kind in SILENT])
        return silent

    @property
    def cached(self) -> int:
        """How many replies were kept of an earlier run."""
        return int(self.columns["cached"].sum())

    def tokens(self, name: str) -> int:
        """Sum the tokens of this column that were paid for.

        They include those of replies that were not kept.
        """
        column = self.columns[name]
        return int(column[~self.columns["cached"] & (column > 0)].sum())


def readings_of(records: Sequence[Record]) -> Readings | None:
    """Count how records were read, replies to attacked prompts included.

    None where there was nothing to read, or where an earlier version wrote them.
    """
    return sum_of_readings(split_readings(records))


def sum_of_readings(several: Iterable[Readings | None]) -> Readings | None:
    """Return the counts of several together, of those that have some."""
    counts = [astuple(each) for each in several if each is not None]
    return Readings(*map(sum, zip(*counts, strict=True))) if counts else None


def split_readings(records: Sequence[Record]) -> tuple[Readings | None, Readings | None]:
    """Count how replies were read, apart for plain and attacked prompts.

    None as above. Each is held to `max_unread` alone: where few prompts are attacked, many replies that were read would
    hide them.
    """
    columns = Figures.of(records).columns
    kinds = np.bincount(columns["reading"], minlength=len(KINDS))
    cut = (columns["reading"] > 0) & ((columns["reading"] == KINDS.index("cut")) | columns["cut"])
    replies, empty = int(kinds[1:].sum()), int(kinds[KINDS.index("empty")])
    refused, full = (int(columns[name][columns["reading"] > 0].sum()) for name in ("refused", "full"))
    own = Readings(replies, replies - int(kinds[KINDS.index("read")]), empty, int(cut.sum()), refused, full)
    attacked = Readings(**{name: int(columns[f"attacked_{name}"].sum()) for name in vars(own)})
    return own if own.replies else None, attacked if attacked.replies else None
