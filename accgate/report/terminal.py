"""The console, tables and paragraphs that every command prints with."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from accgate.text import visible
from accgate.verdict import Verdict
from accgate.verdict.paragraphs import Paragraph
from accgate.verdict.points import points_text
from accgate.verdict.sentences import sentence

ANSWERS = {
    "pass": "is not shown to be worse than {first}",
    "worse": "is worse than {first}",
    "better": "is better than {first}",
    "no difference": "and {first} differ by less than theta, as far as this can show",
    "open": "and {first}: not enough samples to tell",
}
COLOURS = {
    "pass": "green", "regression": "red", "inconclusive": "yellow", "no-reference": "yellow", "error": "red",
    "worse": "red", "better": "green", "no difference": "green", "open": "yellow",
}  # fmt: skip # of verdicts, and of what `ab --two-sided` answers


def print_ab(console: Console, first: str, compared: Sequence[tuple[Verdict, str | None]]) -> None:
    """Print how the second of two models compares with the first, on each task."""
    for verdict, answer in compared:
        outcome = answer or {"regression": "worse", "inconclusive": "open"}.get(verdict.verdict, verdict.verdict)
        before, now = verdict.reference.mean, verdict.candidate.mean
        means = f": {points_text(verdict, now)} against {points_text(verdict, before)}"
        means = "" if before is None or now is None else means
        title = f"{verdict.task}: {verdict.model} {ANSWERS[outcome].format(first=first)}{means}"
        console.print(Text(visible(title), style=f"bold {COLOURS[outcome]}"))
        print_paragraph(console, sentence(verdict), indent=2)
        for reason in verdict.reasons:
            print_paragraph(console, f"- {reason}", "yellow", indent=2)


class PlainConsole(Console):
    """A console that leaves a closed pipe to the command.

    rich would exit with code 1, which means a regression.
    """

    def on_broken_pipe(self) -> None:
        """Raise BrokenPipeError."""
        raise BrokenPipeError


def print_table(
    console: Console, headings: Sequence[str], rows: Sequence[Sequence[str | Text]], *, left: Sequence[int]
) -> None:
    """Print rows as a table, or as paragraphs in a narrow terminal.

    The first two cells name a row. Without rows nothing is printed. Columns `left` are aligned left, others right.
    """
    if not rows:
        return
    cells = [[cell if isinstance(cell, Text) else Text(cell) for cell in row] for row in rows]
    columns = zip(map(Text, headings), *cells, strict=True)
    widths = [max(cell.cell_len for cell in column) for column in columns]
    if sum(widths) + 2 * (len(widths) - 1) <= console.width:
        table = Table(box=None, pad_edge=False)
        for i, heading in enumerate(headings):
            table.add_column(heading, justify="left" if i in left else "right")
        for row in cells:
            table.add_row(*row)
        console.print(table)
        return
    for row in cells:
        console.print(Text(" / ").join(row[:2]), style="bold")
        figures = [Text(f"{name} ").append_text(cell) for name, cell in zip(headings[2:], row[2:], strict=True)]
        print_paragraph(console, Text(", ").join(figures), indent=2)


def print_paragraph(console: Console, text: str | Text, style: str = "", *, indent: int = 0) -> None:
    """Print a paragraph, indented, without spaces at the ends of its lines.

    In a string control and direction characters are replaced; a `Text` is printed unchanged.
    """
    body = Text(visible(text), style=style) if isinstance(text, str) else text
    for line in body.wrap(console, max(console.width - indent, 1)):
        line.rstrip()
        console.print(Text(" " * indent).append_text(line), no_wrap=True)


def print_explanation(console: Console, paragraphs: Sequence[Paragraph]) -> None:
    """Print the paragraphs, each under its heading."""
    (title, meaning), *rest = paragraphs
    console.print(Text(visible(title), style=f"bold {COLOURS[title.rpartition(': ')[2]]}"))
    print_paragraph(console, meaning)
    for heading, text in rest:
        console.print(Text(heading, style="bold"))
        print_paragraph(console, text, indent=2)
