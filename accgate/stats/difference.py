"""Exact confidence limits for the difference of two paired shares."""

import math
from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from accgate.stats import special
from accgate.stats.mcnemar import least_losses, log_choose, mcnemar_critical
from accgate.stats.noise import clopper_pearson
from accgate.stats.power import quantile
from accgate.stats.result import Interval
from accgate.stats.walk import Floats, Ints

Number = TypeVar("Number", float, Floats)

NUISANCE = 1e-6  # share of alpha spent on a true discordance outside the interval that is searched
SLACK = 2e-3  # share of alpha kept for a maximum between the discordances tried; the most ever missed was half of it
GRID = 48  # discordances tried at each difference
REACH = 5.0  # standard deviations of the discordant count that are summed; what lies beyond counts in full
TINY = 1e-300  # in place of 0 under a logarithm


def exact_difference_interval(lost: int, gained: int, n: int, *, alpha: float, limit: float | None = None) -> Interval:
    """Bound the difference of two paired shares exactly, in points.

    Each limit covers with probability at least 1 - alpha, whatever the shares of samples lost and gained, and with the
    number of discordant pairs random as it is. `one_sided` is below 0 exactly if the test rejects: McNemar's exact
    test, or with a `limit` the unconditional one (`mcnemar.least_losses`).

    Parameters
    ----------
    lost, gained, n : int
        Samples right in the reference and wrong in the candidate, the reverse, and pairs in all.
    alpha : float
        Error of each limit, under 1/2; the two-sided interval has confidence 1 - 2 alpha.
    limit : float, optional
        Of `unconditional_exact` at alpha.

    Notes
    -----
    These are Buehler's limits. Outcomes are ordered: first those that the test rejects, then by the limit from the
    signed root of the likelihood ratio. The limit is the largest difference at which some discordance gives the
    outcomes up to the one seen a probability above alpha. The discordance is searched over its own exact interval,
    whose error is taken off alpha (Berger and Boos). If a set of outcomes in this order has one outcome, it also has
    those with a sample lost instead of unchanged or gained, so that its probability falls as the difference grows
    (Barnard's convexity).

    References
    ----------
    Buehler 1957, JASA 52; Lloyd and Moldovan 2007, Statistics in Medicine 26; Berger and Boos 1994, JASA 89.

    Examples
    --------
    >>> interval = exact_difference_interval(53, 26, 1319, alpha=0.05)
    >>> round(interval.one_sided, 2), round(interval.two_sided[0], 2)
    (-0.95, -3.2)
    """
    low, high = -_upper_limit(gained, lost, n, alpha, limit), _upper_limit(lost, gained, n, alpha, limit)
    return Interval(100.0 * high, (100.0 * low, 100.0 * high))


@lru_cache(maxsize=8192)
def _upper_limit(lost: int, gained: int, n: int, alpha: float, mid_p_limit: float | None) -> float:
    seen = lost + gained
    rejected = lost >= int(_critical(np.array(seen), n, alpha, mid_p_limit))
    order = _asymptotic_limit(lost, gained, n, alpha)
    q_low, q_high = clopper_pearson(seen, n, confidence=1.0 - NUISANCE * alpha)
    first, last = _beyond(q_low, n, -REACH), _beyond(q_high, n, REACH)
    m = np.arange(first, last + 1.0)
    least = _least_losses(m, lost, gained, n, order, alpha, _critical(m.astype(np.int64), n, alpha, mid_p_limit))
    outcomes = _Outcomes(first, least, n, q_low, q_high)
    aim, width = float(special.ndtri(alpha * (1.0 - NUISANCE - SLACK))), order - (gained - lost) / n
    limit = _crossing(outcomes.probit, aim, order, (-q_high, q_high), max(width, 1e-3 / n), 1e-5)
    # A limit stays exact when it moves to the side of 0 of the decision. The rejected outcomes come first in the order,
    # and have probability at most alpha at each difference d >= 0: by their likelihood ratio at most
    # alpha (1 - d) ** fewest, with the fewest losses that reject. Beyond the least limit of the other outcomes that
    # leaves room for the share of alpha that the nuisance parameter may spend.
    if rejected:
        return min(limit, math.nextafter(0.0, -1.0))
    fewest = -math.log2(alpha) if mid_p_limit is None else -math.log2(mid_p_limit) - 1.0
    return max(limit, -math.expm1(math.log1p(-NUISANCE) / fewest))


