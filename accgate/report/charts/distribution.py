"""The picture of a test: the means that a run would have by chance, and after a drop of theta."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from accgate.design import oriented
from accgate.report.charts.axes import BOTTOM, across, frame, upward
from accgate.report.charts.svg import LETTER, WIDTH, Chart, drawing, element, label, legend, path, pixel
from accgate.stats import quantile, quantile_sum
from accgate.text import number

if TYPE_CHECKING:
    from accgate.report.charts.axes import Axis
    from accgate.verdict import Verdict

Mark = tuple[str, str, float]

NORMAL = ("two-sample", "target")  # tests whose statistic is normal, or t with so many samples that it looks so
NEAR = 0.001  # an area within so much of alpha is alpha
STEPS = 72  # of a curve
ROW = 15.0  # height of a row of labels
REACH = 3.6  # standard errors of a curve that are drawn
FURTHEST = 14.0  # standard errors to what is marked; further off it stands at the edge


def has_stopped_early(verdict: Verdict) -> bool:
    """Whether a sequential test ended before its last sample, so that the picture is that of the whole run."""
    return verdict.stop is not None and verdict.n_max is not None and verdict.n < verdict.n_max and bool(verdict.theta)


def standard_error(verdict: Verdict) -> tuple[float, bool] | None:
    """Standard error of the difference in points, and whether it is what the run measured; None where none is known.

    Where the samples show no spread, or the run stopped early, it is the one at which theta has its power:
    theta / (z_{1-alpha} + z_{1-beta}).
    """
    if has_stopped_early(verdict) and verdict.theta:
        return verdict.theta / quantile_sum(_alpha(verdict), verdict.beta), True
    if verdict.sigma is not None and verdict.sigma > 0.0 and verdict.n > 0:
        two = verdict.test == "two-sample" and verdict.reference.n
        inverse = 1.0 / verdict.n + (1.0 / verdict.reference.n if two and verdict.reference.n else 0.0)
        return verdict.sigma * math.sqrt(inverse), True
    if verdict.theta is not None and verdict.theta > 0.0:
        return verdict.theta / quantile_sum(_alpha(verdict), verdict.beta), False
    return None


@dataclass(frozen=True)
class _Figures:
    """The figures that the picture is made of, in points.

    `error` is the curves' standard error and `measured` whether the run measured it; `dropped` is the reference's mean
    after a drop of theta. `limit` is the mean below which the drawn run fails: gamma, or of a run that stopped early
    that of its last sample.
    """

    verdict: Verdict
    reference: float
    mean: float
    error: float
    measured: bool
    dropped: float | None
    limit: float | None

    @property
    def marks(self) -> list[Mark]:
        """The figures that have a line of their own: class, name, value."""
        verdict, is_early = self.verdict, has_stopped_early(self.verdict)
        marks = [("reference", "reference", self.reference), ("candidate", "candidate", self.mean)]
        if self.dropped is not None:
            marks.append(("dropped", f"{_kind(verdict)} of theta:", self.dropped))
        if verdict.gamma is not None:
            marks.append(("gamma", f"gamma at {verdict.n:,}:" if is_early else "gamma", verdict.gamma))
        if is_early and self.limit is not None:
            marks.append(("limit", f"gamma at {verdict.n_max:,}:", self.limit))
        return marks

    @property
    def curves(self) -> list[float]:
        """The centres of the curves."""
        return [self.reference] if self.dropped is None else [self.reference, self.dropped]

    @property
    def bar(self) -> tuple[float, float] | None:
        """Of a run that stopped early the limits of its mean, from those of its difference to the reference."""
        if self.verdict.interval is None or not has_stopped_early(self.verdict):
            return None
        low, high = self.verdict.interval.two_sided
        return self.reference + low, self.reference + high

    @property
    def areas(self) -> tuple[float | None, float | None]:
        """The areas that are shaded: beyond the limit under H0, and before it under H1."""
        if self.limit is None:
            return None, None
        higher = self.verdict.higher_is_better
        alpha = _cdf(oriented(self.limit - self.reference, higher) / self.error)
        return alpha, None if self.dropped is None else _cdf(oriented(self.dropped - self.limit, higher) / self.error)


def distribution_chart(verdict: Verdict, key: str) -> Chart | None:
    """The distributions under H0 and H1 with alpha and beta shaded, and the run's figures marked; None without them.

    The picture is that of the accuracy suite's README of TensorRT-LLM, with this run's figures.
    """
    figures = _figures(verdict)
    if figures is None:
        return None
    title = "Expected scores, and this run"
    description = _description(verdict, figures.error)
    shaded = figures.areas
    svg = drawing(
        key,
        "distribution",
        title,
        description,
        *_parts(figures),
        data_gamma=verdict.gamma,
        data_theta=verdict.theta,
        data_reference=figures.reference,
        data_candidate=figures.mean,
        data_alpha=verdict.alpha_applied,
        data_beta=verdict.beta,
        data_error=figures.error,
        data_shaded_alpha=shaded[0],
        data_shaded_beta=shaded[1],
    )
    notes = _notes(verdict, figures.measured, shaded)
    return Chart("distribution", title, description, svg, ("Figure", "Value"), _rows(figures), notes)


def _figures(verdict: Verdict) -> _Figures | None:
    spread, reference, mean = standard_error(verdict), verdict.reference.mean, verdict.candidate.mean
    if spread is None or reference is None or mean is None:
        return None
    (error, measured), higher = spread, verdict.higher_is_better
    dropped = None if verdict.theta is None else reference - oriented(verdict.theta, higher)
    limit = verdict.gamma
    if has_stopped_early(verdict):
        limit = reference + oriented(quantile(_alpha(verdict)), higher) * error
    return _Figures(verdict, reference, mean, error, measured, dropped, limit)


def _parts(figures: _Figures) -> list[str]:
    """Axis, shaded areas, curves, marks and legend."""
    marks, error = figures.marks, figures.error
    x = _axis(figures)
    y = upward(0.0, 1.05, top=14.0 + ROW * len(marks))
    parts = [frame(x, None, x_words=f"{figures.verdict.statistic or 'mean'} of a run, points"), *_shades(x, y, figures)]
    for center, class_ in zip(figures.curves, ("line null", "line other"), strict=False):
        parts.append(path(_curve(x, y, center, error), class_, data_center=center, data_error=error))
    parts += _marks(x, marks)
    if figures.bar is not None:
        low, high = (min(max(x.at(end), x.start), x.end) for end in figures.bar)
        level = BOTTOM - 9
        parts.append(
            element(
                "line",
                x1=pixel(low),
                x2=pixel(high),
                y1=level,
                y2=level,
                class_="mark candidate",
                data_low=figures.bar[0],
                data_high=figures.bar[1],
            )
        )
    return [*parts, legend(_entries(figures))]


def _axis(figures: _Figures) -> Axis:
    """The axis on which the curves stand, and the figures that are not too far from them."""
    marks, curves, error = figures.marks, figures.curves, figures.error
    ends = [center + side * REACH * error for center in curves for side in (-1, 1)]
    values = [*(value for _, _, value in marks), *(figures.bar or ())]
    ends += [value for value in values if min(abs(value - center) for center in curves) <= FURTHEST * error]
    return _with_room(min(ends), max(ends), marks)


def _entries(figures: _Figures) -> list[tuple[str, str, str]]:
    """The legend."""
    entries = [("line", "line null", "no change")]
    if figures.dropped is not None:
        entries.append(("line", "line other", f"{_kind(figures.verdict)} of theta"))
    if figures.limit is not None:
        entries.append(("area", "shade alpha", "alpha"))
    if figures.limit is not None and figures.dropped is not None:
        entries.append(("area", "shade beta", "beta"))
    return entries


def _kind(verdict: Verdict) -> str:
    return "drop" if verdict.higher_is_better else "rise"


def _alpha(verdict: Verdict) -> float:
    return verdict.alpha if verdict.alpha_applied is None else verdict.alpha_applied


def _cdf(z: float) -> float:
    return 0.5 * math.erfc(-z / math.sqrt(2.0))


def _curve(x: Axis, y: Axis, center: float, error: float) -> list[tuple[float, float]]:
    return _between(x, y, center, error, center - REACH * error, center + REACH * error)


def _between(x: Axis, y: Axis, center: float, error: float, low: float, high: float) -> list[tuple[float, float]]:
    """Points of a normal density, its peak at 1, between two figures."""
    values = [low + (high - low) * k / STEPS for k in range(STEPS + 1)]
    return [(x.at(v), y.at(math.exp(-0.5 * ((v - center) / error) ** 2))) for v in values]


def _shades(x: Axis, y: Axis, figures: _Figures) -> list[str]:
    """The area of each curve beyond the limit: alpha on its worse side, beta on its better one."""
    if figures.limit is None:
        return []
    parts = []
    for center, class_, side in zip(figures.curves, ("shade alpha", "shade beta"), (-1.0, 1.0), strict=False):
        low, high = center - REACH * figures.error, center + REACH * figures.error
        if oriented(side, figures.verdict.higher_is_better) < 0:
            high = min(figures.limit, high)
        else:
            low = max(figures.limit, low)
        if high > low:
            points = _between(x, y, center, figures.error, low, high)
            base = [(points[-1][0], y.at(0.0)), (points[0][0], y.at(0.0))]
            parts.append(path([*points, *base], class_, closed=True))
    return parts


def _with_room(low: float, high: float, marks: Sequence[Mark]) -> Axis:
    """An axis that ends so far to the right that the names of its marks stand there, where no line crosses them."""
    x = across(low, high)
    for _ in range(12):
        ends = [
            x.at(value) + 5 + LETTER * len(f"{words} {number(value)}") for _, words, value in marks if value <= high
        ]
        if max(ends, default=0.0) <= WIDTH:
            break
        x = across(low, x.high + 0.06 * (high - low))
    return x


def _marks(x: Axis, marks: Sequence[Mark]) -> list[str]:
    """A line for each figure, and its name on a row of its own to the right, where no later line crosses it."""
    lines, names = [], []
    for row, (class_, words, value) in enumerate(sorted(marks, key=lambda mark: mark[2])):
        place, top = x.at(value), 12.0 + ROW * row
        beyond = "« " if value < x.low else "» " if value > x.high else ""
        name = f"{beyond}{words} {number(value)}"
        lines.append(
            element(
                "line",
                x1=pixel(place),
                x2=pixel(place),
                y1=top - 9,
                y2=BOTTOM,
                class_=f"mark {class_}",
                data_value=value,
            )
        )
        fits = place + 5 + LETTER * len(name) <= WIDTH
        names.append(
            label(place + (5 if fits else -5), top, name, anchor="start" if fits else "end", class_=f"words {class_}")
        )
    return [*lines, *names]


def _rows(figures: _Figures) -> tuple[tuple[str, ...], ...]:
    verdict = figures.verdict
    rows = [(words, number(value)) for _, words, value in figures.marks]
    rows += [("theta", number(verdict.theta)), ("standard error", number(figures.error, 3))]
    if verdict.theta_target is not None:
        rows.append(("theta asked for", number(verdict.theta_target)))
    rows += [("alpha", f"{_alpha(verdict):g}"), ("beta", f"{verdict.beta:g}")]
    for name, area in zip(("alpha", "beta"), figures.areas, strict=True):
        if area is not None:
            rows.append((f"area shaded for {name}", f"{area:.4f}"))
    return tuple(rows)


def _description(verdict: Verdict, error: float) -> str:
    worse, kind = "below" if verdict.higher_is_better else "above", _kind(verdict)
    gamma = verdict.gamma
    if has_stopped_early(verdict):
        return _early_description(verdict, worse, kind)
    parts = [
        f"Two bell curves of standard error {number(error)}. One shows the scores of a run in which nothing changed, "
        f"around the reference's {number(verdict.reference.mean)}; the other those after a {kind} of theta, "
        f"{number(verdict.theta)} points."
    ]
    if gamma is not None:
        failed = verdict.verdict == "regression"
        parts.append(
            f"The gate fails {worse} gamma, {number(gamma)}. The candidate's {number(verdict.candidate.mean)} is "
            f"{worse if failed else 'not ' + worse} it."
        )
    else:
        parts.append(f"There is no gamma; the candidate has {number(verdict.candidate.mean)}.")
    return " ".join(parts)


def _early_description(verdict: Verdict, worse: str, kind: str) -> str:
    failed = verdict.gamma is not None and verdict.verdict == "regression"
    there = f", {worse} its gamma of {number(verdict.gamma)}" if failed else ""
    level = f"{100 * (1 - 2 * _alpha(verdict)):.4g}%"
    bar = "" if verdict.interval is None else f"; the bar is its {level} interval"
    return (
        f"Two bell curves of a whole run of {verdict.n_max:,} samples. One shows its scores where nothing changed, "
        f"around the reference's {number(verdict.reference.mean)}; the other those after a {kind} of theta, "
        f"{number(verdict.theta)} points. The candidate had {number(verdict.candidate.mean)} after {verdict.n:,} "
        f"samples{there}{bar}."
    )


def _notes(verdict: Verdict, measured: bool, shaded: tuple[float | None, float | None]) -> tuple[str, ...]:
    if has_stopped_early(verdict):
        return ("The limit at a sample before the last is stricter: alpha and beta hold for all looks together.",)
    notes = []
    if verdict.test not in NORMAL or abs((shaded[0] or _alpha(verdict)) - _alpha(verdict)) > NEAR:
        areas = [
            f"{name} is {rate:g} in the test and {area:.4f} in the picture"
            for name, rate, area in zip(("alpha", "beta"), (_alpha(verdict), verdict.beta), shaded, strict=True)
            if area is not None
        ]
        rates = f": {', '.join(areas)}" if areas else ""
        notes.append(f"The bell curves are an approximation; the test decides by its own distribution{rates}.")
    if not measured:
        notes.append("The run shows no spread; the curves have the standard error at which theta is detected.")
    if verdict.gamma is None:
        notes.append("So few samples changed that no outcome could fail the gate: there is no gamma to draw.")
    return tuple(notes)
