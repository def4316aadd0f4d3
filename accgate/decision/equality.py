"""Whether two models score alike, and which of their replies differ. Both models were asked the same samples."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import partial
from itertools import takewhile

from accgate.config.tables import Gate
from accgate.decision.comparison import decide
from accgate.decision.evidence import Evidence, evidence_of
from accgate.decision.stopping import are_decided, sequential_cases
from accgate.design import FEWEST_CLUSTERS
from accgate.errors import SEVERITY, CannotEvaluate
from accgate.evaluation.outcome import EvaluatedCheck, Evaluation, why_incomplete
from accgate.evaluation.pair import Records, SideBySide, common_records
from accgate.planning.checks import Check, account_of
from accgate.records.file import Record
from accgate.references.store import scores_of
from accgate.stats.names import Correction
from accgate.stats.power import share_of_alpha
from accgate.verdict import Answer, CandidateSummary, Reason, ReferenceSummary, Verdict
from accgate.verdict.figures import ReplyChange, ReplyChanges

FIRST = 50  # samples before anything is decided: by then it shows whether scores are 0 and 100 alone
TOKEN = re.compile(r"\w+|[^\w\s]")  # a word or a mark: engines give no ids of tokens with their replies
SHOWN, NAMED = 10, 3  # replies that a verdict keeps, and that its reason names
MOST = 2_000  # tokens from the first to the last that differs, of which more than these all count


@dataclass(frozen=True)
class Equality:
    """The comparison of a check with its other side.

    `count` checks share `total_share` of alpha. A two-sided comparison looks both ways, each at half of the check's
    alpha.
    """

    check: Check
    correction: Correction
    count: int
    total_share: float = 1.0
    is_two_sided: bool = True

    @classmethod
    def in_run(cls, check: Check, gate: Gate, checks: Sequence[Check]) -> Equality:
        """Return the comparison of a check among all that share its account of alpha."""
        return cls(check, gate.correction, len(checks), account_of(gate, checks).share_of_checks)

    @property
    def can_stop(self) -> bool:
        """Whether it may be decided before all samples are asked."""
        clusters = set(self.check.task.samples.names("cluster") or ()) - {None}
        return self.check.design.early_stopping and not 0 < len(clusters) < FEWEST_CLUSTERS

    def decides(self, first: Sequence[Record], second: Sequence[Record]) -> bool:
        """Tell whether the records of the first samples of both sides decide."""
        start = FIRST * self.check.repeats
        if len(first) < start or any(record.score is None for side in (first, second) for record in side):
            return False
        if self._turns_graded((first, second)):
            return False
        ways = self._ways((first, second), stopped=True)
        alpha = share_of_alpha(ways[0].design.alpha, self.correction, self.count, total_share=self.total_share)
        cases = [sequential_cases(way, alpha) for way in ways]
        fails = (are_decided(each) and each[0] is not None and each[0].standing.stop == "regression" for each in cases)
        return any(fails) or all(map(are_decided, cases))  # one way that fails is enough

    @property
    def side_by_side(self) -> SideBySide:
        """What may end the evaluation of both sides."""
        return SideBySide(self.check, self.decides if self.can_stop else None)

    def records_of(self, items: Sequence[EvaluatedCheck]) -> Records:
        """Return the records of the samples that both sides have finished.

        Raises
        ------
        CannotEvaluate
            When a side was not wholly evaluated, lacks a score, or is of scores that no test was chosen for.
        """
        of = {item.check.key: item for item in items}
        pair = [side for side in (self.check.other_side, self.check) if side is not None]
        records = common_records(self.check, [_evaluation(side, of.get(side.key)) for side in pair])
        for side, own in zip(pair, records, strict=True):
            if failed := sum(record.score is None for record in own):
                fault = f"{failed} of {len(own)} samples have no score, so the models cannot be compared"
                raise CannotEvaluate(f"{side.name}: {fault}; correct the cause and ask them again")
        if self._are_all(records) and self._turns_graded(records):
            fault = f"the first {FIRST} samples scored 0 or 100, but later ones between, which needs another test"
            fix = "compare again with early_stopping = false in [gate]"
            raise CannotEvaluate(f"{self.check.task.name}: {fault}; {fix}")
        if not self._are_all(records) and not self.decides(*records):
            count = len(records[1]) // self.check.repeats
            fault = f"the {count} samples that both sides finished decide nothing; run it again"
            raise CannotEvaluate(f"{self.check.name}: {fault}")
        return records

    def _are_all(self, records: Records) -> bool:
        return len(records[1]) == self.check.n * self.check.repeats

    def _turns_graded(self, records: Records) -> bool:
        """Tell whether scores other than 0 and 100 came only after the first samples."""
        start = FIRST * self.check.repeats
        return self.can_stop and _is_binary(records, start) and not _is_binary(records, None)

    def verdicts(self, records: Records) -> tuple[Verdict, ...]:
        """Decide the check's side against the other.

        A two-sided comparison decides the other side against it as well.
        """
        ways = self._ways(records, stopped=not self._are_all(records))
        rules = partial(decide, correction=self.correction, checks=self.count, total_share=self.total_share)
        return tuple(rules([way])[0] for way in ways)

    def _ways(self, records: Records, *, stopped: bool) -> list[Evidence]:
        pairs = (records, records[::-1]) if self.is_two_sided else (records,)
        return [self._evidence(before, now, stopped=stopped) for before, now in pairs]

    def _evidence(self, before: Sequence[Record], now: Sequence[Record], *, stopped: bool) -> Evidence:
        """Hold the records of one side against those of the other."""
        check, design = self.check, self.check.design
        reference = scores_of(before, check.task.of(check.task.samples[: len(before) // check.repeats]))
        if self.is_two_sided:
            groups = None if design.group_alpha is None else design.group_alpha / 2.0
            design = replace(design, alpha=design.alpha / 2.0, group_alpha=groups)
        return evidence_of(replace(check, reference=reference, design=design), now, stopped=stopped)


def _evaluation(check: Check, item: EvaluatedCheck | None) -> Evaluation:
    if item is None or item.problem is not None or item.evaluation is None:
        raise CannotEvaluate((None if item is None else item.problem) or f"{check.name}: it was not evaluated")
    if not item.evaluation.complete:
        raise CannotEvaluate(f"{check.name}: {chr(10).join(why_incomplete(item))}")
    return item.evaluation


def _is_binary(records: Records, count: int | None) -> bool:
    return all(record.score in (0.0, 100.0, None) for side in records for record in side[:count])


def answer_of(verdict: Verdict, other: Verdict) -> Answer:
    """Say how the first verdict's candidate compares, from both ways of a two-sided comparison."""
    if "regression" in (verdict.verdict, other.verdict):
        return "worse" if verdict.verdict == "regression" else "better"
    return "no difference" if verdict.verdict == other.verdict == "pass" else "open"


