"""Statistics over samples that are no mean of scores: calibration, selection, fairness, robustness, labels."""

from __future__ import annotations

from accgate.metrics.aggregates.faults import UnknownAggregate, UnusableRecords
from accgate.metrics.aggregates.registry import aggregate, aggregate_entries, aggregate_names

__all__ = ["UnknownAggregate", "UnusableRecords", "aggregate", "aggregate_entries", "aggregate_names"]
