"""One check at one alpha: which test judges it, and what that says.

Lower-is-better scores are turned round here, in `judged`, and nowhere else.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from accgate.decision.evidence import Evidence, SampleStatistic
from accgate.design import FEWEST_CLUSTERS, Design, Mean, Target, chosen_test, sequential_test
from accgate.errors import BadInput, VerdictName
from accgate.records import Floats, Scores, paired
from accgate.stats import (
    GSPRT_MAXIMUM,
    TYPICAL,
    McNemarResult,
    SequentialResult,
    TestName,
    TestResult,
    Units,
    mcnemar_exact,
    paired_binary_effect,
    paired_t,
    student_t,
    target_z,
    two_sample_z,
    units_of,
    welch_t,
)
from accgate.verdict import CandidateSummary, ReferenceSummary, Verdict


def judged(evidence: Evidence, alpha: float) -> Verdict:
    """The verdict of one check at one alpha."""
    evidence = in_order(evidence)
    design, candidate = evidence.design, evidence.candidate
    scores = candidate.averaged()
    test = sequential_test(design, evidence.reference) or chosen_test(design.test, evidence.reference)
    blank = Verdict(
        evidence.model, evidence.task, "error", test, candidate.n, _summary(evidence.reference),
        CandidateSummary(float(np.mean(scores)), candidate.n), design.alpha, design.beta, alpha_applied=alpha,
        theta_target=design.theta, higher_is_better=design.higher_is_better, discordance_planned=design.discordance,
        clusters=None if evidence.clusters is None else len(np.unique(evidence.clusters)),
    )  # fmt: skip
    if np.isnan(scores).any():
        return blank
    if evidence.statistic is not None:
        return _judged_statistic(evidence, evidence.statistic, blank, alpha)
    if isinstance(evidence.reference, Scores) and chosen_test(design.test, evidence.reference) != "two-sample":
        return _judged_pairs(evidence, blank, alpha)
    return filled_in(blank, _unpaired(evidence, alpha), design)


def _judged_statistic(evidence: Evidence, statistic: SampleStatistic, blank: Verdict, alpha: float) -> Verdict:
    """The verdict on a statistic; means are then its values, and a sample whose score got worse is still a flip."""
    from accgate.stats import StatisticUndefined, statistic_test

    design, known, found = evidence.design, statistic.reference, statistic.candidate
    blank = replace(blank, test=statistic.method, statistic=statistic.name)
    try:
        result = statistic_test(
            known, found, statistic.function, alpha=alpha, beta=design.beta, clusters=evidence.clusters,
            higher_is_better=design.higher_is_better, method=statistic.method, seed=design.seed,
        )  # fmt: skip
    except StatisticUndefined as fact:
        return replace(blank, candidate=replace(blank.candidate, mean=None), reasons=(f"nothing to decide on: {fact}",))
    before, n = float(statistic.function(known)), len(found)
    after = before + _sign(design) * result.difference
    blank = replace(blank, reference=ReferenceSummary(before, n), candidate=CandidateSummary(after, n))
    verdict = filled_in(blank, result, design)
    assert isinstance(evidence.reference, Scores)
    change = evidence.candidate.averaged() - paired(evidence.reference, evidence.candidate).averaged()
    worse = change if statistic.higher_score_is_better else -change
    return replace(verdict, **_changes(evidence.candidate.ids, worse))


def settled(evidence: Evidence, alpha: float) -> bool:
    """Whether the beginning of a run, `evidence.n_max` samples long, decides its check already."""
    evidence = in_order(evidence)
    difference = oriented_difference(evidence)
    result = _sequential(evidence, difference, alpha)
    return result is not None and not result.open


def in_order(evidence: Evidence) -> Evidence:
    """The evidence with every cluster whole and in the order of first appearance, as sequential tests look at it."""
    codes = evidence.clusters
    if codes is None or evidence.statistic is not None:
        return evidence
    _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    order = np.argsort(first[inverse], kind="stable")
    if np.array_equal(order, np.arange(len(codes))):
        return evidence
    candidate = evidence.candidate.taken([evidence.candidate.ids[i] for i in order])
    return replace(evidence, candidate=candidate, clusters=codes[order])


def oriented_difference(evidence: Evidence) -> Floats:
    """candidate - reference of each sample in the candidate's order, turned so that higher is better."""
    assert isinstance(evidence.reference, Scores)
    difference = evidence.candidate.averaged() - paired(evidence.reference, evidence.candidate).averaged()
    return difference if evidence.design.higher_is_better else -difference


