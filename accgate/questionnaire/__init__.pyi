from .answers import Question
from .build import questionnaire
from .judgement import judgement_of
from .key import key_json, read_key
from .page import page_html
from .ratings import read_ratings
from .show import judgement_markdown, print_judgement
from .source import from_files, from_run
from .wording import read_wording

__all__ = [
    "Question",
    "from_files",
    "from_run",
    "judgement_markdown",
    "judgement_of",
    "key_json",
    "page_html",
    "print_judgement",
    "questionnaire",
    "read_key",
    "read_ratings",
    "read_wording",
]
