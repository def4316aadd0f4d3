"""Drift: how alpha is spent over the runs, and the tests of a run against the anchor."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, norm

from accgate.stats.drift import alpha_share, anchor_tails, difference_to_anchor, drift_test, normal_tails
from accgate.stats.paired import mcnemar_exact
from tests.stats.test_repeats import draws_as_low, signs_as_low
from tests.support.cases import each

points = st.floats(-20.0, 20.0)
chances = st.floats(0.0, 1.0)
histories = st.lists(st.tuples(points, chances), min_size=1, max_size=12)
rates = st.sampled_from([0.01, 0.05, 0.2])


def test_all_the_runs_there_may_ever_be_spend_alpha_and_no_more() -> None:
    shares = [Fraction(3, (r + 2) * (r + 3)) for r in range(1, 1000)]
    assert [alpha_share(r) for r in range(1, 1000)] == pytest.approx([float(share) for share in shares])
    assert sum(shares) == 1 - Fraction(3, 999 + 3)


@given(history=histories, alpha=rates)
def test_the_last_run_is_tested_at_its_share_of_alpha(history, alpha: float) -> None:
    result = drift_test(*zip(*history, strict=True), alpha=alpha)
    difference, p_value = history[-1]
    assert result.drift == difference
    assert result.alpha_applied == pytest.approx(alpha * 3 / ((len(history) + 2) * (len(history) + 3)))
    assert result.p_value == pytest.approx(min(p_value * alpha / result.alpha_applied, 1.0))
    assert result.detected == (result.p_value <= alpha)
    if abs(p_value - result.alpha_applied) > 1e-12:
        assert result.detected == (p_value < result.alpha_applied)


def test_a_p_value_at_its_share_of_alpha_is_a_decline() -> None:
    result = drift_test([-1.0], [0.0625], alpha=0.25)  # a quarter of alpha, and no rounding
    assert (result.detected, result.run) == (True, 1)


@given(history=histories, alpha=rates)
def test_a_run_is_judged_the_same_whatever_follows_and_the_first_decline_is_named(history, alpha: float) -> None:
    prefixes = [drift_test(*zip(*history[:k], strict=True), alpha=alpha) for k in range(1, len(history) + 1)]
    found = [k for k, result in enumerate(prefixes, 1) if result.detected]
    assert prefixes[-1].run == (found[0] if found else None)


def test_a_decline_that_is_gone_is_reported_and_no_longer_detected() -> None:
    result = drift_test([-0.1, -3.0, 0.2], [0.4, 1e-9, 0.7], alpha=0.05)
    assert (result.detected, result.run, result.p_value) == (False, 2, 1.0)
    assert "run 2 of 3 showed a decline" in result.reasons[0]


@each(
    ("difference", "error", "tails"),
    [(0.0, 0.0, (1.0, 1.0)), (0.5, 0.0, (1.0, 0.0)), (-0.5, 0.0, (0.0, 1.0)), (-1.0, 1.0, norm.cdf([-1.0, 1.0]))],
)
def test_a_normal_test_has_two_tails(difference: float, error: float, tails) -> None:
    assert normal_tails(difference, error) == pytest.approx(tails)


@each(("lost", "gained"), [(0, 0), (1, 0), (3, 9), (150, 110)])
def test_one_answer_each_is_mcnemars_exact_test(lost: int, gained: int) -> None:
    sides = [[100.0, 0.0], [0.0, 100.0], [100.0, 100.0]]
    before, now = np.repeat(sides, [lost, gained, 1000 - lost - gained], axis=0).T[..., np.newaxis]
    fall, rise = anchor_tails(before, now)
    assert fall == pytest.approx(mcnemar_exact(lost, gained, 1000, alpha=0.05, beta=0.2).p_value)
    assert rise == pytest.approx(binom.sf(gained - 1, lost + gained, 0.5))


@each(("seed", "repeats", "runs"), [(0, 4, 1), (1, 2, 2), (2, 3, 1), (3, 1, 2)])
def test_several_answers_and_whole_sides_are_exchanged_in_every_way(seed: int, repeats: int, runs: int) -> None:
    rng = np.random.default_rng(seed)
    both = 100.0 * rng.integers(0, 2 if seed < 2 else 4, (4, repeats + runs)) / (1.0 if seed < 2 else 3.0)
    oracle = []
    for scores in (both, 100.0 - both):  # the second for the chance of a difference as high
        before, now = scores[:, :repeats], scores[:, repeats:]
        signs = signs_as_low(now.mean(axis=1) - before.mean(axis=1))
        oracle.append(signs if repeats == runs else max(signs, draws_as_low(before, now)))
    tails = anchor_tails(both[:, :repeats], both[:, repeats:])
    assert tails == pytest.approx(oracle, abs=1e-9 if seed < 2 else 0.02)  # rounding to steps parts equal sums


def test_a_small_fall_of_every_score_is_not_rounded_away() -> None:
    rng = np.random.default_rng(4)
    before = rng.uniform(20.0, 80.0, (400, 1)) + rng.normal(0.0, 1.0, (400, 4))
    now = before.mean(axis=1, keepdims=True) + rng.normal(0.0, 1.0, (400, 1))
    assert anchor_tails(before, now)[0] > 0.01
    assert anchor_tails(before, now - 0.3)[0] < 1e-5


def test_whole_clusters_are_exchanged() -> None:
    rng = np.random.default_rng(6)
    cluster = 100.0 * rng.integers(0, 2, (30, 5))
    copied, codes = np.repeat(cluster, 4, axis=0), np.repeat(np.arange(30), 4)
    alone = anchor_tails(cluster[:, :4], cluster[:, 4:])
    assert anchor_tails(copied[:, :4], copied[:, 4:], codes) == pytest.approx(alone)


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
    assert normal_tails(*difference_to_anchor([80.0] * 3, [75.0] * 3))[0] > 0.05


def test_copies_of_a_sample_count_as_one_where_they_are_a_cluster() -> None:
    rng = np.random.default_rng(2)
    before, now = 100.0 * rng.integers(0, 2, (2, 300))
    alone = difference_to_anchor(before, now)
    assert difference_to_anchor(before, now, rng.permutation(300)) == pytest.approx(alone)
    copied = [np.repeat(side, 5) for side in (before, now, np.arange(300))]
    assert difference_to_anchor(*copied) == pytest.approx(alone)
    assert difference_to_anchor(*copied[:2])[1] == pytest.approx(alone[1] / math.sqrt(5), rel=0.02)
