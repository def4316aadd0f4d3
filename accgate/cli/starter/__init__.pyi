from .files import (
    CONFIG_FILE,
    IGNORE_FILE,
    IGNORED,
    MODELS,
    SCHEMA_FILE,
    config_text,
    ignoring,
    name_fault,
    repository_of,
    schema_text,
    theta_of,
)
from .questions import Answers, asked, names_of
from .workflow import WORKFLOW_FILE, workflow_text

__all__ = [
    "CONFIG_FILE",
    "IGNORED",
    "IGNORE_FILE",
    "MODELS",
    "SCHEMA_FILE",
    "WORKFLOW_FILE",
    "Answers",
    "asked",
    "config_text",
    "ignoring",
    "name_fault",
    "names_of",
    "repository_of",
    "schema_text",
    "theta_of",
    "workflow_text",
]
