"""Lan and DeMets' bounds against the normal integral, and the test itself by enumeration."""

import itertools
import math
from functools import cache

import numpy as np
import pytest
from scipy.stats import binom, norm

from accgate.stats.brownian import obrien_fleming_spending, spending_bounds
from accgate.stats.group_sequential import group_design, group_sequential_test
from accgate.stats.sequential import SequentialResult, units_of
from tests.stats.sequences import RATES, assert_agrees, drawn, drop_of_losses
from tests.support.cases import each


def equal(looks: int) -> np.ndarray:
    return np.arange(1, looks + 1) / looks


def under(bounds: np.ndarray, fractions: np.ndarray) -> float:
    """The chance that B(t) stays under these bounds, by Gauss and Legendre's quadrature look after look."""
    nodes, weights = np.polynomial.legendre.leggauss(200)
    grid, density, before = np.zeros(1), np.ones(1), 0.0
    for bound, fraction in zip(bounds[:-1], fractions[:-1], strict=True):
        half = (bound + 9.0 * math.sqrt(fraction)) / 2.0
        points = bound - half + half * nodes
        step = norm.pdf(points[:, None], grid[None, :], math.sqrt(fraction - before))
        grid, density, before = points, half * weights * (step @ density), fraction
    return float(density @ norm.cdf((bounds[-1] - grid) / math.sqrt(fractions[-1] - before)))


@each("alpha", [0.05, 0.01])
@each("fractions", [[0.2, 0.4, 0.6, 0.8, 1.0], [0.1, 0.5, 0.9], [0.45, 0.5, 1.0], [0.3, 0.75]])
def test_bounds_spend_what_is_allowed_by_the_normal_integral(fractions: list[float], alpha: float) -> None:
    spent = obrien_fleming_spending(np.array(fractions), alpha)
    bounds = spending_bounds(np.array(fractions), spent) * np.sqrt(fractions)
    allowed = 2.0 * norm.sf(norm.isf(alpha / 2.0) / np.sqrt(fractions))
    for k in range(1, len(fractions) + 1):
        assert 1.0 - under(bounds[:k], np.array(fractions[:k])) == pytest.approx(allowed[k - 1], abs=1e-7)


def drift(looks: int, alpha: float, beta: float) -> float:
    return math.sqrt(group_design(looks, alpha, beta).inflation) * -(norm.ppf(alpha) + norm.ppf(beta))


def walks(looks: int, mean: float, runs: int = 40_000) -> np.ndarray:
    """Simulated z at each look, of shape (runs, looks), with a drift in standard errors at the end."""
    steps = np.random.default_rng(looks).standard_normal((runs, looks)) / math.sqrt(looks)
    return (np.cumsum(steps, axis=1) + mean * equal(looks)) / np.sqrt(equal(looks))


@pytest.mark.parametrize(
    ("looks", "alpha", "beta"), [(1, 0.05, 0.2), (2, 0.025, 0.1), (5, 0.05, 0.2), (20, 0.05, 0.2), (8, 0.1, 0.4)]
)
def test_a_design_has_its_power_with_futility_and_its_level_without(looks: int, alpha: float, beta: float) -> None:
    design, mean = group_design(looks, alpha, beta), drift(looks, alpha, beta)
    three_errors = 3.0 * math.sqrt(0.25 / 40_000)
    rejects = walks(looks, mean) >= design.efficacy
    passes = walks(looks, mean) <= design.futility + mean * np.sqrt(design.fractions)
    first_reject = np.where(rejects.any(axis=1), np.argmax(rejects, axis=1), looks)
    first_pass = np.where(passes.any(axis=1), np.argmax(passes, axis=1), looks)
    assert np.mean(first_reject <= first_pass) == pytest.approx(1.0 - beta, abs=three_errors)
    assert rejects.any(axis=1).mean() >= 1.0 - beta - three_errors
    healthy = (walks(looks, 0.0) >= design.efficacy).any(axis=1)
    assert healthy.mean() == pytest.approx(alpha, abs=three_errors)


@each("looks", [2, 20])
@each(("alpha", "beta"), [(0.025, 0.1), (0.01, 0.5), (0.3, 0.3)])
def test_futility_stands_below_efficacy_at_every_look_but_the_last(looks: int, alpha: float, beta: float) -> None:
    design = group_design(looks, alpha, beta)
    futility = design.futility + drift(looks, alpha, beta) * np.sqrt(design.fractions)
    assert np.all(futility[:-1] < design.efficacy[:-1])
    assert futility[-1] == pytest.approx(design.efficacy[-1], abs=1e-6)
    assert np.all(np.diff(design.efficacy) < 0.0)
    assert np.all(np.diff(futility) > 0.0)


PATTERNS = {  # n, changed samples, theta, alpha, looks
    "every sample": (8, tuple(range(8)), 60.0, 0.3, 3),
    "at the looks": (40, (9, 19, 29, 39, 10, 20, 30, 0), 15.0, 0.25, 4),
    "late": (60, (50, 51, 52, 53, 54, 57, 58, 59), 8.0, 0.2, 20),
    "spread": (100, (3, 20, 21, 45, 60, 61, 77, 99), 6.0, 0.1, 5),
    "none between looks": (30, (0, 1, 2, 3, 24, 25, 26, 27), 20.0, 0.3, 10),
}


