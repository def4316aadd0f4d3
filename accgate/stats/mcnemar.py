"""Rejection, power and sample size of exact tests of paired 0/100 scores.

If m pairs changed, a test rejects from some least count of losses on. McNemar's exact test keeps alpha for every m; the
unconditional test (`unconditional.py`) rejects if the mid-p is at most a limit of its own.
"""

import math
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from accgate.stats import special
from accgate.stats.power import N_LIMIT, ceiling, one_sample_n, paired_binary_effect, paired_sd, quantile
from accgate.stats.search import halve, least_near
from accgate.stats.walk import Floats, Ints

LeastLosses = Callable[[Ints], Ints]  # for each count of changed pairs the least losses that reject; m + 1 for none

COUNTED = 2e4  # changed pairs up to which numbers are counted exactly
LOST_PAIRS = 200.0  # theta (points) times the pairs that discreteness costs an exact test at most
REACH = 10.0  # standard deviations of the count of changed pairs that are summed
BLOCK = 256  # counts of changed pairs whose least losses are computed together, once


def mcnemar_critical(discordant: npt.ArrayLike, alpha: float) -> Ints:
    """Return the least losses that reject, for each m in `discordant`.

    That is the least c with P(Bin(m, 1/2) >= c) <= alpha, or m + 1 if no count up to m reaches alpha.

    >>> mcnemar_critical([4, 5, 20], 0.05).tolist()
    [5, 5, 15]
    """
    return _least(np.asarray(discordant, dtype=np.int64), alpha, at_least)


def least_losses(discordant: npt.ArrayLike, n: int, limit: float) -> Ints:
    """Return the least losses that the unconditional test rejects, for each m.

    That is the least c whose mid-p, P(Bin(m, 1/2) > c) + P(= c) / 2, is at most the limit, or m + 1 if there is none.
    If more than half of the pairs changed, the p-value takes the place of the mid-p.

    >>> least_losses([4, 5, 20], 100, 0.05).tolist()
    [4, 5, 14]
    """
    m = np.asarray(discordant, dtype=np.int64)
    few = 2 * m <= n
    return _least(m, limit, mid_p) if few.all() else np.where(few, _least(m, limit, mid_p), _least(m, limit, at_least))


def mid_p(lost: npt.ArrayLike, discordant: npt.ArrayLike) -> Floats:
    """Return the mid-p value of `lost` losses among m changed pairs, elementwise.

    References
    ----------
    Lancaster 1961, JASA 56.

    >>> mid_p(4, 4).tolist()
    0.03125
    """
    k, m = np.asarray(lost, dtype=np.int64), np.asarray(discordant, dtype=np.int64)
    return 0.5 * (at_least(k, m) + at_least(k + 1, m))


def _least(m: Ints, limit: float, tail: Callable[[Ints, Ints], Floats]) -> Ints:
    """Find the least losses of each m whose tail is at most the limit.

    Blocks of answers are cached, because a search for theta needs the same m many times.
    """
    first, last = int(m.min()) // BLOCK, int(m.max()) // BLOCK
    if last - first > m.size:  # few and far apart
        return _least_searched(m, limit, tail)
    blocks = [_least_of_block(block, limit, tail) for block in range(first, last + 1)]
    return np.asarray(np.concatenate(blocks)[m - first * BLOCK])


@lru_cache(maxsize=2048)
def _least_of_block(block: int, limit: float, tail: Callable[[Ints, Ints], Floats]) -> Ints:
    return _least_searched(np.arange(block * BLOCK, (block + 1) * BLOCK), limit, tail)


def _least_searched(m: Ints, limit: float, tail: Callable[[Ints, Ints], Floats]) -> Ints:
    guess = np.ceil(m / 2 - quantile(limit) * np.sqrt(m) / 2).astype(np.int64)
    critical = np.clip(guess, 0, m + 1)
    while np.any(low := (critical <= m) & (tail(critical, m) > limit)):
        critical = critical + low
    while np.any(high := (critical > 0) & (tail(critical - 1, m) <= limit)):
        critical = critical - high
    return critical


def at_least(k: npt.NDArray[Any], m: Ints, share: float = 0.5) -> Floats:
    """Return P(Bin(m, share) >= k), elementwise."""
    tail = special.bdtrc(np.maximum(k - 1, 0).astype(float), m, share)
    return np.where(k <= 0, 1.0, np.where(k > m, 0.0, tail))


def log_choose(n: float | Floats, m: npt.NDArray[Any]) -> Floats:
    """Logarithm of n choose m, elementwise."""
    return special.gammaln(n + 1.0) - special.gammaln(m + 1.0) - special.gammaln(n - m + 1.0)


def log_binomial(m: npt.NDArray[Any], n: int, q: float) -> Floats:
    """Logarithm of P(Bin(n, q) = m), in the shape of m."""
    return log_choose(n, m) + special.xlogy(m, q) + special.xlog1py(n - m, -q)


