from .faults import UnknownAggregate, UnusableRecords
from .registry import aggregate, aggregate_entries, aggregate_names

__all__ = [
    "UnknownAggregate",
    "UnusableRecords",
    "aggregate",
    "aggregate_entries",
    "aggregate_names",
]
