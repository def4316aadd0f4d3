"""The sequential test of answers given several times: every draw spelt out, its bounds, and simulated runs."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from accgate.stats.answers import repeats_of
from accgate.stats.early_repeats import repeats_boundaries, repeats_sequential, visible_drop
from tests.stats.sequences import RATES, rejects
from tests.stats.test_repeats import run_of
from tests.support.cases import each


@each(("repeats", "runs", "n", "alpha"), [(2, 1, 5, 0.1), (3, 1, 3, 0.3), (1, 2, 3, 0.2), (2, 2, 2, 0.3)])
def test_every_level_holds_over_all_draws(repeats: int, runs: int, n: int, alpha: float) -> None:
    both = np.random.default_rng(repeats + 10 * runs).integers(0, 2, (n, repeats + runs))
    both[np.ptp(both, axis=1) == 0, 0] ^= 1  # so that each sample tells something
    p_values = []
    for picks in itertools.product(itertools.combinations(range(repeats + runs), runs), repeat=n):
        now = np.array([row[list(pick)] for row, pick in zip(both, picks, strict=True)])
        before = np.array([np.delete(row, list(pick)) for row, pick in zip(both, picks, strict=True)])
        answers = repeats_of(100.0 * before, 100.0 * now)
        result = repeats_sequential(answers, theta=30.0, alpha=alpha, beta=0.2, figures=False)
        p_values.append(result.p_value)
        assert (result.stop == "regression") == (result.p_value <= alpha)
    for level in np.unique(p_values):
        assert np.mean(np.array(p_values) <= level) <= level + 1e-9


@given(
    st.integers(0, 10**6), st.sampled_from([(1, 1), (4, 1), (1, 3), (5, 2)]), st.sampled_from([0.0, 0.1, 0.6]),
    st.sampled_from([0.0, 10.0, 40.0]), st.sampled_from([2.0, 8.0, 30.0]),
)  # fmt: skip
def test_a_run_decides_on_its_beginning(seed: int, shape, noise: float, drop: float, theta: float) -> None:
    whole = run_of(seed, 150, *shape, noise=noise, drop=drop)
    result = repeats_sequential(whole, theta=theta, **RATES)
    assert not result.open
    assert repeats_sequential(whole.first(result.n), theta=theta, **RATES) == result
    if result.n > 1:
        before = repeats_sequential(whole.first(result.n - 1), theta=theta, figures=False, **RATES)
        assert before.open
    assert (result.stop == "regression") == (result.p_value <= 0.05)
    assert (result.stop == "regression") == rejects(result)
    assert (result.interval.one_sided < 0.0) == (result.stop == "regression")
    if result.theta is None:  # samples that nobody evaluated would say, or no drop is large enough
        assert result.stop == "regression" or result.n == 150
    else:
        assert result.theta >= theta


@each(("seed", "drop"), [(1, 0.0), (2, 6.0), (3, 2.0), (4, 0.0), (5, 4.0)])
def test_a_run_stops_where_its_sum_meets_a_boundary(seed: int, drop: float) -> None:
    run = run_of(seed, 600, 4, 1, noise=0.1, drop=drop)
    result = repeats_sequential(run, theta=4.0, **RATES)
    lines = repeats_boundaries(run, theta=4.0, **RATES)
    total = float(run.totals[: result.n].sum())
    if result.stop == "regression":
        assert lines.fails[-1][0] == result.n
        assert total <= lines.fails[-1][1] + 1e-9
    if result.stop == "futility":
        assert lines.passes[-1][0] == result.n
        assert total >= lines.passes[-1][1] - 1e-9
    sums = np.cumsum(run.totals)
    assert all(sums[int(n) - 1] > limit for n, limit in lines.fails if n < result.n)
    assert all(sums[int(n) - 1] < limit - 1e-9 for n, limit in lines.passes if n < result.n)


WORLDS = {  # n_max, repeats, runs, share of noisy samples, theta, least power
    "as planned": (1319, 4, 1, 0.15, 2.0, 0.8),
    "few samples differ": (1319, 4, 1, 0.02, 2.0, 0.8),
    "small": (200, 8, 1, 0.06, 5.0, 0.8),
    "one answer of the reference": (900, 1, 4, 0.15, 2.0, 0.8),
    "two sides of three": (500, 3, 3, 0.3, 3.0, 0.8),
    "too short": (300, 4, 1, 0.5, 2.0, 0.0),
}


@pytest.mark.slow
@each("world", WORLDS)
def test_error_rates_are_as_planned(world: str) -> None:
    n, repeats, runs, noise, theta, least = WORLDS[world]
    count, stops = 80, {}
    for drop in (0.0, theta):
        draws = (run_of(seed, n, repeats, runs, noise=noise, drop=drop) for seed in range(count))
        results = [repeats_sequential(run, theta=theta, figures=False, **RATES) for run in draws]
        stops[drop] = [result.stop for result in results]
        assert drop or not least or np.mean([result.n for result in results]) < 0.6 * n
    assert stops[0.0].count("regression") <= binom.ppf(0.999, count, 0.05)
    assert stops[theta].count("futility") <= binom.ppf(0.999, count, 0.2)
    assert stops[theta].count("regression") >= binom.ppf(0.001, count, least)


@pytest.mark.slow
def test_a_drop_of_theta_is_ruled_out_in_one_run_of_twenty_at_most() -> None:
    """By the odds of the answers that differed it was in one of nine: a run passes because few of them do."""
    theta, draws, misses = 2.0, 300, 0
    for seed in range(draws):
        run = run_of(seed, 600, 4, 1, noise=0.08, drop=theta)
        if run.totals[:300].mean() < -theta:
            continue  # such runs rule nothing out, and take long
        interval = repeats_sequential(run, theta=theta, **RATES).interval
        misses += interval is not None and interval.excludes_drop(theta)
    assert misses <= binom.ppf(0.999, draws, 0.05)


def test_without_a_change_a_run_passes_once_a_drop_would_have_lost_a_sample() -> None:
    same = np.full((1000, 4), 100.0)
    for theta in (1.0, 2.0, 5.0):
        result = repeats_sequential(repeats_of(same, same[:, :1]), theta=theta, **RATES)
        assert (result.stop, result.reasons) == ("futility", ("no sample changed its score",))
        assert (1.0 - theta / 100.0) ** result.n <= 0.2


def test_without_a_target_noisier_answers_and_fewer_samples_look_for_larger_drops() -> None:
    drops = [visible_drop(n, q, **RATES) for n, q in ((1000, 0.05), (1000, 0.1), (500, 0.1))]
    assert drops == sorted(drops)
    assert drops[2] / drops[1] == pytest.approx(2.0**0.5, rel=0.1)


def test_whole_clusters_are_the_units() -> None:
    run = run_of(3, 60, 4, 1, noise=0.3, drop=30.0)
    sides = (100.0 * np.repeat(side, 5, axis=0) for side in (run.before, run.now))
    result = repeats_sequential(repeats_of(*sides, np.repeat(range(60), 5)), theta=10.0, **RATES)
    alone = repeats_sequential(run, theta=10.0, **RATES)
    assert (result.stop, alone.stop, result.n % 5) == ("regression", "regression", 0)
    assert abs(result.n - 5 * alone.n) <= 50  # copies tell nothing new
