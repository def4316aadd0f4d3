"""The costs of samples beside accuracy, their gates, and the reading of replies."""

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from accgate.decision.evidence import Evidence
from accgate.errors import LIMITS, SEVERITY, CostName
from accgate.evaluation.reading import is_silence_alone, silence_cause, unread_problem
from accgate.evaluation.sameness import sameness_fault, sameness_note
from accgate.planning.account import Account
from accgate.planning.checks import Check
from accgate.records.figures import Figures, readings_of
from accgate.records.file import Record
from accgate.records.ids import Ids
from accgate.records.scores import Floats, Scores
from accgate.result import EngineInfo
from accgate.stats.bootstrap import ratio_test, sees_double
from accgate.stats.clusters import cluster_totals
from accgate.stats.multiplicity import level_shares
from accgate.stats.sequential import places_of
from accgate.verdict import Cost, Reason, Verdict, texts_of

Range = tuple[float, float]
AGAIN = "record the reference again"
# What a sample of each figure lacks, and why it may lack it in a run.
LACKING: Mapping[CostName, tuple[str, str]] = {
    "tokens": ("counted tokens", ""),
    "seconds": ("measured seconds", ""),
    "acceptance": ("acceptance length", "the engine reports none, or speculative decoding is off; "),
}
CEILINGS: Mapping[CostName, float] = {"acceptance": 1.0}  # what a figure never exceeds: steps per token


@dataclass(frozen=True)
class CostCase:
    """A check's verdict by its scores, with what its costs are decided on."""

    verdict: Verdict
    evidence: Evidence
    check: Check
    records: Sequence[Record]
    info: EngineInfo | None

    def costs(self, levels: Mapping[CostName, float]) -> tuple[Cost, ...]:
        """Return the change of each cost, tested where it has a limit.

        `levels` gives the level of each test.
        """
        check, evidence = self.check, self.evidence
        if check.recorded is None or not isinstance(evidence.reference, Scores):
            lacking = "there are no recorded samples to compare with"
            return tuple(_error(name, share, lacking) for name, share in check.limits.items())
        # A test that stopped early may leave out the last that finished, but none that a limit needs.
        ids = evidence.candidate.ids[: max(self.verdict.n, fewest_for_limits(check))]
        before, now = Figures.of(check.recorded.records()), Figures.of(self.records)
        costs = (_cost(self, name, ids, before, now, levels[name]) for name in LIMITS)
        hardware = check.recorded.about.hardware
        return tuple(_with_hardware(cost, hardware, self.info) for cost in costs if cost is not None)


def fewest_for_limits(check: Check) -> int:
    """Count the first samples that a check's limits need for a decision.

    The count follows from the reference's costs. It includes all samples where no number is enough, and is 0 without a
    limit.
    """
    if not check.limits or check.recorded is None:
        return 0
    before, ids = Figures.of(check.recorded.records()), check.task.samples.ids
    return max(_fewest(_means(before, ids, name), name, before, check) for name in check.limits)


def _fewest(means: Floats, name: CostName, before: Figures, check: Check) -> int:
    """Count the samples that one limit needs, from the reference's mean of each sample."""
    samples, reference = check.task.samples, check.reference
    longest, _ = _longest(name, samples.ids, before, before, check)
    own = reference.take(samples.ids).clusters if isinstance(reference, Scores) else None
    clusters = samples.names("cluster") or own
    codes = np.arange(len(means)) if clusters is None else places_of([str(each) for each in clusters])

    def is_seen(count: int) -> bool:
        has_figure = ~np.isnan(means[:count])
        if not has_figure.any():
            return False
        totals, sizes = cluster_totals(means[:count][has_figure], codes[:count][has_figure])
        most = max(longest, float(means[:count][has_figure].max())) * float(sizes.max())
        ceiling = CEILINGS.get(name, math.inf) * sizes / (1.0 + _growth(name, check.limits[name]))
        return sees_double(totals, most, alpha=check.alpha_limit, ceiling=ceiling)

    return bisect_left(range(1, len(means)), True, key=is_seen) + 1


