"""Paired differences for the tests of the sequential tests, and what holds of every result."""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from scipy.stats import beta

from accgate.stats.result import TestResult
from accgate.stats.sequential import SequentialResult

RATES: dict[str, Any] = {"alpha": 0.05, "beta": 0.2}


def drawn(rng: np.random.Generator, n: int, q: float, drop: float) -> np.ndarray:
    """Differences of 0/100 scores with discordance q, at least that of a drop in points, and the drop."""
    q = max(q, abs(drop) / 100.0)
    losing, gaining = (q + drop / 100.0) / 2.0, (q - drop / 100.0) / 2.0
    return rng.choice([-100.0, 0.0, 100.0], n, p=[losing, 1.0 - losing - gaining, gaining])


def drop_of_losses(n: int) -> float:
    """The drop in points, of losses alone, that McNemar's exact test of n pairs sees at 0.05 with 0.8: of 5 losses."""
    return 100.0 * float(beta.ppf(0.8, 5, n - 4))


@st.composite
def sequences(draw: st.DrawFn, exact: bool = False) -> tuple[np.ndarray, np.ndarray | None]:
    """(differences, clusters or None) in their order: 0/100 scores, and unless `exact` other scores and clusters."""
    n = draw(st.integers(1, 120))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    q, lean = draw(st.sampled_from([0.0, 0.02, 0.1, 0.5, 1.0])), draw(st.sampled_from([0.1, 0.5, 0.7, 1.0]))
    signs = np.where(rng.random(n) < q, np.where(rng.random(n) < lean, -1.0, 1.0), 0.0)
    kind = "binary" if exact else draw(st.sampled_from(["binary", "continuous", "thirds", "clusters"]))
    if kind == "continuous":
        return signs * np.minimum(rng.exponential(12.0, n), 100.0), None
    if kind == "thirds":
        return signs * rng.choice([100.0 / 3.0, 200.0 / 3.0, 100.0], n), None
    return signs * 100.0, rng.integers(0, max(n // 3, 1), n) if kind == "clusters" else None


def rejects(result: TestResult) -> bool:
    return result.threshold is not None and result.difference < result.threshold


def slack(rate: float, runs: int) -> float:
    """Three standard errors of a rate over so many runs."""
    return 3.0 * math.sqrt(rate * (1.0 - rate) / runs)


def assert_says_one_thing(result: TestResult, alpha: float) -> None:
    """Threshold, p-value and interval, where there is one, reject alike."""
    assert rejects(result) == (result.p_value <= alpha)
    if result.interval is not None:
        low, high = result.interval.two_sided
        assert low <= high == result.interval.one_sided
        if abs(result.p_value - alpha) > 1e-9:  # at a tie the limit is 0 to the last bits
            assert rejects(result) == (high < 0.0)


def assert_limits_hold(results: Iterable[TestResult], truth: float) -> None:
    """Either limit at 0.05 misses the true difference as rarely as it says."""
    limits = np.array([result.interval.two_sided for result in results if result.interval is not None])
    most = 0.05 + slack(0.05, len(limits))
    assert np.mean(limits[:, 1] < truth) <= most
    assert np.mean(limits[:, 0] > truth) <= most


def assert_agrees(result: SequentialResult, alpha: float) -> None:
    """Decision, threshold, p-value and limits of a result that is not open say the same, without NaN."""
    rejected = result.stop == "regression"
    assert rejected == rejects(result)
    assert rejected == (result.p_value <= alpha * (1 + 1e-9))
    assert 0.0 <= result.p_value <= 1.0
    low, high = result.interval.two_sided
    assert low <= high == result.interval.one_sided
    figures: list[Any] = [result.difference, result.p_value, result.threshold, result.theta, result.sigma, low, high]
    assert all(math.isfinite(figure) for figure in figures if figure is not None)


def assert_same(beginning: SequentialResult, whole: SequentialResult) -> None:
    """Both stopped at the same place, with the same figures."""
    assert (beginning.stop, beginning.n, beginning.n_max) == (whole.stop, whole.n, whole.n_max)
    assert not beginning.open
    assert beginning.p_value == pytest.approx(whole.p_value, rel=1e-9)
    assert beginning.difference == pytest.approx(whole.difference, abs=1e-9)
    assert (beginning.theta, beginning.threshold) == pytest.approx((whole.theta, whole.threshold))
    assert beginning.interval.two_sided == pytest.approx(whole.interval.two_sided, abs=1e-9)
    assert beginning.reasons == whole.reasons
