from .aggregates.base import UnusableRecords
from .calls import CALLS
from .code import code_digest, helpers_digest
from .metric import BadOption, Kind, Metric, UnknownMetric
from .registry import aggregate, describe, get, metric_builders

__all__ = [
    "CALLS", "BadOption", "Kind", "Metric", "UnknownMetric", "UnusableRecords", "aggregate", "code_digest",
    "describe", "get", "helpers_digest", "metric_builders",
]  # fmt: skip
