"""The weighted bootstrap, a test of a mean from scores of any shape.

Every unit gets a random exponential weight. The p-value is the probability that the weighted sum is at least 0,
computed by a saddlepoint approximation. The same weights test the ratio of two means over the same samples: how many
more tokens, seconds or decoding steps one side took.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from accgate.stats.clusters import cluster_totals
from accgate.stats.power import normal_cdf, quantile
from accgate.stats.result import Interval, TestResult
from accgate.stats.search import zero_between
from accgate.stats.totals import alike_result, as_units, robust_error, unit_result
from accgate.stats.walk import Floats

TYPICAL_SHARE = 0.6  # of a typical change that the unseen gain has: so 3 equal losses and no gain have p 0.053
TAIL_SHARE = 1.25  # likewise of the gains on which the skewness rests; chosen by benchmarks/shapes.py
ENOUGH = 100  # changed units from which the error rates hold for every shape of benchmarks/shapes.py
ROUNDS = 60  # of Newton's method at most; it takes about eight


def weighted_bootstrap(
    totals: npt.ArrayLike, n: int, *, sizes: npt.ArrayLike | None = None, alpha: float, beta: float
) -> TestResult:
    """Test one-sided that the mean difference is below 0, for scores of any shape.

    Parameters
    ----------
    totals : array of shape (G,)
        Sum of the differences candidate - reference in each unit (a sample, or a cluster of samples), points.
    n : int
        Samples in all units together.
    sizes : array of shape (G,), optional
        Samples in each unit; by default all units have the same.
    alpha, beta : float
        Type I and type II error rates.

    Notes
    -----
    p is the probability that the sum of the totals, each with an exponential weight of its own, is at least 0. One more
    gain, `assumed_gain`, is added to the sum. If all changes have one size, with a gain of that size added, this is
    McNemar's exact test; for losses of one size and few gains of another it is Poisson's. With many units it is
    Student's t, with a larger p if gains are rare and large. p rises with every difference, so that a few gains cannot
    hide many clear losses.

    The interval holds the shifts of every sample that are not rejected. theta is the distance from the difference to
    the upper limit, plus z_{1-beta} standard errors. If every sample changed by the same amount, the answer is that of
    `paired_t`.

    References
    ----------
    Rubin 1981, Ann. Stat. 9 (exponential weights); Gaffke 2005, Metrika 62 (the largest possible value added); Fay and
    Feuer 1997, Stat. Med. 16 (the largest one seen, for Poisson counts).

    Examples
    --------
    >>> r = weighted_bootstrap([-3.0, -1.0, 0.5, -4.0, -2.0, -2.5, 0.0, -6.0], 8, alpha=0.05, beta=0.2)
    >>> round(r.p_value, 3), r.difference < r.threshold, r.interval.one_sided < 0.0
    (0.01, True, True)
    """
    units, weights = as_units(totals, n, sizes)
    error = robust_error(units, weights)
    if not error:
        return alike_result(units, weights, alpha, beta)
    difference, level = float(units.sum()) / n, -quantile(alpha)
    score = float(drop_score(units, weights))
    high = upper_limit(units, weights, level)
    rejects = score >= level
    high = min(high, 1e-12 * difference) if rejects else max(high, 0.0)  # rounding must not contradict the decision
    limits = Interval(high, (-upper_limit(-units, weights, level), high))
    changed = int(np.count_nonzero(units))
    rough = f"under {ENOUGH} the error rates are rough if gains are rarer and larger than losses"
    reasons = (f"{changed:,} changes: {rough}",) if rejects and changed < ENOUGH else ()
    theta, sigma = high - difference - quantile(beta) * error, error * math.sqrt(n)
    return unit_result(difference, normal_cdf(-score), difference - high, theta, sigma, limits, reasons)


def drop_score(totals: Floats, sizes: Floats, drop: float = 0.0, *, gain: float | None = None) -> Floats:
    """Return z of the evidence that samples' mean is below `drop` points.

    The p-value is Phi(-z). Totals have shape (..., G), and `sizes`, the samples in each unit, shape (G,). The `gain`
    (points) that is added is by default `assumed_gain`.

    >>> d = np.repeat([-100.0, 0.0, 100.0], [12, 80, 4])
    >>> round(normal_cdf(-drop_score(d, np.ones(96))), 3), round(normal_cdf(-drop_score(-d, np.ones(96))), 3)
    (0.027, 0.989)
    """
    added = (assumed_gain(totals) if gain is None else np.full(totals.shape[:-1], gain)) - drop * float(np.mean(sizes))
    return weighted_score(np.concatenate([totals - drop * sizes, added[..., None]], axis=-1))


def assumed_gain(totals: Floats) -> Floats:
    """Return the gain that `drop_score` adds to totals of shape (..., G).

    It stands for rare gains that these samples may not show, and is small if changes are symmetric.

    >>> float(assumed_gain(np.array([-2.0, -2.0, 0.0]))), float(assumed_gain(np.array([-1.0, -1.0, 0.0, 19.0])))
    (1.2, 19.0)
    """
    return gain_of(*change_scales(totals))


def gain_of(typical: Floats, tail: Floats, largest: Floats) -> Floats:
    """Combine the scales of changes into the assumed gain, at most the largest change.

    >>> float(gain_of(np.array(2.0), np.array(1.0), np.array(9.0)))
    2.45
    """
    return np.minimum(TYPICAL_SHARE * typical + TAIL_SHARE * tail, largest)


def change_scales(totals: Floats) -> tuple[Floats, Floats, Floats]:
    """Measure changes, from totals of shape (..., G).

    Return the typical change, the gains behind the skewness, and the largest change.

    >>> tuple(map(float, change_scales(np.array([-1.0, -1.0, 0.0, 4.0]))))
    (3.0, 3.4444444444444446, 4.0)
    """
    largest = np.abs(totals).max(axis=-1)
    x = totals / np.where(largest > 0.0, largest, 1.0)[..., None]  # so that no power underflows
    square = x * x
    typical, tail = scales_of_sums(np.abs(x).sum(axis=-1), square.sum(axis=-1), np.sum(square * x, axis=-1))
    return largest * typical, largest * tail, largest


def scales_of_sums(absolute: Floats, squares: Floats, cubes: Floats) -> tuple[Floats, Floats]:
    """Return the typical change, and the gains behind the skewness.

    They are sum(d^2) / sum(|d|) and sum(d^3) / sum(d^2). The second is 0 if it would be negative.
    """
    typical: Floats = squares / np.where(absolute > 0.0, absolute, 1.0)
    tail: Floats = np.maximum(cubes, 0.0) / np.where(squares > 0.0, squares, 1.0)
    return typical, tail


def weighted_score(terms: Floats) -> Floats:
    """Return z where the weighted sum is at least 0 with probability Phi(-z).

    The `terms`, of shape (..., m), have exponential weights. The approximation is Barndorff-Nielsen's form of the
    saddlepoint's, within 3% of the probability for five terms or more.

    References
    ----------
    Lugannani and Rice 1980, Adv. Appl. Prob. 12; Barndorff-Nielsen 1986, Biometrika 73.

    >>> weighted_score(np.array([[-1.0, -2.0], [1.0, 2.0], [-3.0, 1.0]])).round(3).tolist()
    [inf, -inf, 0.666]
    """
    largest = np.abs(terms).max(axis=-1)
    x = terms / np.where(largest > 0.0, largest, 1.0)[..., None]  # first, so that no square underflows
    x = x / np.sqrt(np.maximum(np.sum(x * x, axis=-1), 1e-300))[..., None]
    x[np.abs(x) < 1e-150] = 0.0  # they change no sum, and their inverse overflows
    high, low = x.max(axis=-1), x.min(axis=-1)
    two_sided = (high > 0.0) & (low < 0.0)
    score = np.where(high > 0.0, -math.inf, np.where(low < 0.0, math.inf, -math.inf))
    if two_sided.any():
        score[two_sided] = _score(x[two_sided], 1.0 / low[two_sided], 1.0 / high[two_sided])
    return score


def _score(x: Floats, low: Floats, high: Floats) -> Floats:
    """Return `weighted_score` of rows of unit length, whose saddlepoint lies between `low` and `high`."""
    t = np.clip(-x.sum(axis=-1), 0.9 * low, 0.9 * high)
    for _ in range(ROUNDS):
        tilted = x / (1.0 - t[:, None] * x)
        slope = tilted.sum(axis=-1)
        low, high = np.where(slope < 0.0, t, low), np.where(slope < 0.0, high, t)
        step = t - slope / np.sum(tilted * tilted, axis=-1)
        step = np.where((step > low) & (step < high), step, 0.5 * (low + high))
        done = np.all(np.abs(step - t) <= 1e-9 * (1.0 + np.abs(t)))
        t = step
        if done:
            break
    tilted = x / (1.0 - t[:, None] * x)
    square = tilted * tilted
    variance = square.sum(axis=-1)
    root = np.sign(t) * np.sqrt(2.0 * np.maximum(np.sum(np.log1p(-t[:, None] * x), axis=-1), 0.0))
    near = np.abs(root) < 1e-3  # the general form divides by the root; at 0 its limit is a sixth of the skewness
    safe, wald = np.where(near, 1.0, root), np.where(near, 1.0, t * np.sqrt(variance))
    skewness = 2.0 * np.sum(square * tilted, axis=-1) / variance**1.5
    return np.asarray(np.where(near, root + skewness / 6.0, root + np.log(wald / safe) / safe))


def upper_limit(totals: Floats, sizes: Floats, level: float, *, gain: float | None = None) -> float:
    """Find the mean (points) against which `drop_score` is `level`, with its `gain`.

    For the lower limit negate the totals.

    >>> d = np.array([-3.0, -1.0, 0.5, -4.0, -2.0, -2.5, 0.0, -6.0])
    >>> limit = upper_limit(d, np.ones(8), 1.645)
    >>> round(limit, 3), round(float(drop_score(d, np.ones(8), limit)), 3)
    (-0.522, 1.645)
    """
    n, added = float(sizes.sum()), float(assumed_gain(totals)) if gain is None else gain
    spread, mean = (robust_error(totals, sizes) or 0.0) + added / n, float(totals.sum()) / n

    def excess(limit: float) -> float:
        return float(drop_score(totals, sizes, limit, gain=gain)) - level

    low = high = mean + level * spread
    for _ in range(ROUNDS):
        if excess(low) <= 0.0:
            break
        low, spread = low - spread, 2.0 * spread
    for _ in range(ROUNDS):
        if excess(high) >= 0.0:
            break
        high, spread = high + spread, 2.0 * spread
    return low if low == high else zero_between(excess, low, high, width=1e-12 * (1.0 + abs(mean)))


@dataclass(frozen=True)
class RatioResult:
    """The relative change of a mean, with its interval, as shares.

    `p_value` is that of H0 "grew by the allowed share at most". `sees_double` is whether the test would reject if every
    sample took twice what is allowed, or the most that it can take.
    """

    change: float
    interval: tuple[float, float]
    p_value: float
    sees_double: bool


def ratio_test(
    before: Floats,
    now: Floats,
    *,
    longest: tuple[float, float],
    allowed: float = 0.0,
    alpha: float,
    codes: npt.ArrayLike | None = None,
    ceiling: float = math.inf,
) -> RatioResult:
    """Test one-sided that the mean grew by more than the allowed share.

    mean(now) / mean(before) > 1 + allowed if the mean of (1 + allowed) before - now is below 0. p is the probability
    that the sum of these differences, each with an exponential weight of its own, is at least 0. One more sample is
    added, which took the longest before and nothing now. So p is valid for every shape, even if the mean rests on rare
    samples of which none was drawn. The interval holds the shares that neither side of the test rejects.

    Parameters
    ----------
    before, now : arrays of shape (n,)
        The same samples of both sides, 0 or more, in the same unit; before not all 0.
    longest : tuple of float
        The most that a sample can take before and now; more where a sample took more.
    allowed : float
        Share by which the mean may grow.
    alpha : float
        Type I error rate.
    codes : int array of shape (n,), optional
        Cluster of each sample; the cluster is the unit then.
    ceiling : float
        The most that any sample can ever take now.

    References
    ----------
    Gaffke 2005, Metrika 62 (the test; proven for two values, and no distribution is known where it fails);
    Learned-Miller and Thomas 2020, arXiv 1905.06208.

    Examples
    --------
    >>> before, now = np.tile([40.0, 50.0, 60.0, 50.0, 45.0], 10), np.tile([44.0, 52.0, 61.0, 58.0, 47.0], 10)
    >>> r = ratio_test(before, now, longest=(64.0, 64.0), alpha=0.05)
    >>> round(r.change, 4), round(r.p_value, 4), r.sees_double
    (0.0694, 0.0789, True)
    """
    rate = float(now.sum() / before.sum())
    most = max(longest[0], float(before.max())), max(longest[1], float(now.max()))
    sizes = np.ones(len(before))
    if codes is not None:
        (before, sizes), (now, _) = (cluster_totals(side, codes) for side in (before, now))
        most = most[0] * float(sizes.max()), most[1] * float(sizes.max())
    level = -quantile(alpha)

    def grew(beyond: float) -> float:
        return float(drop_evidence(beyond * before - now, beyond * most[0])) - level

    def fell(below: float) -> float:
        return float(drop_evidence(now - below * before, most[1])) - level

    high = max(2.0 * rate, most[1] / most[0])
    while fell(high) < 0.0:
        high *= 2.0
    interval = _crossing(grew, rate, 0.0) - 1.0, _crossing(fell, rate, high) - 1.0
    p_value = normal_cdf(-level - grew(1.0 + allowed))
    seen = sees_double(before, most[0], alpha=alpha, ceiling=ceiling * sizes / (1.0 + allowed))
    return RatioResult(rate - 1.0, interval, p_value, seen)


def sees_double(before: Floats, most: float, *, alpha: float, ceiling: Floats | float = math.inf) -> bool:
    """Tell whether the test would reject if samples took twice what is allowed.

    `most` is what a sample can take at most before. `ceiling` is what each can take at most now, divided by 1 + the
    allowed share.

    >>> sees_double(np.full(40, 5.0), 20.0, alpha=0.01), sees_double(np.full(10, 5.0), 20.0, alpha=0.01)
    (True, False)
    """
    return float(drop_evidence(before - np.minimum(2.0 * before, ceiling), most)) >= -quantile(alpha)


def drop_evidence(values: Floats, most: float) -> Floats:
    """Return z of the evidence that the mean of values is below 0.

    No value can be above `most`. Values have shape (..., n). If all are -d, then p = (most / (most + d)) ** n, up to
    the saddlepoint's error.

    >>> z = drop_evidence(np.full(30, -4.0), 20.0)
    >>> round(normal_cdf(-float(z)), 4), round((20.0 / 24.0) ** 30, 4)
    (0.0043, 0.0042)
    """
    return weighted_score(np.concatenate([values, np.full((*values.shape[:-1], 1), most)], axis=-1))


def _crossing(excess: Callable[[float], float], start: float, end: float) -> float:
    """Find the rate at which the excess, which rises towards the end, is 0.

    If it is 0 nowhere, return the end that is nearer to 0.
    """
    if excess(start) >= 0.0 or excess(end) <= 0.0:
        return start if excess(start) >= 0.0 else end
    return zero_between(excess, start, end, width=1e-12)
