"""Clustered tests, against statsmodels' cluster-robust errors, a bias-reduced regression, and scipy's permutations."""

import math

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm, permutation_test
from scipy.stats import t as student

from accgate.stats.clusters import cluster_robust_error, cluster_totals, clustered_exact, clustered_t, design_effect
from accgate.stats.mcnemar import mcnemar_power
from accgate.stats.paired import mcnemar_exact
from accgate.stats.resampling import sign_flip
from tests.stats.sequences import RATES, assert_says_one_thing, drop_of_losses, rejects, slack
from tests.support.cases import each

alphas = st.sampled_from([0.01, 0.05, 0.2, 0.4])


def binary(random: np.random.Generator, clusters: int, drop: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Clusters of 3 to 10 samples, of which a few change, most of their samples in one direction."""
    codes = np.repeat(np.arange(clusters), random.integers(3, 11, clusters))
    hit = random.random(clusters) < 0.1
    direction = np.where(random.random(clusters) < 0.5 + drop, -100.0, 100.0)
    return (hit * direction)[codes] * (random.random(len(codes)) < 0.6), codes


@each("seed", range(2))
def test_the_error_is_that_of_statsmodels_cluster_robust_regression_and_of_equal_clusters_all_figures(seed) -> None:
    random = np.random.default_rng(seed)
    codes = random.integers(0, 25, 150)
    d = random.normal(size=25)[codes] + random.normal(size=150)
    fit = sm.OLS(d, np.ones(len(d))).fit(cov_type="cluster", cov_kwds={"groups": codes}, use_t=True)
    assert cluster_robust_error(d, codes) == pytest.approx(fit.bse[0])
    codes = np.arange(len(d)) // 6
    fit = sm.OLS(d, np.ones(len(d))).fit(cov_type="cluster", cov_kwds={"groups": codes}, use_t=True)
    result = clustered_t(d, codes, **RATES)
    assert result.difference == pytest.approx(fit.params[0])
    assert result.p_value == pytest.approx(fit.pvalues[0] / 2 if d.mean() < 0 else 1.0 - fit.pvalues[0] / 2)
    assert result.interval.two_sided == pytest.approx(tuple(fit.conf_int(0.1)[0]))
    assert result.threshold == pytest.approx(student.ppf(0.05, len(set(codes)) - 1) * fit.bse[0])
    assert result.theta == pytest.approx((norm.isf(0.05) + norm.isf(0.2)) * fit.bse[0])
    assert result.sigma == pytest.approx(fit.bse[0] * math.sqrt(len(d)))


def test_unequal_clusters_say_how_many_of_one_size_they_are_worth() -> None:
    random, codes = np.random.default_rng(0), np.repeat(np.arange(41), [400] + [1] * 40)
    (reason,) = clustered_t(random.normal(size=len(codes)), codes, **RATES).reasons
    assert "worth 2.2 of one size: under 30" in reason


def bias_reduced_regression(d: np.ndarray, codes: np.ndarray) -> tuple[float, float]:
    """CR2 error and degrees of freedom of a regression on a constant, by its matrices (Bell and McCaffrey 2002)."""
    n = len(d)
    leftover = np.eye(n) - np.full((n, n), 1.0 / n)
    variance, columns = 0.0, []
    for code in np.unique(codes):
        own = np.flatnonzero(codes == code)
        values, vectors = np.linalg.eigh(leftover[np.ix_(own, own)])
        adjusted = vectors @ np.diag(values**-0.5) @ vectors.T @ np.full(len(own), 1.0 / n)
        variance += float(adjusted @ (d - d.mean())[own]) ** 2
        columns.append(leftover[:, own] @ adjusted)
    spectrum = np.linalg.eigvalsh(np.array(columns) @ np.array(columns).T)
    return math.sqrt(variance), spectrum.sum() ** 2 / float((spectrum**2).sum())


@each("seed", range(3))
def test_of_unequal_clusters_error_and_degrees_are_those_of_the_bias_reduced_regression(seed: int) -> None:
    random = np.random.default_rng(seed)
    codes = np.repeat(np.arange(12), random.integers(1, 30, 12))
    d = random.normal(size=12)[codes] + random.normal(-0.2, 1.0, size=len(codes))
    error, degrees = bias_reduced_regression(d, codes)
    result = clustered_t(d, codes, **RATES)
    assert result.sigma == pytest.approx(error * math.sqrt(len(d)))
    assert result.p_value == pytest.approx(student.cdf(d.mean() / error, degrees))
    assert result.threshold == pytest.approx(student.ppf(0.05, degrees) * error)
    lost = student.isf(0.05, degrees) - student.isf(0.05, 11)
    assert result.theta == pytest.approx((norm.isf(0.05) + norm.isf(0.2) + lost) * error)


@each("seed", range(4))
def test_the_exact_test_is_scipys_permutation_test_of_the_cluster_totals(seed: int) -> None:
    d, codes = binary(np.random.default_rng(seed), 100)
    totals, _ = cluster_totals(d, codes)
    changed = totals[totals != 0.0]
    assert len(changed) < 15
    exact = {"permutation_type": "samples", "alternative": "less", "n_resamples": 2 ** len(changed)}
    oracle = permutation_test((changed,), np.sum, **exact)
    assert clustered_exact(d, codes, **RATES).p_value == pytest.approx(oracle.pvalue)


@given(seed=st.integers(0, 10**6), clusters=st.integers(2, 60), drop=st.floats(0.0, 0.5), alpha=alphas)
def test_decision_p_and_interval_agree(seed: int, clusters: int, drop: float, alpha: float) -> None:
    d, codes = binary(np.random.default_rng(seed), clusters, drop)
    for test in (clustered_t, clustered_exact):
        assert_says_one_thing(test(d, codes, alpha=alpha, beta=0.2), alpha)


def test_samples_that_repeat_each_other_count_about_once_and_independent_ones_each() -> None:
    d = np.random.default_rng(1).normal(size=400)
    assert design_effect(d, np.arange(400)) == pytest.approx(1.0)
    assert design_effect(np.repeat(d, 5), np.repeat(np.arange(400), 5)) == pytest.approx(5.0, rel=0.005)


def test_theta_of_0_100_clusters_is_that_of_the_effective_number_of_samples() -> None:
    d, codes = binary(np.random.default_rng(2), 200)
    theta, share = clustered_exact(d, codes, **RATES).theta, np.mean(d != 0)
    n = len(d) / design_effect(d, codes)
    assert n < 0.6 * len(d)
    assert mcnemar_power(int(n), theta, discordance=share, alpha=0.05) == pytest.approx(0.8, abs=1e-5)
    assert theta > 1.3 * mcnemar_exact(int((d < 0).sum()), int((d > 0).sum()), len(d), **RATES).theta


def test_clusters_that_move_against_each_other_promise_no_more_than_independent_samples() -> None:
    d, codes = np.tile([-100.0, 100.0, 0.0, 0.0], 20), np.repeat(np.arange(20), 4)
    d[0] = 0.0
    assert design_effect(d, codes) < 0.2
    theta = clustered_exact(d, codes, **RATES).theta
    assert mcnemar_power(80, theta, discordance=39 / 80, alpha=0.05) == pytest.approx(0.8, abs=1e-5)


@pytest.mark.parametrize("test", [clustered_t, clustered_exact])
def test_one_cluster_shows_no_drop_and_says_why(test) -> None:
    for d in ([-100.0, -100.0, 0.0], [-100.0] * 3, [0.0] * 3):
        result = test(d, [2, 2, 2], **RATES)
        assert (result.difference, result.p_value) == (np.mean(d), 1.0)
        assert (result.threshold, result.theta, result.sigma, result.interval) == (None, None, None, None)
        assert "one cluster has no variance" in result.reasons[0]
    assert cluster_robust_error([-100.0, 0.0], [0, 0]) is None
    assert design_effect([-100.0, 0.0], [0, 0]) is None


@pytest.mark.parametrize("test", [clustered_t, clustered_exact])
def test_no_change_in_any_cluster_proves_as_much_as_no_flips(test) -> None:
    result = test(np.zeros(1319), np.arange(1319) // 10, **RATES)
    assert (result.difference, result.p_value, result.sigma, result.interval) == (0.0, 1.0, 0.0, None)
    if test is clustered_t:
        assert result.theta == pytest.approx(0.469, abs=5e-4)
    else:  # two losses may fall into one cluster
        assert drop_of_losses(1319) < result.theta < 1.02 * drop_of_losses(1319)
    assert result.reasons == ("132 clusters are the units of the test", "no sample changed its score")
    assert design_effect(np.zeros(1319), np.arange(1319) // 10) is None


@pytest.mark.parametrize("test", [clustered_t, clustered_exact])
def test_the_same_drop_of_every_sample_is_judged_by_the_signs_of_the_clusters(test) -> None:
    result = test(np.full(24, -100.0), np.arange(24) // 4, **RATES)
    assert (result.p_value, result.difference) == (0.5**6, -100.0)
    assert rejects(result)
    assert not rejects(test(np.full(16, -100.0), np.arange(16) // 4, **RATES))


@each("test", [clustered_t, clustered_exact])
@each(("clusters", "rough"), [(2, True), (29, True), (30, False), (1200, False)])
def test_the_reasons_say_how_many_clusters_there_are_and_whether_they_are_few(test, clusters, rough) -> None:
    d, codes = binary(np.random.default_rng(3), clusters)
    (reason, *_) = test(d, codes, **RATES).reasons
    assert reason.startswith(f"{clusters:,} clusters are the units")
    assert ("under 30" in reason) == rough


@pytest.mark.slow
@each("sizes", [[100] * 5, [400] + [1] * 20, [400] + [5] * 20, [1] * 90, [3, 1, 4, 1, 5] * 9])
def test_the_clearest_drop_of_theta_is_rejected_as_often_as_it_says(sizes: list[int]) -> None:
    """A drop of single samples, with nothing gained, in few clusters, and in small ones beside a large one."""
    codes, rng = np.repeat(np.arange(len(sizes)), sizes), np.random.default_rng(0)
    same = clustered_exact(np.zeros(len(codes)), codes, **RATES)
    runs = np.where(rng.random((300, len(codes))) < same.theta / 100.0, -100.0, 0.0)
    rejected = [clustered_exact(run, codes, **RATES).p_value <= RATES["alpha"] for run in runs]
    assert np.mean(rejected) >= 0.8 - slack(0.2, 300)


def test_too_few_clusters_show_no_drop() -> None:
    assert clustered_exact(np.zeros(400), np.repeat(np.arange(4), 100), **RATES).theta is None


@pytest.mark.parametrize("sizes", [[400] + [1] * 20, [400] + [5] * 40])
def test_one_large_cluster_is_one_change_and_no_proof(sizes: list[int]) -> None:
    """Its own mean is nearly that of all, so a standard error of what the clusters leave over says nothing of it."""
    codes, rng, passed = np.repeat(np.arange(len(sizes)), sizes), np.random.default_rng(7), 0
    for _ in range(100):
        change = rng.normal(-2.0, 8.0, len(codes)) + rng.normal(0.0, 4.0, len(sizes))[codes]
        totals, counts = cluster_totals(change, codes)
        result = sign_flip(totals, len(codes), sizes=counts, **RATES)
        passed += result.p_value > RATES["alpha"] and result.theta <= 2.0
    assert passed <= 100 * (0.2 + slack(0.2, 100))
