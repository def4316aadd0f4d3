"""Verdicts: how a check is decided, corrected and refused."""

import json
import math
from dataclasses import asdict, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, norm, ttest_rel
from statsmodels.stats.multitest import multipletests

from accgate.decide import Evidence, ReferenceSummary, Verdict, compare, compare_scores, decide
from accgate.design import Design, Mean, Target, chosen_test
from accgate.errors import BadInput
from accgate.scores import Scores
from accgate.stats.names import Correction, TestName

binary = st.sampled_from([0.0, 100.0])
points = st.integers(0, 1000).map(lambda x: x / 10.0)
pairs = st.lists(st.tuples(binary, binary), min_size=1, max_size=60) | st.lists(
    st.tuples(points, points), min_size=1, max_size=25
)
rates = st.floats(0.001, 0.45)


def one_each(values: list[float]) -> Scores:
    return Scores(tuple(map(str, range(len(values)))), np.array(values, dtype=float)[:, None])


def sides(rows: list[tuple[float, float]]) -> tuple[list[float], list[float]]:
    """Reference and candidate; the first sample keeps them from looking like fractions."""
    rows = [(100.0, 100.0), *rows]
    return [r for r, _ in rows], [c for _, c in rows]


def flips(lost: int, gained: int, n: int) -> tuple[Scores, Scores]:
    """0/100 scores of reference and candidate with so many samples lost and gained."""
    reference = np.repeat([100.0, 0.0, 100.0], [lost, gained, n - lost - gained])
    candidate = np.repeat([0.0, 100.0, 100.0], [lost, gained, n - lost - gained])
    return one_each(reference.tolist()), one_each(candidate.tolist())


def on_the_edge(verdict: Verdict) -> bool:
    """Whether a continuous p-value is alpha to the last bits: the t test of 2 samples has p = 1/4 exactly."""
    assert verdict.p_adjusted is not None
    return verdict.p_mid is None and abs(verdict.p_adjusted - verdict.alpha) < 1e-12


def assert_sound(verdict: Verdict) -> None:
    """No NaN anywhere, and mean, p, interval and verdict say the same."""
    json.dumps(asdict(verdict), allow_nan=False)
    assert verdict.p_adjusted is not None
    rejected = verdict.verdict == "regression"
    assert on_the_edge(verdict) or rejected == (verdict.p_adjusted <= verdict.alpha)
    sign = 1.0 if verdict.higher_is_better else -1.0
    assert verdict.candidate.mean is not None
    if verdict.gamma is not None and abs(verdict.candidate.mean - verdict.gamma) > 1e-9:
        assert rejected == (sign * verdict.candidate.mean < sign * verdict.gamma)
    if verdict.interval is not None:
        low, high = verdict.interval.two_sided
        assert low <= high
        assert verdict.interval.one_sided == (high if verdict.higher_is_better else low)


@given(rows=pairs, alpha=rates, theta=st.none() | st.floats(0.1, 100.0))
@settings(deadline=None)
def test_every_verdict_agrees_with_its_own_figures(rows, alpha: float, theta: float | None) -> None:
    reference, candidate = sides(rows)
    verdict = compare(reference, candidate, alpha=alpha, theta=theta)
    assert_sound(verdict)
    change = np.array(candidate) - np.array(reference)
    assert verdict.difference == pytest.approx(change.mean(), abs=1e-9)
    assert (verdict.lost, verdict.gained) == ((change < 0).sum(), (change > 0).sum())
    assert verdict.discordance == pytest.approx((change != 0).mean())
    assert [float(change[int(i)]) for i in verdict.flips] == sorted(change[change < 0].tolist())
    if theta is None:
        assert verdict.verdict != "inconclusive"
    elif verdict.verdict != "regression":
        sees = verdict.theta is not None and verdict.theta <= theta
        better = verdict.interval is not None and change.mean() > 0 and verdict.interval.two_sided[0] > -theta
        assert (verdict.verdict == "pass") == (sees or better)


