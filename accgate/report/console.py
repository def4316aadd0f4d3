"""The console that every command prints to."""

from __future__ import annotations

from rich.console import Console


class PlainConsole(Console):
    """A console that leaves a closed pipe to the command: rich itself would exit with 1, which means a regression."""

    def on_broken_pipe(self) -> None:
        """Raise it."""
        raise BrokenPipeError
