"""Evidence of a coin against exact probabilities of ever being misled."""

import math

import numpy as np
import pytest
from scipy.integrate import quad

from accgate.stats.betting import coin_evidence, share_evidence


def test_a_fair_coin_ever_reaches_a_factor_as_rarely_as_it_promises() -> None:
    for factor in (5.0, 20.0):
        assert crossing(lambda heads, tails, at=factor: coin_evidence(heads, tails) >= at, 0.5) <= 1.0 / factor


def test_a_share_as_large_as_said_is_dismissed_as_rarely_as_promised() -> None:
    for share in (0.1, 0.6):
        assert crossing(lambda hits, misses, of=share: share_evidence(hits, misses, of) >= 20.0, share) <= 0.05


def test_the_factor_is_the_mean_likelihood_ratio_over_all_larger_chances() -> None:
    for heads, tails in ((0, 0), (7, 0), (3, 9), (40, 25)):
        ratio = quad(lambda p, h=heads, t=tails: 2.0 * (2 * p) ** h * (2 - 2 * p) ** t, 0.5, 1.0)[0]
        assert coin_evidence(heads, tails) == pytest.approx(ratio, rel=1e-9)
        less = quad(lambda p, h=heads, t=tails: 4.0 * (4 * p) ** h * ((1 - p) / 0.75) ** t, 0.0, 0.25)[0]
        assert share_evidence(heads, tails, 0.25) == pytest.approx(less, rel=1e-9)


def test_many_throws_neither_overflow_nor_vanish_wrongly() -> None:
    assert math.isfinite(coin_evidence(100_000, 0))
    assert coin_evidence(0, 100_000) < 1e-4


def crossing(crosses, chance: float, throws: int = 200) -> float:
    """The exact probability that a factor is ever reached within so many throws."""
    alive, crossed = np.array([1.0]), 0.0
    for n in range(1, throws + 1):
        grown = np.zeros(n + 1)
        grown[1:] += chance * alive
        grown[:-1] += (1.0 - chance) * alive
        for heads in range(n + 1):
            if grown[heads] and crosses(heads, n - heads):
                crossed += grown[heads]
                grown[heads] = 0.0
        alive = grown
    return crossed
