"""Tests by betting, of paired differences and of a coin.

Two gamblers bet on the paired differences in their fixed order, one on a drop and one against it. Neither can win on
average if the hypothesis that it bets against is true. By Ville's inequality its capital then ever reaches 1 / alpha
with probability at most alpha, whatever the discordance and the skew are, however units depend on the past, and
whenever one stops.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from accgate.stats import special
from accgate.stats.power import E_PROCESS_MAXIMUM
from accgate.stats.result import Interval
from accgate.stats.search import halve
from accgate.stats.sequential import SequentialResult, Units, include, stand_at, visible_effect
from accgate.stats.totals import spread_of
from accgate.stats.walk import Floats, Stop

# Chosen by simulation for the fewest samples to a decision at discordance 3 to 20%, theta 1 to 8 points. The error
# rates hold for any values.
_CAP = 0.75  # most that one unit may take of the capital
_PRIOR_MOMENT = 0.075  # mean squared difference before any is seen, about the share of changed 0/100 samples
_PRIOR_SAMPLES = 50.0  # weight of the prior moment
_HALVINGS = 40  # of an interval of 2: under 2e-12


@dataclass(frozen=True, eq=False)
class BettingPath:
    """Log capital after each unit of two bets, on a drop and against.

    `log_drop` tests H0, a mean difference per sample of at least 0, and `log_sound` H1, one of at most -theta; it is
    None without theta. The mean is that of each unit given the units before it: for samples drawn at random, simply the
    mean. No pass is declared before the unit of index `earliest`.
    """

    log_drop: Floats
    log_sound: Floats | None
    alpha: float
    beta: float
    earliest: int = 0

    @property
    def stop(self) -> Stop:
        """Why the bets stop.

        The bet on a drop makes it "regression" at a capital of 1 / alpha, the other "futility" at 1 / beta. If both are
        reached at once, it is a regression.
        """
        drop, sound = self._reached()
        if drop is None and sound is None:
            return "end"
        return "futility" if drop is None or (sound is not None and sound < drop) else "regression"

    @property
    def used(self) -> int:
        """Number of units used, up to the stop."""
        return min((units for units in self._reached() if units is not None), default=len(self.log_drop))

    @property
    def p_value(self) -> float:
        """Anytime-valid p-value of H0, one over the largest capital so far."""
        return min(1.0, math.exp(-float(np.max(self.log_drop[: self.used], initial=0.0))))

    def _reached(self) -> tuple[int | None, int | None]:
        drop = _first(self.log_drop, self.alpha)
        return drop, None if self.log_sound is None else _first(self.log_sound, self.beta, self.earliest)


def e_process_test(
    units: Units, *, bound: float, theta: float, alpha: float, beta: float, figures: bool = True
) -> SequentialResult:
    """Test that the mean difference is below 0 by betting, after every unit.

    Parameters
    ----------
    units : Units
        Paired differences in the order in which they are looked at (`units_of`).
    bound : float
        Largest possible |difference| of one sample, points; 100 for bounded scores.
    theta : float
        Drop in points to detect.
    alpha, beta : float
        Bounds on the type I error, and on the chance that a run with a drop of theta is passed for futility.
    figures : bool
        Without, only where the run stops, its difference and its p-value, and whether it is open: the rest is None.

    Notes
    -----
    The p-value and interval hold whenever and for whatever reason the run stopped.

    References
    ----------
    Waudby-Smith and Ramdas 2024, JRSS B 86; Ville 1939.

    Examples
    --------
    >>> from accgate.stats.sequential import units_of
    >>> r = e_process_test(units_of(np.zeros(1319)), bound=100.0, theta=2.0, alpha=0.05, beta=0.2)
    >>> r.stop
    'futility'
    """
    rates = {"theta": theta, "alpha": alpha, "beta": beta}
    path = betting_path(units.totals, units.planned, bound=bound, earliest=units.earliest, **rates)
    used, stop = path.used, path.stop
    standing = stand_at(units, used - 1, path.p_value, stop, is_open=stop == "end" and not units.is_whole)
    if not figures:
        return standing
    difference = standing.difference
    interval = confidence_sequence(units.totals, units.planned, bound=bound, alpha=alpha, stop=used, theta=theta)
    threshold = difference - interval.one_sided  # where the upper limit would be 0
    if (stop == "regression") != (difference < threshold):
        threshold = float(np.nextafter(difference, math.inf if stop == "regression" else -math.inf))
    seen = None if stop == "regression" else theta
    if stop == "end":
        least = visible_effect(units, used - 1, alpha=alpha, beta=beta, cost=E_PROCESS_MAXIMUM)
        seen = None if least is None else max(theta, least)
    return replace(
        standing,
        threshold=threshold,
        theta=seen,
        sigma=spread_of(units.totals[:used], units.sizes[:used]),
        interval=include(difference, interval) if stop != "regression" or difference < 0.0 else interval,
        reasons=() if units.totals[:used].any() else ("no sample changed its score",),
    )


def betting_path(
    totals: npt.ArrayLike,
    sizes: npt.ArrayLike,
    *,
    bound: float,
    theta: float | None,
    alpha: float,
    beta: float,
    earliest: int = 0,
) -> BettingPath:
    """Bet on a drop and against it, and return the capital after each unit.

    The bet against a drop needs `theta`. A unit is a sample or a cluster. A regression is declared when the bet on a
    drop has multiplied its capital by 1 / alpha, and a pass when the other bet has multiplied its own by 1 / beta.

    Parameters
    ----------
    totals : array of shape (g,)
        Sum of the differences candidate - reference of each finished unit in its fixed order, points.
    sizes : array of shape (G,)
        Samples of each planned unit, g <= G, finished or not. The bets depend on the number of planned samples, so the
        path of the first units is the beginning of the whole path.
    bound : float
        Largest possible |difference| of one sample, points.
    theta : float or None
        Drop in points to detect.
    alpha, beta : float
        Probability of declaring a regression when the mean is not lower, and a pass when it is lower by theta.
    earliest : int
        Index of the unit before which no pass is declared.

    Raises
    ------
    ValueError
        If a unit's total is larger than `bound` allows.

    Notes
    -----
    Capital is multiplied by 1 - b_j T_j with T_j the unit's total over `bound`, and for a pass by
    1 + b_j (T_j + theta n_j). The bet b_j = e_j / m_j uses the units before j only: m_j is the mean square and e_j
    the largest of theta, the drop seen so far less one standard error, and the drop that all planned samples
    could just show. With 0/100 scores and e_j = theta that is theta / discordance, the bet under which capital
    grows fastest. No unit may take more than 3/4 of the capital.

    References
    ----------
    Ville 1939; Kelly 1956, Bell Syst. Tech. J. 35; Waudby-Smith and Ramdas 2024, JRSS B 86; Ramdas, Gruenwald,
    Vovk and Shafer 2023, Statist. Sci. 38.

    Examples
    --------
    >>> differences = np.tile([0.0] * 9 + [-100.0], 50)  # one sample in ten is lost, none gained
    >>> path = betting_path(differences, np.ones(500), bound=100.0, theta=2.0, alpha=0.05, beta=0.2)
    >>> path.stop, path.used, round(path.p_value, 4)
    ('regression', 90, 0.0464)
    """
    gains, weights, horizon = _in_samples(totals, sizes, bound)
    drop = _stakes(-gains, weights, 0.0, theta, alpha, bound, horizon)
    log_drop = _log_capital(-gains, weights, drop, 0.0)
    if theta is None:
        return BettingPath(log_drop, None, alpha, beta)
    sound = _stakes(gains, weights, -theta / bound, theta, beta, bound, horizon)
    return BettingPath(log_drop, _log_capital(gains, weights, sound, -theta / bound), alpha, beta, earliest)


def confidence_sequence(
    totals: npt.ArrayLike,
    sizes: npt.ArrayLike,
    *,
    bound: float,
    alpha: float,
    stop: int | None = None,
    theta: float | None = None,
) -> Interval:
    """Bound the mean difference per sample after `stop` units.

    Each limit holds at confidence 1 - alpha, whatever made the run stop.

    Parameters
    ----------
    totals, sizes, bound, theta
        As in `betting_path`.
    alpha : float
        Error rate of each limit.
    stop : int, optional
        Units used; all finished ones by default.

    Returns
    -------
    Interval
        Points. The bets are those of `betting_path`, so the upper limit is below 0 exactly where that path's bet
        on a drop has reached 1 / alpha, and at alpha = beta the lower limit is above -theta exactly where its bet
        on none has reached 1 / beta.

    Notes
    -----
    A limit is the mean up to which betting has never won 1 / alpha, by bisection, rounded outwards. Limits that
    would cross, as drifting differences can make them, meet at the upper one.

    Examples
    --------
    >>> differences = np.tile([0.0] * 9 + [-100.0], 50)
    >>> interval = confidence_sequence(differences, np.ones(500), bound=100.0, alpha=0.05, stop=90, theta=2.0)
    >>> [round(limit, 2) for limit in interval.two_sided]
    [-20.12, -0.21]
    """
    gains, weights, horizon = _in_samples(totals, sizes, bound)
    gains, weights = gains[:stop], weights[:stop]
    null = 0.0 if theta is None else -theta / bound
    drop = _stakes(-gains, weights, 0.0, theta, alpha, bound, horizon)
    sound = _stakes(gains, weights, null, theta, alpha, bound, horizon)
    upper = -bound * _lower_limit(-gains, weights, drop, alpha)
    lower = bound * _lower_limit(gains, weights, sound, alpha)
    return Interval(upper, (min(lower, upper), upper))


def _in_samples(totals: npt.ArrayLike, sizes: npt.ArrayLike, bound: float) -> tuple[Floats, Floats, float]:
    """Return totals over `bound`, their units' sizes, and the number of samples planned."""
    gains, planned = np.asarray(totals, dtype=float) / bound, np.asarray(sizes, dtype=float)
    weights = planned[: len(gains)]
    outside = ~(np.abs(gains) <= weights * (1.0 + 1e-9))  # not-a-number too
    if outside.any():
        unit = int(np.argmax(outside))
        total, size = bound * float(gains[unit]), float(weights[unit])
        raise ValueError(f"unit {unit} of {size:g} samples has the total {total:g}: more than {bound:g} a sample")
    return gains, weights, float(np.sum(planned))


