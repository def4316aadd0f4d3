from .badge import badge_of, svg
from .file import History
from .page import html_page
from .run import Run, run_of
from .series import series_of
from .store import NAME, Addition, add_run, add_to, read_history, write_merged
from .text import as_rows, print_history

__all__ = [
    "NAME",
    "Addition",
    "History",
    "Run",
    "add_run",
    "add_to",
    "as_rows",
    "badge_of",
    "html_page",
    "print_history",
    "read_history",
    "run_of",
    "series_of",
    "svg",
    "write_merged",
]
