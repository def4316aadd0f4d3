"""The run in a terminal: a progress bar while it evaluates, a table at the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.panel import Panel
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from accgate.decide import Verdict
from accgate.report import words
from accgate.report.flips import Flip, excerpt, opening
from accgate.result import Result

if TYPE_CHECKING:
    from accgate.records import Record

COLOURS = {"pass": "green", "regression": "red", "inconclusive": "yellow", "no-reference": "yellow", "error": "red"}


class ProgressBar:
    """An observer that shows samples, rate, time left and the running mean; a line per check without a terminal."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._progress: Progress | None = None
        self._task: TaskID | None = None
        self._name = ""
        self._sum = 0.0
        self._scored = self._failed = 0

    def started(self, model: str, task: str, total: int, kept: Sequence[Record]) -> None:
        """Begin a bar."""
        self._name = f"{model} / {task}"
        scores = [record.score for record in kept if record.score is not None]
        self._sum, self._scored, self._failed = sum(scores), len(scores), 0
        kept_text = f", {len(kept):,} kept from before" if kept else ""
        if not self._console.is_terminal:
            self._console.print(f"{self._name}: {total:,} samples{kept_text}", markup=False, highlight=False)
            return
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(),
            TextColumn("mean {task.fields[mean]}"),
            TextColumn("[red]{task.fields[failed]}"),
            console=self._console,
        )
        self._progress.start()
        self._task = self._progress.add_task(
            self._name, total=total, completed=len(kept), rate="", mean=self._mean(), failed=""
        )

    def finished(self, record: Record) -> None:
        """Move the bar."""
        if record.score is None:
            self._failed += 1
        else:
            self._sum += record.score
            self._scored += 1
        if self._progress is None or self._task is None:
            return
        speed = self._progress.tasks[0].speed
        self._progress.update(
            self._task,
            advance=1,
            rate="" if speed is None else f"{speed:,.1f}/s",
            mean=self._mean(),
            failed=f"{self._failed} failed" if self._failed else "",
        )

    def ended(self) -> None:
        """End the bar, or say the mean in a line."""
        if self._progress is not None:
            self._progress.stop()
            self._progress = None
            return
        failed = f", {self._failed} failed" if self._failed else ""
        self._console.print(f"{self._name}: mean {self._mean()}{failed}", markup=False, highlight=False)

    def _mean(self) -> str:
        return words.number(self._sum / self._scored) if self._scored else "-"


def print_result(console: Console, result: Result, flips: Mapping[Any, Sequence[Flip]] | None = None) -> None:
    """The verdict of a run: headline, table, and the reasons and flips of what did not pass."""
    colour = COLOURS[result.verdict]
    console.print(Panel(Text(words.headline(result), style=f"bold {colour}"), border_style=colour, expand=False))
    table = Table(box=None, pad_edge=False)
    for i, heading in enumerate(words.HEADINGS):
        table.add_column(heading, justify="right" if 1 < i < len(words.HEADINGS) - 1 else "left")
    for verdict in result.checks:
        cells = words.row(verdict)[:-1]
        table.add_row(*map(escape, cells), Text(verdict.verdict, style=COLOURS[verdict.verdict]))
    console.print(table)
    for verdict in result.checks:
        _print_check(console, verdict, (flips or {}).get((verdict.model, verdict.task), ()))


def _print_check(console: Console, verdict: Verdict, flips: Sequence[Flip]) -> None:
    console.print()
    console.print(Text(_shown(words.sentence(verdict))))
    if changed := words.changed(verdict):
        console.print(Text(f"{changed}."))
    if drifted := words.drifted(verdict):
        style = "yellow" if verdict.drift is not None and verdict.drift.detected else ""
        console.print(Text(f"{_shown(drifted)}.", style=style))
    if verdict.p_value is not None:
        for reason in verdict.reasons:
            console.print(Text(f"- {_shown(reason)}", style="yellow"))
    if verdict.verdict != "regression" or not flips or flips[0].prompt is None:
        return
    table = Table(
        "Prompt", "Expected", "Before", "Now", box=None, title="Better before, worst first", title_justify="left"
    )
    for flip in flips[:5]:
        table.add_row(
            escape(_shown(excerpt(flip.prompt, 40))), escape(_shown(opening(flip.expected, 24))),
            escape(_shown(opening(flip.before, 24))), escape(_shown(opening(flip.got, 24))),
        )  # fmt: skip
    console.print(table)


def _shown(text: str) -> str:
    """A text for a terminal or log, in which GitHub's runner must find no workflow command."""
    return words.visible(text).replace("::", ":\u200b:").replace("##[", "##\u200b[")
