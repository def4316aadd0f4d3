"""The GSPRT on few changes, where every pattern of signs can be enumerated."""

import itertools
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest

from accgate.stats.gsprt import gsprt_test
from accgate.stats.sequential import SequentialResult, units_of
from tests.stats.sequences import assert_agrees
from tests.support.cases import each


@dataclass(frozen=True)
class Pattern:
    """Which of n samples changed, and the design that judges them."""

    n: int
    changed: tuple[int, ...]
    theta: float
    alpha: float
    beta: float = 0.2
    discordance: float | None = None

    def judged(self, values: np.ndarray) -> SequentialResult:
        rates = {"theta": self.theta, "alpha": self.alpha, "beta": self.beta, "discordance": self.discordance}
        return gsprt_test(units_of(values), **rates)

    def values(self, signs: tuple[int, ...]) -> np.ndarray:
        values = np.zeros(self.n)
        values[list(self.changed)] = -100.0 * np.array(signs)
        return values


PATTERNS = [
    Pattern(8, tuple(range(8)), 30.0, 0.2),
    Pattern(8, tuple(range(8)), 60.0, 0.3, 0.4, 0.05),
    Pattern(40, (3, 4, 9, 17, 18, 30, 31, 39), 12.0, 0.25, 0.5, 0.02),
    Pattern(60, (0, 20, 21, 40, 41, 42, 58, 59), 8.0, 0.3, 0.1, 0.9),
    Pattern(300, (5, 30, 80, 150, 151, 200, 260, 299), 3.0, 0.3),
    Pattern(900, (70, 75, 400, 401, 402, 650, 651, 800), 2.0, 0.1, 0.2, 0.01),
    Pattern(30, (10, 11, 12, 13, 14, 15, 16, 17), 25.0, 0.05, 0.05, 0.5),
]
by_pattern = each("number", range(len(PATTERNS)))


@cache
def enumerated(number: int) -> dict[tuple[int, ...], SequentialResult]:
    """The result of every choice of which changes were lost (1) or gained (-1)."""
    pattern = PATTERNS[number]
    choices = itertools.product((-1, 1), repeat=len(pattern.changed))
    return {signs: pattern.judged(pattern.values(signs)) for signs in choices}


@by_pattern
def test_p_is_at_most_u_for_a_share_u_of_the_signs(number: int) -> None:
    p_values = np.sort([result.p_value for result in enumerated(number).values()])
    for u in np.unique(p_values):
        assert np.mean(p_values <= u + 1e-12) <= u + 1e-9


@by_pattern
def test_p_of_a_regression_is_the_share_of_signs_that_are_rejected_as_early_and_as_plainly(number: int) -> None:
    """So what runs that pass leave of the error is spent by the others."""
    results = enumerated(number).values()
    for found in (result for result in results if result.stop == "regression"):
        as_extreme = sum(
            other.stop == "regression" and (other.n, other.difference) <= (found.n, found.difference + 1e-9)
            for other in results
        )
        assert found.p_value == pytest.approx(as_extreme / len(results), abs=1e-12)


@by_pattern
def test_a_gain_turned_into_a_loss_keeps_a_regression_and_never_raises_p(number: int) -> None:
    """Which samples changed stays the same: a change where there was none says more of the noise, too."""
    for signs, result in enumerated(number).items():
        for i in (i for i, sign in enumerate(signs) if sign < 0):
            worse = enumerated(number)[(*signs[:i], 1, *signs[i + 1 :])]
            assert worse.p_value <= result.p_value + 1e-12
            if result.stop == "regression":
                assert (worse.stop, worse.n <= result.n) == ("regression", True)
            if worse.stop == "futility":
                assert (result.stop, result.n <= worse.n) == ("futility", True)


@by_pattern
def test_the_limits_say_what_the_verdict_says(number: int) -> None:
    for result in enumerated(number).values():
        assert_agrees(result, PATTERNS[number].alpha)
        assert (result.stop == "regression") == (result.interval.one_sided <= 1e-9)


@pytest.mark.parametrize(
    "design", [Pattern(5, (), 40.0, 0.2), Pattern(5, (), 70.0, 0.3, 0.4, 0.5), Pattern(5, (), 15.0, 0.1)]
)
def test_over_all_sequences_neither_error_nor_limits_miss_their_level_at_any_discordance(design: Pattern) -> None:
    sequences = itertools.product((-100.0, 0.0, 100.0), repeat=design.n)
    results = {values: design.judged(np.array(values)) for values in sequences}
    losses = np.array([np.sum(np.array(values) < 0) for values in results])
    gains = np.array([np.sum(np.array(values) > 0) for values in results])
    limits = np.array([(r.interval.two_sided if r.interval else (0, 0)) for r in results.values()])
    regression = np.array([r.stop == "regression" for r in results.values()])
    for q in (0.02, 0.1, 0.3, 0.6, 1.0):
        for drop in (0.0, 0.3, 0.9, -0.5):
            losing, gaining = q * (1 + drop) / 2, q * (1 - drop) / 2
            weights = losing**losses * gaining**gains * (1 - q) ** (design.n - losses - gains)
            assert weights.sum() == pytest.approx(1.0)
            truth = -100.0 * q * drop
            assert weights[limits[:, 1] < truth - 1e-9].sum() <= design.alpha
            assert weights[limits[:, 0] > truth + 1e-9].sum() <= design.alpha
            if drop <= 0.0:
                assert weights[regression].sum() <= design.alpha * (1 + 1e-11)
