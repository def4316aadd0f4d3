"""Sample size and minimum detectable effect in closed form.

The module imports only the standard library, so that a plan starts fast. It also has concentration bounds, for a mean
of scores of any distribution.
"""

import math
from bisect import bisect_left
from statistics import NormalDist

from accgate.stats.names import Correction

# benchmarks/decisions.py prints the power of runs with these.
GSPRT_MAXIMUM = 1.43  # samples that a plan with `gsprt` has at most, times those of the exact fixed-n test
GSPRT_MORE = 6  # samples added to that, since few changed samples leave some of alpha unspent
GSPRT_LEAST = 1.4  # times the fixed-n test's samples; with fewer a run does not reach its power
E_PROCESS_MAXIMUM = 3.0  # the same as GSPRT_MAXIMUM for `e_process`, whose guarantee at any time costs samples
N_LIMIT = 10**9  # no dataset is larger; a plan past it is answered with "not reachable"


def share_of_alpha(alpha: float, correction: Correction, checks: int, *, total_share: float = 1.0) -> float:
    """Return the alpha of one check even if no other is rejected.

    Samples are planned for this alpha, and checks that stop early are decided at it. `total_share` is the share of
    alpha that all checks have together; the overall checks have the rest.

    >>> share_of_alpha(0.05, "holm", 5), share_of_alpha(0.05, "none", 5)
    (0.01, 0.05)
    >>> round(share_of_alpha(0.05, "holm", 4, total_share=0.8), 4)
    0.01
    """
    return alpha if correction == "none" else alpha * total_share / checks


def quantile(probability: float) -> float:
    """Return the standard normal quantile, z_p.

    >>> round(quantile(0.95), 4)
    1.6449
    """
    return NormalDist().inv_cdf(probability)


def normal_cdf(z: float) -> float:
    """Return the probability of a standard normal value up to z.

    The result is precise far below 0, too.

    >>> round(normal_cdf(-1.6449), 4), f"{normal_cdf(-20.0):.4g}"
    (0.05, '2.754e-89')
    """
    return 0.5 * math.erfc(-z / math.sqrt(2.0))


def quantile_sum(alpha: float, beta: float) -> float:
    """Return z_{1-alpha} + z_{1-beta}, the standard errors that a detectable drop spans.

    >>> round(quantile_sum(0.05, 0.2), 4)
    2.4865
    """
    return -quantile(alpha) - quantile(beta)


def error_of_mean(sd: float, n: float, reference_n: float | None = None) -> float:
    """Return the standard error of a mean of n observations.

    `sd` is the standard deviation of one observation. With `reference_n` it is the standard error of the difference
    to another mean, of that many observations.

    >>> error_of_mean(50.0, 100), round(error_of_mean(50.0, 400, 100), 2)
    (5.0, 5.59)
    """
    return sd * math.sqrt(1.0 / n + (0.0 if reference_n is None else 1.0 / reference_n))


def detectable_effect(sd: float, n: float, *, alpha: float, beta: float) -> float:
    """Return the smallest drop (points) that a one-sample z test detects.

    The test has level alpha and power 1 - beta. `sd` is the standard deviation of one observation in points, and `n`
    the number of observations.

    >>> round(detectable_effect(50.0, 1319 / 2, alpha=0.05, beta=0.2), 4)  # two samples of 1,319 each
    4.8411
    """
    return quantile_sum(alpha, beta) * error_of_mean(sd, n)


def paired_sd(discordance: float, theta: float = 0.0) -> float:
    """Return the standard deviation (points) of paired 0/100 differences.

    A share `discordance` of the scores changed, raised to theta / 100, the least share that a drop of `theta` points
    changes. The square of the mean difference, which is small beside it, is not subtracted.

    >>> round(paired_sd(0.05), 2), paired_sd(0.0, theta=4.0)
    (22.36, 20.0)
    """
    return 100.0 * math.sqrt(max(discordance, theta / 100.0))


def paired_binary_effect(discordance: float, n: float, *, alpha: float, beta: float, margin: float = 0.0) -> float:
    """Return the smallest drop (points) that a paired test of 0/100 scores detects.

    It solves theta = k * 100 * sqrt(max(q, (margin + theta) / 100) / n), where q is the `discordance` and k the sum of
    quantiles. A drop changes at least as large a share of the samples, so few samples without a flip prove little. If a
    drop of `margin` points is allowed, theta is what a drop must exceed it by.

    >>> round(paired_binary_effect(0.0, 1319, alpha=0.05, beta=0.2), 3)
    0.469
    >>> round(paired_binary_effect(0.05, 833, margin=0.5, alpha=0.05, beta=0.2), 2)
    1.93
    """
    k = quantile_sum(alpha, beta)
    unseen = 100.0 * k * k / n
    least = 0.5 * (unseen + math.sqrt(unseen * unseen + 4.0 * unseen * margin))
    return max(100.0 * k * math.sqrt(discordance / n), least)


