"""The picture of a test.

It shows which means a run may have by chance, and which after a drop of theta.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from accgate.design import oriented
from accgate.report.charts import svg
from accgate.report.charts.axes import Axis, axis_of, figures_below
from accgate.stats.power import normal_cdf
from accgate.text import drop_word
from accgate.verdict import Verdict
from accgate.verdict.figures import ROUNDING
from accgate.verdict.points import asked_text, points_text, theta_text

NORMAL = ("two-sample", "target")  # tests whose statistic is normal, or t with so many samples that it looks so
STEPS = 40  # of a curve
REACH = 3.6  # standard errors of a curve that are drawn
FURTHEST = 14.0  # standard errors to what is marked; further off it stands at the edge
TOP, PEAK, LEVEL = 30.0, 56.0, 206.0  # pixels from the top: of the zone, of a curve, and of the run's interval
TITLE = "Chance or a real drop?"


@dataclass(frozen=True)
class _Figures:
    """The figures of the picture in points, turned so that worse is lower.

    `error` is the curves' standard error. `dropped` is the reference's mean after a drop of theta; where a run failed
    too early to know its theta, after the drop that was asked for. `limit` is the mean below which the run fails.
    """

    verdict: Verdict
    reference: float
    mean: float
    error: float
    dropped: float | None
    limit: float | None

    @property
    def bar(self) -> tuple[float, float] | None:
        """The interval of the run's mean, from that of its difference to the reference."""
        if self.verdict.ends is None:
            return None
        low, high = (oriented(end, self.verdict.higher_is_better) for end in self.verdict.ends)
        return self.reference + low, self.reference + high

    @property
    def areas(self) -> tuple[float | None, float | None]:
        """The shares of the curves that are shaded, alpha's and beta's.

        The first is beyond the limit under H0, the second before it under H1. A run that stopped early has none: alpha
        and beta belong to the whole run, not to one stop.
        """
        if self.limit is None or self.verdict.is_early:
            return None, None
        alpha = normal_cdf((self.limit - self.reference) / self.error)
        return alpha, None if self.dropped is None else normal_cdf((self.dropped - self.limit) / self.error)


def distribution_chart(verdict: Verdict, key: str) -> svg.Chart | None:
    """Draw the distributions under H0 and H1, and the run's figures.

    alpha and beta are shaded, and worse is left. Return None where the verdict lacks figures. The picture follows the
    README of TensorRT-LLM's accuracy suite.
    """
    figures = _figures(verdict)
    if figures is None:
        return None
    x, shaded = _axis(figures), figures.areas
    picture = svg.drawing(
        key,
        "distribution",
        _description(figures),
        svg.stretch(*filter(None, _curves(x, figures))),
        figures_below(x, sign=oriented(1.0, verdict.higher_is_better)),
        svg.line(0, svg.HEIGHT, 1, svg.HEIGHT, "ax"),
        *_labels(x, figures),
        data_error=figures.error,
        data_shaded_alpha=shaded[0],
        data_shaded_beta=shaded[1],
    )
    about = f"Expected {verdict.statistic or 'means'} of {verdict.n:,} samples{'' if verdict.statistic else ', points'}"
    title = TITLE.replace("drop", drop_word(verdict.higher_is_better))
    return svg.Chart(title, about, picture, _caption(figures))


def _figures(verdict: Verdict) -> _Figures | None:
    error, means = verdict.error, (verdict.reference.mean, verdict.candidate.mean, verdict.gamma)
    reference, mean, limit = (None if each is None else oriented(each, verdict.higher_is_better) for each in means)
    if error is None or reference is None or mean is None:
        return None
    drop = verdict.wanted_drop if verdict.sees is None else verdict.sees  # what is allowed included
    return _Figures(verdict, reference, mean, error, None if drop is None else reference - drop, limit)


def _axis(figures: _Figures) -> Axis:
    """Return an axis for the curves and for all figures near them."""
    error, curves = figures.error, [each for each in (figures.reference, figures.dropped) if each is not None]
    ends = [center + side * REACH * error for center in curves for side in (-1, 1)]
    values = [figures.mean, *(figures.bar or ()), *([] if figures.limit is None else [figures.limit])]
    ends += [value for value in values if min(abs(value - center) for center in curves) <= FURTHEST * error]
    return axis_of(min(ends), max(ends))


def _curves(x: Axis, figures: _Figures) -> list[str]:
    """Draw the failing zone, both curves, and the areas of alpha and beta."""
    parts, reference, dropped, limit = [], figures.reference, figures.dropped, figures.limit
    if limit is not None:
        width = svg.pixel(svg.ACROSS * x.at(limit))
        parts.append(svg.element("rect", x=0, y=TOP, width=width, height=svg.HEIGHT - TOP, class_="zone"))
        alpha, beta = figures.areas
        if dropped is not None and beta is not None:
            parts.append(_area(x, dropped, figures.error, limit, math.inf, "shade beta"))
        if alpha is not None:
            parts.append(_area(x, reference, figures.error, -math.inf, limit, "shade alpha"))
    if dropped is not None:
        parts.append(svg.path(_curve(x, dropped, figures.error), "ln alt"))
    return [*parts, svg.path(_curve(x, reference, figures.error), "ln ref")]


