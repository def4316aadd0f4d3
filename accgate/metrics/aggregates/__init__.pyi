from .columns import UnusableRecords
from .registry import UnknownAggregate, aggregate, aggregate_entries

__all__ = ["UnknownAggregate", "UnusableRecords", "aggregate", "aggregate_entries"]
