"""Which test judges a check, and its Verdict.

Lower-is-better scores are turned round here, in `_judge`, and nowhere else.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from accgate.design import Design, Mean, Target, chosen_test
from accgate.errors import BadInput, VerdictName
from accgate.scores import LARGEST, Floats, Scores, check_range, from_python, in_points, paired
from accgate.stats.multiplicity import adjusted_p_values, applied_share
from accgate.stats.names import AVAILABLE_TESTS, Correction, TestName
from accgate.stats.paired import McNemarResult, mcnemar_exact, paired_t
from accgate.stats.result import Interval, TestResult
from accgate.stats.unpaired import target_z, two_sample_z


@dataclass(frozen=True)
class Evidence:
    """What one check is decided on.

    A candidate's failed samples are NaN; `worst` and `best` are the scores that bracket them, None where the
    metric has no bounds.
    """

    candidate: Scores
    reference: Scores | Mean | Target
    design: Design
    model: str | None = None
    task: str | None = None
    worst: float | None = 0.0
    best: float | None = 100.0


@dataclass(frozen=True)
class ReferenceSummary:
    """Mean (points) and size of the reference; n is null for an absolute target."""

    mean: float | None
    n: int | None


@dataclass(frozen=True)
class CandidateSummary:
    """Mean (points) of the candidate, number of its samples, and how many of them failed."""

    mean: float | None
    n: int
    errors: int = 0


@dataclass(frozen=True)
class Verdict:
    """The decision of one check, with the keys of the result file; a figure that does not exist is None.

    All scores are in points. `sigma` is what the test worked with: the declared standard deviation for
    two-sample and target, that of the paired differences for paired. `gamma`, `theta` and `interval` belong to
    `alpha_applied`, the alpha after the correction for several checks; `p_adjusted` compares with `alpha`.
    `flips` are the ids whose score got worse, worst first; `discordance` is the share of samples that changed.
    """

    model: str | None
    task: str | None
    verdict: VerdictName
    test: str | None
    n: int
    reference: ReferenceSummary
    candidate: CandidateSummary
    alpha: float
    beta: float
    difference: float | None = None
    alpha_applied: float | None = None
    sigma: float | None = None
    theta: float | None = None
    theta_target: float | None = None
    gamma: float | None = None
    p_value: float | None = None
    p_mid: float | None = None
    p_adjusted: float | None = None
    interval: Interval | None = None
    discordance: float | None = None
    lost: int | None = None
    gained: int | None = None
    flips: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    higher_is_better: bool = True


def compare(
    reference: Mapping[Any, float] | Sequence[float] | Floats,
    candidate: Mapping[Any, float] | Sequence[float] | Floats,
    *,
    test: TestName = "auto",
    alpha: float = 0.05,
    beta: float = 0.2,
    sigma: float | None = None,
    theta: float | None = None,
    discordance: float | None = None,  # noqa: ARG001
    early_stopping: bool = False,
    clusters: Any = None,
    seed: int = 0,  # noqa: ARG001
    scale: float | None = None,
    higher_is_better: bool = True,
) -> Verdict:
    """Decide whether the candidate's scores are lower than the reference's.

    Parameters
    ----------
    reference, candidate : mapping of id to score, or array of shape (n,)
        Scores in points, or in another unit with `scale`. Arrays pair in the order given.
    test : str
        `auto` and `paired` pair by id; `two-sample` compares means at a declared `sigma`.
    alpha, beta : float
        Type I and type II error rates.
    sigma : float, optional
        Standard deviation of one score, points; two-sample needs it.
    theta : float, optional
        The drop (points) that must be detectable; without it nothing is inconclusive.
    scale : float, optional
        Factor to points: 100 for fractions, 1 for points.
    discordance, early_stopping, clusters, seed
        For the sequential and clustered tests, which this version does not have: `early_stopping` or `clusters`
        is refused, the other two change nothing in a fixed-n test.

    Raises
    ------
    BadInput
        For samples that are missing, extra, not finite or not in points, and for arguments out of range.

    Examples
    --------
    >>> verdict = compare([100, 100, 0, 100] * 50, [100, 0, 0, 100] * 50)
    >>> verdict.verdict, verdict.difference, verdict.gamma
    ('regression', -25.0, 68.5)
    """
    if early_stopping or clusters is not None:
        asked = "early stopping" if early_stopping else "clusters"
        raise BadInput(f"{asked}: this version has fixed-n tests of independent samples only")
    left, right = in_points(from_python(reference, "reference"), from_python(candidate, "candidate"), scale)
    return compare_scores(left, right, Design(test, alpha, beta, sigma, theta, higher_is_better))


def compare_scores(reference: Scores, candidate: Scores, design: Design) -> Verdict:
    """`compare` for scores already in points."""
    return decide([Evidence(candidate, reference, design)])[0]


def decide(
    evidences: Sequence[Evidence], *, correction: Correction = "none", checks: int | None = None
) -> tuple[Verdict, ...]:
    """Verdicts of a run's checks, corrected for their number.

    Where samples failed the checks are decided twice, with every failed sample at the worst and at the best
    score: pass or regression stands only where both agree, else the verdict is `error`.

    `checks` is the run's number of (model, task) pairs, those without evidence included; they count in the
    correction as never rejected.

    Raises
    ------
    BadInput
        For a design that cannot be used on its evidence.
    """
    for evidence in evidences:
        _check_design(evidence)
        _check_scores(evidence)
    total = max(len(evidences), checks or 0)
    at_worst = _decide_filled([_filled(e, e.worst) for e in evidences], correction, total)
    if not any(e.candidate.failed for e in evidences):
        return at_worst
    at_best = _decide_filled([_filled(e, e.best) for e in evidences], correction, total)
    return tuple(map(_both_ways, evidences, at_worst, at_best))


def _check_design(evidence: Evidence) -> None:
    design = evidence.design
    if design.test not in AVAILABLE_TESTS:
        raise BadInput(f"test is {design.test!r}; this version has {', '.join(AVAILABLE_TESTS)}")
    ranges = {
        "alpha": (design.alpha, 0.0 < design.alpha < 0.5, "above 0 and below 0.5"),
        "beta": (design.beta, 0.0 < design.beta <= 0.5, "above 0 and up to 0.5"),
        "sigma": (design.sigma, design.sigma is None or 0.0 <= design.sigma < math.inf, "0 or more"),
        "theta": (design.theta, design.theta is None or 0.0 < design.theta < math.inf, "above 0"),
    }
    faults = [f"{key} is {value}; give a number {rule}" for key, (value, ok, rule) in ranges.items() if not ok]
    if faults:
        raise BadInput(*faults)
    test = chosen_test(design.test, evidence.reference)
    if test in ("two-sample", "target") and design.sigma is None:
        raise BadInput(f"the {test} test needs sigma, the standard deviation of one score in points (50 for 0/100)")


def _check_scores(evidence: Evidence) -> None:
    check_range(evidence.candidate)
    reference = evidence.reference
    if isinstance(reference, Scores):
        check_range(reference)
        if reference.failed:
            raise BadInput(f"the reference has {reference.failed} samples without a score; record it again")
        return
    if not (math.isfinite(reference.mean) and abs(reference.mean) <= LARGEST):
        raise BadInput(f"the reference's mean is {reference.mean}; give a number of points")
    if isinstance(reference, Mean) and reference.n < 1:
        raise BadInput(f"the reference's number of samples is {reference.n}; give 1 or more")


def _filled(evidence: Evidence, score: float | None) -> Evidence:
    if not evidence.candidate.failed:
        return evidence
    return replace(evidence, candidate=evidence.candidate.filled(math.nan if score is None else score))


def _decide_filled(evidences: Sequence[Evidence], correction: Correction, total: int) -> tuple[Verdict, ...]:
    """One pass for the p-values, and one at the alphas that the correction leaves."""
    levels = np.array([e.design.alpha for e in evidences])
    undecided = total - len(evidences)  # they stand at p = 1, which no level rejects
    levels = np.append(levels, np.full(undecided, levels.min(initial=0.5)))
    first = [_judge(e, e.design.alpha) for e in evidences]
    p_values = np.array([1.0 if v.p_value is None else v.p_value for v in first] + [1.0] * undecided)
    adjusted = adjusted_p_values(p_values, correction, levels=levels)
    shares = applied_share(p_values / levels, correction)
    return tuple(
        replace(_judge(e, float(e.design.alpha * share)), p_adjusted=None if v.p_value is None else float(p))
        for e, v, share, p in zip(evidences, first, shares, adjusted, strict=False)
    )


def _judge(evidence: Evidence, alpha: float) -> Verdict:
    """One check at one alpha."""
    design, candidate = evidence.design, evidence.candidate
    sign = 1.0 if design.higher_is_better else -1.0
    test = chosen_test(design.test, evidence.reference)
    scores = candidate.averaged()
    mean = float(np.mean(scores))
    summary = CandidateSummary(mean, candidate.n)
    blank = Verdict(
        evidence.model, evidence.task, "error", test, candidate.n, _summary(evidence.reference), summary,
        design.alpha, design.beta, alpha_applied=alpha, theta_target=design.theta,
        higher_is_better=design.higher_is_better,
    )  # fmt: skip
    if math.isnan(mean):
        return blank
    changes: dict[str, Any] = {}
    if test == "paired":
        assert isinstance(evidence.reference, Scores)
        reference = paired(evidence.reference, candidate).averaged()
        result = _paired(reference, scores, sign, alpha, design.beta)
        changes = _changes(candidate.ids, sign * (scores - reference))
    else:
        result = _unpaired(test, sign * mean, candidate.n, evidence, sign, alpha)
    reference_mean = blank.reference.mean
    assert reference_mean is not None
    return replace(
        blank,
        verdict=_verdict(result, design.theta),
        difference=sign * result.difference,
        sigma=result.sigma,
        theta=result.theta,
        gamma=None if result.threshold is None else reference_mean + sign * result.threshold,
        p_value=result.p_value,
        p_mid=result.p_mid if isinstance(result, McNemarResult) else None,
        interval=result.interval if sign > 0 or result.interval is None else result.interval.negated(),
        reasons=_reasons(result, design, candidate.n),
        **changes,
    )


def _summary(reference: Scores | Mean | Target) -> ReferenceSummary:
    if isinstance(reference, Scores):
        return ReferenceSummary(float(np.mean(reference.averaged())), reference.n)
    return ReferenceSummary(reference.mean, reference.n if isinstance(reference, Mean) else None)


def _paired(reference: Floats, scores: Floats, sign: float, alpha: float, beta: float) -> TestResult:
    difference = sign * (scores - reference)
    if np.isin(reference, (0.0, 100.0)).all() and np.isin(scores, (0.0, 100.0)).all():
        lost, gained = int((difference < 0).sum()), int((difference > 0).sum())
        return mcnemar_exact(lost, gained, len(scores), alpha=alpha, beta=beta)
    return paired_t(difference, alpha=alpha, beta=beta)


def _changes(ids: Sequence[str], change: Floats) -> dict[str, Any]:
    """What changed, with `change` turned so that negative is worse."""
    worse = np.flatnonzero(change < 0)
    order = worse[np.argsort(change[worse], kind="stable")]
    return {
        "lost": len(worse),
        "gained": int((change > 0).sum()),
        "discordance": float(np.mean(change != 0)),
        "flips": tuple(ids[i] for i in order),
    }


def _unpaired(test: TestName, mean: float, n: int, evidence: Evidence, sign: float, alpha: float) -> TestResult:
    design, known = evidence.design, _summary(evidence.reference)
    assert design.sigma is not None
    assert known.mean is not None
    if test == "target":
        return target_z(mean, n, sign * known.mean, sigma=design.sigma, alpha=alpha, beta=design.beta)
    assert known.n is not None
    return two_sample_z(mean, n, sign * known.mean, known.n, sigma=design.sigma, alpha=alpha, beta=design.beta)


def _verdict(result: TestResult, theta_target: float | None) -> VerdictName:
    if result.threshold is not None and result.difference < result.threshold:
        return "regression"
    if theta_target is None or _sees(result, theta_target) or _rules_out(result, theta_target):
        return "pass"
    return "inconclusive"


def _sees(result: TestResult, theta_target: float) -> bool:
    return result.theta is not None and result.theta <= theta_target * (1.0 + 1e-9)


def _rules_out(result: TestResult, theta_target: float) -> bool:
    """Whether a better candidate's interval excludes a drop of theta: gains raise the achieved theta, not the risk."""
    return result.difference > 0.0 and result.interval is not None and result.interval.two_sided[0] > -theta_target


