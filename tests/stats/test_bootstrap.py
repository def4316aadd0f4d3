"""The weighted bootstrap against exact tests, simulated weights and the t test, and the promises it makes."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr
from scipy.stats import binom, poisson, ttest_1samp

from accgate.stats.bootstrap import assumed_gain, drop_score, upper_limit, weighted_bootstrap, weighted_score
from accgate.stats.clusters import cluster_robust_error
from tests.stats.sequences import RATES, assert_says_one_thing, slack
from tests.support.cases import each

seeds, shares = st.integers(0, 10**6), st.floats(0.0, 1.0)
KINDS = ["normal", "gains", "losses", "few", "lattice"]


def chance(terms: np.ndarray) -> float:
    return float(ndtr(-weighted_score(terms)))


@each(("lost", "gained"), [(5, 0), (10, 3), (7, 7), (3, 9), (30, 15), (100, 80), (400, 0)])
def test_with_a_gain_of_the_size_of_all_changes_it_is_mcnemar_s_exact_test(lost: int, gained: int) -> None:
    terms = np.repeat([-100.0, 100.0], [lost, gained + 1])
    rel = 0.03 if lost + gained < 10 else 0.01 if lost < 400 else 0.1
    assert chance(terms) == pytest.approx(binom.sf(lost - 1, lost + gained, 0.5), rel=rel)


@pytest.mark.parametrize("gained", [0, 1, 3, 8])
def test_with_few_gains_among_many_small_losses_it_is_poisson_s_exact_test(gained: int) -> None:
    """2,000 losses of 0.01 against gains of 4: under H0 five gains are expected."""
    terms = np.append(np.full(2000, -0.01), np.full(gained + 1, 4.0))
    assert chance(terms) == pytest.approx(poisson.cdf(gained, 5.0), rel=0.03)


@each("seed", [0, 3, 4, 5])
def test_the_score_is_that_of_weights_drawn_at_random(seed: int) -> None:
    rng = np.random.default_rng(seed)
    terms = rng.standard_t(3, 12) - 0.5
    weighted = rng.exponential(size=(200_000, 12)) @ terms
    expected = float(np.mean(weighted >= 0.0))
    assert chance(terms) == pytest.approx(expected, abs=0.02 * expected + slack(expected, 200_000))


@given(st.lists(st.floats(-100.0, 100.0), min_size=2, max_size=40), st.floats(0.001, 50.0), st.integers(0, 39))
def test_a_larger_term_never_lowers_the_chance(terms: list[float], more: float, index: int) -> None:
    low = np.array(terms)
    high = low.copy()
    high[index % len(low)] += more
    near = abs(low.sum()) < 0.01 * np.linalg.norm(low)  # where the mean is 0 only the skewness is left
    assert chance(high) >= chance(low) * (1 - (1e-3 if near else 1e-6)) - 1e-12


@given(scale=st.sampled_from([1e-150, 1e-3, 1.0, 1e6]), seed=st.integers(0, 1000))
def test_the_unit_of_the_scores_changes_nothing(scale: float, seed: int) -> None:
    d = np.random.default_rng(seed).normal(-0.3, 1.0, 30)
    assert float(drop_score(d * scale, np.ones(30))) == pytest.approx(float(drop_score(d, np.ones(30))), rel=1e-6)
    assert float(assumed_gain(d * scale)) == pytest.approx(float(assumed_gain(d)) * scale)


@pytest.mark.parametrize("n", [400, 5_000])
@pytest.mark.parametrize("shift", [-0.4, 0.0])
def test_of_many_symmetric_changes_it_is_student_s_t(n: int, shift: float) -> None:
    d = np.random.default_rng(n).normal(shift, 5.0, n)
    d = np.concatenate([d, 2.0 * shift - d])  # without skewness
    result = weighted_bootstrap(d, 2 * n, **RATES)
    z = ttest_1samp(d, 0.0).statistic
    assert -float(drop_score(d, np.ones(2 * n))) == pytest.approx(z, abs=4.0 / math.sqrt(n))
    assert result.sigma == pytest.approx(np.std(d, ddof=1))
    assert result.theta == pytest.approx(2.4865 * np.std(d) / math.sqrt(2 * n), rel=2.0 / math.sqrt(n))


def test_rows_are_scored_as_each_alone() -> None:
    rows = np.random.default_rng(0).normal(-0.2, 1.0, (6, 70))
    rows[1], rows[2] = -np.abs(rows[1]), np.abs(rows[2])
    together = drop_score(rows, np.ones(70))
    assert together == pytest.approx([float(drop_score(row, np.ones(70))) for row in rows], rel=1e-6)


@given(seeds, st.integers(2, 80), st.floats(-3.0, 1.0), st.sampled_from([0.001, 0.05, 0.2]), st.sampled_from(KINDS))
def test_decision_p_and_interval_agree(seed: int, n: int, shift: float, alpha: float, kind: str) -> None:
    rng = np.random.default_rng(seed)
    d = {
        "normal": lambda: rng.normal(shift, 1.0, n),
        "gains": lambda: rng.exponential(1.0, n) - 1.0 + shift,
        "losses": lambda: 1.0 - rng.exponential(1.0, n) + shift,
        "few": lambda: np.where(rng.random(n) < 0.1, rng.normal(shift, 1.0, n), 0.0),
        "lattice": lambda: 25.0 * rng.integers(-4, 4, n),
    }[kind]()
    result = weighted_bootstrap(d, n, alpha=alpha, beta=0.2)
    assert_says_one_thing(result, alpha)
    assert result.interval is None or result.interval.two_sided[0] <= result.difference + 1e-9


@pytest.mark.parametrize("level", [0.5, 1.645, 3.0])
def test_the_limit_is_the_shift_at_which_the_score_comes_to_the_level(level: float) -> None:
    rng = np.random.default_rng(4)
    sizes = rng.integers(1, 5, 60).astype(float)
    totals = np.where(rng.random(60) < 0.4, sizes * rng.normal(-1.0, 8.0, 60), 0.0)
    limit = upper_limit(totals, sizes, level)
    assert float(drop_score(totals, sizes, limit)) == pytest.approx(level, abs=1e-6)
    assert float(drop_score(totals, sizes, limit + 0.1)) > level > float(drop_score(totals, sizes, limit - 0.1))


def test_clusters_are_weighed_whole() -> None:
    rng = np.random.default_rng(8)
    codes = np.sort(rng.integers(0, 60, 300))
    d = rng.normal(-1.0, 5.0, 300) + rng.normal(0.0, 5.0, 60)[codes]
    sizes = np.bincount(codes).astype(float)
    totals = np.bincount(codes, weights=d)
    result = weighted_bootstrap(totals, 300, sizes=sizes, **RATES)
    assert result.difference == pytest.approx(d.mean())
    assert result.sigma == pytest.approx((cluster_robust_error(d, codes) or 0.0) * math.sqrt(300))
    assert result.p_value == pytest.approx(float(ndtr(-drop_score(totals, sizes))))


def test_few_changes_that_fail_say_that_the_rates_are_rough() -> None:
    d = np.repeat([-5.0, 0.0], [20, 180])
    (reason,) = weighted_bootstrap(d, 200, **RATES).reasons
    assert "20 changes: under 100" in reason
    assert weighted_bootstrap(-d, 200, **RATES).reasons == ()
    assert weighted_bootstrap(np.repeat([-5.0, 0.0], [100, 100]), 200, **RATES).reasons == ()
