"""The GSPRT: its likelihoods by maximisation, its bounds, and what it says of any run."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.special import xlogy

from accgate.stats.gsprt import gsprt_test, schedule, trinomial_llr, unseen_n
from accgate.stats.sequential import units_of
from tests.stats.sequences import assert_agrees, assert_same, drawn, sequences


@pytest.mark.parametrize("n", [920, 1319, 5000])
@pytest.mark.parametrize(("theta", "used"), [(2.0, 89), (4.0, 44)])
@pytest.mark.parametrize("discordance", [None, 0.0, 0.05, 0.5])
def test_no_change_passes_after_the_same_number_of_samples(
    n: int, theta: float, used: int, discordance: float | None
) -> None:
    found = gsprt_test(units_of(np.zeros(n)), theta=theta, alpha=0.05, beta=0.2, discordance=discordance)
    assert (found.stop, found.n, found.n_max, found.p_value) == ("futility", used, n, 1.0)
    assert (found.theta, found.threshold, found.difference, found.sigma) == (theta, None, 0.0, 0.0)
    assert found.reasons == ("no sample changed its score",)
    assert found.interval is not None
    unseen = 100.0 * (1.0 - 0.05 ** (1.0 / used))  # the share of changes that would be seen with probability 0.95
    assert found.interval.two_sided == pytest.approx((-unseen, unseen))
    fewer = gsprt_test(units_of(np.zeros(used - 1)), theta=theta, alpha=0.05, beta=0.2, discordance=discordance)
    assert fewer.stop == "end"


@given(theta=st.floats(0.1, 150.0), beta=st.floats(0.01, 0.5))
def test_so_many_samples_without_a_change_are_rarer_than_beta_after_a_drop(theta: float, beta: float) -> None:
    n, same = unseen_n(theta, beta=beta), max(0.0, 1.0 - theta / 100.0)
    assert same**n <= 0.84 * beta * (1 + 1e-9)
    assert n == 1 or same ** (n - 1) > 0.84 * beta * (1 - 1e-9)


@given(lost=st.integers(0, 60), gained=st.integers(0, 60), same=st.integers(0, 2000), theta=st.floats(0.5, 90.0))
@settings(deadline=None, max_examples=150)
def test_both_likelihoods_are_at_their_maximum(lost: int, gained: int, same: int, theta: float) -> None:
    n, drop = lost + gained + same, theta / 100.0
    if n == 0:
        return

    def most(drop: float) -> float:
        """Maximum over the share gained g, where g + drop are lost."""
        room = (1.0 - drop) / 2.0

        def minus(g: float) -> float:
            found = xlogy(lost, g + drop) + xlogy(gained, g) + xlogy(same, max(1.0 - 2.0 * g - drop, 0.0))
            return -found if math.isfinite(found) else 1e12

        inside = minimize_scalar(minus, bounds=(0.0, room), method="bounded", options={"xatol": 1e-12}).fun
        return -min(inside, minus(0.0), minus(room))

    found = trinomial_llr(np.array([float(lost)]), np.array([float(gained)]), np.array([float(n)]), theta=theta)
    assert found[0] == pytest.approx(most(drop) - most(0.0), abs=1e-5 * (1 + n / 100))


@given(theta=st.floats(0.5, 90.0), changed=st.integers(1, 80), same=st.integers(0, 500))
def test_the_likelihood_ratio_rises_with_the_losses(theta: float, changed: int, same: int) -> None:
    lost = np.arange(changed + 1.0)
    ratios = trinomial_llr(lost, changed - lost, np.full(changed + 1, float(changed + same)), theta=theta)
    assert np.all(np.diff(ratios) > 0.0)


def test_a_theta_of_all_the_points_there_are_has_a_finite_answer() -> None:
    assert gsprt_test(units_of(np.full(20, -100.0)), theta=100.0, alpha=0.05, beta=0.2).stop == "regression"


@given(values=sequences(), theta=st.floats(0.5, 40.0), alpha=st.floats(0.01, 0.4), q=st.none() | st.floats(0.0, 1.0))
@settings(deadline=None, max_examples=80)
def test_decision_threshold_and_p_agree(values, theta: float, alpha: float, q: float | None) -> None:
    differences, codes = values
    found = gsprt_test(units_of(differences, codes), theta=theta, alpha=alpha, beta=0.2, discordance=q)
    assert_agrees(found, alpha)
    assert not found.open
    assert 1 <= found.n <= found.n_max == len(differences)
    order = np.arange(len(differences)) if codes is None else np.argsort(_first_places(codes), kind="stable")
    assert found.difference == pytest.approx(differences[order][: found.n].mean(), abs=1e-9)
    assert found.theta is not None
    assert found.theta >= theta


def _first_places(codes: np.ndarray) -> np.ndarray:
    """Where the cluster of each sample first stands."""
    _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    return first[inverse]


@given(values=sequences(exact=True), theta=st.floats(0.5, 60.0), alpha=st.floats(0.01, 0.4), data=st.data())
@settings(deadline=None, max_examples=80)
def test_the_answer_for_a_beginning_is_that_for_the_whole_run(values, theta: float, alpha: float, data) -> None:
    differences, codes = values
    rates = {"theta": theta, "alpha": alpha, "beta": 0.2, "discordance": data.draw(st.none() | st.floats(0.0, 1.0))}
    whole = gsprt_test(units_of(differences, codes), **rates)
    k = data.draw(st.integers(1, len(differences)))
    beginning = gsprt_test(units_of(differences[:k], codes, n_max=len(differences)), **rates)
    if not beginning.open:
        assert_same(beginning, whole)
    else:
        assert k <= whole.n  # a run is asked once more where it stops


@pytest.mark.parametrize("seed", range(12))
def test_with_other_scores_a_beginning_with_30_changes_decides_as_the_whole_run(seed: int) -> None:
    rng = np.random.default_rng(seed)
    drop = float(rng.choice([0.0, 1.0, 4.0]))
    values = np.where(rng.random(600) < 0.4, rng.normal(-drop, 8.0, 600), 0.0)
    rates = {"theta": 1.0, "alpha": 0.05, "beta": 0.2}
    whole = gsprt_test(units_of(values), **rates)
    for k in (150, 200, 300, 450, 599):
        beginning = gsprt_test(units_of(values[:k], n_max=600), **rates)
        if k < whole.n:
            assert beginning.open
        elif k > whole.n:
            assert_same(beginning, whole)


@pytest.mark.parametrize("seed", [3049, 3139, 3165])
def test_with_other_scores_a_beginning_with_few_changes_decides_as_the_whole_run(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = np.where(rng.random(200) < 0.15, rng.normal(0.0, 8.0, 200), 0.0)
    rates = {"theta": 6.0, "alpha": 0.05, "beta": 0.2}
    whole = gsprt_test(units_of(values), **rates)
    for k in range(5, 200, 5):
        beginning = gsprt_test(units_of(values[:k], n_max=200), **rates)
        assert beginning.open == (k < whole.n)
        if not beginning.open:
            assert_same(beginning, whole)


@given(values=sequences(), theta=st.floats(0.5, 60.0), alpha=st.sampled_from([0.01, 0.05, 0.4]), data=st.data())
@settings(deadline=None, max_examples=80)
def test_with_under_30_changes_any_beginning_decides_as_the_whole_run(values, theta: float, alpha: float, data) -> None:
    differences, codes = values[0][:40], None if values[1] is None else np.arange(len(values[0][:40])) // 2
    rates = {"theta": theta, "alpha": alpha, "beta": 0.2}
    whole = gsprt_test(units_of(differences, codes, binary=False), **rates)
    k = data.draw(st.integers(1, len(differences)))
    k = k if codes is None or k == len(differences) else k // 2 * 2 or 2
    if k > len(differences) or np.count_nonzero(differences) > 30:
        return
    beginning = gsprt_test(
        units_of(differences[:k], None if codes is None else codes[:k], n_max=len(differences), binary=False), **rates
    )
    if codes is None and not np.isin(differences, (-100.0, 0.0, 100.0)).all():
        assert beginning.open == (k < whole.n)
    if not beginning.open:
        assert_same(beginning, whole)


def test_other_scores_that_happen_to_be_0_and_100_at_first_are_judged_as_the_whole_run() -> None:
    """Scores such as token F1 are mostly 0 or 100; one of 50 comes late."""
    rates = {"theta": 2.0, "alpha": 0.05, "beta": 0.2}
    for trial in range(5):
        values = drawn(np.random.default_rng(trial), 1000, 0.1, 2.0)
        values[990] = -50.0
        whole = gsprt_test(units_of(values), **rates)
        for k in range(100, 990, 30):
            beginning = gsprt_test(units_of(values[:k], n_max=1000, binary=False), **rates)
            assert beginning.open or (beginning.stop, beginning.n) == (whole.stop, whole.n)
            assert beginning.open or beginning.p_value == pytest.approx(whole.p_value)


@pytest.mark.parametrize("noise", [1e-6, 1.0])
def test_rare_whole_losses_among_small_changes_pass_no_more_often_than_beta(noise: float) -> None:
    """Every score moves a little, and one in fifty falls by 100: a drop of 2 points."""
    rng, passed = np.random.default_rng(11), 0
    for _ in range(60):
        values = rng.normal(0.0, noise, 1200) - np.where(rng.random(1200) < 0.02, 100.0, 0.0)
        found = gsprt_test(units_of(values), theta=2.0, alpha=0.05, beta=0.2)
        passed += found.stop != "regression" and found.theta is not None and found.theta <= 2.0
    assert passed / 60 <= 0.2 + 3 * math.sqrt(0.16 / 60)


def test_what_comes_after_the_stop_changes_nothing() -> None:
    for drop in (0.0, 6.0):
        values = drawn(np.random.default_rng(1), 1192, 0.05, drop)
        found = gsprt_test(units_of(values), theta=2.0, alpha=0.05, beta=0.2)
        assert found.n < 1100
        values[found.n :] = -100.0 if drop == 0.0 else 100.0
        assert gsprt_test(units_of(values), theta=2.0, alpha=0.05, beta=0.2) == found


def test_a_run_that_goes_to_the_end_says_what_so_many_samples_see() -> None:
    """60 samples with 3 losses: theta solves theta = 2.4865 * 100 sqrt(max(0.05, theta / 100) * 1.1 / 60)."""
    values = np.zeros(60)
    values[[10, 30, 50]] = -100.0
    found = gsprt_test(units_of(values), theta=2.0, alpha=0.05, beta=0.2)
    assert (found.stop, found.n) == ("end", 60)
    assert found.theta == pytest.approx(100 * 2.4865**2 * 1.1 / 60, rel=1e-4)


@pytest.mark.parametrize(("n", "power"), [(2474, 1.0), (1855, 1.9), (1546, 2.35), (600, 3.5), (100, 3.5)])
def test_the_fewer_samples_there_are_the_later_0_and_100_scores_spend_their_error(n: int, power: float) -> None:
    """At a tenth changed and theta = 2 the fixed test needs 1,546 samples; 1.6 times that leave no need to wait."""
    values = np.zeros(n)
    values[9::10] = np.tile([-100.0, 100.0], n)[: len(values[9::10])]
    plan = schedule(units_of(values), theta=2.0, alpha=0.05, beta=0.2, discordance=0.1)
    half = n // 2 // 10 * 10 - 1
    assert plan.allowed[half] == pytest.approx(0.05 * ((half + 1) / n) ** power, rel=0.02)


@pytest.mark.parametrize("beta", [0.05, 0.2, 0.4])
def test_the_futility_bound_begins_at_what_beta_asks_and_a_little(beta: float) -> None:
    values = np.zeros(6000)
    values[9::10] = np.tile([-100.0, 100.0], 300)
    plan = schedule(units_of(values), theta=2.0, alpha=0.05, beta=beta, discordance=0.1)
    assert plan.bound[0] == pytest.approx(math.log(beta) - 0.2 - max(0.0, beta - 0.2), abs=1e-3)


def test_other_scores_spend_their_error_by_the_samples_out_of_half_more_than_0_and_100_scores_would() -> None:
    values = np.tile([-12.25, 12.25], 700)
    plan = schedule(units_of(values, bounded=False), theta=2.0, alpha=0.05, beta=0.2, discordance=None)
    for n in (300, 600, 900):
        passed = n / (1.5 * 1.6 * 2.4865**2 * 12.25**2 / 2.0**2)  # of the 557 that 1.5 * 1.6 fixed-n tests take
        assert plan.allowed[n - 1] == pytest.approx(0.05 * min(passed, 1.0) ** 1.5, rel=1e-3)
    assert (plan.full, plan.n[plan.last]) == (True, 557)


def test_small_changes_of_scores_without_bounds_rule_a_drop_out_before_so_many_samples_without_a_change() -> None:
    """One of bounded scores can fall by 100 points, so that 89 samples must be seen whatever the others do."""
    values = np.tile([-4.0, 4.0], 200)
    for bounded, used in ((False, 30), (True, 89)):
        found = gsprt_test(units_of(values, bounded=bounded), theta=2.0, alpha=0.05, beta=0.2)
        assert (found.stop, found.n) == ("futility", used)
    still = gsprt_test(units_of(np.append(np.zeros(200), 0.5), bounded=False), theta=2.0, alpha=0.05, beta=0.2)
    assert (still.stop, still.n) == ("futility", 89)


def test_a_run_ends_at_the_information_planned_not_only_at_its_samples() -> None:
    """Ten times the samples needed, and signs that lean neither way nor pass: it ends where 1.6 of them are reached."""
    plan = schedule(
        units_of(np.tile([-100.0, 100.0] + [0.0] * 18, 500)), theta=2.0, alpha=0.05, beta=0.2, discordance=0.1
    )
    assert plan.full
    reached = plan.n[plan.last]
    assert reached * 2.0**2 / (1e4 * 0.1) == pytest.approx(1.6 * 2.4865**2, rel=0.01)


def test_a_broken_candidate_is_found_within_a_few_dozen_samples() -> None:
    rng = np.random.default_rng(5)
    results = [gsprt_test(units_of(drawn(rng, 1192, 0.6, 50.0)), theta=2.0, alpha=0.05, beta=0.2) for _ in range(50)]
    assert {result.stop for result in results} == {"regression"}
    assert np.mean([result.n for result in results]) < 60


@pytest.mark.parametrize("values", [[0.0], [-100.0], [100.0], [5.0], [-5.0], [0.0, -3.0], [-100.0, 100.0], [-7.5] * 30])
def test_tiny_and_constant_runs_have_a_defined_answer(values: list[float]) -> None:
    found = gsprt_test(units_of(np.array(values)), theta=2.0, alpha=0.05, beta=0.2)
    assert_agrees(found, 0.05)
    assert (found.sigma is None) == (len(values) == 1)
    assert found.theta is not None
    assert math.isfinite(found.theta)


@pytest.mark.parametrize("share", [0.5, 1.0])
def test_a_much_better_candidate_passes_where_the_likelihood_ratio_first_allows(share: float) -> None:
    values = np.where(np.random.default_rng(6).random(1192) < share, 100.0, 0.0)
    gained, n = np.cumsum(values > 0).astype(float), np.arange(1.0, 1193.0)
    plan = schedule(units_of(values), theta=2.0, alpha=0.05, beta=0.2, discordance=None)
    passing = trinomial_llr(np.zeros(1192), gained, n, theta=2.0) <= plan.bound
    found = gsprt_test(units_of(values), theta=2.0, alpha=0.05, beta=0.2)
    assert (found.stop, found.n) == ("futility", int(np.argmax(passing)) + 1)


@pytest.mark.parametrize("share", [0.4, 0.9])
def test_limits_of_a_much_better_candidate_hold_its_gain(share: float) -> None:
    values = np.where(np.random.default_rng(7).random(1192) < share, 100.0, 0.0)
    found = gsprt_test(units_of(values), theta=2.0, alpha=0.05, beta=0.2)
    assert found.interval is not None
    low, high = found.interval.two_sided
    assert low <= found.difference <= high


@pytest.mark.parametrize("spread", [0.0, 5.0])
def test_limits_of_a_broken_candidate_with_other_scores_hold_its_loss(spread: float) -> None:
    values = np.random.default_rng(8).normal(-50.0, spread, 400)
    found = gsprt_test(units_of(values), theta=2.0, alpha=0.05, beta=0.2)
    assert found.stop == "regression"
    assert found.interval is not None
    low, high = found.interval.two_sided
    assert -100.0 <= low <= found.difference < high < 0.0


@pytest.mark.parametrize("n", [48, 60, 1000])
def test_where_every_sample_is_lost_other_scores_are_a_regression_with_a_threshold(n: int) -> None:
    for values in (np.full(n, -97.0), np.random.default_rng(n).choice([-100.0, -200.0 / 3.0, -100.0 / 3.0], n)):
        found = gsprt_test(units_of(values), theta=2.0, alpha=0.05, beta=0.2)
        assert found.stop == "regression"
        assert_agrees(found, 0.05)


def test_results_say_how_many_samples_there_are_at_most() -> None:
    found = gsprt_test(units_of(np.zeros(20), n_max=500), theta=2.0, alpha=0.05, beta=0.2)
    assert (found.n, found.n_max, found.open, found.stop) == (20, 500, True, "end")
    assert replace(found, open=False) != found