def _reasons(result: TestResult, design: Design, n: int) -> tuple[str, ...]:
    if design.theta is None or _sees(result, design.theta) or _verdict(result, design.theta) == "regression":
        return result.reasons
    sees = "no drop" if result.theta is None else f"a drop of {result.theta:.2f} points or more"
    seen = f"{n:,} samples see {sees} with probability {1 - design.beta:g}; the target is {design.theta:g}"
    if _rules_out(result, design.theta):
        assert result.interval is not None
        low = result.interval.two_sided[0]
        return (*result.reasons, f"{seen}, but the difference is at least {low:+.2f}, which rules out such a drop")
    return (*result.reasons, f"{seen}: evaluate more samples or set a larger theta")


def _both_ways(evidence: Evidence, at_worst: Verdict, at_best: Verdict) -> Verdict:
    """The verdict of a check with failed samples: the worst case's figures where both cases agree."""
    failed = evidence.candidate.failed
    summary = replace(at_worst.candidate, errors=failed)
    if not failed:
        return at_worst
    worst, best = at_worst.candidate.mean, at_best.candidate.mean
    if worst is None or best is None or math.isnan(worst + best):
        reason = f"{failed} of {evidence.candidate.n} samples failed, and the metric has no bounds to bracket them"
        return replace(at_worst, verdict="error", candidate=replace(summary, mean=None), reasons=(reason,))
    spread = f"the mean is {worst:.2f} at worst and {best:.2f} at best"
    if at_worst.verdict == at_best.verdict and at_worst.verdict in ("pass", "regression"):
        reason = f"{failed} of {evidence.candidate.n} samples failed; {spread}: the verdict is the same"
        return replace(at_worst, candidate=summary, reasons=(*at_worst.reasons, reason))
    reason = (
        f"{failed} of {evidence.candidate.n} samples failed; {spread}: {at_worst.verdict} at worst, "
        f"{at_best.verdict} at best. Evaluate them again with --resume"
    )
    return replace(at_worst, verdict="error", candidate=summary, reasons=(*at_worst.reasons, reason))
