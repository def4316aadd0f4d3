"""Every family of metrics."""

from __future__ import annotations

from accgate.metrics import match
from accgate.metrics.registry import Entry

FAMILIES: tuple[tuple[Entry, ...], ...] = (match.ENTRIES,)