def _stakes(
    gains: Floats, sizes: Floats, null: float, theta: float | None, level: float, bound: float, horizon: float
) -> Floats:
    """Return bets that the mean gain per sample is above `null`.

    Each bet depends on earlier units alone.
    """
    excess = gains - null * sizes
    samples = _PRIOR_SAMPLES + _before(sizes)
    square = _before(excess**2)
    moment = (_PRIOR_SAMPLES * _PRIOR_MOMENT + square) / samples
    seen = (_before(excess) - np.sqrt(square)) / samples
    least = np.sqrt(-2.0 * math.log(level) * moment / horizon)
    return np.maximum(np.maximum(seen, least), (theta or 0.0) / bound) / moment


def _log_capital(gains: Floats, sizes: Floats, stakes: Floats, null: float) -> Floats:
    """Return the log capital of bets against a mean gain of at most `null`.

    The capital falls as `null` rises.
    """
    worst = np.maximum(sizes * (1.0 + null), 1e-300)
    return np.cumsum(np.log1p(np.minimum(stakes, _CAP / worst) * (gains - null * sizes)))


def _lower_limit(gains: Floats, sizes: Floats, stakes: Floats, alpha: float) -> float:
    """Find the least mean gain that the bets have never refuted.

    Against that mean, in [-1, 1], they have never won 1 / alpha.
    """

    def never_won(mean: float) -> bool:
        return _first(_log_capital(gains, sizes, stakes, mean), alpha) is None

    return halve(never_won, -1.0, 1.0, rounds=_HALVINGS)[0]


