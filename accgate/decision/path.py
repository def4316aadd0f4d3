"""The path of paired scores to a verdict, as plain data to draw."""

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

    A unit is a sample or a whole cluster. `n` counts the samples after each unit, and `sums` adds up their differences
    in points, turned so that worse is down. `fails` and `passes` are pairs of a number of samples and a sum: the run
    fails where its sum falls to the one, and passes where it rises to the other. With `is_whole` they are the test's
    own boundaries; else `fails` holds only the limit at the last sample. `exact` says that every unit is one sample
    scored 0 or 100.
    """

    n: tuple[int, ...]
    sums: tuple[float, ...]
    exact: bool
    fails: Points = ()
    passes: Points = ()
    is_whole: bool = False


def path_of(evidence: Evidence, verdict: Verdict) -> SequentialPath | None:
    """Return the path by which a check came to its verdict.

    The test that decided is computed again at the alpha that decided. Where it gives another verdict, as with files of
    another run, the path has no boundaries; nor has it for an e-process test, or for one at a fixed n.

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
    drawn = test.boundaries() if test.boundaries is not None and _leads_to(test.result(), verdict) else None
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
    """Return the sum below which the check fails at its last sample.

    The check's gamma gives that sum.
    """
    if verdict.gamma is None or verdict.reference.mean is None:
        return ()
    limit = oriented(verdict.gamma - verdict.reference.mean, verdict.higher_is_better) * verdict.n
    return ((float(verdict.n), limit),)
