"""The result of a run in a terminal: headline, table, and what there is to say of each check."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from accgate.report import words
from accgate.report.console import print_table
from accgate.report.flips import Flip, excerpt, opening
from accgate.report.progress import ProgressBar
from accgate.result import Result
from accgate.verdict import Verdict

__all__ = ["ProgressBar", "print_result", "shown"]

TABLE_FLIPS = 5
COLOURS = {"pass": "green", "regression": "red", "inconclusive": "yellow", "no-reference": "yellow", "error": "red"}


def print_result(console: Console, result: Result, flips: Mapping[Any, Sequence[Flip]] | None = None) -> None:
    """The verdict of a run: headline, table, and the reasons and flips of what did not pass."""
    colour = COLOURS[result.verdict]
    console.print(Panel(Text(words.headline(result), style=f"bold {colour}"), border_style=colour, expand=False))
    rows: list[list[str | Text]] = [
        [*words.row(verdict)[:-1], Text(verdict.verdict, style=COLOURS[verdict.verdict])] for verdict in result.checks
    ]
    print_table(console, words.HEADINGS, rows, left=(0, 1, len(words.HEADINGS) - 1))
    for verdict in result.checks:
        _print_check(console, verdict, (flips or {}).get((verdict.model, verdict.task), ()))


def _print_check(console: Console, verdict: Verdict, flips: Sequence[Flip]) -> None:
    console.print()
    console.print(Text(shown(words.sentence(verdict))))
    if changed := words.changed(verdict):
        console.print(Text(f"{changed}."))
    if different := words.set_differently(verdict):
        console.print(Text(f"{shown(different)}."))
    if drifted := words.drifted(verdict):
        style = "yellow" if verdict.drift is not None and verdict.drift.detected else ""
        console.print(Text(f"{shown(drifted)}.", style=style))
    if verdict.p_value is not None:
        for reason in verdict.reasons:
            console.print(Text(f"- {shown(reason)}", style="yellow"))
    if verdict.verdict != "regression" or not flips or flips[0].prompt is None:
        return
    table = Table(
        "Prompt", "Expected", "Before", "Now", box=None, title="Better before, worst first", title_justify="left"
    )
    for flip in flips[:TABLE_FLIPS]:
        table.add_row(
            escape(shown(excerpt(flip.prompt, 40))), escape(shown(opening(flip.expected, 24))),
            escape(shown(opening(flip.before, 24))), escape(shown(opening(flip.got, 24))),
        )  # fmt: skip
    console.print(table)
    if len(verdict.flips) > TABLE_FLIPS:
        console.print(
            Text(f" and {len(verdict.flips) - TABLE_FLIPS:,} more, which the HTML report shows (`accgate run --html`)")
        )


def shown(text: str) -> str:
    """A text for a terminal or log, in which GitHub's runner must find no workflow command."""
    return words.visible(text).replace("::", ":\u200b:").replace("##[", "##\u200b[")
