"""The GSPRT on many simulated runs: its errors, its samples, and the drop that it says it would have seen."""

import numpy as np
import pytest

from accgate.stats.gsprt import gsprt_test
from accgate.stats.sequential import SequentialResult, units_of
from tests.stats.sequences import RATES, drawn, slack
from tests.support.cases import each


@pytest.mark.slow
@pytest.mark.parametrize(("n", "q", "theta"), [(200, 0.14, 8.0), (600, 0.3, 4.0)])
def test_a_run_that_came_to_its_end_says_the_drop_that_it_sees_four_times_in_five(n, q, theta) -> None:
    """With so much noise the run is too short for the theta that it looks for."""
    rates = {"theta": theta, "alpha": 0.02, "beta": 0.2}

    def results(drop: float, runs: int, **figures: bool) -> list[SequentialResult]:
        draws = (np.random.default_rng(seed) for seed in range(runs))
        return [gsprt_test(units_of(drawn(rng, n, q, drop)), **rates, **figures) for rng in draws]

    first = results(0.5 * theta, 60)
    reported = [result.theta for result in first if result.n == n and result.theta is not None]
    assert len(reported) > 10
    assert all(result.theta is None for result in first if result.stop == "regression" and result.n < n)
    seen = float(np.median(reported))
    assert seen > 1.02 * theta
    failed = np.mean([result.stop == "regression" for result in results(seen, 150, figures=False)])
    assert failed >= 0.8 - slack(0.2, 150)


@pytest.mark.slow
@each(
    ("n", "q", "planned", "theta"),
    [
        (1319, 0.05, 0.01, 2.0),
        (200, 0.10, 0.01, 6.5),
        (200, 0.10, None, 6.5),
        (200, 0.02, 0.40, 4.2),
        (60, 0.30, 0.05, 5.0),
        (100, 0.10, 0.10, 2.0),
    ],
)
def test_after_a_drop_of_theta_at_most_beta_of_runs_pass_whatever_was_planned(n, q, planned, theta) -> None:
    """Where the samples are too few for theta, the others end inconclusive: their own theta is larger."""
    rng, runs, passed = np.random.default_rng(n), 300, 0
    rates = {"theta": theta, "discordance": planned, **RATES}
    for _ in range(runs):
        units = units_of(drawn(rng, n, q, theta))
        stop = gsprt_test(units, figures=False, **rates).stop
        if stop == "end":  # it passes where it sees a drop of theta
            seen = gsprt_test(units, **rates).theta
            passed += seen is not None and seen <= theta
        passed += stop == "futility"
    assert passed / runs <= 0.2 + slack(0.2, runs)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "q", "theta", "drop"), [(1319, 0.05, 2.0, 0.0), (400, 0.1, 5.0, 2.0), (200, 0.2, 9.0, 9.0)]
)
def test_the_estimate_after_an_early_stop_is_too_high_as_often_as_too_low(n, q, theta, drop) -> None:
    rng, runs = np.random.default_rng(n), 200
    results = [gsprt_test(units_of(drawn(rng, n, q, drop)), theta=theta, **RATES) for _ in range(runs)]
    estimates = np.array([result.estimate for result in results], dtype=float)
    above, equal = np.mean(estimates > -drop + 1e-9), np.mean(np.abs(estimates + drop) <= 1e-9)
    assert above + equal / 2.0 == pytest.approx(0.5, abs=slack(0.5, runs))
