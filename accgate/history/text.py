"""A history in a terminal: for each check a line of bars and a table, or a paragraph a run where it is narrow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from rich.console import Console
from rich.text import Text

from accgate.history.series import HEADINGS, Series, Step, cells, sparkline
from accgate.report.terminal import COLOURS, print_paragraph, print_table
from accgate.text import count_of, visible

BARS = 60  # runs in the line of bars


def print_history(console: Console, series: Sequence[Series], *, last: int) -> None:
    """Print every check: a line of bars over many runs, and a table of the latest."""
    for place, one in enumerate(series):
        if place:
            console.print()
        print_paragraph(console, Text(visible(one.name), style="bold"))
        drawn = replace(one, steps=one.steps[-min(BARS, console.width) :])
        bars, span = sparkline([step.levels.mean for step in drawn.steps]), " to ".join(drawn.ends)
        print_paragraph(
            console, Text(f"{bars}{'  ' if span else ''}{span}, {count_of(len(one.steps), 'run')}{_drift(one)}")
        )
        print_table(console, HEADINGS, [_row(step) for step in one.steps[-last:]], left=(0, 1, len(HEADINGS) - 1))
    if any(step.changed for one in series for step in one.steps):
        print_paragraph(console, Text("(new): the reference changed since the previous run.", style="dim"))


def _row(step: Step) -> list[str | Text]:
    texts = [visible(cell) for cell in cells(step)[:-1]]
    return [*texts, Text(step.point.verdict, style=COLOURS[step.point.verdict])]


def _drift(one: Series) -> str:
    drift = one.last.point.drift
    if drift is None or drift.p_value is None:
        return ""
    outcome = "a slow decline" if drift.detected else "no slow decline"
    return f"; {outcome} since the anchor of {visible(drift.since) or 'an unknown date'}"


def as_rows(series: Sequence[Series]) -> list[dict[str, Any]]:
    """The series as JSON has them."""
    return [
        {
            "model": one.model,
            "task": one.task,
            "runs": [
                {
                    "started": step.run.started,
                    "commit": step.run.commit,
                    "accgate": step.run.accgate,
                    "reference_changed": step.changed,
                    "level": asdict(step.levels),
                    **{key: value for key, value in asdict(step.point).items() if key not in ("model", "task")},
                }
                for step in one.steps
            ],
        }
        for one in series
    ]
