"""How noisy a task is, from one or more runs of one model."""

import math
from dataclasses import dataclass

import numpy as np

from accgate.stats import special
from accgate.stats.power import quantile
from accgate.stats.walk import Floats

KURTOSIS_FROM = 5  # scores; Bonett's interval divides by sqrt(n - 4)


@dataclass(frozen=True)
class Estimate:
    """An estimate with its two-sided confidence interval, None for figures that do not exist."""

    value: float | None
    low: float | None
    high: float | None
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True)
class VarianceParts:
    """The variance of repeated scores by its source.

    The errors show what more repeats would gain. `between` is the variance (points^2) of the questions' expected
    scores, `within` that of repeated answers to one question. `error_now` is the standard error of the mean (points)
    with these repeats, `error_2x` and `error_4x` with two and four times as many. `error_limit` is that with endlessly
    many, which only more questions can lower.
    """

    between: float | None
    within: float
    error_now: float | None
    error_2x: float | None
    error_4x: float | None
    error_limit: float | None
    reasons: tuple[str, ...] = ()


def clopper_pearson(count: float, n: float, *, confidence: float) -> tuple[float, float]:
    """Return the exact two-sided interval of a share, from `count` of `n`.

    References
    ----------
    Clopper and Pearson 1934, Biometrika 26.

    Examples
    --------
    >>> low, high = clopper_pearson(0, 10, confidence=0.95)
    >>> low, round(high, 4)
    (0.0, 0.3085)
    """
    error = 0.5 * (1.0 - confidence)
    low = float(special.betaincinv(count, n - count + 1.0, error)) if count > 0 else 0.0
    high = float(special.betaincinv(count + 1.0, n - count, 1.0 - error)) if count < n else 1.0
    return low, high


def wilson(count: float, n: float, alpha: float) -> tuple[float, float]:
    """Return Wilson's limits of a share, from `count` of `n`.

    Each limit has the error alpha.

    References
    ----------
    Wilson 1927, JASA 22.

    >>> [round(limit, 4) for limit in wilson(4, 40, 0.025)]
    [0.0396, 0.2305]
    """
    share, z2 = count / n, quantile(alpha) ** 2
    middle, half = share + z2 / (2.0 * n), math.sqrt(z2 * (share * (1.0 - share) + z2 / (4.0 * n)) / n)
    return (middle - half) / (1.0 + z2 / n), (middle + half) / (1.0 + z2 / n)


def estimate_sigma(scores: Floats, *, confidence: float = 0.95) -> Estimate:
    """Estimate the standard deviation of one score, in points.

    Parameters
    ----------
    scores : array of shape (n,)
        Scores of one run, points.
    confidence : float
        Of the two-sided interval.

    Notes
    -----
    Where every score is 0 or 100 the value is 100 sqrt(p (1 - p)) at the share right p, and the limits are its least
    and greatest over the exact interval of p, so 50 where that holds 1/2. Other scores have Bonett's interval, which
    takes the tails into account: chi-square limits hold for normal scores only. Fewer than 5 scores say nothing of
    their tails, and have the chi-square limits.

    References
    ----------
    Bonett 2006, Computational Statistics and Data Analysis 50; Clopper and Pearson 1934, Biometrika 26.

    Examples
    --------
    >>> sigma = estimate_sigma(np.repeat([0.0, 100.0], [800, 519]))
    >>> round(sigma.value, 2), round(sigma.low, 2), round(sigma.high, 2)
    (48.85, 48.2, 49.36)
    """
    n = len(scores)
    if np.all((scores == 0.0) | (scores == 100.0)):
        return _binary_sigma(int(np.count_nonzero(scores)), n, confidence)
    if n == 1:
        return Estimate(None, None, None, ("one score has no standard deviation",))
    if np.ptp(scores) == 0.0:
        return Estimate(0.0, 0.0, None, (f"every score is {scores[0]:g}: sigma may be larger",))
    low, high = _sigma_limits(scores, confidence)
    few = (f"{n} scores are few: the limits assume a normal distribution",) if n < KURTOSIS_FROM else ()
    return Estimate(float(np.std(scores, ddof=1)), low, high, few)


def _binary_sigma(right: int, n: int, confidence: float) -> Estimate:
    shares = clopper_pearson(right, n, confidence=confidence)
    ends = [100.0 * math.sqrt(p * (1.0 - p)) for p in shares]
    high = 50.0 if shares[0] <= 0.5 <= shares[1] else max(ends)
    if n == 1:
        return Estimate(None, min(ends), high, ("one score has no standard deviation",))
    reasons = () if 0 < right < n else (f"every score is {100 * right // n}",)
    return Estimate(100.0 * math.sqrt(right * (n - right)) / n, min(ends), high, reasons)


