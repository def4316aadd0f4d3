"""Walks at their edges: without events, where all is cut, and of more losses than a float's chance can tell."""

import numpy as np
import pytest
from scipy.stats import binom

from accgate.stats.walk import NONE, fair_walk
from tests.support.cases import each


def test_no_event_passes_where_no_loss_does_and_ends_else() -> None:
    nothing = np.zeros(0, np.int64)
    for cut, stop in ((0, "futility"), (NONE, "end")):
        found = fair_walk(nothing, nothing, np.zeros(0), np.array([cut]), alpha=0.05)
        assert (found.stop, found.event, found.at_end, found.p_value) == (stop, 0, stop == "end", 1.0)
        assert found.critical is None


def test_changes_of_no_size_decide_nothing() -> None:
    still = np.zeros(6, np.int64)
    found = fair_walk(still, still, np.full(6, 0.2), np.full(7, NONE), alpha=0.2)
    assert (found.stop, found.position, found.critical, found.p_value) == ("end", 0, None, 1.0)


def test_where_every_sum_is_cut_the_run_passes_but_for_sums_that_all_the_error_would_reject() -> None:
    """Of 6 changes all lost, P = 1/64, which alpha would reject: no cut passes it."""
    ones, cuts = np.ones(6, np.int64), np.array([NONE] * 6 + [6])
    all_lost = fair_walk(ones, np.arange(1, 7), np.full(6, -1.0), cuts, alpha=0.02)
    assert (all_lost.stop, all_lost.p_value, all_lost.critical) == ("regression", 1 / 64, 6)
    five_lost = fair_walk(ones, np.array([0, 1, 2, 3, 4, 5]), np.full(6, -1.0), cuts, alpha=0.02)
    assert (five_lost.stop, five_lost.p_value) == ("futility", 7 / 64)


def test_what_binding_cuts_free_is_spent_later_and_what_others_free_is_not() -> None:
    """Of 2 changes the first lost: all who gained are cut, so that of 4 patterns one is left above the sum of 1."""
    ones, allowed, cuts = np.ones(6, np.int64), np.full(6, -1.0), np.array([NONE, 0, 1, 2, NONE, NONE, NONE])
    lost = np.array([1, 2, 3, 4, 4, 5])
    bound = fair_walk(ones, lost, allowed, cuts, alpha=0.1)
    free = fair_walk(ones, lost, allowed, cuts, alpha=0.1, binding=False)
    assert bound.p_value == 4 / 64  # of the 8 patterns that lost the first three, those that lost two more of three
    assert free.p_value == 7 / 64
    assert (bound.stop, free.stop) == ("regression", "end")


FAR = 1_100  # the chance that so many fair signs are alike is below the smallest number a float holds


@each("look", [100, FAR])
def test_a_walk_that_lost_all_rejects_where_it_is_looked_at_first(look: int) -> None:
    lost, allowed = np.arange(1, FAR + 21), np.full(FAR + 20, -1.0)
    allowed[look - 1] = 0.01
    found = fair_walk(np.ones(FAR + 20, np.int64), lost, allowed, np.full(FAR + 21, NONE), alpha=0.05)
    assert (found.stop, found.event) == ("regression", look)
    tails = binom.sf(np.arange(-1, look), look, 0.5)
    assert found.critical == next(c for c in range(look + 1) if tails[c] <= 0.01)
    assert 0.0 <= found.p_value < 1e-25


def test_a_walk_that_lost_all_is_a_regression_at_its_end_with_a_critical_sum() -> None:
    walk = (np.ones(FAR, np.int64), np.arange(1, FAR + 1), np.full(FAR, -1.0), np.full(FAR + 1, NONE))
    found = fair_walk(*walk, alpha=0.05)
    assert (found.stop, found.at_end) == ("regression", True)
    assert found.critical == binom.isf(0.05, FAR, 0.5) + 1
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
    found = fair_walk(np.ones(1000, np.int64), np.arange(1, 1001), np.full(1000, -1.0), cuts, alpha=1e-300)
    assert (found.stop, found.at_end, found.critical) == ("regression", True, 997)
    assert found.p_value == 2.0**-1000


@each("look", [60, FAR])
def test_a_walk_that_gained_all_passes_where_it_is_looked_at_first(look: int) -> None:
    cuts = np.full(FAR + 21, NONE)
    cuts[look:] = 3
    ones = np.ones(FAR + 20, np.int64)
    found = fair_walk(ones, 0 * ones, np.full(FAR + 20, -1.0), cuts, alpha=0.05)
    assert (found.stop, found.event, found.p_value) == ("futility", look, pytest.approx(1.0))