@given(rows=pairs, theta=st.none() | st.floats(0.1, 100.0), alpha=rates)
@settings(deadline=None)
def test_lower_is_better_on_mirrored_scores_is_the_mirrored_verdict(rows, theta: float | None, alpha: float) -> None:
    reference, candidate = (np.array(side) for side in sides([*rows, (0.0, 0.0)]))
    up = compare(reference, candidate, alpha=alpha, theta=theta)
    down = compare(100.0 - reference, 100.0 - candidate, alpha=alpha, theta=theta, higher_is_better=False)
    assert_sound(down)
    assert down.higher_is_better is False
    assert (down.lost, down.gained, set(down.flips)) == (up.lost, up.gained, set(up.flips))
    if not on_the_edge(up):
        assert down.verdict == up.verdict
    same = ("p_value", "p_adjusted", "theta", "sigma", "discordance")
    assert [getattr(down, key) for key in same] == pytest.approx([getattr(up, key) for key in same], rel=1e-6, abs=1e-9)
    assert down.p_mid == up.p_mid
    assert (down.gamma is None) == (up.gamma is None)
    if up.gamma is not None:
        assert down.gamma == pytest.approx(100.0 - up.gamma, abs=1e-6)
    assert (down.interval is None) == (up.interval is None)
    if up.interval is not None:
        low, high = up.interval.two_sided
        assert down.interval.two_sided == pytest.approx((-high, -low), abs=1e-6)


@given(rows=pairs, data=st.data())
@settings(deadline=None)
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
    assert (verdict.test, verdict.n, verdict.lost, verdict.gained) == ("paired", 1319, 53, 26)
    assert verdict.p_value == pytest.approx(binomtest(53, 79, alternative="greater").pvalue)
    assert verdict.p_mid is not None
    assert verdict.reference == ReferenceSummary(pytest.approx(100.0 * 1293 / 1319), 1319)
    assert verdict.gamma == pytest.approx(100.0 * 1293 / 1319 - 1.2130, abs=5e-5)
    assert (verdict.verdict, verdict.alpha, verdict.beta, verdict.alpha_applied) == ("regression", 0.05, 0.2, 0.05)


@pytest.mark.parametrize(("side", "value"), [(0, 50.0), (1, 50.0), (0, 99.9), (1, 0.1)])
def test_one_score_between_makes_it_a_t_test(side: int, value: float) -> None:
    both = [[100.0, 100.0, 0.0, 100.0], [0.0, 100.0, 0.0, 100.0]]
    both[side][1] = value
    verdict = compare(*both)
    assert verdict.p_value == pytest.approx(ttest_rel(both[1], both[0], alternative="less").pvalue)
    assert verdict.p_mid is None


@pytest.mark.parametrize("higher_is_better", [True, False])
def test_only_two_means_and_sigma_give_the_z_test(higher_is_better: bool) -> None:
    design = Design(sigma=50.0, theta=4.9, higher_is_better=higher_is_better)
    sign = 1.0 if higher_is_better else -1.0
    candidate = one_each(([100.0] * 700 + [0.0] * 619)[:: int(sign)])
    reference_mean = 100.0 * 700 / 1319 + sign * 3.3
    (verdict,) = decide([Evidence(candidate, Mean(reference_mean, 1319), design, "m", "t")])
    assert (verdict.model, verdict.task, verdict.test, verdict.n) == ("m", "t", "two-sample", 1319)
    assert verdict.gamma == pytest.approx(reference_mean - sign * 3.2025, abs=5e-5)  # TensorRT-LLM's margin
    assert (verdict.verdict, verdict.sigma) == ("regression", 50.0)
    assert (verdict.difference, verdict.theta) == (pytest.approx(-sign * 3.3), pytest.approx(4.8411, abs=5e-5))
    assert verdict.reference == ReferenceSummary(reference_mean, 1319)
    assert (verdict.lost, verdict.gained, verdict.discordance, verdict.flips) == (None, None, None, ())
    assert_sound(verdict)
    (healthy,) = decide([Evidence(candidate, Mean(reference_mean - sign * 0.2, 1319), design)])
    assert healthy.verdict == "pass"


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize(("drop", "verdict"), [(2.0, "pass"), (5.0, "regression")])
def test_an_absolute_target_has_no_size(drop: float, verdict: str, sign: float) -> None:
    candidate, target = one_each([100.0, 0.0] * 500), 50.0 + sign * drop
    (result,) = decide([Evidence(candidate, Target(target), Design(sigma=50.0, higher_is_better=sign > 0))])
    assert (result.test, result.verdict, result.reference) == ("target", verdict, ReferenceSummary(target, None))
    assert result.p_value == pytest.approx(norm.cdf(-drop / (50.0 / math.sqrt(1000))))
    assert_sound(result)


