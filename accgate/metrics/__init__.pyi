from .aggregates import UnknownAggregate, UnusableRecords, aggregate, aggregate_entries
from .calls import CALLS, calls_fault, with_tools
from .code import OwnCode, ReadsOutside, code_files
from .equality import EQUALITY, box_content, latex_boxes
from .kinds import PARTS, perplexity
from .metric import BadOption, Kind, Metric, UnknownMetric
from .numbers import READING, number_in
from .own import code_digest, entry_point_of, form_fault, helpers_digest, own_file, own_metric, unloaded_metric
from .registry import entries, get, names

__all__ = [
    "CALLS",
    "EQUALITY",
    "PARTS",
    "READING",
    "BadOption",
    "Kind",
    "Metric",
    "OwnCode",
    "ReadsOutside",
    "UnknownAggregate",
    "UnknownMetric",
    "UnusableRecords",
    "aggregate",
    "aggregate_entries",
    "box_content",
    "calls_fault",
    "code_digest",
    "code_files",
    "entries",
    "entry_point_of",
    "form_fault",
    "get",
    "helpers_digest",
    "latex_boxes",
    "names",
    "number_in",
    "own_file",
    "own_metric",
    "perplexity",
    "unloaded_metric",
    "with_tools",
]
