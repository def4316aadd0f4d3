"""Every family of metrics."""

from __future__ import annotations

from accgate.metrics import (
    instructions,
    labels,
    longbench,
    match,
    mmmu,
    modelled,
    overlap,
    rouge,
    speech,
    structured,
    translation,
)
from accgate.metrics.metric import Entry

FAMILIES: tuple[tuple[Entry, ...], ...] = (
    match.ENTRIES,
    labels.ENTRIES,
    overlap.ENTRIES,
    rouge.ENTRIES,
    translation.ENTRIES,
    speech.ENTRIES,
    structured.ENTRIES,
    instructions.ENTRIES,
    longbench.ENTRIES,
    mmmu.ENTRIES,
    modelled.ENTRIES,
)
