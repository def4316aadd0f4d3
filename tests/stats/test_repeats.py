"""Answers given several times: against every draw spelt out, scipy's distributions, McNemar's test and simulations."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, hypergeom, nchypergeom_fisher

from accgate.stats.answers import Repeats, repeats_of
from accgate.stats.odds import Limits
from accgate.stats.paired import mcnemar_exact
from accgate.stats.repeats import detectable_drop, repeats_exact, sum_masses, sum_tails
from accgate.stats.walk import Outcome
from tests.stats.sequences import RATES, assert_limits_hold, slack
from tests.support.cases import each


def run_of(seed: int, n: int, repeats: int, runs: int, *, noise: float, drop: float = 0.0) -> Repeats:
    """A run in which a share of the samples is right by chance alone, and which loses so many points of all samples."""
    rng = np.random.default_rng(seed)
    right = np.where(rng.random(n) < noise, rng.random(n), 1.0)
    before = 100.0 * (rng.random((n, repeats)) < right[:, np.newaxis])
    now = 100.0 * (rng.random((n, runs)) < right[:, np.newaxis])
    now[rng.random(n) < drop / (100.0 - 50.0 * noise)] = 0.0
    return repeats_of(before, now)


def draws_as_low(before: np.ndarray, now: np.ndarray) -> float:
    """The chance of a mean as low as the candidate's, over every choice of its runs in each unit."""
    runs, count = np.concatenate([before, now], axis=1), now.shape[1]
    sums = [[sum(row[list(way)]) for way in itertools.combinations(range(len(row)), count)] for row in runs]
    totals = np.array([sum(choice) for choice in itertools.product(*sums)])
    return float(np.mean(totals <= now.sum() + 1e-9))


def signs_as_low(totals: np.ndarray) -> float:
    """The chance of a sum of differences as low, over every sign of each unit's."""
    sums = np.array(list(itertools.product((-1.0, 1.0), repeat=len(totals)))) @ np.abs(totals)
    return float(np.mean(sums <= totals.sum() + 1e-9))


def rejects(sides: Repeats) -> bool:
    """Whether the test rejects at 0.05, without its other figures."""
    return sum_tails(sides)[0] <= 0.05


def run_across_builds(
    rng: np.random.Generator, n: int, shape: tuple[int, int], *, flips: float, flicker: float, drop: float = 0.0
) -> Repeats:
    """K and R answers of two builds, of which 60% right: the second flips samples as often for the worse as the better.

    Every answer of either flickers besides, and the second loses a share `drop` of the samples.
    """
    right, chance = rng.random(n) < 0.6, rng.random(n)
    other = np.where(right, chance >= flips / 1.2, chance < flips / 0.8) & (rng.random(n) >= drop / 0.6)
    sides = [
        100.0 * (each[:, np.newaxis] ^ (rng.random((n, runs)) < flicker))
        for each, runs in zip((right, other), shape, strict=True)
    ]
    return repeats_of(*sides)


@given(st.integers(1, 4), st.integers(1, 3), st.integers(1, 4), st.integers(0, 999), st.booleans())
def test_p_is_the_larger_share_of_all_draws_and_of_all_signs(repeats, runs, units, seed, clustered) -> None:
    rng = np.random.default_rng(seed)
    n = units * 3 if clustered else units
    both = 100.0 * rng.integers(0, 2, (n, repeats + runs))
    codes = np.arange(n) // 3 if clustered else None
    sides = repeats_of(both[:, :repeats], both[:, repeats:], codes)
    result = repeats_exact(sides, alpha=0.2, beta=0.2)
    draws = 0.0 if repeats == runs else draws_as_low(sides.before, sides.now)
    assert result.p_value == pytest.approx(max(draws, signs_as_low(sides.totals)))
    assert result.difference == pytest.approx(both[:, repeats:].mean() - both[:, :repeats].mean())
    assert (result.p_value <= 0.2) == (result.threshold is not None and result.difference < result.threshold)
    assert (result.interval.one_sided < 0.0) == (result.p_value <= 0.2)
    assert result.interval.two_sided[0] <= result.difference <= result.interval.two_sided[1] or not len(sides.events)


@each(("repeats", "runs", "right"), [(1, 1, 1), (4, 1, 3), (8, 1, 1), (4, 4, 5), (3, 2, 2), (2, 5, 6)])
def test_a_sample_is_hypergeometric(repeats: int, runs: int, right: int) -> None:
    row = 100.0 * (np.arange(repeats + runs) < right)[np.newaxis]
    ((kind,), _) = repeats_of(row[:, :repeats], row[:, repeats:]).kinds
    x = kind.most - np.arange(len(kind.masses))
    assert kind.masses == pytest.approx(hypergeom(repeats + runs, right, runs).pmf(x))
    outcome = Outcome(1, "end", True, 0, None, 1.0, (np.zeros(0, int),) * 3, (np.zeros(1, int), np.ones(1)))
    limits = Limits(repeats_of(row[:, :repeats], row[:, repeats:]), 1, outcome, 0.0)
    _, tilted = limits._tilted(0.7)
    assert tilted[0] == pytest.approx(nchypergeom_fisher(repeats + runs, right, runs, math.exp(-0.7)).pmf(x))


def test_the_sum_of_many_samples_is_the_convolution_of_each() -> None:
    sides = run_of(2, 60, 3, 2, noise=1.0)
    kinds, kind = sides.kinds
    base, mass = sum_masses(sides)
    one_by_one = np.ones(1)
    for index in kind:
        one_by_one = np.convolve(one_by_one, kinds[index].masses)
    assert base == 0
    assert mass == pytest.approx(one_by_one[: len(mass)], rel=1e-9)


