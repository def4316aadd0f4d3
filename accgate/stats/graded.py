"""Group-sequential test of scores other than 0/100, and of clusters: at each look the test that serves a fixed n.

What is seen at each look, and the bounds there, is in `course`.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from accgate.stats import special
from accgate.stats.bootstrap import unseen_gain, upper_limit
from accgate.stats.brownian import median_sum
from accgate.stats.course import (
    Course,
    Evidence,
    each_look,
    efficacy_bounds,
    evidence_at,
    looked_at,
    next_look,
    spent_by,
    stagewise_p,
)
from accgate.stats.gsprt import unseen_n
from accgate.stats.losses import lower_limit, visible_drop, weighted_margins
from accgate.stats.power import paired_binary_effect, quantile
from accgate.stats.result import Interval
from accgate.stats.sequential import (
    Boundaries,
    SequentialResult,
    Units,
    include,
    open_result,
    stand_at,
    unseen_interval,
)
from accgate.stats.totals import robust_error, spread_of
from accgate.stats.walk import Floats, Stop


def graded_test(units: Units, *, theta: float, alpha: float, beta: float, figures: bool = True) -> SequentialResult:
    """Group-sequential test that the mean difference is below 0, for scores of any shape and for clusters.

    Parameters
    ----------
    units : Units
        Paired differences in the order in which they are looked at (`units_of`).
    theta : float
        Drop in points to detect with probability 1 - beta.
    alpha, beta : float
        Type I and type II error rates.
    figures : bool
        Without, only where the run stops, its difference and its p-value, and whether it is open: the rest is None.

    Notes
    -----
    Looks come at 8% more samples each time. No look but the last rejects before 100 units changed, and 100 more for
    each time that the gains on which the skewness rests are typical changes. Four fifths of alpha are spent by 1.6
    times the samples that a drop of theta needs, by the variance at the first look that may reject; the rest by
    the end. Futility is not counted on. A run passes where its likelihood without a drop is 1.5 / beta times that with
    a drop of theta; where scores are bounded not before so many samples that a drop made of whole losses would have
    shown one.

    The interval is a repeated one: it holds at whichever look the run stops, and is wide for early ones. The estimate
    of a run that stopped early is median-unbiased by the order of stages.

    References
    ----------
    Lan and DeMets 1983, Biometrika 70 (spending); Jennison and Turnbull 1989, JRSS B 51 (repeated intervals); Ville
    1939 (the bound on early passes); Tsiatis, Rosner and Mehta 1984, Biometrics 40 (the estimate).

    Examples
    --------
    >>> from accgate.stats.sequential import units_of
    >>> healthy = np.tile([4.0, -4.0, 0.0], 500)
    >>> r = graded_test(units_of(healthy), theta=2.0, alpha=0.05, beta=0.2)
    >>> r.stop, r.n
    ('futility', 94)
    """
    if not len(units.totals):
        return open_result(units)
    course, over = _course(units, theta, alpha, beta), units.is_whole
    seen = list[Evidence]()
    looks, result = len(looked_at(units, course)), _result if figures else _stand
    for look, (now, is_remembered) in enumerate(each_look(units, course)):
        seen.append(now)
        if look == looks or (is_remembered and look < looks - 1):  # asked of with later ones a look says the same
            continue
        is_last, evidence = over and look == looks - 1, seen[0].then(*seen[1:])
        at, stop = course.stop(evidence, over=is_last)
        if is_last or stop != "end":
            return result(units, course, evidence.first(at + 1), at, stop)
        seen = [evidence]
    evidence = seen[0].then(*seen[1:])  # as though the next look were now
    return replace(result(units, course, evidence, looks, "end"), open=True)


def _course(units: Units, theta: float, alpha: float, beta: float) -> Course:
    return Course(units.n_max, theta, alpha, beta, units.loss, units.earliest)


def _stand(units: Units, course: Course, evidence: Evidence, look: int, stop: Stop) -> SequentialResult:
    """Where a run stands at this look: the same as `_result`, without what only a report needs."""
    bounds = course.bounds(evidence, over=look == len(course.n) - 1)
    p_value = stagewise_p(course.fractions, bounds, look, float(evidence.drop[look]))
    return stand_at(units, int(evidence.unit[look]), p_value, stop, is_open=False)


def _result(units: Units, course: Course, evidence: Evidence, look: int, stop: Stop) -> SequentialResult:
    """The result of a run that stops at this look."""
    standing, unit = _stand(units, course, evidence, look, stop), int(evidence.unit[look])
    totals, sizes = units.totals[: unit + 1], units.sizes[: unit + 1].astype(np.float64)
    is_last = look == len(course.n) - 1
    bounds = course.bounds(evidence, over=is_last)
    level, difference = float(bounds[look]), standing.difference
    may_reject = math.isfinite(level)
    first = course.first(evidence, over=is_last)
    halvings = course.halvings(evidence, look if first is None else first)
    bound = float(
        efficacy_bounds(course.fractions, len(course.n) - 1 if first is None else first, halvings, course.alpha)[-1]
    )
    if not may_reject:
        level = float(-special.ndtri(spent_by(np.array(course.fractions), halvings, course.alpha)[look]))
    limits = _limits(totals, sizes, level, course)
    if may_reject:  # rounding never parts the limit from the decision
        high = min(limits.one_sided, 1e-12 * difference) if stop == "regression" else max(limits.one_sided, 0.0)
        limits = Interval(high, (limits.two_sided[0], high))
    return replace(
        standing,
        threshold=difference - limits.one_sided if may_reject else None,
        theta=_theta(units.first(unit + 1), course, bound, stop),
        sigma=spread_of(totals, sizes),
        interval=limits,
        reasons=() if totals.any() else ("no sample changed its score",),
        estimate=None if stop == "end" else _estimate(units, course, evidence, bounds),
    )


def _estimate(units: Units, course: Course, evidence: Evidence, bounds: Floats) -> float:
    """The median-unbiased difference, points, of a run that stopped at the last of these looks.

    Given by how much units changed, their signs make a walk whose variance is the sum of squares.
    """
    if not evidence.squares[-1]:
        return 0.0
    start = int(np.argmax(evidence.squares > 0.0))
    squares, n, ends = evidence.squares[start:], evidence.n[start:].astype(np.float64), evidence.unit[start:]
    gain, other = (np.array([unseen_gain(side * units.totals[: last + 1]) for last in ends]) for side in (1.0, -1.0))
    lows = -bounds[start:] * np.sqrt(squares + gain * gain) - gain
    highs = course.sound_bounds(evidence)[start:] * np.sqrt(squares + other * other) + other - course.theta * n
    highs = np.maximum(highs, quantile(course.alpha) * np.sqrt(squares + gain * gain) - gain)  # a drop in sight goes on
    return median_sum(squares, lows, highs, float(units.totals[: ends[-1] + 1].sum())) / float(n[-1])


def _limits(totals: Floats, sizes: Floats, level: float, course: Course) -> Interval:
    """Limits at this z, the lower one with room for a whole loss that was not seen.

    Of a run without any change they are what so many samples rule out of whole losses.
    """
    if not totals.any():
        return unseen_interval(len(totals), course.alpha, course.whole_loss)
    high, difference = upper_limit(totals, sizes, level), float(totals.sum() / sizes.sum())
    is_bounded = math.isfinite(course.loss)
    low = lower_limit(totals, sizes, level, loss=course.loss) if is_bounded else -upper_limit(-totals, sizes, level)
    return include(difference, Interval(high, (low, high)))


def _theta(units: Units, course: Course, bound: float, stop: Stop) -> float | None:
    """The drop that a run detects: of one that passed early the planned one, else what its last look can see.

    Of one that failed early none: it depends on samples that nobody evaluated. Some of beta is left to early passes.
    """
    n, totals, sizes = int(units.sizes.sum()), units.totals, units.sizes.astype(np.float64)
    if stop == "regression" and n < units.n_max:
        return None
    if stop == "futility":
        return course.theta
    beta = 0.5 * course.beta
    seen: float | None = 0.0
    if math.isfinite(course.loss):
        seen = visible_drop(units.spread, weighted_margins(bound), beta=beta)
    elif not totals.any():
        seen = paired_binary_effect(0.0, n, alpha=course.alpha, beta=course.beta)
    if seen is None or not totals.any():
        return None if seen is None else max(course.theta, seen)
    margin = upper_limit(totals, sizes, bound) - float(totals.sum()) / n
    drop = margin - quantile(beta) * (robust_error(totals, sizes) or 0.0)
    return max(course.theta, drop, seen)


def graded_boundaries(units: Units, *, theta: float, alpha: float, beta: float) -> Boundaries:
    """The boundaries that `graded_test` decided by, of the units that it used; parameters as there.

    They depend on the changes so far: each is the sum at which a run as noisy as this one would fail, or pass.

    Examples
    --------
    >>> from accgate.stats.sequential import units_of
    >>> walk = graded_boundaries(units_of(np.tile([4.0, -4.0, 0.0], 32), n_max=1500), theta=2.0, alpha=0.05, beta=0.2)
    >>> walk.fails, [(n, round(limit)) for n, limit in walk.passes]
    ((), [(94.0, -54)])
    """
    course = _course(units, theta, alpha, beta)
    unit = looked_at(units, course)
    if not len(unit):
        return Boundaries((), ())
    evidence = evidence_at(units.totals, units.sizes, unit, theta=theta)
    over = units.is_whole
    bounds, sound = course.bounds(evidence, over=over), course.sound_bounds(evidence)
    sound[-1] = math.inf if over else sound[-1]
    fails = tuple(
        _boundary(units, int(last), float(z), 0.0) for last, z in zip(unit, bounds, strict=True) if z < math.inf
    )
    passes = tuple(
        _passing(units, int(last), float(z), course) for last, z in zip(unit, sound, strict=True) if z < math.inf
    )
    return Boundaries(fails, passes)


def _passing(units: Units, unit: int, z: float, course: Course) -> tuple[float, float]:
    """Samples up to a unit, and the least sum that passes there: no drop is in sight, and none of theta is left."""
    ruled_out, in_sight = _boundary(units, unit, z, course.theta), _boundary(units, unit, -quantile(course.alpha), 0.0)
    return max(ruled_out, in_sight)


def _boundary(units: Units, unit: int, z: float, drop: float) -> tuple[float, float]:
    """Samples up to a unit, and the sum at which the evidence is z: for a drop, or against one of `drop` points."""
    totals, sizes = units.totals[: unit + 1], units.sizes[: unit + 1].astype(np.float64)
    n = float(sizes.sum())
    if not totals.any():
        return n, 0.0
    if drop:
        return n, float(totals.sum()) + n * (upper_limit(-totals, sizes, z) - drop)
    return n, float(totals.sum()) - n * upper_limit(totals, sizes, z)


@dataclass(frozen=True)
class NextLook:
    """What a run comes to next, as though its changes went on as they are.

    `n` samples at the look, type I error `allowed` by it, the least sum of differences `passes` (points, NaN where none
    does), and how much of the evidence for a pass there is, from 0 to 1.
    """

    n: int
    allowed: float
    passes: float
    share: float


def graded_next(units: Units, *, theta: float, alpha: float, beta: float) -> NextLook:
    """The next look of `graded_test`; parameters as there.

    >>> from accgate.stats.sequential import units_of
    >>> look = graded_next(units_of(np.tile([4.0, -4.0, 0.0], 20), n_max=1500), theta=2.0, alpha=0.05, beta=0.2)
    >>> look.n, look.allowed, round(look.share, 2)
    (64, 0.0, 0.64)
    """
    course, seen = _course(units, theta, alpha, beta), int(units.samples[-1])
    evidence = next_look(units, course)
    look = min(len(evidence.n) - 1, len(course.n) - 1)
    n, last = int(course.n[look]), len(units.totals) - 1
    first = course.first(evidence, over=n >= units.n_max)
    allowed = 0.0
    if first is not None:
        allowed = float(spent_by(np.array(course.fractions), course.halvings(evidence, first), alpha)[look])
    z = float(course.sound_bounds(evidence)[-1])
    passes = math.nan if math.isinf(z) else _passing(units, last, z, course)[1]
    total, drop = float(units.totals.sum()), theta * seen
    share = 1.0 if total >= passes else min(max((drop + total) / (drop + passes), 0.0), 1.0) if z < math.inf else 0.0
    unseen = 1.0
    if math.isfinite(units.loss) or not units.totals.any():
        unseen = (last + 1) / unseen_n(theta, beta=beta, loss=course.whole_loss)
    return NextLook(n, allowed, passes, min(share, unseen) if z < math.inf else min(unseen, 1.0))