def _sigma_limits(scores: Floats, confidence: float) -> tuple[float, float]:
    n = len(scores)
    upper = 0.5 + 0.5 * confidence
    z = quantile(upper)
    squares = float(np.sum((scores - scores.mean()) ** 2))
    if n < max(KURTOSIS_FROM, z + 1.0):
        low, high = (math.sqrt(squares / float(special.chdtri(n - 1, p))) for p in (1.0 - upper, upper))
        return low, high
    cut = int(n / (2.0 * math.sqrt(n - 4.0)))
    trimmed_mean = np.sort(scores)[cut : n - cut].mean()
    kurtosis = n * float(np.sum((scores - trimmed_mean) ** 4)) / squares**2
    c = n / (n - z)
    error = c * math.sqrt(max(kurtosis - (n - 3.0) / n, 0.0) / (n - 1.0))
    middle = math.sqrt(c * squares / (n - 1.0))
    return middle * math.exp(-0.5 * z * error), middle * math.exp(0.5 * z * error)


def estimate_discordance(a: Floats, b: Floats, *, confidence: float = 0.95) -> Estimate:
    """Estimate the share of samples whose score differs between two runs.

    The estimate has an exact interval.

    Parameters
    ----------
    a, b : arrays of shape (n,)
        Scores of two runs on the same samples, in the same order.
    confidence : float
        Of the two-sided interval.

    Examples
    --------
    >>> q = estimate_discordance(np.zeros(100), np.repeat([0.0, 100.0], [97, 3]))
    >>> q.value, round(q.low, 4), round(q.high, 4)
    (0.03, 0.0062, 0.0852)
    """
    n = len(a)
    count = int(np.count_nonzero(a != b))
    return Estimate(count / n, *clopper_pearson(count, n, confidence=confidence))


def discordance_of_repeats(values: Floats, *, confidence: float = 0.95) -> Estimate:
    """Estimate the share of samples whose score differs between two repeats of one run.

    Parameters
    ----------
    values : array of shape (n, k)
        Scores of n samples, each answered k times, at least twice.
    confidence : float
        Of the two-sided interval.

    Notes
    -----
    The mean over samples of the share of their pairs of repeats that differ. With two repeats the interval is that of
    `estimate_discordance`; more repeats say more of each sample, and the interval is the exact one at the number of
    samples that would be as accurate.

    References
    ----------
    Korn and Graubard 1998, Survey Methodology 24.

    Examples
    --------
    >>> discordance_of_repeats(np.array([[0.0, 0.0, 100.0, 0.0], [100.0, 100.0, 100.0, 100.0]])).value
    0.25
    """
    n, k = values.shape
    pairs = k * (k - 1) // 2
    differing = np.zeros(n)
    for lag in range(1, k):
        differing += np.count_nonzero(values[:, lag:] != values[:, :-lag], axis=1)
    shares = differing / pairs
    share = float(shares.mean())
    as_good_as = float(n)
    if n > 1 and 0.0 < share < 1.0:
        worst = share * (1.0 - share)  # the variance of a share that is 0 or 1: one pair a sample
        few = (quantile(0.5 + 0.5 * confidence) / float(special.stdtrit(n - 1, 0.5 + 0.5 * confidence))) ** 2
        as_good_as = n * max(1.0, few * worst / max(float(shares.var()), worst / pairs))
    return Estimate(share, *clopper_pearson(share * as_good_as, as_good_as, confidence=confidence))


def variance_parts(values: Floats) -> VarianceParts:
    """Separate the variance between questions from that of repeated answers to one.

    Parameters
    ----------
    values : array of shape (n, k)
        Scores in points of n questions, each answered k times, at least twice.

    Notes
    -----
    One-way random effects by the method of moments: the mean square within is `within`, and the mean square between
    less it, over k, is `between`, or 0 where that is negative. The mean's variance is (between + within / k) / n.

    References
    ----------
    Searle, Casella and McCulloch 1992, Variance Components, chapter 3; Miller 2024, arXiv 2411.00640, section 3.

    Examples
    --------
    >>> parts = variance_parts(np.array([[0.0, 100.0], [100.0, 100.0], [0.0, 0.0], [0.0, 0.0]]))
    >>> round(parts.between, 1), parts.within, round(parts.error_now, 2), round(parts.error_limit, 2)
    (1666.7, 1250.0, 23.94, 20.41)
    """
    n, k = values.shape
    within = float(values.var(axis=1, ddof=1).mean())
    if n == 1:
        return VarianceParts(None, within, None, None, None, None, ("one question has no variance between questions",))
    of_means = float(values.mean(axis=1).var(ddof=1))
    between = max(of_means - within / k, 0.0)
    reasons = () if of_means >= within / k else ("the questions differ no more than repeated answers do",)
    now, at_2x, at_4x, limit = (math.sqrt((between + within / (k * more)) / n) for more in (1, 2, 4, math.inf))
    return VarianceParts(between, within, now, at_2x, at_4x, limit, reasons)
