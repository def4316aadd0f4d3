"""One check at one alpha: which test decides it, and what that says."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TypedDict

import numpy as np

from accgate.decision.evidence import Evidence, SampleStatistic
from accgate.decision.fixed import fixed_test
from accgate.decision.reach import NO_BOUNDS, Reach, no_outcome_fails, reach_of, too_few, worst_outcomes
from accgate.decision.sequential import decisive_part, difference_of, order_by_cluster, sequential_check
from accgate.design import Design, Mean, Target, choose_test, oriented, sequential_test
from accgate.errors import VerdictName
from accgate.records import Floats, Scores, pair_scores
from accgate.stats import SequentialResult, TestResult, move
from accgate.stats.paired import McNemarResult
from accgate.stats.unpaired import student_t, target_z, two_sample_z, welch_t
from accgate.text import drop_word
from accgate.verdict import CandidateSummary, Reason, ReferenceSummary, Verdict
from accgate.verdict.reasons import RESOLUTION, Figure, texts_of


def decide_check(evidence: Evidence, alpha: float) -> Verdict:
    """The verdict of one check at one alpha; where no outcome could have failed it, that is no pass."""
    evidence = decisive_part(order_by_cluster(evidence), alpha)
    reach = reach_of(evidence)
    verdict = _decide(evidence, alpha, reach)
    if verdict.verdict in ("pass", "inconclusive") and (unable := _why_unable(evidence, verdict, alpha)) is not None:
        return _decide(evidence, alpha, replace(reach, unable=unable))
    return _with_proof(verdict, evidence.design, reach) if evidence.design.certify else verdict


def _with_proof(verdict: Verdict, design: Design, reach: Reach) -> Verdict:
    """The verdict where a pass must prove that the drop is less than is allowed and theta together."""
    if verdict.verdict not in ("pass", "inconclusive") or verdict.interval is None or not reach.has_room(design.theta):
        return verdict
    interval = verdict.interval if verdict.higher_is_better else verdict.interval.negate()
    limit, low = design.allowed_drop + (design.theta or 0.0), interval.two_sided[0]
    unseen = reach.unseen(verdict.n, verdict.level) - max(
        oriented(verdict.difference or 0.0, verdict.higher_is_better), 0.0
    )
    proof: dict[str, Figure] = {"possible": max(-low, unseen), "limit": limit}
    if interval.excludes_drop(limit) and unseen <= limit:
        if verdict.verdict == "pass":
            return verdict
        others = (cause for cause in verdict.causes if cause.kind not in RESOLUTION)  # no longer true
        return replace(verdict, verdict="pass").explained_by((*others, Reason("certified", proof)))
    return replace(verdict, verdict="inconclusive").because(Reason("not-certified", proof))


def _why_unable(evidence: Evidence, verdict: Verdict, alpha: float) -> Reason | None:
    """Why no outcome of the same samples is a regression at this alpha; None where one is.

    A run whose worst outcome so far decides nothing would have gone on, and can fail.
    """
    if evidence.statistic is not None:
        return too_few(evidence.design, verdict.n, verdict.clusters, alpha)
    least = 1.0
    for outcome in worst_outcomes(evidence):
        check = sequential_check(outcome, alpha)
        if check is not None:
            if check.standing.open or check.standing.stop == "regression":
                return None
            least = min(least, check.standing.p_value)
            continue
        worst = _decide(outcome, alpha, NO_BOUNDS)
        if worst.verdict in ("regression", "error"):
            return None
        least = min(least, 1.0 if worst.p_value is None else worst.p_value)
    return no_outcome_fails(evidence.design, verdict.n, verdict.clusters, least, alpha)


def _decide(evidence: Evidence, alpha: float, reach: Reach) -> Verdict:
    """The verdict by the test, as far as that reaches."""
    design, candidate = evidence.design, evidence.candidate
    scores = candidate.means()
    test = sequential_test(design, evidence.reference) or choose_test(design.test, evidence.reference)
    blank = Verdict(
        model=evidence.model,
        task=evidence.task,
        verdict="error",
        test=test,
        n=candidate.n,
        reference=_summary(evidence.reference),
        candidate=CandidateSummary(float(np.mean(scores)), candidate.n),
        alpha=design.alpha,
        beta=design.beta,
        alpha_applied=alpha,
        theta_target=design.theta,
        allowed_drop=design.allowed_drop,
        certify=design.certify,
        higher_is_better=design.higher_is_better,
        discordance_planned=design.discordance,
        clusters=None if evidence.clusters is None else len(np.unique(evidence.clusters)),
    )
    if np.isnan(scores).any():
        return blank
    if evidence.statistic is not None:
        return _decide_statistic(evidence, evidence.statistic, blank, alpha, reach)
    if isinstance(evidence.reference, Scores) and choose_test(design.test, evidence.reference) != "two-sample":
        return _decide_pairs(evidence, blank, alpha, reach)
    return verdict_of(blank, _unpaired_test(evidence, alpha), design, reach)


def _decide_statistic(
    evidence: Evidence, statistic: SampleStatistic, blank: Verdict, alpha: float, reach: Reach
) -> Verdict:
    """The verdict on a statistic: means are its values, and a sample whose score got worse is still a flip."""
    from accgate.stats import StatisticUndefined, statistic_test

    design, before, after = evidence.design, statistic.reference, statistic.candidate
    blank = replace(blank, test=statistic.method, statistic=statistic.name)
    try:
        result = statistic_test(
            before,
            after,
            lambda rows: oriented(float(statistic.function(rows)), design.higher_is_better),
            alpha=alpha,
            beta=design.beta,
            clusters=evidence.clusters,
            method=statistic.method,
            seed=design.seed,
        )
    except StatisticUndefined as fact:
        return replace(blank, candidate=replace(blank.candidate, mean=None)).because(
            Reason.of("undefined", fact=str(fact))
        )
    verdict = verdict_of(with_statistic(blank, float(statistic.function(before)), result), result, design, reach)
    assert isinstance(evidence.reference, Scores)
    change = evidence.candidate.means() - pair_scores(evidence.reference, evidence.candidate).means()
    return replace(verdict, **_changes(evidence.candidate.ids, oriented(change, statistic.higher_score_is_better)))


def with_statistic(blank: Verdict, value: float, result: TestResult) -> Verdict:
    """The verdict with the values of a statistic as means: the reference's, and the one its test says of the run."""
    difference = oriented(result.difference, blank.higher_is_better)
    return replace(
        blank,
        reference=ReferenceSummary(value, blank.n),
        candidate=CandidateSummary(value + difference, blank.n),
    )


