"""How an answer is scored: functions of answer and target that give points.

`get("exact_match")("4", "4")` is 100.0.
"""

from __future__ import annotations

from accgate.metrics.registry import BadOption, Entry, Metric, UnknownMetric, entries, get, names

__all__ = ["BadOption", "Entry", "Metric", "UnknownMetric", "entries", "get", "names"]
