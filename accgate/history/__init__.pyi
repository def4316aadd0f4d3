from .badge import badge_of, svg
from .file import History, history_of, merge_histories
from .page import html_page
from .run import Run, run_of
from .series import series_of
from .store import BRANCH, NAME, Addition, add_run, add_to, read_history, write_merged
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
    "history_of",
    "html_page",
    "merge_histories",
    "print_history",
    "read_history",
    "run_of",
    "series_of",
    "svg",
    "write_merged",
]