def joined(verdict: Verdict, other: Verdict) -> Verdict:
    """Join the verdicts of both ways of a two-sided comparison.

    The models are equal only where both ways pass, for a better model is not equal either. The figures are those of the
    check's side against the other, at the alpha of one way. `p_value` is the smaller of both, and `p_adjusted` twice
    the smaller, which compares with the check's whole alpha.
    """
    answer = answer_of(verdict, other)
    ways = [way for way in (verdict, other) if way.p_value is not None and way.p_adjusted is not None]
    name = max(verdict.verdict, other.verdict, key=SEVERITY.index)
    if answer in ("worse", "better"):
        name = "regression"
    joint = _turned(other, verdict) if answer == "better" else verdict
    if answer == "open" and name != verdict.verdict:
        joint = replace(joint, theta=other.theta).explained_by(other.causes)
    joint = replace(joint, verdict=name, answer=answer, alpha=2.0 * verdict.alpha)
    if not ways:
        return joint
    p_value, adjusted = (min(getattr(way, key) for way in ways) for key in ("p_value", "p_adjusted"))
    return replace(joint, p_value=p_value, p_adjusted=min(1.0, 2.0 * adjusted))


def _turned(other: Verdict, verdict: Verdict) -> Verdict:
    """Restate the verdict of the other way from the check's own side.

    Gamma is left out, for there is no mean below which a better side fails.
    """
    difference, raw = (None if each is None else 0.0 - each for each in (other.difference, other.difference_raw))
    return replace(
        other,
        reference=ReferenceSummary(other.candidate.mean, other.candidate.n),
        candidate=CandidateSummary(other.reference.mean, other.n),
        difference=difference,
        difference_raw=raw,
        interval=None if other.interval is None else other.interval.negate(),
        lost=other.gained,
        gained=other.lost,
        flips=verdict.flips if len(verdict.flips) == other.gained else (),
        gamma=None,
        groups=verdict.groups,
    )


