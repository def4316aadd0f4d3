"""Group-sequential test of scores other than 0/100, and of clusters.

Each look repeats the test at a fixed n. The evidence for a drop is the z of `drop_score`, compared with bounds that
spend the type I error as samples come. The evidence against a drop of theta is the same score of the negated
differences; the run passes by its likelihood ratio.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b

import numpy as np

from accgate.stats import special
from accgate.stats.bootstrap import ENOUGH, assumed_gain, change_scales, drop_score, upper_limit
from accgate.stats.brownian import efficacy_bounds, median_sum, spent_by, stagewise_p
from accgate.stats.gsprt import n_without_change
from accgate.stats.losses import lower_limit, visible_drop, weighted_margins
from accgate.stats.power import paired_binary_effect, quantile, quantile_sum
from accgate.stats.result import Interval
from accgate.stats.sequential import (
    Boundaries,
    Near,
    SequentialResult,
    Units,
    include,
    interval_without_change,
    stand_at,
)
from accgate.stats.totals import robust_error, spread_of
from accgate.stats.walk import Floats, Ints, Stop

# benchmarks/shapes.py prints the error rates and the power with these.
FIRST = 30  # samples before the first look
FEW = 30  # changed units under which the variance is at least that of whole losses
RATIO = 1.08  # of the samples at a look to those at the look before
PASSING = 1.5  # times 1 / beta: the likelihood ratio of no drop to one of theta at which a run passes early
NEEDED = 1.6  # samples that a drop of theta is said to need, times those of the test at a fixed n
REMEMBERED = 1024  # looks whose evidence is cached: a growing run is tested again and again, with the same first looks


@dataclass(frozen=True)
class Evidence:
    """The evidence at the looks of a run, as arrays of shape (..., looks).

    `unit`, of shape (looks,), is the index of the last unit before each look, and `n` the samples by then. `drop` is z
    of the evidence for a drop, `sound` that against a drop of theta. `squares` (points^2) is the variance of the sum,
    `changed` the number of changed units, and `tail` how large the gains behind the skewness are, in typical changes.
    """

    unit: Ints
    n: Ints
    drop: Floats
    sound: Floats
    squares: Floats
    changed: Ints
    tail: Floats

    def then(self, *more: Evidence) -> Evidence:
        """Append the evidence of more looks."""
        columns = zip(*(vars(each).values() for each in (self, *more)), strict=True)
        return Evidence(*(np.concatenate(column, axis=-1) for column in columns))

    def first(self, count: int) -> Evidence:
        """Return the evidence of the first `count` looks."""
        return Evidence(*(values[..., :count] for values in vars(self).values()))


def evidence_at(totals: Floats, sizes: Ints, unit: Ints, *, theta: float) -> Evidence:
    """Return the evidence after each of these units.

    Totals have shape (..., G), and sizes shape (G,).
    """
    columns = []
    for last in unit:
        x, n = totals[..., : last + 1], sizes[: last + 1].astype(np.float64)
        typical, tail, _ = change_scales(x)
        scores = drop_score(x, n), drop_score(-x, n, theta)
        tail = tail / np.where(typical > 0.0, typical, 1.0)
        columns.append((*scores, np.sum(x * x, axis=-1), np.sum(x != 0.0, axis=-1), tail))
    stacked = (np.stack(column, axis=-1) for column in zip(*columns, strict=True))
    return Evidence(unit, np.cumsum(sizes)[unit], *stacked)


@dataclass(frozen=True)
class Course:
    """The planned looks of a run of `n_max` samples, and its rates.

    `loss` and `earliest` are those of `Units`.
    """

    n_max: int
    theta: float
    alpha: float
    beta: float
    loss: float = 100.0
    earliest: int = 0

    @property
    def whole_loss(self) -> float:
        """The most points that one sample can lose.

        Scores without bounds count as if they could lose 100.
        """
        return self.loss if math.isfinite(self.loss) else 100.0

    @cached_property
    def n(self) -> Ints:
        """Number of samples at each look.

        It grows by the factor `RATIO` from look to look, up to all samples.
        """
        count = 1 + max(0, math.floor(math.log(max(self.n_max, 1) / FIRST) / math.log(RATIO)))
        return np.unique(np.ceil(self.n_max / RATIO ** np.arange(count) - 1e-9).astype(np.int64))

    @cached_property
    def fractions(self) -> tuple[float, ...]:
        """Share of the samples at each look."""
        return tuple((self.n / self.n_max).tolist())

    def stop(self, evidence: Evidence, *, over: bool) -> tuple[int, Stop]:
        """Find the look at which one run stops, and why.

        A run that does not stop gives the last look and "end". `over` says that the last look is that of `n_max`.
        """
        rejects = evidence.drop >= self.bounds(evidence, over=over)
        bounds = self.sound_bounds(evidence)
        passes = np.isfinite(bounds) & (evidence.sound >= bounds) & (evidence.drop < -quantile(self.alpha))
        passes[-1] &= not over
        stops = np.flatnonzero(rejects | passes)
        if not len(stops):
            return len(rejects) - 1, "end"
        look = int(stops[0])
        return look, "regression" if rejects[look] else "futility"

    def bounds(self, evidence: Evidence, *, over: bool) -> Floats:
        """Return the z from which each look of one run rejects.

        A look that may not reject has an infinite one.
        """
        first, count = self.first(evidence, over=over), len(evidence.drop)
        if first is None:
            return np.full(count, math.inf)
        return efficacy_bounds(self.fractions, first, self.halvings(evidence, first), self.alpha)[:count]

    def first(self, evidence: Evidence, *, over: bool) -> int | None:
        """Find the first look that may reject.

        Such a look has enough changes, or is the last of the run. The larger the gains behind the skewness, the more
        changes are enough.
        """
        enough = evidence.changed >= ENOUGH * (1.0 + evidence.tail)
        enough[-1] |= over
        return int(np.argmax(enough)) if enough.any() else None

    def halvings(self, evidence: Evidence, look: int) -> int:
        """Count how often a run's samples can be halved.

        The samples that theta needs must remain. What theta needs depends on the variance seen at this look.
        """
        variance = float(evidence.squares[look]) / int(evidence.n[look])
        needed = NEEDED * quantile_sum(self.alpha, self.beta) ** 2 * variance / self.theta**2
        if math.isfinite(self.loss):
            needed = max(needed, 1.5 * n_without_change(self.theta, beta=self.beta, loss=self.loss))
        return max(0, math.floor(math.log2(self.n_max / max(needed, 1.0))))

    def sound_bounds(self, evidence: Evidence) -> Floats:
        """Return the z against a drop of theta from which each look passes.

        It is infinite if too few units were seen. At this z the run is 1.5 / beta times as likely without a drop as
        with one of theta. By Ville's inequality runs with a drop of theta pass with a probability of at most two thirds
        of beta.
        """
        n, few, loss = evidence.n, evidence.changed < FEW, self.whole_loss
        whole_variance = loss * self.theta * n  # the variance of a drop of theta that is made of whole losses
        error = np.sqrt(np.where(few, np.maximum(evidence.squares, whole_variance), evidence.squares))
        drift = self.theta * n / error
        least = n_without_change(self.theta, beta=self.beta, loss=loss)
        untested = (math.isfinite(self.loss) | (evidence.changed == 0)) & (evidence.unit + 1 < least)
        untested |= evidence.unit < self.earliest
        return np.where(untested, math.inf, math.log(PASSING / self.beta) / drift + 0.5 * drift)


def looked_at(units: Units, course: Course) -> Ints:
    """Return the index of the last unit before each look so far."""
    unit = np.searchsorted(units.samples, course.n)
    return unit[unit < len(units.totals)]


_evidence: OrderedDict[tuple[float, int, bytes, bytes], Evidence] = OrderedDict()


def each_look(units: Units, course: Course) -> Iterator[tuple[Evidence, bool]]:
    """Yield the evidence at each look so far and after the last unit.

    With it comes whether it was in the cache. The key of the cache is a digest of all units up to the look. The least
    recently used evidence is dropped.
    """
    digests, start = (blake2b(digest_size=16), blake2b(digest_size=16)), 0
    for last in (*looked_at(units, course).tolist(), len(units.totals) - 1):
        for digest, values in zip(digests, (units.totals, units.sizes), strict=True):
            digest.update(values[start : last + 1].tobytes())
        key, start = (course.theta, last, digests[0].digest(), digests[1].digest()), last + 1
        evidence = _evidence.pop(key, None)
        is_remembered = evidence is not None
        if evidence is None:
            evidence = evidence_at(units.totals, units.sizes, np.array([last]), theta=course.theta)
        _evidence[key] = evidence
        if len(_evidence) > REMEMBERED:
            _evidence.popitem(last=False)
        yield evidence, is_remembered


def graded_test(units: Units, *, theta: float, alpha: float, beta: float, figures: bool = True) -> SequentialResult:
    """Test group-sequentially that the mean difference is below 0.

    Scores may have any shape, and samples may come in clusters.

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
    each time that the gains behind the skewness are as large as typical changes. Four fifths of alpha are spent by 1.6
    times the samples that a drop of theta needs at a fixed n, by the variance at the first look that may reject; the
    rest by the end. Alpha holds even if runs go on that could pass. A run passes if its likelihood without a drop is
    1.5 / beta times that with a drop of theta. If scores are bounded, it does not pass before a drop made of whole
    losses would have shown one.

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
    course, over = _course(units, theta, alpha, beta), units.is_whole
    seen = list[Evidence]()
    looks, result = len(looked_at(units, course)), _result if figures else _stand
    for look, (now, is_remembered) in enumerate(each_look(units, course)):
        seen.append(now)
        if look == looks or (is_remembered and look < looks - 1):  # it did not stop the run when it was first seen
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
    """Return where a run stands at this look, for callers that need no figures."""
    bounds = course.bounds(evidence, over=look == len(course.n) - 1)
    p_value = stagewise_p(course.fractions, bounds, look, float(evidence.drop[look]))
    return stand_at(units, int(evidence.unit[look]), p_value, stop, is_open=False)