def test_two_samples_may_differ_in_size_and_ids() -> None:
    verdict = compare([100.0, 0.0] * 300, {"x": 100.0, "y": 0.0}, test="two-sample", sigma=50.0)
    error = 50.0 * math.sqrt(1 / 600 + 1 / 2)
    assert (verdict.test, verdict.n, verdict.reference.n) == ("two-sample", 2, 600)
    assert verdict.gamma == pytest.approx(50.0 - norm.isf(0.05) * error)


def test_repeats_are_averaged_before_pairing() -> None:
    ids = ("a", "b", "c")
    reference = Scores(ids, np.array([[100.0, 100.0], [100.0, 0.0], [0.0, 100.0]]))
    candidate = Scores(("c", "b", "a"), np.array([[0.0, 0.0], [0.0, 100.0], [100.0, 0.0]]))
    verdict = compare_scores(reference, candidate, Design())
    oracle = ttest_rel([50.0, 50.0, 0.0], [100.0, 50.0, 50.0], alternative="less")
    assert (verdict.p_value, verdict.n, verdict.p_mid) == (pytest.approx(oracle.pvalue), 3, None)
    assert (verdict.flips, verdict.reference.n) == (("c", "a"), 3)


@pytest.mark.parametrize(
    ("reference", "candidate", "kwargs", "verdict"),
    [
        ([50.0], [40.0], {}, "pass"),
        ([50.0], [40.0], {"theta": 10.0}, "inconclusive"),
        ([100.0], [0.0], {"theta": 10.0}, "inconclusive"),
        ([60.0] * 9, [60.0] * 9, {"theta": 10.0}, "inconclusive"),
        ([60.0] * 900, [60.0] * 900, {"theta": 10.0}, "pass"),
        ([60.0] * 9, [59.0] * 9, {"theta": 10.0}, "regression"),
        ([100.0] * 9, [0.0] * 9, {"theta": 10.0}, "regression"),
        ([0.0] * 9, [0.0] * 9, {"theta": 10.0}, "inconclusive"),
        ([0.0] * 9, [100.0] * 9, {}, "pass"),
        ([60.0] * 9, [59.0] * 9, {"test": "two-sample", "sigma": 0.0}, "regression"),
        ([60.0] * 9, [60.0] * 9, {"test": "two-sample", "sigma": 0.0, "theta": 1.0}, "pass"),
    ],
)
def test_degenerate_scores_have_a_defined_verdict_without_nan(reference, candidate, kwargs, verdict: str) -> None:
    result = compare(reference, candidate, **kwargs)
    assert result.verdict == verdict
    assert_sound(result)
    turned = compare(-np.array(reference), -np.array(candidate), higher_is_better=False, **kwargs)
    assert turned.verdict == verdict
    assert_sound(turned)


@pytest.mark.parametrize(("theta", "verdict"), [(4.84, "inconclusive"), (4.8412, "pass")])
def test_too_few_samples_for_the_target_are_inconclusive_and_say_what_they_see(theta: float, verdict: str) -> None:
    (result,) = decide([Evidence(one_each([50.0] * 1319), Mean(50.0, 1319), Design(sigma=50.0, theta=theta))])
    assert (result.verdict, result.theta_target) == (verdict, theta)
    if verdict == "inconclusive":
        text = f"1,319 samples see a drop of 4.84 points or more with probability 0.8; the target is {theta:g}: "
        assert result.reasons == (text + "evaluate more samples or set a larger theta",)


