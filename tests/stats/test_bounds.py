"""The concentration bounds, against the formulas by hand."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accgate.stats.power import hoeffding_margin, hoeffding_n, hoeffding_probability
from tests.support.cases import each

confidences = st.floats(0.5, 0.9999)


def left_by_hand(n: int, population: int | None) -> float:
    """The factor of Serfling up to half the population, that of Bardenet and Maillard above."""
    if population is None:
        return 1.0
    if n <= population / 2:
        return 1 - (n - 1) / population
    return (1 - n / population) * (1 + 1 / n)


@each(("n", "population"), [(50, None), (1, 2), (50, 1319), (659, 1319), (660, 1319), (1318, 1319)])
def test_the_bound_is_the_published_formula(n: int, population: int) -> None:
    by_hand = 2 * math.exp(-2 * n * 0.1**2 / left_by_hand(n, population))
    assert hoeffding_probability(n, 0.1, population=population) == pytest.approx(min(1, by_hand), rel=1e-9)
    margin = math.sqrt(left_by_hand(n, population) * math.log(2 / 0.05) / (2 * n))
    assert hoeffding_margin(n, population=population, confidence=0.95) == pytest.approx(min(1, margin), rel=1e-9)


@given(margin=st.floats(0.01, 0.5), population=st.none() | st.integers(1, 3000), confidence=confidences)
def test_n_is_the_least_whose_bound_reaches_the_confidence(margin, population, confidence) -> None:
    n = hoeffding_n(margin, population=population, confidence=confidence)
    exponent = math.log(2 / (1 - confidence)) / (2 * margin**2)
    counts = range(1, (population or 10**6) + 1)
    assert n == next(k for k in counts if left_by_hand(k, population) <= k / exponent * (1 + 1e-9))
    assert n <= hoeffding_n(margin, confidence=confidence)
