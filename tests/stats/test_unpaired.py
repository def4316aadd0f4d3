"""The unpaired tests, against scipy's z and t tests."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, norm, ttest_1samp, ttest_ind

from accgate.stats.result import Interval, TestResult
from accgate.stats.unpaired import Moments, least_sd, student_t, target_z, two_sample_z, welch_t
from tests.stats.sequences import RATES
from tests.support.cases import each

means = st.floats(0.0, 100.0)
sizes = st.integers(1, 10**5)
sigmas = st.floats(0.1, 80.0)
alphas = st.floats(1e-4, 0.49)
betas = st.floats(1e-3, 0.5)
spread_scores = st.lists(st.integers(0, 1000).map(lambda x: x / 10.0), min_size=2, max_size=40).filter(
    lambda x: len(set(x)) > 1
)


def assert_is_the_z_test(result: TestResult, difference: float, error: float, alpha: float, beta: float) -> None:
    """Every figure from scipy's normal distribution of the difference with this standard error."""
    assert result.difference == pytest.approx(difference, abs=1e-9)
    assert result.p_value == pytest.approx(norm.cdf(difference, scale=error), rel=1e-6, abs=1e-12)
    assert result.threshold == pytest.approx(norm.ppf(alpha, scale=error), rel=1e-9)
    assert norm.cdf(result.threshold, loc=-result.theta, scale=error) == pytest.approx(1.0 - beta, abs=1e-9)
    low, high = norm.interval(1.0 - 2.0 * alpha, loc=difference, scale=error)
    assert result.interval.two_sided == pytest.approx((low, high), abs=1e-6)
    assert result.interval.one_sided == result.interval.two_sided[1]


@given(mean=means, n=sizes, reference=means, reference_n=sizes, sigma=sigmas, alpha=alphas, beta=betas)
def test_a_declared_sigma_gives_scipys_z_tests(mean, n, reference, reference_n, sigma, alpha, beta) -> None:
    rates = {"sigma": sigma, "alpha": alpha, "beta": beta}
    two, one = two_sample_z(mean, n, reference, reference_n, **rates), target_z(mean, n, reference, **rates)
    for result, variance in ((two, sigma**2 / n + sigma**2 / reference_n), (one, sigma**2 / n)):
        assert_is_the_z_test(result, mean - reference, math.sqrt(variance), alpha, beta)
        assert (result.sigma, result.reasons) == (sigma, ())


@pytest.mark.parametrize(("mean", "p_value"), [(69.0, 0.0), (70.0, 1.0), (71.0, 1.0)])
def test_without_spread_any_drop_and_only_a_drop_is_certain(mean: float, p_value: float) -> None:
    for result in (
        two_sample_z(mean, 100, 70.0, 100, sigma=0.0, **RATES),
        target_z(mean, 100, 70.0, sigma=0.0, **RATES),
    ):
        assert (result.p_value, result.threshold, result.theta, result.sigma) == (p_value, 0.0, 0.0, 0.0)
        assert result.interval == Interval(mean - 70.0, (mean - 70.0, mean - 70.0))
        assert "sigma is 0" in result.reasons[0]


def summary(scores: list[float]) -> Moments:
    return Moments(float(np.mean(scores)), float(np.std(scores, ddof=1)), len(scores))


def assert_is_the_t_test(result: TestResult, one_sided, two_sided, error: float, alpha: float, beta: float) -> None:
    """Every figure from scipy's one-sided test and its two-sided one, which has the interval."""
    assert result.p_value == pytest.approx(one_sided.pvalue, rel=1e-6, abs=1e-12)
    limits = two_sided.confidence_interval(1.0 - 2.0 * alpha)
    assert result.interval.two_sided == pytest.approx((limits.low, limits.high), rel=1e-6, abs=1e-6)
    assert result.interval.one_sided == result.interval.two_sided[1]
    assert result.threshold == pytest.approx(result.difference - limits.high, rel=1e-6, abs=1e-6)
    assert result.theta == pytest.approx((norm.isf(alpha) + norm.isf(beta)) * error, rel=1e-9)
    assert result.reasons == ()