def test_one_sample_sees_no_drop_and_keeps_both_reasons() -> None:
    first, second = compare([50.0], [40.0], theta=2.0).reasons
    assert first == "one sample has no variance: no drop can be seen"
    assert second.startswith("1 samples see no drop with probability 0.8; the target is 2: ")


def test_a_planned_run_at_its_own_theta_is_not_inconclusive_by_rounding() -> None:
    theta = compare_scores(*flips(5, 5, 100), Design()).theta
    assert theta is not None
    assert compare_scores(*flips(5, 5, 100), Design(theta=theta * (1 - 1e-12))).verdict == "pass"
    assert compare_scores(*flips(5, 5, 100), Design(theta=theta * (1 - 1e-6))).verdict == "inconclusive"


def checks(p_values: list[float], alphas: list[float]) -> list[Evidence]:
    """Target checks whose p-values are these."""
    return [
        Evidence(one_each([50.0] * 100), Target(50.0 - 5.0 * norm.ppf(p)), Design(sigma=50.0, alpha=alpha))
        for p, alpha in zip(p_values, alphas, strict=True)
    ]


@pytest.mark.parametrize(("correction", "method"), [("bonferroni", "bonferroni"), ("holm", "holm"), ("bh", "fdr_bh")])
@pytest.mark.parametrize("p_values", [[0.001, 0.02, 0.03], [0.01, 0.02, 0.04], [0.04, 0.3, 0.9], [0.011, 0.024, 0.051]])
def test_several_checks_are_corrected_as_statsmodels_does(
    correction: Correction, method: str, p_values: list[float]
) -> None:
    rejected, adjusted, *_ = multipletests(p_values, alpha=0.05, method=method)
    verdicts = decide(checks(p_values, [0.05] * 3), correction=correction)
    assert [v.verdict == "regression" for v in verdicts] == rejected.tolist()
    assert [v.p_adjusted for v in verdicts] == pytest.approx(adjusted)
    assert [v.p_value for v in verdicts] == pytest.approx(p_values)
    for verdict in verdicts:
        assert_sound(verdict)
        assert verdict.alpha_applied is not None
        assert verdict.gamma == pytest.approx(verdict.reference.mean + 5.0 * norm.ppf(verdict.alpha_applied))


@pytest.mark.parametrize(
    ("correction", "shares"),
    [("none", [1.0, 1.0]), ("bonferroni", [0.25, 0.25]), ("holm", [0.25, 1 / 3])],
)
def test_checks_without_evidence_count_as_never_rejected(correction: Correction, shares: list[float]) -> None:
    verdicts = decide(checks([0.01, 0.02], [0.05, 0.05]), correction=correction, checks=4)
    assert [v.alpha_applied for v in verdicts] == pytest.approx([0.05 * share for share in shares])
    assert len(verdicts) == 2


@pytest.mark.parametrize("total", [2, 10])
def test_bh_counts_checks_without_evidence_as_never_rejected(total: int) -> None:
    _, adjusted, *_ = multipletests([0.04] + [1.0] * (total - 1), alpha=0.05, method="fdr_bh")
    (verdict,) = decide(checks([0.04], [0.05]), correction="bh", checks=total)
    assert verdict.verdict == "pass"
    assert verdict.p_adjusted == pytest.approx(adjusted[0])


def test_different_alphas_are_corrected_by_their_own_level() -> None:
    strict, loose = decide(checks([0.004, 0.08], [0.01, 0.2]), correction="bonferroni")
    assert (strict.verdict, loose.verdict) == ("regression", "regression")
    assert (strict.alpha_applied, loose.alpha_applied) == (0.005, 0.1)
    assert (strict.p_adjusted, loose.p_adjusted) == (pytest.approx(0.008), pytest.approx(0.16))
    strict, loose = decide(checks([0.006, 0.11], [0.01, 0.2]), correction="bonferroni")
    assert (strict.verdict, loose.verdict) == ("pass", "pass")


def test_holm_with_different_alphas_steps_down_by_p_over_alpha() -> None:
    """p / alpha is 0.4 and 0.15, so the second goes first, at half its alpha; the first then has all of its own."""
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


