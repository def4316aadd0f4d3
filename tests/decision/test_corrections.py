"""Several checks, some of which stop early, and checks with failed samples."""

import json
import math
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm
from statsmodels.stats.multitest import multipletests

from accgate.decision.comparison import compare_scores, decide
from accgate.decision.evidence import Evidence
from accgate.design import Design, Mean, Target
from accgate.records.scores import Scores
from accgate.stats.names import Correction
from accgate.verdict import Verdict
from tests.decision.test_early_stopping import by_test, evidence
from tests.support.cases import each
from tests.support.decisions import assert_sound, flips, one_each


def checks(p_values: list[float], alphas: list[float]) -> list[Evidence]:
    """Target checks whose p-values are these."""
    return [
        Evidence(one_each([50.0] * 100), Target(50.0 - 5.0 * norm.ppf(p)), Design(sigma=50.0, alpha=alpha))
        for p, alpha in zip(p_values, alphas, strict=True)
    ]


@each(("correction", "method"), [("bonferroni", "bonferroni"), ("holm", "holm"), ("bh", "fdr_bh")])
@each("p_values", [[0.001, 0.02, 0.03], [0.01, 0.02, 0.04], [0.011, 0.024, 0.051], [0.018, 0.019]])
@each("beside", [False, True])
def test_several_checks_are_corrected_as_statsmodels_does(
    correction: Correction, method: str, p_values: list[float], beside: bool
) -> None:
    """One that stops early has its own share of alpha: the rest is left for the others."""
    share = len(p_values) / (len(p_values) + beside)
    rejected, adjusted, *_ = multipletests(p_values, alpha=0.05 * share, method=method)
    fixed = checks(p_values, [0.05] * len(p_values))
    decided = decide([evidence(20)] * beside + fixed, correction=correction)
    early, verdicts = decided[:beside], decided[beside:]
    assert [v.alpha_applied for v in early] == pytest.approx([0.05 * (1.0 - share)] * beside)
    assert [v.verdict == "regression" for v in verdicts] == rejected.tolist()
    assert [v.p_adjusted for v in verdicts] == pytest.approx(np.minimum(adjusted / share, 1.0))
    assert [v.p_value for v in verdicts] == pytest.approx(p_values)
    for verdict in verdicts:
        assert_sound(verdict)
        assert verdict.gamma == pytest.approx(verdict.reference.mean + 5.0 * norm.ppf(verdict.alpha_applied))


@each(
    ("correction", "shares"),
    [("none", [1.0, 1.0]), ("bonferroni", [0.25, 0.25]), ("holm", [0.25, 1 / 3]), ("bh", [0.5, 0.5])],
)
def test_checks_without_evidence_count_as_never_rejected(correction: Correction, shares: list[float]) -> None:
    verdicts = decide(checks([0.01, 0.02], [0.05, 0.05]), correction=correction, checks=4)
    assert [v.alpha_applied for v in verdicts] == pytest.approx([0.05 * share for share in shares])


def test_different_alphas_are_corrected_by_their_own_level() -> None:
    strict, loose = decide(checks([0.004, 0.11], [0.01, 0.2]), correction="bonferroni")
    assert (strict.verdict, loose.verdict) == ("regression", "pass")
    assert (strict.alpha_applied, loose.alpha_applied) == (0.005, 0.1)
    assert (strict.p_adjusted, loose.p_adjusted) == (pytest.approx(0.008), pytest.approx(0.22))
    # Holm: p / alpha is 0.4 and 0.15, so the second goes first, at half its alpha; the first then has all of its own.
    strict, loose = decide(checks([0.004, 0.03], [0.01, 0.2]), correction="holm")
    assert (strict.verdict, strict.alpha_applied, strict.p_adjusted) == ("regression", 0.01, pytest.approx(0.004))
    assert (loose.verdict, loose.alpha_applied, loose.p_adjusted) == ("regression", 0.2, pytest.approx(0.06))


def test_no_checks_have_no_verdicts() -> None:
    assert decide([]) == ()
    assert decide([], correction="holm", checks=3) == ()


def with_failed(lost: int, gained: int, n: int, failed: int, **changes) -> Verdict:
    """The verdict where the last `failed` of n samples, right in the reference, have no score."""
    reference, candidate = flips(lost, gained, n)
    candidate.values[n - failed :] = math.nan
    evidence = Evidence(candidate, reference, Design(theta=changes.pop("theta", None)))
    return decide([replace(evidence, **changes)])[0]


@each(("case", "theta", "ends"), [
    ((0, 0, 1000, 30), None, "97.00 at worst and 100.00 at best: regression at worst, pass at best"),
    ((1, 1, 100, 1), 0.5, "inconclusive at worst, inconclusive at best"),
])  # fmt: skip
def test_failed_samples_that_decide_the_verdict_make_it_an_error(case: Any, theta: float | None, ends: str) -> None:
    verdict = with_failed(*case, theta=theta)
    assert (verdict.verdict, verdict.candidate.errors) == ("error", case[-1])
    assert ends in verdict.reasons[-1]
    assert "--resume" in verdict.reasons[-1]


