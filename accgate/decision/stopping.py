"""Which sequential test decides the evidence of a run.

Here is the part of it that the test looks at, too.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from accgate.decision.evidence import Evidence
from accgate.decision.sequential import (
    EProcess,
    GroupSequential,
    Gsprt,
    MarginLooks,
    Rates,
    RepeatsGsprt,
    SequentialTest,
)
from accgate.errors import BadInput
from accgate.planning.samples import visible_theta
from accgate.records.scores import Scores
from accgate.stats import Units, units_of
from accgate.stats.early_repeats import visible_drop


def sequential_test(evidence: Evidence, alpha: float) -> SequentialTest | None:
    """Return the test that may stop the run early, if there is one.

    The evidence is in the order of its clusters.

    Raises
    ------
    BadInput
        When the test needs bounds of the scores, and these have none.
    """
    return _test_of(decisive_part(evidence, alpha), alpha) if evidence.may_stop_early else None


def decisive_part(evidence: Evidence, alpha: float) -> Evidence:
    """Return the evidence, or the beginning that decides before another test.

    It is in the order of its clusters. Where the reference has no score between 0 and 100, one of the candidate changes
    the test. It must not do so for a run that was decided before it: whether it had finished by then is chance.
    """
    if not evidence.may_stop_early or evidence.data.has_few_clusters:
        return evidence
    beginning = _binary_beginning(evidence)
    return beginning if beginning is not None and are_decided([_test_of(beginning, alpha)]) else evidence


def sequential_cases(evidence: Evidence, alpha: float) -> tuple[SequentialTest | None, ...]:
    """Return the sequential test of a run's beginning.

    Where samples failed there are two, with all of them at worst and at best. None stands for a case that no sequential
    test decides, so where nothing bounds what failed samples could score.
    """
    scores = (evidence.worst, evidence.best) if evidence.candidate.failed else (None,)
    cases = [evidence.fill(score).by_cluster() for score in scores]
    if any(case.candidate.failed for case in cases):
        return (None,)
    return tuple(sequential_test(case, alpha) for case in cases)


def are_decided(cases: Sequence[SequentialTest | None]) -> bool:
    """Tell whether each of these tests has decided."""
    return all(case is not None and not case.standing.open for case in cases)


def _binary_beginning(evidence: Evidence) -> Evidence | None:
    """Return the units before the first score between 0 and 100.

    They are of a run. None where the reference has such scores too, where there is no such unit, or nothing before it.
    """
    reference, candidate, codes = evidence.reference, evidence.candidate, evidence.clusters
    if not isinstance(reference, Scores) or not reference.is_binary or evidence.n_max is None:
        return None
    if candidate.is_binary or candidate.failed:
        return None
    first = int(np.argmax((~np.isin(candidate.values, (0.0, 100.0))).any(axis=1)))
    if codes is not None:
        first = int(np.argmax(codes == codes[first]))
    return evidence.first(first) if first else None


def _test_of(evidence: Evidence, alpha: float) -> SequentialTest | None:
    """Make the test that was chosen for the evidence.

    None for one at a fixed n, and where there is no drop to look for.
    """
    choice, design = evidence.choice, evidence.design
    if not choice.is_sequential:
        return None
    if choice.method == "gsprt-repeats":
        return _repeats_test(evidence, alpha)
    bounds = evidence.bounds
    loss, is_exact = math.inf if bounds is None else bounds[1] - bounds[0], evidence.data.is_exact
    units = units_of(evidence.differences, evidence.clusters, n_max=evidence.n_max, binary=is_exact, loss=loss)
    units = replace(units, earliest=_earliest_pass(evidence, units, alpha))
    theta = design.theta
    if theta is None and units.exact:
        theta = visible_theta(units.n_max, design.discordance, alpha, design.beta)
    if theta is None:
        return None
    rates = Rates(theta=theta, alpha=alpha, beta=design.beta)
    if choice.method in ("looks", "group-sequential"):
        looks = MarginLooks(units, rates, margin=design.allowed_drop, certify=design.certify)
        return looks if choice.method == "looks" else GroupSequential(units, rates)
    if choice.method == "gsprt":
        return Gsprt(units, rates, design.discordance)
    if bounds is None:
        raise BadInput("the e-process test needs scores between known bounds (0 and 100); use gsprt")
    return EProcess(units, rates, loss)


def _repeats_test(evidence: Evidence, alpha: float) -> RepeatsGsprt:
    design, repeats = evidence.design, evidence.repeats
    theta = design.theta or visible_drop(repeats.n_max, design.discordance, alpha=alpha, beta=design.beta)
    units = Units(repeats.totals, repeats.sizes, exact=False, n_max=repeats.n_max)
    return RepeatsGsprt(units, Rates(theta=theta, alpha=alpha, beta=design.beta), repeats, design.discordance)


def _earliest_pass(evidence: Evidence, units: Units, alpha: float) -> int:
    """Return the unit from which on a run may pass.

    By then as many samples could have been lost as a sign test needs to reject. Of a model that is wrong nearly always
    the first samples of the order may all be wrong in the reference. That none of them changed says nothing.
    """
    if not len(units.totals):
        return 0
    floor, _ = evidence.ends
    room = np.full(evidence.candidate.n, True) if floor is None else evidence.better(evidence.before.means()) > floor
    ends = units.samples
    able = np.cumsum(np.logical_or.reduceat(room[: ends[-1]], ends - units.sizes))
    return int(np.searchsorted(able, math.ceil(-math.log2(alpha))))
