"""The walk of signs, against every sign pattern spelt out in plain Python, and at its edges."""

import itertools
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from scipy.stats import binom

from accgate.stats.walk import FAIR, NONE, Outcome, fair_walk, without_passes
from tests.support.cases import each

Signs = tuple[int, ...]
DESIGNS = range(70)


@dataclass(frozen=True)
class Design:
    """Arguments of a small walk, as plain numbers."""

    steps: tuple[int, ...]
    allowed: tuple[float, ...]
    cuts: tuple[int, ...]
    alpha: float
    binding: bool

    @property
    def patterns(self) -> list[Signs]:
        """Every choice of which changes were lost (1) or gained (0)."""
        return list(itertools.product((0, 1), repeat=len(self.steps)))

    def lost(self, signs: Signs) -> list[int]:
        return list(itertools.accumulate(sign * step for sign, step in zip(signs, self.steps, strict=True)))

    def sums(self, event: int) -> dict[Signs, int]:
        """The sum lost by each pattern after so many events."""
        return {signs: [0, *self.lost(signs)][event] for signs in self.patterns}


@cache
def design(seed: int) -> Design:
    """Random sizes (0 and unequal ones too), spending, cuts and levels."""
    rng = np.random.default_rng(seed)
    events = int(rng.integers(1, 9))
    steps = rng.integers(0, 5, events) if seed % 3 else np.ones(events, int)
    alpha = float(rng.choice([0.05, 0.1, 0.25, 0.3, 0.45]))
    allowed = np.sort(alpha * rng.random(events) ** float(rng.choice([0.3, 1.0, 3.0])))
    if seed % 4 == 0:  # shares of the masses themselves, so that a boundary is met exactly
        allowed = np.floor(allowed * 2**events) / 2**events
    allowed[: int(rng.integers(0, events + 1)) if seed % 5 == 0 else 0] = -1.0
    cuts = rng.integers(-1, max(int(steps.sum() * 0.6), 1) + 1, events + 1)
    cuts[rng.random(events + 1) < 0.5] = NONE
    return Design(tuple(steps.tolist()), tuple(allowed.tolist()), tuple(cuts.tolist()), alpha, bool(seed % 2))


def walked(design: Design, lost: list[int]) -> Outcome:
    steps = [np.bincount([0, step]) / 2.0 for step in design.steps]
    lost, cuts = (np.array(numbers, dtype=np.int64) for numbers in (lost, design.cuts))
    return fair_walk(steps, lost, np.array(design.allowed), cuts, alpha=design.alpha, binding=design.binding)


@cache
def outcomes(seed: int) -> dict[Signs, Outcome]:
    return {signs: walked(design(seed), design(seed).lost(signs)) for signs in design(seed).patterns}


@dataclass
class Spelt:
    """What the walk should have done, from sets of sign patterns."""

    ends: dict[Signs, tuple[str, int, int, int | None, Fraction]]  # stop, event, position, critical, p
    rejecting: list[set[Signs]]  # by event, and at the end


@cache
def spelt(seed: int) -> Spelt:
    """Boundaries by their definition: of the patterns that can still reject, the largest sums that the error allows."""
    d = design(seed)
    able, running = set(d.patterns), set(d.patterns)
    ends: dict[Signs, tuple[str, int, int, int | None, Fraction]] = {}
    rejecting: list[set[Signs]] = []
    spent, critical = Fraction(0), None
    for event in range(len(d.steps) + 1):
        sums = d.sums(event)
        safe = _top(able, sums, Fraction(d.alpha) - spent)  # no run passes that all the error left would reject
        futile = {signs for signs in running if sums[signs] <= d.cuts[event] and signs not in safe}
        for signs in futile:
            ends[signs] = ("futility", event, sums[signs], critical, _p(able, sums, signs, spent))
        running = running - futile
        if d.binding:
            able = able - futile
        at_end = event == len(d.steps)
        if not at_end:
            sums = d.sums(event + 1)
        top = _top(able, sums, (Fraction(d.alpha) if at_end else Fraction(d.allowed[event])) - spent)
        rejecting.append(top)
        left = [sums[signs] for signs in able - top]
        critical = max(left) + 1 if top and left else min((sums[signs] for signs in top), default=None)
        done = set(running) if at_end else running & top
        for signs in done:
            stop = "regression" if signs in top else "end"
            ends[signs] = (stop, min(event + 1, len(d.steps)), sums[signs], critical, _p(able, sums, signs, spent))
        running = running - done
        spent += Fraction(len(top), 2 ** len(d.steps))
        able = able - top
    return Spelt(ends, rejecting)


