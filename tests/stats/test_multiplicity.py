"""Corrections for several checks, against statsmodels' multipletests."""

import gc
import itertools
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from accgate.stats.multiplicity import adjust_p_values, level_shares
from accgate.stats.names import Correction
from tests.support.cases import each

STATSMODELS = {"bonferroni": "bonferroni", "holm": "holm", "bh": "fdr_bh"}
methods = st.sampled_from(sorted(STATSMODELS))
# 997 is prime: no p-value falls on a threshold alpha * i / j, where the last bit of a float would decide.
p_lists = st.lists(st.integers(1, 997).map(lambda k: k / 997.0), min_size=2, max_size=12)
small_p_lists = st.lists(st.integers(1, 60).map(lambda k: k / 997.0), min_size=2, max_size=12)


@pytest.fixture(autouse=True, scope="module")
def _little_to_collect() -> Iterator[None]:
    """statsmodels' Holm collects garbage on every call, 50 ms each over what the whole session has loaded."""
    gc.freeze()
    yield
    gc.unfreeze()


def procedure(p_values, method: Correction, alpha: float = 0.05):
    """statsmodels' rejections and adjusted p-values."""
    rejected, adjusted, *_ = multipletests(p_values, alpha=alpha, method=STATSMODELS[method])
    return rejected, adjusted


@given(p_values=p_lists, method=methods)
def test_adjusted_p_values_are_statsmodels(p_values: list[float], method: Correction) -> None:
    _, expected = procedure(p_values, method)
    assert adjust_p_values(np.array(p_values), method) == pytest.approx(expected, rel=1e-9)


@each("method", sorted(STATSMODELS))
@each("m", [2, 3, 4])
def test_p_under_its_applied_share_of_alpha_is_what_the_procedure_rejects(m: int, method: Correction) -> None:
    between_all_thresholds = [0.01, 0.015, 0.02, 0.03, 0.035, 0.04, 0.06]
    on_thresholds = [0.025, 0.05]  # alpha / 2 and alpha, exact as floats
    for p_values in itertools.combinations_with_replacement(between_all_thresholds + on_thresholds, m):
        p = np.array(p_values)
        rejected, _ = procedure(p, method)
        assert (p <= 0.05 * level_shares(p / 0.05, method)).tolist() == rejected.tolist()
        assert (adjust_p_values(p, method) <= 0.05).tolist() == rejected.tolist()


@given(p_values=p_lists | small_p_lists, method=methods, data=st.data())
def test_with_different_levels_the_procedure_runs_on_p_over_level(p_values, method, data) -> None:
    p = np.array(p_values)
    levels = np.array(data.draw(st.lists(st.floats(0.01, 0.4), min_size=len(p), max_size=len(p))))
    alpha = 0.005  # small enough for alpha * p / level to be a p-value
    rejected, adjusted = procedure(alpha * p / levels, method, alpha)
    ours = adjust_p_values(p, method, levels=levels)
    near = np.abs(adjusted - alpha) < 1e-9
    assert ((ours <= levels) | near).tolist() == (rejected | near).tolist()
    inside = (adjusted < 1.0) & (ours < 1.0)
    assert (ours / levels)[inside] == pytest.approx((adjusted / alpha)[inside], rel=1e-9)
    share = level_shares(p / levels, method)
    assert ((p <= levels * share) | near).tolist() == (rejected | near).tolist()


def test_without_a_correction_every_check_keeps_its_own_p_and_level() -> None:
    p = np.array([0.01, 0.04, 0.9])
    assert adjust_p_values(p, "none").tolist() == p.tolist()
    assert level_shares(p, "none").tolist() == [1.0, 1.0, 1.0]


@each("method", ["none", *STATSMODELS])
def test_one_check_alone_needs_no_correction_and_none_has_no_p_value(method: Correction) -> None:
    assert adjust_p_values(np.array([0.04]), method).tolist() == [0.04]
    assert level_shares(np.array([0.8]), method).tolist() == [1.0]
    assert adjust_p_values(np.array([]), method).tolist() == level_shares(np.array([]), method).tolist() == []
