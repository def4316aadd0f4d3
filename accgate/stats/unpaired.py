"""Tests that need no more of the reference than its mean.

The z tests take a declared standard deviation, the t tests estimate it. The z test of two samples of equal size is that
of TensorRT-LLM's accuracy suite (its README).
"""

import math
from typing import NamedTuple

from accgate.stats import special
from accgate.stats.power import detectable_effect, normal_cdf, quantile
from accgate.stats.result import Interval, TestResult


class Moments(NamedTuple):
    """Mean and standard deviation (ddof 1) of scores, in points, and their number."""

    mean: float
    sd: float
    n: int


def two_sample_z(
    mean: float, n: int, reference_mean: float, reference_n: int, *, sigma: float, alpha: float, beta: float
) -> TestResult:
    """Test one-sided by z that the candidate's mean is below the reference's.

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
    """Test one-sided by z that the candidate's mean is below a target (points).

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
    p_value = normal_cdf(difference / error) if error > 0.0 else float(difference >= 0.0)
    reasons = () if error > 0.0 else ("sigma is 0: any drop is a regression",)
    theta = detectable_effect(sigma, 1.0 / inverse_n, alpha=alpha, beta=beta)
    interval = Interval(difference + margin, (difference - margin, difference + margin))
    return TestResult(difference, p_value, -margin, theta, sigma, interval, reasons)


def student_t(now: Moments, target: float, *, alpha: float, beta: float) -> TestResult:
    """Test one-sided by one-sample t that the mean is below a target (points).

    Parameters
    ----------
    now : Moments
        Of the candidate.
    target : float
        The mean that must hold, points.
    alpha, beta : float
        Type I and type II error rates.

    Notes
    -----
    `sigma` is the sample's own standard deviation, and theta the drop that a z test with it detects. Without any
    spread it is `least_sd`, with a reason. With one sample p is 1.

    References
    ----------
    Student 1908, Biometrika 6.

    Examples
    --------
    >>> r = student_t(Moments(41.0, 49.2, 400), 44.0, alpha=0.05, beta=0.2)
    >>> round(r.p_value, 4), round(r.threshold, 4)
    (0.1117, -4.0558)
    """
    difference, n = now.mean - target, now.n
    if n < 2:
        return no_variance(difference)
    used, reasons = _with_floor("candidate", now, alpha)
    return t_result(difference, used / math.sqrt(n), n - 1.0, used, alpha, beta, reasons)


def welch_t(now: Moments, before: Moments, *, alpha: float, beta: float) -> TestResult:
    """Test one-sided by Welch's t that the candidate's mean is lower.

    Each side has its own variance.

    Parameters
    ----------
    now, before : Moments
        Of the candidate and of the reference.
    alpha, beta : float
        Type I and type II error rates.

    Notes
    -----
    Degrees of freedom are Welch and Satterthwaite's. `sigma` is reported pooled, the root of the two variances'
    mean weighted by n - 1; the test itself pools nothing. theta is the drop that a z test with this standard error
    detects. A side without any spread has `least_sd`, with a reason. With one sample on a side p is 1.

    References
    ----------
    Welch 1947, Biometrika 34; Satterthwaite 1946, Biometrics Bulletin 2.

    Examples
    --------
    >>> r = welch_t(Moments(41.0, 49.2, 1319), Moments(44.0, 49.7, 1319), alpha=0.05, beta=0.2)
    >>> round(r.p_value, 4), round(r.threshold, 4)
    (0.0597, -3.1684)
    """
    difference, n, n_before = now.mean - before.mean, now.n, before.n
    if n < 2 or n_before < 2:
        return no_variance(difference)
    used, reasons = _with_floor("candidate", now, alpha)
    used_before, more = _with_floor("reference", before, alpha)
    a, b = used**2 / n, used_before**2 / n_before
    df = (a + b) ** 2 / (a**2 / (n - 1) + b**2 / (n_before - 1))
    pooled = math.sqrt(((n - 1) * used**2 + (n_before - 1) * used_before**2) / (n + n_before - 2))
    return t_result(difference, math.sqrt(a + b), df, pooled, alpha, beta, reasons + more)


def least_sd(value: float, n: int, *, alpha: float) -> float:
    """Return the standard deviation (points) of n scores of the same `value`.

    The tests assume it, since none can be estimated. It makes the t limit of the mean at alpha the exact limit for
    scores between 0 and 100: if the true mean were more than 1 - alpha ** (1 / n) of the way to the further end of the
    scale, n scores at `value` or beyond would have a probability under alpha. If all answers are wrong, or all right,
    this is Clopper and Pearson's limit, about 300 / n points at alpha 0.05. Adding pseudo-observations would give less.

    References
    ----------
    Clopper and Pearson 1934, Biometrika 26; Hanley and Lippman-Hand 1983, JAMA 249 (the rule of three).

    Examples
    --------
    >>> round(least_sd(0.0, 100, alpha=0.05), 2)
    17.77
    """
    margin = max(abs(value), 100.0 - value) * -math.expm1(math.log(alpha) / n)
    return margin * math.sqrt(n) / float(special.stdtrit(n - 1, 1.0 - alpha))


def _with_floor(side: str, scores: Moments, alpha: float) -> tuple[float, tuple[str, ...]]:
    mean, sd, n = scores
    if sd > 1e-12 * max(abs(mean), 1.0):  # what rounding leaves of equal scores is no spread
        return sd, ()
    used = least_sd(mean, n, alpha=alpha)
    return used, (f"every score of the {side} is {mean:g}: a standard deviation of {used:.3g} was assumed",)


def no_variance(difference: float) -> TestResult:
    """Return the result of one sample, which cannot reject."""
    reason = "one sample has no variance: no drop can be seen"
    return TestResult(difference, 1.0, None, None, None, None, (reason,))


def t_result(
    difference: float, error: float, df: float, sigma: float, alpha: float, beta: float, reasons: tuple[str, ...] = ()
) -> TestResult:
    """Build the result of a one-sided t test from a standard error."""
    margin = float(special.stdtrit(df, 1.0 - alpha)) * error
    p_value = float(special.stdtr(df, difference / error))
    theta = detectable_effect(error, 1, alpha=alpha, beta=beta)
    interval = Interval(difference + margin, (difference - margin, difference + margin))
    return TestResult(difference, p_value, -margin, theta, sigma, interval, reasons)
