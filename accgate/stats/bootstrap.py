"""The weighted bootstrap: a test of a mean from any scores, without resampling and without a shape that it assumes.

Every unit gets an exponential weight. How often the weighted sum is at least 0 is the p-value, computed from the
saddlepoint of the sum.
"""

import math
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from accgate.stats.power import normal_cdf, quantile
from accgate.stats.result import Interval, TestResult
from accgate.stats.search import zero_between
from accgate.stats.totals import alike_result, as_units, robust_error, unit_result
from accgate.stats.walk import Floats

TYPICAL_SHARE = 0.6  # of a typical change that the unseen gain counts: 3 equal losses and no gain have p 0.053
TAIL_SHARE = 1.25  # and of a gain that the skewness rests on; chosen by benchmarks/shapes.py
ENOUGH = 100  # changed units from which the error rates hold for every shape of benchmarks/shapes.py
ROUNDS = 60  # of Newton's method at most; it takes about eight


def weighted_bootstrap(
    totals: npt.ArrayLike, n: int, *, sizes: npt.ArrayLike | None = None, alpha: float, beta: float
) -> TestResult:
    """One-sided test that the mean difference is below 0, for scores of any shape.

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
    p is the chance that the sum of the totals, each with an exponential weight of its own, is at least 0, where one
    more gain is added that was not seen (`unseen_gain`). For changes that are all of one size, with a gain of that size
    added, this is McNemar's exact test; for losses of one size and few gains of another it is Poisson's. With many
    units it is Student's t, less extreme where gains are rare and large. p rises with every difference, so that many
    clear losses stay a regression whatever a few gains do.

    The interval holds the shifts of every sample that are not rejected; theta is its upper half and the standard errors
    that beta takes. Where every sample changed by the same, the
    answer is that of `paired_t`.

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
    high = min(high, 1e-12 * difference) if rejects else max(high, 0.0)  # rounding never parts it from the decision
    limits = Interval(high, (-upper_limit(-units, weights, level), high))
    changed = int(np.count_nonzero(units))
    rough = f"{changed:,} changes: under {ENOUGH} the error rates are rough where gains are rarer and larger than losses"
    reasons = (rough,) if rejects and changed < ENOUGH else ()
    result = unit_result(difference, normal_cdf(-score), difference - high, error, n, limits, alpha, beta, reasons)
    return replace(result, theta=high - difference - quantile(beta) * error)


def drop_score(totals: Floats, sizes: Floats, drop: float = 0.0, *, gain: float | None = None) -> Floats:
    """z of the evidence that the mean of samples is below `drop` points, from totals of shape (..., G); p is Phi(-z).

    `sizes`, of shape (G,), are the samples in each unit. The `gain` (points) that is added is by default `unseen_gain`.

    >>> d = np.repeat([-100.0, 0.0, 100.0], [12, 80, 4])
    >>> round(normal_cdf(-drop_score(d, np.ones(96))), 3), round(normal_cdf(-drop_score(-d, np.ones(96))), 3)
    (0.027, 0.989)
    """
    added = (unseen_gain(totals) if gain is None else np.full(totals.shape[:-1], gain)) - drop * float(np.mean(sizes))
    return weighted_score(np.concatenate([totals - drop * sizes, added[..., None]], axis=-1))


def unseen_gain(totals: Floats) -> Floats:
    """The gain that `drop_score` adds to totals of shape (..., G): what may come once more, though none showed it.

    It is little where changes are symmetric.

    >>> float(unseen_gain(np.array([-2.0, -2.0, 0.0]))), float(unseen_gain(np.array([-1.0, -1.0, 0.0, 19.0])))
    (1.2, 19.0)
    """
    return gain_of(*change_scales(totals))


def gain_of(typical: Floats, tail: Floats, largest: Floats) -> Floats:
    """Three fifths of a typical change, and five quarters of what the skewness rests on, but at most the largest one.

    >>> float(gain_of(np.array(2.0), np.array(1.0), np.array(9.0)))
    2.45
    """
    return np.minimum(TYPICAL_SHARE * typical + TAIL_SHARE * tail, largest)


def change_scales(totals: Floats) -> tuple[Floats, Floats, Floats]:
    """Sizes of changes, from totals of shape (..., G): the typical one, that which the skewness rests on, the largest.

    >>> tuple(map(float, change_scales(np.array([-1.0, -1.0, 0.0, 4.0]))))
    (3.0, 3.4444444444444446, 4.0)
    """
    largest = np.abs(totals).max(axis=-1)
    x = totals / np.where(largest > 0.0, largest, 1.0)[..., None]  # so that no power underflows
    square = x * x
    typical, tail = scales_of_sums(np.abs(x).sum(axis=-1), square.sum(axis=-1), np.sum(square * x, axis=-1))
    return largest * typical, largest * tail, largest


def scales_of_sums(absolute: Floats, squares: Floats, cubes: Floats) -> tuple[Floats, Floats]:
    """The typical change, sum(d^2) / sum(|d|), and what the skewness rests on, sum(d^3) / sum(d^2) where above 0."""
    typical: Floats = squares / np.where(absolute > 0.0, absolute, 1.0)
    tail: Floats = np.maximum(cubes, 0.0) / np.where(squares > 0.0, squares, 1.0)
    return typical, tail


def weighted_score(terms: Floats) -> Floats:
    """z of the chance that a sum of `terms`, of shape (..., m), with exponential weights is at least 0: Phi(-z).

    Barndorff-Nielsen's form of the saddlepoint approximation: within 3% of the probability for five terms or more.

    References
    ----------
    Lugannani and Rice 1980, Adv. Appl. Prob. 12; Barndorff-Nielsen 1986, Biometrika 73.

    >>> weighted_score(np.array([[-1.0, -2.0], [1.0, 2.0], [-3.0, 1.0]])).round(3).tolist()
    [inf, -inf, 0.666]
    """
    largest = np.abs(terms).max(axis=-1)
    x = terms / np.where(largest > 0.0, largest, 1.0)[..., None]  # first, so that no square underflows
    x = x / np.sqrt(np.maximum(np.sum(x * x, axis=-1), 1e-300))[..., None]
    x[np.abs(x) < 1e-150] = 0.0  # beside the others they are none, and their inverse overflows
    high, low = x.max(axis=-1), x.min(axis=-1)
    two_sided = (high > 0.0) & (low < 0.0)
    score = np.where(high > 0.0, -math.inf, np.where(low < 0.0, math.inf, -math.inf))
    if two_sided.any():
        score[two_sided] = _score(x[two_sided], 1.0 / low[two_sided], 1.0 / high[two_sided])
    return score


def _score(x: Floats, low: Floats, high: Floats) -> Floats:
    """`weighted_score` of rows of unit length; the saddlepoint lies between `low` and `high`."""
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
    near = np.abs(root) < 1e-3  # where the mean is 0 only the skewness is left
    safe, wald = np.where(near, 1.0, root), np.where(near, 1.0, t * np.sqrt(variance))
    skewness = 2.0 * np.sum(square * tilted, axis=-1) / variance**1.5
    return np.where(near, root + skewness / 6.0, root + np.log(wald / safe) / safe)


def upper_limit(totals: Floats, sizes: Floats, level: float, *, gain: float | None = None) -> float:
    """The mean of a sample, points, at which `drop_score` comes to `level`; for the lower limit negate the totals.

    `gain` as there.

    >>> d = np.array([-3.0, -1.0, 0.5, -4.0, -2.0, -2.5, 0.0, -6.0])
    >>> limit = upper_limit(d, np.ones(8), 1.645)
    >>> round(limit, 3), round(float(drop_score(d, np.ones(8), limit)), 3)
    (-0.522, 1.645)
    """
    n, added = float(sizes.sum()), float(unseen_gain(totals)) if gain is None else gain
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
    return low if low == high else zero_between(excess, low, high, width=1e-12 * (1.0 + abs(mean)), share=1e-10)