def with_costs(cases: Sequence[CostCase], account: Account) -> tuple[Verdict, ...]:
    """Add the change of what a sample costs to the verdicts of checks.

    Costs are compared over the samples that each check used. The limits of a run share their part of alpha by the
    correction; a limit that cannot be decided counts there as one that was kept. A limit is an error where even samples
    that cost twice the allowed amount would pass. How replies were read comes last, for it can make a check an error.
    """
    alphas = [case.evidence.design.alpha for case in cases]
    levels = [dict.fromkeys(LIMITS, account.of_limit(alpha) if account.limits else 0.0) for alpha in alphas]
    costs = [case.costs(each) for case, each in zip(cases, levels, strict=True)]
    gated = [(at, cost) for at, each in enumerate(costs) for cost in each if cost.outcome in ("pass", "regression")]
    p_values = [1.0] * account.limits
    p_values[: len(gated)] = [_p_of(cost) / account.of_limits(alphas[at]) for at, cost in gated]
    shares = level_shares(np.array(p_values), account.correction)
    again = set()
    for (at, cost), share in zip(gated, shares, strict=False):
        level = float(share) * account.of_limits(alphas[at])
        if level > levels[at][cost.name] * (1.0 + 1e-9):
            levels[at][cost.name] = level
            again.add(at)
    finals = [case.costs(levels[at]) if at in again else costs[at] for at, case in enumerate(cases)]
    verdicts = (_with_costs(case.verdict, each) for case, each in zip(cases, finals, strict=True))
    return tuple(with_readings(v, case.check, case.records) for case, v in zip(cases, verdicts, strict=True))


def _p_of(cost: Cost) -> float:
    """Return the p-value of a limit. It is 1 where the mean changed by no more than is allowed."""
    return cost.p_value if cost.is_exceeded and cost.p_value is not None else 1.0


def _means(figures: Figures, ids: Ids, name: CostName) -> Floats:
    """Return each sample's mean cost over its answers that have a score.

    The mean is NaN where an answer has no figure, or no answer has a score. An acceptance length is turned into its
    cost: decoding steps per token, from above 0 to 1.
    """
    places, columns = ids.places(figures.ids), figures.columns
    scored = (places >= 0) & ~figures.failed
    tokens = columns["completion_tokens"]
    values = np.where(tokens >= 0, tokens, np.nan) if name == "tokens" else columns[name]
    values = 1.0 / values if name == "acceptance" else values
    counts = np.bincount(places[scored], minlength=len(ids))
    totals = np.bincount(places[scored], weights=values[scored], minlength=len(ids))
    means: Floats = np.divide(totals, counts, out=np.full(len(ids), np.nan), where=counts > 0)
    return means


