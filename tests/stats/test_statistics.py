"""Statistics that are not means, against closed forms, DeLong's variance, full enumeration and scipy."""

import itertools
import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from accgate.stats.paired import paired_t
from accgate.stats.result import TestResult
from accgate.stats.statistics import StatisticUndefined, influence_values, statistic_test, tails, value_or_nan
from tests.stats.sequences import RATES, assert_says_one_thing, rejects
from tests.support.cases import each

Floats = npt.NDArray[np.float64]
Statistic = Callable[[Floats], float]


def mean(scores: Floats) -> float:
    return float(scores.mean())


def parity(rows: Floats) -> float:
    """Accuracy of group 1 minus that of group 0; columns score, group."""
    score, group = rows.T
    return float(score[group == 1].mean() - score[group == 0].mean())


def area(rows: Floats) -> float:
    """Area under the ROC curve by mid-ranks; columns score, class."""
    score, positive = rows[:, 0], rows[:, 1] == 1
    p = int(positive.sum())
    _, inverse, counts = np.unique(score, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2.0)[inverse]
    return float(100.0 * (ranks[positive].sum() - p * (p + 1) / 2.0) / (p * (len(rows) - p)))


def mean_pairs(rng: np.random.Generator, n: int, worse: float = 0.0) -> tuple[Floats, Floats]:
    base = rng.normal(60.0, 20.0, n)
    return base + rng.normal(0.0, 5.0, n), base + rng.normal(0.0, 5.0, n) - worse


def parity_pairs(rng: np.random.Generator, n: int, worse: float = 0.0) -> tuple[Floats, Floats]:
    group = (np.arange(n) % 3 == 0).astype(float)
    before = (rng.random(n) < 0.6).astype(float)
    after = np.where(rng.random(n) < 0.3, rng.permutation(before), before)
    after = np.where((group == 1) & (rng.random(n) < worse / 60.0), 0.0, after)
    return np.stack([100.0 * before, group], axis=1), np.stack([100.0 * after, group], axis=1)


def area_pairs(rng: np.random.Generator, n: int, worse: float = 0.0) -> tuple[Floats, Floats]:
    positive = (np.arange(n) % 3 == 0).astype(float)
    base = rng.normal(1.2 * positive, 1.0)
    before, after = base + rng.normal(0.0, 0.4, n), base + rng.normal(0.0, 0.4, n) - worse * positive
    return np.stack([before, positive], axis=1), np.stack([after, positive], axis=1)


CASES = {
    "mean": (mean_pairs, mean),
    "parity": (parity_pairs, parity),
    "area": (area_pairs, area),
}

points = st.integers(-1000, 1000).map(lambda x: x / 10.0)
samples = st.lists(points, min_size=2, max_size=12)


def judged(name: str, seed: int, n: int, worse: float = 0.0, **options: object) -> TestResult:
    pairs, statistic = CASES[name]
    return statistic_test(*pairs(np.random.default_rng(seed), n, worse), statistic, **RATES | options)


@given(before=samples, seed=st.integers(0, 99), alpha=st.sampled_from([0.01, 0.05, 0.2]))
def test_on_a_mean_it_is_the_paired_t_test(before: list[float], seed: int, alpha: float) -> None:
    reference = np.array(before)
    candidate = reference + np.random.default_rng(seed).normal(-1.0, 3.0, len(before))
    result = statistic_test(reference, candidate, mean, alpha=alpha, beta=0.2)
    expected = paired_t(candidate - reference, alpha=alpha, beta=0.2)
    assert result.p_value == pytest.approx(stats.ttest_rel(candidate, reference, alternative="less").pvalue, rel=1e-6)
    for name in ("difference", "p_value", "threshold", "theta", "sigma"):
        assert getattr(result, name) == pytest.approx(getattr(expected, name), rel=1e-6, abs=1e-9), name
    assert result.interval.two_sided == pytest.approx(expected.interval.two_sided, rel=1e-6, abs=1e-6)


def test_clusters_of_one_size_are_judged_by_their_means() -> None:
    reference, candidate = mean_pairs(np.random.default_rng(7), 60, 1.0)
    clusters = np.arange(60) % 12
    result = statistic_test(reference, candidate, mean, **RATES, clusters=clusters)
    by_cluster = (candidate - reference).reshape(5, 12).mean(axis=0)
    expected = paired_t(by_cluster, **RATES)
    assert (result.p_value, result.theta) == pytest.approx((expected.p_value, expected.theta))
    assert result.sigma == pytest.approx(by_cluster.std(ddof=1) / math.sqrt(12) * math.sqrt(60))


def test_the_difference_of_two_areas_has_delongs_variance() -> None:
    before, after = area_pairs(np.random.default_rng(9), 300, 0.1)
    result = statistic_test(before, after, area, **RATES)
    positive = before[:, 1] == 1
    placements = []  # DeLong, DeLong and Clarke-Pearson 1988: of each positive among negatives, and the reverse
    for scores in (before[:, 0], after[:, 0]):
        wins = scores[positive][:, None] > scores[~positive][None, :]
        placements.append((wins.mean(axis=1), wins.mean(axis=0)))
    gains = [100.0 * (new - old) for old, new in zip(*placements, strict=True)]
    error = math.sqrt(sum(gain.var(ddof=1) / len(gain) for gain in gains))
    assert result.difference == pytest.approx(gains[0].mean())
    assert result.sigma == pytest.approx(error * math.sqrt(300), rel=0.01)
    assert result.p_value == pytest.approx(stats.norm.cdf(result.difference / error), rel=0.05)