@each("bounds", [{"worst": None}, {"best": None}])
def test_failed_samples_of_a_metric_without_bounds_are_an_error(bounds) -> None:
    verdict = with_failed(0, 0, 1000, 1, **bounds)
    assert (verdict.verdict, verdict.candidate.errors) == ("error", 1)
    assert [cause.kind for cause in verdict.causes] == ["failed-unbounded"]
    json.dumps(asdict(verdict), allow_nan=False)
    if "worst" in bounds:
        assert (verdict.candidate.mean, verdict.p_value, verdict.p_adjusted, verdict.gamma) == (None,) * 4


def test_a_check_without_a_verdict_counts_as_never_rejected_and_leaves_others_theirs() -> None:
    reference, candidate = flips(0, 0, 100)
    broken = Scores(candidate.ids, np.where(np.arange(100)[:, None] < 50, math.nan, 100.0))
    torn = Evidence(broken, reference, Design())
    whole, other = decide([Evidence(candidate, reference, Design()), torn], correction="holm")
    assert (whole.verdict, whole.candidate.errors, other.verdict) == ("pass", 0, "error")
    assert whole.reasons == ("no sample changed its score",)
    beside, other = decide([*checks([0.03], [0.05]), replace(torn, worst=None)], correction="holm")
    assert (beside.verdict, beside.alpha_applied, other.verdict) == ("pass", 0.025, "error")


def test_each_sample_is_bracketed_by_the_metrics_own_bounds() -> None:
    candidate = Scores(("a", "b"), np.array([[3.0], [math.nan]]))
    design = Design(test="two-sample", sigma=1.0, higher_is_better=False)
    (verdict,) = decide([Evidence(candidate, Mean(3.0, 100), design, worst=9.0, best=1.0)])
    assert verdict.verdict == "error"
    assert "6.00 at worst and 2.00 at best" in verdict.reasons[0]


@by_test
@pytest.mark.parametrize(("correction", "parts"), [("none", 1), ("holm", 4), ("bonferroni", 4), ("bh", 4)])
def test_of_several_checks_a_sequential_one_is_judged_at_its_share_of_alpha(
    test: Any, correction: Correction, parts: int
) -> None:
    for seed, drop in ((16, 0.0), (18, 6.0)):
        own, other = evidence(seed, drop=drop, test=test), evidence(19)
        found, _ = decide([own, other], correction=correction, checks=4)
        design = replace(own.design, alpha=0.05 / parts)
        alone = compare_scores(own.reference, own.candidate, design, order="given")
        same = ("verdict", "n", "stop", "p_value", "gamma", "interval", "theta")
        assert [getattr(found, key) for key in same] == [getattr(alone, key) for key in same]
        assert (found.alpha, found.alpha_applied) == (0.05, 0.05 / parts)
        assert found.p_adjusted == pytest.approx(min(1.0, parts * alone.p_value))
        assert (found.verdict == "regression") == (found.p_adjusted <= found.alpha)


@pytest.mark.parametrize("place", [0, 1, 2])
def test_the_order_of_sequential_and_fixed_checks_changes_nothing(place: int) -> None:
    fixed = [*checks([0.012, 0.03], [0.05, 0.05])]
    mixed = [*fixed[:place], evidence(21, drop=5.0), *fixed[place:]]
    found = decide(mixed, correction="holm", checks=4)
    assert found[place] == decide([evidence(21, drop=5.0)], correction="holm", checks=4)[0]
    others = [verdict for i, verdict in enumerate(found) if i != place]
    assert [v.alpha_applied for v in others] == pytest.approx([0.05 * 0.75 / 3, 0.05 * 0.75 / 2])


@pytest.mark.slow
@pytest.mark.parametrize("correction", ["holm", "bonferroni"])
def test_the_chance_of_any_false_failure_among_mixed_checks_is_at_most_alpha(correction: Correction) -> None:
    rng, runs, alpha = np.random.default_rng(24), 60, 0.2  # without a correction it is 0.59; 0.36 and more fail
    failures = 0
    kinds: list[dict[str, Any]] = [{}, {"test": "group-sequential"}, {"early_stopping": False}]
    for _ in range(runs):
        early = [
            evidence(int(seed), n=300, q=0.2, theta=6.0, alpha=alpha, **keys)
            for seed, keys in zip(rng.integers(0, 10**9, 3), kinds, strict=True)
        ]
        found = decide([*early, *checks([float(rng.random())], [alpha])], correction=correction)
        failures += any(verdict.verdict == "regression" for verdict in found)
        for verdict in found:
            assert_sound(verdict)
    assert failures / runs <= alpha + 3 * math.sqrt(alpha * (1 - alpha) / runs)
