"""Bounds for a mean that learn the spread from the scores: empirical Bernstein, and the betting interval."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from accgate.stats.bounds import least_n, log_inverse_error

Floats = npt.NDArray[np.float64]

_CAP = 0.75  # most that one score may take of the capital: the paper's 1/2 or 3/4
_HALVINGS = 45


def empirical_bernstein_margin(
    scores: Floats, *, confidence: float, low: float = 0.0, high: float = 1.0, two_sided: bool = True
) -> float:
    """Distance from the truth that the mean of these independent scores stays under with this confidence.

    Far under Hoeffding's where the scores vary little. One score has no variance: the margin is high - low.

    Parameters
    ----------
    scores : array of shape (n,)
        Scores within [low, high].
    confidence : float
        Probability that the margin holds.
    low, high : float
        Range of one score.
    two_sided : bool
        Whether the mean may be off on either side.

    References
    ----------
    Maurer and Pontil 2009, COLT, theorem 4.

    Examples
    --------
    >>> scores = np.repeat([0.0, 1.0], [1250, 69])
    >>> round(empirical_bernstein_margin(scores, confidence=0.95), 4)
    0.0259
    """
    n = len(scores)
    variance = float(np.var(scores, ddof=1)) if n > 1 else 0.0
    return empirical_bernstein_margin_at(
        n, variance=variance, confidence=confidence, low=low, high=high, two_sided=two_sided
    )


def empirical_bernstein_margin_at(
    n: int, *, variance: float, confidence: float, low: float = 0.0, high: float = 1.0, two_sided: bool = True
) -> float:
    """Margin of the empirical Bernstein bound where `n` independent scores have this sample variance.

    sqrt(2 V L / n) + 7 (high - low) L / (3 (n - 1)) with L = log(2 / (1 - confidence)); two-sided each side has half.

    Parameters
    ----------
    n : int
        Scores; with one there is no variance, and the margin is high - low.
    variance : float
        Sample variance V (ddof 1), in the scores' units squared.
    confidence : float
        Probability that the margin holds.
    low, high : float
        Range of one score.
    two_sided : bool
        Whether the mean may be off on either side.

    References
    ----------
    Maurer and Pontil 2009, COLT, theorem 4.

    Examples
    --------
    >>> round(empirical_bernstein_margin_at(1319, variance=0.05, confidence=0.95), 6)
    0.025985
    """
    width = high - low
    if n < 2:
        return width
    inverse = log_inverse_error(confidence, two_sided) + math.log(2.0)
    return min(width, math.sqrt(2.0 * variance * inverse / n) + 7.0 * width * inverse / (3.0 * (n - 1)))


def empirical_bernstein_n(
    margin: float, *, variance: float, confidence: float, low: float = 0.0, high: float = 1.0, two_sided: bool = True
) -> int:
    """Independent scores at which the empirical Bernstein margin is at most `margin`, if their variance is this.

    An expectation, no guarantee: the scores' own variance decides. Source: `empirical_bernstein_margin_at`.

    >>> empirical_bernstein_n(0.01, variance=0.01, confidence=0.95)  # Hoeffding needs 18,445
    2505
    """

    def reached(n: int) -> bool:
        at = empirical_bernstein_margin_at(
            n, variance=variance, confidence=confidence, low=low, high=high, two_sided=two_sided
        )
        return at <= margin * (1.0 + 1e-12)

    most = 1
    while not reached(most):
        most *= 2
    return least_n(reached, most)


def betting_interval(
    scores: Floats,
    *,
    confidence: float,
    low: float = 0.0,
    high: float = 1.0,
    population: int | None = None,
) -> tuple[float, float]:
    """Confidence interval for the mean of scores in [low, high], by betting against each possible mean.

    A mean is left out once a gambler who bets on higher (or lower) scores would have multiplied the capital by
    2 / (1 - confidence), which under that mean is as improbable as it should be. About as narrow as the normal
    interval, and it holds at every n.

    Parameters
    ----------
    scores : array of shape (n,)
        Scores within [low, high], n at least 1, in the order drawn; that order must not depend on the scores.
    confidence : float
        Probability that the interval holds the mean.
    low, high : float
        Range of one score.
    population : int, optional
        Where the scores are drawn without replacement from this many: the interval is for the mean of all of them.

    Returns
    -------
    tuple of float
        Lower and upper limit, in the scores' units.

    Notes
    -----
    The hedged capital of the paper's section 4 with bets sqrt(2 log(2 / alpha) / (n variance)), the variance
    learnt from the scores before, cut at 3/4 of what one score can take; both halves of the capital are monotone
    in the mean, so each limit is found by bisection and rounded outwards. Without replacement (section 5) the mean
    under test is that of what is left, and the bets grow with what a sample says about it.

    References
    ----------
    Waudby-Smith and Ramdas 2024, JRSS B 86.

    Examples
    --------
    >>> scores = np.tile([0.0, 1.0, 1.0, 1.0], 100)
    >>> low, high = betting_interval(scores, confidence=0.95)
    >>> round(low, 3), round(high, 3)
    (0.687, 0.803)
    >>> low, high = betting_interval(scores, confidence=0.95, population=800)
    >>> round(low, 3), round(high, 3)
    (0.705, 0.787)
    """
    shares = (np.asarray(scores, dtype=float) - low) / (high - low)
    level = (1.0 - confidence) / 2.0
    least = low + (high - low) * _lower_limit(shares, level, population)
    most = high - (high - low) * _lower_limit(1.0 - shares, level, population)
    return min(least, most), max(least, most)  # limits cross only where the scores drift: then the wider reading


def _lower_limit(shares: Floats, level: float, population: int | None) -> float:
    """Least mean in [0, 1] against which betting on higher shares has never won 1 / level."""
    n = len(shares)
    before = np.concatenate(([0.0], np.cumsum(shares[:-1])))
    if population is None:
        known, growth, bottom, top = np.zeros(n), np.ones(n), 0.0, 1.0
    else:
        known, growth = before / population, population / (population - np.arange(n))
        bottom = min(1.0, float(np.sum(shares)) / population)
        top = min(1.0, bottom + (population - n) / population)
    target = -math.log(level)
    bets = growth * np.sqrt(2.0 * target / (_variance_before(shares) * np.sum(growth**2)))

    def excluded(mean: float) -> bool:
        left = np.clip((mean - known) * growth, 0.0, 1.0)
        cut = np.minimum(bets, _CAP / np.maximum(left, 1e-300))
        return float(np.max(np.cumsum(np.log1p(cut * (shares - left))))) >= target

    for _ in range(_HALVINGS):
        middle = (bottom + top) / 2.0
        bottom, top = (middle, top) if excluded(middle) else (bottom, middle)
    return bottom


def _variance_before(shares: Floats) -> Floats:
    """The variance learnt from the scores before each one, starting from 1/4 after one imagined score of 1/2."""
    counts = np.arange(1.0, len(shares) + 1.0)
    means = (0.5 + np.cumsum(shares)) / (counts + 1.0)
    squares = np.concatenate(([0.0], np.cumsum((shares - means) ** 2)[:-1]))
    return (0.25 + squares) / counts
