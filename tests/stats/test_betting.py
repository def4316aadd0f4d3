"""The e-process: its capital one bet at a time, error rates by full enumeration, and the limits it gives."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accgate.stats.betting import BettingPath, betting_path, confidence_sequence
from accgate.stats.mcnemar import mcnemar_n
from tests.stats.sequences import drawn, slack
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


def steady(before: list[float]) -> tuple[float, float]:
    return 0.7, 0.2


def calm_then_wild(before: list[float]) -> tuple[float, float]:
    """Discordance and skew (a loss of 100 against gains of 40) that depend on what was seen."""
    return (0.9, 0.0) if sum(before) < 0 else (0.1, 0.6)


@pytest.mark.slow
@pytest.mark.parametrize("world", [steady, calm_then_wild])
@pytest.mark.parametrize("theta", [5.0, 30.0])
def test_no_bet_wins_on_average_nor_errs_more_often_than_planned_by_full_enumeration(world, theta: float) -> None:
    n, alpha, beta = 7, 0.3, 0.45
    for shift, side in ((0.0, "regression"), (-theta, "pass")):
        weights, runs = [], []
        for signs in itertools.product((-1, 0, 1), repeat=n):
            before: list[float] = []
            weight = 1.0
            for sign in signs:
                discordance, skew = world(before)
                gain = 100.0 * (1 - skew)
                moved = -shift / (100.0 + gain)  # from gains to losses, for a mean of exactly `shift`
                losing = discordance * gain / (100.0 + gain) + moved
                gaining = discordance * 100.0 / (100.0 + gain) - moved
                if gaining < 0.0:
                    losing, gaining = -shift / 100.0, 0.0
                before.append({-1: -100.0, 0: 0.0, 1: gain}[sign])
                weight *= {-1: losing, 0: 1 - losing - gaining, 1: gaining}[sign]
            if weight > 0.0:
                weights.append(weight)
                runs.append(path(before, theta, alpha, beta))
        assert sum(weights) == pytest.approx(1.0)
        ends = [run.log_drop[-1] if side == "regression" else run.log_sound[-1] for run in runs]
        assert np.dot(weights, np.exp(ends)) == pytest.approx(1.0, rel=1e-9)
        wrong = sum(weight for weight, run in zip(weights, runs, strict=True) if run.decision == side)
        assert wrong <= (alpha if side == "regression" else beta)


def clusters(rng: np.random.Generator, drop: float) -> tuple[list[float], list[float]]:
    """Clusters of 1 to 8 samples that flip together."""
    sizes = rng.integers(1, 9, 150).astype(float)
    return list(drawn(rng, 150, 0.3, drop) * sizes), list(sizes)


@pytest.mark.slow
@each("world", ["binary", "clusters"])
def test_error_rates_and_limits_hold_in_simulation(world: str) -> None:
    theta, runs = 5.0, 250  # limits that miss one time in ten fail
    for drop in (0.0, theta):
        rng = np.random.default_rng(int(drop))
        wrong = high = low = 0
        for _ in range(runs):
            totals, sizes = (drawn(rng, 600, 0.1, drop), [1.0] * 600) if world == "binary" else clusters(rng, drop)
            made = betting_path(totals, sizes, bound=100.0, theta=theta, alpha=0.05, beta=0.2)
            wrong += made.decision == ("pass" if drop else "regression")
            limits = confidence_sequence(totals, sizes, bound=100.0, alpha=0.05, stop=made.stop, theta=theta)
            high += limits.one_sided < -drop
            low += limits.two_sided[0] > -drop
        assert wrong / runs <= (0.2 + 0.06 if drop else 0.05 + slack(0.05, runs))
        assert max(high, low) / runs <= 0.05 + slack(0.05, runs)


@pytest.mark.slow
@each(("q", "decided"), [(0.05, 0.98), (0.10, 0.93)])
def test_on_average_it_decides_with_far_fewer_samples_than_mcnemar_s_test(q: float, decided: float) -> None:
    rng, fixed = np.random.default_rng(5), mcnemar_n(2.0, discordance=q, alpha=0.05, beta=0.2)
    for drop, share in ((0.0, 0.6), (2.0, 0.85)):
        made = [path(drawn(rng, 3000, q, drop)) for _ in range(100)]
        assert np.mean([run.stop for run in made]) < share * fixed
        assert np.mean([run.decision is not None for run in made]) > decided
        assert np.mean([run.decision == ("regression" if drop else "pass") for run in made]) > 0.75


def test_a_broken_candidate_is_found_within_a_few_dozen_samples() -> None:
    rng = np.random.default_rng(6)
    for theta, most in ((2.0, 50), (None, 60)):
        assert np.mean([path(drawn(rng, 1319, 0.5, 40.0), theta).stop for _ in range(100)]) < most


@each("theta", [None, 0.5, 2.0])
@each("finished", [0, 1, 250, 800])
def test_the_path_of_the_finished_units_is_the_beginning_of_the_whole_path(theta: float | None, finished: int) -> None:
    totals = drawn(np.random.default_rng(8), 800, 0.1, 1.0)
    whole, first = path(totals, theta), path(totals[:finished], theta, planned=800)
    assert first.log_drop.tolist() == whole.log_drop[:finished].tolist()
    if theta is not None:
        assert first.log_sound.tolist() == whole.log_sound[:finished].tolist()


@given(totals=differences, theta=thetas | st.none(), alpha=levels, beta=levels)
def test_decision_stop_and_p_say_which_capital_first_reached_its_bound(totals, theta, alpha, beta) -> None:
    made = path(totals, theta, alpha, beta)
    sound = np.full(len(totals), -math.inf) if made.log_sound is None else made.log_sound
    reached = zip(np.exp(made.log_drop) >= 1 / alpha, np.exp(sound) >= 1 / beta, strict=True)
    ends = (("regression" if lost else "pass", unit) for unit, (lost, won) in enumerate(reached, 1) if lost or won)
    expected, stop = next(ends, (None, len(totals)))
    assert (made.decision, made.stop) == (expected, stop)
    assert made.p_value == pytest.approx(min(1.0, 1.0 / max(math.exp(e) for e in made.log_drop[:stop])))
    assert (made.p_value <= alpha) == (expected == "regression")


def test_where_both_reach_their_bounds_at_once_it_is_a_regression() -> None:
    both = BettingPath(np.array([0.0, 3.0]), np.array([0.0, 3.0]), alpha=0.05, beta=0.2)
    assert (both.decision, both.stop) == ("regression", 2)


@given(totals=differences, theta=thetas | st.none(), alpha=levels)
def test_the_limits_say_what_the_capital_says(totals, theta, alpha) -> None:
    made = path(totals, theta, alpha, alpha)
    limits = confidence_sequence(totals, np.ones(len(totals)), bound=100.0, alpha=alpha, theta=theta)
    low, high = limits.two_sided
    assert -100.0 <= low <= high <= 100.0
    assert limits.one_sided == high
    log_target = -math.log(alpha)
    if abs(made.log_drop.max() - log_target) > 1e-6:
        assert (high < 0.0) == (made.log_drop.max() >= log_target)
    if made.log_sound is not None and abs(made.log_sound.max() - log_target) > 1e-6 and high > -theta:
        assert (low > -theta) == (made.log_sound.max() >= log_target)


@given(totals=differences, theta=thetas, alpha=levels, data=st.data())
@settings(max_examples=30)
def test_a_mean_is_within_the_limits_exactly_where_no_bet_against_it_has_won(totals, theta, alpha, data) -> None:
    sizes, n = [1.0] * len(totals), data.draw(st.integers(1, len(totals)))
    low, high = confidence_sequence(totals, sizes, bound=100.0, alpha=alpha, stop=n, theta=theta).two_sided
    for mean in np.linspace(-99.37, 99.71, 41):
        lost = max(capital(totals, sizes, -mean, 0.0, theta, alpha, -1)[:n])
        gained = max(capital(totals, sizes, mean, -theta, theta, alpha, 1)[:n])
        if min(abs(lost * alpha - 1), abs(gained * alpha - 1)) > 1e-9:
            assert (mean < high) == (lost < 1 / alpha)
            assert (mean > low) == (gained < 1 / alpha) or low == high


def test_the_limits_close_in_on_the_mean() -> None:
    totals = list(np.tile([0.0] * 17 + [-100.0, -100.0, 100.0], 100))
    widths = []
    for stop in (50, 200, 2000):
        low, high = confidence_sequence(totals, np.ones(2000), bound=100.0, alpha=0.05, stop=stop).two_sided
        assert low < -5.0 < high
        widths.append(high - low)
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] < 6.0


@given(totals=differences, scale=st.sampled_from([0.01, 0.5, 3.0]))
def test_units_of_the_scores_change_nothing(totals: list[float], scale: float) -> None:
    scaled = [scale * total for total in totals]
    made = betting_path(scaled, np.ones(len(totals)), bound=100 * scale, theta=2 * scale, alpha=0.05, beta=0.2)
    assert made.log_drop == pytest.approx(path(totals).log_drop, abs=1e-9)
    assert made.log_sound == pytest.approx(path(totals).log_sound, abs=1e-9)


def test_without_a_flip_nothing_is_won_on_a_drop_and_a_pass_comes_soon() -> None:
    made = path([0.0] * 1319)
    assert made.log_drop.tolist() == [0.0] * 1319
    assert made.p_value == 1.0
    assert made.decision == "pass"
    assert made.stop < 200
    unmoved = path([0.0] * 1319, theta=None)
    assert (unmoved.decision, unmoved.stop) == (None, 1319)


def test_every_sample_lost_is_a_regression_soon_and_every_sample_gained_a_pass() -> None:
    for total, decision in ((-100.0, "regression"), (100.0, "pass")):
        assert path([total] * 100).decision == decision
        assert path([total] * 100).stop < 15


def test_one_sample_and_none_have_an_answer() -> None:
    assert (path([-100.0]).decision, path([100.0]).decision) == (None, None)
    assert path([-100.0]).p_value < 1.0
    empty = path([], planned=10)
    assert (empty.decision, empty.stop, empty.p_value) == (None, 0, 1.0)
    limits = confidence_sequence([], np.ones(10), bound=100.0, alpha=0.05, theta=2.0)
    assert limits.two_sided == pytest.approx((-100.0, 100.0))


def test_a_theta_as_large_as_the_scores_allow_is_soon_refuted() -> None:
    for theta in (100.0, 250.0):
        made = path([0.0] * 30, theta)
        assert made.decision == "pass"
        assert np.isfinite(made.log_sound).all()


@each("total", [-101.0, math.nan])
def test_a_difference_beyond_the_bound_is_refused(total: float) -> None:
    with pytest.raises(ValueError, match=r"unit 1 of 1 samples .* more than 100"):
        path([0.0, total, 0.0])


def test_more_units_than_planned_are_refused() -> None:
    with pytest.raises(ValueError, match="3 units are finished and 2 planned"):
        path([0.0, 0.0, 0.0], planned=2)