def _cost(case: CostCase, name: CostName, ids: Ids, before: Figures, now: Figures, alpha: float) -> Cost | None:
    """Return the change of one cost. It is None where it has no limit and nothing is known of it."""
    check, evidence = case.check, case.evidence
    left, right, allowed = _means(before, ids, name), _means(now, ids, name), check.limits.get(name)
    both = ~(np.isnan(left) | np.isnan(right))
    places = ids.places(now.ids)
    failed = len(ids) - len(np.unique(places[(places >= 0) & ~now.failed]))
    lacking = int((~both).sum()) - failed
    comparable = both.sum() > 1 and left[both].sum() > 0 and right[both].sum() > 0
    if allowed is not None and (lacking > 0 or not comparable):
        side = "the reference" if not np.nansum(left) or np.isnan(left).any() else "the run"
        counted, why = LACKING[name]
        fix = f"; {why}" + (AGAIN if side == "the reference" else "cached replies have none: run without the cache")
        share = f"{lacking or len(ids):,} of {len(ids):,}"
        return _error(name, allowed, f"{share} samples have no {counted} in {side}{fix}")
    is_drafted = name != "acceptance" or min(left[both].min(initial=1.0), right[both].min(initial=1.0)) < 1.0
    if not comparable or (allowed is None and not is_drafted):
        return None
    codes = None if evidence.clusters is None else evidence.clusters[: len(ids)][both]
    level = alpha if allowed is not None else evidence.design.alpha
    longest = _longest(name, ids, before, now, check)
    ceiling, growth = CEILINGS.get(name, math.inf), _growth(name, allowed)
    sides = left[both], right[both]
    result = ratio_test(*sides, longest=longest, allowed=growth, alpha=level, codes=codes, ceiling=ceiling)
    means = float(sides[0].mean()), float(sides[1].mean())
    figures = (*means, result.change, result.interval)
    shown = _lengths(*figures) if name == "acceptance" else figures
    cost = Cost(name, int(both.sum()), *shown, level, allowed)
    if allowed is None:
        return cost
    cost = replace(cost, p_value=result.p_value, outcome="pass")
    if result.p_value <= level and cost.is_exceeded:
        return replace(cost, outcome="regression")
    if result.sees_double:
        return cost
    most = max(longest[0], float(left[both].max()))
    if name == "acceptance" and means[0] * (1.0 + growth) >= ceiling:
        few = "the reference's acceptance length is too short to fall so far; draft more tokens, or remove the limit"
    else:
        few = _too_few(name, cost.n, most, is_clustered=codes is not None)
    return replace(cost, outcome="error", note=few)


def _growth(name: CostName, allowed: float | None) -> float:
    """Return the share by which a cost may grow. Steps per token may grow as far as their inverse may fall."""
    share = allowed or 0.0
    return share / (1.0 - share) if name == "acceptance" else share


def _lengths(before: float, now: float, change: float, interval: Range) -> tuple[float, float, float, Range | None]:
    """Turn the figures of steps per token into those of tokens per step.

    The interval is None where it has no upper end.
    """
    low, high = interval
    ends = None if low <= -1.0 else (1.0 / (1.0 + high) - 1.0, 1.0 / (1.0 + low) - 1.0)
    return 1.0 / before, 1.0 / now, 1.0 / (1.0 + change) - 1.0, ends


def _longest(name: CostName, ids: Ids, before: Figures, now: Figures, check: Check) -> tuple[float, float]:
    """Return the most that one reply can cost, in reference and run.

    That is max_tokens, or the seconds that so many tokens take at the mean speed, 0 where no speed is known. Each
    decoding step yields a token at least, so a token takes one step at most.
    """
    assert check.recorded is not None
    if name in CEILINGS:
        return CEILINGS[name], CEILINGS[name]
    own, settings = check.planned_model.settings.sampling.max_tokens, check.recorded.about.settings
    sampling = settings.get("sampling", {}) if settings else {"max_tokens": own}  # earlier versions kept none
    recorded = sampling.get("max_tokens") if isinstance(sampling, Mapping) else None
    limits = [limit if isinstance(limit, int) else check.task.content.max_tokens for limit in (recorded, own)]
    if name == "seconds":
        return limits[0] * _pace(ids, before), limits[1] * _pace(ids, now)
    return float(limits[0]), float(limits[1])


def _pace(ids: Ids, figures: Figures) -> float:
    """Return the mean seconds of a token, 0 where no sample has both figures."""
    tokens, seconds = _means(figures, ids, "tokens"), _means(figures, ids, "seconds")
    both = ~(np.isnan(tokens) | np.isnan(seconds))
    return float(seconds[both].sum() / tokens[both].sum()) if tokens[both].any() else 0.0


def _too_few(name: CostName, n: int, most: float, *, is_clustered: bool) -> str:
    if name == "acceptance":
        return f"{n:,} samples are too few to show a complete loss of accepted tokens; take more samples"
    size = f"{most:,.0f} tokens" if name == "tokens" else f"{most:,.1f} seconds"
    hidden = f"one cluster of replies of up to {size} each" if is_clustered else f"one reply of up to {size}"
    return f"{n:,} samples are too few, for {hidden} can outweigh all of them; take more samples or lower max_tokens"


