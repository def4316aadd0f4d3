"""Positions in the chart of a check over time, which the template draws."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from accgate.history.series import Series, Step
from accgate.report.charts.axes import Axis, axis_around
from accgate.report.charts.svg import pixel
from accgate.text import count_of, number

WIDTH, HEIGHT = 760.0, 250.0
LEFT, RIGHT, TOP, BOTTOM = 64.0, 36.0, 30.0, 28.0
AIR = 0.06  # of the axis, at each end
BAND = 2.0  # standard errors to both sides of the reference: about 19 of 20 healthy runs lie within
DATES = 6
MARKS = {"pass": "circle", "regression": "cross", "inconclusive": "ring", "no-reference": "ring", "error": "ring"}


@dataclass(frozen=True)
class Dot:
    """One run's mean; `kind` is the shape: circle, ring or cross. `drift` marks a decline since the anchor."""

    x: float
    y: float
    kind: str
    text: str
    drift: bool


@dataclass(frozen=True)
class Tick:
    """A place on an axis and its text; `place` says which date it is: first, last, between or only."""

    at: float
    text: str
    place: str = "between"


@dataclass(frozen=True)
class Chart:
    """Paths and places in a drawing of WIDTH x HEIGHT; `words` describe it."""

    words: str
    band: str
    reference: str
    gamma: str
    line: str
    dots: tuple[Dot, ...]
    changes: tuple[float, ...]
    rows: tuple[Tick, ...]
    dates: tuple[Tick, ...]


def chart_of(series: Series) -> Chart | None:
    """The chart of a check; None where no run of it has a figure."""
    steps = series.steps
    values = [value for step in steps for value in _values(step)]
    if not values:
        return None
    x, y = Axis(0.0, len(steps), LEFT, WIDTH - RIGHT), axis_around(values, AIR).drawn(HEIGHT - BOTTOM, TOP)
    axes = _Axes(x, y)
    digits = max(0, -math.floor(math.log10(y.step()) + 1e-9))
    spans = _spans(steps)
    return Chart(
        words=series_text(series),
        band=" ".join(_band(steps, span, axes) for span in spans if steps[span.start].point.error is not None),
        reference=" ".join(_level(steps, span, 0.0, axes) for span in spans),
        gamma=" ".join(
            f"M{axes.x(at + 0.15)} {axes.y(gamma)}H{axes.x(at + 0.85)}"
            for at, step in enumerate(steps)
            if (gamma := step.levels.gamma) is not None
        ),
        line=_line(steps, axes),
        dots=tuple(
            Dot(axes.x(at + 0.5), axes.y(mean), MARKS[step.point.verdict], step_text(step), step.point.is_declining)
            for at, step in enumerate(steps)
            if (mean := step.levels.mean) is not None
        ),
        changes=tuple(axes.x(at) for at, step in enumerate(steps) if step.changed),
        rows=tuple(Tick(axes.y(value), number(value, digits)) for value in y.ticks()),
        dates=_dates(steps, axes),
    )


@dataclass(frozen=True)
class _Axes:
    """Places of runs and points in the drawing."""

    across: Axis
    up: Axis

    def x(self, at: float) -> float:
        return pixel(self.across.at(at))

    def y(self, value: float) -> float:
        return pixel(self.up.at(value))


def series_text(series: Series) -> str:
    """What a chart shows, for readers who cannot see it."""
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
    """A run in words."""
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
    """The stretches of runs with one reference, and with an error or without."""
    spans: list[range] = []
    keys, stretch = [], 0
    for step in steps:
        stretch += step.changed
        keys.append((stretch, step.levels.reference is None, step.point.error is None))
    at = 0
    for (_, no_reference, _), group in groupby(keys):
        size = sum(1 for _ in group)
        if not no_reference:
            spans.append(range(at, at + size))
        at += size
    return spans


def _level(steps: Sequence[Step], span: range, errors: float, axes: _Axes) -> str:
    """The path along the references of a stretch, a flat piece for each run, so many errors above."""
    heights = [axes.y(_high(steps[at], errors)) for at in span]
    flat = "".join(f"V{height}H{axes.x(at + 1)}" for at, height in zip(span, heights, strict=True))
    return f"M{axes.x(span.start)} {heights[0]}{flat}"


def _band(steps: Sequence[Step], span: range, axes: _Axes) -> str:
    """The area in which chance alone puts the mean, as wide for each run as its own error."""
    lows = [axes.y(_high(steps[at], -BAND)) for at in span]
    back = "".join(f"V{low}H{axes.x(at)}" for at, low in reversed(list(zip(span, lows, strict=True))))
    return f"{_level(steps, span, BAND, axes)}{back}Z"


def _high(step: Step, errors: float) -> float:
    reference = step.levels.reference
    assert reference is not None
    return reference + errors * (step.point.error or 0.0)


def _line(steps: Sequence[Step], axes: _Axes) -> str:
    """The path through the means, with a gap where there is none."""
    path, pen = "", "M"
    for at, step in enumerate(steps):
        mean = step.levels.mean
        path += "" if mean is None else f"{pen}{axes.x(at + 0.5)} {axes.y(mean)}"
        pen = "M" if mean is None else "L"
    return path


def _dates(steps: Sequence[Step], axes: _Axes) -> tuple[Tick, ...]:
    """The days of some runs, evenly spread; the first and last among them."""
    count = min(len(steps), DATES)
    places = sorted({round(k * (len(steps) - 1) / max(count - 1, 1)) for k in range(count)})
    named = {0: "first", len(steps) - 1: "last"} if len(steps) > 1 else {0: "only"}
    return tuple(Tick(axes.x(at + 0.5), steps[at].date, named.get(at, "between")) for at in places)
