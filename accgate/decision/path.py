"""The path of a check of paired scores to its verdict, to draw.

It is plain data.
"""

from dataclasses import dataclass, replace

import numpy as np

from accgate.decision.evidence import Evidence
from accgate.decision.stopping import sequential_test
from accgate.design import oriented
from accgate.stats.sequential import SequentialResult
from accgate.verdict import Verdict

Points = tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class SequentialPath:
    """How a check came to its verdict, unit by unit.

    A unit is a sample, or a whole cluster. `n` are the samples used by then and `sums` the sums of their differences in
    points, turned so that worse is down. The run fails where the sum falls to `fails` and passes where it rises to
    `passes`, pairs of samples and sum. With `is_whole` these are the boundaries by which the test decided; else `fails`
    holds the limit at the last sample alone, below which it fails. `exact` says that every unit is one sample scored 0
    or 100.
    """

    n: tuple[int, ...]
    sums: tuple[float, ...]
    exact: bool
    fails: Points = ()
    passes: Points = ()
    is_whole: bool = False


def path_of(evidence: Evidence, verdict: Verdict) -> SequentialPath | None:
    """Return the path by which a check came to its verdict.

    It has the samples that it used. The test is the one that decided, at the alpha that decided. Where it does not lead
    to the verdict, as with files of another run, the path is without the test's boundaries; so is that of an e-process
    test and of one at a fixed n.

    Parameters
    ----------
    evidence : Evidence
        The samples that the check used, all with a score; `n_max` is that of the run.
    verdict : Verdict
        Of a test of paired scores.

    Returns
    -------
    SequentialPath or None
        None where nothing was tested.
    """
    if verdict.alpha_applied is None or not evidence.candidate.n:
        return None
    test = sequential_test(evidence.by_cluster(), verdict.alpha_applied) if verdict.stop is not None else None
    if test is None:
        return _at_fixed_n(evidence, verdict)
    units = test.units
    path = SequentialPath(tuple(units.samples.tolist()), tuple(np.cumsum(units.totals).tolist()), units.exact)
    drawn = test.boundaries() if _leads_to(test.result(), verdict) else None
    if drawn is not None:
        return replace(path, fails=drawn.fails, passes=drawn.passes, is_whole=True)
    return replace(path, fails=_last_limit(verdict))


def _at_fixed_n(evidence: Evidence, verdict: Verdict) -> SequentialPath:
    """Return the path of a test that looks once, sample by sample."""
    differences = evidence.differences
    sums = tuple(np.cumsum(differences).tolist())
    is_exact = bool(np.isin(differences, (-100.0, 0.0, 100.0)).all())
    return SequentialPath(tuple(range(1, len(sums) + 1)), sums, is_exact, fails=_last_limit(verdict))


def _leads_to(result: SequentialResult, verdict: Verdict) -> bool:
    same_p = verdict.p_value is not None and abs(result.p_value - verdict.p_value) <= 1e-9
    return same_p and (result.n, result.stop) == (verdict.n, verdict.stop)


def _last_limit(verdict: Verdict) -> Points:
    """Return the last sum of differences below which the check fails.

    It is that at the last sample, from its gamma.
    """
    if verdict.gamma is None or verdict.reference.mean is None:
        return ()
    limit = oriented(verdict.gamma - verdict.reference.mean, verdict.higher_is_better) * verdict.n
    return ((float(verdict.n), limit),)
