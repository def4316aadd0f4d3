"""The unconditional test: its size by enumeration, its order, and what it saves."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from accgate.stats.mcnemar import mcnemar_n, mid_p
from accgate.stats.paired import mcnemar_exact
from accgate.stats.unconditional import unconditional_exact, unconditional_n, unconditional_theta
from tests.stats.sequences import RATES, assert_says_one_thing, rejects
from tests.stats.test_difference import chances, outcomes
from tests.support.cases import each


@pytest.mark.slow
@each(("n", "alpha"), [(8, 0.05), (15, 0.1), (24, 0.05), (30, 0.01)])
def test_over_all_outcomes_alpha_holds_for_every_discordance_and_every_gain(n: int, alpha: float) -> None:
    rejected = [pair for pair in outcomes(n) if unconditional_exact(*pair, n, alpha=alpha, beta=0.2).p_value <= alpha]
    assert rejected
    for q in np.linspace(0.01, 1.0, 34):
        even, gained = (chances(rejected, n, drift * q, np.array([q])).sum() for drift in (0.0, 0.2))
        assert even <= alpha * (1.0 + 1e-9)
        assert gained <= alpha


def largest_chance(pair: tuple[int, int], n: int, discordances: np.ndarray) -> float:
    """The largest probability, over these discordances, of an outcome as early in the order."""

    def place(pair: tuple[int, int]) -> float:
        lost, m = pair[0], sum(pair)
        return float(mid_p(lost, m)) if 2 * m <= n else float(binom.sf(lost - 1, m, 0.5))

    as_early = [other for other in outcomes(n) if place(other) <= place(pair) * (1.0 + 1e-9)]
    return float(chances(as_early, n, 0.0, discordances).sum(axis=1).max())


@each("n", [1, 4, 9])
def test_every_outcome_has_the_p_of_its_definition_down_to_no_discordance(n: int) -> None:
    """Without any discordance nothing changes, which is as early as any outcome with as many gained as lost."""
    for pair in outcomes(n):
        worst = largest_chance(pair, n, np.linspace(0.0, 1.0, 201))
        p_value = unconditional_exact(*pair, n, **RATES).p_value
        assert p_value == pytest.approx(worst, abs=1e-4)
        assert p_value == 1.0 or pair[0] > pair[1]


@given(n=st.integers(1, 400), data=st.data(), alpha=st.sampled_from([0.01, 0.05, 0.2]))
def test_p_threshold_interval_and_mcnemar_agree(n: int, data: st.DataObject, alpha: float) -> None:
    lost = data.draw(st.integers(0, n))
    gained = data.draw(st.integers(0, n - lost))
    result, mcnemar = (test(lost, gained, n, alpha=alpha, beta=0.2) for test in (unconditional_exact, mcnemar_exact))
    assert_says_one_thing(result, alpha)
    assert rejects(result) or mcnemar.p_value > alpha  # it rejects whatever McNemar's exact test rejects
    assert result.p_mid == mcnemar.p_mid


@pytest.mark.parametrize(("theta", "n", "mcnemar"), [(2.0, 745, 833), (4.0, 177, 212)])
def test_it_takes_fewer_samples_than_mcnemar_s_test(theta: float, n: int, mcnemar: int) -> None:
    rates = {"discordance": 0.05, **RATES}
    assert (unconditional_n(theta, **rates), mcnemar_n(theta, **rates)) == (n, mcnemar)
    assert unconditional_theta(n, **rates) == pytest.approx(theta, abs=0.01)