def _judged_pairs(evidence: Evidence, blank: Verdict, alpha: float) -> Verdict:
    design, candidate = evidence.design, evidence.candidate
    difference = oriented_difference(evidence)
    sequential = _sequential(evidence, difference, alpha)
    if sequential is None:
        result, test, notes = _fixed(evidence, difference, alpha)
        verdict = replace(filled_in(replace(blank, test=test), result, design), **_changes(candidate.ids, difference))
        return replace(verdict, reasons=(*verdict.reasons, *notes))
    used = sequential.n
    reference_mean = float(np.mean(candidate.averaged()[:used])) - _sign(design) * sequential.difference
    blank = replace(
        blank,
        n=used,
        n_max=sequential.n_max,
        stop=sequential.stop,
        clusters=None if evidence.clusters is None else len(np.unique(evidence.clusters[:used])),
        candidate=CandidateSummary(float(np.mean(candidate.averaged()[:used])), used),
        reference=ReferenceSummary(reference_mean, used),
    )
    if sequential.open:
        return replace(blank, reasons=(f"only {candidate.n:,} of {sequential.n_max:,} samples are there to decide on",))
    verdict = filled_in(blank, sequential, design)
    return replace(verdict, **_changes(candidate.ids[:used], difference[:used]))


def _sequential(evidence: Evidence, difference: Floats, alpha: float) -> SequentialResult | None:
    """The result of the sequential test that is asked for; None where the fixed-n test judges instead."""
    design, codes = evidence.design, evidence.clusters
    test = sequential_test(design, evidence.reference)
    whole = evidence.n_max is None or evidence.candidate.n >= evidence.n_max
    if test is None or (codes is not None and whole and len(np.unique(codes)) < FEWEST_CLUSTERS):
        return None
    units = sequential_units(evidence, difference)
    theta = design.theta or _visible_theta(units, design, alpha)
    if theta is None:
        return None
    if test == "group-sequential":
        from accgate.stats import group_sequential_test

        return group_sequential_test(units, theta=theta, alpha=alpha, beta=design.beta)
    if test == "e-process":
        from accgate.stats import e_process_test

        return e_process_test(units, bound=largest_difference(evidence), theta=theta, alpha=alpha, beta=design.beta)
    from accgate.stats import gsprt_test

    return gsprt_test(units, theta=theta, alpha=alpha, beta=design.beta, discordance=design.discordance)


def sequential_units(evidence: Evidence, difference: Floats) -> Units:
    """What a sequential test looks at, of the oriented differences of evidence that is in order."""
    bounded = _bounds(evidence) is not None
    return units_of(difference, evidence.clusters, n_max=evidence.n_max, binary=evidence.binary, bounded=bounded)


def _visible_theta(units: Units, design: Design, alpha: float) -> float | None:
    """The drop that all samples of a run can show, for a sequential test without a target; None where none is known."""
    if not units.exact:
        return None
    q = TYPICAL if design.discordance is None else design.discordance
    return min(paired_binary_effect(q, max(1, int(units.n_max / GSPRT_MAXIMUM)), alpha=alpha, beta=design.beta), 100.0)


def _bounds(evidence: Evidence) -> tuple[float, float] | None:
    """Least and largest score there can be; None where they are not known, or scores are beyond them."""
    if evidence.worst is None or evidence.best is None:
        return None
    low, high = sorted((evidence.worst, evidence.best))
    assert isinstance(evidence.reference, Scores)
    values = np.concatenate([evidence.reference.averaged(), evidence.candidate.averaged()])
    return (low, high) if float(values.min()) >= low and float(values.max()) <= high else None


def largest_difference(evidence: Evidence) -> float:
    """Largest possible difference of one sample, points, which betting has to know."""
    bounds = _bounds(evidence)
    if bounds is None:
        raise BadInput("the e-process test needs scores between known bounds (0 and 100); use gsprt")
    return bounds[1] - bounds[0]


