"""Sample size, minimum detectable effect, and the exact power of McNemar's test."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy.special import bdtrc, gammaln, ndtri, xlog1py, xlogy

Floats = npt.NDArray[np.float64]
N_LIMIT = 10**9  # no dataset is larger; a plan past it is answered with "not reachable"


def quantile_sum(alpha: float, beta: float) -> float:
    """z_{1-alpha} + z_{1-beta}, the standard errors a drop must span to be seen.

    >>> round(quantile_sum(0.05, 0.2), 4)
    2.4865
    """
    return float(-ndtri(alpha) - ndtri(beta))


def detectable_effect(sd: float, n: float, *, alpha: float, beta: float) -> float:
    """Smallest drop (points) seen with probability 1 - beta by a one-sample z test at level alpha.

    `sd` is the standard deviation of one observation in points, `n` their number.

    >>> round(detectable_effect(50.0, 1319 / 2, alpha=0.05, beta=0.2), 4)  # two samples of 1,319 each
    4.8411
    """
    return quantile_sum(alpha, beta) * sd / math.sqrt(n)


def paired_binary_effect(discordance: float, n: int, *, alpha: float, beta: float) -> float:
    """Smallest drop (points) that paired 0/100 scores show at this share of changed samples.

    Solves theta = k * 100 * sqrt(max(q, theta / 100) / n) with k the sum of quantiles: a drop of theta needs
    a discordance of at least theta / 100, so no flips on few samples prove little.

    >>> round(paired_binary_effect(0.0, 1319, alpha=0.05, beta=0.2), 3)
    0.469
    """
    k = quantile_sum(alpha, beta)
    return max(100.0 * k * math.sqrt(discordance / n), 100.0 * k * k / n)


def two_sample_n(
    theta: float, *, sigma: float, alpha: float, beta: float, reference_n: int | None = None
) -> int | None:
    """Candidate samples an unpaired z test needs to see a drop of `theta` points.

    Equal sizes by default; with `reference_n` the reference's size is fixed, and None says that no candidate
    is large enough because the reference alone is too small.

    >>> two_sample_n(2.0, sigma=50.0, alpha=0.05, beta=0.2)
    7729
    >>> two_sample_n(2.0, sigma=50.0, alpha=0.05, beta=0.2, reference_n=1319) is None
    True
    """
    ratio = (quantile_sum(alpha, beta) * sigma / theta) ** 2
    if reference_n is None:
        return max(1, _ceil(2.0 * ratio))
    room = 1.0 - ratio / reference_n
    if room <= 0.0 or ratio / room > N_LIMIT:
        return None
    return max(1, _ceil(ratio / room))


def one_sample_n(theta: float, *, sd: float, alpha: float, beta: float) -> int:
    """Samples at which a mean with standard deviation `sd` (points) shows a drop of `theta` points.

    Serves the test against an absolute target (sd = sigma) and the paired t test (sd of the differences).

    >>> one_sample_n(2.0, sd=50.0, alpha=0.05, beta=0.2)
    3865
    """
    return max(1, _ceil((quantile_sum(alpha, beta) * sd / theta) ** 2))


def mcnemar_critical(discordant: npt.ArrayLike, alpha: float) -> npt.NDArray[np.int64]:
    """Least count of losses c with P(Bin(m, 1/2) >= c) <= alpha, for each m in `discordant`.

    Where no count up to m reaches alpha the answer is m + 1.

    >>> mcnemar_critical([4, 5, 20], 0.05).tolist()
    [5, 5, 15]
    """
    m = np.asarray(discordant, dtype=np.int64)
    guess = np.ceil(m / 2 - ndtri(alpha) * np.sqrt(m) / 2).astype(np.int64)
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
    """Pairs the exact McNemar test needs to see a drop of `theta` points with power 1 - beta.

    Never less than the n at which `paired_binary_effect` reaches theta, so that a run at the planned n and
    discordance is not called inconclusive.

    >>> mcnemar_n(2.0, discordance=0.10, alpha=0.05, beta=0.2)
    1629
    """
    q = max(discordance, theta / 100.0)
    low = one_sample_n(theta, sd=100.0 * math.sqrt(q), alpha=alpha, beta=beta)
    if low > N_LIMIT:
        return low
    high = low
    while mcnemar_power(high, theta, discordance=q, alpha=alpha) < 1.0 - beta:
        high = math.ceil(high * 1.1) + 1
    while low < high:
        middle = (low + high) // 2
        if mcnemar_power(middle, theta, discordance=q, alpha=alpha) >= 1.0 - beta:
            high = middle
        else:
            low = middle + 1
    return low


def _ceil(value: float) -> int:
    """Ceiling that forgives the last bits of a float product."""
    return math.ceil(value * (1.0 - 1e-12))