@given(null=st.lists(st.integers(-3, 3), min_size=1, max_size=30), observed=st.integers(-3, 3))
def test_a_tail_counts_ties_and_agrees_with_its_limit(null: list[int], observed: int) -> None:
    for alpha in (0.05, 0.1, 0.25, 0.4):
        p_value, low, high = tails(np.array(null, dtype=float), observed, alpha)
        assert p_value == (1 + sum(draw <= observed for draw in null)) / (1 + len(null))
        assert (observed < low) == (p_value <= alpha)
        assert tails(-np.array(null, dtype=float), observed, alpha)[1] == -high


def absolute_mean(scores: Floats) -> float:
    """The simplest statistic with a kink, as a calibration error is one in each bin."""
    return abs(float(scores.mean()))


@pytest.mark.parametrize("statistic", [mean, absolute_mean])
def test_the_studentised_centred_bootstrap_is_that_of_full_enumeration(statistic: Statistic) -> None:
    before, after = np.array([-9.0, 13.0, 2.0, -7.0, 4.0]), np.array([-14.0, 11.0, -9.0, -4.0, 1.0])
    whole = statistic(after) - statistic(before)
    without = [statistic(np.delete(after, i)) - statistic(np.delete(before, i)) for i in range(5)]
    influence = 4.0 * (whole - np.array(without))
    drawn = np.array(list(itertools.product(range(5), repeat=5)))
    values = np.array([statistic(after[i]) - statistic(before[i]) for i in drawn])
    with np.errstate(all="ignore"):
        null = (values - values.mean()) / influence[drawn].std(axis=1, ddof=1)
    scale = influence.std(ddof=1)
    result = statistic_test(before, after, statistic, alpha=0.2, beta=0.2, method="bootstrap", resamples=6000)
    assert result.p_value == pytest.approx(np.mean(null <= whole / scale), abs=0.02)
    assert result.sigma == pytest.approx(scale)
    low, high = result.threshold / scale, (whole - result.interval.two_sided[0]) / scale
    rounding = 1e-9  # each outcome is an atom
    assert np.mean(null < low - rounding) - 0.03 < 0.2 < np.mean(null <= low + rounding) + 0.03
    assert np.mean(null > high + rounding) - 0.03 < 0.2 < np.mean(null >= high - rounding) + 0.03


@each("name", CASES)
@each("method", ["influence", "bootstrap"])
def test_p_threshold_and_interval_say_the_same(name: str, method: str) -> None:
    for seed, alpha in itertools.product(range(4), (0.05, 0.3)):
        result = judged(name, seed, 60, 8.0 if name != "area" else 0.3, alpha=alpha, method=method, resamples=99)
        assert_says_one_thing(result, alpha)
        assert result.interval.one_sided == pytest.approx(result.difference - result.threshold)


def test_no_change_at_all_never_fails_and_hides_as_much_as_no_flips() -> None:
    scores = np.repeat([0.0, 100.0], [500, 819])
    result = statistic_test(scores, scores, mean, **RATES)
    assert (result.difference, result.p_value, result.interval) == (0.0, 1.0, None)
    # Of whole losses of 1,319 samples two are no regression by the t test, and three are.
    losses = [paired_t(-100.0 * (np.arange(1319) < lost), **RATES).p_value for lost in (2, 3)]
    assert losses[0] > 0.05 >= losses[1]
    assert result.threshold == pytest.approx(-100.0 * 2 / 1319)
    assert result.theta == pytest.approx(paired_t(np.zeros(1319), **RATES).theta)
    assert result.reasons == ("no sample changed",)


def test_no_change_hides_more_of_a_statistic_that_single_samples_move_more() -> None:
    before, _ = parity_pairs(np.random.default_rng(13), 300)
    theta = statistic_test(before, before, parity, **RATES).theta
    assert theta == pytest.approx(2.4865**2 * 300.0 / 300, rel=0.1)  # group 1 is a third: each counts threefold


@pytest.mark.parametrize("method", ["influence", "bootstrap"])
def test_all_right_to_all_wrong_is_a_regression_though_no_sample_has_an_influence(method: str) -> None:
    options = RATES | {"method": method, "resamples": 999}
    result = statistic_test(np.full(12, 100.0), np.zeros(12), mean, **options)
    assert rejects(result)
    assert result.p_value == pytest.approx(0.5**12, abs=0.01)
    assert "swapping samples" in result.reasons[-1]
    better = statistic_test(np.zeros(12), np.full(12, 100.0), mean, **options)
    assert (better.p_value, better.threshold) == (1.0, pytest.approx(-100.0 * 2 / 12))


