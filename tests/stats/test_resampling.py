"""Sign flips and the studentised bootstrap, against scipy, brute-force enumeration and plain reimplementations."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, binomtest, permutation_test, skew, ttest_1samp

from accgate.stats.paired import mcnemar_exact, paired_t
from accgate.stats.resampling import choose_paired_test, is_skewed, sign_flip, skewness, studentised_bootstrap
from accgate.stats.result import TestResult
from accgate.stats.signs import common_step, rejection_count

RATES = {"alpha": 0.05, "beta": 0.2}
alphas = st.sampled_from([0.01, 0.05, 0.2, 0.4])
steps = st.sampled_from([100.0, 25.0, 100 / 3, 100 / 7, 0.01])
whole = st.lists(st.integers(-6, 6), min_size=1, max_size=9)
uneven = st.lists(st.floats(-100.0, 100.0).map(lambda x: round(x, 6) * math.pi), min_size=1, max_size=9)


def rejects(result: TestResult) -> bool:
    return result.threshold is not None and result.difference < result.threshold


def all_signs(totals) -> np.ndarray:
    return np.array(list(itertools.product([1.0, -1.0], repeat=len(totals)))) @ np.abs(totals)


def enumerated_p(totals) -> float:
    return float(np.mean(all_signs(totals) <= np.sum(totals) + 1e-7))


def assert_says_one_thing(result: TestResult, alpha: float) -> None:
    assert rejects(result) == (result.p_value <= alpha)
    if result.interval is not None:
        low, high = result.interval.two_sided
        assert rejects(result) == (result.interval.one_sided < 0.0)
        assert low <= high == result.interval.one_sided


# Sign flips


@given(lost=st.integers(0, 60), gained=st.integers(0, 60), same=st.integers(1, 60))
@settings(deadline=None)
def test_single_0_100_scores_are_mcnemars_exact_test(lost: int, gained: int, same: int) -> None:
    d = np.repeat([-100.0, 100.0, 0.0], [lost, gained, same])
    result, n = sign_flip(d, len(d), **RATES), len(d)
    p_value = binomtest(lost, lost + gained, 0.5, alternative="greater").pvalue if lost + gained else 1.0
    assert result.p_value == pytest.approx(p_value, rel=1e-9)
    if lost + gained:
        assert result == mcnemar_exact(lost, gained, n, **RATES)


@pytest.mark.parametrize(("lost", "gained"), [(3, 0), (8, 1), (40, 22), (700, 600), (1400, 300)])
def test_clusters_that_change_by_the_same_are_a_binomial_however_many(lost: int, gained: int) -> None:
    totals = np.repeat([-200.0, 200.0, 0.0], [lost, gained, 50])
    n = 2 * len(totals)
    result, singles = sign_flip(totals, n, **RATES), mcnemar_exact(lost, gained, n, **RATES)
    assert result.p_value == pytest.approx(binom.sf(lost - 1, lost + gained, 0.5), rel=1e-9)
    assert result.threshold == (singles.threshold and pytest.approx(2.0 * singles.threshold))


@given(multiples=whole, step=steps)
@settings(deadline=None)
def test_totals_on_a_lattice_get_the_p_of_all_sign_patterns(multiples: list[int], step: float) -> None:
    totals = np.array(multiples) * step
    if len(set(multiples)) > 1:
        assert sign_flip(totals, len(totals) + 1, **RATES).p_value == pytest.approx(enumerated_p(totals))


@given(totals=uneven)
@settings(deadline=None)
def test_few_uneven_totals_get_the_p_of_all_sign_patterns(totals: list[float]) -> None:
    if len(set(totals)) > 1:
        assert sign_flip(totals, len(totals) + 1, **RATES).p_value == pytest.approx(enumerated_p(totals))


@pytest.mark.parametrize("step", [1.0, math.e])
def test_p_is_that_of_scipys_permutation_test(step: float) -> None:
    totals = np.array([-5.0, -2.0, 1.0, -7.0, -3.0, 2.0, -4.0, 1.0, -1.0]) * step
    oracle = permutation_test((totals,), np.sum, permutation_type="samples", alternative="less")
    assert sign_flip(totals, 9, **RATES).p_value == pytest.approx(oracle.pvalue)


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


@given(multiples=whole, step=steps, spare=st.integers(0, 30), alpha=alphas)
@settings(deadline=None)
def test_on_a_lattice_decision_p_and_interval_agree(multiples, step, spare, alpha) -> None:
    totals = np.array(multiples + [0] * spare) * step
    assert_says_one_thing(sign_flip(totals, 3 * len(totals), alpha=alpha, beta=0.2), alpha)


@given(totals=uneven, spare=st.integers(0, 30), alpha=alphas)
@settings(deadline=None)
def test_on_uneven_totals_decision_p_and_interval_agree(totals, spare, alpha) -> None:
    totals = np.array(totals + [0.0] * spare)
    assert_says_one_thing(sign_flip(totals, 3 * len(totals), alpha=alpha, beta=0.2), alpha)


@given(seed=st.integers(0, 10**6), shift=st.floats(-2.0, 1.0), alpha=alphas)
@settings(deadline=None, max_examples=50)
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
    assert result.reasons == ("too few changes: at alpha 0.05 no pattern of signs is a regression",)
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


def test_the_interval_of_many_units_is_near_students() -> None:
    d = np.random.default_rng(1).normal(-1.0, 5.0, 400)
    ours, student = (
        test(d).interval for test in (lambda d: sign_flip(d, 400, **RATES), lambda d: paired_t(d, **RATES))
    )
    assert ours.two_sided == pytest.approx(student.two_sided, abs=0.04)
    rounded = sign_flip(np.round(d), 400, **RATES).interval
    assert rounded.two_sided == pytest.approx(student.two_sided, abs=0.06)


def test_sigma_and_theta_are_those_of_the_mean_of_samples_or_of_clusters() -> None:
    d = np.array([-3.0, 1.5, 0.0, 4.0, -2.5, 1.0])
    result, student = sign_flip(d, 6, **RATES), paired_t(d, **RATES)
    assert (result.sigma, result.theta) == (pytest.approx(student.sigma), pytest.approx(student.theta))
    whole_clusters = sign_flip(2.0 * d, 12, **RATES)
    assert whole_clusters.theta == pytest.approx(student.theta)


@pytest.mark.parametrize("test", [sign_flip, studentised_bootstrap])
@pytest.mark.parametrize("d", [np.zeros(30), np.full(7, -0.1), np.full(7, 0.3), np.array([-4.0])])
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


# The studentised bootstrap


def plain_bootstrap_p(d: np.ndarray, resamples: int) -> float:
    """The bootstrap as its docstring tells it, one resample at a time."""
    changed = d[d != 0]
    observed, least = ttest_1samp(changed, 0.0).statistic, 0
    random = np.random.default_rng(99)
    for _ in range(resamples):
        sample = random.choice(changed, math.ceil(len(changed) / 3))
        if np.ptp(sample) == 0.0:
            least += 1
        else:
            error = np.std(sample, ddof=1) / math.sqrt(len(sample))
            least += bool((sample.mean() - changed.mean()) / error <= observed)
    student = ttest_1samp(changed, 0.0, alternative="less").pvalue
    return max(least / resamples, float(student))


@pytest.mark.parametrize("seed", range(4))
def test_p_is_that_of_a_plain_bootstrap_of_a_third_of_the_changes(seed: int) -> None:
    random = np.random.default_rng(seed)
    d = np.concatenate([random.exponential(1.0, 24 + seed) - 1.4, np.zeros(10)])
    result = studentised_bootstrap(d, len(d), **RATES)
    assert result.p_value == pytest.approx(plain_bootstrap_p(d, 3000), abs=0.04)


def test_samples_that_did_not_change_change_no_p_value() -> None:
    d = np.random.default_rng(4).exponential(1.0, 40) - 1.3
    alone = studentised_bootstrap(d, 40, **RATES)
    diluted = studentised_bootstrap(np.concatenate([d, np.zeros(360)]), 400, **RATES)
    assert diluted.p_value == alone.p_value
    assert diluted.threshold == pytest.approx(alone.threshold / 10.0)


def test_the_bootstrap_fails_fewer_skewed_healthy_changes_than_the_t_test() -> None:
    random = np.random.default_rng(7)
    runs, n = 1000, 100
    failed = {"bootstrap": 0, "t": 0}
    for _ in range(runs):
        d = random.exponential(10.0, n) - 10.0
        failed["t"] += rejects(paired_t(d, **RATES))
        failed["bootstrap"] += rejects(studentised_bootstrap(d, n, **RATES, resamples=199))
    assert failed["bootstrap"] <= runs * (0.05 + 2.0 * math.sqrt(0.05 * 0.95 / runs))
    assert failed["bootstrap"] < 0.75 * failed["t"]


@given(seed=st.integers(0, 10**6), n=st.integers(2, 40), shift=st.floats(-3.0, 1.0), alpha=alphas)
@settings(deadline=None)
def test_the_bootstraps_decision_p_and_interval_agree_and_never_go_beyond_students(seed, n, shift, alpha) -> None:
    d = (
        np.random.default_rng(seed).choice([-1.0, 1.0]) * (np.random.default_rng(seed).exponential(1.0, n) - 1.0)
        + shift
    )
    result = studentised_bootstrap(d, n, alpha=alpha, beta=0.2, resamples=299)
    assert_says_one_thing(result, alpha)
    assert result.p_value >= ttest_1samp(d, 0.0, alternative="less").pvalue - 1e-9


def test_where_the_tail_is_downwards_students_t_decides() -> None:
    p_values = []
    for shift in np.linspace(-0.4, 0.0, 41):
        d = np.log(np.linspace(0.99, 0.01, 40)) + 1.0 + shift
        result = studentised_bootstrap(d, 40, **RATES)
        assert result.p_value == pytest.approx(ttest_1samp(d, 0.0, alternative="less").pvalue)
        assert_says_one_thing(result, 0.05)
        p_values.append(result.p_value)
    assert sum(0.05 < p < 0.07 for p in p_values) >= 2  # where the bootstrap alone would reject


def test_the_observed_differences_count_among_the_resamples() -> None:
    d = np.random.default_rng(1).normal(-10.0, 1.0, 60)
    result = studentised_bootstrap(d, 60, alpha=0.01, beta=0.2, resamples=99)
    assert result.p_value == 0.01
    assert rejects(result)
    assert studentised_bootstrap(d, 60, alpha=0.009, beta=0.2, resamples=99).threshold is None


@given(values=st.lists(st.sampled_from([-3.0, -1.0, 0.0, 2.0]), min_size=2, max_size=12), alpha=alphas)
@settings(deadline=None)
def test_values_that_tie_leave_decision_p_and_interval_agreed(values: list[float], alpha: float) -> None:
    assert_says_one_thing(studentised_bootstrap(values, len(values), alpha=alpha, beta=0.2, resamples=299), alpha)


def test_the_bootstraps_interval_covers_students_and_leans_to_the_tail() -> None:
    d = np.random.default_rng(11).exponential(10.0, 60) - 10.0
    ours, student = studentised_bootstrap(d, 60, **RATES).interval, paired_t(d, **RATES).interval
    (low, high), (least, most) = ours.two_sided, student.two_sided
    assert low <= least + 1e-9
    assert most <= high
    assert high - most > 2.0 * (least - low)


def test_resamples_without_spread_count_against_a_rejection() -> None:
    d = np.array([-10.0] * 20 + [-10.5])  # seven of them are all alike in two of three resamples
    result = studentised_bootstrap(d, 21, **RATES)
    assert 0.6 < result.p_value < 0.8
    assert (result.threshold, result.interval) == (None, None)
    assert result.reasons == ("too few changes: at alpha 0.05 no bootstrap of 21 can reject",)


def test_changes_that_are_all_alike_are_judged_by_their_signs() -> None:
    d = np.repeat([-10.0, 0.0], [6, 94])
    assert studentised_bootstrap(d, 100, **RATES).p_value == pytest.approx(0.5**6)
    assert rejects(studentised_bootstrap(d, 100, **RATES))
    assert studentised_bootstrap(np.repeat([-10.0, 0.0], [1, 99]), 100, **RATES).p_value == 0.5


def test_the_same_seed_gives_the_same_bootstrap_and_another_a_close_one() -> None:
    d = np.random.default_rng(2).exponential(1.0, 80) - 1.15
    first, again, other = (studentised_bootstrap(d, 80, **RATES, seed=seed).p_value for seed in (1, 1, 2))
    assert first == again != other
    assert first == pytest.approx(other, abs=0.02)


def test_clusters_are_resampled_whole() -> None:
    random = np.random.default_rng(8)
    sizes = random.integers(1, 6, 50)
    totals = sizes * (random.exponential(1.0, 50) - 1.2)
    n = int(sizes.sum())
    ours = studentised_bootstrap(totals, n, sizes=sizes, **RATES)
    deviations = totals - sizes * totals.sum() / n
    assert ours.difference == pytest.approx(totals.sum() / n)
    assert ours.sigma == pytest.approx(math.sqrt(50 / 49 * np.sum(deviations**2) / n))
    assert_says_one_thing(ours, 0.05)


# Which test


@given(d=st.lists(st.integers(-50, 50).map(lambda x: x / 4), min_size=2, max_size=50).filter(lambda d: len(set(d)) > 1))
def test_skewness_is_scipys(d: list[float]) -> None:
    assert skewness(d) == pytest.approx(skew(d), abs=1e-9)
    assert skewness(np.array(d) * 1e-200) == pytest.approx(skew(d), abs=1e-9)


@pytest.mark.parametrize("d", [[], [3.0], [0.1] * 7, [0.0, 0.0]])
def test_differences_without_spread_have_no_skewness(d: list[float]) -> None:
    assert skewness(d) == 0.0
    assert not is_skewed(d)


def test_only_a_tail_upwards_that_is_long_for_n_is_skewed() -> None:
    tail = -np.log(np.linspace(0.999, 0.001, 500))  # exponential
    assert is_skewed(tail)
    assert not is_skewed(-tail)
    assert not is_skewed(np.linspace(-1.0, 1.0, 500))
    assert not is_skewed(np.tile(tail, 20))  # 10,000 samples forgive it


@pytest.mark.parametrize("times", [1, 40])
def test_the_choice_looks_at_changed_samples_only(times: int) -> None:
    zeros = np.zeros(1000)
    tail = -np.log(np.linspace(0.99, 0.01, 20 * times))
    even = np.linspace(-1.0, 1.01, 20 * times)
    assert choose_paired_test(np.concatenate([zeros, tail])) == "bootstrap"
    small_or_large = "permutation" if times == 1 else "paired"
    assert choose_paired_test(np.concatenate([zeros, even])) == small_or_large
    assert choose_paired_test(np.concatenate([zeros, -tail])) == small_or_large


@pytest.mark.parametrize("n", [20, 600])
def test_scores_of_few_values_are_judged_by_their_signs_however_skewed(n: int) -> None:
    averages_of_three = np.resize([-100 / 3, -100 / 3, -100 / 3, 100.0, 0.0], n)
    assert is_skewed(averages_of_three)
    assert choose_paired_test(averages_of_three) == "permutation"
    assert choose_paired_test(averages_of_three + np.linspace(0.0, 0.1, n)) == "bootstrap"


@pytest.mark.parametrize("d", [np.zeros(12), np.full(12, -0.5), np.array([-2.0])])
def test_differences_that_are_all_the_same_are_left_to_the_t_test(d: np.ndarray) -> None:
    assert choose_paired_test(d) == "paired"


@pytest.mark.parametrize("changed", [0.2, 1.0])
def test_choosing_by_the_same_data_keeps_skewed_healthy_changes_passing(changed: float) -> None:
    random = np.random.default_rng(12)
    runs, n, failed = 1500, 40, 0
    for _ in range(runs):
        d = (random.exponential(10.0, n) - 10.0) * (random.random(n) < changed)
        test = {
            "paired": paired_t,
            "permutation": lambda d, **rates: sign_flip(d, n, **rates, resamples=199),
            "bootstrap": lambda d, **rates: studentised_bootstrap(d, n, **rates, resamples=199),
        }[choose_paired_test(d)]
        failed += rejects(test(d, **RATES))
    assert failed <= runs * (0.055 + 2.0 * math.sqrt(0.05 * 0.95 / runs))
