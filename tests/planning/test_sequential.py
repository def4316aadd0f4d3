"""Plans of tests that stop early: the most samples, and what a run takes on average, against simulated runs."""

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from accgate import plan
from accgate.errors import BadInput
from accgate.stats.betting import e_process_test
from accgate.stats.group_sequential import group_design, group_sequential_test
from accgate.stats.gsprt import gsprt_test
from accgate.stats.names import TestName
from accgate.stats.sequential import SequentialResult, Units, units_of
from tests.stats.sequences import drawn

RUNS = 100
TESTS: tuple[TestName, ...] = ("gsprt", "group-sequential", "e-process")
by_test = pytest.mark.parametrize("test", TESTS)
Judge = Callable[[Units, float, float, float, float], SequentialResult]
JUDGES: dict[str, Judge] = {
    "gsprt": lambda units, theta, q, alpha, beta: gsprt_test(
        units, theta=theta, alpha=alpha, beta=beta, discordance=q, figures=False
    ),
    "group-sequential": lambda units, theta, _, alpha, beta: group_sequential_test(
        units, theta=theta, alpha=alpha, beta=beta, figures=False
    ),
    "e-process": lambda units, theta, _, alpha, beta: e_process_test(
        units, bound=100.0, theta=theta, alpha=alpha, beta=beta, figures=False
    ),
}
DESIGNS = {  # theta, discordance, alpha, beta
    "greedy": (2.0, 0.05, 0.05, 0.2),
    "coarse": (6.0, 0.15, 0.05, 0.1),
    "strict": (4.0, 0.08, 0.01, 0.2),
}
by_design = pytest.mark.parametrize("name", DESIGNS)


@cache
def simulated(test: TestName, name: str, dropped: bool) -> tuple[float, float, float]:
    """(mean n, its standard error, share of regressions) of runs at the planned most."""
    theta, q, alpha, beta = DESIGNS[name]
    n = plan(theta, discordance=q, alpha=alpha, beta=beta, test=test).n
    rng = np.random.default_rng(sum(map(ord, test + name)) + dropped)
    found = [JUDGES[test](units_of(drawn(rng, n, q, theta * dropped)), theta, q, alpha, beta) for _ in range(RUNS)]
    used = [r.n for r in found]
    failed = np.mean([r.stop == "regression" for r in found])
    return float(np.mean(used)), float(np.std(used)) / math.sqrt(RUNS), float(failed)


@pytest.mark.slow
@by_test
@by_design
def test_expected_samples_are_near_those_of_simulated_runs(
    test: TestName, name: str, request: pytest.FixtureRequest
) -> None:
    theta, q, alpha, beta = DESIGNS[name]
    if (test, name) == ("e-process", "coarse"):
        reason = "at beta = 0.1 healthy runs take a fifth more than is expected"
        request.applymarker(pytest.mark.xfail(strict=True, reason=reason))
    planned = plan(theta, discordance=q, alpha=alpha, beta=beta, test=test)
    for dropped, expected in ((False, planned.expected_n_healthy), (True, planned.expected_n_dropped)):
        mean, error, _ = simulated(test, name, dropped)
        chance = 2.0 * error if test == "gsprt" else 0.0
        assert expected == pytest.approx(mean, abs=max(0.12 * mean, 0.05 * mean + chance))
    assert planned.expected_n_healthy < planned.n
    assert planned.expected_n_dropped < planned.n


@pytest.mark.slow
@by_test
@by_design
def test_runs_at_the_planned_most_have_the_error_rates_asked_for(test: TestName, name: str) -> None:
    _, _, alpha, beta = DESIGNS[name]
    assert simulated(test, name, False)[2] <= alpha + 3 * math.sqrt(alpha * (1 - alpha) / RUNS)
    assert simulated(test, name, True)[2] >= 1 - beta - 3 * math.sqrt(beta * (1 - beta) / RUNS)


@by_design
@pytest.mark.parametrize("test", ["gsprt", "group-sequential"])
def test_early_stopping_saves_samples_against_the_fixed_test(test: TestName, name: str) -> None:
    theta, q, alpha, beta = DESIGNS[name]
    fixed = plan(theta, discordance=q, alpha=alpha, beta=beta)
    early = plan(theta, discordance=q, alpha=alpha, beta=beta, test=test)
    assert early.n > fixed.n
    assert max(early.expected_n_healthy, early.expected_n_dropped) < fixed.n
    assert (fixed.expected_n_healthy, fixed.expected_n_dropped) == (fixed.n, fixed.n)


def test_the_most_samples_are_those_of_the_fixed_test_times_what_stopping_costs() -> None:
    fixed = plan(2.0, discordance=0.05, test="paired").n
    assert plan(2.0, discordance=0.05, test="gsprt").n == pytest.approx(1.43 * fixed, abs=8)
    inflation = group_design(20, 0.05, 0.2).inflation
    assert plan(2.0, discordance=0.05, test="group-sequential").n == pytest.approx(1.02 * inflation * fixed, abs=2)
    assert plan(2.0, discordance=0.05, test="e-process").n == pytest.approx(3.0 * fixed, abs=1)


