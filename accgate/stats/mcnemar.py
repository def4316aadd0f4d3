"""Planning for McNemar's test: critical counts, exact power, and the number of pairs."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy.special import bdtrc, gammaln, xlog1py, xlogy

from accgate.stats.power import N_LIMIT, one_sample_n, paired_sd, quantile

Floats = npt.NDArray[np.float64]


def mcnemar_critical(discordant: npt.ArrayLike, alpha: float) -> npt.NDArray[np.int64]:
    """Least count of losses c with P(Bin(m, 1/2) >= c) <= alpha, for each m in `discordant`.

    Where no count up to m reaches alpha the answer is m + 1.

    >>> mcnemar_critical([4, 5, 20], 0.05).tolist()
    [5, 5, 15]
    """
    m = np.asarray(discordant, dtype=np.int64)
    guess = np.ceil(m / 2 - quantile(alpha) * np.sqrt(m) / 2).astype(np.int64)
    critical = np.clip(guess, 0, m + 1)
    while np.any(low := (critical <= m) & (_at_least(critical, m) > alpha)):
        critical = critical + low
    while np.any(high := (critical > 0) & (_at_least(critical - 1, m) <= alpha)):
        critical = critical - high
    return critical


def _at_least(k: npt.NDArray[np.int64], m: npt.NDArray[np.int64]) -> Floats:
    """P(Bin(m, 1/2) >= k), elementwise, with k = 0 giving 1."""
    tail = bdtrc(np.maximum(k - 1, 0).astype(float), m, 0.5)
    return np.where(k <= 0, 1.0, np.where(k > m, 0.0, tail))


def mcnemar_power(n: int, theta: float, *, discordance: float, alpha: float) -> float:
    """Exact probability that the one-sided exact McNemar test rejects when the true drop is `theta` points.

    Sums over the number m of discordant pairs, Binomial(n, q), of which each is a loss with probability
    (1 + theta / (100 q)) / 2. `discordance` q is raised to theta / 100, the least that a drop of theta needs.

    >>> round(mcnemar_power(1629, 2.0, discordance=0.10, alpha=0.05), 4)
    0.8001
    """
    drop = theta / 100.0
    q = max(discordance, drop)
    spread = 10.0 * math.sqrt(n * q * (1.0 - q)) + 10.0
    m = np.arange(max(0, math.floor(n * q - spread)), min(n, math.ceil(n * q + spread)) + 1)
    log_pmf = gammaln(n + 1.0) - gammaln(m + 1.0) - gammaln(n - m + 1.0) + xlogy(m, q) + xlog1py(n - m, -q)
    loss_share = 0.5 * (1.0 + drop / q)
    critical = mcnemar_critical(m, alpha)
    rejects = np.where(
        critical > m, 0.0, bdtrc(np.maximum(critical - 1, 0).astype(float), np.maximum(m, 1), loss_share)
    )
    return float(np.sum(np.exp(log_pmf) * rejects))


def mcnemar_n(theta: float, *, discordance: float, alpha: float, beta: float) -> int:
    """Pairs that the exact McNemar test needs to detect a drop of `theta` points with power 1 - beta.

    Never less than the n at which `paired_binary_effect` reaches theta, so that a run at the planned n and
    discordance is not called inconclusive.

    >>> mcnemar_n(2.0, discordance=0.10, alpha=0.05, beta=0.2)
    1629
    """
    low = one_sample_n(theta, sd=paired_sd(discordance, theta), alpha=alpha, beta=beta)
    if low > N_LIMIT:
        return low
    high = low
    while mcnemar_power(high, theta, discordance=discordance, alpha=alpha) < 1.0 - beta:
        high = math.ceil(high * 1.1) + 1
    while low < high:
        middle = (low + high) // 2
        if mcnemar_power(middle, theta, discordance=discordance, alpha=alpha) >= 1.0 - beta:
            high = middle
        else:
            low = middle + 1
    return low