def _decide_pairs(evidence: Evidence, blank: Verdict, alpha: float, reach: Reach) -> Verdict:
    design, candidate = evidence.design, evidence.candidate
    difference = difference_of(evidence)
    check = sequential_check(evidence, alpha)
    if check is None:
        result, test, notes = fixed_test(evidence, difference, alpha)
        verdict = verdict_of(replace(blank, test=test), result, design, reach)
        return replace(verdict, **_changes(candidate.ids, difference)).because(*notes)
    sequential = check.result()
    used = sequential.n
    blank = replace(_cut(evidence, blank, sequential), test=check.test)
    if sequential.open:
        return blank.because(Reason.of("too-few-evaluated", n=candidate.n, n_max=sequential.n_max))
    verdict = verdict_of(blank, sequential, design, reach)
    return replace(verdict, **_changes(candidate.ids[:used], difference[:used]))


def _cut(evidence: Evidence, blank: Verdict, result: SequentialResult) -> Verdict:
    """The verdict with the figures of the samples that a sequential test used."""
    used, mean = result.n, float(np.mean(evidence.candidate.means()[: result.n]))
    return replace(
        blank,
        n=used,
        n_max=result.n_max,
        stop=result.stop,
        clusters=None if evidence.clusters is None else len(np.unique(evidence.clusters[:used])),
        candidate=CandidateSummary(mean, used),
        reference=ReferenceSummary(mean - oriented(result.difference, evidence.design.higher_is_better), used),
    )


def verdict_of(blank: Verdict, result: TestResult, design: Design, reach: Reach = NO_BOUNDS) -> Verdict:
    """The verdict with a test's figures, turned back where lower is better; a theta beyond the scale becomes None."""
    reference_mean, mean, higher = blank.reference.mean, blank.candidate.mean, design.higher_is_better
    assert reference_mean is not None
    assert mean is not None
    if result.theta is not None:
        result = replace(result, theta=max(result.theta, reach.unseen(blank.n, design.beta)))
    verdict, notes = _conclusion(result, design, blank.n, reach)
    is_able, interval = verdict == "regression" or reach.unable is None, result.interval
    return replace(
        blank,
        verdict=verdict,
        difference=oriented(_estimate(result), higher),
        difference_raw=oriented(result.difference, higher),
        sigma=result.sigma,
        theta=result.theta if reach.can_be(result.theta) and is_able else None,
        gamma=None if result.threshold is None else _gamma(reference_mean, mean, result.threshold, verdict, higher),
        p_value=result.p_value,
        p_mid=result.p_mid if isinstance(result, McNemarResult) else None,
        interval=interval if higher or interval is None else interval.negate(),
    ).explained_by((*texts_of("test", result.reasons), *notes))


def _estimate(result: TestResult) -> float:
    """The difference, median-unbiased where the run stopped early."""
    if isinstance(result, SequentialResult) and result.n < result.n_max and result.estimate is not None:
        return result.estimate
    return result.difference


def _gamma(reference_mean: float, mean: float, threshold: float, verdict: VerdictName, higher: bool) -> float:
    """The mean below which the check fails; rounding in its sum never contradicts the verdict."""
    gamma = reference_mean + oriented(threshold, higher)
    if (verdict == "regression") == (oriented(mean, higher) < oriented(gamma, higher)):
        return gamma
    return math.nextafter(mean, oriented(math.inf, higher)) if verdict == "regression" else mean


