"""A sequential test of 0/100 answers given several times, truncated at the samples there are.

After every unit the sum of differences is held against two bounds. The run passes where it is far above what a drop of
theta would have brought it to, and it is a regression where the exact null distribution (`repeats`), followed by
convolution, leaves a sum so low a chance within the error that may be spent by then.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from accgate.stats.answers import Repeats
from accgate.stats.betting import confidence_sequence
from accgate.stats.odds import Limits
from accgate.stats.power import GSPRT_MAXIMUM, quantile, quantile_sum
from accgate.stats.repeats import detectable_drop, reasons_of, sum_at
from accgate.stats.result import Interval
from accgate.stats.sequential import TYPICAL, Boundaries, SequentialResult, Units, failing, open_result, stand_at
from accgate.stats.totals import spread_of
from accgate.stats.walk import NONE, Floats, Ints, Outcome, fair_walk

FULL = 1.6  # information at which the test is decided at last, in units of what the fixed-n test needs
PRIOR = 100.0  # samples that the expected noise counts for in what may be spent
COST = 1.1  # samples that the test takes for the power of the fixed-n one, times its own
DRAWN = 300  # looks of which the boundary of passing is drawn


@dataclass(frozen=True)
class RepeatsSchedule:
    """The bounds of a run after each unit: of its null variances, and not of which side had the right answers.

    All arrays have shape (units,): `allowed` is the type I error that may be spent, `passes` the least sum of
    differences, in shares of a sample, at which the run passes. `last` is the index of the last unit used; `over` says
    that the run ends there, with all samples or all the information planned.
    """

    allowed: Floats
    passes: Floats
    last: int
    over: bool


def repeats_schedule(
    repeats: Repeats, *, theta: float, alpha: float, beta: float, discordance: float | None
) -> RepeatsSchedule:
    """The bounds of a run, from the information gained so far; parameters as for `repeats_sequential`.

    Information is (n theta)^2 / variance, in units of what the fixed-n test needs, (z_a + z_b)^2. A drop that is made
    of whole losses has the variance of their number beside that of the noise: half of it counts here, so that where
    nothing differs the ratio is the logarithm of the chance to see no loss.
    """
    n, needed = repeats.samples.astype(float), quantile_sum(alpha, beta) ** 2
    units = np.arange(1.0, len(n) + 1.0)
    drop, size = theta / 100.0 * n, n / units
    variance = np.cumsum(repeats.variances)
    expected = 0.5 * repeats.rate * (TYPICAL if discordance is None else discordance)
    rate = (variance + PRIOR * size * expected) / (n + PRIOR * size) + 0.5 * size * theta / 100.0
    information = drop**2 / (rate * n) / needed
    room = np.minimum(repeats.n_max * information / n, FULL)
    passed = np.minimum(np.maximum.accumulate(information / room), 1.0)
    allowed = np.maximum.accumulate(alpha * passed ** np.clip(1.0 + 2.25 * (FULL - room), 1.0, 3.5))
    deepest = -math.log(beta) + np.minimum(0.2 + max(0.0, beta - 0.2) + 2.4 * (FULL - room), 3.0)
    meeting = -quantile(alpha) * np.sqrt(room * needed) - room * needed / 2.0  # where both bounds meet at the end
    enough = np.clip((room - 0.9) / 0.2, 0.0, 1.0)  # with fewer samples than theta takes the end rules nothing out
    bound = -deepest + enough * (deepest + meeting) * passed**4
    passes = -bound * (variance + 0.5 * size * drop) / drop - 0.5 * drop
    full = passed >= 1.0
    last = int(np.argmax(full)) if full.any() else len(n) - 1
    return RepeatsSchedule(allowed, passes, last, bool(full.any()) or repeats.is_whole)


def repeats_sequential(
    repeats: Repeats, *, theta: float, alpha: float, beta: float, discordance: float | None = None, figures: bool = True
) -> SequentialResult:
    """Sequential test that R answers of the candidate are worse than K of the reference, stopped early.

    Parameters
    ----------
    repeats : Repeats
        Right answers by unit and run, in the order in which they are looked at.
    theta : float
        Drop in points to detect with probability 1 - beta.
    alpha, beta : float
        Type I and type II error rates.
    discordance : float, optional
        Share of samples expected to differ between two single runs: it shapes how error is spent, no error rate.
    figures : bool
        Without, only where the run stops, its difference and its p-value, and whether it is open: the rest is None.

    Notes
    -----
    The upper limit of the interval inverts the walk, so that it is below 0 exactly where H0 is rejected. The lower one
    is by betting: a run passes because few answers differed, so given how many did, a drop of theta looks less likely
    than it is (of runs with one, 9% excluded it at 95% confidence). A bet on the differences takes nothing as given,
    and its limit holds wherever the run stops.

    References
    ----------
    Wang 1993, Statistica Sinica 3 (the walk's steps); Waudby-Smith and Ramdas 2024, JRSS B 86; Ville 1939 (betting).

    Examples
    --------
    >>> from accgate.stats.answers import repeats_of
    >>> same = np.full((1319, 4), 100.0)
    >>> r = repeats_sequential(repeats_of(same, same[:, :1]), theta=2.0, alpha=0.05, beta=0.2)
    >>> r.stop, r.n
    ('futility', 91)
    """
    rates = {"alpha": alpha, "beta": beta}
    if not len(repeats.sizes):
        return open_result(repeats)
    plan = repeats_schedule(repeats, theta=theta, discordance=discordance, **rates)
    outcome, unit = _walk(repeats, plan, alpha)
    is_open = outcome.at_end and not plan.over
    if not figures:
        units = Units(repeats.totals, repeats.sizes, exact=False, n_max=repeats.n_max)
        return stand_at(units, unit, outcome.p_value, outcome.stop, is_open=is_open)
    beginning = repeats.first(unit + 1)
    n, rejected = int(beginning.sizes.sum()), outcome.stop == "regression"
    difference = float(beginning.totals.sum()) / n
    estimate = Limits(repeats, unit + 1, outcome, difference).estimate()
    upper = Limits(repeats, unit + 1, outcome, estimate).upper(alpha, rejected=rejected)
    # Betting takes nothing as given, so that its limit holds whatever made the run stop there.
    bets = confidence_sequence(repeats.totals, repeats.planned, bound=100.0, alpha=alpha, stop=unit + 1, theta=theta)
    lower = min(bets.two_sided[0], estimate, difference, upper)
    seen = None if rejected else theta
    if outcome.at_end:
        least = detectable_drop(beginning, n=repeats.n_max, cost=COST, **rates)
        seen = None if least is None else max(theta, least)
    threshold = None if outcome.critical is None else sum_at(repeats, unit + 1, outcome.critical - 0.5) / n
    return SequentialResult(
        difference=difference,
        p_value=outcome.p_value,
        threshold=threshold,
        theta=seen,
        sigma=spread_of(beginning.totals, beginning.sizes),
        interval=Interval(upper, (lower, upper)),
        reasons=reasons_of(beginning, outcome.event),
        n=n,
        n_max=repeats.n_max,
        stop=outcome.stop,
        open=is_open,
        estimate=estimate,
    )


def repeats_boundaries(
    repeats: Repeats, *, theta: float, alpha: float, beta: float, discordance: float | None = None
) -> Boundaries:
    """The boundaries that `repeats_sequential` decided by, of the units that it used; parameters as there.

    Examples
    --------
    Without any answer that differs a run passes at its end:

    >>> from accgate.stats.answers import repeats_of
    >>> same = repeats_of(np.full((91, 4), 100.0), np.full((91, 1), 100.0), n_max=1319)
    >>> repeats_boundaries(same, theta=2.0, alpha=0.05, beta=0.2)
    Boundaries(fails=(), passes=((91.0, 0.0),))
    """
    plan = repeats_schedule(repeats, theta=theta, alpha=alpha, beta=beta, discordance=discordance)
    outcome, unit = _walk(repeats, plan, alpha)
    n = repeats.samples.astype(float)
    fails = [(float(n[i]), sum_at(repeats, i + 1, lost)) for _, i, lost in failing(outcome, repeats.events, unit)]
    looks = _looks(repeats, plan)[: unit + 1]
    drawn = np.linspace(0, unit, min(unit + 1, DRAWN)).round().astype(np.int64)
    drawn = drawn[looks[drawn] != NONE]
    passes = [(float(n[i]), sum_at(repeats, int(i) + 1, float(looks[i]))) for i in drawn]
    return Boundaries(tuple(fails), tuple(passes))


def visible_drop(repeats: Repeats, discordance: float | None, *, alpha: float, beta: float) -> float:
    """The drop in points to look for where no target is set: what a whole run detects at this discordance.

    >>> from accgate.stats.answers import repeats_of
    >>> same = np.full((1000, 4), 100.0)
    >>> round(visible_drop(repeats_of(same, same[:, :1]), None, alpha=0.05, beta=0.2), 2)
    1.9
    """
    variance = 0.5 * repeats.rate * (TYPICAL if discordance is None else discordance)
    factor = quantile_sum(alpha, beta) ** 2 * GSPRT_MAXIMUM / repeats.n_max
    return min(25.0 * (factor + math.sqrt(factor * factor + 16.0 * factor * variance)), 100.0)


def _walk(repeats: Repeats, plan: RepeatsSchedule, alpha: float) -> tuple[Outcome, int]:
    """The walk of a run's events, and the index of the unit at which it stopped."""
    kinds, kind = repeats.kinds
    at = repeats.events[repeats.events <= plan.last]
    looks = _looks(repeats, plan)
    starts, ends = np.append(0, at), np.append(at, plan.last + 1)
    before = [int(looks[start:end].max(initial=NONE)) for start, end in zip(starts, ends, strict=True)]
    steps = [kinds[i].masses for i in kind[at]]
    lost = np.cumsum(repeats.lost[at])
    outcome = fair_walk(steps, lost, plan.allowed[at], np.array(before), alpha=alpha)
    if outcome.at_end:
        return outcome, plan.last
    start = int(at[outcome.event - 1]) if outcome.event else 0
    if outcome.stop == "regression":
        return outcome, start
    return outcome, start + int(np.argmax(looks[start : plan.last + 1] >= outcome.position))


def _looks(repeats: Repeats, plan: RepeatsSchedule) -> Ints:
    """The most that the candidate can have lost after each unit of a run that passes there; `NONE` where none does."""
    most, right = np.cumsum(repeats.most), np.cumsum(repeats.right)
    lost = most - (plan.passes + right / repeats.before.shape[1]) / repeats.rate
    looks: Ints = np.maximum(np.floor(lost + 1e-9), NONE).astype(np.int64)
    if plan.over:
        looks[plan.last] = NONE  # the last unit of a whole run is its end, and no look
    return looks
