"""Whether two models asked the same samples score alike, or one of them lower."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from accgate.config.tables import Gate
from accgate.decision.comparison import decide
from accgate.decision.evidence import Evidence, evidence_of
from accgate.decision.stopping import are_decided, sequential_cases
from accgate.design import FEWEST_CLUSTERS, Design
from accgate.errors import SEVERITY
from accgate.evaluation.pair import Records
from accgate.planning.checks import Check, account_of
from accgate.records.file import Record
from accgate.references.store import scores_of
from accgate.stats import Correction, share_of_alpha
from accgate.verdict import Answer, CandidateSummary, ReferenceSummary, Verdict

FIRST = 50  # samples before anything is decided: by then it shows whether scores are 0 and 100 alone


@dataclass(frozen=True)
class Equality:
    """The comparison of a check with its other side, among `count` checks that have the share `left` of alpha.

    A two-sided one looks both ways, each at half of the check's alpha.
    """

    check: Check
    correction: Correction
    count: int
    left: float = 1.0
    is_two_sided: bool = True

    @classmethod
    def in_run(cls, check: Check, gate: Gate, checks: Sequence[Check]) -> Equality:
        """Return the comparison of a check among all that share its account of alpha."""
        return cls(check, gate.correction, len(checks), account_of(gate, checks).left)

    @property
    def can_stop(self) -> bool:
        """Whether it may be decided before all samples are asked."""
        clusters = set(self.check.task.samples.names("cluster") or ()) - {None}
        return self.check.design.early_stopping and not 0 < len(clusters) < FEWEST_CLUSTERS

    def decides(self, first: Sequence[Record], second: Sequence[Record]) -> bool:
        """Whether the records of the first samples of both sides decide."""
        start = FIRST * self.check.repeats
        if len(first) < start or any(record.score is None for side in (first, second) for record in side):
            return False
        if self.turns_graded((first, second)):
            return False
        ways = self._ways((first, second), stopped=True)
        alpha = share_of_alpha(ways[0].design.alpha, self.correction, self.count, left=self.left)
        cases = [sequential_cases(way, alpha) for way in ways]
        if not all(map(are_decided, cases)):  # one way that fails is enough
            return any(case is not None and case.standing.stop == "regression" for each in cases for case in each)
        return True

    def turns_graded(self, records: Records) -> bool:
        """Whether scores that looked like 0 and 100 alone were not: no test that fits was chosen then."""
        start = FIRST * self.check.repeats
        return self.can_stop and _is_binary(records, start) and not _is_binary(records, None)

    def verdicts(self, records: Records, *, stopped: bool) -> tuple[Verdict, ...]:
        """The check's side held against the other, and of a two-sided comparison the other against it."""
        return tuple(map(self._verdict, self._ways(records, stopped=stopped)))

    def _verdict(self, evidence: Evidence) -> Verdict:
        return decide([evidence], correction=self.correction, checks=self.count, left=self.left)[0]

    def _ways(self, records: Records, *, stopped: bool) -> list[Evidence]:
        pairs = (records, records[::-1]) if self.is_two_sided else (records,)
        return [self._evidence(before, now, stopped=stopped) for before, now in pairs]

    def _evidence(self, before: Sequence[Record], now: Sequence[Record], *, stopped: bool) -> Evidence:
        """The records of one side held against those of the other."""
        check, design = self.check, self.check.design
        reference = scores_of(before, check.task.of(check.task.samples[: len(before) // check.repeats]))
        design = _halved(design) if self.is_two_sided else design
        return evidence_of(replace(check, reference=reference, design=design), now, stopped=stopped)


def _halved(design: Design) -> Design:
    groups = None if design.group_alpha is None else design.group_alpha / 2.0
    return replace(design, alpha=design.alpha / 2.0, group_alpha=groups)


def _is_binary(records: Records, count: int | None) -> bool:
    return all(record.score in (0.0, 100.0, None) for side in records for record in side[:count])


def answer_of(verdict: Verdict, other: Verdict) -> Answer:
    """What both ways of a two-sided comparison say of the first verdict's candidate."""
    if "regression" in (verdict.verdict, other.verdict):
        return "worse" if verdict.verdict == "regression" else "better"
    return "no difference" if verdict.verdict == other.verdict == "pass" else "open"


def joined(verdict: Verdict, other: Verdict) -> Verdict:
    """The verdict of a check from both its ways: equal only where both pass, for a better side is not equal either.

    Its figures are of the check's side against the other, at the alpha of a side. `p_value` is the smaller of both, and
    `p_adjusted` twice the smaller, which compares with the check's whole alpha.
    """
    answer = answer_of(verdict, other)
    ways = [way for way in (verdict, other) if way.p_value is not None and way.p_adjusted is not None]
    name = max(verdict.verdict, other.verdict, key=SEVERITY.index)
    whole = replace(verdict, verdict=name, answer=answer, alpha=2.0 * verdict.alpha)
    if len(ways) == 2:
        p_value, adjusted = (min(getattr(way, key) for way in ways) for key in ("p_value", "p_adjusted"))
        whole = replace(whole, p_value=p_value, p_adjusted=min(1.0, 2.0 * adjusted))
    if answer in ("worse", "better"):
        whole = replace(whole, verdict="regression")
    if answer == "better":
        return _turned(whole, other).explained_by(other.causes)
    if answer == "open" and name != verdict.verdict:
        return replace(whole, theta=other.theta).explained_by(other.causes)
    return whole


def _turned(whole: Verdict, other: Verdict) -> Verdict:
    """The verdict with the figures of the other way, which was decided on samples of its own, as its own side has them.

    There is no mean below which a better side fails.
    """
    difference, raw = (None if each is None else 0.0 - each for each in (other.difference, other.difference_raw))
    return replace(
        whole,
        n=other.n,
        stop=other.stop,
        n_max=other.n_max,
        clusters=other.clusters,
        reference=ReferenceSummary(other.candidate.mean, other.candidate.n),
        candidate=CandidateSummary(other.reference.mean, other.n),
        difference=difference,
        difference_raw=raw,
        interval=None if other.interval is None else other.interval.negate(),
        theta=other.theta,
        sigma=other.sigma,
        p_mid=other.p_mid,
        discordance=other.discordance,
        lost=other.gained,
        gained=other.lost,
        flips=whole.flips if len(whole.flips) == other.gained else (),
        gamma=None,
    )
