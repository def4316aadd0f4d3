"""The sequential test of a check: which one it is, the units that it looks at, and the drop that it looks for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypedDict

import numpy as np

from accgate.decision.evidence import Evidence
from accgate.decision.reach import room_of
from accgate.design import FEWEST_CLUSTERS, Design, oriented, sequential_test
from accgate.errors import BadInput
from accgate.records import Floats, Scores, pair_scores
from accgate.stats import GSPRT_MAXIMUM, Repeats, SequentialResult, TestName, Units, mcnemar_theta, units_of
from accgate.stats.sequential import TYPICAL


class Rates(TypedDict):
    """What every sequential test takes besides its units."""

    theta: float
    alpha: float
    beta: float


class Looks(TypedDict):
    """What the exact test at looks takes besides; `margin` in points."""

    margin: float
    certify: bool


@dataclass(frozen=True)
class SequentialCheck:
    """The sequential test of a check at one alpha; `theta` in points.

    `looks` is set for the exact test with an allowed drop.
    `bound` is the largest possible difference of one sample in points, which only the e-process test needs to know.
    `repeats` are the answers of 0/100 scores of which a side has several.
    """

    test: TestName
    units: Units
    rates: Rates
    discordance: float | None = None
    bound: float = 100.0
    repeats: Repeats | None = None
    looks: Looks | None = None

    def result(self, *, figures: bool = True) -> SequentialResult:
        """What the test says of these units; without `figures` only where it stops and its p-value."""
        if self.looks is not None:
            from accgate.stats.margin import margin_looks

            return margin_looks(self.units, figures=figures, **self.rates, **self.looks)
        if self.test == "group-sequential":
            from accgate.stats.group_sequential import group_sequential_test

            return group_sequential_test(self.units, figures=figures, **self.rates)
        if self.test == "e-process":
            from accgate.stats.e_process import e_process_test

            return e_process_test(self.units, bound=self.bound, figures=figures, **self.rates)
        if self.repeats is not None:
            from accgate.stats.early_repeats import repeats_sequential

            return repeats_sequential(self.repeats, discordance=self.discordance, figures=figures, **self.rates)
        from accgate.stats.gsprt import gsprt_test

        return gsprt_test(self.units, discordance=self.discordance, figures=figures, **self.rates)

    @cached_property
    def standing(self) -> SequentialResult:
        """Where the run stands: `result` without its figures, which cost most of the time and decide nothing."""
        return self.result(figures=False)


def sequential_check(evidence: Evidence, alpha: float) -> SequentialCheck | None:
    """The sequential test that decides this evidence, which is in the order of its clusters; None where none does.

    Raises
    ------
    BadInput
        When the test needs bounds of the scores, and these have none.
    """
    test = _test_of(evidence)
    return None if test is None else _check_by(test, decisive_part(evidence, alpha), alpha)


def decisive_part(evidence: Evidence, alpha: float) -> Evidence:
    """The evidence, which is in the order of its clusters, or the beginning of it that decides before another test.

    Where the reference has no score between 0 and 100, one of the candidate changes the test. It must not do so for a
    run that was decided before it: whether it had finished by then is chance.
    """
    test, beginning = _test_of(evidence), _binary_beginning(evidence)
    if test is None or beginning is None:
        return evidence
    return beginning if are_decided([_check_by(test, beginning, alpha)]) else evidence


def _test_of(evidence: Evidence) -> TestName | None:
    """The sequential test that the design asks for; None for one at a fixed n, as of too few clusters."""
    codes, is_whole = evidence.clusters, evidence.n_max is None or evidence.candidate.n >= evidence.n_max
    is_few = codes is not None and is_whole and len(np.unique(codes)) < FEWEST_CLUSTERS
    return None if is_few else sequential_test(evidence.design, evidence.reference)


def _binary_beginning(evidence: Evidence) -> Evidence | None:
    """The units of a run before the first with a score between 0 and 100; None where its reference has such scores too.

    None as well where there is no such unit, or nothing before it.
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


def _check_by(test: TestName, evidence: Evidence, alpha: float) -> SequentialCheck | None:
    """The check by this test, or by the one that its scores ask for in its place."""
    design, codes = evidence.design, evidence.clusters
    repeats = repeats_in(evidence)
    if repeats is not None and test == "gsprt":
        return _repeats_check(repeats, design, alpha)
    bounds = bounds_of(evidence)
    units = units_of(
        difference_of(evidence),
        codes,
        n_max=evidence.n_max,
        binary=evidence.binary and evidence.answers == (1, 1),  # averages are no single answers
        loss=math.inf if bounds is None else bounds[1] - bounds[0],
    )
    units = replace(units, earliest=_earliest_pass(evidence, units, alpha))
    if test == "gsprt" and not units.exact:
        test = "group-sequential"  # the likelihood of gsprt is that of 0/100 scores
    theta = design.theta or _visible_theta(units, design, alpha)
    if theta is None:
        return None
    rates = Rates(theta=theta, alpha=alpha, beta=design.beta)
    if design.has_looks:
        looks = Looks(margin=design.allowed_drop, certify=design.certify)
        return SequentialCheck(test, units, rates, looks=looks) if units.exact else None
    if bounds is not None:
        return SequentialCheck(test, units, rates, design.discordance, bounds[1] - bounds[0])
    if test == "e-process":
        raise BadInput("the e-process test needs scores between known bounds (0 and 100); use gsprt")
    return SequentialCheck(test, units, rates, design.discordance)


