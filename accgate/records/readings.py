"""How many replies of a run were read, and how many held no answer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from accgate.records.figures import KINDS, Figures
from accgate.records.file import Record
from accgate.verdict import Readings


def readings_of(records: Sequence[Record]) -> Readings | None:
    """The counts of records, the replies to attacked prompts included.

    None where there was nothing to read, or where an earlier version wrote them.
    """
    own, attacked = split_readings(records)
    if own is None or attacked is None:
        return own or attacked
    return Readings(
        own.replies + attacked.replies, own.unread + attacked.unread, own.empty + attacked.empty, own.cut + attacked.cut
    )


def split_readings(records: Sequence[Record]) -> tuple[Readings | None, Readings | None]:
    """The counts of the replies to the prompts themselves, and of those to the attacked ones; None as above.

    Each is held to `max_unread` alone: where few prompts are attacked, many replies that were read would hide them.
    """
    columns = Figures.of(records).columns
    kinds = np.bincount(columns["reading"], minlength=len(KINDS))
    cut = (columns["reading"] > 0) & ((columns["reading"] == KINDS.index("cut")) | columns["cut"])
    replies, empty = int(kinds[1:].sum()), int(kinds[KINDS.index("empty")])
    own = Readings(replies, replies - int(kinds[KINDS.index("read")]), empty, int(cut.sum()))
    attacked = Readings(*(int(columns[f"attacked_{name}"].sum()) for name in ("replies", "unread", "empty", "cut")))
    return own if own.replies else None, attacked if attacked.replies else None
