"""Generalised sequential probability ratio test on paired 0/100 scores.

After every sample the likelihood of a drop of theta is compared with that of no drop, each at its most likely
discordance. The run passes when the ratio falls to the futility bound. It is a regression when the sum lost reaches
what the error that may be spent by then allows. That error is computed exactly, by the walk of the changes
(`walk.fair_walk`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from accgate.stats import special
from accgate.stats.difference import likeliest_lost
from accgate.stats.optimal import LONGEST, bounds_at, mean_samples
from accgate.stats.power import GSPRT_LEAST, quantile_sum
from accgate.stats.search import least_of_each
from accgate.stats.sequential import (
    TYPICAL,
    Boundaries,
    SequentialResult,
    Units,
    boundaries_at,
    result_at,
    stand_at,
)
from accgate.stats.walk import FAIR, NONE, Floats, Ints, Outcome, fair_walk

DRAWN = 300  # points of a boundary of passing, at most
# benchmarks/optimal.py prints the error rates and the mean samples with these.
SKEWED = 0.1  # log likelihood by which a run passes later if every change is a loss; in proportion if fewer are
CONTRADICTED = 0.2  # the same if far fewer samples change than planned, so that the run alone shows the rate
CHANCE_UNSEEN = 0.75  # share of beta for runs in which a drop of theta changed no sample


def trinomial_llr(lost: Floats, gained: Floats, n: Floats, *, theta: float) -> Floats:
    """Return the generalised log likelihood ratio of a drop of theta against none.

    The likelihoods are of the counts (lost, same, gained), each at its maximum over the discordance, given the
    difference of the shares gained and lost.

    Parameters
    ----------
    lost, gained, n : arrays of one shape
        Samples lost, samples gained, and samples in all.
    theta : float
        Drop in points.

    References
    ----------
    The model is fishtest's (LLRcalc); Chan and Zhang 1999, Biometrics 55 for the constrained maximum.

    Examples
    --------
    >>> trinomial_llr(np.array([0.0]), np.array([0.0]), np.array([100.0]), theta=2.0).round(4)
    array([-2.0203])
    """
    drop = theta / 100.0
    changed, same = lost + gained, n - lost - gained
    null = special.xlogy(changed, changed / (2.0 * n)) + special.xlogy(same, same / n)
    g = np.maximum(likeliest_lost(gained, lost, n, drop), 0.0)  # the share gained
    most = (
        special.xlogy(lost, g + drop)
        + special.xlogy(gained, np.where(gained > 0, g, 1.0))
        + special.xlogy(same, np.maximum(1.0 - 2.0 * g - drop, 0.0))
    )
    return most - null


def n_without_change(theta: float, *, beta: float, loss: float = 100.0) -> int:
    """Return how many unchanged samples rule out a drop of theta points.

    A drop of theta changes at least a share theta / `loss` of the samples, where `loss` is the most points that one can
    lose. The probability to see none of them is kept under three quarters of beta; the rest is for runs that saw
    changes.

    >>> n_without_change(2.0, beta=0.2), n_without_change(4.0, beta=0.2)
    (94, 47)
    """
    if theta >= loss:
        return 1
    return math.ceil(math.log(CHANCE_UNSEEN * beta) / math.log1p(-theta / loss))


@dataclass(frozen=True)
class Schedule:
    """The bounds of a run after each unit.

    They depend on when units changed, and not on the signs of the changes. All arrays have shape (units,): `bound` is
    the log likelihood ratio at which the run passes, `allowed` the type I error that may be spent. `last` is the index
    of the last unit used; `over` says that the run ends there, with all samples, or those planned for the discordance.
    """

    n: Floats
    bound: Floats
    allowed: Floats
    last: int
    over: bool


def schedule(units: Units, *, theta: float, alpha: float, beta: float, discordance: float | None) -> Schedule:
    """Return a run's bound of passing, its error to spend, and its end.

    They are those of the optimal test (`optimal`) at the rate at which samples change: the planned rate unless the
    samples contradict it, never less than the share that has changed so far, and never more than a standard error above
    that. If the rate is the planned one, and the run is long enough for it, a run that does not fail by its end has
    passed. If more samples change, a run to the end cannot exclude a drop of theta. Then the bounds move towards those
    of runs that end undecided, in which only an early pass counts. So of runs with a drop of theta at most beta pass,
    whatever the plan was.
    """
    n, drop = units.samples.astype(float), theta / 100.0
    root = np.sqrt(np.cumsum(units.totals != 0.0) + 0.375)  # Anscombe: its standard deviation is 1/2
    expected = min(max(TYPICAL if discordance is None else discordance, drop), 1.0)
    rate = np.clip(np.maximum(np.minimum(expected, (root + 0.5) ** 2 / n), root**2 / n), drop, 1.0)
    per, at_expected = _needed(rate, drop, alpha, beta), _needed(np.array([expected]), drop, alpha, beta)
    room = np.minimum(units.n_max / per, LONGEST)
    passed = np.minimum(np.maximum.accumulate(n / per / room), 1.0)
    whole = np.maximum(room, np.minimum(units.n_max / at_expected, LONGEST))
    bound, spent = bounds_at(passed, whole, room, alpha=alpha, beta=beta)
    bound -= SKEWED * drop / rate + CONTRADICTED * np.clip(2.0 * (expected / rate - 1.0), 0.0, 1.0)
    full = n / per >= LONGEST
    last = int(np.argmax(full)) if full.any() else len(n) - 1
    allowed = alpha * np.maximum.accumulate(spent)
    return Schedule(n, bound, allowed, last, bool(full.any()) or units.is_whole)


def _needed(rate: Floats, drop: float, alpha: float, beta: float) -> Floats:
    """Return nearly what `mcnemar_n` gives, in closed form."""
    return quantile_sum(alpha, beta) ** 2 * rate / drop**2 + 1.9 / drop - 1.45 / rate


def expected_samples(n: int, theta: float, *, discordance: float, alpha: float, beta: float) -> tuple[float, float]:
    """Return the mean samples, healthy and after a drop of theta.

    These are the means of the optimal test, mostly within a tenth of what runs take (benchmarks/optimal.py prints
    both). A run has at most n samples; the other parameters are those of `gsprt_test`.

    >>> [round(mean) for mean in expected_samples(1198, 2.0, discordance=0.05, alpha=0.05, beta=0.2)]
    [384, 506]
    """
    drop = theta / 100.0
    rate, k = np.array([min(max(discordance, drop), 1.0)]), quantile_sum(alpha, beta)
    exact, normal = (float(each[0]) for each in (_needed(rate, drop, alpha, beta), k * k * rate / drop**2))
    healthy, dropped = mean_samples(n / exact, alpha=alpha, beta=beta)
    return min(max(healthy * exact, 1.0), float(n)), min(max(dropped * normal, 1.0), float(n))


def gsprt_test(
    units: Units, *, theta: float, alpha: float, beta: float, discordance: float | None = None, figures: bool = True
) -> SequentialResult:
    """Generalised sequential probability ratio test that the mean difference is below 0, stopped early.

    Parameters
    ----------
    units : Units
        Paired 0/100 scores in the order in which they are looked at (`units_of`).
    theta : float
        Drop in points to detect with probability 1 - beta.
    alpha, beta : float
        Type I and type II error rates.
    discordance : float, optional
        Share of samples expected to change: it shapes the bounds. The type I error does not depend on it, and of runs
        with a drop of theta at most beta pass early whatever it is; a wrong one costs samples.
    figures : bool
        Without, only where the run stops, its difference and its p-value, and whether it is open: the rest is None.

    Notes
    -----
    The type I error is at most alpha for every discordance, exactly.

    References
    ----------
    Wald 1945, Ann. Math. Stat. 16; Lan and DeMets 1983, Biometrika 70 (error spending); the exact walk is the
    permutation argument of Fisher's sign test, applied conditionally on when units changed.

    Examples
    --------
    >>> from accgate.stats.sequential import units_of
    >>> r = gsprt_test(units_of(np.zeros(1319)), theta=2.0, alpha=0.05, beta=0.2)
    >>> r.stop, r.n
    ('futility', 94)
    """
    plan = schedule(units, theta=theta, alpha=alpha, beta=beta, discordance=discordance)
    passing = Passing(units, plan, theta, beta)
    outcome, before = _walk(units, plan, passing, alpha)
    at = units.events
    if outcome.at_end:
        unit = plan.last
    elif outcome.stop == "regression":
        unit = int(at[outcome.event - 1])
    else:
        unit = passing.first(outcome, int(at[outcome.event - 1]) if outcome.event else 0, int(before[outcome.event]))
    if not figures:
        return stand_at(units, unit, outcome.p_value, outcome.stop, is_open=outcome.at_end and not plan.over)
    return result_at(units, unit, outcome, alpha=alpha, beta=beta, theta=theta, cost=GSPRT_LEAST, ended=plan.over)


def soonest_pass(units: Units, *, theta: float, alpha: float, beta: float, discordance: float | None = None) -> int:
    """Return after how many samples a run passes if nothing more changes.

    The run has not stopped yet. The parameters are those of `gsprt_test`.

    >>> from accgate.stats.sequential import units_of
    >>> rates = {"theta": 2.0, "alpha": 0.05, "beta": 0.2}
    >>> [soonest_pass(units_of(np.array(seen), n_max=1319), **rates) for seen in ([0.0], [-100.0], [-100.0, -100.0])]
    [94, 258, 378]
    """
    seen, changed, lost = len(units.totals), len(units.events), int(np.count_nonzero(units.totals < 0.0))
    end = seen
    while True:  # twice as far each time: most of a large run lies beyond
        end = min(2 * end + n_without_change(theta, beta=beta), units.n_max)
        totals, sizes = np.pad(units.totals, (0, end - seen)), np.pad(units.sizes, (0, end - seen), constant_values=1)
        longer = replace(units, totals=totals, sizes=sizes)
        plan = schedule(longer, theta=theta, alpha=alpha, beta=beta, discordance=discordance)
        unit = np.arange(min(seen - 1, plan.last), plan.last + 1)
        passes = Passing(longer, plan, theta, beta).holds(unit, np.full_like(unit, changed), np.full_like(unit, lost))
        if passes.any() or plan.over:
            return int(unit[np.argmax(passes)] if passes.any() else unit[-1]) + 1


def gsprt_boundaries(
    units: Units, *, theta: float, alpha: float, beta: float, discordance: float | None = None
) -> Boundaries:
    """Return the boundaries by which `gsprt_test` decided, with the same parameters.

    They reach up to the unit at which the run stopped, and depend on when samples changed.

    Examples
    --------
    Without any change a run passes at its end, whatever the sum:

    >>> from accgate.stats.sequential import units_of
    >>> gsprt_boundaries(units_of(np.zeros(94), n_max=1319), theta=2.0, alpha=0.05, beta=0.2)
    Boundaries(fails=(), passes=((94.0, 0.0),))
    """
    plan = schedule(units, theta=theta, alpha=alpha, beta=beta, discordance=discordance)
    passing = Passing(units, plan, theta, beta)
    outcome, _ = _walk(units, plan, passing, alpha)
    count = plan.last + 1 - plan.over  # the last unit of a whole run is its end, and no look
    looks = np.linspace(0, count - 1, min(count, DRAWN)).round().astype(np.int64)
    sums = passing.sums(looks)
    is_open = ~np.isnan(sums)
    return boundaries_at(units, outcome, (plan.n[looks][is_open], sums[is_open]))


def _walk(units: Units, plan: Schedule, passing: Passing, alpha: float) -> tuple[Outcome, Ints]:
    """Return the walk of a run's changes, and the last unit before each.

    Only units at which the run may pass count.
    """
    at = units.events[units.events <= plan.last]
    before = before_each(at, plan.last - plan.over)
    lost: Ints = np.cumsum(units.totals[at] < 0.0, dtype=np.int64)
    cuts = passing.largest(before)
    return fair_walk([FAIR] * len(at), lost, plan.allowed[at], cuts, alpha=alpha), before


def before_each(at: Ints, last: int) -> Ints:
    """Find the last unit before each event at which a run may pass.

    An entry is `NONE` if there is no such unit. The final entry is `last`, for the time after all events.
    """
    before = np.append(at - 1, last)
    before[1:] = np.where(before[1:] < at, NONE, before[1:])
    return before


@dataclass(frozen=True)
class Passing:
    """The region in which a run passes.

    There the likelihood ratio is at or below the bound.
    """

    units: Units
    plan: Schedule
    theta: float
    beta: float

    def holds(self, unit: Ints, event: Ints, lost: Ints) -> npt.NDArray[np.bool_]:
        """Tell whether a run passes after this unit.

        `lost` of its `event` changed samples were losses.
        """
        n = np.maximum(self.plan.n[unit], event)
        ratio = trinomial_llr(lost.astype(float), (event - lost).astype(float), n, theta=self.theta)
        is_long = unit + 1 >= n_without_change(self.theta, beta=self.beta)
        passes = np.where(event == 0, is_long, ratio <= self.plan.bound[unit])
        return passes & (unit >= self.units.earliest)

    def largest(self, before: Ints) -> Ints:
        """Return the largest sum lost that passes at the unit before each event.

        An entry is `NONE` if no sum passes.
        """
        return np.where(before < 0, NONE, self._most_lost(np.maximum(before, 0), np.arange(len(before))))

    def _most_lost(self, unit: Ints, event: Ints) -> Ints:
        return least_of_each(lambda lost: ~self.holds(unit, event, lost), event + 1) - 1  # the ratio rises with `lost`

    def sums(self, unit: Ints) -> Floats:
        """Return the least sum of differences (points) that passes at each unit.

        An entry is NaN if no sum passes. The number of changed samples is the one that the run had by then.
        """
        changed = np.cumsum(self.units.totals != 0.0)[unit]
        most = self._most_lost(unit, changed)
        return np.where(most == NONE, math.nan, 100.0 * (changed - 2.0 * most))

    def share(self, unit: int) -> float:
        """Return how much of the evidence for a pass a run has.

        The result is from 0 to 1.
        """
        totals = self.units.totals[: unit + 1]
        changed = int(np.count_nonzero(totals))
        if not changed:  # a drop of theta would have changed some
            return min(1.0, (unit + 1) / n_without_change(self.theta, beta=self.beta))
        lost, n = float(np.count_nonzero(totals < 0.0)), np.maximum(self.plan.n[[unit]], changed)
        ratio = float(trinomial_llr(np.array([lost]), np.array([changed - lost]), n, theta=self.theta)[0])
        used, drop = float(n[0]), self.theta / 100.0
        falls = drop**2 / (2.0 * max(changed / used, drop))  # expected fall of the ratio by each sample of a sound run
        share = used / (used + max(ratio - float(self.plan.bound[unit]), 0.0) / falls)
        return share if ratio < 0.0 else min(share, 0.4)  # the samples so far are likelier with a drop than without

    def first(self, outcome: Outcome, start: int, end: int) -> int:
        """Find the first unit from `start` on after which a run passes.

        It must pass by `end`.
        """
        unit = np.arange(start, end + 1)
        holds = self.holds(unit, np.full(len(unit), outcome.event), np.full(len(unit), outcome.position))
        return int(unit[np.argmax(holds)])
