"""The console that every command prints to, and tables that fit it."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text


class PlainConsole(Console):
    """A console that leaves a closed pipe to the command: rich itself would exit with 1, which means a regression."""

    def on_broken_pipe(self) -> None:
        """Raise it."""
        raise BrokenPipeError


def print_table(
    console: Console, headings: Sequence[str], rows: Sequence[Sequence[str | Text]], *, left: Sequence[int]
) -> None:
    """Rows under headings, the columns `left` justified so; a paragraph per row where the terminal is too narrow.

    The first two cells name a row. Text is shown as it stands, without markup.
    """
    cells = [[cell if isinstance(cell, Text) else Text(cell) for cell in row] for row in rows]
    table = Table(box=None, pad_edge=False)
    for i, heading in enumerate(headings):
        table.add_column(heading, justify="left" if i in left else "right")
    for row in cells:
        table.add_row(*row)
    if _fits(console, headings, cells):
        console.print(table)
        return
    for row in cells:
        console.print(Text(" / ").join(row[:2]), style="bold")
        figures = [Text(f"{name} ").append_text(cell) for name, cell in zip(headings[2:], row[2:], strict=True)]
        print_paragraph(console, Text(", ").join(figures), indent=2)


def print_paragraph(console: Console, text: Text, *, indent: int = 0) -> None:
    """A paragraph whose lines end with their last word."""
    for line in text.wrap(console, max(console.width - indent, 1)):
        line.rstrip()
        console.print(Text(" " * indent).append_text(line), no_wrap=True)


def _fits(console: Console, headings: Sequence[str], rows: Sequence[Sequence[Text]]) -> bool:
    """Whether each column can be as wide as its widest cell."""
    columns = zip([Text(heading) for heading in headings], *rows, strict=True)
    widths = [max(cell.cell_len for cell in column) for column in columns]
    return bool(sum(widths) + 2 * (len(widths) - 1) <= console.width)
