"""The GSPRT: its likelihoods by maximisation, its bounds, and what it says of any run."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.special import xlogy

from accgate.stats.gsprt import gsprt_test, n_without_change, schedule, soonest_pass, trinomial_llr
from accgate.stats.mcnemar import mcnemar_power
from accgate.stats.sequential import units_of
from tests.stats.sequences import RATES, assert_agrees, sequences
from tests.support.cases import each


@each("n", [920, 1319, 5000])
@each(("theta", "used"), [(2.0, 94), (4.0, 47)])
@each("discordance", [None, 0.0, 0.05, 0.5])
def test_no_change_passes_after_the_same_number_of_samples(n: int, theta: float, used: int, discordance) -> None:
    result = gsprt_test(units_of(np.zeros(n)), theta=theta, **RATES, discordance=discordance)
    assert (result.stop, result.n, result.n_max, result.p_value) == ("futility", used, n, 1.0)
    assert (result.theta, result.threshold, result.difference, result.sigma) == (theta, None, 0.0, 0.0)
    assert result.reasons == ("no sample changed its score",)
    unseen = 100.0 * (1.0 - 0.05 ** (1.0 / used))  # the share of changes that would be seen with probability 0.95
    assert result.interval.two_sided == pytest.approx((-unseen, unseen))
    fewer = gsprt_test(units_of(np.zeros(used - 1)), theta=theta, **RATES, discordance=discordance)
    assert fewer.stop == "end"


@given(theta=st.floats(0.1, 150.0), beta=st.floats(0.01, 0.5))
def test_so_many_samples_without_a_change_are_rarer_than_beta_after_a_drop(theta: float, beta: float) -> None:
    n, same = n_without_change(theta, beta=beta), max(0.0, 1.0 - theta / 100.0)
    assert same**n <= 0.75 * beta * (1 + 1e-9)
    assert n == 1 or same ** (n - 1) > 0.75 * beta * (1 - 1e-9)


@given(lost=st.integers(0, 60), gained=st.integers(0, 60), same=st.integers(0, 2000), theta=st.floats(0.5, 90.0))
def test_both_likelihoods_are_at_their_maximum(lost: int, gained: int, same: int, theta: float) -> None:
    n, drop = lost + gained + same, theta / 100.0
    if n == 0:
        return

    def most(drop: float) -> float:
        """Maximum over the share gained g, where g + drop are lost."""
        room = (1.0 - drop) / 2.0

        def minus(g: float) -> float:
            value = xlogy(lost, g + drop) + xlogy(gained, g) + xlogy(same, max(1.0 - 2.0 * g - drop, 0.0))
            return -value if math.isfinite(value) else 1e12

        inside = minimize_scalar(minus, bounds=(0.0, room), method="bounded", options={"xatol": 1e-12}).fun
        return -min(inside, minus(0.0), minus(room))

    result = trinomial_llr(np.array([float(lost)]), np.array([float(gained)]), np.array([float(n)]), theta=theta)
    assert result[0] == pytest.approx(most(drop) - most(0.0), abs=1e-5 * (1 + n / 100))


@given(values=sequences(exact=True), theta=st.floats(2.0, 60.0), more=st.integers(0, 400))
def test_a_run_of_which_nothing_more_changes_passes_as_soon_as_is_foreseen(values, theta: float, more: int) -> None:
    differences, _ = values
    n_max, rates = len(differences) + more, {"theta": theta, "alpha": 0.05, "beta": 0.2}
    seen = units_of(differences, n_max=n_max)
    if gsprt_test(seen, **rates).open:
        whole = gsprt_test(units_of(np.pad(differences, (0, more))), **rates)
        if whole.stop != "regression":  # at its end: it never passes
            assert soonest_pass(seen, **rates) == (n_max if whole.stop == "end" else whole.n)


@pytest.mark.parametrize("share", [0.5, 1.0])
def test_a_much_better_candidate_passes_where_the_likelihood_ratio_first_allows(share: float) -> None:
    values = np.where(np.random.default_rng(6).random(1192) < share, 100.0, 0.0)
    gained, n = np.cumsum(values > 0).astype(float), np.arange(1.0, 1193.0)
    plan = schedule(units_of(values), theta=2.0, **RATES, discordance=None)
    passing = trinomial_llr(np.zeros(1192), gained, n, theta=2.0) <= plan.bound
    result = gsprt_test(units_of(values), theta=2.0, **RATES)
    assert (result.stop, result.n) == ("futility", int(np.argmax(passing)) + 1)
    low, high = result.interval.two_sided
    assert low <= result.difference <= high


def test_a_run_that_goes_to_the_end_says_what_the_exact_test_sees_on_fewer_samples() -> None:
    values = np.zeros(60)
    values[[10, 30, 50]] = -100.0
    result = gsprt_test(units_of(values), theta=2.0, **RATES)
    assert (result.stop, result.n) == ("end", 60)
    assert mcnemar_power(42, result.theta, discordance=0.05, alpha=0.05) == pytest.approx(0.8, abs=1e-6)


@pytest.mark.parametrize("beta", [0.05, 0.2, 0.4])
def test_the_bound_of_passing_rises_where_a_run_shows_theta_and_falls_where_its_end_says_nothing(beta: float) -> None:
    values = np.zeros(6000)
    values[9::10] = np.tile([-100.0, 100.0], 300)
    plan = schedule(units_of(values), theta=2.0, alpha=0.05, beta=beta, discordance=0.1)
    assert plan.bound[199] < math.log(beta)
    assert (np.diff(plan.bound[199 : plan.last]) > -0.02).all()
    assert plan.bound[plan.last] > plan.bound[199] + 0.5
    short = schedule(units_of(values[:900]), theta=2.0, alpha=0.05, beta=beta, discordance=0.1)
    assert short.bound[199] > plan.bound[199] + 0.2
    assert short.bound[-20] < short.bound[199] - 1.0


@pytest.mark.parametrize(("planned", "most"), [(0.1, 2430), (None, 2430), (0.4, 2900)])
def test_a_run_ends_at_the_samples_planned_for_what_changed(planned: float | None, most: int) -> None:
    """A tenth of the samples change and theta is 2: McNemar's exact test needs 1,629 of them, 1.45 times that 2,362."""
    units = units_of(np.tile([-100.0, 100.0] + [0.0] * 18, 500))
    plan = schedule(units, theta=2.0, **RATES, discordance=planned)
    assert plan.over
    assert 2300 < plan.n[plan.last] < most


def test_a_theta_of_all_the_points_there_are_has_a_finite_answer() -> None:
    assert gsprt_test(units_of(np.full(20, -100.0)), theta=100.0, **RATES).stop == "regression"


@pytest.mark.parametrize("values", [[0.0], [-100.0], [100.0], [-100.0, 100.0], [-100.0] * 4])
def test_so_few_samples_reject_nothing_and_see_no_drop(values: list[float]) -> None:
    result = gsprt_test(units_of(np.array(values)), theta=2.0, **RATES)
    assert_agrees(result, 0.05)
    assert (result.sigma is None) == (len(values) == 1)
    assert (result.theta, result.stop) == (None, "end")
