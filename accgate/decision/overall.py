"""The overall check of a model. It is one exact test over all changed samples of the model's checks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from accgate.decision.check import with_figures, with_gamma
from accgate.decision.conclusion import Conclusion
from accgate.decision.evidence import Evidence
from accgate.decision.gamma import fewer_losses, first_step, more_losses
from accgate.decision.stopping import sequential_test
from accgate.design import oriented
from accgate.errors import VerdictName
from accgate.planning.account import Account
from accgate.planning.checks import Check
from accgate.records.scores import Floats
from accgate.stats.answers import Repeats
from accgate.stats.paired import mcnemar_exact
from accgate.stats.pooled import Series, pooled_rejects, pooled_test
from accgate.stats.repeats import repeats_exact
from accgate.stats.result import TestResult
from accgate.text import some_of
from accgate.verdict import CandidateSummary, Reason, ReferenceSummary, Verdict

NAME = "overall"
Evidences = Mapping[tuple[str, str], Evidence]


def decide_overall(
    account: Account, checks: Sequence[Check], evidences: Evidences, verdicts: Sequence[Verdict]
) -> tuple[Verdict, ...]:
    """Decide the overall verdict of each model that has one.

    It pools the paired checks of 0/100 scores, each sample with the same weight. It is an error where one of these
    checks is. Where samples failed it is decided twice, with these at their worst and at their best.

    Parameters
    ----------
    account : Account
        How the run shares alpha.
    checks : sequence of Check
        All checks of the run.
    evidences : mapping of (model, task) to Evidence
        What there is of them.
    verdicts : sequence of Verdict
        Of each check.
    """
    names = {(verdict.model, verdict.task): verdict.verdict for verdict in verdicts}
    models = {check.model for check in checks}
    return tuple(
        _decide_model(account, [c for c in checks if c.model == model], evidences, names)
        for model in account.pooled
        if model in models
    )


def _decide_model(
    account: Account,
    checks: Sequence[Check],
    evidences: Evidences,
    names: Mapping[tuple[str | None, str | None], VerdictName],
) -> Verdict:
    pooled = [check for check in checks if check.not_pooled is None]
    left_out = [f"{check.task.name} ({check.not_pooled})" for check in checks if check.not_pooled is not None]
    notes = (Reason.of("left-out", names=some_of(left_out)),) if left_out else ()
    model = pooled[0].model
    alpha = account.of_overall(model)
    blank = Verdict(
        model=model,
        task=NAME,
        verdict="error",
        test=NAME,
        n=0,
        reference=ReferenceSummary(None, None),
        candidate=CandidateSummary(None, 0),
        alpha=account.pooled[model],
        beta=max(check.design.beta for check in pooled),
        alpha_applied=alpha,
    )
    missing = [check.task.name for check in pooled if names.get(check.key) == "error" or check.key not in evidences]
    if missing:
        reason = Reason.of("undecided-checks", count=len(missing), checks=len(pooled), names=some_of(missing))
        return blank.because(reason, *notes)
    parts = [(evidences[check.key], check.alpha_planned) for check in sorted(pooled, key=lambda c: c.task.name)]
    worst, best = ([_used(e.fill(getattr(e, end)), alpha) for e, alpha in parts] for end in ("worst", "best"))
    # Past the stop of a check its samples may or may not have finished.
    used = [max(w.evidence.candidate.n, b.evidence.candidate.n) for w, b in zip(worst, best, strict=True)]
    failed = sum(e.by_cluster().first(n).candidate.failed for (e, _), n in zip(parts, used, strict=True))
    at_worst = _decide_parts(blank, worst, notes)
    if not failed:
        return at_worst
    at_best = _decide_parts(blank, best, notes)
    summary = replace(at_worst.candidate, errors=failed)
    if at_worst.verdict == at_best.verdict:
        return replace(at_worst, candidate=summary)
    reason = Reason.of("failed-overall", failed=failed, at_worst=at_worst.verdict, at_best=at_best.verdict)
    return replace(at_worst, verdict="error", candidate=summary).because(reason)


@dataclass(frozen=True)
class _Used:
    """The evidence of the samples that the decision of a check used.

    `stops` says that the check could have stopped early.
    """

    evidence: Evidence
    stops: bool

    @cached_property
    def series(self) -> Series:
        """The answers of both sides."""
        return Series(self.evidence.repeats, stops=self.stops)


def _used(evidence: Evidence, alpha: float) -> _Used:
    evidence = evidence.by_cluster()
    test = sequential_test(evidence, alpha)
    return _Used(evidence, stops=False) if test is None else _Used(evidence.first(test.standing.n), stops=True)


def _decide_parts(blank: Verdict, used: Sequence[_Used], notes: tuple[Reason, ...]) -> Verdict:
    if not all(each.evidence.candidate.is_binary for each in used):
        return blank.because(Reason.of("not-binary"), *notes)
    directions = {each.evidence.design.higher_is_better for each in used}
    higher = directions != {False}
    before, after = _pooled(used, "before"), _pooled(used, "candidate")
    n, change = len(after), oriented(after - before, higher)
    lost, gained = int((change < 0.0).sum()), int((change > 0.0).sum())
    turned = (Reason.of("turned"),) if len(directions) > 1 else ()
    verdict = replace(
        blank,
        n=n,
        reference=ReferenceSummary(float(before.mean()), n),
        candidate=CandidateSummary(float(after.mean()), n),
        higher_is_better=higher,
        lost=lost,
        gained=gained,
        discordance=(lost + gained) / n,
    ).because(Reason.of("pooled", checks=len(used), n=n), *turned, *notes)
    alpha = blank.level
    result = pooled_test([each.series for each in used], alpha=alpha)
    verdict = replace(verdict, p_adjusted=min(1.0, result.p_value * blank.alpha / alpha))
    name: VerdictName = "regression" if result.rejects else "pass" if result.can_reject else "inconclusive"
    if not result.can_reject:
        verdict = verdict.because(Reason.of("no-outcome-overall", n=n, alpha=alpha))
    if (exact := _exact(used, blank)) is not None:
        figures = with_figures(verdict, exact if higher else exact.negate(), Conclusion(name, exact.theta))
        verdict = replace(figures, p_mid=None).explained_by(verdict.causes)
    else:
        verdict = replace(
            verdict,
            verdict=name,
            difference=oriented(result.difference, higher),
            difference_raw=oriented(result.difference, higher),
            p_value=result.p_value,
            n_max=sum(each.series.answers.n_max for each in used) if any(each.stops for each in used) else None,
        )
    return with_gamma(verdict, _gamma(used, alpha, rejects=result.rejects) if result.can_reject else None)


def _gamma(used: Sequence[_Used], alpha: float, *, rejects: bool) -> float | None:
    """Return the pooled mean below which the test rejects.

    Losses are added, or taken back, from the last sample of the last check on, among the samples that each check's own
    decision used.
    """
    losses, evidences = fewer_losses if rejects else more_losses, [each.evidence for each in used]
    paths = [losses(replace(e, reference=e.before), e.candidate.n) for e in evidences]
    most = sum(path.most for path in paths)

    def outcome(count: int) -> list[_Used]:
        parts = list[_Used]()
        for each, path in zip(reversed(used), reversed(paths), strict=True):
            steps = min(count, path.most)
            parts, count = [replace(each, evidence=path.at(steps)), *parts], count - steps
        return parts

    steps = first_step(lambda count: pooled_rejects([p.series for p in outcome(count)], alpha=alpha) != rejects, most)
    if steps is None:
        return None
    return float(_pooled(outcome(steps if rejects else steps - 1), "candidate").mean())


def _pooled(used: Sequence[_Used], side: Literal["before", "candidate"]) -> Floats:
    """Pool the scores of one side.

    Where checks of both directions are pooled, scores are turned so that higher is better.
    """
    evidences = [each.evidence for each in used]
    is_mixed = len({each.design.higher_is_better for each in evidences}) > 1
    sides = [(getattr(each, side).means(), is_mixed and not each.design.higher_is_better) for each in evidences]
    return np.concatenate([100.0 - scores if is_turned else scores for scores, is_turned in sides])


def _exact(used: Sequence[_Used], blank: Verdict) -> TestResult | None:
    """Return the overall test at a fixed n, with all its figures.

    None where a check may stop early or has clusters, and where checks have different numbers of answers.
    """
    sides = [each.series.answers for each in used]
    answers = {(side.before.shape[1], side.now.shape[1]) for side in sides}
    if any(each.stops or each.evidence.clusters is not None for each in used) or len(answers) > 1:
        return None
    before, now, sizes = (np.concatenate([getattr(side, key) for side in sides]) for key in ("before", "now", "sizes"))
    rates, change = {"alpha": blank.level, "beta": blank.beta}, now[:, 0] - before[:, 0]
    if before.shape[1] == now.shape[1] == 1:
        return mcnemar_exact(int((change < 0).sum()), int((change > 0).sum()), len(change), **rates)
    return repeats_exact(Repeats(before, now, sizes, len(sizes)), **rates)