def _critical(discordant: Ints, n: int, alpha: float, mid_p_limit: float | None) -> Ints:
    """Return the least losses that the test rejects, for each count of discordant pairs."""
    return mcnemar_critical(discordant, alpha) if mid_p_limit is None else least_losses(discordant, n, mid_p_limit)


def _asymptotic_limit(lost: int, gained: int, n: int, alpha: float) -> float:
    """Find the difference, a share, at which the signed root equals z_alpha."""
    if gained == n:
        return 1.0
    z, estimate = quantile(alpha), (gained - lost) / n
    width = -z * math.sqrt(lost + gained + z * z) / n

    def signed_root(d: float) -> float:
        return float(_signed_root(float(lost), float(gained), n, d))

    return _crossing(signed_root, z, estimate + width, (estimate, 1.0), width, 1e-9)


def _crossing(
    falling: Callable[[float], float],
    aim: float,
    start: float,
    bracket: tuple[float, float],
    width: float,
    share: float,
) -> float:
    """Find where a falling function passes the aim, by secants from above.

    The function is nearly linear, with slope aim / width. The answer lies beyond the root by at most `share` of width.
    """
    (low, high), slope, tolerance = bracket, aim / width, share * width
    d = min(max(start, low + tolerance), high - tolerance)
    before: tuple[float, float] | None = None
    for step in range(100):
        excess = float(falling(d)) - aim
        low, high = (d, high) if excess > 0.0 else (low, d)
        if high - low <= tolerance or slope * tolerance < excess <= 0.0:
            break
        if before is not None and (excess - before[1]) / (d - before[0]) < 0.0:
            slope = (excess - before[1]) / (d - before[0])
        before = d, excess
        d -= excess / slope - tolerance / 3.0  # just past the root: the end above it is what is returned
        if step > 10 or not low < d < high:
            d = 0.5 * (low + high)
    return high


def likeliest_lost(lost: Number, gained: Number, n: int | Number, d: float) -> Number:
    """Return the most likely share lost if the share gained exceeds it by d."""
    b = (2.0 * n + lost - gained) * d - lost - gained
    share: Number = (abs(b * b + 8.0 * n * lost * d * (1.0 - d)) ** 0.5 - b) / (4.0 * n)
    return share


def _signed_root(lost: Number, gained: Number, n: int, d: float) -> Number:
    """Return the signed root of the likelihood ratio at a difference of d."""
    share, same = likeliest_lost(lost, gained, n, d), n - lost - gained
    pairs = ((lost, share), (gained, share + d), (same, 1.0 - d - 2.0 * share))
    deviance = sum(special.xlogy(count, count / (n * np.maximum(p, TINY))) for count, p in pairs)
    root: Number = np.sign(gained - lost - n * d) * np.sqrt(2.0 * np.maximum(deviance, 0.0))
    return root


def _beyond(q: float, n: int, deviations: float) -> int:
    """Return a count about `deviations` standard deviations from its mean n q.

    A few counts more are added, and the result stays within 0 and n.
    """
    return min(max(round(n * q + deviations * (math.sqrt(n * q * (1.0 - q)) + 2.0)), 0), n)


