"""Walks at their edges: without events, where all is cut, and of more losses than a float's chance can tell."""

import numpy as np
import pytest
from scipy.stats import binom

from accgate.stats.walk import NONE, fair_walk
from tests.support.cases import each


def test_no_event_passes_where_no_loss_does_and_ends_else() -> None:
    nothing = np.zeros(0, np.int64)
    for cut, stop in ((0, "futility"), (NONE, "end")):
        outcome = fair_walk(nothing, nothing, np.zeros(0), np.array([cut]), alpha=0.05)
        assert (outcome.stop, outcome.event, outcome.at_end, outcome.p_value) == (stop, 0, stop == "end", 1.0)
        assert outcome.critical is None


FAR = 1_100  # the chance that so many fair signs are alike is below the smallest number a float holds


@each("look", [100, FAR])
def test_a_walk_that_lost_all_rejects_where_it_is_looked_at_first(look: int) -> None:
    lost, allowed = np.arange(1, FAR + 21), np.full(FAR + 20, -1.0)
    allowed[look - 1] = 0.01
    outcome = fair_walk(np.ones(FAR + 20, np.int64), lost, allowed, np.full(FAR + 21, NONE), alpha=0.05)
    assert (outcome.stop, outcome.event) == ("regression", look)
    tails = binom.sf(np.arange(-1, look), look, 0.5)
    assert outcome.critical == next(c for c in range(look + 1) if tails[c] <= 0.01)
    assert 0.0 <= outcome.p_value < 1e-25


def test_a_walk_that_lost_all_is_a_regression_at_its_end_with_a_critical_sum() -> None:
    walk = (np.ones(FAR, np.int64), np.arange(1, FAR + 1), np.full(FAR, -1.0), np.full(FAR + 1, NONE))
    outcome = fair_walk(*walk, alpha=0.05)
    assert (outcome.stop, outcome.at_end) == ("regression", True)
    assert outcome.critical == binom.isf(0.05, FAR, 0.5) + 1
    nothing_left = fair_walk(*walk, alpha=1e-300)
    assert (nothing_left.stop, nothing_left.critical is not None) == ("regression", True)


@each("look", [20, FAR])
def test_where_all_that_is_left_may_be_rejected_it_is_however_rare_it_was(look: int) -> None:
    """Only walks that lost the first five go on, 1/32 of all; this one gained all since."""
    cuts, allowed = np.full(look + 1, NONE), np.full(look, -1.0)
    cuts[5], allowed[-1] = 4, 0.04
    lost = np.minimum(np.arange(1, look + 1), 5)
    early = fair_walk(np.ones(look, np.int64), lost, allowed, cuts, alpha=0.05)
    assert (early.stop, early.event, early.at_end, early.position) == ("regression", look, False, 5)
    assert early.critical <= 5
    assert early.p_value == pytest.approx(1 / 32)
    at_end = fair_walk(np.ones(look, np.int64), lost, np.full(look, -1.0), cuts, alpha=0.05)
    assert (at_end.stop, at_end.at_end, at_end.p_value) == ("regression", True, pytest.approx(1 / 32))


def test_a_walk_of_which_only_the_rarest_path_is_left_ends_there() -> None:
    """Whoever gained once is cut, up to where all the error would reject the rest: 2 ** -997."""
    cuts = np.arange(1001) - 1
    cuts[-1] = NONE
    outcome = fair_walk(np.ones(1000, np.int64), np.arange(1, 1001), np.full(1000, -1.0), cuts, alpha=1e-300)
    assert (outcome.stop, outcome.at_end, outcome.critical) == ("regression", True, 997)
    assert outcome.p_value == 2.0**-1000


@each("look", [60, FAR])
def test_a_walk_that_gained_all_passes_where_it_is_looked_at_first(look: int) -> None:
    cuts = np.full(FAR + 21, NONE)
    cuts[look:] = 3
    ones = np.ones(FAR + 20, np.int64)
    outcome = fair_walk(ones, 0 * ones, np.full(FAR + 20, -1.0), cuts, alpha=0.05)
    assert (outcome.stop, outcome.event, outcome.p_value) == ("futility", look, pytest.approx(1.0))
