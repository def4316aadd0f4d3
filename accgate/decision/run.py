"""The verdicts of a run's checks, and its result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from accgate._version import __version__
from accgate.config.tables import Gate
from accgate.decision.comparison import decide
from accgate.decision.costs import CostCase, with_costs, with_readings
from accgate.decision.equality import Equality, joined, reason_of, reply_changes
from accgate.decision.evidence import Evidence, evidence_of
from accgate.decision.overall import decide_overall
from accgate.errors import BadInput, CannotEvaluate, Tier, exit_code, worst
from accgate.evaluation.outcome import EvaluatedCheck, EvaluatedRun, Evaluation, why_incomplete
from accgate.evaluation.scoring import judge_fault
from accgate.planning.checks import Check, account_of
from accgate.planning.samples import n_without_early_stopping
from accgate.records.figures import Figures, readings_of
from accgate.records.file import Record
from accgate.records.log import failed_of
from accgate.references.anchor import drift_since, find_anchor
from accgate.references.settings import batch_note, prompt_change, setting_changes
from accgate.result import EngineInfo, Result, deciding
from accgate.stats.names import PAIRED_TESTS
from accgate.verdict import Allowed, CandidateSummary, Reason, ReferenceSummary, Verdict, texts_of


@dataclass(frozen=True)
class Decided:
    """The verdicts of checks, in order, and the overall verdicts of models.

    They fail at most the share `allowed` of harmless changes. Not every model has an overall verdict.
    """

    checks: tuple[Verdict, ...] = ()
    overall: tuple[Verdict, ...] = ()
    allowed: Allowed = field(default_factory=Allowed)

    def __add__(self, other: Decided) -> Decided:
        return Decided(self.checks + other.checks, self.overall + other.overall, self.allowed + other.allowed)

    def of_part(self, *, is_new: bool, tier: Tier) -> Decided:
        """Mark the verdicts as those of one part of the rules."""
        parts = self.checks, self.overall
        checks, overall = (tuple(replace(verdict, is_new=is_new, tier=tier) for verdict in part) for part in parts)
        if tier == "advisory":
            return Decided(checks, overall)
        return Decided(checks, overall, self.allowed.as_new() if is_new else self.allowed)


def decide_checks(gate: Gate, checks: Sequence[Check], evaluated: EvaluatedRun) -> Decided:
    """Decide a run's checks.

    A check without evidence is `no-reference` or `error`, with the reason. So is one that another judge marked than its
    reference.
    """
    own = {check.key for check in checks}
    items = map(_without_foreign_marks, evaluated.checks)
    done = {key: item for item in items if (key := item.check.key) in own}
    evidences: dict[tuple[str, str], Evidence] = {}
    for key, item in done.items():
        if item.evaluation is None or not item.evaluation.complete or item.check.other_side is not None:
            continue
        try:
            evidences[key] = evidence_of(item.check, item.evaluation.records, stopped=item.evaluation.stopped)
        except BadInput as error:
            if item.check.task.content.aggregate is None:
                raise
            done[key] = replace(item, problem=str(error))  # the records lack what its statistic needs
    account = account_of(gate, checks)
    decided = decide(
        list(evidences.values()), correction=gate.correction, checks=len(checks), total_share=account.share_of_checks
    )
    cases = []
    for (key, evidence), verdict in zip(evidences.items(), decided, strict=True):
        item, info = done[key], evaluated.engines.get(key[0])
        annotated = _annotate(verdict, evidence, item, gate, info)
        cases.append(CostCase(annotated, evidence, item.check, _records(item), info))
    verdicts = dict(zip(evidences, with_costs(cases, account), strict=True))
    latest = [done.get(item.check.key, item) for item in evaluated.checks]
    for check in checks:
        if check.other_side is not None:
            held = done[check.key].check if check.key in done else check  # with the samples that only its run knows
            verdicts[check.key] = _verdict_on_both(Equality.in_run(held, gate, checks), latest)
    final = tuple(verdicts.get(check.key) or _verdict_without_evidence(check, done.get(check.key)) for check in checks)
    return Decided(final, decide_overall(account, checks, evidences, final), account.allowed)


def _verdict_on_both(equality: Equality, items: Sequence[EvaluatedCheck]) -> Verdict:
    """Decide a check that must equal another side. It is an error where the records of either side are incomplete."""
    check = equality.check
    empty = _verdict_without_evidence(check, next((item for item in items if item.check.key == check.key), None))
    try:
        records = equality.records_of(items)
    except CannotEvaluate as error:
        empty = replace(empty, verdict="error", equal_to=check.baseline)
        return empty.explained_by(texts_of("not-evaluated", tuple(str(error).splitlines())))
    verdict = joined(*equality.verdicts(records))
    reference, changes = replace(verdict.reference, name=check.baseline), reply_changes(records)
    verdict = replace(verdict, equal_to=check.baseline, reference=reference, reply_changes=changes)
    verdict = verdict.because(*check.notes, *_few_repeats(check, recorded=4))
    if changes is not None and changes.changed:
        verdict = verdict.because(reason_of(changes, check.baseline))
    theirs, verdict = (with_readings(verdict, check, side) for side in records)
    if verdict.verdict != "error" and theirs.verdict == "error":  # too many of the other side's hold no answer
        verdict = replace(theirs, candidate=verdict.candidate, lost_unread=verdict.lost_unread)
    return replace(verdict, reference=replace(reference, readings=theirs.candidate.readings))


def _few_repeats(check: Check, recorded: int) -> tuple[Reason, ...]:
    """Note that single answers drawn by chance are paired."""
    temperature, repeats = check.planned_model.settings.sampling.temperature, check.repeats
    if temperature <= 0 or min(repeats, recorded) >= 4:
        return ()
    return (Reason.of("few-repeats", temperature=temperature, repeats=repeats, recorded=recorded),)


def _without_foreign_marks(item: EvaluatedCheck) -> EvaluatedCheck:
    """Return the item, as not finished where another judge marked it than the reference."""
    if item.evaluation is None or (fault := judge_fault(item.check, item.evaluation.makers)) is None:
        return item
    return EvaluatedCheck(item.check, replace(item.evaluation, complete=False), fault)


def _records(item: EvaluatedCheck) -> Sequence[Record]:
    return () if item.evaluation is None else item.evaluation.records


def _annotate(
    verdict: Verdict, evidence: Evidence, item: EvaluatedCheck, gate: Gate, info: EngineInfo | None
) -> Verdict:
    """Add notes, changed settings and drift since the anchor to a verdict."""
    check = item.check
    notes, recorded = list(check.notes), 0 if check.recorded is None else check.recorded.about.repeats
    if verdict.test in PAIRED_TESTS:
        notes += _few_repeats(check, recorded)
    if check.recorded is not None and (note := batch_note(check.recorded.about)) is not None:
        notes.append(note)
    if verdict.is_too_coarse and check.task.dataset_ids is not None:
        notes.append(Reason.of("dataset-size", n=len(check.task.dataset_ids)))
    changed: tuple[str, ...] = ()
    reference = verdict.reference
    if check.recorded is not None:
        about = check.recorded.about
        engine = "" if about.engine == "recorded" else about.engine_version  # "vllm 0.22.1"
        reference = replace(reference, name=check.baseline, date=about.date or None, commit=about.commit or None)
        reference = replace(reference, runs=about.runs, engine=engine or None)
        prompts = prompt_change(check.recorded, Figures.of(_records(item)))
        changed = setting_changes(about, check.planned_model.settings, info, check.task)
        changed = changed if prompts is None else (prompts, *changed)
    annotated = replace(verdict, reference=reference, settings_changed=changed)
    return with_drift(annotated.because(*notes), evidence, check, alpha=gate.drift_alpha)


def with_drift(verdict: Verdict, evidence: Evidence, check: Check, *, alpha: float) -> Verdict:
    """Add the drift since the anchor to a verdict.

    The verdict becomes a regression where a decline can fail the check and shows. `alpha` is the level of a drift that
    is only reported.
    """
    anchor = None
    if check.task.content.aggregate is None:  # an anchor keeps scores, and no statistic
        anchor = find_anchor(check.references, check.baseline, check.task.name)
    if anchor is None:
        return verdict
    drift = drift_since(anchor, evidence.candidate, check.design, clusters=evidence.clusters, alpha=alpha)
    verdict = replace(verdict, drift=drift)
    if not (drift.fails and drift.detected) or verdict.verdict in ("regression", "error"):
        return verdict
    losses = ", ".join(f"{name} ({change:+.2f})" for name, change in drift.losses)
    reason = Reason.of(
        "declined", since=drift.since, runs=drift.runs, difference=drift.difference, bound=drift.bound, losses=losses
    )
    return replace(verdict, verdict="regression", by_scores=verdict.by_scores or verdict.verdict).because(reason)


def _verdict_without_evidence(check: Check, item: EvaluatedCheck | None) -> Verdict:
    design = check.design
    verdict = Verdict(
        model=check.model,
        task=check.task.name,
        verdict="no-reference",
        test=None,
        n=0,
        reference=ReferenceSummary(None, None),
        candidate=CandidateSummary(None, 0),
        alpha=design.alpha,
        beta=design.beta,
        theta_target=design.theta,
        causes=check.notes,
        higher_is_better=design.higher_is_better,
    )
    if item is None:
        return verdict
    records = _records(item)
    n, failed = _count_samples(records), _count_samples(failed_of(records))
    return replace(
        verdict,
        verdict="error",
        n=n,
        reference=ReferenceSummary(check.reference_mean, check.reference_n),
        candidate=CandidateSummary(None, n, failed, readings_of(records)),
    ).explained_by(texts_of("not-evaluated", why_incomplete(item) if item.problem is None else (item.problem,)))


def _count_samples(records: Sequence[Record]) -> int:
    """Count the samples that have records, however many each."""
    return len(set(Figures.of(records).ids))


def result_of(gate: Gate, decided: Decided, evaluated: EvaluatedRun) -> Result:
    """Build the result of a run, its verdict and its totals."""
    names = deciding((*decided.checks, *decided.overall))
    evaluations = [item.evaluation for item in evaluated.checks if item.evaluation is not None]
    figures = [Figures.of(records) for e in evaluations for records in (e.records, e.beyond)]
    count = sum(map(len, figures))
    most = {(verdict.model, verdict.task): n_without_early_stopping(verdict) for verdict in decided.checks}
    stopped = [(item.check, e) for item in evaluated.checks if (e := item.evaluation) is not None and e.stopped]
    saved = [_saved_cost(e, most.get(check.key, check.n) * check.repeats) for check, e in stopped]
    saved_tokens = [tokens for tokens, _ in saved if tokens is not None]
    saved_seconds = [seconds for _, seconds in saved if seconds is not None]
    return Result(
        verdict=worst(names),
        exit_code=exit_code(names, inconclusive_passes=gate.on_inconclusive == "warn"),
        checks=decided.checks,
        overall=decided.overall,
        accgate=__version__,
        seed=gate.seed,
        correction=gate.correction,
        on_inconclusive=gate.on_inconclusive,
        samples=count,
        prompt_tokens=sum(each.tokens("prompt_tokens") for each in figures),
        completion_tokens=sum(each.tokens("completion_tokens") for each in figures),
        engines=dict(evaluated.engines),
        started=evaluated.started,
        seconds=evaluated.seconds,
        shards=evaluated.shards,
        cached=sum(each.cached for each in figures),
        saved_tokens=sum(saved_tokens) if saved_tokens else None,
        saved_seconds=sum(saved_seconds) if saved_seconds else None,
        allowed=decided.allowed,
    )


def _saved_cost(evaluation: Evaluation, most: int) -> tuple[int | None, float | None]:
    """Return the tokens and seconds that an early stop saved, if known.

    A run of `most` records is what they are compared with.
    """
    columns = [Figures.of(records).columns for records in (evaluation.records, evaluation.beyond)]
    count = sum(map(len, columns))
    spared = max(0, most - count)
    counted = any((each["completion_tokens"] >= 0).any() for each in columns)
    names = ("prompt_tokens", "completion_tokens")
    tokens = sum(int(each[name].clip(min=0).sum()) for each in columns for name in names)
    seconds = evaluation.seconds / evaluation.asked * spared if evaluation.asked and evaluation.seconds else None
    return (round(tokens / count * spared) if counted else None), (None if seconds is None else round(seconds, 1))
