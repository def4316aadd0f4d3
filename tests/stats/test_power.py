"""Sample sizes and power, against statsmodels' z power and brute-force enumeration."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr
from scipy.stats import binom, norm
from statsmodels.stats.power import NormalIndPower

from accgate.stats.mcnemar import mcnemar_critical, mcnemar_n, mcnemar_power, mcnemar_theta
from accgate.stats.power import (
    N_LIMIT,
    detectable_effect,
    normal_cdf,
    one_sample_n,
    paired_binary_effect,
    quantile_sum,
    two_sample_n,
)
from tests.support.cases import each

ERROR_RATES = [(0.05, 0.2), (0.002, 0.2), (0.01, 0.05), (0.2, 0.5)]
alphas = st.floats(1e-4, 0.49)
betas = st.floats(1e-3, 0.5)


def z_power(effect: float, n: float, alpha: float, ratio: float) -> float:
    """statsmodels' power of the one-sided z test; ratio is the other side's n over this one's, 0 for one sample."""
    return float(NormalIndPower().power(effect, n, alpha, ratio=ratio, alternative="larger"))


@given(sd=st.floats(0.1, 100.0), n=st.integers(1, 10**5), alpha=alphas, beta=betas)
def test_a_drop_of_the_detectable_effect_is_seen_with_the_promised_power(sd, n, alpha, beta) -> None:
    effect = detectable_effect(sd, n, alpha=alpha, beta=beta)
    assert z_power(effect / sd, n, alpha, ratio=0) == pytest.approx(1.0 - beta, abs=1e-9)


@given(q=st.floats(0.0, 1.0), n=st.integers(1, 10**5), alpha=alphas, beta=betas)
def test_the_paired_effect_solves_its_defining_equation(q, n, alpha, beta) -> None:
    theta = paired_binary_effect(q, n, alpha=alpha, beta=beta)
    k = norm.isf(alpha) + norm.isf(beta)
    assert theta == pytest.approx(k * 100.0 * math.sqrt(max(q, theta / 100.0) / n), rel=1e-9)


@each(("alpha", "beta"), ERROR_RATES)
@each(("theta", "sigma"), [(2.0, 50.0), (5.0, 11.06), (0.7, 35.0)])
def test_the_sample_sizes_are_the_least_that_reach_the_power(alpha, beta, theta, sigma) -> None:
    effect = theta / sigma
    two = two_sample_n(theta, sigma=sigma, alpha=alpha, beta=beta)
    for n, ratio in ((two, 1.0), (one_sample_n(theta, sd=sigma, alpha=alpha, beta=beta), 0.0)):
        assert z_power(effect, n, alpha, ratio) >= 1.0 - beta > z_power(effect, n - 1, alpha, ratio)


@pytest.mark.parametrize("reference_n", [4000, 7729, 100_000])
def test_with_a_fixed_reference_the_candidate_s_size_is_the_least_that_reaches_the_power(reference_n: int) -> None:
    n = two_sample_n(2.0, sigma=50.0, alpha=0.05, beta=0.2, reference_n=reference_n)
    assert z_power(0.04, n, 0.05, reference_n / n) >= 0.8 > z_power(0.04, n - 1, 0.05, reference_n / (n - 1))


def at_ratio(ratio: float, reference_n: int) -> int | None:
    """two_sample_n where 1/reference_n + 1/n must be 1/ratio."""
    theta = quantile_sum(0.05, 0.2)
    return two_sample_n(theta, sigma=math.sqrt(ratio), alpha=0.05, beta=0.2, reference_n=reference_n)


def test_a_reference_too_small_for_any_candidate_has_no_sample_size() -> None:
    assert [at_ratio(1.0, 1), at_ratio(4.0, 2), at_ratio(4e4, 40_001)] == [None] * 3
    assert at_ratio(1e4, 10_001) == pytest.approx(10_000 * 10_001, rel=1e-6)
    assert 10_000 * 10_001 < N_LIMIT < 40_000 * 40_001


@given(root=st.integers(1, 3000), scale=st.floats(0.01, 100.0))
def test_a_whole_sample_size_is_not_raised_by_rounding(root: int, scale: float) -> None:
    theta = quantile_sum(0.05, 0.2) * scale / root
    assert one_sample_n(theta, sd=scale, alpha=0.05, beta=0.2) == root**2
    assert two_sample_n(theta, sigma=scale, alpha=0.05, beta=0.2) == 2 * root**2