def _labels(x: Axis, figures: _Figures) -> Iterator[str]:
    """Draw limit, reference and candidate, each at a height of its own.

    Different heights keep them from overlapping.
    """
    verdict = figures.verdict
    if figures.limit is not None:
        at = x.at(figures.limit)
        yield svg.line(at, TOP, at, svg.HEIGHT, "limit dashed")
        worse = "below" if verdict.higher_is_better else "above"
        yield svg.label_beside(at, TOP - 6, f"fails {worse} {points_text(verdict, verdict.gamma)}", "b halo")
    at = x.at(figures.reference)
    anchor, dx = ("end", 20.0) if at > 0.75 else ("start", -20.0) if at < 0.25 else ("middle", None)
    what = "target" if verdict.test == "target" else "reference"
    words = f"{what} {points_text(verdict, verdict.reference.mean)}"
    yield svg.label(at, PEAK - 10, words, anchor=anchor, dx=dx, class_="rf halo")
    at = x.at(figures.mean)
    if figures.bar is not None:
        low, high = map(x.at, figures.bar)
        yield svg.line(low, LEVEL, high, LEVEL, f"reach {verdict.verdict}")
    yield svg.mark(verdict.verdict, at, LEVEL)
    yield svg.label_beside(at, LEVEL - 14, f"this run {points_text(verdict, verdict.candidate.mean)}", "t halo")


def _curve(
    x: Axis, center: float, error: float, low: float = -math.inf, high: float = math.inf
) -> list[tuple[float, float]]:
    """Return points of a normal density between two figures."""
    low, high = max(low, center - REACH * error), min(high, center + REACH * error)
    values = [low + (high - low) * k / STEPS for k in range(STEPS + 1)]
    height = svg.HEIGHT - PEAK
    return [(x.at(v), svg.HEIGHT - height * math.exp(-0.5 * ((v - center) / error) ** 2)) for v in values]


def _area(x: Axis, center: float, error: float, low: float, high: float, class_: str) -> str:
    """Draw the area under a curve between two figures.

    There is nothing to draw beyond the curve's ends.
    """
    if low >= center + REACH * error or high <= center - REACH * error:
        return ""
    edge = _curve(x, center, error, low, high)
    return svg.path([*edge, (edge[-1][0], svg.HEIGHT), (edge[0][0], svg.HEIGHT)], class_, closed=True)


def _description(figures: _Figures) -> str:
    verdict, higher, dropped = figures.verdict, figures.verdict.higher_is_better, figures.dropped
    around = "" if dropped is None else points_text(verdict, oriented(dropped, higher))
    after = f", and after a {drop_word(higher)} around {around}" if around else ""
    worse = "below" if higher else "above"
    fails = "" if verdict.gamma is None else f"; the check fails {worse} {points_text(verdict, verdict.gamma)}"
    start = f"Expected scores without a change, around {points_text(verdict, verdict.reference.mean)}{after}"
    return f"{start}{fails}; this run has {points_text(verdict, verdict.candidate.mean)}."


def _caption(figures: _Figures) -> str:
    """Say what the lines are, and what the picture simplifies."""
    verdict, kind = figures.verdict, drop_word(figures.verdict.higher_is_better)
    parts = ["Solid: no change."]
    if figures.dropped is not None and verdict.theta is not None:
        sees = f"the smallest this run sees with {100 * (1 - verdict.beta):g}% probability"
        parts.append(f"Dashed: a {kind} of {theta_text(verdict)}, {sees}.")
    elif figures.dropped is not None:
        parts.append(f"Dashed: the {kind} of {asked_text(verdict)} you asked to see.")
    if verdict.is_early:
        none = ", where no mean would have failed" if figures.limit is None else ""
        parts.append(
            f"The run stopped at {verdict.n:,} of {verdict.n_max:,} samples{none}; the width is that of its interval."
        )
    elif figures.limit is None:
        parts.append("So few samples changed that no outcome could fail: there is no limit to draw.")
    elif verdict.test not in NORMAL:
        parts.append("The curves approximate the test's own distribution.")
    if (verdict.sigma or 0.0) <= ROUNDING and not verdict.is_early:
        low, high = verdict.ends or (0.0, 0.0)
        width = "that of its interval" if high - low > ROUNDING else "the one at which theta is seen"
        parts.append(f"The run shows no spread; the width is {width}.")
    return " ".join(parts)
