"""The GSPRT on many simulated runs: its errors, its samples, and the drop that it says it would have seen."""

import math
from functools import cache

import numpy as np
import pytest

from accgate.stats.gsprt import gsprt_test
from accgate.stats.sequential import SequentialResult, units_of
from tests.cases import each
from tests.stats.sequences import drawn

RUNS = 150
WORLDS = {  # samples at most, discordance, theta, true drop
    "healthy": (1192, 0.05, 2.0, 0.0),
    "dropped": (1192, 0.05, 2.0, 2.0),
    "least samples, healthy": (1110, 0.05, 2.0, 0.0),
    "least samples, dropped": (1110, 0.05, 2.0, 2.0),
    "noisy": (400, 0.2, 6.0, 0.0),
    "noisy, dropped": (400, 0.2, 6.0, 8.0),
}


@cache
def simulated(world: str) -> tuple[SequentialResult, ...]:
    n_max, q, theta, drop = WORLDS[world]
    rng = np.random.default_rng(sum(map(ord, world)))
    return tuple(
        gsprt_test(units_of(drawn(rng, n_max, q, drop)), theta=theta, alpha=0.05, beta=0.2) for _ in range(RUNS)
    )


def slack(rate: float) -> float:
    """Three standard errors of a rate over the simulated runs."""
    return 3.0 * math.sqrt(rate * (1.0 - rate) / RUNS)


@pytest.mark.slow
@each("world", WORLDS)
def test_simulated_errors_are_as_planned(world: str) -> None:
    rejected = np.mean([result.stop == "regression" for result in simulated(world)])
    if WORLDS[world][3] == 0.0:
        assert rejected <= 0.05 + slack(0.05)
    else:
        assert rejected >= 0.8 - slack(0.2)


@pytest.mark.parametrize(
    ("world", "least", "most"),
    [
        ("healthy", 330, 470),
        ("dropped", 440, 600),
        ("least samples, healthy", 330, 470),
        ("least samples, dropped", 450, 650),
    ],
)
def test_runs_take_far_fewer_samples_than_the_833_of_the_fixed_test(world: str, least: int, most: int) -> None:
    assert least <= np.mean([result.n for result in simulated(world)]) <= most


@each("world", WORLDS)
def test_limits_hold_the_true_difference_wherever_the_run_stopped(world: str) -> None:
    truth = -WORLDS[world][3]
    limits = np.array([result.interval.two_sided for result in simulated(world) if result.interval is not None])
    assert np.mean(limits[:, 1] < truth) <= 0.05 + slack(0.05)
    assert np.mean(limits[:, 0] > truth) <= 0.05 + slack(0.05)


@pytest.mark.parametrize("world", [world for world, (*_, drop) in WORLDS.items() if drop == 0.0])
def test_p_values_of_healthy_runs_are_not_too_small(world: str) -> None:
    p_values = np.array([result.p_value for result in simulated(world)])
    for u in (0.01, 0.05, 0.1, 0.3, 0.5, 0.8):
        assert np.mean(p_values <= u) <= u + slack(u)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "q", "theta"), [(200, 0.14, 8.0), (600, 0.3, 4.0)])
def test_a_run_that_came_to_its_end_says_the_drop_that_it_sees_four_times_in_five(
    n: int, q: float, theta: float
) -> None:
    """With so much noise the run is too short for the theta that it looks for."""
    rates = {"theta": theta, "alpha": 0.02, "beta": 0.2}
    results = [
        gsprt_test(units_of(drawn(np.random.default_rng(seed), n, q, 0.5 * theta)), **rates) for seed in range(60)
    ]
    told = [result.theta for result in results if result.n == n and result.theta is not None]
    assert len(told) > 10
    assert all(result.theta is None for result in results if result.stop == "regression" and result.n < n)
    seen, runs = float(np.median(told)), 150
    assert seen > 1.02 * theta
    failed = sum(
        gsprt_test(units_of(drawn(np.random.default_rng(seed), n, q, seen)), figures=False, **rates).stop
        == "regression"
        for seed in range(runs)
    )
    assert failed / runs >= 0.8 - 3.0 * math.sqrt(0.16 / runs)


@pytest.mark.slow
@each(
    ("n", "q", "told", "theta"),
    [
        (1319, 0.05, 0.01, 2.0),
        (200, 0.10, 0.01, 6.5),
        (200, 0.10, None, 6.5),
        (200, 0.02, 0.40, 4.2),
        (60, 0.30, 0.05, 5.0),
        (100, 0.10, 0.10, 2.0),
    ],
)
def test_after_a_drop_of_theta_at_most_beta_of_all_runs_pass_whatever_discordance_was_told(
    n: int, q: float, told: float | None, theta: float
) -> None:
    """Where the samples are too few for theta, the others end inconclusive: their own theta is larger."""
    rng, runs, passed = np.random.default_rng(n), 300, 0
    rates = {"theta": theta, "alpha": 0.05, "beta": 0.2, "discordance": told}
    for _ in range(runs):
        units = units_of(drawn(rng, n, q, theta))
        stop = gsprt_test(units, figures=False, **rates).stop
        if stop == "end":  # it passes where it sees a drop of theta
            seen = gsprt_test(units, **rates).theta
            passed += seen is not None and seen <= theta
        passed += stop == "futility"
    assert passed / runs <= 0.2 + 3.0 * math.sqrt(0.16 / runs)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "q", "theta", "drop"), [(1319, 0.05, 2.0, 0.0), (400, 0.1, 5.0, 2.0), (200, 0.2, 9.0, 9.0)]
)
def test_the_estimate_after_an_early_stop_is_too_high_as_often_as_too_low(
    n: int, q: float, theta: float, drop: float
) -> None:
    rng, runs = np.random.default_rng(n), 200
    results = [gsprt_test(units_of(drawn(rng, n, q, drop)), theta=theta, alpha=0.05, beta=0.2) for _ in range(runs)]
    estimates = np.array([result.estimate for result in results], dtype=float)
    above, equal = np.mean(estimates > -drop + 1e-9), np.mean(np.abs(estimates + drop) <= 1e-9)
    assert above + equal / 2.0 == pytest.approx(0.5, abs=3.0 * 0.5 / math.sqrt(runs))
