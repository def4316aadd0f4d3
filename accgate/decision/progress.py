"""A check while it runs.

The module says whether the check may stop, how near that is, and what its scores are compared with.
"""

import math
from collections import UserDict
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, partial

from accgate.decision.costs import fewest_for_limits
from accgate.decision.evidence import Evidence, evidence_of, whole_clusters
from accgate.decision.stopping import SequentialTest, are_decided, sequential_cases
from accgate.design import oriented
from accgate.evaluation.assignment import Comparison, Limits, StopRule, Watch
from accgate.evaluation.reading import is_beyond_unread, is_silence_alone
from accgate.planning.checks import Check
from accgate.planning.cost import estimate_of
from accgate.records.file import Record
from accgate.records.scores import Scores
from accgate.stats.gsprt import n_without_change


class EarlyStop:
    """Whether the beginning of a check decides it, its limits on costs included.

    Nothing is decided while too many replies hold no answer, for the share may be smaller in the whole run. Only a
    regression that such replies explain is decided even then. The latest beginning is remembered.
    """

    def __init__(self, check: Check) -> None:
        self._check = check
        self._latest = _Look(check, ())
        self.least = fewest_for_limits(check)

    def __call__(self, records: Sequence[Record]) -> bool:
        """Tell whether it is decided, whatever its failed samples would score."""
        look = self._latest = _Look(self._check, records)
        if look.evidence is None or look.samples < self.least or not are_decided(look.cases):
            return False
        if not is_beyond_unread(records, self._check.max_unread):
            return True
        is_lost = all(case is not None and case.standing.stop == "regression" for case in look.cases)
        return is_lost and is_silence_alone(self._check, records)

    def limits(self) -> Limits | None:
        """Return how near the latest records are to a decision.

        The answer is None where the test cannot tell.
        """
        return self._latest.limits

    def expected(self) -> int | None:
        """Return the samples by which a decision is likely, if known.

        The estimate goes by the evidence so far, or else by the plan.
        """
        planned = self._check.expected_n_healthy
        limits = self.limits()
        if limits is None:
            used = self._latest.samples
            return None if planned is None or planned <= used else math.ceil(planned)
        return expected_samples(limits, self._check.alpha_planned)

    def fewest(self) -> int:
        """Return the samples at which the check passes if nothing more changes.

        The number is 0 where that is unknown.
        """
        if (limits := self.limits()) is not None:
            return limits.soonest or limits.next_n or 0
        check, design = self._check, self._check.design
        if check.choice.method != "gsprt" or design.theta is None:
            return 0
        return min(n_without_change(design.theta, beta=design.beta), len(check.task.samples))


class _Look:
    """What the finished beginning of a check's order says, each part computed once."""

    def __init__(self, check: Check, records: Sequence[Record]) -> None:
        self._check, self._records = check, records
        self.samples = len(records) // check.repeats

    @cached_property
    def evidence(self) -> Evidence | None:
        """Evidence of its whole clusters, if there are any."""
        if not whole_clusters(self._check.task.samples, self.samples):
            return None
        return evidence_of(self._check, self._records, stopped=True)

    @cached_property
    def cases(self) -> Sequence[SequentialTest | None]:
        """The tests that decide it."""
        return () if self.evidence is None else sequential_cases(self.evidence, self._check.alpha_planned)

    @cached_property
    def limits(self) -> Limits | None:
        """How near it is to a decision."""
        return None if self.evidence is None else limits_of(self.evidence, self.cases[0])


def early_stop(check: Check) -> EarlyStop | None:
    """Return the rule by which a check's evaluation may stop early.

    The rule is None unless the test is sequential and the reference has scores.
    """
    return EarlyStop(check) if check.choice.is_sequential and isinstance(check.reference, Scores) else None


