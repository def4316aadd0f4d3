from .badge import badge_of, svg
from .collect import run_of
from .file import History, history_of, merged, parsed
from .page import html_page
from .run import Run
from .series import series_of
from .store import BRANCH, NAME, Addition, add_run, add_to, checked, read_history, write_merged
from .text import as_rows, print_history

__all__ = [
    "BRANCH",
    "NAME",
    "Addition",
    "History",
    "Run",
    "add_run",
    "add_to",
    "as_rows",
    "badge_of",
    "checked",
    "history_of",
    "html_page",
    "merged",
    "parsed",
    "print_history",
    "read_history",
    "run_of",
    "series_of",
    "svg",
    "write_merged",
]
