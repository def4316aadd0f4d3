"""How an answer is scored: functions of answer and target that give points.

`get("exact_match")("4", "4")` is 100.0.
"""

from __future__ import annotations

from accgate.metrics.aggregates import UnknownAggregate, UnusableRecords, aggregate, aggregate_entries, aggregate_names
from accgate.metrics.metric import BadOption, Entry, Kind, Metric, UnknownMetric
from accgate.metrics.registry import entries, get, names

__all__ = [
    "BadOption",
    "Entry",
    "Kind",
    "Metric",
    "UnknownAggregate",
    "UnknownMetric",
    "UnusableRecords",
    "aggregate",
    "aggregate_entries",
    "aggregate_names",
    "entries",
    "get",
    "names",
]