@given(scores=spread_scores, target=means, alpha=alphas, beta=betas)
def test_a_target_with_the_samples_own_spread_gives_scipys_t_test(scores, target, alpha, beta) -> None:
    result = student_t(summary(scores), target, alpha=alpha, beta=beta)
    one_sided, two_sided = ttest_1samp(scores, target, alternative="less"), ttest_1samp(np.array(scores) - target, 0.0)
    error = np.std(scores, ddof=1) / math.sqrt(len(scores))
    assert_is_the_t_test(result, one_sided, two_sided, error, alpha, beta)
    assert result.sigma == np.std(scores, ddof=1)


@given(scores=spread_scores, reference=spread_scores, alpha=alphas, beta=betas)
def test_two_samples_with_their_own_spreads_give_scipys_welch_test(scores, reference, alpha, beta) -> None:
    result = welch_t(summary(scores), summary(reference), alpha=alpha, beta=beta)
    one_sided = ttest_ind(scores, reference, equal_var=False, alternative="less")
    two_sided = ttest_ind(scores, reference, equal_var=False)
    error = math.sqrt(np.var(scores, ddof=1) / len(scores) + np.var(reference, ddof=1) / len(reference))
    assert_is_the_t_test(result, one_sided, two_sided, error, alpha, beta)
    centred = np.concatenate([np.array(scores) - np.mean(scores), np.array(reference) - np.mean(reference)])
    assert result.sigma == pytest.approx(math.sqrt(np.sum(centred**2) / (len(centred) - 2)))


@each("alpha", [0.01, 0.05, 0.2])
@each("n", [2, 5, 100, 1319])
def test_all_wrong_has_the_exact_limit_of_all_wrong(n: int, alpha: float) -> None:
    exact = 100.0 * binomtest(0, n).proportion_ci(1.0 - 2.0 * alpha).high
    result = student_t(Moments(0.0, 0.0, n), 50.0, alpha=alpha, beta=0.2)
    assert result.interval.one_sided == pytest.approx(exact - 50.0)
    assert (result.p_value <= alpha) == (exact <= 50.0)
    assert result.sigma == least_sd(0.0, n, alpha=alpha)
    assert f"candidate is 0: a standard deviation of {result.sigma:.3g}" in result.reasons[0]


def test_all_right_has_the_spread_of_all_wrong() -> None:
    assert least_sd(100.0, 50, alpha=0.05) == least_sd(0.0, 50, alpha=0.05) > least_sd(60.0, 50, alpha=0.05) > 0.0


def test_two_sides_that_are_all_right_or_all_wrong_are_even_and_promise_no_certainty() -> None:
    for value in (0.0, 100.0):
        result = welch_t(Moments(value, 0.0, 100), Moments(value, 0.0, 100), **RATES)
        assert (result.difference, result.p_value) == (0.0, 0.5)
        assert result.theta > 100.0 * (1.0 - 0.05**0.01)
        assert len(result.reasons) == 2


def test_equal_scores_whose_sum_was_rounded_have_no_spread_either() -> None:
    scores = np.full(1319, 33.3)
    rounded = float(np.std(scores, ddof=1))
    assert student_t(Moments(33.3, rounded, 1319), 40.0, **RATES).reasons != ()
    assert student_t(Moments(33.3, 1e-3, 1319), 40.0, **RATES).reasons == ()


def test_scores_without_bounds_that_are_all_the_same_have_an_answer() -> None:
    lower_is_better = student_t(Moments(-512.0, 0.0, 50), -30.0, **RATES)
    assert lower_is_better.p_value < 0.05
    assert 0.0 < lower_is_better.sigma < math.inf


@pytest.mark.parametrize(("n", "reference_n"), [(1, 100), (100, 1), (1, 1)])
def test_one_sample_on_a_side_shows_no_drop_and_says_why(n: int, reference_n: int) -> None:
    expected = TestResult(-70.0, 1.0, None, None, None, None, ("one sample has no variance: no drop can be seen",))
    assert welch_t(Moments(0.0, 0.0, n), Moments(70.0, 45.0, reference_n), **RATES) == expected
    assert student_t(Moments(0.0, 0.0, 1), 70.0, **RATES) == expected
