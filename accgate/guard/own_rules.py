"""Verdicts by a pull request's own rules on records made under its base's rules."""

from collections.abc import Sequence
from dataclasses import replace
from typing import get_args

from accgate.config.config import Config
from accgate.decision.comparison import decide
from accgate.decision.costs import CostCase, with_costs
from accgate.decision.evidence import Evidence, evidence_of
from accgate.decision.overall import decide_overall
from accgate.decision.progress import early_stop
from accgate.decision.run import Decided, with_drift
from accgate.errors import LIMITS, AccgateError, BadInput, Tier
from accgate.evaluation.outcome import EvaluatedCheck, EvaluatedRun
from accgate.evaluation.rereading import rescore
from accgate.evaluation.scoring import judge_fault
from accgate.planning.checks import Check, plan_checks
from accgate.planning.drafts import account_of_pairs
from accgate.records.file import Record
from accgate.tasks.task import WORDING
from accgate.verdict import Allowed, CandidateSummary, Reason, ReferenceSummary, Verdict, words_of

# What tells two verdicts apart.
SHOWN = ("verdict", "test", "n", "reference", "candidate", "gamma", "theta", "theta_target", "alpha_applied", "tier")


def verdicts_beside(
    own: Config, evaluated: EvaluatedRun, decided: Decided, *, stored: bool
) -> tuple[tuple[Verdict, ...], Allowed]:
    """Decide by a pull request's own rules.

    Return the verdicts that differ from those by the base's rules. They decide nothing. A check that was not evaluated
    under the own rules (other prompts, other settings of the reply, more samples) is `inconclusive` and says so. The
    second result is how many harmless changes the own rules fail at most.

    Parameters
    ----------
    own : Config
        The pull request's rules.
    evaluated : EvaluatedRun
        What was evaluated under the base's rules.
    decided : Decided
        The verdicts by the base's rules; new checks are left out.
    stored : bool
        Plan from references alone (`plan_checks`): scores then stay as they are recorded, and a check whose extraction
        or metric differs is `inconclusive`.
    """
    done = {item.check.key: item for item in evaluated.checks}
    by_base = {(v.model or "", v.task or ""): v for v in decided.checks if not v.is_new}
    # What a pull request adds does not thin out the alpha of the others, here as little as in the verdicts.
    own = _without_new_limits(own, [done[pair].check for pair in by_base if pair in done])
    pairs, verdict_of = [pair for pair in own.pairs() if pair in by_base], {}
    made: dict[tuple[str, str], tuple[Check, Evidence, Sequence[Record]]] = {}
    of_tier = {tier: [pair for pair in pairs if own.tasks[pair[1]].tier == tier] for tier in get_args(Tier)}
    accounts = {tier: account_of_pairs(own, of, stored=stored) for tier, of in of_tier.items()}
    for pair in pairs:
        item = done.get(pair)
        if own.models[pair[0]].equal_to is not None:  # both sides are of the head, whoever's the rules are
            continue
        if item is None or item.evaluation is None or not item.evaluation.complete:
            continue
        try:
            account = accounts[own.tasks[pair[1]].tier]
            (check,) = plan_checks(replace(own, only=frozenset({pair})), stored=stored, account=account)
            made[pair] = (check, *_evidence(check, item, stored=stored))
        except AccgateError as error:
            verdict_of[pair] = _inconclusive(by_base[pair], str(error))
    for tier, account in accounts.items():
        mine, count = {pair: made[pair] for pair in of_tier[tier] if pair in made}, len(of_tier[tier])
        evidences = [evidence for _, evidence, _ in mine.values()]
        try:
            by_scores = decide(
                evidences, correction=own.gate.correction, checks=count, total_share=account.share_of_checks
            )
            cases = []
            for (check, evidence, records), verdict in zip(mine.values(), by_scores, strict=True):
                by_own = with_drift(replace(verdict, tier=tier), evidence, check, alpha=own.gate.drift_alpha)
                cases.append(CostCase(by_own, evidence, check, records, evaluated.engines.get(check.model)))
            verdict_of |= zip(mine, with_costs(cases, account), strict=True)
        except BadInput as error:
            verdict_of |= {pair: _inconclusive(by_base[pair], str(error)) for pair in mine}
    account = accounts["required"]
    beside = [verdict_of[pair] for pair in pairs if pair in verdict_of and _differs(verdict_of[pair], by_base[pair])]
    before = {v.model: v for v in decided.overall if not v.is_new}
    whole = {model for model in account.pooled if all(pair in made for pair in pairs if pair[0] == model)}
    pooled = [check for check, _, _ in made.values() if check.model in whole]
    of_pairs = {pair: evidence for pair, (_, evidence, _) in made.items()}
    overall = decide_overall(account, pooled, of_pairs, list(verdict_of.values()))
    none = [_inconclusive(v, "they have no overall check") for v in before.values() if v.model not in account.pooled]
    others = [v for v in overall if v.model not in before or _differs(v, before[v.model])]
    return (*beside, *none, *others), account.allowed


