"""Sign flips and the studentised bootstrap, against scipy, brute-force enumeration and plain reimplementations."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from accgate.stats.bootstrap import weighted_bootstrap
from accgate.stats.paired import mcnemar_exact, paired_t
from accgate.stats.resampling import common_step, rejection_count, sign_flip
from tests.stats.sequences import RATES, assert_says_one_thing, rejects
from tests.support.cases import each

alphas = st.sampled_from([0.01, 0.05, 0.2, 0.4])
steps = st.sampled_from([100.0, 25.0, 100 / 3, 100 / 7, 0.01])
whole = st.lists(st.integers(-6, 6), min_size=1, max_size=9)
lattice = st.builds(lambda multiples, step: [multiple * step for multiple in multiples], whole, steps)
uneven = st.lists(st.floats(-100.0, 100.0).map(lambda x: round(x, 6) * math.pi), min_size=1, max_size=9)
by_totals = pytest.mark.parametrize("totals", [lattice, uneven], ids=["lattice", "uneven"])


def all_signs(totals) -> np.ndarray:
    return np.array(list(itertools.product([1.0, -1.0], repeat=len(totals)))) @ np.abs(totals)


def enumerated_p(totals) -> float:
    return float(np.mean(all_signs(totals) <= np.sum(totals) + 1e-7))


@given(lost=st.integers(0, 60), gained=st.integers(0, 60), same=st.integers(1, 60))
def test_single_0_100_scores_are_mcnemars_exact_test(lost: int, gained: int, same: int) -> None:
    d = np.repeat([-100.0, 100.0, 0.0], [lost, gained, same])
    result, n = sign_flip(d, len(d), **RATES), len(d)
    p_value = binomtest(lost, lost + gained, 0.5, alternative="greater").pvalue if lost + gained else 1.0
    assert result.p_value == pytest.approx(p_value, rel=1e-9)
    if lost + gained:
        assert result == mcnemar_exact(lost, gained, n, **RATES)
        doubled = sign_flip(2.0 * d, 2 * n, **RATES)  # clusters of two that change together
        assert doubled.p_value == pytest.approx(p_value, rel=1e-9)


@by_totals
@given(data=st.data())
def test_few_totals_get_the_p_of_all_sign_patterns(totals: st.SearchStrategy, data: st.DataObject) -> None:
    drawn = np.array(data.draw(totals))
    if len(set(drawn)) > 1:
        assert sign_flip(drawn, len(drawn) + 1, **RATES).p_value == pytest.approx(enumerated_p(drawn))


def test_a_thousand_clusters_are_exact_by_the_characteristic_function() -> None:
    multiples = np.random.default_rng(3).integers(-8, 8, 1000)
    size = int(np.abs(multiples).sum()) + 1
    turns = np.exp(-2j * np.pi * np.outer(np.arange(size), np.abs(multiples)) / size)
    masses = np.fft.ifft(np.prod((1.0 + turns) / 2.0, axis=1)).real
    lost = -int(multiples[multiples < 0].sum())
    result = sign_flip(multiples * 100.0, 5000, **RATES)
    assert result.p_value == pytest.approx(masses[lost:].sum(), abs=1e-10)


def many_uneven(seed: int, n: int = 40, shift: float = -0.8) -> tuple[np.ndarray, np.ndarray]:
    """Totals off any lattice by a hair, and the whole numbers next to them."""
    random = np.random.default_rng(seed)
    near = random.integers(-4, 4, n) + round(shift)
    return near + 1e-5 * random.normal(size=n), near


@pytest.mark.parametrize("seed", range(4))
def test_random_patterns_come_near_the_exact_p(seed: int) -> None:
    totals, near = many_uneven(seed, shift=0.6 - 0.4 * seed)
    result = sign_flip(totals, len(totals), **RATES)
    at_most = sign_flip(near.astype(float), len(near), **RATES).p_value
    below = 1.0 - sign_flip(-near.astype(float), len(near), **RATES).p_value
    assert below - 0.025 < result.p_value < at_most + 0.025  # five standard errors of 9,999 patterns
    assert result.p_value * 10_000 == pytest.approx(round(result.p_value * 10_000))


def test_random_patterns_count_the_observed_one_and_repeat_with_their_seed() -> None:
    totals = -np.abs(many_uneven(0)[0])
    assert sign_flip(totals, 40, **RATES).p_value == 1e-4
    totals = many_uneven(1, shift=0.2)[0]
    p_values = [sign_flip(totals, 40, **RATES, resamples=99, seed=seed).p_value for seed in (5, 5, 6, 7, 8)]
    assert p_values[0] == p_values[1]
    assert len(set(p_values)) > 1


@by_totals
@given(spare=st.integers(0, 30), alpha=alphas, data=st.data())
def test_decision_p_and_interval_agree(totals: st.SearchStrategy, spare: int, alpha: float, data) -> None:
    drawn = np.array(data.draw(totals) + [0.0] * spare)
    assert_says_one_thing(sign_flip(drawn, 3 * len(drawn), alpha=alpha, beta=0.2), alpha)


@given(seed=st.integers(0, 10**6), shift=st.floats(-2.0, 1.0), alpha=alphas)
def test_with_random_patterns_decision_p_and_interval_agree(seed, shift, alpha) -> None:
    totals = many_uneven(seed, n=25, shift=shift)[0]
    assert_says_one_thing(sign_flip(totals, 50, alpha=alpha, beta=0.2, resamples=199), alpha)


@pytest.mark.parametrize("alpha", [0.05, 0.2])
@pytest.mark.parametrize("sizes", [[1, 1, 2, 3, 5, 0, 2], [0.3, 1.1, 2.9, 0.7, 5.3, 0.0, 1.9]])
def test_over_all_sign_patterns_the_threshold_rejects_as_many_as_alpha_allows(sizes, alpha: float) -> None:
    patterns = [np.array(s) * sizes for s in itertools.product([1.0, -1.0], repeat=len(sizes))]
    results = [sign_flip(totals, 20, alpha=alpha, beta=0.2) for totals in patterns]
    failed = np.mean([rejects(r) for r in results])
    at_the_next_sum = np.array([r.p_value for r in results])
    assert len({r.threshold and round(r.threshold, 9) for r in results}) == 1
    assert failed <= alpha < at_the_next_sum[at_the_next_sum > failed].min()


def test_a_threshold_on_a_lattice_lies_half_a_step_above_the_largest_rejected_sum() -> None:
    # 100 * (1, 1, 2, 3, 5): sums of -12, -10, -10 and -8 have 1, 3 and 4 of 32 patterns.
    result = sign_flip([-100.0, 100.0, -200.0, -300.0, -500.0], 20, alpha=0.1, beta=0.2)
    assert (result.p_value, result.threshold) == (3 / 32, -100.0 * 9 / 20)


@pytest.mark.parametrize("totals", [[-100.0, -200.0, -300.0, -100.0], [-1.0, -math.pi, -math.e, -7.7]])
def test_four_changes_can_reject_nothing_at_5_percent_and_say_so(totals: list[float]) -> None:
    result = sign_flip(totals, 40, **RATES)
    assert (result.p_value, result.threshold) == (1 / 16, None)
    assert "too few changes: at alpha 0.05" in result.reasons[0]
    assert rejects(sign_flip([*totals, -50.0], 40, **RATES))


def test_a_p_equal_to_alpha_rejects() -> None:
    for lost in range(2, 30):
        result = sign_flip([-200.0] * lost + [0.0] * 15, 100, alpha=0.5**lost, beta=0.2)
        assert result.p_value == 0.5**lost
        assert rejects(result)
    assert rejection_count(0.29, 100) == 29  # 0.29 * 100 is 28.999999999999996


def test_too_few_random_patterns_for_alpha_reject_nothing() -> None:
    totals = -np.abs(many_uneven(0)[0])
    result = sign_flip(totals, 40, **RATES, resamples=9)
    assert (result.p_value, result.threshold, result.interval) == (0.1, None, None)


@pytest.mark.parametrize("alpha", [0.05, 0.3])
@pytest.mark.parametrize("spare", [0, 3])
def test_the_interval_of_few_units_is_where_all_sign_patterns_stop_rejecting(alpha: float, spare: int) -> None:
    totals = np.array([-7.1, -4.4, -9.3, 1.2, -6.6, -2.5] + [0.0] * spare)
    sizes = np.array([1.0, 2.0, 3.0, 1.0, 4.0, 1.0] + [2.0] * spare)
    interval = sign_flip(totals, int(sizes.sum()), sizes=sizes, alpha=alpha, beta=0.2).interval
    low, high = interval.two_sided
    for shift, inside in ((high - 1e-6, True), (high + 1e-6, False)):
        assert (enumerated_p(totals - shift * sizes) > alpha) == inside
    for shift, inside in ((low + 1e-6, True), (low - 1e-6, False)):
        assert (enumerated_p(shift * sizes - totals) > alpha) == inside


def test_sigma_and_theta_are_those_of_the_mean_of_samples_or_of_clusters() -> None:
    d = np.array([-3.0, 1.5, 0.0, 4.0, -2.5, 1.0])
    result, student = sign_flip(d, 6, **RATES), paired_t(d, **RATES)
    assert (result.sigma, result.theta) == (pytest.approx(student.sigma), pytest.approx(student.theta))
    whole_clusters = sign_flip(2.0 * d, 12, **RATES)
    assert whole_clusters.theta == pytest.approx(student.theta)


@each("test", [sign_flip, weighted_bootstrap])
@each("d", [np.zeros(30), np.full(7, -0.1), np.full(7, 0.3), np.array([-4.0])])
def test_differences_that_are_all_the_same_are_judged_as_by_the_t_test(test, d: np.ndarray) -> None:
    assert test(d, len(d), **RATES) == paired_t(d, **RATES)


def test_totals_that_cancel_but_for_rounding_are_no_change() -> None:
    noise = (0.1 + 0.2) - 0.3
    assert noise != 0.0
    totals = [-1.0, -2.0, -1.0, -4.0, -1.5]
    assert sign_flip(totals + [noise] * 40, 45, **RATES).p_value == 1 / 32


@given(multiples=st.lists(st.integers(1, 500), min_size=1, max_size=30), step=steps)
def test_a_common_step_is_found_through_rounding(multiples: list[int], step: float) -> None:
    found, size = common_step(np.array([m * step * (1.0 + 1e-15) for m in multiples]))
    assert (found / np.gcd.reduce(found)).tolist() == (np.array(multiples) / np.gcd.reduce(multiples)).tolist()
    assert found * size == pytest.approx(np.array(multiples) * step)


@given(seed=st.integers(0, 10**6))
@settings(max_examples=30)
def test_measured_values_have_no_common_step(seed: int) -> None:
    assert common_step(np.abs(np.random.default_rng(seed).normal(size=5))) is None
