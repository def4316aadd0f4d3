"""Exact tests that paired 0/100 scores dropped by more than a margin.

One test is for a fixed n, the other for a run that is looked at a few times.
"""

import math
from bisect import bisect_left
from dataclasses import replace
from functools import lru_cache

import numpy as np

from accgate.stats.difference import NUISANCE, REACH, SLACK, _beyond, _Outcomes, _signed_root, exact_difference_interval
from accgate.stats.mcnemar import at_least, changed_pairs, log_binomial
from accgate.stats.noise import clopper_pearson
from accgate.stats.paired import exact_result
from accgate.stats.power import quantile
from accgate.stats.result import Interval, TestResult
from accgate.stats.search import halve, least_of_each
from accgate.stats.sequential import SequentialResult, Units, median_difference, stand_at
from accgate.stats.walk import Bools, Floats, Ints, Stop, walk_at

LOOKS = (0.3, 0.5, 0.7, 1.0)  # shares of the samples at which a run with a margin is looked at
ALPHA_SHARES = (0.03, 0.07, 0.15, 0.75)  # of alpha, by look: their sum is 1
BETA_SHARES = (0.15, 0.25, 0.35, 0.0)  # of beta, for passing early
LAST_BETA = 0.88  # share of beta for the theta of the last look; early passes of runs that it would fail take the rest
MARGIN_EXACTNESS = 1.03  # samples needed, times the normal approximation's: counts leave some of alpha unspent
LOOKS_COST = 1.25  # samples of a run with looks, times those of the test at a fixed n
LOOKS_EXPECTED = (0.55, 0.75)  # mean share of the samples taken: without a drop, and with one of margin + theta


def margin_test(lost: int, gained: int, n: int, *, margin: float, alpha: float, beta: float) -> TestResult:
    """Test exactly that paired 0/100 scores dropped by more than `margin` points.

    Parameters
    ----------
    lost, gained, n : int
        Samples right in the reference and wrong in the candidate, the reverse, and pairs in all.
    margin : float
        The drop in points that is allowed, above 0 or 0.
    alpha, beta : float
        Type I and type II error rates.

    Notes
    -----
    Outcomes are ordered by the signed root of the likelihood ratio at a drop of the margin, and p is the largest
    probability, over the discordance, of those no later than the one seen. The discordance is searched over its own
    exact interval, whose error is added (Berger and Boos). A drop of margin + `theta` is detected with probability
    1 - beta, at the discordance seen. The interval is that of `exact_difference_interval`; its upper limit is
    below -margin exactly where H0 is rejected.

    References
    ----------
    Berger and Boos 1994, JASA 89; Lloyd and Moldovan 2007, Statistics in Medicine 26; Barnard 1947, Biometrika 34.

    Examples
    --------
    Of 1,000 samples 30 are lost and 10 gained; a loss of 1 point is allowed:

    >>> result = margin_test(30, 10, 1000, margin=1.0, alpha=0.05, beta=0.2)
    >>> round(result.p_value, 3), result.difference, round(result.theta, 2)
    (0.055, -2.0, 1.5)
    """
    test = _MarginTest(n, lost + gained, margin, alpha)
    p_value, critical = test.p_value(lost), test.critical()
    rejects = lost >= critical
    p_value = min(p_value, alpha) if rejects else max(p_value, math.nextafter(alpha, 1.0))
    result = exact_result(lost, gained, n, alpha=alpha, p_value=p_value, critical=critical, theta=test.theta(beta))
    assert result.interval is not None
    low, high = result.interval.two_sided
    high = min(high, math.nextafter(-margin, -math.inf)) if rejects else max(high, -margin)
    return replace(result, interval=Interval(high, (min(low, high), high)), p_mid=None)


