"""Units in their order, and results that are valid for the stopping rule.

All sequential tests share them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from accgate.stats.clusters import block_of
from accgate.stats.losses import Spread, drop_without_change, flip_margins, spread_of_units, visible_drop
from accgate.stats.mcnemar import mcnemar_theta
from accgate.stats.noise import wilson
from accgate.stats.power import paired_binary_effect, quantile_sum
from accgate.stats.result import Interval, TestResult
from accgate.stats.walk import Floats, Ints, Outcome, Stop

TYPICAL = 0.05  # discordance of a healthy change: greedy re-runs 2 to 4%, FP8 against BF16 3 to 5%


class Sampled:
    """Units in the order in which they are looked at.

    `sizes` are their samples, and `n_max` counts the samples of the whole run.
    """

    sizes: Ints
    n_max: int

    @property
    def samples(self) -> Ints:
        """Samples up to and including each unit."""
        return np.cumsum(self.sizes)

    @property
    def planned(self) -> Ints:
        """Number of samples of each unit of the whole run.

        All unfinished samples count as one unit.
        """
        unfinished = self.n_max - int(self.sizes.sum())
        return np.append(self.sizes, unfinished) if unfinished > 0 else self.sizes

    @property
    def is_whole(self) -> bool:
        """Whether all samples of the run have finished."""
        return int(self.sizes.sum()) >= self.n_max


@dataclass(frozen=True)
class Units(Sampled):
    """Paired differences by unit, in the order in which they are looked at.

    A unit is a sample, or a whole cluster. `totals` (points) are sums of candidate - reference over a unit, higher
    better, and `sizes` count its samples. `exact` says that every unit is one sample scored 0 or 100, for which the
    walk's null distribution is exact. `n_max` counts the samples of the whole run; if it is larger than the sum of
    `sizes`, these units are the beginning of a run. `loss` is the most points that one sample can lose, infinite if
    nothing bounds it. `block` samples of a cluster are assumed to be lost together. No run passes before the unit of
    index `earliest`, because too few of the samples until then had a score that could fall.
    """

    totals: Floats
    sizes: Ints
    exact: bool
    n_max: int
    loss: float = 100.0
    earliest: int = 0
    block: int = 1

    @property
    def events(self) -> Ints:
        """Indices of the units that changed."""
        return np.flatnonzero(self.totals)

    def first(self, count: int) -> Units:
        """Return the first `count` units of the same run."""
        return replace(self, totals=self.totals[:count], sizes=self.sizes[:count])

    @property
    def spread(self) -> Spread:
        """The spread of the units' totals, beside which whole losses may come."""
        return spread_of_units(self.totals, self.sizes.astype(np.float64), loss=self.loss, block=self.block)


def units_of(
    differences: Floats,
    codes: Ints | None = None,
    *,
    n_max: int | None = None,
    binary: bool = True,
    loss: float = 100.0,
) -> Units:
    """Gather paired differences of shape (n,), in points, into units.

    `codes`, of shape (n,), name the cluster of each sample; each cluster is one unit, at the place where it first
    appears. `n_max` is n by default. With `binary` False the scores are graded, even if all differences so far are
    those of 0/100 scores.

    >>> units_of(np.array([-100.0, 0.0, 100.0]), np.array([7, 3, 7])).totals.tolist()
    [0.0, 0.0]
    """
    n = len(differences) if n_max is None else n_max
    if codes is None:
        exact = binary and bool(np.isin(differences, (-100.0, 0.0, 100.0)).all())
        return Units(np.asarray(differences, np.float64), np.ones(len(differences), np.int64), exact, n, loss)
    unit = places_of(codes)
    sizes = np.bincount(unit)
    sums = np.asarray(np.bincount(unit, weights=differences), np.float64)
    scale = np.bincount(unit, weights=np.abs(differences))
    sums[np.abs(sums) <= 1e-12 * scale] = 0.0  # what cancels but for rounding did not change
    return Units(sums, sizes, False, n, loss, block=block_of(differences, codes))


def places_of(codes: npt.ArrayLike) -> Ints:
    """Number each sample's cluster from 0, in the order of first appearance.

    >>> places_of([7, 3, 7]).tolist()
    [0, 1, 0]
    """
    _, first, inverse = np.unique(np.asarray(codes), return_index=True, return_inverse=True)
    place = np.empty(len(first), np.int64)
    place[np.argsort(first)] = np.arange(len(first))
    return place[inverse]