def least_losses(m: int, alpha: float) -> int:
    return int(np.argmax(binom.sf(np.arange(-1, m + 1), m, 0.5) <= alpha))


@each("alpha", [1e-12, 2.0**-20, 1e-6, 1e-4, 0.01, 0.03125, 0.05, 0.2, 0.3, 0.49])
def test_the_critical_count_of_losses_is_the_least_that_binomial_tails_allow(alpha: float) -> None:
    m = np.arange(81)
    assert mcnemar_critical(m, alpha).tolist() == [least_losses(i, alpha) for i in m]


@given(m=st.integers(1, 10**6), alpha=alphas)
def test_the_critical_count_holds_alpha_and_one_less_would_not(m: int, alpha: float) -> None:
    critical = int(mcnemar_critical(m, alpha))
    assert binom.sf(critical - 1, m, 0.5) <= alpha * (1.0 + 1e-9)  # a tie is decided by the last bit
    assert binom.sf(critical - 2, m, 0.5) > alpha * (1.0 - 1e-9)


def enumerated_power(n: int, theta: float, q: float, alpha: float) -> float:
    """Power over every number of discordant pairs, none left out."""
    m = np.arange(n + 1)
    critical = np.array([least_losses(int(i), alpha) for i in m]) if n < 100 else mcnemar_critical(m, alpha)
    return float(np.sum(binom.pmf(m, n, q) * binom.sf(critical - 1, m, 0.5 * (1.0 + theta / 100.0 / q))))


SMALL = [(n, *drop) for n in (1, 7, 40) for drop in ((2.0, 0.1), (30.0, 0.3), (10.0, 0.9), (5.0, 1.0), (100.0, 1.0))]


@each(("n", "theta", "q"), [*SMALL, (200, 5.0, 0.0), (200, 5.0, 0.02), (1628, 2.0, 0.1), (4096, 2.0, 0.5)])
@each("alpha", [0.05, 0.2])
def test_the_power_is_that_of_full_enumeration(n: int, theta: float, q: float, alpha: float) -> None:
    """A discordance under the drop is raised to it."""
    expected = enumerated_power(n, theta, max(q, theta / 100.0), alpha)
    assert mcnemar_power(n, theta, discordance=q, alpha=alpha) == pytest.approx(expected, abs=1e-9)


@each(("alpha", "beta"), ERROR_RATES)
@each(("theta", "q"), [(2.0, 0.0), (2.0, 0.1), (5.0, 0.3), (20.0, 0.2), (0.5, 0.01)])
def test_the_planned_pairs_reach_the_power_with_none_to_spare(alpha, beta, theta, q) -> None:
    n, share = mcnemar_n(theta, discordance=q, alpha=alpha, beta=beta), max(q, theta / 100.0)
    assert enumerated_power(n, theta, share, alpha) >= 1.0 - beta - 1e-9
    assert enumerated_power(n - 1, theta, share, alpha) < 1.0 - beta


@each("theta", [0.1, 0.03])
def test_past_20_000_changed_pairs_the_planned_pairs_detect_the_drop_that_they_are_planned_for(theta: float) -> None:
    rates = {"discordance": 0.1, "alpha": 0.05, "beta": 0.2}
    assert mcnemar_theta(mcnemar_n(theta, **rates), **rates) == pytest.approx(theta, rel=2e-4)


def test_a_plan_past_every_dataset_is_answered_without_a_search() -> None:
    n = mcnemar_n(0.003, discordance=0.5, alpha=0.05, beta=0.2)
    normal = one_sample_n(0.003, sd=100.0 * math.sqrt(0.5), alpha=0.05, beta=0.2)
    assert n == normal + math.ceil(200 / 0.003)  # two pairs a point for what counts leave of alpha
    assert normal > N_LIMIT


def test_the_normal_distribution_is_that_of_scipy_far_into_its_tail() -> None:
    z = np.linspace(-37.0, 9.0, 461)
    np.testing.assert_allclose([normal_cdf(float(value)) for value in z], ndtr(z), rtol=1e-12)
