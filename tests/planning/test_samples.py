"""plan(): how many samples, and what they see."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, norm

from accgate import Plan, plan
from accgate.errors import BadInput
from accgate.planning.samples import Assumptions
from tests.support.cases import each


def test_two_samples_of_sigma_50_need_7729() -> None:
    assert plan(2.0, sigma=50.0) == Plan(
        "two-sample", 7729, pytest.approx(2.0, abs=2e-4), 0.05, 0.2, 2.0, None, 50.0, 7729, 7729, reachable=True
    )  # fmt: skip


@each(("q", "about"), [(0.05, 833), (0.10, 1629), (0.20, 3184)])
def test_paired_right_and_wrong_answers_need_far_fewer(q: float, about: int) -> None:
    planned = plan(2.0, discordance=q, test="paired")
    assert planned.n == pytest.approx(about, abs=2)
    assert planned.theta <= 2.0
    usual = plan(2.0, discordance=q)
    assert usual.test == "unconditional"
    assert 0.85 * planned.n < usual.n < 0.97 * planned.n


@each(
    ("keys", "test", "n"),
    [
        ({"sigma": 50.0, "test": "target"}, "target", 3865),
        ({"sigma": 30.0, "test": "paired"}, "paired", 1703),  # 1,392, and what 2% of whole losses add to the spread
        ({"sigma": 50.0, "discordance": 0.05, "test": "two-sample"}, "two-sample", 7729),
        ({"sigma": 0.0}, "two-sample", 1),
    ],
)
def test_each_test_has_its_own_number(keys: dict[str, Any], test: str, n: int) -> None:
    planned = plan(2.0, **keys)
    assert (planned.test, planned.n) == (test, n)


def test_with_too_few_samples_the_target_is_out_of_reach() -> None:
    planned = plan(2.0, sigma=50.0, n_max=1319)
    assert (planned.n, planned.reachable) == (1319, False)
    assert planned.theta == pytest.approx(4.8411, abs=5e-5)
    assert plan(2.0, sigma=50.0, n_max=7729).reachable
    assert plan(2.0, sigma=50.0, n_max=100_000).n == 7729


def test_several_checks_share_alpha() -> None:
    assert plan(2.0, sigma=50.0, checks=4) == plan(2.0, sigma=50.0, alpha=0.05 / 4)
    assert plan(2.0, sigma=50.0, checks=4).alpha == 0.0125
    assert plan(2.0, sigma=50.0, checks=4).n > 7729


@given(
    theta=st.floats(0.5, 30.0),
    alpha=st.floats(0.001, 0.3),
    beta=st.floats(0.05, 0.5),
    keys=st.fixed_dictionaries({"sigma": st.floats(0.1, 50.0)})
    | st.fixed_dictionaries({"discordance": st.floats(0.0, 1.0)})
    | st.fixed_dictionaries({"sigma": st.floats(0.1, 50.0), "test": st.sampled_from(["target", "paired"])}),
)
@settings(max_examples=20)
def test_the_planned_samples_see_the_target_and_half_of_them_see_less(theta, alpha, beta, keys) -> None:
    planned = plan(theta, alpha=alpha, beta=beta, **keys)
    assert planned.theta <= theta * (1 + 1e-9)
    assert planned.reachable
    if planned.n > 1:
        fewer = plan(theta, alpha=alpha, beta=beta, n_max=planned.n // 2, **keys)
        assert not fewer.reachable
        assert fewer.theta is None or fewer.theta > planned.theta


@each(
    ("keys", "message"),
    [
        ({"theta": 0.0}, "theta is 0.0"),
        ({"alpha": 0.5}, "alpha is 0.5"),
        ({"beta": 0.51}, "beta is 0.51"),
        ({"sigma": -1.0}, "sigma is -1.0"),
        ({"discordance": 1.5}, "discordance is 1.5"),
        ({"n_max": 0}, "n_max is 0"),
        ({"checks": 0}, "checks is 0"),
        ({"test": "sgprt"}, "test is 'sgprt'; use one of auto"),
        ({"test": "target", "discordance": 0.1}, "a plan for the target test needs sigma"),
        ({"theta": 0.0, "alpha": 7.0}, "alpha is 7.0"),
    ],
)
def test_bad_arguments_are_refused(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        plan(**{"theta": 2.0} | keys)


def test_a_fixed_reference_keeps_its_own_error() -> None:
    few, many = (Assumptions("two-sample", 0.05, 0.2, 50.0, reference_n=n) for n in (400, 1319))
    assert few.error(100) == pytest.approx(50 * math.sqrt(1 / 400 + 1 / 100))
    assert Assumptions("target", 0.05, 0.2, 50.0).error(100) == 5.0
    assert Assumptions("paired", 0.05, 0.2, discordance=0.04).error(100) == 2.0
    theta = (norm.ppf(0.95) + norm.ppf(0.8)) * 50 / math.sqrt(1319)
    assert many.theta(10**9) == pytest.approx(theta, rel=1e-5)


@each("theta", [5e-324, 1e-9])
@each("test", ["auto", "paired", "e-process"])
@each("keys", [{"discordance": 0.0}, {"discordance": 0.1}, {"sigma": 20.0}])
def test_a_theta_that_no_dataset_can_show_is_refused(theta: float, test: Any, keys: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match=rf"theta is {theta:g}; not even 1,000,000,000 samples"):
        plan(theta, test=test, **keys)


@each(("q", "theta"), [(0.1, 0.08), (0.4, 0.3), (1.0, 0.5)])
def test_plans_of_many_samples_are_as_near_as_their_count_allows(q: float, theta: float) -> None:
    """More changed samples than are counted one by one: the number is that of exact sums to 2 in 1,000."""
    n = plan(theta, discordance=q, test="paired").n
    for factor, reaches in ((1.002, True), (0.998, False)):
        pairs = round(factor * n)
        reach = 7 * math.sqrt(pairs * q * (1 - q))
        m = np.arange(math.floor(pairs * q - reach), min(pairs, math.ceil(pairs * q + reach)) + 1)
        least = binom.isf(0.05, m, 0.5) + 1
        power = binom.pmf(m, pairs, q) @ binom.sf(least - 1, m, 0.5 * (1 + theta / 100 / q))
        assert (power >= 0.8) == reaches
