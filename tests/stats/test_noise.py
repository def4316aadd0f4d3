"""Sigma, discordance and variance parts, against other implementations and published figures."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta, binomtest, chi2, norm, t
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm
from statsmodels.stats.proportion import proportion_confint

from accgate.stats.noise import (
    Estimate,
    clopper_pearson,
    discordance_of_repeats,
    estimate_discordance,
    estimate_sigma,
    variance_parts,
)
from tests.support.cases import each

confidences = st.sampled_from([0.5, 0.8, 0.9, 0.95, 0.999])


def binary(right: int, n: int) -> np.ndarray:
    return np.repeat([100.0, 0.0], [right, n - right])


@given(n=st.integers(1, 5000), data=st.data(), confidence=confidences)
def test_the_interval_of_a_share_is_scipys(n: int, data: st.DataObject, confidence: float) -> None:
    count = data.draw(st.integers(0, n))
    oracle = binomtest(count, n).proportion_ci(confidence)
    assert clopper_pearson(count, n, confidence=confidence) == pytest.approx((oracle.low, oracle.high), abs=1e-9)


@pytest.mark.parametrize(
    ("confidence", "low", "high"), [(0.90, 0.3592, 0.9359), (0.95, 0.3263, 1.0841), (0.99, 0.2607, 1.5109)]
)
def test_bonetts_published_example_comes_out(confidence: float, low: float, high: float) -> None:
    sigma = estimate_sigma(np.array([15.83, 16.01, 16.24, 16.42, 15.33, 15.44, 16.88, 16.31]), confidence=confidence)
    assert (sigma.value, sigma.low, sigma.high) == pytest.approx((0.5168, low, high), abs=5e-5)
    assert sigma.reasons == ()


@given(n=st.integers(2, 400), data=st.data(), confidence=confidences)
def test_sigma_of_right_and_wrong_spans_every_share_that_is_not_excluded(n, data, confidence) -> None:
    right = data.draw(st.integers(0, n))
    sigma = estimate_sigma(binary(right, n), confidence=confidence)
    low, high = proportion_confint(right, n, alpha=1.0 - confidence, method="beta")
    shares = np.append(np.linspace(low, high, 2001), 0.5 if low <= 0.5 <= high else low)
    sigmas = 100.0 * np.sqrt(shares * (1.0 - shares))
    assert (sigma.low, sigma.high) == pytest.approx((sigmas.min(), sigmas.max()), abs=1e-6)
    assert sigma.value == pytest.approx(binary(right, n).std())
    assert sigma.low - 1e-9 <= sigma.value <= sigma.high + 1e-9


def test_equal_scores_say_so_and_in_between_give_no_upper_limit() -> None:
    for value in (0, 100):
        assert estimate_sigma(np.full(100, float(value))).reasons == (f"every score is {value}",)
    sigma = estimate_sigma(np.full(50, 33.3))
    assert (sigma.value, sigma.low, sigma.high) == (0.0, 0.0, None)
    assert "every score is 33.3" in sigma.reasons[0]


def test_one_score_has_no_sigma() -> None:
    assert estimate_sigma(np.array([42.0])) == Estimate(None, None, None, ("one score has no standard deviation",))
    one_right = estimate_sigma(np.array([100.0]))
    assert (one_right.value, one_right.low, one_right.high) == (None, 0.0, 50.0)
    assert one_right.reasons == ("one score has no standard deviation",)


@each("scores", [[10.0, 30.0], [10.0, 30.0, 35.0, 90.0]])
def test_few_scores_have_the_limits_of_normal_ones_and_say_so(scores: list[float]) -> None:
    sigma, n = estimate_sigma(np.array(scores), confidence=0.9), len(scores)
    limits = np.std(scores, ddof=1) * np.sqrt((n - 1) / chi2.isf([0.05, 0.95], n - 1))
    assert (sigma.low, sigma.high) == pytest.approx(tuple(limits))
    assert f"{n} scores are few" in sigma.reasons[0]


def test_discordance_counts_the_samples_that_changed() -> None:
    a, b = np.array([0.0, 100.0, 100.0, 40.0]), np.array([0.0, 0.0, 100.0, 40.5])
    oracle = binomtest(2, 4).proportion_ci(0.9)
    discordance = estimate_discordance(a, b, confidence=0.9)
    assert (discordance.value, discordance.low, discordance.high) == pytest.approx((0.5, oracle.low, oracle.high))


@given(st.integers(1, 6), st.integers(2, 5), st.integers(0, 999))
def test_discordance_of_repeats_is_the_mean_over_every_pair_of_repeats(n: int, repeats: int, seed: int) -> None:
    array = np.random.default_rng(seed).choice([0.0, 25.0, 100.0], (n, repeats))
    pairs = itertools.combinations(range(array.shape[1]), 2)
    shares = [estimate_discordance(array[:, i], array[:, j]).value for i, j in pairs]
    estimate = discordance_of_repeats(array)
    assert estimate.value == pytest.approx(np.mean(shares))
    assert 0.0 <= estimate.low <= estimate.value + 1e-12
    assert estimate.value - 1e-12 <= estimate.high <= 1.0


@given(flips=st.lists(st.booleans(), min_size=1, max_size=60), confidence=confidences)
def test_two_repeats_are_two_runs(flips: list[bool], confidence: float) -> None:
    a = np.zeros(len(flips))
    b = np.where(flips, 100.0, 0.0)
    both = discordance_of_repeats(np.column_stack([a, b]), confidence=confidence)
    two = estimate_discordance(a, b, confidence=confidence)
    assert (both.value, both.low, both.high) == pytest.approx((two.value, two.low, two.high))


@pytest.mark.parametrize("shape", [(1, 5), (4, 3)])
def test_repeats_that_never_differ_have_the_bound_of_an_event_never_seen(shape: tuple[int, int]) -> None:
    estimate = discordance_of_repeats(np.full(shape, 100.0))
    oracle = binomtest(0, shape[0]).proportion_ci(0.95)
    assert (estimate.value, estimate.low, estimate.high) == pytest.approx((0.0, 0.0, oracle.high))


@each(("n", "k"), [(5, 2), (40, 4)])
def test_the_parts_are_those_of_statsmodels_analysis_of_variance(n: int, k: int) -> None:
    rng = np.random.default_rng(n)
    scores = 50.0 + 20.0 * rng.normal(size=(n, 1)) + 5.0 * rng.normal(size=(n, k))
    table = pd.DataFrame({"score": scores.ravel(), "question": np.repeat(np.arange(n), k)})
    squares = anova_lm(ols("score ~ C(question)", table).fit())["mean_sq"]
    parts = variance_parts(scores)
    assert parts.within == pytest.approx(squares["Residual"])
    assert parts.between == pytest.approx((squares["C(question)"] - squares["Residual"]) / k)
    errors = [math.sqrt((parts.between + parts.within / (k * more)) / n) for more in (1, 2, 4, math.inf)]
    assert (parts.error_now, parts.error_2x, parts.error_4x, parts.error_limit) == pytest.approx(tuple(errors))
    assert parts.reasons == ()


def test_no_more_between_questions_than_within_is_taken_as_none() -> None:
    parts = variance_parts(np.array([[0.0, 100.0], [100.0, 0.0], [0.0, 100.0]]))
    assert (parts.between, parts.within, parts.error_limit) == (0.0, 5000.0, 0.0)
    assert parts.error_now == pytest.approx(math.sqrt(5000.0 / 6.0))
    assert "differ no more than" in parts.reasons[0]


def test_one_question_has_no_standard_error() -> None:
    parts = variance_parts(np.zeros((1, 4)))
    assert (parts.between, parts.within) == (None, 0.0)
    assert (parts.error_now, parts.error_2x, parts.error_4x, parts.error_limit) == (None,) * 4
    assert "one question" in parts.reasons[0]


@each("values", [np.eye(8, 4) + np.eye(8, 4, 1), np.tile([0.0, 0.0, 1.0, 1.0], (8, 1))])
def test_limits_of_the_discordance_of_few_samples_are_korn_and_graubards(values: np.ndarray) -> None:
    """Their effective size, at most all pairs, by SciPy's t with one degree of freedom less than there are samples."""
    pairs = [np.mean([a != b for a, b in itertools.combinations(row, 2)]) for row in values]
    share, n = float(np.mean(pairs)), len(values)
    size = n * (norm.ppf(0.975) / t.ppf(0.975, n - 1)) ** 2 * share * (1.0 - share)
    size /= max(np.var(pairs), share * (1.0 - share) / 6.0)
    assert size > n
    limits = (beta.ppf(0.025, share * size, (1.0 - share) * size + 1.0),
              beta.ppf(0.975, share * size + 1.0, (1.0 - share) * size))  # fmt: skip
    estimate = discordance_of_repeats(values)
    assert (estimate.low, estimate.high) == pytest.approx(limits)