def sequential_cases(evidence: Evidence, alpha: float) -> tuple[SequentialCheck | None, ...]:
    """The sequential test of a run's beginning; where samples failed two, with all of them at worst and at best.

    None stands for a case that no sequential test decides, so where nothing bounds what failed samples could score.
    """
    scores = (evidence.worst, evidence.best) if evidence.candidate.failed else (None,)
    cases = [order_by_cluster(evidence.fill(score)) for score in scores]
    if any(case.candidate.failed for case in cases):
        return (None,)
    return tuple(sequential_check(case, alpha) for case in cases)


def are_decided(cases: Sequence[SequentialCheck | None]) -> bool:
    """Whether each of these tests has decided."""
    return all(case is not None and not case.standing.open for case in cases)


def _repeats_check(repeats: Repeats, design: Design, alpha: float) -> SequentialCheck:
    from accgate.stats.early_repeats import visible_drop

    theta = design.theta or visible_drop(repeats, design.discordance, alpha=alpha, beta=design.beta)
    units = Units(repeats.totals, repeats.sizes, exact=False, n_max=repeats.n_max)
    rates = Rates(theta=theta, alpha=alpha, beta=design.beta)
    return SequentialCheck("gsprt", units, rates, design.discordance, repeats=repeats)


def repeats_in(evidence: Evidence) -> Repeats | None:
    """The answers of both sides where all are 0 or 100 and a side has several of each sample; None elsewhere."""
    if evidence.answers == (1, 1) or not evidence.binary or not evidence.candidate.is_binary:
        return None
    assert isinstance(evidence.reference, Scores)
    return answers_in(evidence) if evidence.reference.is_binary else None


def answers_in(evidence: Evidence) -> Repeats:
    """The answers of both sides, all of them 0 or 100, higher better."""
    from accgate.stats.answers import repeats_of

    assert isinstance(evidence.reference, Scores)
    before, now = pair_scores(evidence.reference, evidence.candidate).values, evidence.candidate.values
    if not evidence.design.higher_is_better:
        before, now = 100.0 - before, 100.0 - now
    return repeats_of(before, now, evidence.clusters, n_max=evidence.n_max)


def order_by_cluster(evidence: Evidence) -> Evidence:
    """The evidence with every cluster whole and in the order of first appearance, as sequential tests look at it."""
    codes = evidence.clusters
    if codes is None or evidence.statistic is not None:
        return evidence
    _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    order = np.argsort(first[inverse], kind="stable")
    if np.array_equal(order, np.arange(len(codes))):
        return evidence
    candidate = evidence.candidate.take(evidence.candidate.ids.take(order))
    return replace(evidence, candidate=candidate, clusters=codes[order])


def difference_of(evidence: Evidence) -> Floats:
    """candidate - reference of each sample in the candidate's order, in points, turned so that higher is better."""
    assert isinstance(evidence.reference, Scores)
    difference = evidence.candidate.means() - pair_scores(evidence.reference, evidence.candidate).means()
    return oriented(difference, evidence.design.higher_is_better)


def _visible_theta(units: Units, design: Design, alpha: float) -> float | None:
    """The drop that all samples of a run can show, for a design without a target; None where none can be told."""
    if not units.exact:
        return None
    q = TYPICAL if design.discordance is None else design.discordance
    return mcnemar_theta(int(units.n_max / GSPRT_MAXIMUM), discordance=q, alpha=alpha, beta=design.beta)


def _earliest_pass(evidence: Evidence, units: Units, alpha: float) -> int:
    """The unit from which on a run may pass: by then as many could have been lost as a sign test needs to reject.

    Of a model that is wrong nearly always the first samples of the order may all be wrong in the reference. That none
    of them changed says nothing.
    """
    if not len(units.totals):
        return 0
    assert isinstance(evidence.reference, Scores)
    room = room_of(evidence, pair_scores(evidence.reference, evidence.candidate).means()) > 0.0
    ends = units.samples
    able = np.cumsum(np.logical_or.reduceat(room[: ends[-1]], ends - units.sizes))
    return int(np.searchsorted(able, math.ceil(-math.log2(alpha))))


def bounds_of(evidence: Evidence) -> tuple[float, float] | None:
    """Least and largest score there can be; None where the metric has no bounds, or scores are beyond them."""
    if evidence.worst is None or evidence.best is None:
        return None
    low, high = sorted((evidence.worst, evidence.best))
    assert isinstance(evidence.reference, Scores)
    values = np.concatenate([evidence.reference.means(), evidence.candidate.means()])
    return (low, high) if float(values.min()) >= low and float(values.max()) <= high else None
