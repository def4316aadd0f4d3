"""The verdict of one check at one alpha.

The check's test gives an outcome, the outcome leads to a conclusion, and both fill in the figures of the verdict.
"""

import math
from dataclasses import replace

import numpy as np

from accgate.decision.conclusion import Conclusion, conclude
from accgate.decision.evidence import Evidence
from accgate.decision.gamma import gamma_of, is_by_outcomes
from accgate.decision.outcome import outcome_of
from accgate.decision.stopping import decisive_part
from accgate.design import Target
from accgate.stats.repeats import collapses_of
from accgate.stats.result import TestResult
from accgate.stats.sequential import SequentialResult
from accgate.verdict import CandidateSummary, ReferenceSummary, Verdict, texts_of
from accgate.verdict.figures import Collapse, Lack


def decide_check(evidence: Evidence, alpha: float) -> Verdict:
    """Decide one check at one alpha."""
    evidence = decisive_part(evidence.by_cluster(), alpha)
    blank = _blank(evidence, alpha)
    if np.isnan(evidence.candidate.values).any():
        return blank
    outcome = outcome_of(evidence, alpha)
    conclusion = conclude(evidence, outcome, alpha) if outcome.is_decided else None
    result = outcome.directed(evidence.design.higher_is_better)
    blank = _with_sides(replace(blank, test=outcome.test), evidence, result)
    if conclusion is None or result is None:
        return blank.because(*outcome.notes)
    verdict = _with_changes(with_figures(blank, result, conclusion), evidence, outcome.n)
    if evidence.is_paired and not conclusion.can_fail:
        return with_gamma(verdict, None)
    return with_gamma(verdict, gamma_of(evidence, outcome, alpha)) if is_by_outcomes(evidence, outcome) else verdict


def _blank(evidence: Evidence, alpha: float) -> Verdict:
    """Return the verdict before anything is tested."""
    design, candidate, reference = evidence.design, evidence.candidate, evidence.reference
    return Verdict(
        model=evidence.model,
        task=evidence.task,
        verdict="error",
        test=evidence.choice.test,
        n=candidate.n,
        reference=ReferenceSummary(reference.mean, None if isinstance(reference, Target) else reference.n),
        candidate=CandidateSummary(candidate.mean, candidate.n),
        alpha=design.alpha,
        beta=design.beta,
        alpha_applied=alpha,
        theta_target=design.theta,
        allowed_drop=design.allowed_drop,
        certify=design.certify,
        higher_is_better=design.higher_is_better,
        discordance_planned=design.discordance,
        clusters=evidence.cluster_count,
        statistic=None if evidence.statistic is None else evidence.statistic.name,
    )


def _with_sides(blank: Verdict, evidence: Evidence, result: TestResult | None) -> Verdict:
    """Add both sides' means over the samples used, or their statistic."""
    if evidence.statistic is not None:
        if result is None:
            return replace(blank, candidate=replace(blank.candidate, mean=None))
        before = float(evidence.statistic.function(evidence.statistic.reference))
        now = CandidateSummary(before + result.difference, blank.n)
        return replace(blank, reference=ReferenceSummary(before, blank.n), candidate=now)
    if not isinstance(result, SequentialResult):
        return blank
    used, mean = result.n, float(np.mean(evidence.candidate.means()[: result.n]))
    return replace(
        blank,
        n=used,
        n_max=result.n_max,
        stop=result.stop,
        clusters=evidence.first(used).cluster_count,
        candidate=CandidateSummary(mean, used),
        reference=ReferenceSummary(mean - result.difference, used),
    )


def with_figures(blank: Verdict, result: TestResult, conclusion: Conclusion) -> Verdict:
    """Add figures to a verdict, from a result in the direction of the metric."""
    before, threshold = blank.reference.mean, result.threshold
    verdict = replace(
        blank,
        verdict=conclusion.verdict,
        difference=result.median_difference,
        difference_raw=result.difference,
        sigma=result.sigma,
        theta=conclusion.theta,
        p_value=result.p_value,
        p_mid=result.p_mid,
        interval=result.interval,
    ).explained_by((*texts_of("test", result.reasons), *conclusion.reasons))
    return with_gamma(verdict, None if threshold is None or before is None else before + threshold)


def with_gamma(verdict: Verdict, gamma: float | None) -> Verdict:
    """Return the verdict with gamma.

    Gamma is moved where rounding would put the candidate's mean on the wrong side of it.
    """
    mean, higher, fails = verdict.candidate.mean, verdict.higher_is_better, verdict.verdict == "regression"
    if gamma is None or mean is None:
        return replace(verdict, gamma=None)
    if fails != (mean < gamma if higher else mean > gamma):
        gamma = math.nextafter(mean, math.inf if higher else -math.inf) if fails else mean
    return replace(verdict, gamma=gamma)


def add_collapse(evidence: Evidence, verdict: Verdict) -> Verdict:
    """Return the verdict with the samples that collapsed, first among its flips.

    Nothing is added where a side has one answer a sample, or where scores are not 0 and 100.
    """
    if verdict.lost is None or min(evidence.answers) < 2:
        return verdict
    evidence = evidence.by_cluster().first(verdict.n)
    if not evidence.fill(evidence.worst).data.binary:
        return verdict
    collapses = collapses_of(*evidence.sides, any_stop=verdict.stop is not None)
    ids = tuple(evidence.candidate.ids[i] for i in np.flatnonzero(collapses.lost))
    lack: Lack = "builds" if evidence.builds > 1 else ""
    lack = lack if evidence.cluster_count in (None, evidence.candidate.n) else "clusters"
    p_value = None if lack else collapses.p_value
    collapse = Collapse(len(ids), collapses.recovered, ids, collapses.expected, p_value, evidence.answers, lack)
    return replace(verdict, collapse=collapse, flips=tuple(dict.fromkeys((*ids, *verdict.flips))))


def _with_changes(verdict: Verdict, evidence: Evidence, n: int) -> Verdict:
    """Add which of the first n samples changed, where scores are paired."""
    if (changes := evidence.changes) is None:
        return verdict
    change = changes[:n]
    worse = np.flatnonzero(change < 0)
    order = worse[np.argsort(change[worse], kind="stable")]
    return replace(
        verdict,
        lost=len(worse),
        gained=int((change > 0).sum()),
        discordance=float(np.mean(change != 0)),
        flips=tuple(evidence.candidate.ids[i] for i in order),
    )
