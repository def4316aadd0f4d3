"""The tests that may stop early, and which of them decides the evidence of a run.

Each says how a run stands, where its boundaries lie and how near a decision is. Here is the part of the evidence that
the test looks at, too.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
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
    """What every sequential test takes besides its units.

    theta is in points.
    """

    theta: float
    alpha: float
    beta: float


@dataclass(frozen=True)
class SequentialTest(ABC):
    """A sequential test of the units of a run or of its beginning."""

    units: Units
    rates: Rates

    @abstractmethod
    def result(self, *, figures: bool = True) -> SequentialResult:
        """Return what the test says.

        Without `figures` that is where it stops, and its p-value.
        """

    def boundaries(self) -> Boundaries | None:
        """Return the boundaries by which it decides, if they can be drawn."""
        return None

    def next(self) -> Near | None:
        """Return how near a decision is, if the test can tell."""
        return None

    @cached_property
    def standing(self) -> SequentialResult:
        """Return where the run stands.

        It is `result` without its figures, which cost most of the time and decide nothing.
        """
        return self.result(figures=False)


@dataclass(frozen=True)
class Gsprt(SequentialTest):
    """The sequential probability ratio test of single 0/100 scores.

    It expects a discordance.
    """

    discordance: float | None = None

    def result(self, *, figures: bool = True) -> SequentialResult:
        """Return what the test says."""
        return gsprt_test(self.units, discordance=self.discordance, figures=figures, **self.rates)

    def boundaries(self) -> Boundaries:
        """Return where it fails and passes."""
        return gsprt_boundaries(self.units, discordance=self.discordance, **self.rates)

    def next(self) -> Near:
        """Return how near a decision is."""
        units = self.units
        plan = schedule(units, discordance=self.discordance, **self.rates)
        passing = Passing(units, plan, self.rates["theta"], self.rates["beta"])
        passes = float(passing.sums(np.array([plan.last]))[0])
        soonest = soonest_pass(units, discordance=self.discordance, **self.rates)
        return Near(_allowed(plan, units.events), passes, passing.share(plan.last), soonest=soonest)


@dataclass(frozen=True)
class RepeatsGsprt(SequentialTest):
    """The same for samples of which a side has several answers.

    All of them are 0 or 100.
    """

    repeats: Repeats
    discordance: float | None = None

    def result(self, *, figures: bool = True) -> SequentialResult:
        """Return what the test says."""
        return repeats_sequential(self.repeats, discordance=self.discordance, figures=figures, **self.rates)

    def boundaries(self) -> Boundaries:
        """Return where it fails and passes."""
        return repeats_boundaries(self.repeats, discordance=self.discordance, **self.rates)

    def next(self) -> Near:
        """Return how near a decision is."""
        repeats = self.repeats.sides
        plan = repeats_schedule(repeats, discordance=self.discordance, **self.rates)
        total, passes = float(repeats.totals[: plan.last + 1].sum()), 100.0 * float(plan.passes[plan.last])
        # At half a drop nothing speaks for either side.
        half = 0.5 * self.rates["theta"] * float(repeats.samples[plan.last])
        share = min(max((total + half) / (passes + half), 0.0), 1.0)
        return Near(_allowed(plan, repeats.events), passes, share)


@dataclass(frozen=True)
class GroupSequential(SequentialTest):
    """A few looks as the samples arrive, for scores and clusters of any kind."""

    def result(self, *, figures: bool = True) -> SequentialResult:
        """Return what the test says."""
        return group_sequential_test(self.units, figures=figures, **self.rates)

    def boundaries(self) -> Boundaries:
        """Return where it fails and passes at its looks."""
        return group_sequential_boundaries(self.units, **self.rates)

    def next(self) -> Near:
        """Return how near a decision is at the next look."""
        units, theta, alpha = self.units, self.rates["theta"], self.rates["alpha"]
        if not units.exact:
            return graded_next(units, **self.rates)
        design = group_design(min(LOOKS, units.n_max), alpha, self.rates["beta"])
        look = next_look(units, design, theta=theta, alpha=alpha)
        changed, total = int(look.changed[0]), float(units.totals.sum())
        passes = total + math.ceil((-float(look.most[0]) - total) / 200.0) * 200.0
        drop = theta * int(units.sizes.sum())
        share = 1.0 if total >= passes else min(max((drop + total) / (drop + passes), 0.0), 1.0)
        return Near(float(look.spent[0]) if changed else 0.0, passes, share, int(look.n[0]))


@dataclass(frozen=True)
class MarginLooks(SequentialTest):
    """The exact looks at a drop that is allowed or must be ruled out.

    `margin` is in points.
    """

    margin: float
    certify: bool

    def result(self, *, figures: bool = True) -> SequentialResult:
        """Return what the test says."""
        return margin_looks(self.units, margin=self.margin, certify=self.certify, figures=figures, **self.rates)


@dataclass(frozen=True)
class EProcess(SequentialTest):
    """A test by betting.

    `bound` is the largest possible difference of one sample, points.
    """

    bound: float

    def result(self, *, figures: bool = True) -> SequentialResult:
        """Return what the test says."""
        return e_process_test(self.units, bound=self.bound, figures=figures, **self.rates)

    def next(self) -> Near:
        """Return how near a decision is."""
        units = self.units
        path = betting_path(units.totals, units.planned, bound=self.bound, earliest=units.earliest, **self.rates)
        assert path.log_sound is not None
        share = min(max(float(path.log_sound[-1]) / -math.log(self.rates["beta"]), 0.0), 1.0)
        return Near(self.rates["alpha"], math.nan, share)


def _allowed(plan: Schedule | RepeatsSchedule, events: Ints) -> float:
    """Return the type I error that may be spent by the last unit used.

    It is that by the last change, 0 before any.
    """
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
