"""Concentration bounds for the mean of scores in [low, high], in closed form; standard library only.

They hold whatever the scores are: no distribution is assumed. `margin` is in the scores' own units, and a bound
is never wider than high - low, which always holds. All are about |mean - truth|.
"""

import math
from bisect import bisect_left

from accgate.stats.power import ceiling


def hoeffding_probability(
    n: int, margin: float, low: float = 0.0, high: float = 1.0, *, population: int | None = None
) -> float:
    """Bound the probability that the mean of `n` scores misses the truth by `margin`.

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
    left = _share_left(n, population)
    exponent = 2.0 * n * (margin / (high - low)) ** 2 / left if left else math.inf
    return min(1.0, 2.0 * math.exp(-exponent))


def hoeffding_margin(
    n: int, *, confidence: float, low: float = 0.0, high: float = 1.0, population: int | None = None
) -> float:
    """Distance from the truth that the mean of `n` scores stays under with this confidence.

    It is 0 for the whole population. The bound is that of `hoeffding_probability`, solved for the margin.

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
    """Scores whose mean is less than `margin` from the truth with this confidence; never more than the population.

    The bound is that of `hoeffding_probability`, solved for n.

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
    """log(2 / (1 - confidence)), which every bound here grows with.

    >>> round(_log_inverse_error(0.95), 4)
    3.6889
    """
    return math.log(2.0 / (1.0 - confidence))


def _share_left(n: int, population: int | None) -> float:
    """Factor on the variance bound for drawing without replacement: 1 at n = 1, 0 at n = N."""
    if population is None:
        return 1.0
    if n >= population:
        return 0.0
    return min(1.0 - (n - 1) / population, (1.0 - n / population) * (1.0 + 1.0 / n))
