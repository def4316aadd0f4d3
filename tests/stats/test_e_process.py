"""The betting test on units: what it says is what the capitals of betting.py say."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accgate.decision.comparison import compare
from accgate.errors import BadInput
from accgate.stats.betting import betting_path, confidence_sequence, e_process_test
from accgate.stats.sequential import SequentialResult, units_of
from tests.stats.sequences import RATES, drop_of_losses, sequences

thetas = st.floats(0.5, 60.0)
levels = st.floats(0.01, 0.45)


def result_of(
    values: np.ndarray, codes: np.ndarray | None = None, n_max: int | None = None, **rates: Any
) -> SequentialResult:
    return e_process_test(units_of(values, codes, n_max=n_max), **{"bound": 100.0, "theta": 2.0, **RATES, **rates})


@given(run=sequences(), theta=thetas, alpha=levels, beta=levels)
def test_decision_p_and_limits_are_those_of_the_bets(run, theta: float, alpha: float, beta: float) -> None:
    values, codes = run
    codes = np.arange(len(values)) if codes is None else codes
    order = list(dict.fromkeys(codes.tolist()))  # clusters in the order in which they first appear
    totals = [float(values[codes == code].sum()) for code in order]
    sizes = [int((codes == code).sum()) for code in order]
    path = betting_path(totals, sizes, bound=100.0, theta=theta, alpha=alpha, beta=beta)
    result = result_of(values, run[1], theta=theta, alpha=alpha, beta=beta)
    assert (result.stop, result.n) == (path.stop, sum(sizes[: path.used]))
    assert result.p_value == pytest.approx(path.p_value)
    assert result.difference == pytest.approx(sum(totals[: path.used]) / result.n, abs=1e-9)
    limits = confidence_sequence(totals, sizes, bound=100.0, alpha=alpha, stop=path.used, theta=theta)
    assert result.interval.two_sided == pytest.approx(limits.two_sided, abs=1e-6)


def test_without_a_change_it_passes_and_without_enough_samples_it_ends() -> None:
    passed = result_of(np.zeros(1319))
    assert (passed.stop, passed.p_value, passed.theta, passed.open) == ("futility", 1.0, 2.0, False)
    assert passed.n < 200
    ended = result_of(np.zeros(30))
    assert (ended.stop, ended.n, ended.open) == ("end", 30, False)
    assert ended.reasons == passed.reasons == ("no sample changed its score",)
    assert ended.theta == pytest.approx(drop_of_losses(10), rel=1e-5)  # a third of the samples, at a fixed n
    opened = result_of(np.zeros(30), n_max=1319)
    assert (opened.stop, opened.n, opened.n_max, opened.open) == ("end", 30, 1319, True)


def test_a_regression_says_no_drop_that_samples_nobody_evaluated_would_have_shown_but_the_spread_it_saw() -> None:
    values = np.tile([-100.0, 0.0, 0.0, 0.0], 50)
    result = result_of(values)
    assert (result.stop, result.reasons, result.theta) == ("regression", (), None)
    assert result.sigma == pytest.approx(np.std(values[: result.n], ddof=1))


def test_a_capital_that_only_just_reaches_its_bound_is_a_regression_with_a_threshold() -> None:
    """The upper limit is then 0 but for what bisection leaves; stakes for a large theta do not look at alpha."""
    units = units_of(np.tile([-100.0, 0.0, 0.0, 0.0], 30))
    reached = e_process_test(units, bound=100.0, theta=20.0, alpha=0.05, beta=0.2)
    result = e_process_test(units, bound=100.0, theta=20.0, alpha=reached.p_value * (1.0 + 4e-16), beta=0.2)
    assert (result.stop, result.n, result.p_value) == ("regression", reached.n, reached.p_value)
    assert result.interval.one_sided == pytest.approx(0.0, abs=1e-9)
    assert result.difference < result.threshold


def test_scores_beyond_0_and_100_are_refused_with_the_mend() -> None:
    for reference, candidate in (([50.0, 120.0, 3.0], [50.0, 130.0, 3.0]), ([50.0, -2.0, 3.0], [50.0, -1.0, 3.0])):
        with pytest.raises(BadInput, match=r"known bounds \(0 and 100\); use gsprt"):
            compare(reference, candidate, test="e-process", theta=2.0)
    assert compare([50.0, 100.0, 3.0], [50.0, 90.0, 0.0], test="e-process", theta=2.0).test == "e-process"
