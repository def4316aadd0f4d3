"""Where the mean would fall were nothing changed, and after a drop of theta: the picture of the test."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from accgate.report.charts.axes import BOTTOM, across, frame, upward
from accgate.report.charts.svg import LETTER, WIDTH, Chart, drawing, element, label, legend, path, pixel
from accgate.stats import quantile, quantile_sum
from accgate.text import number

if TYPE_CHECKING:
    from accgate.report.charts.axes import Axis
    from accgate.verdict import Verdict

NORMAL = ("two-sample", "target")  # tests whose statistic is normal, or t with so many samples that it looks so
NEAR = 0.001  # an area within so much of alpha is alpha
STEPS = 72  # of a curve
ROW = 15.0  # height of a row of labels
REACH = 3.6  # standard errors of a curve that are drawn
FURTHEST = 14.0  # standard errors to what is marked; further off it stands at the edge


def stopped_early(verdict: Verdict) -> bool:
    """Whether a sequential test ended before its last sample, so that the picture is that of the whole run."""
    return verdict.stop is not None and verdict.n_max is not None and verdict.n < verdict.n_max and bool(verdict.theta)


def standard_error(verdict: Verdict) -> tuple[float, bool] | None:
    """Standard error of the difference in points, and whether it is what the run measured; None where none is known.

    Where the samples show no spread, or the run stopped early, it is the one at which theta has its power:
    theta / (z_{1-alpha} + z_{1-beta}).
    """
    if stopped_early(verdict) and verdict.theta:
        return verdict.theta / quantile_sum(_alpha(verdict), verdict.beta), True
    if verdict.sigma is not None and verdict.sigma > 0.0 and verdict.n > 0:
        two = verdict.test == "two-sample" and verdict.reference.n
        inverse = 1.0 / verdict.n + (1.0 / verdict.reference.n if two and verdict.reference.n else 0.0)
        return verdict.sigma * math.sqrt(inverse), True
    if verdict.theta is not None and verdict.theta > 0.0:
        return verdict.theta / quantile_sum(_alpha(verdict), verdict.beta), False
    return None


def distribution_chart(verdict: Verdict, key: str) -> Chart | None:
    """The distributions under H0 and H1 with alpha and beta shaded, and what the run found marked; None without them.

    The picture is that of the accuracy suite's README of TensorRT-LLM, with this run's figures.
    """
    known, reference, mean = standard_error(verdict), verdict.reference.mean, verdict.candidate.mean
    if known is None or reference is None or mean is None:
        return None
    error, measured = known
    sign = 1.0 if verdict.higher_is_better else -1.0
    dropped = None if verdict.theta is None else reference - sign * verdict.theta
    early = stopped_early(verdict)
    limit = reference + sign * quantile(_alpha(verdict)) * error if early else verdict.gamma
    marks = [("reference", "reference", reference), ("candidate", "candidate", mean)]
    if dropped is not None:
        marks.append(("dropped", f"{'drop' if sign > 0 else 'rise'} of theta:", dropped))
    if verdict.gamma is not None:
        marks.append(("gamma", f"gamma at {verdict.n:,}:" if early else "gamma", verdict.gamma))
    if early and limit is not None:
        marks.append(("limit", f"gamma at {verdict.n_max:,}:", limit))
    curves = [reference] + ([] if dropped is None else [dropped])
    ends = [c + side * REACH * error for c in curves for side in (-1, 1)]
    bar = _interval(verdict, reference) if early else None
    near = [v for v in [*(v for _, _, v in marks), *(bar or ())] if min(abs(v - c) for c in curves) <= FURTHEST * error]
    x = _with_room(min(ends + near), max(ends + near), marks)
    y = upward(0.0, 1.05, top=14.0 + ROW * len(marks))
    shaded = _areas(reference, dropped, limit, error, sign)
    parts = [frame(x, None, x_words=f"{verdict.statistic or 'mean'} of a run, points")]
    parts += _shades(x, y, reference, dropped, limit, error, sign)
    parts.append(path(_curve(x, y, reference, error), "line null", data_center=reference, data_error=error))
    if dropped is not None:
        parts.append(path(_curve(x, y, dropped, error), "line other", data_center=dropped, data_error=error))
    parts += _marks(x, marks)
    if bar is not None:
        low, high = (min(max(x.at(end), x.start), x.end) for end in bar)
        level = BOTTOM - 9
        parts.append(
            element("line", x1=pixel(low), x2=pixel(high), y1=level, y2=level, class_="mark candidate",
                    data_low=bar[0], data_high=bar[1])
        )  # fmt: skip
    entries = [("line", "line null", "no change")]
    entries += [("line", "line other", f"{'drop' if sign > 0 else 'rise'} of theta")] if dropped is not None else []
    entries += [("area", "shade alpha", "alpha")] if limit is not None else []
    entries += [("area", "shade beta", "beta")] if limit is not None and dropped is not None else []
    parts.append(legend(entries))
    title = "Where the mean falls by chance, and where the candidate is"
    description = _description(verdict, error)
    svg = drawing(
        key, "distribution", title, description, *parts, data_gamma=verdict.gamma, data_theta=verdict.theta,
        data_reference=reference, data_candidate=mean, data_alpha=verdict.alpha_applied, data_beta=verdict.beta,
        data_error=error, data_shaded_alpha=shaded[0], data_shaded_beta=shaded[1],
    )  # fmt: skip
    return Chart(
        "distribution", title, description, svg, ("Figure", "Value"), _rows(verdict, marks, error, shaded),
        _notes(verdict, measured, shaded),
    )  # fmt: skip


def _alpha(verdict: Verdict) -> float:
    return verdict.alpha if verdict.alpha_applied is None else verdict.alpha_applied


def _cdf(z: float) -> float:
    return 0.5 * math.erfc(-z / math.sqrt(2.0))


def _areas(
    reference: float, dropped: float | None, gamma: float | None, error: float, sign: float
) -> tuple[float | None, float | None]:
    """The areas that are shaded: beyond gamma under H0, and before it under H1."""
    if gamma is None:
        return None, None
    alpha = _cdf(sign * (gamma - reference) / error)
    return alpha, None if dropped is None else _cdf(sign * (dropped - gamma) / error)


def _curve(x: Axis, y: Axis, center: float, error: float) -> list[tuple[float, float]]:
    return _between(x, y, center, error, center - REACH * error, center + REACH * error)


def _between(x: Axis, y: Axis, center: float, error: float, low: float, high: float) -> list[tuple[float, float]]:
    """Points of a normal density, its peak at 1, between two figures."""
    values = [low + (high - low) * k / STEPS for k in range(STEPS + 1)]
    return [(x.at(v), y.at(math.exp(-0.5 * ((v - center) / error) ** 2))) for v in values]


def _shades(
    x: Axis, y: Axis, reference: float, dropped: float | None, gamma: float | None, error: float, sign: float
) -> list[str]:
    if gamma is None:
        return []
    worse = [(reference, "shade alpha", -sign)] + ([] if dropped is None else [(dropped, "shade beta", sign)])
    parts = []
    for center, class_, side in worse:
        low, high = center - REACH * error, center + REACH * error
        low, high = (low, min(gamma, high)) if side < 0 else (max(gamma, low), high)
        if high > low:
            points = _between(x, y, center, error, low, high)
            base = [(points[-1][0], y.at(0.0)), (points[0][0], y.at(0.0))]
            parts.append(path([*points, *base], class_, closed=True))
    return parts


def _with_room(low: float, high: float, marks: Sequence[tuple[str, str, float]]) -> Axis:
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


def _marks(x: Axis, marks: Sequence[tuple[str, str, float]]) -> list[str]:
    """A line for each figure, and its name on a row of its own to the right, where no later line crosses it."""
    lines, names = [], []
    for row, (class_, words, value) in enumerate(sorted(marks, key=lambda mark: mark[2])):
        place, top = x.at(value), 12.0 + ROW * row
        beyond = "« " if value < x.low else "» " if value > x.high else ""
        name = f"{beyond}{words} {number(value)}"
        lines.append(
            element("line", x1=pixel(place), x2=pixel(place), y1=top - 9, y2=BOTTOM, class_=f"mark {class_}",
                    data_value=value)
        )  # fmt: skip
        fits = place + 5 + LETTER * len(name) <= WIDTH
        names.append(
            label(place + (5 if fits else -5), top, name, anchor="start" if fits else "end", class_=f"words {class_}")
        )
    return [*lines, *names]


def _rows(
    verdict: Verdict, marks: Sequence[tuple[str, str, float]], error: float, shaded: tuple[float | None, float | None]
) -> tuple[tuple[str, ...], ...]:
    rows = [(words, number(value)) for _, words, value in marks]
    rows += [("theta", number(verdict.theta)), ("standard error", number(error, 3))]
    if verdict.theta_target is not None:
        rows.append(("theta to be seen", number(verdict.theta_target)))
    rows += [("alpha", f"{_alpha(verdict):g}"), ("beta", f"{verdict.beta:g}")]
    for name, area in zip(("alpha", "beta"), shaded, strict=True):
        if area is not None:
            rows.append((f"area shaded for {name}", f"{area:.4f}"))
    return tuple(rows)


def _description(verdict: Verdict, error: float) -> str:
    worse, kind = ("below", "drop") if verdict.higher_is_better else ("above", "rise")
    gamma = verdict.gamma
    if stopped_early(verdict):
        return _early_description(verdict, worse, kind)
    parts = [
        f"Two bell curves of standard error {number(error)}: around the reference, {number(verdict.reference.mean)}, "
        f"where nothing changed, and around a {kind} of theta, {number(verdict.theta)} points, from it."
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
    there = f", {worse} the {number(verdict.gamma)} under which it fails there" if failed else ""
    there = there.replace("under which", "over which") if worse == "above" else there
    level = f"{100 * (1 - 2 * _alpha(verdict)):.4g}%"
    bar = "" if verdict.interval is None else f"; the bar is its {level} interval"
    return (
        f"The whole run, of up to {verdict.n_max:,} samples: one curve around the reference, "
        f"{number(verdict.reference.mean)}, were nothing changed, and one around a {kind} of theta, "
        f"{number(verdict.theta)} points. The candidate had {number(verdict.candidate.mean)} after {verdict.n:,} "
        f"samples{there}{bar}."
    )


def _interval(verdict: Verdict, reference: float) -> tuple[float, float] | None:
    """Limits of the candidate's mean, from those of its difference to the reference."""
    if verdict.interval is None:
        return None
    low, high = verdict.interval.two_sided
    return reference + low, reference + high


def _notes(verdict: Verdict, measured: bool, shaded: tuple[float | None, float | None]) -> tuple[str, ...]:
    if stopped_early(verdict):
        return (
            "The limit of a sample before the last is stricter, so that alpha and beta hold for all looks together.",
        )
    notes = []
    if verdict.test not in NORMAL or abs((shaded[0] or _alpha(verdict)) - _alpha(verdict)) > NEAR:
        areas = [
            f"{name} is {given:g} in the test and {area:.4f} in the picture"
            for name, given, area in zip(("alpha", "beta"), (_alpha(verdict), verdict.beta), shaded, strict=True)
            if area is not None
        ]
        said = f": {', '.join(areas)}" if areas else ""
        notes.append(f"The bell curves are an approximation, by which the test does not decide{said}.")
    if not measured:
        notes.append("No spread was measured; the curves have the standard error at which theta is seen.")
    if verdict.gamma is None:
        notes.append("So few samples changed that no outcome could fail the gate: there is no gamma to draw.")
    return tuple(notes)