def test_failed_samples_that_change_nothing_leave_the_verdict_with_a_reason() -> None:
    verdict = with_failed(0, 20, 1000, 3)
    assert (verdict.verdict, verdict.candidate.errors, verdict.n) == ("pass", 3, 1000)
    text = "3 of 1000 samples failed; the mean is 99.70 at worst and 100.00 at best: the verdict is the same"
    assert verdict.reasons == (text,)
    assert (verdict.lost, verdict.candidate.mean) == (3, pytest.approx(99.7))
    assert_sound(verdict)
    assert with_failed(60, 0, 1000, 3).verdict == "regression"


def test_failed_samples_that_decide_the_verdict_make_it_an_error() -> None:
    verdict = with_failed(0, 0, 1000, 30)
    assert (verdict.verdict, verdict.candidate.errors) == ("error", 30)
    assert verdict.reasons == (
        "30 of 1000 samples failed; the mean is 97.00 at worst and 100.00 at best: regression at worst, pass at best. "
        "Evaluate them again with --resume",
    )


def test_failed_samples_of_an_inconclusive_check_make_it_an_error() -> None:
    verdict = with_failed(1, 1, 100, 1, theta=0.5)
    assert verdict.verdict == "error"
    assert "inconclusive at worst, inconclusive at best" in verdict.reasons[-1]


@pytest.mark.parametrize("bounds", [{"worst": None}, {"worst": None, "best": None}])
def test_failed_samples_of_a_metric_without_bounds_are_an_error(bounds) -> None:
    verdict = with_failed(0, 0, 1000, 1, **bounds)
    assert (verdict.verdict, verdict.candidate.mean, verdict.candidate.errors) == ("error", None, 1)
    assert verdict.reasons == ("1 of 1000 samples failed, and the metric has no bounds to bracket them",)
    assert (verdict.p_value, verdict.p_adjusted, verdict.gamma) == (None, None, None)
    json.dumps(asdict(verdict), allow_nan=False)


def test_checks_beside_one_with_failed_samples_keep_their_verdict() -> None:
    reference, candidate = flips(0, 0, 100)
    broken = Scores(candidate.ids, np.where(np.arange(100)[:, None] < 50, math.nan, 100.0))
    evidences = [Evidence(c, reference, Design()) for c in (candidate, broken)]
    whole, torn = decide(evidences, correction="holm")
    assert (whole.verdict, whole.candidate.errors, torn.verdict) == ("pass", 0, "error")
    assert whole.reasons == ("no sample changed its score",)


def test_a_check_without_a_verdict_counts_as_never_rejected() -> None:
    reference, candidate = flips(0, 0, 100)
    broken = Scores(candidate.ids, np.where(np.arange(100)[:, None] < 1, math.nan, 100.0))
    evidences = [*checks([0.03], [0.05]), Evidence(broken, reference, Design(), worst=None)]
    beside, torn = decide(evidences, correction="holm")
    assert (beside.verdict, beside.alpha_applied, torn.verdict) == ("pass", 0.025, "error")