def _least_losses(m: Floats, lost: int, gained: int, n: int, limit: float, alpha: float, critical: Ints) -> Floats:
    """Find the least losses no later in the order than what was seen.

    The result has one entry for each count m of discordant pairs.
    """
    z, seen = quantile(alpha) + 1e-7, lost + gained - int(m[0])  # a little more than the limit's own rounding

    def no_later(losses: Floats) -> npt.NDArray[np.bool_]:
        return _signed_root(losses, m - losses, n, limit) <= z

    deviation = np.sqrt(np.maximum(m - n * limit * limit, 1.0))
    least = np.clip(0.5 * (m - n * limit - z * deviation), 0.0, m)
    for _ in range(2):
        step = 0.5 * deviation * (_signed_root(least, m - least, n, limit) - z)
        least = np.clip(least + step, 0.0, m)
    least = np.ceil(least)
    while np.any(more := (least > 0.0) & no_later(np.maximum(least - 1.0, 0.0))):
        least = least - more
    while np.any(fewer := (least <= m) & ~no_later(np.minimum(least, m))):
        least = least + fewer
    least[seen] = min(least[seen], lost)
    least = np.maximum(least, critical) if lost >= critical[seen] else np.minimum(least, critical)
    # A larger set is safe: add what rounding left out although an outcome with fewer losses is in.
    least = np.minimum.accumulate(least[::-1])[::-1]
    return np.minimum.accumulate(least - m) + m


class _Outcomes:
    """Outcomes with at least so many losses, and their probability.

    There are `least[i]` losses or more among `first + i` discordant pairs.
    """

    def __init__(self, first: int, least: Floats, n: int, q_low: float, q_high: float) -> None:
        m = first + np.arange(len(least), dtype=np.float64)
        self.first, self.fewest, self.q_low, self.q_high = first, float(least[0]), q_low, q_high
        self.changed, self.same = m[:, np.newaxis], n - m[:, np.newaxis]
        self.log_choose = log_choose(n, m)[:, np.newaxis]
        # From m to m + 1 pairs `least` stays or grows by one, and the binomial tail gains or loses one term.
        m, least, grows = m[:-1], least[:-1], np.diff(least) > 0.5
        term = least - ~grows
        self.sign = np.where(grows, -1.0, 1.0)[:, np.newaxis]
        self.log_term = log_choose(m, term)[:, np.newaxis]
        self.losses, self.gains = least[:, np.newaxis], (m + 1.0 - least)[:, np.newaxis]

    def probit(self, d: float) -> float:
        """Normal quantile of the largest probability, over the discordance, at difference d."""
        return float(special.ndtri(min(max(self._probability(d), TINY), 1.0 - 1e-16)))

    def _probability(self, d: float) -> float:
        size = abs(d)
        low, room = max(self.q_low, size), max(1.0 - size, TINY)
        ends = [math.asin(math.sqrt(min(max(q - size, 0.0) / room, 1.0))) for q in (low, self.q_high)]
        # Even in the scale that steadies the variance of the rarer of lost and gained.
        q = size + room * np.sin(np.linspace(ends[0], ends[1], GRID)) ** 2
        p = self._at(np.clip(q, max(low, TINY), self.q_high), d)
        i = int(np.argmax(p))  # and a parabola through the points around it
        if 0 < i < GRID - 1 and (bend := 2.0 * p[i] - p[i - 1] - p[i + 1]) > 0.0:
            return float(p[i] + (p[i + 1] - p[i - 1]) ** 2 / (8.0 * bend))
        return float(p[i])

    def _at(self, q: Floats, d: float) -> Floats:
        loss_share, gain_share = (np.clip(0.5 * (1.0 + side * d / q), TINY, 1.0) for side in (-1.0, 1.0))
        weight = self.changed * np.log(q)
        weight += self.same * np.log(np.maximum(1.0 - q, TINY))
        weight += self.log_choose
        np.exp(weight, out=weight)
        tail = np.empty_like(weight)
        certain, never = self.fewest <= 0.0, self.fewest > self.first
        tail[0] = float(certain) if certain or never else special.bdtrc(self.fewest - 1.0, self.first, loss_share)
        np.multiply(self.losses, np.log(loss_share), out=tail[1:])
        tail[1:] += self.gains * np.log(gain_share)
        tail[1:] += self.log_term
        np.exp(tail[1:], out=tail[1:])
        tail[1:] *= self.sign
        np.cumsum(tail, axis=0, out=tail)
        beyond = np.maximum(1.0 - weight.sum(axis=0), 0.0)
        return np.asarray(np.einsum("ij,ij->j", weight, tail) + beyond)
