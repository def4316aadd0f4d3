"""One check: the test that judges it, and a verdict that agrees with its own figures."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, norm, ttest_rel

from accgate.decision.check import with_gamma
from accgate.decision.comparison import compare, compare_scores, decide
from accgate.decision.evidence import Evidence
from accgate.design import Design, Mean, Target
from accgate.records.scores import Scores
from accgate.verdict import ReferenceSummary
from tests.support.cases import each
from tests.support.decisions import assert_sound, flips, one_each, pairs, rates, sides, unconditional_p


def can_fail(reference: list[float], alpha: float) -> bool:
    """Whether the run in which every sample is lost would be a regression."""
    return compare(reference, [0.0] * len(reference), alpha=alpha).verdict == "regression"


@given(rows=pairs, alpha=rates, theta=st.none() | st.floats(0.1, 100.0))
@settings(deadline=None, max_examples=25)
def test_every_verdict_agrees_with_its_own_figures(rows, alpha: float, theta: float | None) -> None:
    reference, candidate = sides(rows)
    verdict = compare(reference, candidate, alpha=alpha, theta=theta)
    assert_sound(verdict)
    change = np.array(candidate) - np.array(reference)
    assert verdict.difference == pytest.approx(change.mean(), abs=1e-9)
    assert (verdict.lost, verdict.gained) == ((change < 0).sum(), (change > 0).sum())
    assert verdict.discordance == pytest.approx((change != 0).mean())
    assert [float(change[int(i)]) for i in verdict.flips] == sorted(change[change < 0].tolist())
    if verdict.verdict != "regression":
        room = float(np.mean(reference))
        sees = verdict.theta is not None and verdict.theta <= (theta or room)
        better = verdict.interval is not None and change.mean() > 0 and verdict.interval.two_sided[0] > -(theta or room)
        better &= theta is None or alpha <= verdict.beta  # else the interval says too little for beta's promise
        passes = (sees or better) and (theta is None or theta <= room) and can_fail(reference, alpha)
        assert (verdict.verdict == "pass") == passes


@given(rows=pairs, data=st.data())
@settings(deadline=None, max_examples=8)
def test_the_order_of_the_ids_changes_nothing(rows, data: st.DataObject) -> None:
    reference, candidate = (dict(enumerate(side)) for side in sides(rows))
    shuffled = dict(data.draw(st.permutations(list(candidate.items()))))
    straight, mixed = (compare(reference, c, theta=2.0) for c in (candidate, shuffled))
    assert set(mixed.flips) == set(straight.flips)
    assert (mixed.verdict, mixed.lost, mixed.gained) == (straight.verdict, straight.lost, straight.gained)
    assert mixed.p_value == pytest.approx(straight.p_value, rel=1e-6, abs=1e-12)
    assert mixed.gamma == pytest.approx(straight.gamma, abs=1e-9)


def test_zero_and_hundred_scores_get_the_exact_test() -> None:
    verdict = compare_scores(*flips(53, 26, 1319), Design())
    assert (verdict.test, verdict.n, verdict.lost, verdict.gained) == ("unconditional", 1319, 53, 26)
    assert verdict.p_value == pytest.approx(unconditional_p(53, 26, 1319), rel=1e-3)
    exact = compare_scores(*flips(53, 26, 1319), Design(test="paired"))
    assert exact.p_value == pytest.approx(binomtest(53, 79, alternative="greater").pvalue)
    assert exact.p_mid == verdict.p_mid
    assert verdict.reference == ReferenceSummary(pytest.approx(100.0 * 1293 / 1319), 1319)
    least = next(lost for lost in range(27, 54) if unconditional_p(lost, 26, 1319) <= 0.05)
    assert verdict.gamma == pytest.approx(100.0 * (1293 - (least - 1 - 26)) / 1319)
    least = next(lost for lost in range(27, 54) if binomtest(lost, lost + 26, alternative="greater").pvalue <= 0.05)
    assert exact.gamma == pytest.approx(100.0 * (1293 - (least - 1 - 26)) / 1319)
    assert (verdict.verdict, verdict.alpha, verdict.beta, verdict.alpha_applied) == ("regression", 0.05, 0.2, 0.05)


@each(("side", "value"), [(0, 50.0), (1, 0.1)])
def test_one_score_between_makes_it_no_longer_mcnemars(side: int, value: float) -> None:
    both = [[100.0, 100.0, 0.0, 100.0], [0.0, 100.0, 0.0, 100.0]]
    both[side][1] = value
    verdict = compare(*both, test="paired")
    assert compare(*both).test == "permutation"
    assert verdict.p_value == pytest.approx(ttest_rel(both[1], both[0], alternative="less").pvalue)
    assert verdict.p_mid is None


@each("sign", [1.0, -1.0])
def test_only_two_means_and_sigma_give_the_z_test(sign: float) -> None:
    design = Design(sigma=50.0, theta=4.9, higher_is_better=sign > 0.0)
    candidate = one_each(([100.0] * 700 + [0.0] * 619)[:: int(sign)])
    for gap, name in ((3.3, "regression"), (0.2, "pass")):
        mean = 100.0 * 700 / 1319 + sign * gap
        (verdict,) = decide([Evidence(candidate, Mean(mean, 1319), design, "m", "t")])
        assert (verdict.model, verdict.task, verdict.test, verdict.n) == ("m", "t", "two-sample", 1319)
        assert verdict.gamma == pytest.approx(mean - sign * 3.2025, abs=5e-5)  # TensorRT-LLM's margin
        assert (verdict.verdict, verdict.sigma) == (name, 50.0)
        assert (verdict.difference, verdict.theta) == (pytest.approx(-sign * gap), pytest.approx(4.8411, abs=5e-5))
        assert verdict.reference == ReferenceSummary(mean, 1319)
        assert (verdict.lost, verdict.gained, verdict.discordance, verdict.flips) == (None, None, None, ())
        assert_sound(verdict)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize(("drop", "verdict"), [(2.0, "pass"), (5.0, "regression")])
def test_an_absolute_target_has_no_size(drop: float, verdict: str, sign: float) -> None:
    candidate, target = one_each([100.0, 0.0] * 500), 50.0 + sign * drop
    (result,) = decide([Evidence(candidate, Target(target), Design(sigma=50.0, higher_is_better=sign > 0))])
    assert (result.test, result.verdict, result.reference) == ("target", verdict, ReferenceSummary(target, None))
    assert result.p_value == pytest.approx(norm.cdf(-drop / (50.0 / math.sqrt(1000))))
    assert_sound(result)


def test_repeats_of_other_scores_are_averaged_before_pairing() -> None:
    ids = ("a", "b", "c")
    reference = Scores(ids, np.array([[80.0, 80.0], [80.0, 0.0], [0.0, 80.0]]))
    candidate = Scores(("c", "b", "a"), np.array([[0.0, 0.0], [0.0, 80.0], [80.0, 0.0]]))
    verdict = compare_scores(reference, candidate, Design(test="paired"))
    oracle = ttest_rel([40.0, 40.0, 0.0], [80.0, 40.0, 40.0], alternative="less")
    assert (verdict.p_value, verdict.n, verdict.p_mid) == (pytest.approx(oracle.pvalue), 3, None)
    assert (verdict.flips, verdict.reference.n) == (("c", "a"), 3)


@each(
    ("reference", "candidate", "kwargs", "verdict"),
    [
        ([50.0], [40.0], {}, "inconclusive"),
        ([50.0], [40.0], {"theta": 10.0}, "inconclusive"),
        ([100.0], [0.0], {"theta": 10.0}, "inconclusive"),
        ([60.0] * 9, [60.0] * 9, {"theta": 10.0}, "inconclusive"),
        ([60.0] * 900, [60.0] * 900, {"theta": 10.0}, "pass"),
        ([60.0] * 9, [59.0] * 9, {"theta": 10.0}, "regression"),
        ([100.0] * 9, [0.0] * 9, {"theta": 10.0}, "regression"),
        ([0.0] * 9, [0.0] * 9, {"theta": 10.0}, "inconclusive"),
        ([0.0] * 9, [100.0] * 9, {}, "inconclusive"),
        ([50.0] * 99, [100.0] * 99, {}, "pass"),
        ([60.0] * 9, [59.0] * 9, {"test": "two-sample", "sigma": 0.0}, "regression"),
        ([60.0] * 9, [60.0] * 9, {"test": "two-sample", "sigma": 0.0, "theta": 1.0}, "pass"),
    ],
)
def test_degenerate_scores_have_a_defined_verdict_without_nan(reference, candidate, kwargs, verdict: str) -> None:
    result = compare(reference, candidate, **kwargs)
    assert result.verdict == verdict
    assert_sound(result)
    turned = compare(100.0 - np.array(reference), 100.0 - np.array(candidate), higher_is_better=False, **kwargs)
    assert turned.verdict == verdict
    assert_sound(turned)


@each("higher", [True, False])
def test_a_mean_that_fails_is_past_gamma_where_rounding_made_them_equal(higher: bool) -> None:
    failed = compare([100.0 * higher] * 9, [100.0 - 100.0 * higher] * 9, higher_is_better=higher)
    gamma = with_gamma(failed, failed.candidate.mean).gamma
    assert gamma > failed.candidate.mean if higher else gamma < failed.candidate.mean


@pytest.mark.parametrize(("theta", "verdict"), [(4.84, "inconclusive"), (4.8412, "pass")])
def test_too_few_samples_for_the_target_are_inconclusive_and_say_what_they_see(theta: float, verdict: str) -> None:
    (result,) = decide([Evidence(one_each([50.0] * 1319), Mean(50.0, 1319), Design(sigma=50.0, theta=theta))])
    assert (result.verdict, result.theta_target) == (verdict, theta)
    assert verdict == "pass" or "a drop of 4.85 points" in result.reasons[0]


def test_a_planned_run_at_its_own_theta_is_not_inconclusive_by_rounding() -> None:
    theta = compare_scores(*flips(5, 5, 100), Design()).theta
    assert compare_scores(*flips(5, 5, 100), Design(theta=theta * (1 - 1e-12))).verdict == "pass"
    assert compare_scores(*flips(5, 5, 100), Design(theta=theta * (1 - 1e-6))).verdict == "inconclusive"
