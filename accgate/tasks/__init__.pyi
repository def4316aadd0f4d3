from .choices import continuation, likeliest_option
from .conversation import Messages
from .definition import Definition, read_definition
from .extract import by_regex
from .library import library_file, library_names
from .lm_eval.harness import (
    HarnessTask,
    harness_definition,
    harness_task,
    is_of_harness,
    load_from_harness,
    unloaded_definition,
)
from .lm_eval.mapping import FRACTIONS, harness_fingerprint, likeliest, numbered_ids, request_text, scale_of
from .lm_eval.requests import responses_of
from .lm_eval.task import LmEvalTask
from .prompts import CannotRender
from .rows import Source, read_rows
from .sample import Sample, picture_file, sample_id
from .samples import Samples, recorded_samples
from .schema import ENDINGS, MAX_UNREAD, Beta, ChosenBy, DefinitionFile, JudgeTable, Level, ReasoningUse, Share
from .task import WORDING, Task, build_task, load_task, stored_task
from .tools import parse_reply, reply_json

__all__ = [
    "ENDINGS",
    "FRACTIONS",
    "MAX_UNREAD",
    "WORDING",
    "Beta",
    "CannotRender",
    "ChosenBy",
    "Definition",
    "DefinitionFile",
    "HarnessTask",
    "JudgeTable",
    "Level",
    "LmEvalTask",
    "Messages",
    "ReasoningUse",
    "Sample",
    "Samples",
    "Share",
    "Source",
    "Task",
    "build_task",
    "by_regex",
    "continuation",
    "harness_definition",
    "harness_fingerprint",
    "harness_task",
    "is_of_harness",
    "library_file",
    "library_names",
    "likeliest",
    "likeliest_option",
    "load_from_harness",
    "load_task",
    "numbered_ids",
    "parse_reply",
    "picture_file",
    "read_definition",
    "read_rows",
    "recorded_samples",
    "reply_json",
    "request_text",
    "responses_of",
    "sample_id",
    "scale_of",
    "stored_task",
    "unloaded_definition",
]
