"""The paired tests, against scipy's and statsmodels' own."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, binomtest, norm, ttest_1samp

from accgate.stats.difference import exact_difference_interval
from accgate.stats.paired import mcnemar_exact, paired_t
from accgate.stats.result import TestResult
from tests.stats.sequences import RATES, assert_says_one_thing, drop_of_losses, rejects
from tests.support.cases import each

counts = st.integers(0, 60)
alphas = st.sampled_from([0.001, 0.01, 0.03125, 0.05, 0.2, 0.45])
points = st.integers(-1000, 1000).map(lambda x: x / 10.0)
betas = st.floats(0.01, 0.5)


def binary(lost: int, gained: int, n: int, alpha: float = 0.05, beta: float = 0.2) -> TestResult:
    return mcnemar_exact(lost, gained, n, alpha=alpha, beta=beta)


@each("lost", [*range(10), 100, 1000])
@each("gained", [*range(10), 100, 1000])
def test_p_is_that_of_scipys_one_sided_binomial_test(lost: int, gained: int) -> None:
    m = lost + gained
    p_value = binomtest(lost, m, 0.5, alternative="greater").pvalue if m else 1.0
    result = binary(lost, gained, m + 1)
    assert result.p_value == pytest.approx(p_value, rel=1e-9)
    assert result.p_mid == pytest.approx(p_value - 0.5 * binom.pmf(lost, m, 0.5), rel=1e-9, abs=1e-15)


@each("alpha", [0.01, 0.03125, 0.05, 0.2])
@each("m", [0, 1, 4, 5, 20, 79])
def test_the_threshold_lies_halfway_under_the_first_count_that_scipy_does_not_reject(m: int, alpha: float) -> None:
    n = 200
    rejected = [c for c in range(1, m + 1) if binomtest(c, m, 0.5, alternative="greater").pvalue <= alpha]
    for lost in range(m + 1):
        result = binary(lost, m - lost, n, alpha)
        if not rejected:
            assert result.threshold is None
            continue
        kept, first = (100.0 * (m - 2 * c) / n for c in (rejected[0] - 1, rejected[0]))
        assert result.threshold == pytest.approx((kept + first) / 2.0)
        assert rejects(result) == (lost in rejected)


@given(lost=counts, gained=counts, same=st.integers(0, 60))
def test_difference_and_sigma_are_those_of_the_differences_themselves(lost: int, gained: int, same: int) -> None:
    differences = np.repeat([-100.0, 100.0, 0.0], [lost, gained, same + 2])
    result = binary(lost, gained, len(differences))
    assert result.difference == pytest.approx(differences.mean(), abs=1e-9)
    assert result.sigma == pytest.approx(differences.std(ddof=1), rel=1e-6, abs=1e-6)
    assert binary(1, 0, 1).sigma is None
    assert (binary(7, 0, 7).difference, binary(7, 0, 7).sigma) == (-100.0, 0.0)


def power_at(theta: float, n: int, q: float, alpha: float) -> float:
    """Power by full enumeration of how many pairs change, and how many of these are lost."""
    q, m = max(q, theta / 100.0), np.arange(n + 1)
    tails = [binom.sf(np.arange(-1, count + 1), count, 0.5) <= alpha * (1 + 1e-12) for count in m]
    least = np.array([np.argmax(rejects) for rejects in tails])
    return float(np.sum(binom.pmf(m, n, q) * binom.sf(least - 1, m, min(0.5 * (1 + theta / 100.0 / q), 1.0))))


@given(lost=counts, gained=counts, same=counts, alpha=alphas, beta=betas)
@settings(max_examples=30)
def test_theta_is_the_drop_whose_power_is_1_less_beta(lost, gained, same, alpha, beta) -> None:
    n = lost + gained + same + 1
    theta, q = binary(lost, gained, n, alpha, beta).theta, (lost + gained) / n
    if theta is None:
        assert power_at(100.0, n, q, alpha) < 1.0 - beta
    else:
        assert power_at(theta, n, q, alpha) == pytest.approx(1.0 - beta, abs=1e-5)


def test_the_interval_is_the_exact_one_of_the_difference() -> None:
    assert binary(53, 26, 1319, 0.05).interval == exact_difference_interval(53, 26, 1319, alpha=0.05)


@given(lost=counts, gained=counts, alpha=st.floats(0.001, 0.45))
def test_rejection_threshold_and_interval_say_the_same(lost: int, gained: int, alpha: float) -> None:
    assert_says_one_thing(binary(lost, gained, 200, alpha), alpha)


def test_no_flips_are_said_to_be_none_and_reject_nothing() -> None:
    result = binary(0, 0, 1319)
    assert (result.difference, result.p_value, result.p_mid, result.threshold) == (0.0, 1.0, 0.5, None)
    assert result.theta == pytest.approx(drop_of_losses(1319), rel=1e-6)
    assert result.theta == pytest.approx(0.509, abs=5e-4)
    assert result.reasons == ("no sample changed its score",)
    assert binary(0, 1, 1319).reasons == ()


@given(st.lists(points, min_size=2, max_size=40).filter(lambda d: len(set(d)) > 1), alphas, betas)
def test_every_figure_of_the_t_test_is_scipys(differences: list[float], alpha: float, beta: float) -> None:
    d = np.array(differences)
    result, oracle = paired_t(d, alpha=alpha, beta=beta), ttest_1samp(d, 0.0, alternative="less")
    assert result.difference == pytest.approx(d.mean(), abs=1e-9)
    assert result.p_value == pytest.approx(oracle.pvalue, rel=1e-6, abs=1e-12)
    high = oracle.confidence_interval(1.0 - alpha).high
    assert result.interval.one_sided == pytest.approx(high, rel=1e-7, abs=1e-6)
    both = ttest_1samp(d, 0.0).confidence_interval(1.0 - 2.0 * alpha)
    assert result.interval.two_sided == pytest.approx((both.low, both.high), rel=1e-7, abs=1e-6)
    assert result.threshold == pytest.approx(d.mean() - both.high, rel=1e-6, abs=1e-6)
    assert result.sigma == pytest.approx(d.std(ddof=1), rel=1e-9)
    k = norm.isf(alpha) + norm.isf(beta)
    assert result.theta == pytest.approx(k * d.std(ddof=1) / math.sqrt(len(d)), rel=1e-9)
    assert result.reasons == ()


@given(differences=st.lists(points, min_size=1, max_size=30), alpha=alphas)
def test_the_mean_is_under_the_threshold_exactly_where_p_is_at_most_alpha(differences, alpha) -> None:
    assert_says_one_thing(paired_t(np.array(differences), alpha=alpha, beta=0.2), alpha)


def test_one_sample_shows_no_drop_and_says_why() -> None:
    result = paired_t(np.array([-40.0]), **RATES)
    assert (result.difference, result.p_value) == (-40.0, 1.0)
    assert (result.threshold, result.theta, result.sigma, result.interval) == (None, None, None, None)
    assert "one sample has no variance" in result.reasons[0]


@each("n", [2, 4, 5, 7])
@each("value", [-0.1, 0.1])
def test_the_same_change_of_every_sample_is_judged_by_the_sign_test(value: float, n: int) -> None:
    result = paired_t(np.full(n, value), **RATES)
    losses = n if value < 0 else 0
    assert result.p_value == pytest.approx(binomtest(losses, n, 0.5, alternative="greater").pvalue)
    assert rejects(result) == (result.p_value <= 0.05)
    assert (result.difference, result.sigma, result.interval) == (value, 0.0, None)
    assert result.theta == pytest.approx(paired_t(np.zeros(n), **RATES).theta)
    assert f"changed by exactly {value} points" in result.reasons[0]


def test_no_change_at_all_proves_as_little_as_no_flips() -> None:
    result = paired_t(np.zeros(1319), **RATES)
    assert (result.difference, result.p_value, result.threshold, result.sigma) == (0.0, 1.0, 0.0, 0.0)
    assert result.theta == pytest.approx(0.469, abs=5e-4)
    assert result.interval is None
    assert result.reasons == ("no sample changed its score",)


def test_differences_too_small_to_square_are_judged_by_their_mean() -> None:
    for differences in ([0.0, 1e-200], [-1e-200, 3e-200]):
        assert paired_t(np.array(differences), **RATES).p_value > 0.05