@dataclass(frozen=True)
class SequentialResult(TestResult):
    """The result of a sequential test.

    p-value, interval and threshold are valid for its stopping rule. The first `n` of `n_max` samples were used. `stop`
    says why no more: "regression" (H0 rejected), "futility" (a drop of theta is ruled out) or "end" (all samples, or
    all the planned information, were used). `open` says that only the beginning of a run was given, and more samples
    are needed to decide. `estimate` is a median-unbiased estimate of the difference, points; None if the test has none.
    """

    n: int = 0
    n_max: int = 0
    stop: Stop = "end"
    open: bool = False
    estimate: float | None = None

    @property
    def median_difference(self) -> float:
        """The difference, median-unbiased where the run stopped early."""
        return self.difference if self.n >= self.n_max or self.estimate is None else self.estimate

    def negate(self) -> SequentialResult:
        """Return the same result about reference - candidate, with its estimate."""
        estimate = None if self.estimate is None else 0.0 - self.estimate
        return replace(super().negate(), estimate=estimate)


@dataclass(frozen=True)
class Boundaries:
    """Where a run fails and where it passes.

    The looks are those up to the unit at which the run stopped. Each place is a number of samples and a sum of
    differences, in points. A run fails if its sum is at most the one in `fails`, and passes if it is at least the one
    in `passes`.
    """

    fails: tuple[tuple[float, float], ...]
    passes: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Near:
    """How near a run is to a decision.

    `allowed` is the type I error that may be spent by now, and `passes` the sum of differences (points, higher better)
    at which the run would pass, NaN if none does. `share` is the share of the evidence for a pass that the run has. The
    test looks next after `next_n` samples, and passes after `soonest` samples if no further sample changes.
    """

    allowed: float
    passes: float
    share: float
    next_n: int | None = None
    soonest: int | None = None


def failing(outcome: Outcome, events: Ints, last: int) -> Iterator[tuple[int, int, int]]:
    """Yield the event, unit and least sum lost where a walk would fail.

    `events` are the units of the events. If the walk went to its end, its final place is at the unit `last`.
    """
    least, is_end = outcome.least, outcome.at_end and outcome.critical is not None
    if outcome.critical is not None:
        least[outcome.event] = outcome.critical
    for event, lost in sorted(least.items()):
        yield event, last if is_end and event == outcome.event else int(events[event - 1]), lost


def boundaries_at(units: Units, outcome: Outcome, passes: tuple[Floats, Floats]) -> Boundaries:
    """Return the boundaries of a walk of 0/100 scores that ended in `outcome`.

    `passes` are the samples and sums of the boundary of passing.
    """
    n, places = units.samples, failing(outcome, units.events, len(units.sizes) - 1)
    fails = tuple((float(n[unit]), 100.0 * (event - 2 * lost)) for event, unit, lost in places)
    return Boundaries(fails, tuple(zip(*(values.tolist() for values in passes), strict=True)))


def stand_at(units: Units, unit: int, p_value: float, stop: Stop, *, is_open: bool) -> SequentialResult:
    """Return where a run stands after this unit, without figures for reports."""
    n, total = int(units.sizes[: unit + 1].sum()), float(units.totals[: unit + 1].sum())
    return SequentialResult(total / n, p_value, None, None, None, None, n=n, n_max=units.n_max, stop=stop, open=is_open)


def result_at(
    units: Units, unit: int, outcome: Outcome, *, alpha: float, beta: float, theta: float, cost: float, ended: bool
) -> SequentialResult:
    """Return the result of a walk of 0/100 scores that stopped at this unit.

    `ended` says that no more samples will come. A run that passed early has the planned theta. One that went to the end
    has the theta of a fixed-n test on 1 / `cost` of its samples. One that failed early has none: what the whole run
    would have detected depends on samples that nobody evaluated.
    """
    n, differences = unit + 1, units.totals[: unit + 1]
    standing = stand_at(units, unit, outcome.p_value, outcome.stop, is_open=outcome.at_end and not ended)
    seen = None if outcome.stop == "regression" else theta
    if outcome.at_end:
        least = visible_effect(units, unit, alpha=alpha, beta=beta, cost=cost)
        seen = None if least is None else max(theta, least)
    threshold = None
    if outcome.critical is not None:  # halfway between the sums that reject and those that do not
        threshold = -100.0 * (2 * outcome.critical - 1 - outcome.event) / n
    return replace(
        standing,
        threshold=threshold,
        theta=seen,
        sigma=float(np.std(differences, ddof=1)) if n > 1 else None,
        interval=include(standing.difference, _interval(outcome, n, alpha)),
        reasons=() if differences.any() else ("no sample changed its score",),
        estimate=median_difference(outcome, n),
    )


