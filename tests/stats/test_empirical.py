"""Empirical Bernstein and the betting interval: exact coverage by enumeration, and confseq's own figures."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, hypergeom

from accgate.stats.bounds import hoeffding_margin
from accgate.stats.empirical import (
    betting_interval,
    empirical_bernstein_margin,
    empirical_bernstein_margin_at,
    empirical_bernstein_n,
)

score_lists = st.lists(st.integers(0, 100).map(lambda k: k / 100.0), min_size=1, max_size=60)


@given(scores=score_lists, confidence=st.floats(0.5, 0.999), two_sided=st.booleans())
@settings(deadline=None)
def test_the_bernstein_margin_is_maurer_and_pontil_s_formula(scores, confidence, two_sided) -> None:
    n, x = len(scores), np.array(scores)
    margin = empirical_bernstein_margin(x, confidence=confidence, two_sided=two_sided)
    if n == 1:
        assert margin == 1.0
        return
    delta = (1 - confidence) / (2 if two_sided else 1)
    pairs = sum((a - b) ** 2 for a, b in itertools.combinations(scores, 2)) / (n * (n - 1))  # their V_n
    by_hand = math.sqrt(2 * pairs * math.log(2 / delta) / n) + 7 * math.log(2 / delta) / (3 * (n - 1))
    assert margin == pytest.approx(min(1.0, by_hand), rel=1e-9)
    points = empirical_bernstein_margin(100 * x, confidence=confidence, high=100.0, two_sided=two_sided)
    assert points == pytest.approx(100 * margin, rel=1e-9)


@pytest.mark.parametrize("p", [0.01, 0.1, 0.5])
@pytest.mark.parametrize("n", [20, 200])
def test_the_bernstein_margin_holds_with_its_confidence_by_full_enumeration(n: int, p: float) -> None:
    held = sum(
        binom.pmf(k, n, p)
        for k in range(n + 1)
        if abs(k / n - p) < empirical_bernstein_margin(np.repeat([1.0, 0.0], [k, n - k]), confidence=0.9)
    )
    assert held >= 0.9


@pytest.mark.parametrize(("margin", "variance"), [(0.01, 0.0), (0.01, 0.01), (0.05, 0.25), (0.9, 0.25), (1.5, 0.1)])
def test_the_expected_n_is_the_least_that_reaches_the_margin(margin: float, variance: float) -> None:
    n = empirical_bernstein_n(margin, variance=variance, confidence=0.95)
    assert empirical_bernstein_margin_at(n, variance=variance, confidence=0.95) <= margin
    assert n == 1 or empirical_bernstein_margin_at(n - 1, variance=variance, confidence=0.95) > margin


CONFSEQ = {  # betting_ci of confseq 0.0.11 with m_trunc=True, trunc_scale=3/4, breaks=4000, alpha=0.05
    "a quarter wrong": (np.tile([1.0, 1.0, 0.0, 1.0], 25), (0.61525, 0.85025)),
    "few wrong": (np.tile([1.0] * 19 + [0.0], 10), (0.893, 0.98225)),
    "graded": ((np.arange(60) * 37 % 60) / 59 * 0.4, (0.159, 0.26975)),
    "constant": (np.full(50, 0.3), (0.26975, 0.3655)),
    "two scores": (np.array([1.0, 0.0]), (0.0, 1.0)),
}


@pytest.mark.parametrize("case", sorted(CONFSEQ))
def test_the_betting_interval_is_that_of_the_papers_own_package(case: str) -> None:
    scores, published = CONFSEQ[case]
    assert betting_interval(scores, confidence=0.95) == pytest.approx(published, abs=1 / 4000 + 1e-9)


def capital(scores: list[float], mean: float, level: float, population: int | None, upward: bool) -> float:
    """Largest capital of the bet that the mean is above (or below) this one, one score after the other."""
    n, total, estimate, squares, capital, largest = len(scores), 0.0, 0.5, 0.25, 1.0, 1.0
    growth = [1.0 if population is None else population / (population - i) for i in range(n)]
    for i, score in enumerate(scores):
        left = mean if population is None else (population * mean - total) / (population - i)
        bet = growth[i] * math.sqrt(2 * math.log(1 / level) / (squares / (i + 1) * sum(g * g for g in growth)))
        room = left if upward else 1 - left
        bet = min(bet, 0.75 / room) if room > 0 else bet
        capital *= 1 + (bet if upward else -bet) * (score - left)
        largest = max(largest, capital)
        total += score
        estimate = (0.5 + total) / (i + 2)
        squares += (score - estimate) ** 2
    return largest


@pytest.mark.parametrize("population", [None, 30, 300])
@given(scores=st.lists(st.sampled_from([0.0, 0.2, 0.7, 1.0]), min_size=1, max_size=30))
@settings(deadline=None, max_examples=20)
def test_a_mean_is_outside_exactly_where_betting_against_it_has_won(population: int | None, scores) -> None:
    low, high = betting_interval(np.array(scores), confidence=0.9, population=population)
    assert low <= high
    possible = np.linspace(0.005, 0.995, 67)
    if population is not None:
        possible = possible[possible * population >= sum(scores)]
        possible = possible[(1 - possible) * population >= len(scores) - sum(scores)]
    above = [m for m in possible if capital(scores, m, 0.05, population, upward=True) < 20]
    below = [m for m in possible if capital(scores, m, 0.05, population, upward=False) < 20]
    if above and below and above[0] <= below[-1]:
        assert [m for m in possible if low <= m <= high] == [m for m in above if m <= below[-1]]


@pytest.mark.parametrize("confidence", [0.5, 0.8])
def test_the_betting_interval_covers_with_its_confidence_by_full_enumeration(confidence: float) -> None:
    n = 7
    intervals = {
        x: betting_interval(np.array(x), confidence=confidence) for x in itertools.product((0.0, 1.0), repeat=n)
    }
    for p in np.linspace(0.05, 0.95, 19):
        covered = sum(p ** sum(x) * (1 - p) ** (n - sum(x)) for x, (low, high) in intervals.items() if low <= p <= high)
        assert covered >= confidence
    assert any(low > 0.1 or high < 0.9 for low, high in intervals.values())


@pytest.mark.parametrize("confidence", [0.5, 0.8])
def test_it_covers_the_mean_of_a_population_by_full_enumeration(confidence: float) -> None:
    population, n = 12, 7
    orders = list(itertools.product((0.0, 1.0), repeat=n))
    intervals = [betting_interval(np.array(x), confidence=confidence, population=population) for x in orders]
    for right in range(population + 1):
        truth, covered = right / population, 0.0
        for x, (low, high) in zip(orders, intervals, strict=True):
            hits = int(sum(x))
            if low - 1e-12 <= truth <= high + 1e-12:
                covered += hypergeom.pmf(hits, population, right, n) / math.comb(n, hits)
        assert covered >= confidence


@pytest.mark.parametrize("shape", ["right or wrong", "mostly right", "graded"])
@pytest.mark.parametrize("n", [20, 100, 1000])
def test_the_betting_interval_is_narrower_than_hoeffding_s(shape: str, n: int) -> None:
    rng = np.random.default_rng(n)
    widest = 2 * hoeffding_margin(n, confidence=0.95)
    for _ in range(20):
        scores = {
            "right or wrong": rng.integers(0, 2, n).astype(float),
            "mostly right": (rng.random(n) < 0.9).astype(float),
            "graded": rng.beta(10, 30, n),
        }[shape]
        low, high = betting_interval(scores, confidence=0.95)
        assert low <= scores.mean() <= high
        assert high - low < widest


def test_low_variance_makes_it_far_narrower() -> None:
    scores = np.random.default_rng(1).beta(10, 30, 1000)
    low, high = betting_interval(scores, confidence=0.95)
    assert high - low < hoeffding_margin(1000, confidence=0.95) / 3


def test_the_interval_of_mirrored_scores_is_mirrored_and_units_are_kept() -> None:
    scores = np.random.default_rng(2).random(80) ** 2
    low, high = betting_interval(scores, confidence=0.95)
    assert betting_interval(1 - scores, confidence=0.95) == pytest.approx((1 - high, 1 - low))
    points = betting_interval(20 + 60 * scores, confidence=0.95, low=20.0, high=80.0)
    assert points == pytest.approx((20 + 60 * low, 20 + 60 * high))


def test_of_a_whole_population_the_mean_is_known() -> None:
    scores = np.tile([1.0, 0.0, 1.0], 40)
    assert betting_interval(scores, confidence=0.95, population=120) == pytest.approx((2 / 3, 2 / 3))
    low, high = betting_interval(scores, confidence=0.95, population=121)
    assert low >= 80 / 121 - 1e-12
    assert high <= 81 / 121 + 1e-12


def test_drifting_scores_still_give_an_ordered_interval() -> None:
    low, high = betting_interval(np.repeat([0.0, 1.0], 200), confidence=0.95)
    assert 0.0 <= low <= high <= 1.0


@pytest.mark.parametrize("score", [0.0, 0.3, 1.0])
def test_one_score_gives_an_interval_around_it(score: float) -> None:
    low, high = betting_interval(np.array([score]), confidence=0.95)
    assert low <= score <= high