def _summary(reference: Scores | Mean | Target) -> ReferenceSummary:
    if isinstance(reference, Scores):
        return ReferenceSummary(float(np.mean(reference.means())), reference.n)
    return ReferenceSummary(reference.mean, reference.n if isinstance(reference, Mean) else None)


class _Changes(TypedDict):
    """The keys of a verdict that count changed samples."""

    lost: int
    gained: int
    discordance: float
    flips: tuple[str, ...]


def _changes(ids: Sequence[str], change: Floats) -> _Changes:
    """Which samples changed; `change` is turned so that negative is worse."""
    worse = np.flatnonzero(change < 0)
    order = worse[np.argsort(change[worse], kind="stable")]
    return _Changes(
        lost=len(worse),
        gained=int((change > 0).sum()),
        discordance=float(np.mean(change != 0)),
        flips=tuple(ids[i] for i in order),
    )


def _unpaired_test(evidence: Evidence, alpha: float) -> TestResult:
    """The unpaired test at the declared sigma, or Student's or Welch's where none is declared."""
    return move(_unpaired_test_of_no_drop(evidence, alpha), -evidence.design.allowed_drop)


def _unpaired_test_of_no_drop(evidence: Evidence, alpha: float) -> TestResult:
    design, reference = evidence.design, evidence.reference
    higher, rates = design.higher_is_better, {"alpha": alpha, "beta": design.beta}
    mean, n, own = _moments(evidence.candidate)
    mean = oriented(mean, higher) + design.allowed_drop
    if isinstance(reference, Target):
        target = oriented(reference.mean, higher)
        if design.sigma is None:
            return student_t(mean, own, n, target, **rates)
        return target_z(mean, n, target, sigma=design.sigma, **rates)
    if isinstance(reference, Mean):
        reference_mean, reference_n, sd = (
            reference.mean,
            reference.n,
            own if reference.sigma is None else reference.sigma,
        )
    else:
        reference_mean, reference_n, sd = _moments(reference)
    reference_mean = oriented(reference_mean, higher)
    if design.sigma is not None:
        return two_sample_z(mean, n, reference_mean, reference_n, sigma=design.sigma, **rates)
    return welch_t(mean, own, n, reference_mean, sd, reference_n, **rates)


def _moments(scores: Scores) -> tuple[float, int, float]:
    """Mean, number and standard deviation of the samples' scores, points."""
    values = scores.means()
    return float(np.mean(values)), len(values), float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def _conclusion(result: TestResult, design: Design, n: int, reach: Reach) -> tuple[VerdictName, tuple[Reason, ...]]:
    """The verdict by the test's figures, and why it is no other.

    The drop to be seen is the target, or the one that the test detects; where the reference has no room for it, no pass
    says anything.
    """
    target = design.theta
    if result.threshold is not None and result.difference < result.threshold:
        return "regression", ()
    if reach.unable is not None:
        return "inconclusive", (reach.unable,)
    if not reach.has_room(target) or (target is None and not _is_in_room(result, design, n, reach)):
        return "inconclusive", (_no_room(result, design, n, reach),)
    if target is None or (result.theta is not None and result.theta <= target * (1.0 + 1e-9)):
        return "pass", ()
    is_visible = result.theta is not None and reach.can_be(result.theta)
    ability: dict[str, Figure] = {
        "n": n, "drop": drop_word(design.higher_is_better), "theta": result.theta if is_visible else None,
        "power": 1 - design.beta, "asked": target,
    }  # fmt: skip
    if _rules_out(result, target, unseen=reach.unseen(n, design.beta)):
        assert result.interval is not None
        limit = oriented(result.interval.two_sided[0], design.higher_is_better)
        return "pass", (Reason("rules-out", {**ability, "limit": limit}),)
    return "inconclusive", (Reason("too-coarse", ability),)


def _rules_out(result: TestResult, drop: float, *, unseen: float) -> bool:
    """Whether a better candidate's interval excludes such a drop: gains raise the theta it sees, not the risk.

    Losses that make up the gain and the drop would have been seen, being more than is `unseen`.
    """
    is_seen = result.difference > 0.0 and result.difference + drop >= unseen
    return is_seen and result.interval is not None and result.interval.excludes_drop(drop)


def _is_in_room(result: TestResult, design: Design, n: int, reach: Reach) -> bool:
    """Whether the reference can fall by what the test detects, or did not fall as far as it could."""
    if reach.has_room(result.theta) or reach.room is None:
        return reach.has_room(result.theta)
    return _rules_out(result, reach.room, unseen=reach.unseen(n, design.beta))


def _no_room(result: TestResult, design: Design, n: int, reach: Reach) -> Reason:
    """Why the reference cannot show the drop that is to be seen, and what to do."""
    assert reach.room is not None
    drop = drop_word(design.higher_is_better)
    if design.theta is None and not reach.can_be(result.theta):
        return Reason.of("unseen", drop=drop, n=n, power=1 - design.beta)
    size = reach.allowed + ((result.theta if design.theta is None else design.theta) or 0.0)
    return Reason.of("no-room", room=max(reach.room, 0.0), end=reach.end, drop=drop, size=size)
