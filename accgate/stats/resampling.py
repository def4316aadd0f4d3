"""The sign-flip test of paired scores."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from accgate.stats.paired import mcnemar_exact
from accgate.stats.power import quantile
from accgate.stats.result import Interval, TestResult
from accgate.stats.signs import (
    all_subsets,
    common_step,
    lattice_decision,
    pattern_decision,
    random_subsets,
    shift_limits,
)
from accgate.stats.totals import alike_result, as_units, robust_error, unit_result

LISTED = 20  # units whose 2 ** 20 sign patterns are all listed


def sign_flip(
    totals: npt.ArrayLike,
    n: int,
    *,
    sizes: npt.ArrayLike | None = None,
    alpha: float,
    beta: float,
    resamples: int = 9999,
    seed: int = 0,
) -> TestResult:
    """One-sided permutation test of paired scores: the sign of every unit's total is flipped at random.

    Where reference and candidate are exchangeable, a unit (a sample, or a cluster of samples) is as likely to change
    by T as by -T. p is the share of all sign patterns whose sum is at most the observed one.

    Parameters
    ----------
    totals : array of shape (G,)
        Sum of the differences candidate - reference in each unit, points.
    n : int
        Samples in all units together.
    sizes : array of shape (G,), optional
        Samples in each unit; by default all units have the same.
    alpha, beta : float
        Type I and type II error rates.
    resamples, seed : int
        Number of random patterns where not all can be counted, and the seed that draws them.

    Notes
    -----
    p is exact where the totals are multiples of a common step, as 0/100 scores and averages of repeats are, and for up
    to 20 changed units. Else it is (b + 1) / (resamples + 1), the observed pattern counted. Single 0/100 scores give
    McNemar's exact test.

    The interval holds the shifts of every sample that are not rejected, by rank among the means of flipped units: from
    all patterns for up to 20 units, from the random ones where p is from them. In between it is the normal one with
    the cluster-robust standard error. Its upper limit is below 0 exactly where the test rejects. Where nothing
    changed, or every sample by the same, the answer is that of `paired_t`. theta is no less than the distance to the
    threshold and z_{1-beta} standard errors: of one unit much larger than the others no standard error says enough.

    References
    ----------
    Fisher 1935, The Design of Experiments; Hartigan 1969, JASA 64 (the interval); Phipson and Smyth 2010,
    Stat. Appl. Genet. Mol. Biol. 9 (the observed pattern counts).

    Examples
    --------
    >>> r = sign_flip([-3.0, -1.0, 0.5, -4.0, -2.0], 5, alpha=0.1, beta=0.2)
    >>> r.p_value, round(r.threshold, 4)
    (0.0625, -1.6)
    """
    units, weights = as_units(totals, n, sizes)
    if len(units) == n and units.any() and np.isin(units, (-100.0, 0.0, 100.0)).all():
        return mcnemar_exact(int((units < 0).sum()), int((units > 0).sum()), n, alpha=alpha, beta=beta)
    difference, error = float(units.sum()) / n, robust_error(units, weights)
    if not error:
        return alike_result(units, weights, alpha, beta)
    changed, both = units[units != 0.0], np.column_stack([units, weights])
    margin = -quantile(alpha) * error
    limits: Interval | None = Interval(difference + margin, (difference - margin, difference + margin))
    if lattice := common_step(np.abs(changed)):
        multiples, step = lattice
        p_value, cut = lattice_decision(multiples, changed < 0.0, alpha)
        cut = None if cut is None else cut * step
    elif len(changed) <= LISTED:
        p_value, cut = pattern_decision(all_subsets(changed[:, None])[:, 0], changed, alpha, counted=0)
    else:
        flipped = random_subsets(both, resamples, seed)
        p_value, cut = pattern_decision(flipped[:, 0], changed, alpha, counted=1)
        limits = shift_limits(flipped, alpha)
    if len(units) <= LISTED:
        limits = shift_limits(all_subsets(both)[1:], alpha)
    reasons = () if cut is not None else (f"too few changes: at alpha {alpha:g} no pattern of signs is a regression",)
    threshold = None if cut is None else cut / n
    result = unit_result(difference, p_value, threshold, error, n, limits, alpha, beta, reasons)
    if result.theta is None or threshold is None:
        return result
    return replace(result, theta=max(result.theta, -threshold - quantile(beta) * error))