def _result(units: Units, course: Course, evidence: Evidence, look: int, stop: Stop) -> SequentialResult:
    """Return the result of a run that stops at this look."""
    standing, unit = _stand(units, course, evidence, look, stop), int(evidence.unit[look])
    totals, sizes = units.totals[: unit + 1], units.sizes[: unit + 1].astype(np.float64)
    is_last = look == len(course.n) - 1
    bounds = course.bounds(evidence, over=is_last)
    level, difference = float(bounds[look]), standing.difference
    may_reject = math.isfinite(level)
    first = course.first(evidence, over=is_last)
    halvings = course.halvings(evidence, look if first is None else first)
    start = len(course.n) - 1 if first is None else first
    bound = float(efficacy_bounds(course.fractions, start, halvings, course.alpha)[-1])
    if not may_reject:
        level = float(-special.ndtri(spent_by(np.array(course.fractions), halvings, course.alpha)[look]))
    limits = _limits(totals, sizes, level, course)
    if may_reject:  # rounding must not contradict the decision
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
    """Estimate the difference (points) of a stopped run, median-unbiased.

    The run stopped at the last of these looks. Given by how much units changed, their signs make a walk whose variance
    is the sum of squares.
    """
    if not evidence.squares[-1]:
        return 0.0
    start = int(np.argmax(evidence.squares > 0.0))
    squares, n, ends = evidence.squares[start:], evidence.n[start:].astype(np.float64), evidence.unit[start:]
    gain, other = (np.array([assumed_gain(side * units.totals[: last + 1]) for last in ends]) for side in (1.0, -1.0))
    lows = -bounds[start:] * np.sqrt(squares + gain * gain) - gain
    highs = course.sound_bounds(evidence)[start:] * np.sqrt(squares + other * other) + other - course.theta * n
    highs = np.maximum(highs, quantile(course.alpha) * np.sqrt(squares + gain * gain) - gain)  # such runs do not pass
    return median_sum(squares, lows, highs, float(units.totals[: ends[-1] + 1].sum())) / float(n[-1])