class _MarginTest:
    """The test at one n, over the plausible discordances.

    `seen` of the samples changed.
    """

    def __init__(self, n: int, seen: int, margin: float, alpha: float) -> None:
        margin = min(margin, 100.0)  # no 0/100 scores can drop by more
        self.n, self.seen, self.margin, self.alpha = n, seen, margin, alpha
        self.drop = margin / 100.0
        self.q_low, self.q_high = clopper_pearson(seen, n, confidence=1.0 - NUISANCE * alpha)
        self.first, last = _beyond(self.q_low, n, -REACH), _beyond(max(self.q_high, self.drop), n, REACH)
        self.changed = np.arange(self.first, last + 1.0)

    def p_value(self, lost: int) -> float:
        """Return the largest probability of outcomes no later than one in the order.

        That outcome has `lost` losses.
        """
        if lost <= 0 or self.q_high <= self.drop:  # too few changed for a drop of more than the margin
            return 1.0
        root = float(_signed_root(float(lost), float(self.seen - lost), self.n, -self.drop))
        return self._size(self._region(root, self.changed))

    def critical(self) -> int:
        """Return the least losses that reject.

        If none reject, the answer is one more than samples changed.
        """
        return bisect_left(range(self.seen + 1), True, key=lambda lost: self.p_value(lost) <= self.alpha)

    def theta(self, beta: float) -> float | None:
        """Find the excess over the margin that is detected.

        The test detects it with probability 1 - beta, or the answer is None.
        """

        def is_too_large(root: float) -> bool:
            return self._size(self._region(root, self.changed)) > self.alpha

        z, largest = quantile(self.alpha), 100.0 - self.margin
        rejects, _ = halve(is_too_large, z - 3.0, z + 0.5, rounds=20)  # the largest signed root that rejects
        least = self._region(rejects, np.arange(self.n + 1.0))
        if self._power(least, largest) < 1.0 - beta:
            return None
        return halve(lambda theta: self._power(least, theta) >= 1.0 - beta, 0.0, largest, rounds=30)[1]

    def _region(self, limit: float, changed: Floats) -> Floats:
        """Find the least losses whose signed root is at most the limit.

        The result has one entry for each count of changes.
        """

        def is_in(lost: Ints) -> Bools:
            return np.asarray(_signed_root(lost.astype(float), changed - lost, self.n, -self.drop) <= limit + 1e-9)

        low = least_of_each(is_in, changed.astype(np.int64) + 1).astype(float)
        # With a loss instead of a gain or no change an outcome stays in: so its probability rises with the drop.
        least = np.minimum.accumulate(low[::-1])[::-1]
        return np.asarray(np.minimum.accumulate(least - changed) + changed)

    def _size(self, least: Floats) -> float:
        if self.q_high <= self.drop:
            return 1.0
        outcomes = _Outcomes(self.first, least, self.n, self.q_low, self.q_high)
        return min(outcomes._probability(-self.drop) * (1.0 + SLACK) + NUISANCE * self.alpha, 1.0)

    def _power(self, least: Floats, theta: float) -> float:
        drop = self.drop + theta / 100.0
        q, n = max(self.seen / self.n, drop), self.n
        m, log_pmf = changed_pairs(n, q)
        return float(np.sum(np.exp(log_pmf) * at_least(least[m], m, min(0.5 * (1.0 + drop / q), 1.0))))


def margin_looks(
    units: Units, *, margin: float, theta: float, alpha: float, beta: float, certify: bool = False, figures: bool = True
) -> SequentialResult:
    """Test exactly as `margin_test` does, at a few looks whose levels sum to alpha.

    Parameters
    ----------
    units : Units
        Single samples scored 0 or 100, in the order in which they are looked at.
    margin, theta : float
        The drop in points that is allowed, and what a drop to detect exceeds it by.
    alpha, beta : float
        Type I and type II error rates.
    certify : bool
        Pass early only where the bounds at confidence 1 - alpha and 1 - beta both exclude a drop of margin + theta;
        else where that at 1 - beta does, or at the end.
    figures : bool
        Without, only where the run stops, its difference and its p-value, and whether it is open: the rest is None.

    Notes
    -----
    A run passes early where the exact test of "dropped by at least margin + theta" rejects at the look's share of beta,
    which runs with such a drop do with probability at most three quarters of beta. The p-value is the least p over its
    look's share of alpha (Bonferroni), and the interval is that of the last look at its share. The estimate of a run
    that stopped early is median-unbiased by the order of stages.

    Examples
    --------
    >>> from accgate.stats.sequential import units_of
    >>> result = margin_looks(units_of(np.zeros(1000)), margin=1.0, theta=2.0, alpha=0.05, beta=0.2)
    >>> result.stop, result.n
    ('futility', 300)
    """
    p_value, samples, levels = 1.0, len(units.totals), _passing_levels(alpha, beta, certify=certify)
    for share, alpha_share, passing in zip(LOOKS, ALPHA_SHARES, levels, strict=True):
        n, level = math.ceil(share * units.n_max), alpha * alpha_share
        if samples < n:
            break
        lost, gained = (int(np.count_nonzero(side * units.totals[:n] > 0.0)) for side in (-1.0, 1.0))
        p_look = margin_p(lost, gained, n, margin, level)
        p_value = min(p_value, p_look / alpha_share)
        is_last, rejects = n >= units.n_max, p_look <= level
        passes = excludes_drop(lost, gained, n, margin + theta, passing)
        if rejects or passes or is_last:
            stop: Stop = "regression" if rejects else "end" if is_last else "futility"
            standing = stand_at(units, n - 1, min(p_value, 1.0), stop, is_open=False)
            if not figures:
                return standing
            # Early passes take a part of beta, which is small where alpha is below it.
            last_beta = beta if certify and alpha <= beta else LAST_BETA * beta
            result = margin_test(lost, gained, n, margin=margin, alpha=level, beta=last_beta)
            return replace(
                standing,
                threshold=result.threshold,
                theta=max(theta, result.theta or 100.0) if is_last else theta,
                sigma=result.sigma,
                interval=result.interval,
                estimate=None if is_last else _estimate(units, n, margin, theta, alpha, levels),
            )
    return SequentialResult(0.0, 1.0, None, None, None, None, n=samples, n_max=units.n_max, open=True)