def _without_new_limits(own: Config, by_base: Sequence[Check]) -> Config:
    """Return the rules without limits on costs that the base's checks lack.

    Such limits begin with the merge.
    """
    limited = [{check.task.name for check in by_base if name in check.limits} for name in LIMITS]
    tasks = dict(own.tasks)
    for name, task in own.tasks.items():
        keys = zip(LIMITS.values(), limited, strict=True)
        more, slower, less = (getattr(task, key) if name in names else None for key, names in keys)
        tasks[name] = replace(task, max_more_tokens=more, max_slower=slower, max_less_accepted=less)
    return replace(own, tasks=tasks)


def _evidence(check: Check, item: EvaluatedCheck, *, stored: bool) -> tuple[Evidence, Sequence[Record]]:
    """Return the evidence that the records give a check, and the records.

    Raises
    ------
    BadInput
        When they give none: why.
    """
    assert item.evaluation is not None
    if check.reference is None:
        raise BadInput(*map(words_of, check.notes))
    if (fault := judge_fault(check, item.evaluation.makers)) is not None:
        raise BadInput(fault)
    base, now = item.check.task.fingerprint, check.task.fingerprint
    if any(base.get(part) != now.get(part) for part in ("prompt", WORDING, "reply")):
        raise BadInput("not evaluated: the prompts or the settings of the reply differ from the base's")
    if stored and any(base.get(part) != now.get(part) for part in ("extract", "metric")):
        raise BadInput("not decided again: the extraction or the metric differs from the base's")
    records = {record.key: record for record in (*item.evaluation.records, *item.evaluation.beyond)}
    present: list[Record] = []
    for sample in check.task.samples:
        keys = [(sample.id, repeat) for repeat in range(check.repeats)]
        if any(key not in records for key in keys):
            break
        present.extend(records[key] if stored else rescore(check.task, sample, records[key]) for key in keys)
    if len(present) == check.n * check.repeats:
        return evidence_of(check, present), present
    stop = early_stop(check)
    if stop is None or not present or not stop(present):
        raise BadInput(f"not evaluated: {len(present) // check.repeats:,} of its {check.n:,} samples were")
    return evidence_of(check, present, stopped=True), present


def _inconclusive(base: Verdict, reason: str) -> Verdict:
    sides, higher = (ReferenceSummary(None, None), CandidateSummary(None, 0)), base.higher_is_better
    own = Verdict(
        base.model, base.task, "inconclusive", None, 0, *sides, base.alpha, base.beta, higher_is_better=higher
    )
    return own.because(Reason.of("other-rules", text=reason))


def _differs(own: Verdict, base: Verdict) -> bool:
    return any(getattr(own, name) != getattr(base, name) for name in SHOWN)