def test_each_sample_is_bracketed_by_the_metrics_own_bounds() -> None:
    candidate = Scores(("a", "b"), np.array([[3.0], [math.nan]]))
    design = Design(test="two-sample", sigma=1.0, higher_is_better=False)
    (verdict,) = decide([Evidence(candidate, Mean(3.0, 100), design, worst=9.0, best=1.0)])
    assert verdict.verdict == "error"
    assert "the mean is 6.00 at worst and 2.00 at best: regression at worst, pass at best" in verdict.reasons[0]


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"alpha": 0.5}, "alpha is 0.5; give a number above 0 and below 0.5"),
        ({"alpha": 0.0}, "alpha is 0.0; give"),
        ({"alpha": math.nan}, "alpha is nan; give"),
        ({"beta": 0.0}, "beta is 0.0; give a number above 0 and up to 0.5"),
        ({"beta": 1.0}, "beta is 1.0; give"),
        ({"sigma": -1.0}, "sigma is -1.0; give a number 0 or more"),
        ({"sigma": math.inf}, "sigma is inf; give"),
        ({"theta": 0.0}, "theta is 0.0; give a number above 0"),
        ({"theta": math.nan}, "theta is nan; give"),
        ({"theta": math.inf}, "theta is inf; give"),
        ({"alpha": 1.0, "theta": -1.0}, "alpha is 1.0; give a number above 0 and below 0.5\ntheta is -1.0; give"),
        ({"test": "gsprt"}, "test is 'gsprt'; this version has auto, two-sample, target, paired"),
        ({"test": "t"}, "test is 't'; this version has"),
        ({"test": "target", "sigma": 50.0}, "the target test needs an absolute target; use paired, or auto"),
        ({"test": "two-sample"}, "the two-sample test needs sigma, the standard deviation of one score in points"),
        ({"early_stopping": True}, "early stopping: this version has fixed-n tests"),
        ({"clusters": ["a", "b", "b"]}, "clusters: this version has fixed-n tests"),
        ({"scale": 0.0}, "scale is 0.0; give a number above 0"),
    ],
)
def test_an_argument_that_cannot_be_used_is_refused_with_the_mend(kwargs, message: str) -> None:
    with pytest.raises(BadInput) as caught:
        compare([50.0, 60.0, 70.0], [50.0, 60.0, 70.0], **kwargs)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("kwargs", [{"beta": 0.5}, {"alpha": 0.499}, {"alpha": 1e-9}, {"sigma": 0.0}, {"seed": 3}])
def test_arguments_just_inside_their_range_are_used(kwargs) -> None:
    assert compare([50.0, 60.0, 70.0], [50.0, 61.0, 70.0], discordance=0.1, **kwargs).verdict == "pass"


PER_SAMPLE, MEAN, TARGET = one_each([50.0]), Mean(50.0, 10), Target(50.0)


@pytest.mark.parametrize(
    ("test", "reference", "chosen"),
    [
        ("auto", PER_SAMPLE, "paired"),
        ("auto", MEAN, "two-sample"),
        ("auto", TARGET, "target"),
        ("paired", PER_SAMPLE, "paired"),
        ("two-sample", PER_SAMPLE, "two-sample"),
        ("two-sample", MEAN, "two-sample"),
        ("target", TARGET, "target"),
    ],
)
def test_the_test_fits_what_is_known_of_the_reference(test: TestName, reference, chosen: TestName) -> None:
    assert chosen_test(test, reference) == chosen


@pytest.mark.parametrize(
    ("test", "reference", "message"),
    [
        ("paired", MEAN, "the paired test needs the reference's score of each sample; use two-sample, or auto"),
        ("paired", TARGET, "the paired test needs the reference's score of each sample; use target, or auto"),
        ("target", PER_SAMPLE, "the target test needs an absolute target; use paired, or auto"),
        ("target", MEAN, "the target test needs an absolute target; use two-sample, or auto"),
        ("two-sample", TARGET, "the two-sample test needs a reference; use target, or auto"),
    ],
)
def test_a_test_that_does_not_fit_the_reference_is_refused(test: TestName, reference, message: str) -> None:
    with pytest.raises(BadInput) as caught:
        decide([Evidence(one_each([50.0]), reference, Design(test=test, sigma=50.0))])
    assert str(caught.value) == message


@pytest.mark.parametrize("reference", [MEAN, TARGET])
def test_tests_of_means_need_sigma(reference: Mean | Target) -> None:
    with pytest.raises(BadInput, match=r"test needs sigma, the standard deviation of one score in points \(50 for"):
        decide([Evidence(one_each([50.0]), reference, Design())])


REFERENCE = {"a": 100.0, "b": 0.0, "c": 100.0}


@pytest.mark.parametrize(
    ("candidate", "message"),
    [
        ({"a": 100.0}, "2 missing from the candidate: b, c"),
        ({**REFERENCE, "d": 0.0, "e": 0.0}, "2 not in the reference: d, e"),
        ({"b": 100.0, "c": 0.0, "d": 100.0}, "1 missing from the candidate: a; 1 not in the reference: d"),
        ([100.0, 0.0, 100.0], "0 of the reference's 3 samples are in the candidate"),
        ({}, "candidate: holds no samples"),
        ({**REFERENCE, "a": math.nan}, "candidate: 1 of 3 samples have no finite score: a"),
    ],
)
def test_a_candidate_with_other_samples_is_refused_with_counts(candidate, message: str) -> None:
    with pytest.raises(BadInput) as caught:
        compare(REFERENCE, candidate)
    assert message in str(caught.value)


