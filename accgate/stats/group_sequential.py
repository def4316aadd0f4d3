"""Group-sequential test with O'Brien-Fleming spending and non-binding futility.

The error is spent as Lan and DeMets do, at any number of looks. Scores other than 0/100, and clusters, are tested by
`graded`.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np

from accgate.stats.brownian import obrien_fleming_spending, spending_bounds
from accgate.stats.graded import graded_boundaries, graded_test
from accgate.stats.power import quantile_sum
from accgate.stats.search import halve
from accgate.stats.sequential import (
    Boundaries,
    SequentialResult,
    Units,
    boundaries_at,
    result_at,
    stand_at,
)
from accgate.stats.walk import FAIR, NONE, Floats, Ints, Outcome, fair_walk, without_passes

LOOKS = 20  # more hardly stop earlier: they cost 2% of the maximum and save less than 1% of the mean
DISCRETENESS = 1.02  # samples needed, times the normal approximation's: counts leave some of alpha unspent


@dataclass(frozen=True)
class GroupDesign:
    """Bounds on z at each look, and the maximum information.

    `inflation` is that information over what the test at a fixed n needs. A run passes at a look if z - E[z | drop of
    theta] is at most the bound in `futility`. These bounds are relative to that mean, so that they hold at any
    information.
    """

    fractions: Floats
    efficacy: Floats
    futility: Floats
    inflation: float


@lru_cache(maxsize=64)
def group_design(looks: int, alpha: float, beta: float) -> GroupDesign:
    """Design O'Brien-Fleming bounds for efficacy and non-binding futility.

    The power is 1 - beta, and beta is spent over the looks in the same way as alpha.

    Examples
    --------
    >>> round(group_design(5, 0.05, 0.2).inflation, 2)
    1.18
    """
    fractions = np.arange(1, looks + 1) / looks
    efficacy = spending_bounds(fractions, obrien_fleming_spending(fractions, alpha))
    missed = obrien_fleming_spending(fractions, beta)

    def lower(drift: float) -> Floats:
        return spending_bounds(fractions, missed, drift=drift, absorbing=efficacy)

    fixed = quantile_sum(alpha, beta)
    ends = halve(lambda drift: bool(lower(drift)[-1] >= efficacy[-1]), fixed, 2.0 * fixed, rounds=29)
    drift = 0.5 * sum(ends)  # at which the bounds meet at the last look
    return GroupDesign(fractions, efficacy, lower(drift) - drift * np.sqrt(fractions), (drift / fixed) ** 2)


@lru_cache(maxsize=64)
def expected_shares(looks: int, alpha: float, beta: float) -> tuple[float, float]:
    """Return the mean share of samples that a run takes.

    The first figure is without a drop, the second with one of theta. The two are from 20,000 simulated walks of the
    normal approximation each, with a standard error under 0.003.

    >>> [round(share, 1) for share in expected_shares(5, 0.05, 0.2)]
    [0.5, 0.7]
    """
    design = group_design(looks, alpha, beta)
    drift = math.sqrt(design.inflation) * quantile_sum(alpha, beta)
    steps = np.random.default_rng(0).standard_normal((20_000, looks)) / math.sqrt(looks)
    noise = np.cumsum(steps, axis=1) / np.sqrt(design.fractions)
    shares = []
    for mean in (0.0, drift):
        z = noise + mean * np.sqrt(design.fractions)
        stops = (z >= design.efficacy) | (z <= design.futility + drift * np.sqrt(design.fractions))
        stops[:, -1] = True
        shares.append(float(np.mean(design.fractions[np.argmax(stops, axis=1)])))
    return shares[0], shares[1]


def group_sequential_test(
    units: Units, *, theta: float, alpha: float, beta: float, looks: int = LOOKS, figures: bool = True
) -> SequentialResult:
    """Group-sequential test that the mean difference is below 0, at `looks` equally spaced looks.

    Parameters
    ----------
    units : Units
        Paired differences in the order in which they are looked at (`units_of`).
    theta : float
        Drop in points to detect with probability 1 - beta.
    alpha, beta : float
        Type I and type II error rates.
    looks : int
        Number of looks, the last at the end; other scores than 0/100 have those of `graded_test`.
    figures : bool
        Without, only where the run stops, its difference and its p-value, and whether it is open: the rest is None.

    Notes
    -----
    The error spent by each look is Lan and DeMets'; what it lets reject is computed by the exact walk of the changes
    instead of the normal approximation, so that the type I error of 0/100 scores is at most alpha at any discordance.
    Futility is non-binding: the error holds also where a run goes on past it.

    References
    ----------
    Lan and DeMets 1983, Biometrika 70; Pampallona, Tsiatis and Kim 2001, Drug Inf. J. 35 (spending of beta).

    Examples
    --------
    >>> from accgate.stats.sequential import units_of
    >>> group_sequential_test(units_of(np.zeros(1000)), theta=2.0, alpha=0.05, beta=0.2).stop
    'futility'
    """
    if not units.exact:
        return graded_test(units, theta=theta, alpha=alpha, beta=beta, figures=figures)
    design, over = group_design(min(looks, units.n_max), alpha, beta), units.is_whole
    walk = _walk(units, design, theta, alpha)
    outcome, unit = walk.outcome, walk.unit
    if not figures:
        return stand_at(units, unit, outcome.p_value, outcome.stop, is_open=outcome.at_end and not over)
    cost = DISCRETENESS * design.inflation
    return result_at(units, unit, walk.without_passes(), alpha=alpha, beta=beta, theta=theta, cost=cost, ended=over)


def group_sequential_boundaries(units: Units, *, theta: float, alpha: float, beta: float) -> Boundaries:
    """Return the boundaries by which `group_sequential_test` decided, with the same parameters.

    They reach up to the unit at which the run stopped, and depend on when units changed.

    Examples
    --------
    At the first of 20 looks only a sum above any that is likely would pass:

    >>> from accgate.stats.sequential import units_of
    >>> walk = group_sequential_boundaries(units_of(np.zeros(50), n_max=1000), theta=2.0, alpha=0.05, beta=0.2)
    >>> walk.fails, [(n, round(limit)) for n, limit in walk.passes]
    ((), [(50.0, 461)])
    """
    if not units.exact:
        return graded_boundaries(units, theta=theta, alpha=alpha, beta=beta)
    walk = _walk(units, group_design(min(LOOKS, units.n_max), alpha, beta), theta, alpha)
    return boundaries_at(units, walk.without_passes(), (walk.looks.n, -walk.looks.most))


@dataclass(frozen=True)
class Looks:
    """Looks that a run has reached, as arrays of shape (looks,).

    For each look, `unit` is the index of the last unit before it, `n` the samples and `changed` the changed units by
    then. `spent` is the type I error that may be spent by then, and `most` the largest sum lost (points) that passes.
    """

    unit: Ints
    n: Floats
    changed: Ints
    spent: Floats
    most: Floats


def looks_of(units: Units, design: GroupDesign, *, theta: float, alpha: float) -> Looks:
    """Return the looks that a run has reached."""
    unit = np.searchsorted(units.samples, _samples_at(units, design))  # the units that complete the looks
    unit = unit[unit < len(units.totals)]
    n, spent = units.samples[unit].astype(float), obrien_fleming_spending(design.fractions, alpha)[: len(unit)]
    changed = np.searchsorted(units.events, unit, side="right")
    return Looks(unit, n, changed, spent, _most_lost(design.futility[: len(unit)], n, changed, theta))


def next_look(units: Units, design: GroupDesign, *, theta: float, alpha: float) -> Looks:
    """Return the next look of a run, as if nothing changed until then.

    If the run is at a look, that one is returned. `n` is the look's number of samples, and `unit` the last finished
    unit. `most` is for the samples that have finished.
    """
    now, wanted = int(units.samples[-1]), _samples_at(units, design)
    look = [int(np.searchsorted(wanted, min(now, units.n_max)))]
    unit, changed = np.array([len(units.totals) - 1]), np.array([len(units.events)])
    most = _most_lost(design.futility[look], np.array([float(now)]), changed, theta)
    return Looks(unit, wanted[look], changed, obrien_fleming_spending(design.fractions[look], alpha), most)


def _samples_at(units: Units, design: GroupDesign) -> Floats:
    """Return the number of samples after which each look comes."""
    count = len(design.fractions)
    return np.asarray(np.ceil(np.arange(1, count + 1) * units.n_max / count))


def _most_lost(futility: Floats, n: Floats, changed: Ints, theta: float) -> Floats:
    return np.asarray(futility * np.sqrt(np.maximum(1e4 * changed, 100.0 * theta * n)) + theta * n)


@dataclass(frozen=True)
class _Walk:
    """The walk of a run's changes, its last unit, and its looks.

    `without_passes` returns the outcome with the masses of all walks, as if no run had passed early.
    """

    outcome: Outcome
    unit: int
    looks: Looks
    without_passes: Callable[[], Outcome]


def _walk(units: Units, design: GroupDesign, theta: float, alpha: float) -> _Walk:
    looks = looks_of(units, design, theta=theta, alpha=alpha)
    changed, spent = looks.changed, looks.spent
    at = units.events
    steps, lost = [FAIR] * len(at), np.cumsum(units.totals[at] < 0.0).astype(np.int64)
    passing = np.maximum(np.floor((looks.most / 100.0 + changed) / 2.0), NONE).astype(np.int64)
    passing[looks.unit < units.earliest] = NONE
    early = int(np.sum(looks.unit < len(units.totals) - 1)) if units.is_whole else len(looks.unit)

    def outcome_of(count: int) -> tuple[Outcome, Ints]:
        cuts, allowed = np.full(len(at) + 1, NONE), np.full(len(at), -1.0)
        for look in range(count):
            event = int(changed[look])
            cuts[event] = max(cuts[event], passing[look])
            if event:
                allowed[event - 1] = spent[look]
        return fair_walk(steps, lost, allowed, cuts, alpha=alpha, binding=False), cuts

    outcome, cuts = outcome_of(early)
    unit = len(units.totals) - 1
    if not outcome.at_end:  # several looks may have as many changes: the run stopped at the first whose bound it met
        allows = spent >= outcome.p_value if outcome.stop == "regression" else passing >= outcome.position
        look = int(np.argmax((changed == outcome.event) & allows))
        unit = int(looks.unit[look])
        outcome, cuts = outcome_of(look + 1)  # as if later looks with no further change were not there
    return _Walk(outcome, unit, looks, partial(without_passes, outcome, steps, lost, cuts))
