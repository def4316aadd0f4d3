from . import resolved
from .choices import chosen, continuation
from .datasets import ENDINGS
from .definition import Definition, read_definition
from .extract import by_regex
from .faults import ANSWER
from .identity import fingerprint_of, likeliest, numbered_ids, request_text
from .library import library_file, library_names
from .lm_eval.foreign import ForeignTask, foreign_definition, foreign_task, is_foreign, load_foreign, named_definition
from .lm_eval.requests import responses_of
from .points import FRACTIONS, scale_of
from .resolved import is_higher_better, metric_of, with_choice
from .schema import Beta, ChosenBy, Dataset, DefinitionFile, Level
from .task import Sample, Task, load_task, sample_id

__all__ = [
    "ANSWER",
    "ENDINGS",
    "FRACTIONS",
    "Beta",
    "ChosenBy",
    "Dataset",
    "Definition",
    "DefinitionFile",
    "ForeignTask",
    "Level",
    "Sample",
    "Task",
    "by_regex",
    "chosen",
    "continuation",
    "fingerprint_of",
    "foreign_definition",
    "foreign_task",
    "is_foreign",
    "is_higher_better",
    "library_file",
    "library_names",
    "likeliest",
    "load_foreign",
    "load_task",
    "metric_of",
    "named_definition",
    "numbered_ids",
    "read_definition",
    "request_text",
    "resolved",
    "responses_of",
    "sample_id",
    "scale_of",
    "with_choice",
]
