"""Slow decline, by tests of every run of a history against its anchor.

The anchor is the first run.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from accgate.stats.answers import repeats_of
from accgate.stats.power import normal_cdf
from accgate.stats.repeats import sum_tails
from accgate.stats.walk import Floats

RESOLUTION = 100.0  # steps to one standard deviation of the sum, at least
GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)  # multiples of it, without their whole parts, are spread evenly
LEAD = 3  # c of `alpha_share`: a decline of theta / 5 a run is seen soonest, and hardly later with 2 or 5


@dataclass(frozen=True)
class DriftResult:
    """Whether the last run of a history shows a decline since the history's anchor.

    `drift` is the last run's difference to the anchor in points, below 0 after a decline. `p_value` is the last run's,
    corrected for every run that the history has or may yet have, so that it compares with alpha; before that correction
    it compares with `alpha_applied`. `run` is the first run, from 1, that showed a decline; None where none did.
    """

    drift: float
    p_value: float
    alpha_applied: float
    detected: bool
    run: int | None
    reasons: tuple[str, ...] = ()


def alpha_share(run: int) -> float:
    """Return the share of alpha that is spent on a run, counted from 1.

    The share is c / ((run + c - 1) (run + c)) with c = 3; the shares of endlessly many runs sum to 1.

    >>> [round(alpha_share(run), 4) for run in (1, 2, 3, 10)]
    [0.25, 0.15, 0.1, 0.0192]
    """
    return LEAD / ((run + LEAD - 1) * (run + LEAD))


def drift_test(differences: npt.ArrayLike, p_values: npt.ArrayLike, *, alpha: float) -> DriftResult:
    """Test one-sided for a decline since the anchor, at each run.

    H0 says that no run's true mean is below the anchor's. In a history for which that holds, the probability that any
    run at all is ever detected is at most alpha, however many runs follow.

    Parameters
    ----------
    differences : array of shape (runs,), at least one
        Each run's paired difference to the anchor, points, higher is better, in the order of the runs.
    p_values : array of shape (runs,)
        Of a one-sided test that the run is below the anchor, as `anchor_tails` gives them.
    alpha : float
        Type I error rate of the whole history, with all runs that it may yet have.

    Notes
    -----
    Run r is tested alone, at `alpha_share(r)` of alpha (Bonferroni). That holds under any dependence, and the runs are
    dependent: all share the anchor's noise and the questions, and with a deterministic engine a change without effect
    on the mean moves all runs after it alike. What pools runs needs to know that dependence or to assume the worst
    of it, and then lags. Measured on 200,000 histories of 20 runs at alpha 0.05 and equal standard errors. Healthy:
    share of histories with a false alarm, where the runs are independent, share half of their variance (the anchor's),
    and stay alike for several runs. Declining by a fifth of theta a run, which a gate against the run before sees with
    probability 0.13: the mean run of the detection, where half of the variance is shared.

    | design                                            | independent | shared | alike | detected |
    |---------------------------------------------------|-------------|--------|-------|----------|
    | this one                                          |       0.042 |  0.032 | 0.022 |      5.4 |
    | the same, alpha / (r (r + 1))                     |       0.046 |  0.039 | 0.031 |      5.6 |
    | the same, alpha proportional to 1 / (r log^2 r)   |       0.041 |  0.035 | 0.029 |      5.8 |
    | mean of three runs, standard error for the worst  |       0.012 |  0.013 | 0.015 |      7.2 |
    | exponentially weighted (1/2), the same            |       0.012 |  0.014 | 0.014 |      7.1 |
    | e-values, weighted and added up                   |       0.004 |  0.006 | 0.005 |      6.8 |
    | level and slope, for noise shared and independent |       0.038 |  0.030 | 0.123 |      5.0 |
    | CUSUM, for independent runs                       |       0.049 |  0.250 | 0.310 |      5.4 |

    Where several runs are tested as the same one of a history, since only some of the runs are kept, the alpha is that
    of each history that ends in one of them, not of all together.

    References
    ----------
    Foster and Stine 2008, JRSS B 70 (alpha spent on an endless sequence of tests); Vovk and Wang 2021,
    Ann. Statist. 49 (e-values); Page 1954, Biometrika 41 (CUSUM).

    Examples
    --------
    >>> r = drift_test([-0.3, -0.9, -1.3, -2.1], [0.309, 0.067, 0.015, 0.00023], alpha=0.05)
    >>> r.drift, round(r.p_value, 4), round(r.alpha_applied, 5), r.detected, r.run
    (-2.1, 0.0032, 0.00357, True, 4)
    """
    means, chances = np.asarray(differences, dtype=np.float64), np.asarray(p_values, dtype=np.float64)
    corrected = np.minimum(chances / [alpha_share(run) for run in range(1, len(means) + 1)], 1.0)
    showed = corrected <= alpha
    detected, run = bool(showed[-1]), int(np.argmax(showed)) + 1 if showed.any() else None
    reasons = () if detected or run is None else (f"run {run} of {len(means)} showed a decline, the last one does not",)
    return DriftResult(float(means[-1]), float(corrected[-1]), alpha * alpha_share(len(means)), detected, run, reasons)


def difference_to_anchor(
    anchor_scores: npt.ArrayLike, scores: npt.ArrayLike, codes: npt.ArrayLike | None = None
) -> tuple[float, float]:
    """Return a run's mean paired difference to the anchor and its error (points).

    Parameters
    ----------
    anchor_scores, scores : arrays of shape (n,)
        Scores of the anchor and of the run on the same samples, points; repeats averaged.
    codes : int array of shape (n,), optional
        Which cluster each sample belongs to, from 0; the cluster is the unit then.

    Notes
    -----
    The standard error is that under H0, sqrt(sum of d ** 2 + 2 max d ** 2) / n: the differences about 0, and two more
    units, of which one lost and one gained as much as any did. It is 0 where no sample changed.

    References
    ----------
    Efron 1969, JASA 64 (self-normalised sums); Agresti and Min 2005, Statistics in Medicine 24 (pairs added).

    Examples
    --------
    >>> difference, error = difference_to_anchor([100.0] * 300, [0.0] * 7 + [100.0] * 293)
    >>> round(difference, 3), round(error, 3)
    (-2.333, 1.0)
    """
    before, now = np.asarray(anchor_scores, dtype=np.float64), np.asarray(scores, dtype=np.float64)
    difference = now - before
    units = difference if codes is None else np.bincount(np.asarray(codes), weights=difference)
    squares = float(units @ units) + 2.0 * float(np.max(np.abs(units))) ** 2
    return float(np.mean(difference)), math.sqrt(squares) / len(now)


def normal_tails(difference: float, error: float) -> tuple[float, float]:
    """Return one-sided normal p-values of a run below and above the anchor.

    >>> tuple(round(p, 3) for p in normal_tails(-1.0, 0.5)), normal_tails(0.0, 0.0)
    ((0.023, 0.977), (1.0, 1.0))
    """
    if error > 0.0:
        return normal_cdf(difference / error), normal_cdf(-difference / error)
    return float(difference >= 0.0), float(difference <= 0.0)


def anchor_tails(
    anchor_scores: npt.ArrayLike, scores: npt.ArrayLike, codes: npt.ArrayLike | None = None
) -> tuple[float, float]:
    """Return one-sided p-values of a run below and above the anchor.

    Parameters
    ----------
    anchor_scores, scores : arrays of shape (n, K) and (n, R)
        Scores of the anchor and of the run on the same samples, points, of every repeat.
    codes : int array of shape (n,), optional
        Which cluster each sample belongs to, from 0; the cluster is the unit then.

    Notes
    -----
    For 0/100 scores, and where a side has several answers, the test is exact: of a unit's K + R runs any R are as
    likely the candidate's, and its difference is as likely of either sign; the larger p counts (`repeats`). Other
    scores with several answers are first rounded to multiples of a small step, some up and some down. Other scores of
    one answer each have a normal test with the error of `difference_to_anchor`. Measured with `drift_test` at alpha
    0.05 on histories of 20 healthy runs, of 50 to 1,000 samples at an accuracy of 3, 50 and 95%, with 1 to 8 answers on
    either side: at most 0.042 of 1,000 histories had a false alarm.

    Examples
    --------
    Seven of 300 samples that four runs of the anchor had right are wrong now, (1 / 2) ** 7:

    >>> before, now = np.full((300, 4), 100.0), np.full((300, 1), 100.0)
    >>> now[:7] = 0.0
    >>> f"{anchor_tails(before, now)[0]:.3g}"
    '0.00781'
    """
    before, now = np.asarray(anchor_scores, dtype=np.float64), np.asarray(scores, dtype=np.float64)
    answers = np.concatenate([before, now], axis=1)
    if answers.shape[1] == 2 and not np.isin(answers, (0.0, 100.0)).all():
        return normal_tails(*difference_to_anchor(before[:, 0], now[:, 0], codes))
    counts = _steps(answers)
    repeats = repeats_of(100.0 * counts[:, : before.shape[1]], 100.0 * counts[:, before.shape[1] :], codes)
    return sum_tails(repeats)


def _steps(scores: Floats) -> Floats:
    """Round scores of shape (n, answers) to whole numbers of a step.

    Steps are counted from the lowest score of each sample. 0/100 scores become 0 and 1. For others the step is at most
    a hundredth of the standard deviation of the whole sum. The points at which samples round up are spread evenly, so
    that a small shift of many scores keeps its sum.
    """
    lowest = scores.min(axis=1, keepdims=True)
    above = scores - lowest
    if np.isin(scores, (0.0, 100.0)).all() or not above.any():
        return np.asarray(np.rint(above / 100.0))
    steps = max(RESOLUTION, 3.0 * math.sqrt(len(scores)))
    step = math.sqrt(float(np.sum(np.var(scores, axis=1)))) / steps
    order = np.lexsort(np.sort(above, axis=1).T)  # so that the order of the samples changes nothing
    starts = np.empty(len(scores))
    starts[order] = np.arange(len(scores)) * GOLDEN % 1.0
    return np.asarray(np.floor(above / step + starts[:, np.newaxis]))
