"""The GSPRT on many simulated runs: its errors, its samples, and the drop that it says it would have seen."""

import math
from functools import cache

import numpy as np
import pytest

from accgate.stats.gsprt import gsprt_test
from accgate.stats.sequential import SequentialResult, units_of
from tests.stats.sequences import drawn

RUNS = 150
WORLDS = {  # samples at most, discordance, theta, true drop
    "healthy": (1192, 0.05, 2.0, 0.0),
    "dropped": (1192, 0.05, 2.0, 2.0),
    "least samples, healthy": (920, 0.05, 2.0, 0.0),
    "least samples, dropped": (920, 0.05, 2.0, 2.0),
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


@pytest.mark.parametrize("world", WORLDS)
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
        ("least samples, healthy", 400, 620),
        ("least samples, dropped", 450, 650),
    ],
)
def test_runs_take_far_fewer_samples_than_the_833_of_the_fixed_test(world: str, least: int, most: int) -> None:
    assert least <= np.mean([result.n for result in simulated(world)]) <= most


@pytest.mark.parametrize("world", WORLDS)
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


@pytest.mark.parametrize(
    ("n", "q", "theta", "enough"), [(200, 0.14, 8.0, False), (600, 0.3, 4.0, False), (1000, 0.02, 4.0, True)]
)
def test_a_run_that_failed_early_says_the_drop_that_it_would_have_seen_four_times_in_five(
    n: int, q: float, theta: float, enough: bool
) -> None:
    """With so much noise only the third run is long enough for the theta that it looks for."""
    rates = {"theta": theta, "alpha": 0.02, "beta": 0.2}
    told = [
        found.theta
        for seed in range(60)
        if (found := gsprt_test(units_of(drawn(np.random.default_rng(seed), n, q + 0.2, 20.0)), **rates)).stop
        == "regression"
        and found.theta is not None
    ]
    assert len(told) > 50
    seen = float(np.median(told))
    assert seen == theta if enough else seen > 1.05 * theta

    def power(drop: float) -> float:
        runs = (drawn(np.random.default_rng(seed), n, q + drop / 100.0, drop) for seed in range(250))
        return sum(gsprt_test(units_of(run), **rates).stop == "regression" for run in runs) / 250

    assert 0.75 < power(seen) < 0.95
    assert enough or power(theta) < 0.75


@pytest.mark.parametrize("n", [60, 100, 400])
def test_with_too_few_samples_a_drop_of_theta_is_ruled_out_no_more_often_than_beta(n: int) -> None:
    """A tenth of the samples changed: a drop of 2 points needs 1,629 of them to be seen."""
    rng = np.random.default_rng(n)
    found = [gsprt_test(units_of(drawn(rng, n, 0.1, 2.0)), theta=2.0, alpha=0.05, beta=0.2) for _ in range(RUNS)]
    ruled_out = [result.stop != "regression" and result.theta is not None and result.theta <= 2.0 for result in found]
    assert np.mean(ruled_out) <= 0.2 + slack(0.2)


@pytest.mark.parametrize("skew", ["losses", "gains"])
@pytest.mark.parametrize("changed", [0.3, 1.0])
def test_with_skewed_scores_the_errors_stay_near_their_levels(skew: str, changed: float) -> None:
    """Exponential changes with mean 0, whose skewness of 2 points to rare large losses, or gains."""
    rng, rejected = np.random.default_rng(9), 0
    for _ in range(RUNS):
        size = rng.exponential(10.0, 500) - 10.0
        values = np.where(rng.random(500) < changed, size if skew == "gains" else -size, 0.0)
        rejected += gsprt_test(units_of(values), theta=1.5, alpha=0.05, beta=0.2).stop == "regression"
    assert rejected / RUNS <= 0.05 + slack(0.05) + 0.01


def test_the_discordance_expected_moves_no_error_only_samples() -> None:
    rng = np.random.default_rng(10)
    runs = [drawn(rng, 1192, 0.05, 0.0) for _ in range(RUNS)]
    for q in (0.3,):
        found = [gsprt_test(units_of(values), theta=2.0, alpha=0.05, beta=0.2, discordance=q) for values in runs]
        assert np.mean([result.stop == "regression" for result in found]) <= 0.05 + slack(0.05)
