"""The sequential test of other scores: what it spends, where it stops, and its rates in simulated runs."""

import math

import numpy as np
import pytest
from scipy.stats import norm

from accgate.stats.bootstrap import drop_score, weighted_bootstrap
from accgate.stats.brownian import efficacy_bounds, median_drift, spent_by, stagewise_p
from accgate.stats.graded import Course, graded_boundaries, graded_next, graded_test
from accgate.stats.gsprt import n_without_change
from accgate.stats.sequential import units_of
from tests.stats.sequences import RATES, assert_agrees, assert_same, slack
from tests.support.cases import each


def test_p_by_stages_of_a_z_at_the_bound_is_what_is_spent_by_then() -> None:
    course = Course(600, 2.0, 0.05, 0.2)
    bounds = efficacy_bounds(course.fractions, 5, 1, 0.05)
    spent = spent_by(np.array(course.fractions), 1, 0.05)
    assert np.isinf(bounds[:5]).all()
    for look in range(5, len(bounds)):
        assert stagewise_p(course.fractions, bounds, look, float(bounds[look])) == pytest.approx(spent[look], rel=1e-4)
    never = np.full(len(bounds), math.inf)
    assert stagewise_p(course.fractions, never, 7, 1.2) == pytest.approx(norm.sf(1.2))


def test_looks_come_at_a_twelfth_more_samples_each_up_to_the_end() -> None:
    for n in (1, 29, 30, 100, 1319, 14_042):
        looks = Course(n, 2.0, 0.05, 0.2).n
        assert looks[-1] == n
        assert looks[0] <= max(33, min(n, 30))
        assert np.all(looks[1:] / looks[:-1] <= 1.08 + 1.0 / looks[:-1])


SHAPES = {
    "normal": lambda rng, n: rng.normal(0.0, 8.0, n),
    "sparse": lambda rng, n: np.where(rng.random(n) < 0.3, rng.normal(0.0, 15.0, n), 0.0),
    "lognormal": lambda rng, n: 5.0 * (np.exp(rng.standard_normal(n)) - math.exp(0.5)),
    "losses": lambda rng, n: np.where(rng.random(n) < 0.03, -40.0, 1.2 / 0.97 + rng.normal(0.0, 3.0, n)),
}


def test_the_last_look_alone_is_the_test_of_a_fixed_n() -> None:
    """Twenty changes of 150 samples: no look but the last may reject."""
    d = np.zeros(150)
    d[::8] = -np.random.default_rng(1).random(len(d[::8])) * 5.0
    result, fixed = graded_test(units_of(d), theta=0.4, **RATES), weighted_bootstrap(d, 150, **RATES)
    assert (result.stop, result.n) == ("regression", 150)
    assert result.p_value == pytest.approx(fixed.p_value, rel=1e-6)
    assert result.interval.one_sided == pytest.approx(fixed.interval.one_sided, abs=1e-4)


def test_a_run_without_any_change_rules_out_whole_losses_of_its_own_scale() -> None:
    for loss in (1.0, 100.0, 1000.0):
        result = graded_test(units_of(np.zeros(50), binary=False, loss=loss), theta=loss, **RATES)
        assert result.interval.one_sided == pytest.approx(loss * (1.0 - 0.05 ** (1 / result.n)))


@each("shape", SHAPES)
@each("drop", [0.0, 3.0])
def test_the_beginning_of_a_run_is_open_up_to_where_the_whole_run_stops(shape: str, drop: float) -> None:
    d = SHAPES[shape](np.random.default_rng(3), 400) - drop
    whole = graded_test(units_of(d, binary=False), theta=2.0, **RATES)
    for k in [1, 5, 29, 60, 101, 180, whole.n - 1, whole.n, min(whole.n + 3, 400), 400]:
        units = units_of(d[:k], n_max=400, binary=False)
        assert graded_test(units, theta=2.0, figures=False, **RATES).open == (k < whole.n)
        if k >= whole.n:
            assert_same(graded_test(units, theta=2.0, **RATES), whole)


