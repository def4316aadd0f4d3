"""A history as one HTML page with a chart of each check.

This module computes the positions in a chart, and the template draws them. The page needs no script and no network.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, groupby

from accgate.errors import VerdictName
from accgate.history.file import History
from accgate.history.series import HEADINGS, Series, Step, cells, series_of
from accgate.report.charts.axes import Axis, axis_around, thin
from accgate.report.html.inline import page_parts, whole_page
from accgate.report.story import SIGNS
from accgate.text import count_of, number

WIDTH, HEIGHT = 760.0, 250.0
LEFT, RIGHT, TOP, BOTTOM = 64.0, 36.0, 30.0, 28.0
AIR = 0.06  # of the axis, at each end
BAND = 2.0  # standard errors to both sides of the reference: about 19 of 20 healthy runs lie within
DATES = 6  # as many have room below a chart on a phone
MARKS = {"pass": "circle", "regression": "cross", "inconclusive": "ring", "no-reference": "ring", "error": "ring"}


@dataclass(frozen=True)
class Dot:
    """The mark of one run. `kind` is its shape (circle, ring or cross), `drift` tells of a decline since the anchor."""

    x: float
    y: float
    kind: str
    text: str
    drift: bool


Ticks = tuple[tuple[float, str], ...]  # places on an axis, and their texts


@dataclass(frozen=True)
class Chart:
    """Paths and places in the drawing of a check's history.

    The drawing measures WIDTH x HEIGHT, and `words` describes it.
    """

    words: str
    band: str
    reference: str
    gamma: str
    line: str
    dots: tuple[Dot, ...]
    changes: tuple[float, ...]
    rows: Ticks
    dates: Ticks


def chart_of(series: Series) -> Chart | None:
    """Make the chart of a check, if a run of it has a figure."""
    steps = series.steps
    values = [value for step in steps for value in _values(step)]
    if not values:
        return None
    x, y = Axis(0.0, len(steps), LEFT, WIDTH - RIGHT), axis_around(values, AIR).drawn(HEIGHT - BOTTOM, TOP)
    digits = max(0, -math.floor(math.log10(y.step()) + 1e-9))
    spans = _spans(steps)
    return Chart(
        words=series_text(series),
        band=" ".join(_band(steps, span, x, y) for span in spans if steps[span.start].point.error is not None),
        reference=" ".join(_level(steps, span, 0.0, x, y) for span in spans),
        gamma=" ".join(
            f"M{x.pixel(at + 0.15)} {y.pixel(gamma)}H{x.pixel(at + 0.85)}"
            for at, step in enumerate(steps)
            if (gamma := step.levels.gamma) is not None
        ),
        line=_line(steps, x, y),
        dots=tuple(
            Dot(x.pixel(at + 0.5), y.pixel(mean), MARKS[step.point.verdict], step_text(step), step.point.is_declining)
            for at, step in enumerate(steps)
            if (mean := step.levels.mean) is not None
        ),
        changes=tuple(x.pixel(at) for at, step in enumerate(steps) if step.changed),
        rows=tuple((y.pixel(value), number(value, digits)) for value in y.ticks()),
        dates=tuple((x.pixel(at + 0.5), step.date) for at, step in thin([*enumerate(steps)], DATES)),
    )


def series_text(series: Series) -> str:
    """Describe a chart for readers who cannot see it."""
    steps, last = series.steps, series.last
    span = f", between {' and '.join(series.ends)}" if series.ends else ""
    failed = sum(step.point.verdict == "regression" for step in steps)
    changed = sum(step.changed for step in steps)
    return (
        f"The mean of {count_of(len(steps), 'run')} from {steps[0].date} to {last.date}{span}; "
        f"{count_of(failed, 'run')} regressed, the reference changed {count_of(changed, 'time')}. "
        f"The latest: {step_text(last)}."
    )


def step_text(step: Step) -> str:
    """Describe a run in words."""
    point, level = step.point, step.levels
    error = "" if point.error is None else f" ± {step.text(point.error)}"
    decline = ", a slow decline since the anchor" if step.point.is_declining else ""
    return (
        f"{step.date} {step.commit}: {point.verdict}, mean {step.text(level.mean)}, reference "
        f"{step.text(level.reference)}{error}, {step.samples} samples{decline}"
    )


def _values(step: Step) -> list[float]:
    level, error = step.levels, step.point.error
    values = [level.mean, level.gamma, level.reference]
    if level.reference is not None and error is not None:
        values += [level.reference - BAND * error, level.reference + BAND * error]
    return [value for value in values if value is not None]


def _spans(steps: Sequence[Step]) -> list[range]:
    """Return the stretches of runs that have the same reference.

    Either all runs of a stretch have an error, or none has one.
    """
    stretches = accumulate(step.changed for step in steps)
    keys = [
        (stretch, step.levels.reference is None, step.point.error is None)
        for stretch, step in zip(stretches, steps, strict=True)
    ]
    groups = [[*places] for _, places in groupby(range(len(steps)), keys.__getitem__)]
    return [range(places[0], places[-1] + 1) for places in groups if steps[places[0]].levels.reference is not None]


def _level(steps: Sequence[Step], span: range, errors: float, x: Axis, y: Axis) -> str:
    """Draw the reference of each run of a stretch as a flat piece.

    Each piece is raised by `errors` standard errors.
    """
    heights = [y.pixel(_high(steps[at], errors)) for at in span]
    flat = "".join(f"V{height}H{x.pixel(at + 1)}" for at, height in zip(span, heights, strict=True))
    return f"M{x.pixel(span.start)} {heights[0]}{flat}"


def _band(steps: Sequence[Step], span: range, x: Axis, y: Axis) -> str:
    """Draw the area in which chance alone puts the mean.

    Each run's own error gives the area's height at that run.
    """
    back = "".join(f"V{y.pixel(_high(steps[at], -BAND))}H{x.pixel(at)}" for at in reversed(span))
    return f"{_level(steps, span, BAND, x, y)}{back}Z"


def _high(step: Step, errors: float) -> float:
    reference = step.levels.reference
    assert reference is not None
    return reference + errors * (step.point.error or 0.0)


def _line(steps: Sequence[Step], x: Axis, y: Axis) -> str:
    """Draw the path through the means, with a gap where there is none."""
    path, pen = "", "M"
    for at, step in enumerate(steps):
        mean = step.levels.mean
        path += "" if mean is None else f"{pen}{x.pixel(at + 0.5)} {y.pixel(mean)}"
        pen = "M" if mean is None else "L"
    return path


SHOWN = 500  # runs in a chart: with more the marks would lie on each other
ROWS = 50  # runs in a table
DRAWN = {
    "width": WIDTH, "height": HEIGHT, "left": LEFT, "right": WIDTH - RIGHT, "top": TOP, "bottom": HEIGHT - BOTTOM,
}  # fmt: skip


def html_page(history: History, check: str | None = None) -> str:
    """Write the page of a history, or of its check "MODEL/TASK".

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
        views=map(_view, series),
        signs=SIGNS,
        headings=HEADINGS,
        drawn=DRAWN,
        band=f"{BAND:g}",
        runs=len(runs),
        first=runs[0].started[:10],
        last=runs[-1].started[:10],
        hidden=len(history.damaged) + sum(line.run is None for line in history.lines),
        version=runs[-1].accgate,
    )


def _view(series: Series) -> tuple[Series, Chart | None, list[tuple[VerdictName, tuple[str, ...]]], str]:
    """Return a check with its chart, latest runs and a sentence on drift.

    The newest run comes first.
    """
    rows = [(step.point.verdict, cells(step)) for step in series.steps[: -ROWS - 1 : -1]]
    return series, chart_of(replace(series, steps=series.steps[-SHOWN:])), rows, series.drift


def _headline(series: Sequence[Series]) -> str:
    bad = [one.name for one in series if one.last.point.verdict == "regression"]
    if bad:
        more = f" and {len(bad) - 3} more" if len(bad) > 3 else ""
        return f"Accuracy over time: {', '.join(bad[:3])}{more} regressed"
    open_, all_ = sum(one.last.point.verdict != "pass" for one in series), len(series)
    which = "the check" if all_ == 1 else f"{open_ or all_} of {all_} checks"
    if open_:
        return f"Accuracy over time: {which} gave no verdict in the latest run"
    declining = sum(one.last.point.is_declining for one in series)
    but = f", but {declining} {'declines' if declining == 1 else 'decline'} slowly" if declining else ""
    return f"Accuracy over time: {which} passed in the latest run{but}"