@cache
def enumerated(name: str) -> dict[tuple[int, ...], SequentialResult]:
    _, changed, theta, alpha, looks = PATTERNS[name]
    rates = {"theta": theta, "alpha": alpha, "beta": 0.2, "looks": looks}
    patterns = itertools.product((-1, 1), repeat=len(changed))
    return {signs: group_sequential_test(units_of(values(name, signs)), **rates) for signs in patterns}


def values(name: str, signs: tuple[int, ...]) -> np.ndarray:
    n, changed, *_ = PATTERNS[name]
    made = np.zeros(n)
    made[sorted(changed)] = -100.0 * np.array(signs)
    return made


@pytest.mark.slow
@each("name", PATTERNS)
def test_by_each_look_no_more_signs_are_a_regression_than_the_spending_allows(name: str) -> None:
    n, _, _, alpha, looks = PATTERNS[name]
    results = enumerated(name).values()
    for look in range(1, looks + 1):
        at = math.ceil(look * n / looks)
        rejected = np.mean([result.stop == "regression" and result.n <= at for result in results])
        assert rejected <= obrien_fleming_spending(np.array([look / looks]), alpha)[0] + 1e-12
    early = {result.stop for result in results if result.n < n}
    assert name == "late" or early == {"regression", "futility"}


@pytest.mark.slow
@each("name", PATTERNS)
def test_runs_stop_at_looks_and_p_limits_and_losses_agree(name: str) -> None:
    n, _, _, alpha, looks = PATTERNS[name]
    results = enumerated(name)
    p_values = np.array([result.p_value for result in results.values()])
    for signs, result in results.items():
        assert result.n in {math.ceil(look * n / looks) for look in range(1, looks + 1)}
        assert_agrees(result, alpha)
        assert np.mean(p_values <= result.p_value + 1e-12) <= result.p_value + 1e-9
        for i in (i for i, sign in enumerate(signs) if sign < 0 and result.stop == "regression"):
            assert results[(*signs[:i], 1, *signs[i + 1 :])].stop == "regression"


def first_pass(sample: np.ndarray, theta: float) -> int | None:
    """Samples at the first look but the last where the losses are as few as the futility bound asks."""
    design, n = group_design(20, 0.05, 0.2), len(sample)
    for look in range(19):
        at = math.ceil((look + 1) * n / 20)
        error = math.sqrt(max(float(np.sum(sample[:at] ** 2)), 100.0 * theta * at))
        if -sample[:at].sum() - theta * at <= design.futility[look] * error:
            return at
    return None


@pytest.mark.parametrize("q", [0.01, 0.03, 0.1, 0.4])
def test_a_run_passes_at_the_first_look_that_is_under_the_futility_bound(q: float) -> None:
    """Of a drop of 4 points at least 4% change: where fewer did the bound is not narrower."""
    passed = set()
    for seed in range(25):
        sample = drawn(np.random.default_rng(seed), 1500, q, 0.0)
        result = group_sequential_test(units_of(sample), theta=4.0, alpha=0.05, beta=0.2, figures=False)
        first = first_pass(sample, 4.0)
        before = sample[:first]
        if first is None or binom.sf(np.sum(before < 0.0) - 1, np.count_nonzero(before), 0.5) <= 0.05:
            continue  # no run passes that all the error would reject
        assert result.n == first or (result.n < first and result.stop == "regression")
        passed.add(result.n)
    assert passed


@pytest.mark.slow
@each("name", PATTERNS)
def test_p_of_a_run_that_does_not_pass_is_the_same_without_futility(name: str) -> None:
    _, _, _, alpha, looks = PATTERNS[name]
    rates = {"theta": 1e-3, "alpha": alpha, "beta": 0.2}
    for signs, result in enumerated(name).items():
        if result.stop != "futility":
            past = group_sequential_test(units_of(values(name, signs)), looks=looks, figures=False, **rates)
            assert (result.stop, result.n, result.p_value) == (past.stop, past.n, past.p_value)


def test_no_change_passes_at_a_look_and_too_few_samples_do_not() -> None:
    passed = group_sequential_test(units_of(np.zeros(1000)), theta=2.0, **RATES)
    assert (passed.stop, passed.n % 50, passed.p_value, passed.theta) == ("futility", 0, 1.0, 2.0)
    assert passed.n < 500
    ended = group_sequential_test(units_of(np.zeros(40)), theta=2.0, **RATES)
    assert (ended.stop, ended.n, ended.reasons) == ("end", 40, ("no sample changed its score",))
    cost = 1.02 * group_design(20, 0.05, 0.2).inflation
    assert ended.theta == pytest.approx(drop_of_losses(int(40 / cost)), rel=1e-5)


def test_losses_between_two_looks_are_of_the_second() -> None:
    sample = np.zeros(2000)
    sample[110:170] = -100.0
    result = group_sequential_test(units_of(sample), theta=2.0, **RATES)
    assert (result.stop, result.n) == ("regression", 200)
    assert result.difference < 0.0