@pytest.mark.parametrize(
    ("shape", "drop", "theta"),
    [("normal", 0.0, 2.0), ("normal", 4.0, 2.0), ("normal", 3.0, 12.0), ("lognormal", 0.0, 2.0), ("losses", 2.0, 2.0)],
)
def test_boundaries_are_where_the_run_stops(shape: str, drop: float, theta: float) -> None:
    d = SHAPES[shape](np.random.default_rng(5), 600) - drop
    result = graded_test(units_of(d, binary=False), theta=theta, **RATES)
    walk = graded_boundaries(units_of(d[: result.n], n_max=600, binary=False), theta=theta, **RATES)
    sums = np.cumsum(d)
    fails = [n for n, limit in walk.fails if sums[int(n) - 1] <= limit]
    passes = [n for n, limit in walk.passes if sums[int(n) - 1] >= limit]
    assert fails == ([result.n] if result.stop == "regression" else [])
    assert passes == ([result.n] if result.stop == "futility" else [])
    assert all(n < 600 for n, _ in graded_boundaries(units_of(d, binary=False), theta=theta, **RATES).passes)


def test_no_bounded_score_passes_before_a_drop_of_whole_losses_would_have_shown_one() -> None:
    d = np.tile([0.5, -0.5], 500)
    bounded, free = (
        graded_test(units_of(d, binary=False, loss=loss), theta=2.0, **RATES) for loss in (100.0, math.inf)
    )
    assert bounded.stop == free.stop == "futility"
    assert free.n < n_without_change(2.0, beta=0.2) <= bounded.n <= 1.08 * n_without_change(2.0, beta=0.2) + 1
    assert graded_test(units_of(np.zeros(500), binary=False, loss=math.inf), theta=2.0, **RATES).n >= 89


@pytest.mark.parametrize("loss", [100.0, math.inf])
def test_no_run_passes_that_all_the_error_would_reject(loss: float) -> None:
    for seed in range(10):
        d = np.random.default_rng(seed).normal(-2.0, 4.0, 300)
        result = graded_test(units_of(d, loss=loss), theta=8.0, figures=False, **RATES)
        if result.stop == "futility":
            assert float(drop_score(d[: result.n], np.ones(result.n))) < 1.6449


def test_the_next_look_is_where_the_run_stops_and_its_share_is_whole_there() -> None:
    d = SHAPES["normal"](np.random.default_rng(6), 500)
    result = graded_test(units_of(d, binary=False), theta=2.0, **RATES)
    before = graded_next(units_of(d[: result.n - 1], n_max=500, binary=False), theta=2.0, **RATES)
    now = graded_next(units_of(d[: result.n], n_max=500, binary=False), theta=2.0, **RATES)
    assert result.stop == "futility"
    assert before.next_n == result.n
    assert now.share == 1.0
    early = graded_next(units_of(d[:20], n_max=500, binary=False), theta=2.0, **RATES)
    assert (early.next_n, early.allowed) == (32, 0.0)
    assert 0.0 <= early.share <= 20 / 89
    assert math.isnan(early.passes)
    lower = d[:40] - 1.0
    free = graded_next(units_of(lower, n_max=500, binary=False, loss=math.inf), theta=2.0, **RATES)
    assert free.share == pytest.approx((2.0 * 40 + lower.sum()) / (2.0 * 40 + free.passes))
    assert 0.0 < free.share < 1.0


def test_only_a_run_that_came_to_its_end_reports_what_it_sees() -> None:
    """Rough changes and a small target: the whole run sees less than was asked for."""
    noise = np.random.default_rng(7).normal(0.0, 40.0, 400)
    early = graded_test(units_of(noise - 25.0, loss=math.inf), theta=1.0, **RATES)
    assert (early.stop, early.theta) == ("regression", None)
    assert early.n < 400
    samples = (np.random.default_rng(seed).normal(-2.0, 40.0, 400) for seed in range(20))
    whole = next(r for d in samples if (r := graded_test(units_of(d, loss=math.inf), theta=1.0, **RATES)).n == 400)
    assert whole.stop == "end"
    assert 2.4865 * 40.0 / 20.0 < whole.theta < 1.35 * 2.4865 * 40.0 / 20.0