def _error(name: CostName, allowed: float, reason: str) -> Cost:
    return Cost(name, 0, None, None, None, None, None, allowed, None, "error", reason)


def _with_hardware(cost: Cost, recorded: str, info: EngineInfo | None) -> Cost:
    """Note where the seconds were measured. A limit on them is an error where the hardware differs."""
    if cost.outcome == "error" or cost.name != "seconds":
        return cost
    here = "" if info is None else info.hardware
    if recorded and here and recorded != here:
        note = f"the reference was measured on {recorded}, this run on {here}, so seconds cannot be compared"
        if cost.allowed is None:
            return replace(cost, note=note, outcome=None)
        return replace(cost, note=f"{note}; {AGAIN} on this hardware", outcome="error")
    where = "" if recorded and here else "the hardware of one side is not known; "
    return replace(
        cost, note=f"{where}comparable only if as many requests ran at once, on a machine with as little else to do"
    )


def _with_costs(verdict: Verdict, costs: tuple[Cost, ...]) -> Verdict:
    """Add costs to a verdict, and take the worst outcome of all.

    A verdict that is a regression or an error already keeps that outcome.
    """
    if not costs:
        return verdict
    outcomes = [cost.outcome for cost in costs if cost.outcome is not None]
    worst = verdict.verdict
    if worst not in ("regression", "error"):
        worst = max((worst, *outcomes), key=SEVERITY.index)
    failed = [cost.sentence for cost in costs if cost.outcome in ("regression", "error")]
    by_scores = verdict.verdict if worst != verdict.verdict else None
    verdict = replace(verdict, verdict=worst, costs=costs, by_scores=by_scores)
    return verdict.because(*(Reason.of("cost", text=text) for text in failed))


def with_readings(verdict: Verdict, check: Check, records: Sequence[Record]) -> Verdict:
    """Add how the replies of both sides were read.

    The verdict becomes an error where too many replies hold no answer. A regression stays one where replies that are
    empty or cut off explain the loss and the reference's replies were read. No run passes against a reference whose
    scores are all the worst possible, unless the reference says that its replies were read.
    """
    before, now = check.reference_readings, readings_of(records)
    figures = Figures.of(records)
    unread = figures.ids.take(np.flatnonzero(figures.unread))
    verdict = replace(
        verdict,
        reference=replace(verdict.reference, readings=before),
        candidate=replace(verdict.candidate, readings=now),
        lost_unread=None if verdict.lost is None or now is None else int((unread.places(verdict.flips) >= 0).sum()),
    )
    problem = unread_problem(records, check.max_unread)
    if problem is None and (fault := sameness_fault(check.task, records)) is not None:
        problem = (fault,)
    if problem is not None and verdict.verdict == "regression" and is_silence_alone(check, records):
        return verdict.explained_by((*texts_of("unread", (silence_cause(records),)), *verdict.causes))
    if problem is not None:
        verdict = replace(
            verdict,
            verdict="error",
            theta=None,
            gamma=None,
            p_value=None,
            p_mid=None,
            p_adjusted=None,
            interval=None,
        )
        return verdict.explained_by((*texts_of("unread", problem), *verdict.causes))
    if (note := sameness_note(records)) is not None:
        verdict = verdict.because(Reason.of("same-answers", text=note))
    if verdict.verdict in ("pass", "inconclusive") and now is not None and before is None and _is_worst(check):
        return replace(verdict, verdict="inconclusive").because(Reason.of("unread-reference"))
    return verdict


def _is_worst(check: Check) -> bool:
    reference, worst = check.reference, check.task.metric.worst
    return isinstance(reference, Scores) and worst is not None and bool((reference.values == worst).all())
