"""The verdict on a statistic that is not a mean of scores, by the same alpha, beta, theta and gamma."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from accgate.decision.check import with_figures, with_statistic
from accgate.decision.comparison import check_design
from accgate.decision.conclusion import NO_BOUNDS, conclusion_of, too_few
from accgate.decision.outcome import Outcome
from accgate.design import Design, oriented
from accgate.errors import BadInput
from accgate.stats import Rows, StatisticUndefined
from accgate.stats.statistics import Method
from accgate.verdict import CandidateSummary, ReferenceSummary, Verdict


def compare_statistic(
    reference: npt.ArrayLike,
    candidate: npt.ArrayLike,
    statistic: Callable[[Rows], float],
    *,
    alpha: float = 0.05,
    beta: float = 0.2,
    theta: float | None = None,
    higher_is_better: bool = True,
    clusters: npt.ArrayLike | None = None,
    method: Method = "influence",
    resamples: int = 9999,
    seed: int = 0,
) -> Verdict:
    """Decide whether a statistic of the candidate is worse than that of the reference.

    Parameters
    ----------
    reference, candidate : array of shape (n,) or (n, k)
        What the statistic needs of each sample, such as (confidence, right), the same samples row by row.
    statistic : callable
        Takes such rows and returns the statistic in points. An `Unsigned` one, as of calibration errors, is freed of
        what chance alone makes of it.
    alpha, beta : float
        Type I and type II error rates.
    theta : float, optional
        The change for the worse (points) that must be detectable, or the verdict is inconclusive; so it is for samples
        so few that nothing could be a regression.
    method : str
        `influence`, or `bootstrap` for few or skewed samples.

    Raises
    ------
    BadInput
        For sides of different length, a statistic without a value, and arguments out of range.

    Examples
    --------
    The attack success rate rose from 20% to 35%:

    >>> before = np.repeat([1, 1, 0, 0], [34, 6, 36, 124])
    >>> after = np.repeat([1, 0, 1, 0], [34, 6, 36, 124])
    >>> verdict = compare_statistic(before, after, lambda rows: 100.0 * rows.mean(), higher_is_better=False)
    >>> verdict.verdict, round(verdict.gamma, 2)
    ('regression', 25.07)
    """
    from accgate.stats import Unsigned, statistic_test

    design = Design("auto", alpha, beta, None, theta, higher_is_better)
    check_design(design)
    before, after = np.asarray(reference), np.asarray(candidate)
    if before.shape != after.shape or not len(before):
        raise BadInput(f"the sides have the shapes {before.shape} and {after.shape}; give the same samples, row by row")
    try:
        result = statistic_test(
            before,
            after,
            lambda rows: oriented(float(statistic(rows)), higher_is_better),
            alpha=alpha,
            beta=beta,
            clusters=clusters,
            method=method,
            turn=statistic.turn if isinstance(statistic, Unsigned) else None,
            resamples=resamples,
            seed=seed,
        )
    except (StatisticUndefined, ValueError) as error:
        raise BadInput(f"the statistic cannot be compared: {error}") from error
    n, units = len(after), None if clusters is None else len(np.unique(np.asarray(clusters)))
    outcome = Outcome(method, n, result)
    unable = None if outcome.rejects else too_few(design, n, units, alpha)
    blank = Verdict(
        model=None,
        task=None,
        verdict="error",
        test=method,
        n=n,
        reference=ReferenceSummary(None, n),
        candidate=CandidateSummary(None, n),
        alpha=alpha,
        beta=beta,
        alpha_applied=alpha,
        p_adjusted=result.p_value,
        theta_target=theta,
        higher_is_better=higher_is_better,
    )
    conclusion, own = conclusion_of(outcome, design, NO_BOUNDS, unable, alpha), outcome.directed(higher_is_better)
    assert own is not None
    value = float(statistic(before))
    return with_figures(with_statistic(blank, value, value + own.difference), own, conclusion)
