"""Drift: spent alpha, false alarms under every dependence of the runs, slow declines seen, and the standard error."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, norm

from accgate.stats.drift import DriftResult, alpha_share, difference_to_anchor, drift_test

RUNS = 20
THETA = norm.isf(0.05) + norm.isf(0.2)  # of one gate, in standard errors
points = st.floats(-20.0, 20.0)
errors = st.floats(0.01, 10.0)
histories = st.lists(st.tuples(points, errors), min_size=1, max_size=12)
rates = st.sampled_from([0.01, 0.05, 0.2])


def test_all_the_runs_there_may_ever_be_spend_alpha_and_no_more() -> None:
    shares = [Fraction(3, (r + 2) * (r + 3)) for r in range(1, 1000)]
    assert [alpha_share(r) for r in range(1, 1000)] == pytest.approx([float(share) for share in shares])
    assert sum(shares) == 1 - Fraction(3, 999 + 3)


@given(history=histories, alpha=rates)
def test_the_last_run_is_judged_by_a_normal_test_at_its_share_of_alpha(history, alpha: float) -> None:
    result = drift_test(*zip(*history, strict=True), alpha=alpha)
    difference, error = history[-1]
    p_value = norm.cdf(difference / error)
    assert result.drift == difference
    assert result.alpha_applied == pytest.approx(alpha * 3 / ((len(history) + 2) * (len(history) + 3)))
    assert result.p_value == pytest.approx(min(p_value * alpha / result.alpha_applied, 1.0))
    assert result.detected == (result.p_value <= alpha)
    if abs(p_value - result.alpha_applied) > 1e-12:
        assert result.detected == (p_value < result.alpha_applied)


@given(history=histories, alpha=rates)
def test_a_run_is_judged_the_same_whatever_follows_and_the_first_decline_is_named(history, alpha: float) -> None:
    prefixes = [drift_test(*zip(*history[:k], strict=True), alpha=alpha) for k in range(1, len(history) + 1)]
    found = [k for k, result in enumerate(prefixes, 1) if result.detected]
    assert prefixes[-1].run == (found[0] if found else None)


def test_a_decline_that_is_gone_is_told_and_no_longer_detected() -> None:
    result = drift_test([-0.1, -3.0, 0.2], [0.5, 0.5, 0.5], alpha=0.05)
    assert (result.detected, result.run, result.p_value) == (False, 2, 1.0)
    assert result.reasons == ("run 2 of 3 showed a decline, the last one does not",)


def noise(dependence: str, histories: int) -> np.ndarray:
    """Differences of healthy runs to the anchor, shape (histories, runs), each of standard error 1."""
    rng = np.random.default_rng(7)
    own = rng.normal(size=(histories, RUNS))
    if dependence == "the anchor's noise shared":
        return (own - rng.normal(size=(histories, 1))) / math.sqrt(2)
    if dependence == "one deterministic run":
        return np.repeat(own[:, :1], RUNS, axis=1)
    if dependence == "a change now and then":
        since = np.maximum.accumulate(np.where(rng.random((histories, RUNS)) < 0.3, np.arange(RUNS), 0), axis=1)
        return np.take_along_axis(own, since, axis=1)
    if dependence == "a random walk":
        return np.cumsum(own, axis=1) / np.sqrt(np.arange(1, RUNS + 1))
    return own


DEPENDENCES = (
    "independent", "the anchor's noise shared", "one deterministic run", "a change now and then", "a random walk",
)  # fmt: skip


@pytest.mark.parametrize("dependence", DEPENDENCES)
def test_a_healthy_history_rarely_has_any_false_alarm(dependence: str) -> None:
    draws = noise(dependence, 4000)
    alarms = sum(drift_test(row, np.ones(RUNS), alpha=0.1).run is not None for row in draws)
    assert alarms <= binom.ppf(0.9999, len(draws), 0.1)
    assert alarms > 0.01 * len(draws)  # not for want of trying


def test_runs_better_than_the_anchor_are_no_drift() -> None:
    draws = noise("the anchor's noise shared", 2000) + 1.0
    assert sum(drift_test(row, np.ones(RUNS), alpha=0.05).run is not None for row in draws) <= 10


def test_a_decline_of_a_fifth_of_theta_a_run_is_seen_where_each_single_gate_is_blind() -> None:
    draws = noise("the anchor's noise shared", 2000) - 0.2 * THETA * np.arange(1, RUNS + 1)
    seen = np.array([drift_test(row, np.ones(RUNS), alpha=0.05).run or RUNS + 1 for row in draws])
    assert norm.cdf(norm.ppf(0.05) + 0.2 * THETA) < 0.13  # a gate against the run before
    assert np.mean(seen <= 5) > 0.45
    assert np.mean(seen <= 8) > 0.9


def test_no_runs_have_no_drift_and_say_so() -> None:
    assert drift_test([], [], alpha=0.05) == DriftResult(None, None, None, False, None, ("there are no runs",))


@pytest.mark.parametrize(("difference", "p_value"), [(0.0, 1.0), (0.5, 1.0), (-0.5, 0.0)])
def test_a_difference_without_error_is_taken_at_its_word(difference: float, p_value: float) -> None:
    result = drift_test([difference], [0.0], alpha=0.05)
    assert (result.p_value, result.detected) == (p_value, difference < 0.0)


@pytest.mark.parametrize(
    ("differences", "standard_errors", "message"),
    [
        ([1.0, 2.0], [1.0], "every run has a difference and a standard error"),
        ([[1.0]], [[1.0]], "every run has"),
        ([math.nan], [1.0], "finite numbers"),
        ([1.0], [math.inf], "finite numbers"),
        ([1.0], [-1.0], "at least 0"),
    ],
)
def test_runs_without_their_figures_are_refused(differences, standard_errors, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        drift_test(differences, standard_errors, alpha=0.05)


def flips(lost: int, gained: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    before = np.repeat([100.0, 0.0, 100.0], [lost, gained, n - lost - gained])
    return before, np.repeat([0.0, 100.0, 100.0], [lost, gained, n - lost - gained])


@pytest.mark.parametrize("changed", [1, 2, 3, 5, 8, 13, 30, 77, 200])
def test_its_normal_test_is_never_below_mcnemars_mid_p(changed: int) -> None:
    for lost in range(changed // 2 + 1, changed + 1):
        difference, error = difference_to_anchor(*flips(lost, changed - lost, 1000))
        assert difference == pytest.approx(-(2 * lost - changed) / 10)
        mid_p = binom.sf(lost - 1, changed, 0.5) - 0.5 * binom.pmf(lost, changed, 0.5)
        assert norm.cdf(difference / error) >= mid_p


def test_with_many_changes_it_is_the_usual_standard_error() -> None:
    rng = np.random.default_rng(1)
    before, now = rng.uniform(0.0, 100.0, 20_000), rng.uniform(0.0, 100.0, 20_000)
    difference, error = difference_to_anchor(before, now)
    assert difference == pytest.approx(now.mean() - before.mean())
    assert error == pytest.approx((now - before).std(ddof=1) / math.sqrt(20_000), rel=0.001)


def test_no_change_has_no_error_and_one_sample_proves_nothing() -> None:
    assert difference_to_anchor([100.0, 0.0], [100.0, 0.0]) == (0.0, 0.0)
    difference, error = difference_to_anchor([100.0], [0.0])
    assert difference == -100.0
    assert norm.cdf(difference / error) > 0.25
    fallen = drift_test(*zip(difference_to_anchor([80.0] * 3, [75.0] * 3), strict=True), alpha=0.05)
    assert (fallen.drift, fallen.detected) == (-5.0, False)


def test_copies_of_a_sample_count_as_one_where_they_are_a_cluster() -> None:
    rng = np.random.default_rng(2)
    before, now = 100.0 * rng.integers(0, 2, (2, 300))
    alone = difference_to_anchor(before, now)
    assert difference_to_anchor(before, now, rng.permutation(300)) == pytest.approx(alone)
    copied = [np.repeat(side, 5) for side in (before, now, np.arange(300))]
    assert difference_to_anchor(*copied) == pytest.approx(alone)
    assert difference_to_anchor(*copied[:2])[1] == pytest.approx(alone[1] / math.sqrt(5), rel=0.02)


@pytest.mark.parametrize(("before", "now"), [([], []), ([1.0], [1.0, 2.0]), ([[1.0]], [[1.0]])])
def test_sides_of_different_samples_have_no_difference(before, now) -> None:
    with pytest.raises(ValueError, match="score the same samples"):
        difference_to_anchor(before, now)


@pytest.mark.parametrize(("anchor_repeats", "run_repeats"), [(1, 1), (4, 1), (4, 4)])
def test_real_scores_of_healthy_runs_rarely_alarm(anchor_repeats: int, run_repeats: int) -> None:
    rng, alarms, n = np.random.default_rng(3), 0, 200
    for _ in range(400):
        right = rng.beta(0.3, 0.2, size=n)
        anchor = 100.0 * rng.binomial(anchor_repeats, right) / anchor_repeats
        runs = 100.0 * rng.binomial(run_repeats, right, size=(10, n)) / run_repeats
        history = [difference_to_anchor(anchor, run) for run in runs]
        alarms += drift_test(*zip(*history, strict=True), alpha=0.1).run is not None
    assert alarms <= binom.ppf(0.999, 400, 0.1)