def _fixed(evidence: Evidence, difference: Floats, alpha: float) -> tuple[TestResult, TestName, tuple[str, ...]]:
    """The result at a fixed n, the test's name, and what is to be said of the choice."""
    design, codes = evidence.design, evidence.clusters
    test, beta = design.test, design.beta
    notes: tuple[str, ...] = ()
    if sequential_test(design, evidence.reference) is not None:
        test = "auto"
        if codes is not None and len(np.unique(codes)) < FEWEST_CLUSTERS:
            notes = (f"no early stop with under {FEWEST_CLUSTERS} clusters",)
    binary = _zero_or_hundred(evidence)
    if test in ("permutation", "bootstrap") or (test == "auto" and not binary):
        from accgate.stats import chosen_paired_test, cluster_totals, sign_flip, studentised_bootstrap

        totals, sizes = cluster_totals(difference, np.arange(len(difference)) if codes is None else codes)
        order = np.lexsort((sizes, totals))  # so that the order of the samples changes nothing
        totals, sizes, n = totals[order], sizes[order], len(difference)
        test = chosen_paired_test(totals) if test == "auto" else test
        if test != "paired":
            resampled = sign_flip if test == "permutation" else studentised_bootstrap
            return resampled(totals, n, sizes=sizes, alpha=alpha, beta=beta, seed=design.seed), test, notes
    if codes is not None:
        from accgate.stats import clustered_exact, clustered_t

        clustered = clustered_exact if binary else clustered_t
        return clustered(difference, codes, alpha=alpha, beta=beta), "paired", notes
    if binary:
        lost, gained = int((difference < 0).sum()), int((difference > 0).sum())
        return mcnemar_exact(lost, gained, len(difference), alpha=alpha, beta=beta), "paired", notes
    return paired_t(difference, alpha=alpha, beta=beta), "paired", notes


def _zero_or_hundred(evidence: Evidence) -> bool:
    assert isinstance(evidence.reference, Scores)
    sides = (evidence.candidate.averaged(), evidence.reference.averaged())
    return all(bool(np.isin(side, (0.0, 100.0)).all()) for side in sides)


def filled_in(blank: Verdict, result: TestResult, design: Design) -> Verdict:
    """The verdict with a test's figures, turned back where lower is better."""
    sign, reference_mean, mean = _sign(design), blank.reference.mean, blank.candidate.mean
    assert reference_mean is not None
    assert mean is not None
    verdict = _verdict(result, design.theta)
    gamma = None if result.threshold is None else reference_mean + sign * result.threshold
    if gamma is not None and (verdict == "regression") != (sign * mean < sign * gamma):  # the last bits of the sum
        gamma = math.nextafter(mean, sign * math.inf) if verdict == "regression" else mean
    return replace(
        blank,
        verdict=verdict,
        difference=sign * result.difference,
        sigma=result.sigma,
        theta=result.theta,
        gamma=gamma,
        p_value=result.p_value,
        p_mid=result.p_mid if isinstance(result, McNemarResult) else None,
        interval=result.interval if sign > 0 or result.interval is None else result.interval.negated(),
        reasons=_reasons(result, design, blank.n),
    )


def _sign(design: Design) -> float:
    return 1.0 if design.higher_is_better else -1.0


def _summary(reference: Scores | Mean | Target) -> ReferenceSummary:
    if isinstance(reference, Scores):
        return ReferenceSummary(float(np.mean(reference.averaged())), reference.n)
    return ReferenceSummary(reference.mean, reference.n if isinstance(reference, Mean) else None)


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


def _unpaired(evidence: Evidence, alpha: float) -> TestResult:
    """The unpaired test at the declared sigma, or Student's or Welch's where none is declared."""
    design, known, sign = evidence.design, evidence.reference, _sign(evidence.design)
    scores = evidence.candidate.averaged()
    mean, n = sign * float(np.mean(scores)), len(scores)
    rates = {"alpha": alpha, "beta": design.beta}
    own = float(np.std(scores, ddof=1)) if n > 1 else 0.0
    if isinstance(known, Target):
        if design.sigma is None:
            return student_t(mean, own, n, sign * known.mean, **rates)
        return target_z(mean, n, sign * known.mean, sigma=design.sigma, **rates)
    reference_mean, reference_n, sd = _moments(known)
    if design.sigma is not None:
        return two_sample_z(mean, n, sign * reference_mean, reference_n, sigma=design.sigma, **rates)
    return welch_t(mean, own, n, sign * reference_mean, own if sd is None else sd, reference_n, **rates)


def _moments(reference: Scores | Mean) -> tuple[float, int, float | None]:
    if isinstance(reference, Mean):
        return reference.mean, reference.n, reference.sigma
    values = reference.averaged()
    return float(np.mean(values)), len(values), float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


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
