"""The ratio of two means over the same samples: how many more tokens, or how much more time, one side took."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from accgate.stats import special
from accgate.stats.clusters import cluster_totals, clustered_t
from accgate.stats.paired import paired_t
from accgate.stats.walk import Floats


@dataclass(frozen=True)
class RatioResult:
    """The relative change of a mean as a share (0.1 is 10% more), with its 1 - 2 alpha interval, None where unbounded.

    `p_value` is that of H0 "grew by the allowed share at most".
    """

    change: float
    interval: tuple[float, float] | None
    p_value: float


def ratio_test(
    before: Floats, now: Floats, *, allowed: float = 0.0, alpha: float, codes: npt.ArrayLike | None = None
) -> RatioResult:
    """Test one-sided that the mean grew by more than the allowed share.

    mean(now) / mean(before) > 1 + allowed where the mean of now - (1 + allowed) before is above 0, so that this is a
    one-sided t test of paired differences; the interval holds the shares that neither side of it rejects.

    Parameters
    ----------
    before, now : arrays of shape (n,)
        The same samples of both sides, 0 or more, in the same unit.
    allowed : float
        Share by which the mean may grow.
    alpha : float
        Type I error rate.
    codes : int array of shape (n,), optional
        Cluster of each sample; the cluster is the unit then.

    References
    ----------
    Fieller 1954, J. Royal Statistical Society B 16 (the interval).

    Examples
    --------
    >>> now = np.array([44.0, 52.0, 61.0, 58.0, 47.0])
    >>> r = ratio_test(np.array([40.0, 50.0, 60.0, 50.0, 45.0]), now, alpha=0.05)
    >>> round(r.change, 4), round(r.p_value, 4)
    (0.0694, 0.0264)
    """
    room = (1.0 + allowed) * before - now
    test = paired_t(room, alpha=alpha, beta=0.2) if codes is None else clustered_t(room, codes, alpha=alpha, beta=0.2)
    first, second = (before, now) if codes is None else (cluster_totals(side, codes)[0] for side in (before, now))
    change = float(now.sum() / before.sum()) - 1.0
    return RatioResult(change, _fieller(first, second, alpha), test.p_value)


def _fieller(before: Floats, now: Floats, alpha: float) -> tuple[float, float] | None:
    """The shares rho - 1 with |sum(now - rho before)| <= t * its standard error; None where they have no ends."""
    units = len(before)
    if units < 2 or not before.sum():
        return None
    t2 = float(special.stdtrit(units - 1, 1.0 - alpha)) ** 2 / units
    x, y = float(before.mean()), float(now.mean())
    (xx, xy), (_, yy) = np.cov(before, now, ddof=1)
    a, b, c = x * x - t2 * xx, x * y - t2 * xy, y * y - t2 * yy
    if a <= 0.0:
        return None
    root = math.sqrt(max(b * b - a * c, 0.0))
    return (b - root) / a - 1.0, (b + root) / a - 1.0