def two_sample_n(
    theta: float, *, sigma: float, alpha: float, beta: float, reference_n: int | None = None
) -> int | None:
    """Return the candidate samples that an unpaired z test needs to detect `theta` points.

    By default the reference has as many. With `reference_n` its size is fixed, and the answer is None if no candidate
    is large enough, because the reference alone is too small.

    >>> two_sample_n(2.0, sigma=50.0, alpha=0.05, beta=0.2)
    7729
    >>> two_sample_n(2.0, sigma=50.0, alpha=0.05, beta=0.2, reference_n=1319) is None
    True
    """
    ratio = _square(quantile_sum(alpha, beta) * sigma / theta)
    if reference_n is None:
        return max(1, ceiling(2.0 * ratio))
    room = 1.0 - ratio / reference_n
    if room <= 0.0 or ratio / room > N_LIMIT:
        return None
    return max(1, ceiling(ratio / room))


def one_sample_n(theta: float, *, sd: float, alpha: float, beta: float) -> int:
    """Return the samples at which a z test of a mean detects `theta`.

    `sd` is sigma for the test against an absolute target, and that of the differences for a paired t test.

    >>> one_sample_n(2.0, sd=50.0, alpha=0.05, beta=0.2)
    3865
    """
    return max(1, ceiling(_square(quantile_sum(alpha, beta) * sd / theta)))


def _square(value: float) -> float:
    return value * value  # which overflows to infinity, where ** raises


def ceiling(value: float) -> int:
    """Round up, but not for the last bits of a float product."""
    return math.ceil(min(value, 1e18) * (1.0 - 1e-12))


def hoeffding_probability(
    n: int, margin: float, low: float = 0.0, high: float = 1.0, *, population: int | None = None
) -> float:
    """Bound the probability that the mean of `n` scores misses the truth by `margin`.

    It holds for scores in [low, high] of any distribution, and is never above 1. `margin` is in the scores' own units.

    The bound is 2 exp(-2 n t^2 / (high - low)^2); 1 minus it is the confidence. Of a finite
    population n stands over 1 - (n - 1) / N, or past half of it over (1 - n / N) (1 + 1 / n).

    Parameters
    ----------
    n : int
        Independent scores, or scores drawn at random from a finite population without replacement.
    margin : float
        Distance t of the mean from the truth, in the scores' units, above 0.
    low, high : float
        Range of one score.
    population : int, optional
        Size N of the population, such as the rows of a dataset, whose mean is then the truth; endless by default.

    References
    ----------
    Hoeffding 1963, JASA 58, theorem 2; Serfling 1974, Ann. Statist. 2; Bardenet and Maillard 2015, Bernoulli 21,
    theorem 2.4.

    Examples
    --------
    >>> round(1.0 - hoeffding_probability(380, 0.1), 6)
    0.998999
    >>> round(hoeffding_probability(380, 0.1, population=1319), 6)
    4.7e-05
    """
    factor = _share_left(n, population)
    exponent = 2.0 * n * (margin / (high - low)) ** 2 / factor if factor else math.inf
    return min(1.0, 2.0 * math.exp(-exponent))


def hoeffding_margin(
    n: int, *, confidence: float, low: float = 0.0, high: float = 1.0, population: int | None = None
) -> float:
    """Return the distance from the truth within which a mean lies.

    The mean is that of `n` scores, at this confidence. It solves the bound of `hoeffding_probability` for the margin,
    and is 0 for the whole population.

    >>> round(hoeffding_margin(18445, confidence=0.95), 6)
    0.01
    >>> round(hoeffding_margin(380, confidence=0.95, population=1319), 4)
    0.0588
    """
    variance = _log_inverse_error(confidence) * _share_left(n, population) / (2.0 * n)
    return (high - low) * min(1.0, math.sqrt(variance))


def hoeffding_n(
    margin: float, *, confidence: float, low: float = 0.0, high: float = 1.0, population: int | None = None
) -> int:
    """Return how many scores have a mean within `margin` of the truth.

    The probability of that is at least the confidence. It solves the bound of `hoeffding_probability` for n, and is
    never more than the population.

    >>> [hoeffding_n(t, confidence=0.95) for t in (0.05, 0.01, 0.001)]
    [738, 18445, 1844440]
    >>> hoeffding_n(0.01, confidence=0.95, population=10_000)
    6485
    """
    if population is None:
        return max(1, ceiling(_log_inverse_error(confidence) * ((high - low) / margin) ** 2 / 2.0))

    def is_enough(n: int) -> bool:
        bound = hoeffding_probability(n, margin, low, high, population=population)
        return bound <= (1.0 - confidence) * (1.0 + 1e-12)

    return 1 + bisect_left(range(1, population), True, key=is_enough)


def _log_inverse_error(confidence: float) -> float:
    """Return log(2 / (1 - confidence)), with which every bound here grows.

    >>> round(_log_inverse_error(0.95), 4)
    3.6889
    """
    return math.log(2.0 / (1.0 - confidence))


def _share_left(n: int, population: int | None) -> float:
    """Return the factor on the variance bound for drawing without replacement.

    The factor falls from 1 at n = 1 to 0 at n = N.
    """
    if population is None:
        return 1.0
    if n >= population:
        return 0.0
    return min(1.0 - (n - 1) / population, (1.0 - n / population) * (1.0 + 1.0 / n))
