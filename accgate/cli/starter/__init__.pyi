from .files import (
    CONFIG_FILE,
    IGNORE_FILE,
    IGNORED,
    MODELS,
    REASONING,
    SCHEMA_FILE,
    add_ignored,
    config_text,
    name_fault,
    reasoning_fault,
    repository_of,
    schema_text,
    theta_of,
)
from .own_data import OwnTask, own_task
from .questions import Answers, ask_answers
from .workflow import WORKFLOW_FILE, workflow_text

__all__ = [
    "CONFIG_FILE",
    "IGNORED",
    "IGNORE_FILE",
    "MODELS",
    "REASONING",
    "SCHEMA_FILE",
    "WORKFLOW_FILE",
    "Answers",
    "OwnTask",
    "add_ignored",
    "ask_answers",
    "config_text",
    "name_fault",
    "own_task",
    "reasoning_fault",
    "repository_of",
    "schema_text",
    "theta_of",
    "workflow_text",
]