@pytest.mark.slow
@by_test
@given(
    theta=st.floats(1.0, 20.0),
    q=st.floats(0.0, 0.5),
    alpha=st.sampled_from([0.01, 0.05, 0.2]),
    beta=st.sampled_from([0.05, 0.2, 0.3]),
)
@settings(max_examples=15)
def test_a_plan_sees_its_target_with_all_its_samples(
    test: TestName, theta: float, q: float, alpha: float, beta: float
) -> None:
    rates: dict[str, Any] = {"discordance": q, "alpha": alpha, "beta": beta, "test": test}
    planned = plan(theta, **rates)
    assert planned.reachable
    assert planned.test == test
    assert planned.theta == planned.theta_target == theta
    assert 0 < planned.expected_n_healthy <= planned.n
    assert 0 < planned.expected_n_dropped <= planned.n
    assert plan(theta, n_max=10**9, **rates) == planned
    few = plan(theta, n_max=max(1, planned.n // 2), **rates)
    assert few.n == max(1, planned.n // 2)
    if planned.n > 20:
        assert not few.reachable
        assert few.theta >= theta
        assert max(few.expected_n_healthy, few.expected_n_dropped) <= few.n


def test_a_plan_with_large_error_rates_expects_samples_too() -> None:
    for alpha, beta in ((0.2, 0.5), (0.4, 0.4), (0.3, 0.2)):
        planned = plan(5.0, discordance=0.1, alpha=alpha, beta=beta, test="gsprt")
        assert 0 < planned.expected_n_healthy <= planned.n
        assert 0 < planned.expected_n_dropped <= planned.n


def test_the_gsprt_reaches_its_target_with_a_third_more_than_the_fixed_test() -> None:
    fixed = plan(2.0, discordance=0.05, test="paired").n
    assert plan(2.0, discordance=0.05, test="gsprt", n_max=math.ceil(1.4 * fixed)).reachable
    short = plan(2.0, discordance=0.05, test="gsprt", n_max=math.ceil(1.4 * fixed) - 1)
    assert not short.reachable
    assert plan(2.0, discordance=0.05, test="gsprt", n_max=math.ceil(1.4 * fixed)).theta == 2.0


def test_with_its_least_samples_the_gsprt_takes_longer_on_average_and_keeps_its_power() -> None:
    theta, q, alpha, beta = DESIGNS["greedy"]
    n = math.ceil(1.4 * plan(theta, discordance=q, test="paired").n)
    planned = plan(theta, discordance=q, test="gsprt", n_max=n)
    full = plan(theta, discordance=q, test="gsprt")
    assert planned.expected_n_healthy > full.expected_n_healthy
    for dropped, expected in ((False, planned.expected_n_healthy), (True, planned.expected_n_dropped)):
        rng = np.random.default_rng(n + dropped)
        found = [
            JUDGES["gsprt"](units_of(drawn(rng, n, q, theta * dropped)), theta, q, alpha, beta) for _ in range(RUNS)
        ]
        assert expected == pytest.approx(np.mean([result.n for result in found]), rel=0.12)
        rejected = np.mean([result.stop == "regression" for result in found])
        if dropped:
            assert rejected >= 0.8 - 3 * math.sqrt(0.16 / RUNS)


@by_test
def test_several_checks_share_alpha(test: TestName) -> None:
    shared = plan(2.0, discordance=0.05, test=test, checks=4)
    assert shared == plan(2.0, discordance=0.05, test=test, alpha=0.05 / 4)
    assert shared.alpha == 0.0125
    assert shared.n > plan(2.0, discordance=0.05, test=test).n


@by_test
def test_sigma_plans_scores_other_than_0_and_100(test: TestName) -> None:
    planned = plan(2.0, sigma=20.0, test=test)
    fixed = plan(2.0, sigma=20.0, test="paired").n
    spread = 20.0**2 + 100.0 * 2.0  # with that of a drop made of whole losses
    assert fixed == pytest.approx((norm.isf(0.05) + norm.isf(0.2)) ** 2 * spread / 2.0**2, rel=0.03)
    assert planned.n >= 1.1 * fixed
    assert (planned.sigma, planned.discordance) == (20.0, None)
    assert 0 < planned.expected_n_healthy < planned.n
    assert 0 < planned.expected_n_dropped < planned.n


@pytest.mark.slow
@pytest.mark.parametrize(
    ("test", "drop"),
    [("gsprt", 0.0), ("group-sequential", 0.0), ("group-sequential", 4.0)],
)
def test_expected_samples_of_other_scores_are_near_those_of_simulated_runs(test: TestName, drop: float) -> None:
    planned = plan(4.0, sigma=20.0, test=test)
    expected = planned.expected_n_dropped if drop else planned.expected_n_healthy
    rng = np.random.default_rng(int(drop))
    runs = [rng.normal(-drop, 20.0, planned.n) for _ in range(60)]
    used = [JUDGES["group-sequential"](units_of(values), 4.0, 0.0, 0.05, 0.2).n for values in runs]  # decides both
    assert expected == pytest.approx(np.mean(used), rel=0.22)


def test_without_sigma_and_discordance_a_tenth_is_assumed_to_change() -> None:
    for test in TESTS:
        assert plan(2.0, test=test) == plan(2.0, test=test, discordance=0.1)


@by_test
def test_a_drop_beyond_the_scale_is_refused(test: TestName) -> None:
    with pytest.raises(BadInput, match="cannot drop by more than 100 points"):
        plan(101.0, discordance=0.1, test=test)
    assert plan(100.0, discordance=0.1, test=test).n >= 1