@each("sample", [[0.0], [-7.0], [5.0], [0.0, -3.0], [-7.5] * 30, [1e-9] * 200, [-97.0] * 500])
def test_tiny_and_constant_runs_have_a_defined_answer(sample: list[float]) -> None:
    result = graded_test(units_of(np.array(sample), binary=False), theta=2.0, **RATES)
    assert_agrees(result, 0.05)
    is_early, too_few = result.stop == "regression" and result.n < result.n_max, len(sample) < 4
    assert (result.theta is None) == (is_early or too_few)  # one or two whole losses are never rejected


def test_the_estimate_of_a_run_that_stopped_looks_less_clear_than_its_means() -> None:
    for d, stop in (
        (np.random.default_rng(0).normal(0.3, 5.0, 2000), "futility"),
        (np.random.default_rng(0).normal(-1.2, 5.0, 2000), "regression"),
    ):
        result = graded_test(units_of(d, binary=False, loss=math.inf), theta=1.0, **RATES)
        assert result.stop == stop
        assert abs(result.estimate) < abs(result.difference)
    assert graded_test(units_of(np.zeros(400), binary=False), theta=3.0, **RATES).estimate == 0.0


def test_a_clear_run_that_its_first_bound_stopped_is_estimated_by_its_means() -> None:
    d = np.full(400, -5.0) + np.random.default_rng(0).normal(0.0, 1.0, 400)
    result = graded_test(units_of(d, binary=False, loss=math.inf), theta=3.0, **RATES)
    assert (result.stop, result.n) == ("regression", 101)
    assert result.estimate == pytest.approx(result.difference, abs=1e-4)


@pytest.mark.slow
def test_a_drop_far_smaller_than_theta_is_estimated_within_its_interval() -> None:
    """A look that rules out theta passes no run in which a drop is in sight, so it says nothing of the sums there."""
    rng = np.random.default_rng(7)
    below = []
    for _ in range(40):
        d = np.clip(rng.normal(-4.0, 8.0, 600), -100.0, 100.0)
        result = graded_test(units_of(d, binary=False), theta=8.0, **RATES)
        estimate = result.difference if result.estimate is None else result.estimate
        assert result.interval.two_sided[0] <= estimate <= result.interval.two_sided[1]
        below.append(estimate < -4.0)
    assert abs(np.mean(below) - 0.5) <= 0.15


def test_walks_end_as_often_above_the_median_drift_as_below() -> None:
    """Five looks, with bounds on both sides; the drift is 0, half of that which the bounds serve, and all of it."""
    times, rng, runs = np.arange(1, 6) / 5, np.random.default_rng(4), 150
    lows, highs = np.array([-3.2, -2.6, -2.4, -2.3, -np.inf]), np.array([0.6, 0.1, -0.4, -0.9, np.inf])
    for drift in (0.0, -1.5, -3.0):
        walks = np.cumsum(rng.standard_normal((runs, 5)) * math.sqrt(0.2) + drift * 0.2, axis=1)
        ends = np.argmax((walks <= lows) | (walks >= highs) | (times == 1.0), axis=1)
        estimates = []
        for walk, end in zip(walks, ends, strict=True):
            t, root = times[: end + 1] / times[end], math.sqrt(times[end])
            score = float(walk[end]) / root
            estimates.append(median_drift(t, lows[:end] / root, highs[:end] / root, score) / root)
        assert abs(np.mean(np.array(estimates) < drift) - 0.5) <= slack(0.5, runs)
        plain = [walk[end] / times[end] for walk, end in zip(walks, ends, strict=True)]
        assert abs(np.median(estimates) - drift) <= abs(np.median(plain) - drift)