def reply_changes(records: Records) -> ReplyChanges | None:
    """Return how the replies of both sides differ, whatever they score.

    It is None without replies.

    >>> made = [Record("a", 0, 100.0, "4", "4", text, "stop", 1, 1, 0.1, None) for text in ("It is 4.", "It is: 4!")]
    >>> reply_changes((made[:1], made[1:]))
    ReplyChanges(replies=1, changed=1, tokens=2, first=(ReplyChange(id='a', place=3, before='4', now=':'),))
    """
    pairs = [pair for pair in zip(*records, strict=True) if any(record.reply is not None for record in pair)]
    if not pairs:
        return None
    changes = [_change_of(*pair) for pair in pairs if _text(pair[0]) != _text(pair[1])]
    first = tuple(change for change, _ in changes[:SHOWN])
    return ReplyChanges(len(pairs), len(changes), sum(tokens for _, tokens in changes), first)


def _change_of(first: Record, second: Record) -> tuple[ReplyChange, int]:
    """Return where two replies first differ, and how many tokens differ."""
    before, now = (TOKEN.findall(_text(record)) for record in (first, second))
    place = _same(before, now)
    ends = ("".join(side[place : place + 1]) for side in (before, now))
    return ReplyChange(first.shown_id, place + 1, *ends), tokens_between(before, now)


def reason_of(changes: ReplyChanges, other: str) -> Reason:
    """Return a reason that counts the changes and shows the first ones.

    Each shown change names the first token in which two replies differ.
    """
    first = "; ".join(
        f"{each.id} at token {each.place} ({each.before or 'its end'} → {each.now or 'its end'})"
        for each in changes.first[:NAMED]
    )
    return Reason.of(
        "replies-differ",
        changed=changes.changed,
        replies=changes.replies,
        tokens=changes.tokens,
        other=other,
        first=first,
    )


def _text(record: Record) -> str:
    return "\n".join(part for part in (record.reasoning, record.reply) if part is not None)


def _same(before: Sequence[str], now: Sequence[str]) -> int:
    """Count the tokens with which both begin."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, now, strict=False)))


def tokens_between(before: Sequence[str], now: Sequence[str]) -> int:
    """Count the tokens that differ.

    A token differs where another replaces it, or where only one side has it.

    >>> tokens_between("a b c d".split(), "a x c d e".split())
    2
    """
    start = _same(before, now)
    before, now = before[start:], now[start:]
    end = _same(before[::-1], now[::-1])
    before, now = before[: len(before) - end], now[: len(now) - end]
    if max(len(before), len(now)) > MOST:
        return max(len(before), len(now))
    steps = SequenceMatcher(None, before, now, autojunk=False).get_opcodes()
    return sum(max(i2 - i1, j2 - j1) for kind, i1, i2, j1, j2 in steps if kind != "equal")