def _limits(totals: Floats, sizes: Floats, level: float, course: Course) -> Interval:
    """Return limits of the difference at this z.

    The lower one allows for one whole loss more than was seen. A run without any change has the limits that so many
    samples set to whole losses and gains.
    """
    if not totals.any():
        return interval_without_change(len(totals), course.alpha, course.whole_loss)
    high, difference = upper_limit(totals, sizes, level), float(totals.sum() / sizes.sum())
    is_bounded = math.isfinite(course.loss)
    low = lower_limit(totals, sizes, level, loss=course.loss) if is_bounded else -upper_limit(-totals, sizes, level)
    return include(difference, Interval(high, (low, high)))


def _theta(units: Units, course: Course, bound: float, stop: Stop) -> float | None:
    """Return the drop (points) that a run detects.

    After an early pass that is theta, else what the last look can detect. A run that failed early has none: it would
    depend on samples that nobody evaluated. Half of beta is left to early passes.
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
    """Return the boundaries by which `graded_test` decided, with the same parameters.

    They reach up to the unit at which the run stopped. Each is the sum at which a run as noisy as this one would fail,
    or pass.

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
    at = unit.tolist()
    fails = tuple(_boundary(units, last, z, 0.0) for last, z in zip(at, bounds.tolist(), strict=True) if z < math.inf)
    passes = tuple(_passing(units, last, z, course) for last, z in zip(at, sound.tolist(), strict=True) if z < math.inf)
    return Boundaries(fails, passes)