def _passing_levels(alpha: float, beta: float, *, certify: bool) -> tuple[float, ...]:
    """Return the error of passing at each look.

    It is a share of beta, and with `certify` at most the look's share of alpha.
    """
    pairs = zip(ALPHA_SHARES, BETA_SHARES, strict=True)
    return tuple(min(alpha * of_alpha, beta * of_beta) if certify else beta * of_beta for of_alpha, of_beta in pairs)


def _estimate(units: Units, n: int, margin: float, theta: float, alpha: float, levels: tuple[float, ...]) -> float:
    """Estimate the difference (points) of a stopped run, median-unbiased.

    The run stopped at the look after `n` samples. Given how many samples changed by each look, the losses are a walk,
    whose masses are computed exactly at the observed share of losses; at one half they might underflow. `levels` are
    the errors of passing at the looks.
    """
    ends = [math.ceil(share * units.n_max) for share in LOOKS]
    at, total = ends.index(n), int(np.count_nonzero(units.totals[:n]))
    lost = int(np.count_nonzero(units.totals[:n] < 0.0))
    share = (lost + 0.5) / (total + 1.0)
    mass, before = np.ones(1), 0
    exits: list[tuple[int, int, Floats]] = []
    for end, alpha_share, level in zip(ends[:at], ALPHA_SHARES, levels, strict=False):
        changed = int(np.count_nonzero(units.totals[:end]))
        mass, before = np.convolve(mass, _loss_masses(changed - before, share)), changed

        def goes_on(lost: int, changed: int = changed, end: int = end, level: float = level) -> bool:
            return not excludes_drop(lost, changed - lost, end, margin + theta, level)

        least = bisect_left(range(changed + 1), True, key=goes_on)
        critical = _MarginTest(end, changed, margin, alpha * alpha_share).critical()
        exits.append((changed, critical, mass[critical:].copy()))
        mass[critical:] = 0.0
        mass[:least] = 0.0
    mass = np.convolve(mass, _loss_masses(total - before, share))
    outcome = walk_at(total, lost, exits, mass)
    return median_difference(outcome, n, tilt=0.5 * math.log(share / (1.0 - share)))


def _loss_masses(changed: int, share: float) -> Floats:
    """Return the probabilities of 0 to `changed` losses among so many changes."""
    return np.exp(log_binomial(np.arange(changed + 1), changed, share))


@lru_cache(maxsize=1024)
def margin_p(lost: int, gained: int, n: int, margin: float, alpha: float) -> float:
    """Return the p-value of `margin_test` alone."""
    return _MarginTest(n, lost + gained, margin, alpha).p_value(lost)


def excludes_drop(lost: int, gained: int, n: int, drop: float, level: float) -> bool:
    """Tell whether the exact lower limit excludes a drop of so many points.

    The limit has the error `level`.
    """
    if level <= 0.0:
        return False
    return exact_difference_interval(lost, gained, n, alpha=level).excludes_drop(drop)
