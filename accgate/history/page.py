"""A history as one HTML page that needs nothing else: no script, no network, light and dark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from accgate.errors import VerdictName
from accgate.history.chart import BAND, BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, Chart, chart_of
from accgate.history.file import History
from accgate.history.series import HEADINGS, Series, cells, series_of
from accgate.report.html.inline import page_parts, whole_page
from accgate.report.story import SIGNS
from accgate.text import p_relation

SHOWN = 500  # runs in a chart: with more the marks would lie on each other
ROWS = 50  # runs in a table
DRAWN = {
    "width": WIDTH, "height": HEIGHT, "left": LEFT, "right": WIDTH - RIGHT, "top": TOP, "bottom": HEIGHT - BOTTOM,
}  # fmt: skip


@dataclass(frozen=True)
class View:
    """A check on the page; `rows` are the latest runs, newest first, and `drift` what the latest says of it."""

    series: Series
    chart: Chart | None
    rows: tuple[tuple[VerdictName, tuple[str, ...]], ...]
    drift: str


def html_page(history: History, check: str | None = None) -> str:
    """The page of a history, or of one check of it, "MODEL/TASK".

    Names can hold anything: each shows as text, and the page's policy lets nothing load or run.

    Raises
    ------
    BadInput
        Where there is no run, or no check of that name.
    """
    runs = history.runs
    series = series_of(runs, check)
    return whole_page(
        "accgate.history",
        "history.html.j2",
        style=page_parts("accgate.report", "tokens.css") + page_parts("accgate.history", "history.css"),
        headline=_headline(series),
        views=[_view(one) for one in series],
        signs=SIGNS,
        headings=HEADINGS,
        drawn=DRAWN,
        band=f"{BAND:g}",
        runs=len(runs),
        first=runs[0].started[:10],
        last=runs[-1].started[:10],
        damaged=len(history.damaged),
        unread=sum(line.run is None for line in history.lines),
        version=runs[-1].accgate,
    )


def _view(series: Series) -> View:
    steps = series.steps[-SHOWN:]
    rows = tuple((step.point.verdict, cells(step)) for step in reversed(steps[-ROWS:]))
    return View(series, chart_of(replace(series, steps=steps)), rows, _drift(series))


def _drift(series: Series) -> str:
    """The outcome of the drift test in the latest run."""
    drift = series.last.point.drift
    if drift is None or drift.difference is None or drift.p_value is None:
        return ""
    moved = series.last.text(drift.difference, sign=True)
    outcome = "A slow decline that no single run shows" if drift.detected else "No slow decline"
    return (
        f"{outcome}: since the anchor of {drift.since or 'an unknown date'} the mean has moved by "
        f"{moved} (p {p_relation(drift.p_value)} at alpha {drift.alpha:g} over all "
        f"{drift.runs} runs since)."
    )


def _headline(series: Sequence[Series]) -> str:
    bad = [one.name for one in series if one.last.point.verdict == "regression"]
    if bad:
        return (
            f"Accuracy over time: {', '.join(bad[:3])}{f' and {len(bad) - 3} more' if len(bad) > 3 else ''} regressed"
        )
    open_, all_ = sum(one.last.point.verdict != "pass" for one in series), len(series)
    if open_:
        which = "the check" if all_ == 1 else f"{open_} of {all_} checks"
        return f"Accuracy over time: {which} gave no verdict in the latest run"
    declining = sum(one.last.point.is_declining for one in series)
    but = f", but {declining} {'declines' if declining == 1 else 'decline'} slowly" if declining else ""
    return (
        f"Accuracy over time: {'the check' if all_ == 1 else f'{all_} of {all_} checks'} passed in the latest run{but}"
    )
