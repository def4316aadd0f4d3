"""A history as one HTML page, and its latest run as a badge.

The page needs nothing else: no script, no network, light and dark. The badge is an SVG, and the JSON from which
shields.io draws its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from accgate.errors import VerdictName, worst
from accgate.history.chart import BAND, BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, Chart, chart_of
from accgate.history.file import History
from accgate.history.run import Run
from accgate.history.series import HEADINGS, Series, cells, series_of
from accgate.report.charts.svg import pixel
from accgate.report.html.inline import page_parts, page_template, whole_page
from accgate.report.story import SIGNS
from accgate.text import p_relation, visible

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


# White text on each has a contrast of 4.5 to 1 or more.
COLOURS: dict[VerdictName, str] = {
    "pass": "#1a7f37",
    "regression": "#b42318",
    "inconclusive": "#8a5a00",
    "no-reference": "#59636e",
    "error": "#59636e",
}
DRIFTING = "#8a5a00"
MESSAGES: dict[VerdictName, str] = {
    "pass": "no regression",
    "regression": "regressed",
    "inconclusive": "too few samples",
    "no-reference": "no reference",
    "error": "not evaluated",
}


@dataclass(frozen=True)
class Badge:
    """What a badge says; `color` is a hexadecimal number after #."""

    label: str
    message: str
    color: str

    def endpoint(self) -> dict[str, str | int]:
        """The JSON of shields.io's endpoint badge: https://shields.io/badges/endpoint-badge.

        >>> Badge("accuracy", "no regression", "#1a7f37").endpoint()["schemaVersion"]
        1
        """
        return {"schemaVersion": 1, "label": self.label, "message": self.message, "color": self.color}


def badge_of(runs: Sequence[Run], check: str | None = None) -> Badge:
    """The badge of the latest run, or of one check in the latest run that had it, "MODEL/TASK".

    Where a model has several variants, the worst of them counts.

    Raises
    ------
    BadInput
        Where there is no run, or no check of that name.
    """
    if check is None:
        series_of(runs)
        last = runs[-1]
        drifting = any(point.is_declining for point in last.checks)
        return _badge("accuracy", MESSAGES[last.verdict], last.verdict, drifting=drifting)
    series = series_of(runs, check)
    verdict = worst(one.last.point.verdict for one in series)
    drifting = any(one.last.point.is_declining for one in series)
    message = MESSAGES[verdict]
    step, mean = series[0].last, series[0].last.levels.mean
    if len(series) == 1 and verdict in ("pass", "regression") and mean is not None:
        error = "" if step.point.error is None else f" ± {step.text(step.point.error)}"
        figure = f"{step.text(mean)}{error}"
        message = figure if verdict == "pass" else f"{figure}, {message}"
    return _badge(visible(series[0].task) or "accuracy", message, verdict, drifting=drifting)


def _badge(label: str, message: str, verdict: VerdictName, *, drifting: bool) -> Badge:
    if drifting and verdict == "pass":
        return Badge(label, f"{message}, but declining", DRIFTING)
    return Badge(label, message, COLOURS[verdict])


PADDING = 6.0  # pixels at both ends of a text


def svg(badge: Badge) -> str:
    """The badge as an SVG that needs nothing else."""
    left, right = (_width(text) + 2 * PADDING for text in (badge.label, badge.message))
    template = page_template("accgate.history", "badge.svg.j2")
    return template.render(badge=badge, left=left, right=right, padding=PADDING, tenth=pixel) + "\n"


WIDTHS = {"ijlI.,:;|!' ": 3.5, "frt()[]-": 4.6, "cksvxyz": 6.0, "mwMW@%": 10.4}


def _width(text: str) -> float:
    """About how wide a text is in Verdana of 11 pixels."""
    widths = {c: width for group, width in WIDTHS.items() for c in group}
    return sum(widths.get(c, 7.8 if c.isupper() else 6.9) for c in text)
