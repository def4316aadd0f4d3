"""The verdict of one check at one alpha.

Its test gives an outcome, the outcome a conclusion, and both the figures of the verdict.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TypedDict

import numpy as np

from accgate.decision.conclusion import Conclusion, conclude
from accgate.decision.evidence import Evidence
from accgate.decision.outcome import outcome_of
from accgate.decision.stopping import decisive_part
from accgate.design import Mean, Target
from accgate.errors import VerdictName
from accgate.records import Scores
from accgate.stats import SequentialResult, TestResult
from accgate.stats.paired import McNemarResult
from accgate.verdict import CandidateSummary, ReferenceSummary, Verdict, texts_of


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
    return replace(with_figures(blank, result, conclusion), **_changes_of(evidence, outcome.n))


def _blank(evidence: Evidence, alpha: float) -> Verdict:
    """The verdict before anything is tested."""
    design, candidate = evidence.design, evidence.candidate
    return Verdict(
        model=evidence.model,
        task=evidence.task,
        verdict="error",
        test=evidence.choice.test,
        n=candidate.n,
        reference=_summary(evidence.reference),
        candidate=CandidateSummary(float(np.mean(candidate.means())), candidate.n),
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


def _summary(reference: Scores | Mean | Target) -> ReferenceSummary:
    if isinstance(reference, Scores):
        return ReferenceSummary(float(np.mean(reference.means())), reference.n)
    return ReferenceSummary(reference.mean, reference.n if isinstance(reference, Mean) else None)


def _with_sides(blank: Verdict, evidence: Evidence, result: TestResult | None) -> Verdict:
    """The verdict with the means of the samples that a sequential test used, or the values of a statistic."""
    if evidence.statistic is not None:
        if result is None:
            return replace(blank, candidate=replace(blank.candidate, mean=None))
        before = float(evidence.statistic.function(evidence.statistic.reference))
        return with_statistic(blank, before, before + result.difference)
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


def with_statistic(blank: Verdict, before: float, now: float) -> Verdict:
    """Return the verdict with a statistic's values as means."""
    return replace(blank, reference=ReferenceSummary(before, blank.n), candidate=CandidateSummary(now, blank.n))


def with_figures(blank: Verdict, result: TestResult, conclusion: Conclusion) -> Verdict:
    """Return the verdict with its figures, from a result in the direction of the metric."""
    return replace(
        blank,
        verdict=conclusion.verdict,
        difference=result.median_difference,
        difference_raw=result.difference,
        sigma=result.sigma,
        theta=conclusion.theta,
        gamma=_gamma(blank, result.threshold, conclusion.verdict),
        p_value=result.p_value,
        p_mid=result.p_mid if isinstance(result, McNemarResult) else None,
        interval=result.interval,
    ).explained_by((*texts_of("test", result.reasons), *conclusion.reasons))


def _gamma(blank: Verdict, threshold: float | None, verdict: VerdictName) -> float | None:
    """Return the mean past which the check fails.

    Rounding in its sum never contradicts the verdict.
    """
    before, mean = blank.reference.mean, blank.candidate.mean
    if threshold is None or before is None or mean is None:
        return None
    gamma, better = before + threshold, math.inf if blank.higher_is_better else -math.inf
    if (verdict == "regression") == (mean < gamma if blank.higher_is_better else mean > gamma):
        return gamma
    return math.nextafter(mean, better) if verdict == "regression" else mean


class _Changes(TypedDict, total=False):
    """The keys of a verdict that count changed samples."""

    lost: int
    gained: int
    discordance: float
    flips: tuple[str, ...]


def _changes_of(evidence: Evidence, n: int) -> _Changes:
    """Return which of the first n samples changed, where scores are paired."""
    if (changes := evidence.changes) is None:
        return _Changes()
    change = changes[:n]
    worse = np.flatnonzero(change < 0)
    order = worse[np.argsort(change[worse], kind="stable")]
    return _Changes(
        lost=len(worse),
        gained=int((change > 0).sum()),
        discordance=float(np.mean(change != 0)),
        flips=tuple(evidence.candidate.ids[i] for i in order),
    )