def _first(log_capital: Floats, level: float, earliest: int = 0) -> int | None:
    """Count the units after which capital first reaches 1 / level.

    Units before the one of index `earliest` are not considered.
    """
    reached = log_capital >= -math.log(level)
    reached[:earliest] = False
    return int(np.argmax(reached)) + 1 if reached.any() else None


def _before(values: Floats) -> Floats:
    """Sum the values before each one."""
    sums = np.zeros_like(values)
    sums[1:] = np.cumsum(values[:-1])
    return sums


def coin_evidence(heads: int, tails: int) -> float:
    """Return the evidence that heads are likelier than tails, as a factor.

    A factor of 1 is no evidence. If the coin is fair, or falls on tails more often, the factor ever reaches 1 / alpha
    with probability at most alpha, however often and whenever one looks.

    Notes
    -----
    The likelihood ratio of the throws against a fair coin, mixed evenly over all chances of heads from 1/2 to 1.

    References
    ----------
    Robbins 1970, Annals of Mathematical Statistics 41; Ville 1939.

    Examples
    --------
    >>> round(coin_evidence(10, 0), 1), round(coin_evidence(5, 5), 2)
    (186.1, 0.37)
    """
    return share_evidence(tails, heads, 0.5)


def share_evidence(hits: int, misses: int, share: float) -> float:
    """Return the evidence that hits are rarer than `share`, as a factor.

    The factor has the guarantee of `coin_evidence`. It mixes all smaller shares evenly.

    Examples
    --------
    >>> round(share_evidence(0, 20, 0.25), 1), round(share_evidence(5, 15, 0.25), 2)
    (59.9, 0.41)
    """
    a, b = hits + 1.0, misses + 1.0
    below = float(special.betainc(a, b, share))  # of the Beta(a, b) distribution, what lies below the share
    if below == 0.0:
        return 0.0
    log = float(special.betaln(a, b)) + math.log(below) - a * math.log(share) - misses * math.log1p(-share)
    return math.exp(min(log, 700.0))
