"""What sequential tests share: units in their order, and the figures of a result."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, norm

from accgate.stats.betting import e_process_test
from accgate.stats.graded import graded_test
from accgate.stats.group_sequential import group_sequential_test
from accgate.stats.gsprt import gsprt_test
from accgate.stats.sequential import SequentialResult, units_of, visible_effect
from tests.stats.sequences import RATES, assert_agrees, assert_same, drawn, sequences
from tests.support.cases import each

TESTS: dict[str, Callable[..., SequentialResult]] = {
    "gsprt": partial(gsprt_test, theta=2.0, **RATES),
    "group-sequential": partial(group_sequential_test, theta=2.0, **RATES),
    "e-process": partial(e_process_test, bound=100.0, theta=2.0, **RATES),
    "graded": partial(graded_test, theta=2.0, **RATES),
}
by_test = pytest.mark.parametrize("name", TESTS)
thetas, alphas = st.floats(0.5, 60.0), st.sampled_from([0.01, 0.05, 0.2, 0.4])


@given(run=sequences(), extra=st.integers(0, 50))
def test_units_are_samples_or_whole_clusters_in_order_of_appearance(run, extra: int) -> None:
    values, codes = run
    units = units_of(values, codes, n_max=len(values) + extra)
    groups: dict[int, list[float]] = {}
    for place, value in enumerate(values):
        groups.setdefault(place if codes is None else int(codes[place]), []).append(float(value))
    assert units.totals == pytest.approx([sum(group) for group in groups.values()], abs=1e-9)
    assert units.sizes.tolist() == [len(group) for group in groups.values()]
    assert units.samples.tolist() == np.cumsum([len(group) for group in groups.values()]).tolist()
    assert units.n_max == len(values) + extra
    assert units.exact == (codes is None and set(values.tolist()) <= {-100.0, 0.0, 100.0})


def test_a_cluster_whose_changes_cancel_but_for_rounding_did_not_change() -> None:
    assert units_of(np.array([-100.0, 100.0, 0.0]), np.array([1, 1, 2])).events.tolist() == []
    units = units_of(np.array([10.0, 0.1, 0.2, 5.0, -0.3]), np.array([4, 1, 1, 9, 1]))
    assert units.events.tolist() == [0, 2]


def run_of(name: str, data: st.DataObject) -> tuple[np.ndarray, np.ndarray | None, dict[str, Any]]:
    """(differences, clusters or None) that a test takes, whole clusters in a row, and its other options."""
    values, codes = data.draw(sequences(exact=name == "gsprt"))
    options = {"gsprt": {"discordance": data.draw(st.none() | st.floats(0.0, 1.0))}, "group-sequential": {"looks": 5}}
    return values, None if codes is None else np.sort(codes), options.get(name, {})


@by_test
@given(theta=thetas, alpha=alphas, data=st.data())
def test_decision_threshold_p_and_limits_agree(name: str, theta: float, alpha: float, data: st.DataObject) -> None:
    values, codes, options = run_of(name, data)
    result = TESTS[name](units_of(values, codes, binary=name != "graded"), **options | {"theta": theta, "alpha": alpha})
    assert_agrees(result, alpha)
    assert not result.open
    assert 1 <= result.n <= result.n_max == len(values)
    assert result.difference == pytest.approx(values[: result.n].mean(), abs=1e-9)
    if name != "graded":
        assert result.theta is None or result.theta >= theta


@pytest.mark.parametrize("name", ["gsprt", "group-sequential", "e-process"])
@given(theta=thetas, alpha=alphas, data=st.data())
def test_the_answer_for_a_beginning_is_that_for_the_whole_run(name: str, theta: float, alpha: float, data) -> None:
    values, codes, options = run_of(name, data)
    rates = options | {"theta": theta, "alpha": alpha}
    whole = TESTS[name](units_of(values, codes), **rates)
    ends = np.arange(1, len(values)) if codes is None else np.flatnonzero(np.diff(codes)) + 1
    k = data.draw(st.sampled_from([*ends.tolist(), len(values)]))
    beginning = TESTS[name](units_of(values[:k], None if codes is None else codes[:k], n_max=len(values)), **rates)
    if beginning.open:
        assert k < whole.n or (name == "gsprt" and k == whole.n)  # it is asked once more where it stops
    else:
        assert_same(beginning, whole)


@each("name", ["group-sequential", "e-process"])
@each("values", [[0.0], [-100.0], [100.0], [5.0], [0.0, -3.0], [-100.0, 100.0], [-7.5] * 30])
def test_tiny_and_constant_runs_have_a_defined_answer(name: str, values: list[float]) -> None:
    result = TESTS[name](units_of(np.array(values)))
    assert_agrees(result, 0.05)
    assert (result.sigma is None) == (len(values) == 1)
    assert (result.theta is None) == (len(values) < 3)  # of so few no drop would be detected


@each("share", [0.6, 0.8, 0.9, 0.97])
@each("n", [60, 100, 400])
def test_a_candidate_that_lost_most_of_its_units_is_a_regression_however_skewed_that_is(share: float, n: int) -> None:
    """Where nine of ten lost all they had, the differences are skewed to rare zeros, far below 0."""
    rng = np.random.default_rng(n)
    for seen in (97.0, 100.0):
        values = np.where(rng.random(n) < share, -seen, 0.0)
        pairs = np.arange(n) // 2 if seen == 100.0 and n > 60 else None
        if pairs is not None or seen == 97.0:
            result = TESTS["group-sequential"](units_of(values, pairs))
            assert result.stop == "regression"
            assert_agrees(result, 0.05)


@pytest.mark.parametrize("name", ["gsprt", "group-sequential"])
def test_figures_are_of_the_samples_used(name: str) -> None:
    values = drawn(np.random.default_rng(3), 1192, 0.08, 6.0)
    result = TESTS[name](units_of(values))
    used = values[: result.n]
    assert (result.stop, result.theta) == ("regression", None)
    assert result.n < 900
    assert result.difference == pytest.approx(used.mean())
    assert result.sigma == pytest.approx(np.std(used, ddof=1))
    lost, gained = int(np.sum(used < 0)), int(np.sum(used > 0))
    critical = (result.threshold * result.n / -100.0 + lost + gained + 1) / 2.0  # gamma stands between two counts
    assert critical == pytest.approx(round(critical))
    assert lost >= round(critical) > lost - 3


@each("seed", [1, 19, 30, 47, 52, 69, 82, 102, 103, 106, 130, 131, 135])
def test_rounding_and_skewness_never_part_the_threshold_from_the_decision(seed: int) -> None:
    """Runs that end near the threshold, where skewness says otherwise than the mean."""
    normal = np.random.default_rng(seed).normal(-1.9, 10.0, 80)
    skewed = np.random.default_rng(seed).exponential(10.0, 80) - 12.2
    for values in (normal, skewed):
        assert_agrees(group_sequential_test(units_of(values), theta=3.0, **RATES), 0.05)


def test_other_scores_are_no_regression_before_100_of_them_changed() -> None:
    """Every fourth of 2,000 falls by about 30 points, which 20 changes show beyond doubt."""
    values = np.zeros(2000)
    values[::4] = -30.0 - np.random.default_rng(2).random(500)
    result = group_sequential_test(units_of(values), theta=0.5, **RATES)
    assert result.stop == "regression"
    assert 100 <= np.count_nonzero(values[: result.n]) <= 108


@pytest.mark.parametrize("cost", [1.0, 1.1, 3.0])
def test_what_a_run_sees_is_what_the_fixed_test_sees_on_fewer_samples(cost: float) -> None:
    rates = RATES | {"cost": cost}
    sum_of_quantiles = norm.isf(0.05) + norm.isf(0.2)
    binary = units_of(np.tile([-100.0, 100.0] + [0.0] * 18, 50))
    for n in (1000, 500):
        theta = visible_effect(binary, n - 1, **rates)
        pairs, m = int(n / cost), np.arange(int(n / cost) + 1)
        least = binom.isf(0.05, m, 0.5) + 1
        power = binom.pmf(m, pairs, 0.1) @ binom.sf(least - 1, m, 0.5 * (1.0 + theta / 10.0))
        assert power == pytest.approx(0.8, abs=1e-5)
    other = units_of(np.tile([-8.0, 8.0, 0.0, 0.0], 100), loss=math.inf)
    assert visible_effect(other, 399, **rates) == pytest.approx(sum_of_quantiles * 8 * math.sqrt(0.5 * cost / 400))
    codes = np.repeat(np.arange(200), 2)
    pairs = units_of(np.tile([-8.0, -8.0, 8.0, 8.0], 100), codes, loss=math.inf)
    assert visible_effect(pairs, 199, **rates) == pytest.approx(sum_of_quantiles * math.sqrt(cost * 200 * 16**2) / 400)
