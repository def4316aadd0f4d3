"""The e-process: its capital one bet at a time, and the limits it gives."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accgate.stats.betting import BettingPath, betting_path, confidence_sequence
from tests.stats.sequences import drawn
from tests.support.cases import each

differences = st.lists(st.sampled_from([-100.0, -40.0, 0.0, 0.0, 0.0, 100.0]), min_size=1, max_size=60)
thetas = st.sampled_from([0.5, 2.0, 8.0, 30.0])
levels = st.sampled_from([0.05, 0.2, 0.6])


def path(
    totals: list[float], theta: float | None = 2.0, alpha: float = 0.05, beta: float = 0.2, planned: int | None = None
) -> BettingPath:
    return betting_path(totals, np.ones(planned or len(totals)), bound=100.0, theta=theta, alpha=alpha, beta=beta)


def capital(
    totals: list[float], sizes: list[float], null: float, anchor: float, theta: float, level: float, sign: int
) -> list[float]:
    """Capital after each bet that sign * (mean difference) is above `null`, in points, with bets made at `anchor`."""
    planned, before, square, won, path = sum(sizes), 0.0, 0.0, 1.0, []
    for total, size, samples in zip(totals, sizes, np.cumsum([0.0, *sizes]), strict=False):
        moment = (50 * 0.075 + square) / (50 + samples)
        seen = (before - math.sqrt(square)) / (50 + samples)
        bet = max(theta / 100, seen, math.sqrt(2 * math.log(1 / level) * moment / planned)) / moment
        room = size * (1 + null / 100)
        bet = min(bet, 0.75 / room) if room > 0 else bet
        won *= 1 + bet * (sign * total - null * size) / 100
        path.append(won)
        excess = (sign * total - anchor * size) / 100
        before, square = before + excess, square + excess**2
    return path


@given(totals=differences, theta=thetas, alpha=levels, beta=levels, data=st.data())
def test_the_capital_is_that_of_the_documented_bets(totals, theta, alpha, beta, data) -> None:
    sizes = data.draw(st.lists(st.integers(1, 5).map(float), min_size=len(totals), max_size=len(totals)))
    shares = [total * size for total, size in zip(totals, sizes, strict=True)]
    made = betting_path(shares, sizes, bound=100.0, theta=theta, alpha=alpha, beta=beta)
    assert np.exp(made.log_drop) == pytest.approx(capital(shares, sizes, 0.0, 0.0, theta, alpha, -1), rel=1e-9)
    assert np.exp(made.log_sound) == pytest.approx(capital(shares, sizes, -theta, -theta, theta, beta, 1), rel=1e-9)
    without = betting_path(shares, sizes, bound=100.0, theta=None, alpha=alpha, beta=beta)
    assert np.exp(without.log_drop) == pytest.approx(capital(shares, sizes, 0.0, 0.0, 0.0, alpha, -1), rel=1e-9)
    assert without.log_sound is None


@each("theta", [None, 0.5, 2.0])
@each("finished", [1, 250, 800])
def test_the_path_of_the_finished_units_is_the_beginning_of_the_whole_path(theta: float | None, finished: int) -> None:
    totals = drawn(np.random.default_rng(8), 800, 0.1, 1.0)
    whole, first = path(totals, theta), path(totals[:finished], theta, planned=800)
    assert first.log_drop.tolist() == whole.log_drop[:finished].tolist()
    if theta is not None:
        assert first.log_sound.tolist() == whole.log_sound[:finished].tolist()


@given(totals=differences, theta=thetas | st.none(), alpha=levels, beta=levels)
def test_stop_and_p_say_which_capital_first_reached_its_bound(totals, theta, alpha, beta) -> None:
    made = path(totals, theta, alpha, beta)
    sound = np.full(len(totals), -math.inf) if made.log_sound is None else made.log_sound
    reached = zip(np.exp(made.log_drop) >= 1 / alpha, np.exp(sound) >= 1 / beta, strict=True)
    ends = (("regression" if lost else "futility", unit) for unit, (lost, won) in enumerate(reached, 1) if lost or won)
    expected, used = next(ends, ("end", len(totals)))
    assert (made.stop, made.used) == (expected, used)
    assert made.p_value == pytest.approx(min(1.0, 1.0 / max(math.exp(e) for e in made.log_drop[:used])))
    assert (made.p_value <= alpha) == (expected == "regression")


def test_where_both_reach_their_bounds_at_once_it_is_a_regression() -> None:
    made = BettingPath(np.array([0.0, 3.0]), np.array([0.0, 3.0]), alpha=0.05, beta=0.2)
    assert (made.stop, made.used) == ("regression", 2)


@given(totals=differences, theta=thetas | st.none(), alpha=levels, data=st.data())
@settings(max_examples=30)
def test_a_mean_is_within_the_limits_exactly_where_no_bet_against_it_has_won(totals, theta, alpha, data) -> None:
    sizes, n = [1.0] * len(totals), data.draw(st.integers(1, len(totals)))
    low, high = confidence_sequence(totals, sizes, bound=100.0, alpha=alpha, stop=n, theta=theta).two_sided
    drop = theta or 0.0
    for mean in np.linspace(-99.37, 99.71, 41):
        lost = max(capital(totals, sizes, -mean, 0.0, drop, alpha, -1)[:n])
        gained = max(capital(totals, sizes, mean, -drop, drop, alpha, 1)[:n])
        if min(abs(lost * alpha - 1), abs(gained * alpha - 1)) > 1e-9:
            assert (mean < high) == (lost < 1 / alpha)
            assert (mean > low) == (gained < 1 / alpha) or low == high


@given(totals=differences, scale=st.sampled_from([0.01, 0.5, 3.0]))
def test_units_of_the_scores_change_nothing(totals: list[float], scale: float) -> None:
    scaled = [scale * total for total in totals]
    made = betting_path(scaled, np.ones(len(totals)), bound=100 * scale, theta=2 * scale, alpha=0.05, beta=0.2)
    assert made.log_drop == pytest.approx(path(totals).log_drop, abs=1e-9)
    assert made.log_sound == pytest.approx(path(totals).log_sound, abs=1e-9)


def test_a_theta_as_large_as_the_scores_allow_is_soon_refuted() -> None:
    for theta in (100.0, 250.0):
        made = path([0.0] * 30, theta)
        assert made.stop == "futility"
        assert np.isfinite(made.log_sound).all()


@each("total", [-101.0, math.nan])
def test_a_difference_beyond_the_bound_is_refused(total: float) -> None:
    with pytest.raises(ValueError, match=r"unit 1 of 1 samples .* more than 100"):
        path([0.0, total, 0.0])
