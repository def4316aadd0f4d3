"""The tests that may stop early, and the choice of a run's test."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TypedDict

import numpy as np

from accgate.decision.evidence import Evidence
from accgate.errors import BadInput
from accgate.planning.samples import visible_theta
from accgate.records.scores import Scores
from accgate.stats.answers import Repeats
from accgate.stats.betting import betting_path, e_process_test
from accgate.stats.early_repeats import (
    RepeatsSchedule,
    repeats_boundaries,
    repeats_schedule,
    repeats_sequential,
    visible_drop,
)
from accgate.stats.graded import graded_next
from accgate.stats.group_sequential import (
    LOOKS,
    group_design,
    group_sequential_boundaries,
    group_sequential_test,
    next_look,
)
from accgate.stats.gsprt import Passing, Schedule, gsprt_boundaries, gsprt_test, schedule, soonest_pass
from accgate.stats.margin import margin_looks
from accgate.stats.sequential import Boundaries, Near, SequentialResult, Units, units_of
from accgate.stats.walk import Ints


class Rates(TypedDict):
    """What every sequential test takes besides its units, theta in points."""

    theta: float
    alpha: float
    beta: float


@dataclass(frozen=True)
class SequentialTest:
    """A sequential test of the units of a run, or of its beginning.

    `result` computes it; without `figures` only where it stops, and its p-value. `boundaries` draws the sums at which
    it decides, and `next` computes how near a decision is; each is None where the test has no such thing.
    """

    units: Units
    result: Callable[..., SequentialResult]
    boundaries: Callable[[], Boundaries] | None = None
    next: Callable[[], Near] | None = None

    @cached_property
    def standing(self) -> SequentialResult:
        """The run's state, without the slow figures that decide nothing."""
        return self.result(figures=False)


def _near_gsprt(units: Units, discordance: float | None, rates: Rates) -> Near:
    plan = schedule(units, discordance=discordance, **rates)
    passing = Passing(units, plan, rates["theta"], rates["beta"])
    passes = float(passing.sums(np.array([plan.last]))[0])
    soonest = soonest_pass(units, discordance=discordance, **rates)
    return Near(_allowed(plan, units.events), passes, passing.share(plan.last), soonest=soonest)


def _near_repeats(repeats: Repeats, discordance: float | None, rates: Rates) -> Near:
    sides = repeats.sides
    plan = repeats_schedule(sides, discordance=discordance, **rates)
    total, passes = float(sides.totals[: plan.last + 1].sum()), 100.0 * float(plan.passes[plan.last])
    # At half a drop nothing speaks for either side.
    half = 0.5 * rates["theta"] * float(sides.samples[plan.last])
    share = min(max((total + half) / (passes + half), 0.0), 1.0)
    return Near(_allowed(plan, sides.events), passes, share)


def _near_look(units: Units, rates: Rates) -> Near:
    if not units.exact:
        return graded_next(units, **rates)
    theta, alpha = rates["theta"], rates["alpha"]
    look = next_look(units, group_design(min(LOOKS, units.n_max), alpha, rates["beta"]), theta=theta, alpha=alpha)
    changed, total = int(look.changed[0]), float(units.totals.sum())
    passes = total + math.ceil((-float(look.most[0]) - total) / 200.0) * 200.0
    drop = theta * int(units.sizes.sum())
    share = 1.0 if total >= passes else min(max((drop + total) / (drop + passes), 0.0), 1.0)
    return Near(float(look.spent[0]) if changed else 0.0, passes, share, int(look.n[0]))


def _near_bets(units: Units, bound: float, rates: Rates) -> Near:
    path = betting_path(units.totals, units.planned, bound=bound, earliest=units.earliest, **rates)
    assert path.log_sound is not None
    share = min(max(float(path.log_sound[-1]) / -math.log(rates["beta"]), 0.0), 1.0)
    return Near(rates["alpha"], math.nan, share)


def _allowed(plan: Schedule | RepeatsSchedule, events: Ints) -> float:
    """Return the type I error that may be spent by the last change. It is 0 before any change."""
    events = events[events <= plan.last]
    return float(plan.allowed[events[-1]]) if len(events) else 0.0


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
    """Return the evidence, or the beginning of it that decides the check already.

    The evidence must be in the order of its clusters. Where the reference has only scores of 0 and 100, a score between
    them in the candidate changes the test. A run that was decided before that sample keeps its verdict: whether the
    sample had finished by then is chance.
    """
    if not evidence.may_stop_early or evidence.data.has_few_clusters:
        return evidence
    beginning = _binary_beginning(evidence)
    return beginning if beginning is not None and are_decided([_test_of(beginning, alpha)]) else evidence


def sequential_cases(evidence: Evidence, alpha: float) -> tuple[SequentialTest | None, ...]:
    """Return the sequential tests of a run's beginning.

    There is one test, or two where samples failed: with all of these at their worst score and at their best. None
    stands for a case that no sequential test can decide, as where nothing bounds what a failed sample could score.
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
    """Return the evidence before the first candidate score between 0 and 100.

    None where the reference has such scores too, and where there is no such score or no unit before it.
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
    """Make the test chosen for the evidence. It is None for one at a fixed n, or without a drop to look for."""
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
    rates, q = Rates(theta=theta, alpha=alpha, beta=design.beta), design.discordance
    drawn: Callable[[], Boundaries] | None = None
    near: Callable[[], Near] | None = None
    result: Callable[..., SequentialResult]
    if choice.method == "looks":
        result = partial(margin_looks, units, margin=design.allowed_drop, certify=design.certify, **rates)
    elif choice.method == "group-sequential":
        result, near = partial(group_sequential_test, units, **rates), partial(_near_look, units, rates)
        drawn = partial(group_sequential_boundaries, units, **rates)
    elif choice.method == "gsprt":
        result, near = partial(gsprt_test, units, discordance=q, **rates), partial(_near_gsprt, units, q, rates)
        drawn = partial(gsprt_boundaries, units, discordance=q, **rates)
    elif bounds is None:
        raise BadInput("the e-process test needs scores between known bounds (0 and 100); use gsprt")
    else:
        result, near = partial(e_process_test, units, bound=loss, **rates), partial(_near_bets, units, loss, rates)
    return SequentialTest(units, result, drawn, near)


def _repeats_test(evidence: Evidence, alpha: float) -> SequentialTest:
    design, repeats, q = evidence.design, evidence.repeats, evidence.design.discordance
    theta = design.theta or visible_drop(repeats.n_max, q, alpha=alpha, beta=design.beta)
    units = Units(repeats.totals, repeats.sizes, exact=False, n_max=repeats.n_max)
    rates = Rates(theta=theta, alpha=alpha, beta=design.beta)
    result = partial(repeats_sequential, repeats, discordance=q, **rates)
    drawn = partial(repeats_boundaries, repeats, discordance=q, **rates)
    return SequentialTest(units, result, drawn, partial(_near_repeats, repeats, q, rates))


def _earliest_pass(evidence: Evidence, units: Units, alpha: float) -> int:
    """Return the first unit at which a run may pass.

    A sign test must have been able to reject by then. Where a model is nearly always wrong, all of the first samples
    may be wrong in the reference, and it shows nothing that none of them got worse.
    """
    floor, _ = evidence.ends
    room = np.full(evidence.candidate.n, True) if floor is None else evidence.better(evidence.before.means()) > floor
    ends = units.samples
    able = np.cumsum(np.logical_or.reduceat(room[: ends[-1]], ends - units.sizes))
    return int(np.searchsorted(able, math.ceil(-math.log2(alpha))))