@each("repeats", [1, 2, 4, 8, 19])
def test_where_nothing_differs_theta_is_what_the_fewest_losses_that_reject_allow(repeats: int) -> None:
    """Five, as with one run: that the runs of a build agree says nothing of another build."""
    same = np.full((1319, repeats), 100.0)
    reached = detectable_drop(repeats_of(same, same[:, :1]), **RATES)
    assert binom.sf(4, 1319, reached / 100.0) == pytest.approx(0.8, abs=1e-5)


@each(("runs", "own"), [(1, 1), (2, 1), (8, 1), (4, 2), (1, 4)])
@each(("lost", "gained", "n"), [(0, 0, 5), (32, 21, 1319), (5, 0, 60), (0, 7, 60), (70, 40, 900)])
def test_equal_runs_of_a_build_count_as_one(runs: int, own: int, lost: int, gained: int, n: int) -> None:
    """32 lost and 21 gained were a regression at p 0.0024 against four equal runs, and 0.084 against one."""
    before = np.repeat([100.0, 0.0, 100.0], [lost, gained, n - lost - gained])[:, np.newaxis]
    now = np.repeat([0.0, 100.0, 100.0], [lost, gained, n - lost - gained])[:, np.newaxis]
    result = repeats_exact(repeats_of(np.repeat(before, runs, axis=1), np.repeat(now, own, axis=1)), **RATES)
    oracle = mcnemar_exact(lost, gained, n, **RATES)
    assert (result.p_value, result.difference) == pytest.approx((oracle.p_value, oracle.difference))
    assert (result.p_value <= 0.05) == (result.threshold is not None and result.difference < result.threshold)
    if (runs, own) == (1, 1):
        assert (result.sigma, result.threshold) == pytest.approx((oracle.sigma, oracle.threshold), abs=1e-9)
    assert result.theta == pytest.approx(oracle.theta, rel=1e-4)
    assert result.interval.two_sided == pytest.approx(oracle.interval.two_sided, abs=130.0 / n)  # Tango's


@pytest.mark.slow
@each(
    ("n", "shape", "flips", "flicker"),
    [
        (200, (2, 1), 0.04, 0.03), (1319, (8, 1), 0.04, 0.0), (200, (1, 2), 0.0, 0.03), (1319, (8, 2), 0.04, 0.03),
    ],
)  # fmt: skip
def test_harmless_flips_fail_no_oftener_than_alpha(n, shape, flips, flicker) -> None:
    """By the exchange of all answers alone 0.05, 0.11, 0.18 and 0.25 of runs failed for 1, 2, 4 and 8 equal runs."""
    rng, draws = np.random.default_rng([n, *shape, round(1000 * flips), round(1000 * flicker)]), 1000
    fails = sum(rejects(run_across_builds(rng, n, shape, flips=flips, flicker=flicker)) for _ in range(draws))
    assert fails / draws <= 0.05 + slack(0.05, draws)


@each(("repeats", "runs", "n"), [(4, 1, 300), (2, 2, 200), (1, 4, 150)])
@pytest.mark.slow
def test_power_at_theta_is_as_stated(repeats: int, runs: int, n: int) -> None:
    """Noise as it was seen, and losses on top of it: the power is 0.8 within three standard errors, or above."""
    fails, plans, draws = 0, 10, 40
    for plan in range(plans):
        theta = detectable_drop(run_of(plan, n, repeats, runs, noise=0.15), **RATES)
        seeds = range(1000 + draws * plan, 1000 + draws * (plan + 1))
        fails += sum(rejects(run_of(seed, n, repeats, runs, noise=0.15, drop=theta)) for seed in seeds)
    assert fails >= binom.ppf(0.0013, plans * draws, 0.8)


@pytest.mark.slow
@each(("repeats", "runs", "n", "drop"), [(4, 1, 400, 3.0), (1, 4, 200, 3.0), (3, 3, 200, 8.0), (8, 1, 100, 0.0)])
def test_limits_cover_the_difference(repeats: int, runs: int, n: int, drop: float) -> None:
    draws = (run_of(seed, n, repeats, runs, noise=0.4, drop=drop) for seed in range(50))
    assert_limits_hold([repeats_exact(run, **RATES) for run in draws], -drop)


def test_copies_in_a_cluster_prove_no_more_than_one() -> None:
    sides = run_of(6, 60, 4, 1, noise=1.0)
    both = [100.0 * np.repeat(side, 5, axis=0) for side in (sides.before, sides.now)]
    clustered = repeats_of(*both, np.repeat(np.arange(60), 5))
    alone, copied = repeats_exact(sides, **RATES), repeats_exact(clustered, **RATES)
    assert copied.p_value == pytest.approx(alone.p_value)
    assert copied.difference == pytest.approx(alone.difference)
    assert copied.theta == pytest.approx(alone.theta, rel=0.15)


def test_too_few_samples_have_no_theta() -> None:
    one = np.full((1, 4), 100.0)
    result = repeats_exact(repeats_of(one, one[:, :1]), **RATES)
    assert (result.theta, result.threshold, result.p_value) == (None, None, 1.0)
    assert repeats_exact(repeats_of(np.full((1, 20), 100.0), np.zeros((1, 1))), **RATES).p_value == 0.5