def test_arrays_of_different_length_do_not_pair() -> None:
    with pytest.raises(BadInput, match="1 missing from the candidate: 2"):
        compare([100.0, 0.0, 100.0], [100.0, 0.0])


def test_an_array_pairs_with_a_mapping_of_its_positions() -> None:
    verdict = compare([100.0, 0.0, 50.0], {2: 0.0, 1: 0.0, 0: 100.0})
    assert (verdict.flips, verdict.difference) == (("2",), pytest.approx(-50.0 / 3.0))


def test_fractions_are_refused_and_scaled_only_on_request() -> None:
    reference, candidate = [1.0, 1.0, 0.0, 1.0] * 50, [1.0, 0.0, 0.0, 1.0] * 50
    with pytest.raises(BadInput, match="fractions or points"):
        compare(reference, candidate)
    verdict = compare(reference, candidate, scale=100)
    assert verdict == compare([100.0 * r for r in reference], [100.0 * c for c in candidate])
    assert (verdict.verdict, verdict.difference, verdict.p_mid is None) == ("regression", -25.0, False)
    assert compare(reference, candidate, scale=1).difference == -0.25


def test_scores_of_minus_hundred_are_not_zero_and_hundred_scores() -> None:
    wins, losses = [100.0] * 10, [-100.0] * 9 + [100.0]
    assert compare(wins, losses).difference == pytest.approx(-180.0)
    assert compare(losses, wins).difference == pytest.approx(180.0)


@pytest.mark.parametrize("reference", [one_each([50.0, math.nan, 71.0]), Mean(math.nan, 100), Target(math.nan)])
def test_a_reference_that_is_not_a_number_never_passes(reference) -> None:
    try:
        (verdict,) = decide([Evidence(one_each([50.0, 60.0, 70.0]), reference, Design(sigma=50.0))])
    except BadInput:
        return
    assert verdict.verdict == "error"


def test_a_reference_of_no_samples_is_refused() -> None:
    with pytest.raises(BadInput, match="number of samples is 0; give 1 or more"):
        decide([Evidence(one_each([50.0]), Mean(50.0, 0), Design(sigma=50.0))])
    assert decide([Evidence(one_each([50.0]), Mean(50.0, 1), Design(sigma=50.0))])[0].verdict == "pass"


@pytest.mark.parametrize("mean", [2e12, -2e12])
def test_a_reference_beyond_any_metric_is_refused(mean: float) -> None:
    for reference in (Mean(mean, 10), Target(mean), one_each([50.0, mean])):
        with pytest.raises(BadInput):
            decide([Evidence(one_each([50.0, 50.0]), reference, Design(sigma=50.0))])


def test_a_candidate_beyond_any_metric_is_refused() -> None:
    with pytest.raises(BadInput, match="1 samples have a score beyond"):
        decide([Evidence(one_each([50.0, 2e12]), Target(50.0), Design(sigma=50.0))])


@pytest.mark.parametrize(
    ("candidate", "scale"), [([1e200, 1.1e200, 1.2e200] * 10, 1.0), ([500.0, 600.0, 700.0] * 10, 1e307)]
)
def test_scores_too_large_for_arithmetic_never_pass(candidate: list[float], scale: float) -> None:
    with np.errstate(all="ignore"):
        try:
            verdict = compare([10.0, 11.0, 12.0] * 10, candidate, scale=scale, higher_is_better=False)
        except BadInput:
            return
    assert verdict.verdict in ("regression", "error")


def test_failed_samples_of_a_metric_without_a_best_score_are_said_to_be_unbounded() -> None:
    verdict = with_failed(0, 0, 1000, 1, best=None)
    assert verdict.verdict == "error"
    assert verdict.reasons == ("1 of 1000 samples failed, and the metric has no bounds to bracket them",)
