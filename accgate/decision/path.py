"""The path of a check of paired scores to its verdict, as plain data to draw."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from accgate.decision.evidence import Evidence
from accgate.decision.sequential import SequentialCheck, difference_of, order_by_cluster, sequential_check
from accgate.design import oriented
from accgate.stats import SequentialResult
from accgate.stats.sequential import Boundaries
from accgate.verdict import Verdict

Points = tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Bets:
    """What two bets have won after each unit, as shares of what decides: that there is a drop, and that there is none.

    They are the logarithms of their capitals over log(1 / alpha) and log(1 / beta).
    """

    drop: tuple[float, ...]
    sound: tuple[float, ...]


@dataclass(frozen=True)
class SequentialPath:
    """How a check came to its verdict, unit by unit (a sample, or a whole cluster).

    `n` are the samples used by then and `sums` the sums of their differences in points, turned so that worse is down.
    The run fails where the sum falls to `fails` and passes where it rises to `passes`, pairs of samples and sum. With
    `is_whole` these are the boundaries by which the test decided; else `fails` holds the limit at the last sample
    alone. `exact` says that every unit is one sample scored 0 or 100. `bets` are those of an e-process test.
    """

    n: tuple[int, ...]
    sums: tuple[float, ...]
    exact: bool
    fails: Points = ()
    passes: Points = ()
    is_whole: bool = False
    bets: Bets | None = None


def path_of(evidence: Evidence, verdict: Verdict) -> SequentialPath | None:
    """The path by which a check came to its verdict, from the samples that it used.

    The test is the one that decided, at the alpha that decided. Where it does not lead to the verdict, as with files
    of another run, the path is without the test's boundaries and bets; so is that of a test at a fixed n.

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
    check = sequential_check(order_by_cluster(evidence), verdict.alpha_applied) if verdict.stop is not None else None
    if check is None:
        return _at_fixed_n(evidence, verdict)
    units = check.units
    path = SequentialPath(tuple(units.samples.tolist()), tuple(np.cumsum(units.totals).tolist()), units.exact)
    if not _leads_to(check.result(), verdict):
        return replace(path, fails=_last_limit(verdict))
    if check.looks is not None:
        return replace(path, fails=_last_limit(verdict))
    if check.test == "e-process":
        return replace(path, fails=_last_limit(verdict), bets=_bets(check))
    boundaries = _boundaries(check)
    return replace(path, fails=boundaries.fails, passes=boundaries.passes, is_whole=True)


def _at_fixed_n(evidence: Evidence, verdict: Verdict) -> SequentialPath:
    """The path of a test that looks once, sample by sample."""
    differences = difference_of(evidence)
    sums = tuple(np.cumsum(differences).tolist())
    is_exact = bool(np.isin(differences, (-100.0, 0.0, 100.0)).all())
    return SequentialPath(tuple(range(1, len(sums) + 1)), sums, is_exact, fails=_last_limit(verdict))


def _leads_to(result: SequentialResult, verdict: Verdict) -> bool:
    same_p = verdict.p_value is not None and abs(result.p_value - verdict.p_value) <= 1e-9
    return same_p and (result.n, result.stop) == (verdict.n, verdict.stop)


def _boundaries(check: SequentialCheck) -> Boundaries:
    if check.test == "group-sequential":
        from accgate.stats.group_sequential import group_sequential_boundaries

        return group_sequential_boundaries(check.units, **check.rates)
    if check.repeats is not None:
        from accgate.stats.early_repeats import repeats_boundaries

        return repeats_boundaries(check.repeats, discordance=check.discordance, **check.rates)
    from accgate.stats.gsprt import gsprt_boundaries

    return gsprt_boundaries(check.units, discordance=check.discordance, **check.rates)


def _bets(check: SequentialCheck) -> Bets:
    from accgate.stats import betting_path

    path, rates = (
        betting_path(
            check.units.totals, check.units.planned, bound=check.bound, earliest=check.units.earliest, **check.rates
        ),
        check.rates,
    )
    assert path.log_sound is not None
    drop, sound = path.log_drop / -math.log(rates["alpha"]), path.log_sound / -math.log(rates["beta"])
    return Bets(tuple(drop.tolist()), tuple(sound.tolist()))


def _last_limit(verdict: Verdict) -> Points:
    """The sum of differences at the last sample below which the check fails, from its gamma."""
    if verdict.gamma is None or verdict.reference.mean is None:
        return ()
    limit = oriented(verdict.gamma - verdict.reference.mean, verdict.higher_is_better) * verdict.n
    return ((float(verdict.n), limit),)
