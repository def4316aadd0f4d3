"""The z tests, against TensorRT-LLM's published thresholds and scipy's normal distribution."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from accgate.stats.result import Interval, TestResult
from accgate.stats.unpaired import target_z, two_sample_z

means = st.floats(0.0, 100.0)
sizes = st.integers(1, 10**5)
sigmas = st.floats(0.1, 80.0)
alphas = st.floats(1e-4, 0.49)
betas = st.floats(1e-3, 0.5)


def assert_is_the_z_test(result: TestResult, difference: float, error: float, alpha: float, beta: float) -> None:
    """Every figure from scipy's normal distribution of the difference with this standard error."""
    assert result.difference == pytest.approx(difference, abs=1e-9)
    assert result.p_value == pytest.approx(norm.cdf(difference, scale=error), rel=1e-6, abs=1e-12)
    assert result.threshold == pytest.approx(norm.ppf(alpha, scale=error), rel=1e-9)
    assert result.theta is not None
    assert result.interval is not None
    assert norm.cdf(result.threshold, loc=-result.theta, scale=error) == pytest.approx(1.0 - beta, abs=1e-9)
    low, high = norm.interval(1.0 - 2.0 * alpha, loc=difference, scale=error)
    assert result.interval.two_sided == pytest.approx((low, high), abs=1e-6)
    assert result.interval.one_sided == result.interval.two_sided[1]


@pytest.mark.parametrize(
    ("sigma", "n", "alpha", "theta", "margin"),
    [
        (50.0, 1319, 0.05, 4.8411, 3.2025),
        (50.0, 4096, 0.05, 2.7472, 1.8173),
        (11.06, 512, 0.002, 2.5713, 1.9895),
    ],
)
def test_threshold_and_effect_are_those_tensorrt_llm_publishes(sigma, n, alpha, theta, margin) -> None:
    result = two_sample_z(70.0, n, 74.0, n, sigma=sigma, alpha=alpha, beta=0.2)
    assert result.threshold == pytest.approx(-margin, abs=5e-5)
    assert result.theta == pytest.approx(theta, abs=5e-5)
    assert result.difference == -4.0


@given(mean=means, n=sizes, reference=means, reference_n=sizes, sigma=sigmas, alpha=alphas, beta=betas)
@settings(deadline=None)
def test_two_samples_give_scipys_z_test(mean, n, reference, reference_n, sigma, alpha, beta) -> None:
    result = two_sample_z(mean, n, reference, reference_n, sigma=sigma, alpha=alpha, beta=beta)
    error = math.sqrt(sigma**2 / n + sigma**2 / reference_n)
    assert_is_the_z_test(result, mean - reference, error, alpha, beta)
    assert result.sigma == sigma
    assert result.reasons == ()


@given(mean=means, n=sizes, target=means, sigma=sigmas, alpha=alphas, beta=betas)
@settings(deadline=None)
def test_a_target_gives_scipys_one_sample_z_test(mean, n, target, sigma, alpha, beta) -> None:
    result = target_z(mean, n, target, sigma=sigma, alpha=alpha, beta=beta)
    assert_is_the_z_test(result, mean - target, math.sqrt(sigma**2 / n), alpha, beta)
    assert result.sigma == sigma


@given(mean=means, n=sizes, reference=means, sigma=sigmas, alpha=alphas)
@settings(deadline=None)
def test_the_mean_is_under_the_threshold_exactly_where_p_is_at_most_alpha(mean, n, reference, sigma, alpha) -> None:
    result = two_sample_z(mean, n, reference, 1000, sigma=sigma, alpha=alpha, beta=0.2)
    assert result.threshold is not None
    assert result.interval is not None
    if abs(result.difference - result.threshold) > 1e-9:
        assert (result.difference < result.threshold) == (result.p_value <= alpha)
        assert (result.difference < result.threshold) == (result.interval.one_sided < 0.0)


@given(mean=means, n=sizes, target=means, sigma=sigmas)
@settings(deadline=None)
def test_an_endless_reference_is_an_absolute_target(mean, n, target, sigma) -> None:
    endless = two_sample_z(mean, n, target, 10**15, sigma=sigma, alpha=0.05, beta=0.2)
    absolute = target_z(mean, n, target, sigma=sigma, alpha=0.05, beta=0.2)
    assert endless.p_value == pytest.approx(absolute.p_value, abs=1e-6)
    assert endless.theta == pytest.approx(absolute.theta, rel=1e-6)


@pytest.mark.parametrize(("mean", "p_value"), [(69.0, 0.0), (70.0, 1.0), (71.0, 1.0)])
def test_without_spread_any_drop_and_only_a_drop_is_certain(mean: float, p_value: float) -> None:
    for result in (
        two_sample_z(mean, 100, 70.0, 100, sigma=0.0, alpha=0.05, beta=0.2),
        target_z(mean, 100, 70.0, sigma=0.0, alpha=0.05, beta=0.2),
    ):
        assert (result.p_value, result.threshold, result.theta, result.sigma) == (p_value, 0.0, 0.0, 0.0)
        assert result.interval == Interval(mean - 70.0, (mean - 70.0, mean - 70.0))
        assert result.reasons == ("sigma is 0: any drop is a regression",)


def test_a_negated_interval_mirrors_every_limit() -> None:
    assert Interval(3.0, (-1.0, 3.0)).negated() == Interval(-3.0, (-3.0, 1.0))
