"""The optimal test: that nothing beside it does better, and that runs of 0/100 scores have its error rates."""

import math

import numpy as np
import pytest

from accgate.stats.optimal import HEALTHY, LOOKS, ROOMS, RatioWalk, bounds_at, optimal_test
from accgate.stats.power import quantile_sum
from benchmarks.decisions import wald_bounds
from benchmarks.optimal import Cell, mean_of, measured
from tests.support.cases import each

RATES = [(0.05, 0.2), (0.01, 0.1), (0.1, 0.3), (1e-4, 0.2)]


def wald(alpha: float, beta: float) -> tuple[float, float]:
    """The fewest samples of any test of a walk without an end, in those of the test at a fixed n."""
    healthy = (1.0 - alpha) * math.log((1.0 - alpha) / beta) + alpha * math.log(alpha / (1.0 - beta))
    dropped = (1.0 - beta) * math.log((1.0 - beta) / alpha) + beta * math.log(beta / (1.0 - alpha))
    return 2.0 * healthy / quantile_sum(alpha, beta) ** 2, 2.0 * dropped / quantile_sum(alpha, beta) ** 2


@each(("alpha", "beta"), RATES)
def test_it_takes_little_more_than_any_test_must_and_the_less_the_more_room_there_is(alpha: float, beta: float) -> None:
    tests = [optimal_test(alpha, beta, room) for room in ROOMS[True]]
    for least, means in zip(wald(alpha, beta), zip(*((t.healthy, t.dropped) for t in tests), strict=True), strict=True):
        assert list(means) == sorted(means, reverse=True)
        assert least < means[-1] < 1.13 * least


@each(("ends", "room"), [(True, 1.2), (True, 1.45), (False, 0.5), (False, 1.1)])
def test_any_other_bounds_cost_more(ends: bool, room: float) -> None:
    """Of the costs for which bounds were solved no bounds beside them cost less, with both errors priced in."""
    sd = 0.35
    step = np.exp(-0.5 * (0.2 * np.arange(-30, 31) + 0.5 * sd) ** 2)
    walk = RatioWalk(0.2 * sd * np.arange(-130, 131), step / step.sum(), room, ends)
    missed, failed = 8.0, 14.0

    def cost(lows: np.ndarray, highs: np.ndarray) -> float:
        spent, wrong, left = walk.errors(lows, highs)
        samples = float(HEALTHY * left[0].sum() + left[1].sum()) * room / LOOKS
        return samples + missed * wrong + failed * float(spent[-1])

    lows, highs = walk.bounds(missed, failed)
    best, rng = cost(lows, highs), np.random.default_rng(3)
    for size in (0.1, 0.3, 1.0):
        for _ in range(20):
            shift, tilt = rng.normal(0.0, size, (2, 2, 1))
            time = np.linspace(-1.0, 1.0, LOOKS)
            moved = np.stack([lows, highs]) + np.where(np.abs([lows, highs]) < 50.0, shift + tilt * time, 0.0)
            if ends:
                moved[:, -1] = lows[-1]
            assert cost(*moved) > best - 1e-4


@each(("alpha", "beta"), [(0.49, 0.5), (1e-6, 0.01), (0.2, 0.3)])
def test_every_pair_of_rates_has_a_test(alpha: float, beta: float) -> None:
    for ends, rooms in ROOMS.items():
        for room in rooms:
            test = optimal_test(alpha, beta, room, ends=ends)
            assert np.isfinite(test.passes[: LOOKS // 2]).all()
            assert (np.diff(test.spent) >= 0.0).all()
            assert (test.spent[0], test.spent[-1]) == (0.0, pytest.approx(1.0))
            assert 0.0 < test.healthy <= room
            assert 0.0 < test.dropped <= room


def test_between_the_solved_runs_the_bounds_are_between_theirs() -> None:
    half = np.full(3, 0.5)
    whole, room = np.array([1.3, 1.375, 1.45]), np.full(3, 1.45)
    bound, spent = bounds_at(half, whole, room, alpha=0.05, beta=0.2)
    assert (np.diff(bound) > 0.0).all()
    assert (np.diff(spent) > 0.0).all()
    assert bound[1] == pytest.approx(0.5 * (bound[0] + bound[2]))


@each(
    ("q", "theta", "planned", "alpha", "beta"),
    [
        (0.065, 2.6, 0.065, 0.03, 0.15),
        (0.15, 2.6, 0.065, 0.03, 0.15),
        (0.045, 2.6, 0.065, 0.03, 0.15),
        (0.22, 8.0, 0.22, 0.01, 0.3),
    ],
)
@pytest.mark.slow
def test_after_a_drop_of_theta_at_most_beta_pass_by_exact_sums(q, theta, planned, alpha, beta) -> None:
    healthy, dropped = measured(Cell(q, theta, planned, alpha, beta), 30)
    passed, error = mean_of([end.passed + end.ended for end in dropped])
    assert passed <= beta + 3.0 * error
    assert max(end.failed for end in healthy) <= alpha * (1.0 + 1e-9)
    if planned == q:
        power, error = mean_of([end.failed for end in dropped])
        assert power >= 1.0 - beta - 0.02 - 3.0 * error
        least = wald_bounds(q, theta, alpha=alpha, beta=beta)[0]
        mean, error = mean_of([end.n for end in healthy])
        assert least * 0.9 - 3.0 * error < mean < 1.12 * least + 3.0 * error
