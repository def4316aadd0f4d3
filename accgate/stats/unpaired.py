"""Tests that need only a mean of the reference, with a declared standard deviation.

Source: the accuracy suite's README of TensorRT-LLM (two samples of equal size); the rest is the z test.
"""

from __future__ import annotations

import math

from scipy.special import ndtr

from accgate.stats.power import detectable_effect, quantile
from accgate.stats.result import Interval, TestResult


def two_sample_z(
    mean: float, n: int, reference_mean: float, reference_n: int, *, sigma: float, alpha: float, beta: float
) -> TestResult:
    """One-sided z test that the candidate's mean is lower than the reference's.

    Parameters
    ----------
    mean, n : float, int
        Candidate's mean in points and its number of samples.
    reference_mean, reference_n : float, int
        The same for the reference.
    sigma : float
        Declared standard deviation of one score, points, of both sides.
    alpha, beta : float
        Type I and type II error rates.

    Examples
    --------
    >>> r = two_sample_z(41.0, 1319, 44.0, 1319, sigma=50.0, alpha=0.05, beta=0.2)
    >>> round(r.threshold, 4), round(r.theta, 4)
    (-3.2025, 4.8411)
    """
    return _z_test(mean - reference_mean, 1.0 / reference_n + 1.0 / n, sigma, alpha, beta)


def target_z(mean: float, n: int, target: float, *, sigma: float, alpha: float, beta: float) -> TestResult:
    """One-sided z test that the candidate's mean is lower than an absolute target (points).

    Examples
    --------
    >>> r = target_z(41.0, 400, 44.0, sigma=50.0, alpha=0.05, beta=0.2)
    >>> round(r.p_value, 4), round(r.threshold, 4)
    (0.1151, -4.1121)
    """
    return _z_test(mean - target, 1.0 / n, sigma, alpha, beta)


def _z_test(difference: float, inverse_n: float, sigma: float, alpha: float, beta: float) -> TestResult:
    error = sigma * math.sqrt(inverse_n)
    margin = -quantile(alpha) * error
    if error > 0.0:
        p_value = float(ndtr(difference / error))
        reasons: tuple[str, ...] = ()
    else:
        p_value = 0.0 if difference < 0.0 else 1.0
        reasons = ("sigma is 0: any drop is a regression",)
    return TestResult(
        difference=difference,
        p_value=p_value,
        threshold=-margin,
        theta=detectable_effect(sigma, 1.0 / inverse_n, alpha=alpha, beta=beta),
        sigma=sigma,
        interval=Interval(difference + margin, (difference - margin, difference + margin)),
        reasons=reasons,
    )
