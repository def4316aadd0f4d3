"""A check while it runs: whether it may stop, how near that is, and what its scores are compared with."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from accgate.decision.evidence import Evidence, evidence_of, whole_clusters
from accgate.decision.sequential import (
    SequentialCheck,
    are_decided,
    order_by_cluster,
    sequential_cases,
    sequential_check,
)
from accgate.design import FEWEST_CLUSTERS, oriented, sequential_test
from accgate.evaluation.assignment import Comparison, Limits, Watch
from accgate.planning.checks import Check
from accgate.records import Record, Scores
from accgate.stats import SEQUENTIAL_TESTS, unseen_n


class EarlyStop:
    """Whether the beginning of a check decides it; it remembers what the latest records say."""

    def __init__(self, check: Check) -> None:
        self._check = check
        self._latest = _Look(check, ())

    def __call__(self, records: Sequence[Record]) -> bool:
        """Whether it is decided, whatever its failed samples would score."""
        self._latest = _Look(self._check, records)
        return self._latest.evidence is not None and are_decided(self._latest.cases)

    def limits(self) -> Limits | None:
        """How near the latest records are to a decision; None where nothing tells."""
        return self._latest.limits

    def expected(self) -> int | None:
        """Samples by which a decision is likely: as planned, or as far as the evidence so far points; None unknown."""
        planned = self._check.expected_n_healthy
        limits = self.limits()
        if limits is None:
            used = self._latest.samples
            return None if planned is None or planned <= used else math.ceil(planned)
        return expected_samples(limits, self._check.alpha_planned)

    def fewest(self) -> int:
        """Samples that a pass takes if none of the next changes; 0 where nothing tells."""
        if (limits := self.limits()) is not None:
            return limits.soonest or limits.next_n or 0
        check, design = self._check, self._check.design
        assert isinstance(check.reference, Scores)
        is_single = check.repeats == check.reference.values.shape[1] == 1
        if check.test != "gsprt" or not check.reference.is_binary or not is_single or design.theta is None:
            return 0
        return min(unseen_n(design.theta, beta=design.beta), len(check.task.samples))


class _Look:
    """What the finished beginning of a check's order says, each part computed once."""

    def __init__(self, check: Check, records: Sequence[Record]) -> None:
        self._check, self._records = check, records
        self.samples = len(records) // check.repeats

    @cached_property
    def evidence(self) -> Evidence | None:
        """That of its whole clusters; None where none is whole."""
        if not whole_clusters(self._check.task.samples, self.samples):
            return None
        return evidence_of(self._check, self._records, stopped=True)

    @cached_property
    def cases(self) -> Sequence[SequentialCheck | None]:
        """The tests that decide it."""
        return () if self.evidence is None else sequential_cases(self.evidence, self._check.alpha_planned)

    @cached_property
    def limits(self) -> Limits | None:
        """How near it is to a decision."""
        if self.evidence is None or not _has_limits(self.evidence):
            return None
        return _limits_at(self.evidence.design.higher_is_better, self.cases[0])


def early_stop(check: Check) -> EarlyStop | None:
    """The rule that stops the evaluation of a check early; None where its test takes all samples."""
    clusters = set(check.task.samples.names("cluster") or ()) - {None}
    few = bool(clusters) and len(clusters) < FEWEST_CLUSTERS
    if check.test not in SEQUENTIAL_TESTS or few or not isinstance(check.reference, Scores):
        return None
    return EarlyStop(check)


def watch_of(check: Check, *, stops: bool = True) -> Watch:
    """The rule that may end the evaluation of a check early, unless not `stops`, and the scores to compare with."""
    stop = early_stop(check) if stops else None
    reference = check.reference if check.task.aggregate is None else None
    scores: Mapping[str, float] | float | None = None
    if isinstance(reference, Scores):
        scores = _Means(reference)
    elif reference is not None:
        scores = reference.mean
    return Watch(stop, Comparison(scores) if stop is None else Comparison(scores, stop.limits))


class _Means(Mapping[str, float]):
    """The mean score of each sample of a reference; made when something shows it, since a million take 70 MB."""

    def __init__(self, reference: Scores) -> None:
        self._reference = reference

    @cached_property
    def _means(self) -> Mapping[str, float]:
        return dict(zip(self._reference.ids, map(float, self._reference.means()), strict=True))

    def __getitem__(self, id_: str) -> float:
        return self._means[id_]

    def __iter__(self) -> Iterator[str]:
        return iter(self._means)

    def __len__(self) -> int:
        return self._reference.n


def limits_of(evidence: Evidence, alpha: float) -> Limits | None:
    """How near the beginning of a run is to a decision at this alpha.

    The limits are those of the moment: where the run would have to stand by now, with as many samples changed. None
    for a test that takes all samples, and where samples failed.

    Examples
    --------
    >>> from accgate.design import Design
    >>> before = Scores(tuple(map(str, range(100))), np.full((100, 1), 100.0))
    >>> now = Scores(before.ids, np.where(np.arange(100) < 4, 0.0, 100.0)[:, None])
    >>> limits = limits_of(Evidence(now, before, Design(theta=4.0, early_stopping=True), n_max=200), 0.05)
    >>> limits.n, limits.difference, round(limits.p_value, 4), limits.passes
    (100, -4.0, 0.0625, 4.0)
    """
    if not _has_limits(evidence):
        return None
    return _limits_at(evidence.design.higher_is_better, sequential_check(order_by_cluster(evidence), alpha))


