"""The place where a function is 0, against SciPy's own search."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from scipy.optimize import brentq

from accgate.stats.search import zero_between
from tests.support.cases import each

RISING: dict[str, Callable[[float], float]] = {
    "line": lambda x: x - 0.3,
    "cube": lambda x: (x + 7.2) ** 3,
    "steep": lambda x: math.expm1(min(x, 300.0)) * 1e6 - 1.0,
    "flat": lambda x: math.atan(x - 120.0) * 1e-9,
    "bent": lambda x: x if x < 0.0 else x * 1e-6,
    "step": lambda x: -1.0 if x < 5.0 else 1.0,
}


@each("name", RISING)
def test_the_zero_is_the_one_that_brent_finds_in_either_direction(name: str) -> None:
    rising = RISING[name]
    expected = brentq(rising, -250.0, 230.0, rtol=1e-10, maxiter=1000)
    assert zero_between(rising, -250.0, 230.0, width=1e-12) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    falling = zero_between(lambda x: rising(-x), 250.0, -230.0, width=1e-12)
    assert falling == pytest.approx(-expected, rel=1e-9, abs=1e-9)


def test_infinite_values_are_searched_between() -> None:
    def walled(x: float) -> float:
        return math.copysign(math.inf, x - 2.0) if abs(x - 2.0) > 1.0 else x - 2.0

    calls = []
    zero = zero_between(lambda x: calls.append(x) or walled(x), -1e6, 1e6, width=1e-12)
    assert zero == pytest.approx(2.0, rel=1e-9)
    assert len(calls) < 60


def test_an_end_that_is_the_zero_is_returned() -> None:
    for ends in ((0.0, 3.0), (-3.0, 0.0)):
        assert zero_between(lambda x: x, *ends, width=1e-12) == 0.0