def _passing(units: Units, unit: int, z: float, course: Course) -> tuple[float, float]:
    """Return the samples up to a unit, and the least sum that passes there.

    Such a sum shows no drop at alpha, and excludes one of theta.
    """
    ruled_out, in_sight = _boundary(units, unit, z, course.theta), _boundary(units, unit, -quantile(course.alpha), 0.0)
    return max(ruled_out, in_sight)


def _boundary(units: Units, unit: int, z: float, drop: float) -> tuple[float, float]:
    """Return the samples up to a unit, and the sum whose evidence is z.

    The evidence is for a drop. With `drop` it is the evidence against a drop of so many points.
    """
    totals, sizes = units.totals[: unit + 1], units.sizes[: unit + 1].astype(np.float64)
    n = float(sizes.sum())
    if not totals.any():
        return n, 0.0
    if drop:
        return n, float(totals.sum()) + n * (upper_limit(-totals, sizes, z) - drop)
    return n, float(totals.sum()) - n * upper_limit(totals, sizes, z)


def graded_next(units: Units, *, theta: float, alpha: float, beta: float) -> Near:
    """Return how near `graded_test` is to a decision at its next look.

    No unit is assumed to change until then.

    >>> from accgate.stats.sequential import units_of
    >>> look = graded_next(units_of(np.tile([4.0, -4.0, 0.0], 20), n_max=1500), theta=2.0, alpha=0.05, beta=0.2)
    >>> look.next_n, look.allowed, round(look.share, 2)
    (64, 0.0, 0.64)
    """
    course = _course(units, theta, alpha, beta)
    first, *others = (now for now, _ in each_look(units, course))
    evidence = first.then(*others)
    look = min(len(evidence.n) - 1, len(course.n) - 1)
    n, last, allowed = int(course.n[look]), len(units.totals) - 1, 0.0
    if (may_reject := course.first(evidence, over=n >= units.n_max)) is not None:
        allowed = float(spent_by(np.array(course.fractions), course.halvings(evidence, may_reject), alpha)[look])
    z = float(course.sound_bounds(evidence)[-1])
    passes = math.nan if math.isinf(z) else _passing(units, last, z, course)[1]
    total, drop = float(units.totals.sum()), theta * int(units.samples[-1])
    share = min(max((drop + total) / (drop + passes), 0.0), 1.0) if total < passes else 1.0
    untested = 1.0
    if math.isfinite(units.loss) or not units.totals.any():
        untested = (last + 1) / n_without_change(theta, beta=beta, loss=course.whole_loss)
    return Near(allowed, passes, min(share, untested), n)
