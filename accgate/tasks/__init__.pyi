from .definition import Definition, library_file, library_names, read_definition
from .lm_eval.harness import HarnessTask, unloaded_definition
from .lm_eval.mapping import FRACTIONS, harness_fingerprint, numbered_ids, scale_of
from .rows import read_rows
from .sample import Sample
from .samples import Samples, recorded_samples
from .schema import ENDINGS, MAX_UNREAD, DefinitionFile
from .task import Task

__all__ = [
    "ENDINGS", "FRACTIONS", "MAX_UNREAD", "Definition", "DefinitionFile", "HarnessTask", "Sample", "Samples", "Task",
    "harness_fingerprint", "library_file", "library_names", "numbered_ids", "read_definition", "read_rows",
    "recorded_samples", "scale_of", "unloaded_definition",
]  # fmt: skip