def changed_pairs(n: int, q: float) -> tuple[Ints, Floats]:
    """Return the likely numbers of changed pairs, with log probabilities.

    The number is Binomial(n, q).
    """
    spread = REACH * (math.sqrt(n * q * (1.0 - q)) + 1.0)
    m = np.arange(max(0, math.floor(n * q - spread)), min(n, math.ceil(n * q + spread)) + 1)
    return m, log_binomial(m, n, q)


def paired_power(n: int, theta: float, *, discordance: float, least_losses: LeastLosses) -> float:
    """Return the exact power of a test of n pairs.

    The true drop is `theta` points. The number of changed pairs is Binomial(n, q), and each of them is a loss with
    probability (1 + theta / (100 q)) / 2. The `discordance` q is raised to theta / 100 if it is lower, since a drop of
    theta changes at least that share of the pairs.

    >>> round(paired_power(1629, 2.0, discordance=0.10, least_losses=lambda m: mcnemar_critical(m, 0.05)), 4)
    0.8001
    """
    drop = theta / 100.0
    q = min(max(discordance, drop), 1.0)
    m, log_pmf = changed_pairs(n, q)
    loss_share = min(0.5 * (1.0 + drop / q), 1.0) if q else 0.5
    return float(np.sum(np.exp(log_pmf) * at_least(least_losses(m), m, loss_share)))


def paired_theta(n: int, *, discordance: float, alpha: float, beta: float, least_losses: LeastLosses) -> float | None:
    """Find the smallest drop (points) that a test of n pairs detects.

    The test detects it with probability 1 - beta. The power is that of `paired_power`. The answer is None if not even a
    drop of 100 points is detected. If more than 20,000 pairs are expected to change, it is the normal approximation for
    n less the pairs that discreteness costs.

    >>> rates = {"alpha": 0.05, "beta": 0.2, "least_losses": lambda m: mcnemar_critical(m, 0.05)}
    >>> round(paired_theta(1319, discordance=0.0, **rates), 3)
    0.509
    """

    def excess(theta: float) -> float:
        return paired_power(n, theta, discordance=discordance, least_losses=least_losses) - (1.0 - beta)

    if n < 1:
        return None
    theta = paired_binary_effect(discordance, n, alpha=alpha, beta=beta)
    if n * discordance > COUNTED:
        return paired_binary_effect(discordance, n - LOST_PAIRS / theta, alpha=alpha, beta=beta)
    low, high = 0.0, min(theta, 100.0)
    while excess(high) < 0.0:
        if high >= 100.0:
            return None
        low, high = high, min(1.3 * high, 100.0)
    low = low or 0.5 * high
    while excess(low) > 0.0:
        low, high = 0.5 * low, low
    return halve(lambda drop: excess(drop) >= 0.0, low, high, share=1e-7)[1]


def paired_n(theta: float, *, discordance: float, alpha: float, beta: float, least_losses: LeastLosses) -> int:
    """Find the pairs that a test needs to detect a drop of `theta` points.

    The test detects it with probability 1 - beta. If more than 20,000 pairs are expected to change, it is the normal
    approximation plus the pairs that discreteness costs.

    >>> paired_n(2.0, discordance=0.1, alpha=0.05, beta=0.2, least_losses=lambda m: mcnemar_critical(m, 0.05))
    1629
    """

    def reaches(n: int) -> bool:
        return paired_power(n, theta, discordance=discordance, least_losses=least_losses) >= 1.0 - beta

    normal = one_sample_n(theta, sd=paired_sd(discordance, theta), alpha=alpha, beta=beta)
    low, high = max(1, math.floor(0.8 * normal)), normal + ceiling(LOST_PAIRS / theta)
    if high > N_LIMIT or normal * max(discordance, theta / 100.0) > COUNTED:
        return high
    return least_near(reaches, low, high)


def mcnemar_power(n: int, theta: float, *, discordance: float, alpha: float) -> float:
    """Return `paired_power` of McNemar's exact test.

    >>> round(mcnemar_power(1629, 2.0, discordance=0.10, alpha=0.05), 4)
    0.8001
    """
    return paired_power(n, theta, discordance=discordance, least_losses=lambda m: mcnemar_critical(m, alpha))


@lru_cache(maxsize=1024)
def mcnemar_theta(n: int, *, discordance: float, alpha: float, beta: float) -> float | None:
    """Return `paired_theta` of McNemar's exact test.

    >>> round(mcnemar_theta(1319, discordance=0.05, alpha=0.05, beta=0.2), 2)
    1.59
    """
    least = partial(mcnemar_critical, alpha=alpha)
    return paired_theta(n, discordance=discordance, alpha=alpha, beta=beta, least_losses=least)


def mcnemar_n(theta: float, *, discordance: float, alpha: float, beta: float) -> int:
    """Return `paired_n` of McNemar's exact test.

    >>> mcnemar_n(2.0, discordance=0.10, alpha=0.05, beta=0.2)
    1629
    """
    least = partial(mcnemar_critical, alpha=alpha)
    return paired_n(theta, discordance=discordance, alpha=alpha, beta=beta, least_losses=least)