def _top(able: set[Signs], sums: dict[Signs, int], room: Fraction) -> set[Signs]:
    """The patterns with the largest sums, as many whole sums as fit into `room`."""
    best: set[Signs] = set()
    for least in sorted({sums[signs] for signs in able}, reverse=True):
        tail = {signs for signs in able if sums[signs] >= least}
        if Fraction(len(tail), 2 ** len(next(iter(able)))) > room * (1 + Fraction(1, 10**12)):
            break
        best = tail
    return best


def _p(able: set[Signs], sums: dict[Signs, int], signs: Signs, spent: Fraction) -> Fraction:
    beyond = sum(sums[other] >= sums[signs] for other in able)
    return spent + Fraction(beyond, 2 ** len(signs))


@each("seed", DESIGNS)
def test_stop_event_position_critical_sum_and_p_are_those_of_the_patterns_spelt_out(seed: int) -> None:
    for signs, (stop, event, position, critical, p_value) in spelt(seed).ends.items():
        outcome, early = outcomes(seed)[signs], any(signs in rejected for rejected in spelt(seed).rejecting[:-1])
        assert (outcome.stop, outcome.event, outcome.position) == (stop, event, position)
        assert outcome.p_value == pytest.approx(float(p_value), abs=1e-13)
        assert outcome.at_end == (stop == "end" or (stop == "regression" and not early))
        if outcome.critical is None:
            assert critical is None
            assert stop != "regression"
        elif stop != "futility":
            assert (position >= outcome.critical) == (stop == "regression")
        if not design(seed).binding:  # a bound cut leaves no sum below, so that any gap up to the first sum is as good
            assert outcome.critical == critical


@each("seed", DESIGNS)
def test_exits_and_alive_are_the_null_masses_up_to_the_stop(seed: int) -> None:
    d = design(seed)
    for outcome in outcomes(seed).values():
        events, sums, masses = outcome.exits
        for event in range(1, len(d.steps) + 1):
            rejected = spelt(seed).rejecting[event - 1]
            counted = dict.fromkeys(set(sums[events == event].tolist()), 0)
            for signs in rejected if event in events else ():
                counted[d.lost(signs)[event - 1]] += 1
            expected = [counted[s] / len(outcomes(seed)) for s in sums[events == event].tolist()]
            assert masses[events == event].tolist() == pytest.approx(expected, abs=1e-13)
        alive_sums, alive = outcome.alive
        beyond = alive[alive_sums >= outcome.position].sum()
        assert masses.sum() + beyond == pytest.approx(outcome.p_value, abs=1e-13)


