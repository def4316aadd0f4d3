"""Paired tests of the same samples in reference and candidate."""

import math

import numpy as np

from accgate.stats import special
from accgate.stats.difference import exact_difference_interval
from accgate.stats.mcnemar import mcnemar_critical, mcnemar_theta, mid_p
from accgate.stats.power import paired_binary_effect
from accgate.stats.result import TestResult
from accgate.stats.unpaired import no_variance, t_result
from accgate.stats.walk import Floats


def mcnemar_exact(lost: int, gained: int, n: int, *, alpha: float, beta: float) -> TestResult:
    """Test paired 0/100 scores one-sided by McNemar's exact test.

    Under H0 each of the m = lost + gained discordant pairs is a loss with probability at most 1/2, so
    p = P(Bin(m, 1/2) >= lost). With c the least count of losses whose p is at most alpha, the threshold on
    the difference is -100 (2 c - m - 1) / n; where no c exists it is None and nothing is rejected.

    Parameters
    ----------
    lost, gained : int
        Samples right in the reference and wrong in the candidate, and the reverse.
    n : int
        Pairs.
    alpha, beta : float
        Type I and type II error rates.

    Notes
    -----
    The interval is exact for the difference of the two shares, and its upper limit is below 0 exactly where the test
    rejects (`exact_difference_interval`).

    References
    ----------
    McNemar 1947, Psychometrika 12; Lancaster 1961, JASA 56 (mid-p).

    Examples
    --------
    >>> r = mcnemar_exact(53, 26, 1319, alpha=0.05, beta=0.2)
    >>> round(r.p_value, 6), round(r.threshold, 4)
    (0.001592, -1.213)
    """
    m = lost + gained
    critical, theta = int(mcnemar_critical(m, alpha)), mcnemar_theta(n, discordance=m / n, alpha=alpha, beta=beta)
    return exact_result(lost, gained, n, alpha=alpha, p_value=mcnemar_p(lost, m), critical=critical, theta=theta)


def mcnemar_p(lost: int, discordant: int) -> float:
    """Return P(Bin(m, 1/2) >= lost) for m discordant pairs.

    >>> mcnemar_p(5, 5), mcnemar_p(0, 3)
    (0.03125, 1.0)
    """
    return float(special.bdtrc(lost - 1, discordant, 0.5)) if lost > 0 else 1.0


def exact_result(
    lost: int,
    gained: int,
    n: int,
    *,
    alpha: float,
    p_value: float,
    critical: int,
    theta: float | None,
    limit: float | None = None,
) -> TestResult:
    """Return the result of an exact test of paired 0/100 scores.

    The test rejects if at least `critical` of the changed samples are losses. `limit` is the largest mid-p that the
    unconditional test rejects, None for McNemar's exact test. The interval is computed to agree with that test.
    """
    m, difference = lost + gained, 100.0 * (gained - lost) / n
    variance = (100.0**2 * m - n * difference**2) / (n - 1) if n > 1 else None
    return TestResult(
        difference=difference,
        p_value=p_value,
        threshold=-100.0 * (2 * critical - m - 1) / n if critical <= m else None,
        theta=theta,
        sigma=None if variance is None else math.sqrt(max(variance, 0.0)),
        interval=exact_difference_interval(lost, gained, n, alpha=alpha, limit=limit),
        reasons=() if m else ("no sample changed its score",),
        p_mid=float(mid_p(lost, m)),
    )


def paired_t(differences: Floats, *, alpha: float, beta: float) -> TestResult:
    """Test one-sided by paired t that the differences' mean is below 0.

    Parameters
    ----------
    differences : array of shape (n,)
        Candidate minus reference, points.
    alpha, beta : float
        Type I and type II error rates.

    Notes
    -----
    Degenerate inputs have a defined answer and a reason. Where every difference is the same, no variance can be
    estimated: p is the sign test's, 2 ** -n for a drop, there is no interval, and theta is that of 0/100 scores
    without a flip, since no variation on few samples proves little. With one sample p is 1.

    References
    ----------
    Student 1908, Biometrika 6; Miller 2024, arXiv 2411.00640 (paired differences of evaluations).

    Examples
    --------
    >>> r = paired_t(np.array([-3.0, -1.0, 0.0, -4.0, -2.0]), alpha=0.05, beta=0.2)
    >>> round(r.p_value, 4), round(r.threshold, 4)
    (0.0237, -1.5074)
    """
    n = len(differences)
    mean = float(np.mean(differences))
    if n < 2:
        return no_variance(mean)
    sd = float(np.std(differences, ddof=1))
    same = np.ptp(differences) == 0.0  # exactly: rounding in the mean must not invent a variance
    if same or sd == 0.0:
        return _constant(float(differences[0]) if same else mean, n, alpha, beta)
    return t_result(mean, sd / math.sqrt(n), n - 1.0, sd, alpha, beta)


def _constant(value: float, n: int, alpha: float, beta: float) -> TestResult:
    """Return the result of samples that all changed by the same `value`.

    The p-value is that of a sign test, and there is no interval.
    """
    p_value = 0.5**n if value < 0.0 else 1.0
    reason = f"every sample changed by exactly {value:g} points" if value else "no sample changed its score"
    threshold, theta = 0.0 if 0.5**n <= alpha else None, paired_binary_effect(0.0, n, alpha=alpha, beta=beta)
    return TestResult(value, p_value, threshold, theta, sigma=0.0, interval=None, reasons=(reason,))
