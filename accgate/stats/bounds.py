"""Concentration bounds for the mean of scores in [low, high], in closed form; standard library only.

They hold whatever the scores are: no distribution is assumed. `margin` is in the scores' own units, and a bound
is never wider than high - low, which always holds. Two-sided is about |mean - truth|, one-sided about one direction.
"""

from __future__ import annotations

import math
from bisect import bisect_left

from accgate.stats.power import ceiling


def hoeffding_probability(n: int, margin: float, low: float = 0.0, high: float = 1.0, two_sided: bool = True) -> float:
    """Upper bound on the probability that the mean of `n` scores is `margin` or more away from the truth.

    The bound is 2 exp(-2 n t^2 / (high - low)^2), without the 2 one-sided; 1 minus it is the confidence.

    Parameters
    ----------
    n : int
        Independent scores.
    margin : float
        Distance t of the mean from the truth, in the scores' units.
    low, high : float
        Range of one score.
    two_sided : bool
        Whether the mean may be off on either side.

    References
    ----------
    Hoeffding 1963, JASA 58, theorem 2.

    Examples
    --------
    >>> round(1.0 - hoeffding_probability(380, 0.1), 6)
    0.998999
    """
    return _probability(2.0 * n * (margin / (high - low)) ** 2, two_sided)


def hoeffding_margin(
    n: int, *, confidence: float, low: float = 0.0, high: float = 1.0, two_sided: bool = True
) -> float:
    """Distance from the truth that the mean of `n` independent scores stays under with this confidence.

    Hoeffding 1963, theorem 2, solved for the margin.

    >>> round(hoeffding_margin(18445, confidence=0.95), 6)
    0.01
    """
    return (high - low) * min(1.0, math.sqrt(_log_inverse_error(confidence, two_sided) / (2.0 * n)))


def hoeffding_n(
    margin: float, *, confidence: float, low: float = 0.0, high: float = 1.0, two_sided: bool = True
) -> int:
    """Independent scores whose mean is less than `margin` from the truth with this confidence.

    Hoeffding 1963, theorem 2, solved for n.

    >>> [hoeffding_n(t, confidence=0.95) for t in (0.05, 0.01, 0.001)]
    [738, 18445, 1844440]
    """
    return max(1, ceiling(_log_inverse_error(confidence, two_sided) * ((high - low) / margin) ** 2 / 2.0))


def serfling_probability(
    n: int, margin: float, *, population: int, low: float = 0.0, high: float = 1.0, two_sided: bool = True
) -> float:
    """Upper bound on the probability that `n` of a finite population have a mean `margin` or more away from its mean.

    Hoeffding's bound with n over 1 - (n - 1) / N, or past half the population over (1 - n / N) (1 + 1 / n).

    Parameters
    ----------
    n : int
        Scores drawn at random without replacement, at most the population.
    margin : float
        Distance of the mean from the population's mean, in the scores' units, above 0.
    population : int
        Size N of the population, such as the rows of a dataset.
    low, high : float
        Range of one score.
    two_sided : bool
        Whether the mean may be off on either side.

    References
    ----------
    Serfling 1974, Ann. Statist. 2; Bardenet and Maillard 2015, Bernoulli 21, theorem 2.4.

    Examples
    --------
    >>> round(serfling_probability(380, 0.1, population=1319), 6)
    4.7e-05
    """
    left = _share_left(n, population)
    return _probability(2.0 * n * (margin / (high - low)) ** 2 / left if left else math.inf, two_sided)


def serfling_margin(
    n: int, *, population: int, confidence: float, low: float = 0.0, high: float = 1.0, two_sided: bool = True
) -> float:
    """Distance from the population's mean that the mean of `n` of its scores stays under with this confidence.

    The scores are drawn without replacement; with n = N the margin is 0. Sources: `serfling_probability`.

    >>> round(serfling_margin(380, population=1319, confidence=0.95), 4)
    0.0588
    """
    variance = _log_inverse_error(confidence, two_sided) * _share_left(n, population) / (2.0 * n)
    return (high - low) * min(1.0, math.sqrt(variance))


def serfling_n(
    margin: float, *, population: int, confidence: float, low: float = 0.0, high: float = 1.0, two_sided: bool = True
) -> int:
    """Scores of a finite population whose mean is less than `margin` from its mean; never more than it has.

    The scores are drawn without replacement. Sources: `serfling_probability`.

    >>> serfling_n(0.01, population=10_000, confidence=0.95), serfling_n(0.05, population=10_000, confidence=0.95)
    (6485, 688)
    """

    def is_enough(n: int) -> bool:
        bound = serfling_probability(n, margin, population=population, low=low, high=high, two_sided=two_sided)
        return bound <= (1.0 - confidence) * (1.0 + 1e-12)

    return 1 + bisect_left(range(1, population), True, key=is_enough)


def _log_inverse_error(confidence: float, two_sided: bool) -> float:
    """log(k / (1 - confidence)), with k the number of sides: what every bound here grows with.

    >>> round(_log_inverse_error(0.95, two_sided=True), 4)
    3.6889
    """
    return math.log((2.0 if two_sided else 1.0) / (1.0 - confidence))


def _probability(exponent: float, two_sided: bool) -> float:
    return min(1.0, (2.0 if two_sided else 1.0) * math.exp(-exponent))


def _share_left(n: int, population: int) -> float:
    """Factor on the variance bound for drawing without replacement: 1 at n = 1, 0 at n = N."""
    if n >= population:
        return 0.0
    return min(1.0 - (n - 1) / population, (1.0 - n / population) * (1.0 + 1.0 / n))
