"""Walks of a normal score from look to look.

The module finds bounds that spend a given error by each look, and the probability of crossing them.
"""

import math
from copy import copy
from functools import lru_cache

import numpy as np

from accgate.stats import special
from accgate.stats.search import halve
from accgate.stats.walk import Floats

NONE = np.zeros(0)
MOVED = 1.05  # looks whose variance grew by less than this factor count as one
SPENDING_POWER = 1.5  # the error that may be spent is proportional to this power of the share of samples
NEAR_SHARE = 0.8  # share of the error that is spent by the samples that a drop of theta needs
FURTHEST = 5.0  # standard errors between a score and its median-unbiased drift, at most
STEP = 0.05  # of the grid on which bounds are integrated, in standard errors; finer grids change no fifth digit


def obrien_fleming_spending(fraction: Floats, alpha: float) -> Floats:
    """Return the type I error that may be spent at these information fractions.

    It is 2 - 2 Phi(z_{1-alpha/2} / sqrt(t)).

    References
    ----------
    Lan and DeMets 1983, Biometrika 70.

    >>> obrien_fleming_spending(np.array([0.5, 1.0]), 0.05).round(4)
    array([0.0056, 0.05  ])
    """
    return 2.0 * special.ndtr(special.ndtri(alpha / 2.0) / np.sqrt(fraction))


def spending_bounds(fractions: Floats, spent: Floats, *, drift: float = 0.0, absorbing: Floats | None = None) -> Floats:
    """Return the upper bounds on z at which each look has spent its error.

    With `absorbing`, the upper bounds of the same test, return lower bounds that spend the error under `drift`.

    Parameters
    ----------
    fractions : array of shape (K,)
        Increasing shares of the information, the last at most 1.
    spent : array of shape (K,)
        One-sided error that may be spent by each look, the last at most all of it.

    References
    ----------
    O'Brien and Fleming 1979, Biometrics 35; Lan and DeMets 1983, Biometrika 70; Armitage, McPherson and Rowe 1969,
    JRSS A 132 (the recursive integration).

    Examples
    --------
    >>> fractions = np.arange(1, 6) / 5
    >>> spending_bounds(fractions, obrien_fleming_spending(fractions, 0.05)).round(3)
    array([4.229, 2.888, 2.298, 1.962, 1.74 ])
    """
    spending = np.diff(spent, prepend=0.0)
    is_lower, bounds, walks = absorbing is not None, np.empty(len(fractions)), Walks(drift)
    for look, fraction in enumerate(map(float, fractions)):
        root = math.sqrt(fraction)
        bounds[look] = walks.crossing(fraction, float(spending[look]), upper=not is_lower) / root
        low = bounds[look] * root if is_lower else -math.inf
        high = (absorbing[look] if absorbing is not None else bounds[look]) * root
        if look == len(fractions) - 1 or not walks.pass_between(fraction, low, high):
            bounds[look + 1 :] = bounds[look]
            break
    return bounds


def median_drift(times: Floats, lows: Floats, highs: Floats, score: float) -> float:
    """Find the drift at which half of all walks end lower than this one.

    An exit at an earlier low bound counts as lower than any later end, and one at an earlier high bound as higher. By
    this order of stages the drift is a median-unbiased estimate.

    Parameters
    ----------
    times : array of shape (K,)
        Increasing variances of the score at the looks; the last is 1.
    lows, highs : arrays of shape (K - 1,)
        Bounds of the score at all looks but the last, infinite for none.
    score : float
        Of the walk at the last look.

    References
    ----------
    Tsiatis, Rosner and Mehta 1984, Biometrics 40; Whitehead 1986, Biometrika 73.

    Examples
    --------
    Without an earlier look it is the score itself. Of walks that end at -2 some others had stopped at -1 before:

    >>> round(median_drift(np.ones(1), np.zeros(0), np.zeros(0), -2.0), 3)
    -2.0
    >>> round(median_drift(np.array([0.5, 1.0]), np.full(1, -1.0), np.full(1, np.inf), -2.0), 3)
    -1.642
    """
    walks, ends = Walks(score), []
    for time, low, high in zip(times[:-1], lows, highs, strict=True):
        if math.isinf(low) and math.isinf(high):
            continue  # nothing ends there
        ends.append((time, *walks.ends_below(time, low)))
        if not walks.pass_between(time, low, high):
            break
    ends.append((times[-1], *walks.ends_below(times[-1], score)))
    time = np.concatenate([np.full(len(end), t) for t, end, _ in ends])
    end, mass = (np.concatenate([each[i] for each in ends]) for i in (1, 2))

    def is_past_median(drift: float) -> bool:
        tilt = (drift - score) * end - 0.5 * (drift * drift - score * score) * time
        return not float(mass @ np.exp(tilt)) > 0.5

    return 0.5 * sum(halve(is_past_median, score - FURTHEST, score + FURTHEST, rounds=40))


