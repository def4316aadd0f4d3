"""The exact unconditional test of paired 0/100 scores.

It rejects by the mid-p of McNemar's test, at a limit chosen so that the type I error is at most alpha.
"""

import math
from functools import lru_cache, partial

import numpy as np

from accgate.stats import special
from accgate.stats.mcnemar import at_least, least_losses, log_choose, mid_p, paired_n, paired_theta
from accgate.stats.names import MOST_PAIRS
from accgate.stats.paired import exact_result, mcnemar_p
from accgate.stats.result import TestResult
from accgate.stats.walk import Floats

STEP = 0.25  # between the discordances tried, in standard deviations of the count of changed pairs
REACH = 8.0  # of these standard deviations are summed; the probability beyond is under 1e-14
CLOSE = 1e-9  # rounding of a mid-p
TINY = 1e-200  # below, products of probabilities leave what a double holds


def unconditional_exact(lost: int, gained: int, n: int, *, alpha: float, beta: float) -> TestResult:
    """Test paired 0/100 scores one-sided, exactly and unconditionally.

    Outcomes are ordered by McNemar's mid-p, or by its p where more than half of the pairs changed. p is the largest
    probability under H0, over every share of pairs that may change, of one at most as large. McNemar's exact test keeps
    alpha for each count of changed pairs, and so stays well below it on average; this one keeps alpha for the test as a
    whole, and takes 5 to 16% fewer samples.

    Parameters
    ----------
    lost, gained : int
        Samples right in the reference and wrong in the candidate, and the reverse.
    n : int
        Pairs, at most 20,000.
    alpha, beta : float
        Type I and type II error rates.

    Notes
    -----
    For each count of changed pairs it rejects from a count of losses on. So under H0 a rejection is most likely where
    losses and gains are equally likely, and the discordance is the only nuisance parameter to search.

    References
    ----------
    Suissa and Shuster 1991, Biometrics 47 (the exact unconditional test of matched pairs); Lancaster 1961, JASA 56.

    Examples
    --------
    McNemar's exact p of these is 0.0577:

    >>> r = unconditional_exact(15, 7, 200, alpha=0.05, beta=0.2)
    >>> round(r.p_mid, 4), round(r.p_value, 4)
    (0.0466, 0.0467)
    """
    m = lost + gained
    own, limit = _order(lost, m, n), order_limit(n, alpha)
    p_value = _worst_size(own, n) if m else 1.0
    if p_value <= alpha:
        limit = max(limit, own)  # which lies between the limit and the next value that any outcome has
    theta = _theta(n, m / n, limit, alpha, beta)
    critical = int(least_losses(m, n, limit))
    return exact_result(lost, gained, n, alpha=alpha, p_value=p_value, critical=critical, theta=theta, limit=limit)


def unconditional_rejects(lost: int, gained: int, n: int, *, alpha: float) -> bool:
    """Tell whether `unconditional_exact` rejects, without its figures.

    >>> unconditional_rejects(15, 7, 200, alpha=0.05), unconditional_rejects(14, 7, 200, alpha=0.05)
    (True, False)
    """
    m = lost + gained
    own = _order(lost, m, n)
    return m > 0 and (own <= order_limit(n, alpha) or _worst_size(own, n) <= alpha)


def _order(lost: int, discordant: int, n: int) -> float:
    """Return the figure by which outcomes are ordered.

    It is a mid-p or p, raised a little to allow for rounding.
    """
    order = float(mid_p(lost, discordant)) if 2 * discordant <= n else mcnemar_p(lost, discordant)
    return order * (1.0 + CLOSE)


def unconditional_theta(n: int, *, discordance: float, alpha: float, beta: float) -> float | None:
    """Find the smallest drop (points) that the test detects.

    The test detects it with probability 1 - beta (see `paired_theta`).

    >>> round(unconditional_theta(1319, discordance=0.05, alpha=0.05, beta=0.2), 2)
    1.52
    """
    return _theta(n, discordance, order_limit(n, alpha), alpha, beta)


@lru_cache(maxsize=1024)
def _theta(n: int, discordance: float, limit: float, alpha: float, beta: float) -> float | None:
    least = partial(least_losses, n=n, limit=limit)
    return paired_theta(n, discordance=discordance, alpha=alpha, beta=beta, least_losses=least)


def unconditional_n(theta: float, *, discordance: float, alpha: float, beta: float) -> int:
    """Find the pairs that the test needs to detect `theta` points.

    The test detects such a drop with probability 1 - beta. Beyond `MOST_PAIRS` pairs the answer is approximate.

    >>> unconditional_n(2.0, discordance=0.05, alpha=0.05, beta=0.2)
    745
    """
    n = 0
    for _ in range(8):  # the limit hardly depends on n
        least = partial(least_losses, n=n, limit=order_limit(max(n, 100), alpha))
        before, n = n, paired_n(theta, discordance=discordance, alpha=alpha, beta=beta, least_losses=least)
        if n == before:
            break
    return max(n, before)  # the two may alternate for ever; the larger one is enough


@lru_cache(maxsize=512)
def order_limit(n: int, alpha: float) -> float:
    """Find the largest mid-p that may reject.

    With this limit the type I error of a test of `n` pairs is at most alpha, and short of it by a few parts in 100,000.

    >>> 0.0499 < order_limit(745, 0.05) <= 0.0501
    True
    """
    n, limit = min(n, MOST_PAIRS), alpha * (1.0 + CLOSE)
    while (size := _worst_size(limit, n)) > alpha:
        limit *= (1.0 - 1e-5) * alpha / size
    return limit


@lru_cache(maxsize=4096)
def _worst_size(limit: float, n: int) -> float:
    """Find the largest probability under H0 of a mid-p within the limit.

    The search is over all discordances.
    """
    if limit >= 0.5:
        return 1.0
    if limit < TINY:  # past the reach of floats: at each count of changed pairs, p is at most twice the mid-p
        return 2.0 * limit
    m = np.arange(n + 1)
    rejects, chosen = at_least(least_losses(m, n, limit), m), log_choose(n, m)
    # Even in the scale in which the count's standard deviation is the same for every discordance.
    angles = np.linspace(0.0, 0.5 * math.pi, max(16, math.ceil(math.pi * math.sqrt(n) / STEP)))
    worst = 0.0
    for _ in range(4):  # and finer around the largest
        sizes = [_size(math.sin(angle) ** 2, n, rejects, chosen) for angle in angles]
        best = int(np.argmax(sizes))
        worst = max(worst, sizes[best])
        angles = np.linspace(angles[max(best - 1, 0)], angles[min(best + 1, len(angles) - 1)], 9)
    return min(worst, 1.0)


def _size(q: float, n: int, rejects: Floats, log_choose: Floats) -> float:
    """Return the probability of a rejection under H0.

    Each pair changes with probability q, and is lost as often as gained.
    """
    spread = REACH * (math.sqrt(n * q * (1.0 - q)) + 2.0)
    first, last = max(0, math.floor(n * q - spread)), min(n, math.ceil(n * q + spread)) + 1
    m = np.arange(first, last)
    masses = np.exp(log_choose[first:last] + special.xlogy(m, q) + special.xlog1py(n - m, -q))
    return float(masses @ rejects[first:last])
