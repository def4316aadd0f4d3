"""The ratio of two means over the same samples: how many more tokens, or how much more time, one side took."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from accgate.stats.bootstrap import weighted_score
from accgate.stats.clusters import cluster_totals
from accgate.stats.power import normal_cdf, quantile
from accgate.stats.search import zero_between
from accgate.stats.walk import Floats


@dataclass(frozen=True)
class RatioResult:
    """The relative change of a mean as a share (0.1 is 10% more), with its 1 - 2 alpha interval.

    `p_value` is that of H0 "grew by the allowed share at most". `sees_double` is whether samples that took twice what
    is allowed would be a regression.
    """

    change: float
    interval: tuple[float, float]
    p_value: float
    sees_double: bool


def ratio_test(
    before: Floats,
    now: Floats,
    *,
    longest: tuple[float, float],
    allowed: float = 0.0,
    alpha: float,
    codes: npt.ArrayLike | None = None,
) -> RatioResult:
    """Test one-sided that the mean grew by more than the allowed share.

    mean(now) / mean(before) > 1 + allowed where the mean of (1 + allowed) before - now is below 0. p is the chance that
    the sum of these differences, each with an exponential weight of its own, is at least 0, where one more sample is
    added that took the longest before and nothing now. So it holds for every shape, also where rare samples
    that none of the n shows carry the mean. The interval holds the shares that neither side of the test rejects.

    Parameters
    ----------
    before, now : arrays of shape (n,)
        The same samples of both sides, 0 or more, in the same unit; before not all 0.
    longest : tuple of float
        The most that a sample can take before and now; more where a sample took more.
    allowed : float
        Share by which the mean may grow.
    alpha : float
        Type I error rate.
    codes : int array of shape (n,), optional
        Cluster of each sample; the cluster is the unit then.

    References
    ----------
    Gaffke 2005, Metrika 62 (the test; proven for two values, and no distribution is known where it fails);
    Learned-Miller and Thomas 2020, arXiv 1905.06208.

    Examples
    --------
    >>> before, now = np.tile([40.0, 50.0, 60.0, 50.0, 45.0], 10), np.tile([44.0, 52.0, 61.0, 58.0, 47.0], 10)
    >>> r = ratio_test(before, now, longest=(64.0, 64.0), alpha=0.05)
    >>> round(r.change, 4), round(r.p_value, 4), r.sees_double
    (0.0694, 0.0789, True)
    """
    rate = float(now.sum() / before.sum())
    most = max(longest[0], float(before.max())), max(longest[1], float(now.max()))
    if codes is not None:
        (before, sizes), (now, _) = (cluster_totals(side, codes) for side in (before, now))
        most = most[0] * float(sizes.max()), most[1] * float(sizes.max())
    level = -quantile(alpha)

    def grew(beyond: float) -> float:
        return float(drop_evidence(beyond * before - now, beyond * most[0])) - level

    def fell(below: float) -> float:
        return float(drop_evidence(now - below * before, most[1])) - level

    high = max(2.0 * rate, most[1] / most[0])
    while fell(high) < 0.0:
        high *= 2.0
    interval = _crossing(grew, rate, 0.0) - 1.0, _crossing(fell, rate, high) - 1.0
    p_value = normal_cdf(-level - grew(1.0 + allowed))
    return RatioResult(rate - 1.0, interval, p_value, sees_double(before, most[0], alpha=alpha))


def sees_double(before: Floats, most: float, *, alpha: float) -> bool:
    """Whether samples, none of which can take more than `most`, would show it if all took twice what is allowed.

    >>> sees_double(np.full(40, 5.0), 20.0, alpha=0.01), sees_double(np.full(10, 5.0), 20.0, alpha=0.01)
    (True, False)
    """
    return float(drop_evidence(-before, most)) >= -quantile(alpha)


def drop_evidence(values: Floats, most: float) -> Floats:
    """z of the evidence that the mean of values, of shape (..., n) and none above `most`, is below 0.

    For values of one size d this is p = (most / (most + d)) ** n, but for the saddlepoint's error.

    >>> z = drop_evidence(np.full(30, -4.0), 20.0)
    >>> round(normal_cdf(-float(z)), 4), round((20.0 / 24.0) ** 30, 4)
    (0.0043, 0.0042)
    """
    return weighted_score(np.concatenate([values, np.full((*values.shape[:-1], 1), most)], axis=-1))


def _crossing(excess: Callable[[float], float], start: float, end: float) -> float:
    """The rate between at which the excess, which rises towards the end, is 0; the nearer end where it never is."""

    if excess(start) >= 0.0 or excess(end) <= 0.0:
        return start if excess(start) >= 0.0 else end
    return zero_between(excess, start, end, width=1e-12, share=1e-10)