def visible_effect(units: Units, unit: int, *, alpha: float, beta: float, cost: float) -> float | None:
    """Return the drop (points) that a run up to this unit detects.

    The run detects it with probability 1 - beta; None if there is no such drop.
    """
    n = int(units.samples[unit])
    squares = float(np.sum(units.totals[: unit + 1] ** 2))
    if units.exact:
        return mcnemar_theta(int(n / cost), discordance=squares / 1e4 / n, alpha=alpha, beta=beta)
    if math.isfinite(units.loss):
        return visible_drop(units.first(unit + 1).spread.part(1.0 / cost), flip_margins(alpha), beta=beta)
    if squares == 0.0:
        return paired_binary_effect(0.0, n / cost, alpha=alpha, beta=beta)
    return quantile_sum(alpha, beta) * math.sqrt(cost * squares) / n


def include(difference: float, interval: Interval) -> Interval:
    """Widen limits to include the observed difference.

    An early stop can put the difference outside of them.
    """
    low, high = interval.two_sided
    high = max(high, difference)
    return Interval(high, (min(low, difference), high))


def median_difference(outcome: Outcome, n: int, *, tilt: float = 0.0) -> float:
    """Find the difference (points) at which half of all walks end further.

    The order is that of the walk's stages. The masses of the outcome are those of fair signs, or of losses with odds
    exp(2 tilt).
    """
    least, most = (_excess_limit(outcome, 0.5, beyond=beyond, start=tilt) for beyond in (False, True))
    return 0.0 - 50.0 * outcome.event / n * (least + most)


def interval_without_change(units: int, alpha: float, loss: float = 100.0) -> Interval:
    """Return the limits of a difference after so many unchanged units.

    The difference is made of losses or gains of `loss` points.
    """
    unseen = drop_without_change(units, alpha, loss)
    return Interval(unseen, (-unseen, unseen))


def _interval(outcome: Outcome, n: int, alpha: float) -> Interval:
    """Bound the difference by the signs of the changes.

    The excess of losses is multiplied by the share of samples that changed.
    """
    if not outcome.event:
        return interval_without_change(n, alpha)
    least, most = (100.0 * share for share in wilson(outcome.event, n, alpha))

    def limit(level: float, side: float) -> float:
        excess = _excess_limit(outcome, level)
        worst = least if side * excess > 0.0 else most  # a run may stop because unusually many samples changed
        return min(max(worst * excess, -100.0), 100.0)

    high, low = -limit(alpha, 1.0), -limit(1.0 - alpha, -1.0)
    if outcome.stop != "regression":  # the limits of a walk without its passes are narrower than its test
        high = max(high, 0.0)
    return Interval(high, (min(low, high), high))


def _excess_limit(outcome: Outcome, level: float, *, beyond: bool | None = None, start: float = 0.0) -> float:
    """Find the excess of losses at which this outcome has probability `level`.

    Outcomes that are at least as extreme count with it. The excess is the share of changes that are lost, less the
    share that are gained. A change is a loss with odds exp(2 tilt), and the probability rises with the tilt; `start` is
    the tilt of the masses in the outcome. With `beyond` only outcomes that are more extreme count; it defaults to True
    for levels above 1/2.
    """
    beyond = level > 0.5 if beyond is None else beyond
    events, lost, mass = outcome.extremes(beyond)
    log_mass, excess = np.log(mass), 2.0 * lost - events
    if not len(excess):
        return 1.0 if beyond else -1.0
    low, high, tilt = -40.0, 40.0, start
    for _ in range(60):  # Newton's steps on the logarithm, between bounds
        terms = np.exp(np.minimum(log_mass + (tilt - start) * excess - (_growth(tilt) - _growth(start)) * events, 0.0))
        probability, slope = float(terms.sum()), float(terms @ (excess - math.tanh(tilt) * events))
        low, high = (tilt, high) if probability < level else (low, tilt)
        steps = probability > 0.0 and slope > 0.0
        new = tilt - math.log(probability / level) * probability / slope if steps else high
        new = new if low < new < high else 0.5 * (low + high)
        tilt, moved = new, abs(new - tilt)
        if moved <= 1e-13:
            break
    return math.tanh(tilt)


def _growth(tilt: float) -> float:
    """Return log(exp(tilt) + exp(-tilt)), by which odds grow with their tilt."""
    return abs(tilt) + math.log1p(math.exp(-2.0 * abs(tilt)))
