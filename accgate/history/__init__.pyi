from .badge import badge_of, svg
from .page import html_page
from .run import Run, run_of
from .series import series_of
from .store import NAME, History, add_run, history_of, merge_histories, read_content, read_history, write_merged
from .text import as_rows, print_history

__all__ = [
    "NAME",
    "History",
    "Run",
    "add_run",
    "as_rows",
    "badge_of",
    "history_of",
    "html_page",
    "merge_histories",
    "print_history",
    "read_content",
    "read_history",
    "run_of",
    "series_of",
    "svg",
    "write_merged",
]