def _has_limits(evidence: Evidence) -> bool:
    """Whether a sequential test of a target decides the evidence, all of whose samples have a score."""
    design, reference = evidence.design, evidence.reference
    if sequential_test(design, reference) is None or not isinstance(reference, Scores):
        return False
    is_whole = evidence.candidate.n > 0 and not evidence.candidate.failed
    return design.theta is not None and not design.has_looks and is_whole


def _limits_at(higher: bool, check: SequentialCheck | None) -> Limits | None:
    if check is None or not len(check.units.totals):
        return None
    units = check.units
    if check.test == "group-sequential":
        near = _group_sequential(check)
    elif check.test == "e-process":
        near = _e_process(check)
    elif check.repeats is not None:
        near = _repeats(check)
    else:
        near = _gsprt(check)
    n = int(units.sizes.sum())
    return Limits(
        n=n,
        n_max=units.n_max,
        difference=oriented(float(units.totals.sum() / n), higher),
        p_value=check.standing.p_value,
        allowed=max(near.allowed, 0.0),
        passes=None if math.isnan(near.passes) else oriented(near.passes / n, higher),
        share=near.share,
        higher_is_better=higher,
        next_n=near.next_n,
        soonest=near.soonest,
    )


def expected_samples(limits: Limits, alpha: float) -> int:
    """Samples by which a decision is likely, where the evidence goes on growing as it has so far.

    Examples
    --------
    >>> near = Limits(n=50, n_max=400, difference=0.0, p_value=1.0, allowed=0.0, passes=0.0, share=0.5)
    >>> expected_samples(near, 0.05)
    100
    """
    shares = [limits.share]
    if 0.0 < limits.p_value < 1.0:
        shares.append(math.log(limits.p_value) / math.log(alpha))
    elif limits.p_value == 0.0:
        shares.append(1.0)
    needed = limits.n / max(*shares, limits.n / limits.n_max)
    return min(max(math.ceil(needed), limits.n + 1, limits.next_n or 0), limits.n_max)


@dataclass(frozen=True)
class _Near:
    """As in `Limits`; `passes` is a sum of differences, higher better, NaN where none passes."""

    allowed: float
    passes: float
    share: float
    next_n: int | None = None
    soonest: int | None = None


def _gsprt(check: SequentialCheck) -> _Near:
    from accgate.stats.gsprt import Passing, schedule, soonest_pass

    units, rates = check.units, check.rates
    plan = schedule(units, discordance=check.discordance, **rates)
    passing, events = Passing(units, plan, rates["theta"], rates["beta"]), units.events[units.events <= plan.last]
    allowed = float(plan.allowed[events[-1]]) if len(events) else 0.0
    soonest = soonest_pass(units, discordance=check.discordance, **rates)
    return _Near(allowed, float(passing.sums(np.array([plan.last]))[0]), passing.share(plan.last), soonest=soonest)


def _repeats(check: SequentialCheck) -> _Near:
    from accgate.stats.early_repeats import repeats_schedule

    repeats, rates = check.repeats, check.rates
    assert repeats is not None
    plan = repeats_schedule(repeats, discordance=check.discordance, **rates)
    events = repeats.events[repeats.events <= plan.last]
    allowed = float(plan.allowed[events[-1]]) if len(events) else 0.0
    total, passes = float(repeats.totals[: plan.last + 1].sum()), 100.0 * float(plan.passes[plan.last])
    half = 0.5 * rates["theta"] * float(repeats.samples[plan.last])  # at half a drop nothing speaks for either side
    return _Near(allowed, passes, min(max((total + half) / (passes + half), 0.0), 1.0))


def _group_sequential(check: SequentialCheck) -> _Near:
    from accgate.stats import LOOKS, group_design
    from accgate.stats.graded import graded_next
    from accgate.stats.group_sequential import next_look

    units, rates = check.units, check.rates
    theta, alpha = rates["theta"], rates["alpha"]
    if not units.exact:
        graded = graded_next(units, **rates)
        return _Near(graded.allowed, graded.passes, graded.share, graded.n)
    look = next_look(units, group_design(min(LOOKS, units.n_max), alpha, rates["beta"]), theta=theta, alpha=alpha)
    changed, total = int(look.changed[0]), float(units.totals.sum())
    passes = total + math.ceil((-float(look.most[0]) - total) / 200.0) * 200.0
    drop = theta * int(units.sizes.sum())
    share = 1.0 if total >= passes else min(max((drop + total) / (drop + passes), 0.0), 1.0)
    return _Near(float(look.spent[0]) if changed else 0.0, passes, share, int(look.n[0]))


def _e_process(check: SequentialCheck) -> _Near:
    from accgate.stats import betting_path

    units, rates = check.units, check.rates
    path = betting_path(units.totals, units.planned, bound=check.bound, earliest=units.earliest, **rates)
    assert path.log_sound is not None
    share = min(max(float(path.log_sound[-1]) / -math.log(rates["beta"]), 0.0), 1.0)
    return _Near(rates["alpha"], math.nan, share)
