"""The verdict on a statistic that is not a mean of scores.

It has the same alpha, beta, theta and gamma.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from accgate.decision.comparison import decide
from accgate.decision.evidence import Evidence, SampleStatistic
from accgate.design import Design
from accgate.errors import BadInput
from accgate.records.ids import Ids
from accgate.records.scores import Scores
from accgate.stats import Rows
from accgate.stats.statistics import Method, unit_codes
from accgate.verdict import Verdict


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
    before, after = np.asarray(reference), np.asarray(candidate)
    if before.shape != after.shape or not len(before):
        raise BadInput(f"the sides have the shapes {before.shape} and {after.shape}; give the same samples, row by row")
    scores = Scores(Ids(map(str, range(len(after)))), np.zeros((len(after), 1)))  # the statistic alone decides
    design = Design("auto", alpha, beta, None, theta, higher_is_better, seed=seed)
    of_rows = SampleStatistic(statistic, before, after, method, resamples=resamples)
    try:
        codes = None if clusters is None else unit_codes(len(after), clusters)
        (verdict,) = decide([Evidence(scores, scores, design, clusters=codes, statistic=of_rows)])
    except ValueError as error:
        raise BadInput(f"the statistic cannot be compared: {error}") from error
    if verdict.verdict == "error":
        raise BadInput(f"the statistic cannot be compared: {verdict.causes[0].figures['fact']}")
    return replace(verdict, statistic=None, lost=None, gained=None, discordance=None)  # of scores that are not there
