"""Sums of differences by unit, with their standard error and test result.

A unit is a sample, or a cluster of samples.
"""

import math
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from accgate.stats.paired import paired_t
from accgate.stats.power import paired_binary_effect
from accgate.stats.result import Interval, TestResult
from accgate.stats.walk import Floats, Ints

CLOSE = 1e-9  # relative rounding error at which sums count as equal


def as_units(totals: npt.ArrayLike, n: int, sizes: npt.ArrayLike | None) -> tuple[Floats, Floats]:
    """Return totals and sizes as floats.

    A total as small as a rounding error becomes 0. Without `sizes` all units have the same size.
    """
    units = np.array(totals, dtype=np.float64)
    units[np.abs(units) <= CLOSE * np.abs(units).max(initial=0.0)] = 0.0
    weights = np.full(len(units), n / len(units)) if sizes is None else np.asarray(sizes, dtype=np.float64)
    return units, weights


def residuals(totals: Floats, sizes: Floats | Ints) -> Floats:
    """Return each unit's total less its size times the mean per sample."""
    return np.asarray(totals - sizes * (totals.sum() / sizes.sum()))


def robust_error(totals: Floats, sizes: Floats | Ints) -> float | None:
    """Return the cluster-robust standard error of the mean.

    The mean is totals.sum() / sizes.sum(). Fewer than two units have no standard error, so the result is None.

    >>> round(robust_error(np.array([-3.0, 0.0, 1.0]), np.array([2.0, 1.0, 1.0])), 4)
    0.7806
    """
    units = len(totals)
    if units < 2:
        return None
    spread = math.sqrt(units / (units - 1)) * float(np.linalg.norm(residuals(totals, sizes)))
    return spread / float(sizes.sum()) if spread > CLOSE * float(np.abs(totals).max()) else 0.0


def spread_of(totals: Floats, sizes: Floats | Ints) -> float | None:
    """Return the standard deviation (points) of one sample's difference.

    It is None for fewer than two units.
    """
    error = robust_error(totals, sizes)
    return None if error is None else error * math.sqrt(float(sizes.sum()))


def unit_result(
    difference: float,
    p_value: float,
    threshold: float | None,
    theta: float,
    sigma: float,
    limits: Interval | None,
    reasons: tuple[str, ...] = (),
) -> TestResult:
    """Build the result of a test of units.

    The upper limit is moved to the side of 0 that agrees with the decision: below 0 exactly if the test rejects.
    """
    if limits is not None:
        low, high = limits.two_sided
        margin = 0.0 if threshold is None else difference - threshold
        high = min(high, margin) if margin < 0.0 else max(high, 0.0)
        limits = Interval(high, (min(low, high), high))
    return TestResult(difference, p_value, threshold, theta, sigma, limits, reasons)


def alike_result(totals: Floats, sizes: Floats, alpha: float, beta: float) -> TestResult:
    """Return the result if every sample changed by the same amount.

    A single unit has the same result. The p-value is that of `paired_t` with one difference per unit.
    """
    result = paired_t(np.full(len(totals), totals[0] / sizes[0]), alpha=alpha, beta=beta)
    if len(totals) < 2:
        return result
    return replace(result, theta=paired_binary_effect(0.0, round(sizes.sum()), alpha=alpha, beta=beta))