def test_without_its_passes_a_walk_has_the_masses_of_the_runs_that_got_as_far() -> None:
    """Where cuts do not bind, those of the runs that stop at them: the share of patterns that ended as extreme."""
    steps, allowed = [FAIR] * 8, np.linspace(0.0, 0.2, 8)
    cuts = np.array([NONE, NONE, 0, 3, 1, NONE, 2, 2, 3])
    patterns = [np.cumsum(signs) for signs in itertools.product((0, 1), repeat=8)]
    outcomes = [fair_walk(steps, lost, allowed, cuts, alpha=0.2, binding=False) for lost in patterns]
    narrower = 0
    for outcome, lost in zip(outcomes, patterns, strict=True):
        stage = outcome.event + 0.5 * (outcome.stop != "regression")  # a rejection comes before a pass
        extreme = 0
        for other, path in zip(outcomes, patterns, strict=True):
            at = other.event + 0.5 * (other.stop != "regression")
            as_far = at >= stage and path[outcome.event - 1] >= outcome.position
            extreme += (other.stop == "regression" and at < stage) or as_far
        estimated = without_passes(outcome, steps, lost, cuts)
        (*_, exits), (sums, alive) = estimated.exits, estimated.alive
        seen = float(exits.sum() + alive[sums >= outcome.position].sum())
        assert seen == pytest.approx(extreme / len(patterns))
        narrower += seen < outcome.p_value - 1e-9
    assert narrower > 0


def test_no_event_passes_where_no_loss_does_and_ends_else() -> None:
    for cut, stop in ((0, "futility"), (NONE, "end")):
        outcome = fair_walk([], np.zeros(0, np.int64), np.zeros(0), np.array([cut]), alpha=0.05)
        assert (outcome.stop, outcome.event, outcome.at_end, outcome.p_value) == (stop, 0, stop == "end", 1.0)
        assert outcome.critical is None


FAR = 1_100  # the chance that so many fair signs are alike is below the smallest number a float holds


@each("look", [100, FAR])
def test_a_walk_that_lost_all_rejects_where_it_is_looked_at_first(look: int) -> None:
    lost, allowed = np.arange(1, FAR + 21), np.full(FAR + 20, -1.0)
    allowed[look - 1] = 0.01
    outcome = fair_walk([FAIR] * (FAR + 20), lost, allowed, np.full(FAR + 21, NONE), alpha=0.05)
    assert (outcome.stop, outcome.event) == ("regression", look)
    tails = binom.sf(np.arange(-1, look), look, 0.5)
    assert outcome.critical == next(c for c in range(look + 1) if tails[c] <= 0.01)
    assert 0.0 <= outcome.p_value < 1e-25


def test_a_walk_that_lost_all_is_a_regression_at_its_end_with_a_critical_sum() -> None:
    walk = ([FAIR] * FAR, np.arange(1, FAR + 1), np.full(FAR, -1.0), np.full(FAR + 1, NONE))
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
    early = fair_walk([FAIR] * look, lost, allowed, cuts, alpha=0.05)
    assert (early.stop, early.event, early.at_end, early.position) == ("regression", look, False, 5)
    assert early.critical <= 5
    assert early.p_value == pytest.approx(1 / 32)
    at_end = fair_walk([FAIR] * look, lost, np.full(look, -1.0), cuts, alpha=0.05)
    assert (at_end.stop, at_end.at_end, at_end.p_value) == ("regression", True, pytest.approx(1 / 32))


def test_a_walk_of_which_only_the_rarest_path_is_left_ends_there() -> None:
    """Whoever gained once is cut, up to where all the error would reject the rest: 2 ** -997."""
    cuts = np.arange(1001) - 1
    cuts[-1] = NONE
    outcome = fair_walk([FAIR] * 1000, np.arange(1, 1001), np.full(1000, -1.0), cuts, alpha=1e-300)
    assert (outcome.stop, outcome.at_end, outcome.critical) == ("regression", True, 997)
    assert outcome.p_value == 2.0**-1000


@each("look", [60, FAR])
def test_a_walk_that_gained_all_passes_where_it_is_looked_at_first(look: int) -> None:
    cuts = np.full(FAR + 21, NONE)
    cuts[look:] = 3
    outcome = fair_walk([FAIR] * (FAR + 20), np.zeros(FAR + 20, np.int64), np.full(FAR + 20, -1.0), cuts, alpha=0.05)
    assert (outcome.stop, outcome.event, outcome.p_value) == ("futility", look, pytest.approx(1.0))