@pytest.mark.parametrize("n", [2, 3, 4])
def test_few_samples_swapped_have_the_p_value_of_full_enumeration(n: int) -> None:
    result = statistic_test(np.full(n, 9.0), np.full(n, 2.0), mean, **RATES, resamples=4000)
    assert result.p_value == pytest.approx(0.5**n, abs=0.03)
    assert result.difference >= result.threshold


def test_swaps_move_rows_both_ways() -> None:
    result = statistic_test([9.0, 9.0], [2.0, 2.0], mean, alpha=0.3, beta=0.2)
    assert (result.threshold, rejects(result)) == (0.0, True)  # -7, 0, 0 and 7 are equally likely


def test_rounding_is_no_drop_and_no_spread() -> None:
    result = statistic_test(np.full(12, 0.1 + 0.2), np.full(12, 0.3), mean, **RATES)
    assert result.difference < 0.0
    assert (result.p_value, rejects(result)) == (1.0, False)
    before = np.random.default_rng(16).uniform(0.0, 100.0, 4000)
    result = statistic_test(before, before - 3.3, mean, **RATES, resamples=99)
    assert (result.sigma, result.p_value) == (0.0, 0.01)
    assert "no single sample" in result.reasons[0]


def test_clusters_are_swapped_whole() -> None:
    clusters = np.arange(20) % 2
    result = statistic_test(np.full(20, 9.0), np.zeros(20), mean, **RATES, clusters=clusters)
    assert result.p_value == pytest.approx(0.25, abs=0.03)


@pytest.mark.parametrize("method", ["influence", "bootstrap"])
def test_the_only_sample_of_a_class_proves_nothing_and_is_named(method: str) -> None:
    before = np.stack([np.arange(40.0), np.arange(40) == 39], axis=1)
    after = before.copy()
    after[39, 0] = -1.0  # from the best area to the worst
    result = statistic_test(before, after, area, **RATES, method=method, resamples=999)
    assert result.difference == -100.0
    assert result.p_value == pytest.approx(0.5, abs=0.06)
    assert not rejects(result)
    assert (result.theta, result.sigma, result.interval) == (None, None, None)
    assert "without sample 39" in result.reasons[0]
    same = statistic_test(before, before, area, **RATES, method=method)
    assert (same.p_value, same.threshold, same.theta) == (1.0, -100.0 * 4 / 40, None)  # five are a sign test's least


@pytest.mark.parametrize("clusters", [None, [4]])
def test_one_unit_shows_no_drop_and_says_why(clusters: list[int] | None) -> None:
    result = statistic_test([50.0], [10.0], mean, **RATES, clusters=clusters)
    assert (result.difference, result.p_value, result.threshold, result.theta) == (-40.0, 1.0, None, None)
    assert f"one {'cluster' if clusters else 'sample'} has no variance" in result.reasons[0]


def test_a_statistic_without_a_value_on_a_whole_side_is_an_error_that_names_the_side() -> None:
    rows = np.stack([np.arange(5.0), np.ones(5)], axis=1)
    with pytest.raises(StatisticUndefined, match="the reference"):
        statistic_test(rows, rows, area, **RATES)
    with pytest.raises(StatisticUndefined, match="the candidate"):
        statistic_test([1.0, 2.0], [0.0, 0.0], lambda x: 1.0 / x.mean(), **RATES)


def test_what_has_no_value_without_one_unit_names_that_unit() -> None:
    x = np.array([0.0, 3.0, 0.0])
    with pytest.raises(StatisticUndefined, match="without sample 1"):
        influence_values(lambda i: 1.0 / x[i].mean(), 3)
    with pytest.raises(StatisticUndefined, match="without cluster b"):
        influence_values(lambda i: 1.0 / x[i].mean(), 3, clusters=["a", "b", "a"])
    with pytest.raises(StatisticUndefined, match="all samples"):
        influence_values(lambda i: math.log(-len(i)), 3)


def test_resamples_without_a_value_count_against_a_regression() -> None:
    rng = np.random.default_rng(15)
    before = np.stack([rng.normal(size=30), np.arange(30) >= 27], axis=1)
    before[27:, 0] += 3.0
    after = before.copy()
    after[27:, 0] -= rng.uniform(5.0, 6.0, 3)
    result = statistic_test(before, after, area, alpha=0.04, beta=0.2, method="bootstrap", resamples=4000)
    without = 0.9**30  # of the resamples have none of the three positives: more than alpha
    assert result.p_value == pytest.approx(without, abs=0.015)
    assert (result.threshold, result.interval) == (None, None)
    assert "resamples have no value" in result.reasons[0]


def test_an_unknown_method_is_refused() -> None:
    with pytest.raises(ValueError, match="give one of influence, bootstrap"):
        statistic_test([1.0], [1.0], mean, **RATES, method="magic")


def test_how_the_caller_treats_floating_point_errors_changes_no_figure() -> None:
    def without_empty_bins(_: object) -> float:
        return float(np.nanmean(np.array([80.0, 0.0]) / np.array([1.0, 0.0])))

    with np.errstate(all="raise"):
        assert value_or_nan(without_empty_bins, np.arange(3)) == 80.0