def expecting(check: Check, stop: EarlyStop | None) -> Check:
    """Return a check with the samples that it is expected to take.

    They depend on the rule that may end it early. A check with limits on costs takes at least the samples that these
    need. Without a rule it takes all.
    """
    if check.reference is None:
        return check
    means = check.expected_n_healthy, check.expected_n_dropped
    healthy, dropped = (None if stop is None or mean is None else max(mean, stop.least) for mean in means)
    return replace(check, expected_n_healthy=healthy, expected_n_dropped=dropped)


def watch_of(check: Check, *, stops: bool = True) -> Watch:
    """Return what a check's scores are compared with, and what stops it.

    Unless it `stops`, nothing ends its evaluation early.
    """
    stop = early_stop(check) if stops else None
    reference = check.reference if check.task.content.aggregate is None else None
    scores = _Means(reference) if isinstance(reference, Scores) else None if reference is None else reference.mean
    estimate = partial(estimate_of, expecting(check, stop), (), lambda _: None)
    if stop is None:
        return Watch(None, Comparison(scores, estimate=estimate))
    return Watch(StopRule(stop, stop.expected, stop.fewest), Comparison(scores, stop.limits, estimate))


class _Means(UserDict[str, float]):
    """The mean score of each sample of a reference.

    The means are made at the first look, because a million take 70 MB.
    """

    def __init__(self, reference: Scores) -> None:
        self._reference = reference

    @cached_property
    def data(self) -> dict[str, float]:  # type: ignore[override]  # made at the first look
        """The means by id."""
        return dict(zip(self._reference.ids, map(float, self._reference.means()), strict=True))


def limits_of(evidence: Evidence, test: SequentialTest | None) -> Limits | None:
    """Return how near the beginning of a run is to a decision.

    The limits say where the run would have to stand now, with as many samples changed. None for a test that takes all
    samples or has no target, and where samples failed.

    Examples
    --------
    >>> import numpy as np
    >>> from accgate.decision.stopping import sequential_test
    >>> from accgate.design import Design
    >>> before = Scores(tuple(map(str, range(100))), np.full((100, 1), 100.0))
    >>> now = Scores(before.ids, np.where(np.arange(100) < 4, 0.0, 100.0)[:, None])
    >>> evidence = Evidence(now, before, Design(theta=4.0, early_stopping=True), n_max=200)
    >>> limits = limits_of(evidence, sequential_test(evidence, 0.05))
    >>> limits.n, limits.difference, round(limits.p_value, 4), limits.passes
    (100, -4.0, 0.0625, 2.0)
    """
    if test is None or test.next is None or evidence.design.theta is None or evidence.candidate.failed:
        return None
    units, near, higher = test.units, test.next(), evidence.design.higher_is_better
    n = int(units.sizes.sum())
    return Limits(
        n=n,
        n_max=units.n_max,
        difference=oriented(float(units.totals.sum() / n), higher),
        p_value=test.standing.p_value,
        allowed=max(near.allowed, 0.0),
        passes=None if math.isnan(near.passes) else oriented(near.passes / n, higher),
        share=near.share,
        higher_is_better=higher,
        next_n=near.next_n,
        soonest=near.soonest,
    )


def expected_samples(limits: Limits, alpha: float) -> int:
    """Return the samples by which a decision is likely.

    The evidence is taken to go on growing as it has so far.

    Examples
    --------
    >>> near = Limits(n=50, n_max=400, difference=0.0, p_value=1.0, allowed=0.0, passes=0.0, share=0.5)
    >>> expected_samples(near, 0.05), expected_samples(replace(near, share=0.0), 0.05)
    (100, 400)
    """
    shares = [limits.share]
    if 0.0 < limits.p_value < 1.0:
        shares.append(math.log(limits.p_value) / math.log(alpha))
    elif limits.p_value == 0.0:
        shares.append(1.0)
    needed = limits.n / max(*shares, limits.n / limits.n_max)
    return min(max(math.ceil(needed), limits.n + 1, limits.next_n or 0), limits.n_max)