def median_sum(variances: Floats, lows: Floats, highs: Floats, total: float) -> float:
    """Find the expected sum at which half of all runs end lower.

    See `median_drift`. Looks between which the variance grew by less than a twentieth count as one.

    Parameters
    ----------
    variances : array of shape (K,)
        Of the sum of differences at each look, the first above 0.
    lows, highs : arrays of shape (K,)
        The sums at which a run stops; those of the last look do not matter.
    total : float
        The sum at the last look.
    """
    first = [0]
    for look in range(len(variances)):
        if variances[look] >= MOVED * variances[first[-1]]:
            first.append(look)
    lows, highs = np.maximum.reduceat(lows, first), np.minimum.reduceat(highs, first)
    root, times = math.sqrt(float(variances[-1])), np.append(variances[first[:-1]] / variances[-1], 1.0)
    return median_drift(times, lows[:-1] / root, highs[:-1] / root, total / root) * root


class Walks:
    """Scores of walks that are still alive, on a grid, look after look.

    A score is B(t) = z sqrt(t).
    """

    def __init__(self, drift: float = 0.0) -> None:
        self._drift, self._before = drift, 0.0
        self._grid, self._density = np.zeros(1), np.ones(1)

    def crossing(self, fraction: float, wanted: float, *, upper: bool) -> float:
        """Find the score beyond which a share `wanted` of the walks is next.

        The next look is at this fraction.
        """
        sd, means = self._step(fraction)

        def is_past(score: float) -> bool:
            beyond = float(self._density @ special.ndtr((means - score) / sd if upper else (score - means) / sd))
            return (beyond > wanted) != upper

        return 0.5 * sum(halve(is_past, float(means.min()) - 12.0 * sd, float(means.max()) + 12.0 * sd, rounds=60))

    def mass_above(self, fraction: float, score: float) -> float:
        """Return the walks' mass above a score at the next look."""
        sd, means = self._step(fraction)
        return float(self._density @ special.ndtr((means - score) / sd))

    def pass_between(self, fraction: float, low: float, high: float) -> bool:
        """Keep the walks that are between two scores at this look.

        Return whether any walk is left.
        """
        (sd, means), root = self._step(fraction), math.sqrt(fraction)
        low = max(low, -9.0 * root + min(self._drift, 0.0))
        high = min(high, 9.0 * root + max(self._drift, 0.0) * fraction)
        if high <= low:
            return False
        points = np.linspace(low, high, max(int((high - low) / (STEP * root)) | 1, 3))
        weights = np.full(len(points), 2.0)
        weights[1::2], weights[[0, -1]] = 4.0, 1.0  # Simpson's rule
        weights *= (points[1] - points[0]) / 3.0
        kernel = np.exp(-0.5 * ((points[:, None] - means[None, :]) / sd) ** 2) / (sd * math.sqrt(2.0 * math.pi))
        self._grid, self._density, self._before = points, (kernel @ self._density) * weights, fraction
        return True

    def ends_below(self, fraction: float, high: float) -> tuple[Floats, Floats]:
        """Return a grid of scores below `high` at the next look, with masses.

        The walks themselves do not move.
        """
        branch = copy(self)
        return (branch._grid, branch._density) if branch.pass_between(fraction, -math.inf, high) else (NONE, NONE)

    def _step(self, fraction: float) -> tuple[float, Floats]:
        """Return the next step's deviation, and each walk's expected place after it."""
        gap = fraction - self._before
        return math.sqrt(gap), self._grid + self._drift * gap


def spent_by(fractions: Floats, halvings: int, alpha: float) -> Floats:
    """Return the type I error that may be spent by each look.

    Most of it may be spent by the samples that a drop of theta needs: the run's, halved `halvings` times.

    >>> spent_by(np.array([0.25, 0.5, 1.0]), 2, 0.05).round(4)
    array([0.0413, 0.0435, 0.05  ])
    """
    near = np.minimum(fractions * 2.0**halvings, 1.0) ** SPENDING_POWER
    return alpha * (NEAR_SHARE * near + (1.0 - NEAR_SHARE) * fractions**SPENDING_POWER)


@lru_cache(maxsize=512)
def efficacy_bounds(fractions: tuple[float, ...], first: int, halvings: int, alpha: float) -> Floats:
    """Return the z from which each look rejects.

    Together the looks spend what `spent_by` allows. No look before the one of index `first` rejects.

    References
    ----------
    Lan and DeMets 1983, Biometrika 70.
    """
    shares = np.array(fractions)
    spent = spent_by(shares, halvings, alpha)[first:]
    return np.append(np.full(first, math.inf), spending_bounds(shares[first:], spent))


def stagewise_p(fractions: tuple[float, ...], bounds: Floats, look: int, z: float) -> float:
    """Return the p-value by stages of a z at a look.

    It is the probability without a drop that an earlier look rejects, or this one sees a z at least as large.
    """
    before = np.flatnonzero(np.isfinite(bounds[:look]))
    scores = tuple((fractions[i], float(bounds[i]) * math.sqrt(fractions[i])) for i in before)
    walks, spent = _walks_past(scores)
    return min(spent + walks.mass_above(fractions[look], z * math.sqrt(fractions[look])), 1.0)


@lru_cache(maxsize=512)
def _walks_past(scores: tuple[tuple[float, float], ...]) -> tuple[Walks, float]:
    """Return the walks that no look stopped, and the mass of the others.

    Each look has its fraction of the samples and the score from which it stops.
    """
    if not scores:
        return Walks(), 0.0
    before, spent = _walks_past(scores[:-1])
    fraction, score = scores[-1]
    walks = copy(before)
    spent += walks.mass_above(fraction, score)
    walks.pass_between(fraction, -math.inf, score)
    return walks, spent
