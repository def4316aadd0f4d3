"""A sequential test of 0/100 answers given several times.

After every unit the sum of differences is compared with two bounds. The run passes if the sum is far above what a drop
of theta would have made of it. It is a regression if a sum so low has a probability within the error that may be spent
by then, under each exact null distribution (`repeats`), which is followed by convolution.
"""

import math
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from accgate.stats.answers import Repeats
from accgate.stats.betting import confidence_sequence
from accgate.stats.gsprt import DRAWN, n_without_change
from accgate.stats.odds import Limits
from accgate.stats.optimal import LONGEST, bounds_at
from accgate.stats.power import GSPRT_MAXIMUM, quantile_sum
from accgate.stats.repeats import detectable_drop, reasons_of, sum_at
from accgate.stats.result import Interval
from accgate.stats.sequential import TYPICAL, Boundaries, SequentialResult, Units, failing, stand_at
from accgate.stats.totals import spread_of
from accgate.stats.walk import NONE, Floats, Ints, Outcome, fair_walk

# benchmarks/runs.py prints the error rates and the mean samples with these.
PRICE = 0.3  # log likelihood by which runs pass later than in the optimal test, which knows the noise
PRIOR = 100.0  # samples as many as which the expected noise counts, in the error that may be spent
COST = 1.1  # samples for the power of the fixed-n test, times that test's own


@dataclass(frozen=True)
class RepeatsSchedule:
    """The bounds of a run after each unit.

    They depend on the null variances, and not on which side had the right answers. The arrays have shape (units,):
    `allowed` is the type I error that may be spent, and `passes` the least sum of differences, in shares of a sample,
    at which the run passes. `last` is the index of the last unit used; `over` says that the run ends there, with all
    samples or all the planned information.
    """

    allowed: Floats
    passes: Floats
    last: int
    over: bool


def repeats_schedule(
    repeats: Repeats, *, theta: float, alpha: float, beta: float, discordance: float | None
) -> RepeatsSchedule:
    """Return a run's bounds for one way to exchange its answers.

    Other parameters are those of `repeats_sequential`. Information is (n theta)^2 / variance, in units of what the
    fixed-n test needs, (z_a + z_b)^2. A drop made of whole losses adds the variance of their number to that of the
    noise. Half of that is counted here, so that if nothing differs the likelihood ratio is the probability to see no
    loss.
    """
    n, needed = repeats.samples.astype(float), quantile_sum(alpha, beta) ** 2
    units = np.arange(1.0, len(n) + 1.0)
    drop, size = theta / 100.0 * n, n / units
    variance = np.cumsum(repeats.variances)
    expected = TYPICAL if discordance is None else discordance
    rate = (variance + PRIOR * size * expected) / (n + PRIOR * size) + 0.5 * size * theta / 100.0
    information = drop**2 / (rate * n) / needed
    room = np.minimum(repeats.n_max * information / n, LONGEST)
    passed = np.minimum(np.maximum.accumulate(information / room), 1.0)
    bound, spent = bounds_at(passed, room, room, alpha=alpha, beta=beta)
    allowed = alpha * np.maximum.accumulate(spent)
    passes = (PRICE - bound) * (variance + 0.5 * size * drop) / drop - 0.5 * drop
    passes[n < n_without_change(theta, beta=beta)] = math.inf
    full = passed >= 1.0
    last = int(np.argmax(full)) if full.any() else len(n) - 1
    return RepeatsSchedule(allowed, passes, last, bool(full.any()) or repeats.is_whole)


def repeats_sequential(
    repeats: Repeats, *, theta: float, alpha: float, beta: float, discordance: float | None = None, figures: bool = True
) -> SequentialResult:
    """Test sequentially that R answers are worse than the reference's K.

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
    The upper limit of the interval inverts the walk, so that it is below 0 exactly if H0 is rejected. The lower limit
    comes from betting. The walk would not do: a run passes because few answers differed, so given how many did, a drop
    of theta looks less likely than it is (of runs with one, 9% excluded it at 95% confidence). A bet on the differences
    conditions on nothing, and its limit holds wherever the run stops.

    References
    ----------
    Wang 1993, Statistica Sinica 3 (the walk's steps); Waudby-Smith and Ramdas 2024, JRSS B 86; Ville 1939 (betting).

    Examples
    --------
    >>> from accgate.stats.answers import repeats_of
    >>> same = np.full((1319, 4), 100.0)
    >>> r = repeats_sequential(repeats_of(same, same[:, :1]), theta=2.0, alpha=0.05, beta=0.2)
    >>> r.stop, r.n
    ('futility', 100)
    """
    rates = {"alpha": alpha, "beta": beta}
    plan, walks = _walks(repeats, theta=theta, discordance=discordance, **rates)
    stop = _decisive(walks)
    outcome, unit = stop.outcome, stop.unit
    rejected = outcome.stop == "regression"
    p_value = max(walk.outcome.p_value for walk in walks)
    if not rejected:  # one of two walks alone may have met its bound
        p_value = max(p_value, math.nextafter(alpha, 1.0))
    units = Units(repeats.totals, repeats.sizes, exact=False, n_max=repeats.n_max)
    standing = stand_at(units, unit, p_value, outcome.stop, is_open=outcome.at_end and not plan.over)
    if not figures:
        return standing
    beginning, difference = repeats.first(unit + 1), standing.difference
    estimate = Limits(stop.repeats, unit + 1, outcome, difference).estimate()
    upper = Limits(stop.repeats, unit + 1, outcome, estimate).upper(alpha, rejected=rejected)
    bets = confidence_sequence(repeats.totals, repeats.planned, bound=100.0, alpha=alpha, stop=unit + 1, theta=theta)
    lower = min(bets.two_sided[0], estimate, difference, upper)
    seen = None if rejected else theta
    if outcome.at_end:
        drop = detectable_drop(beginning, n=repeats.n_max, cost=COST, **rates)
        seen = None if drop is None else max(theta, drop)
    here = [walk for walk in walks if walk.unit == unit]
    least = [(walk.repeats, critical) for walk in here if (critical := walk.outcome.critical) is not None]
    sums = [sum_at(one, unit + 1, critical - 0.5) for one, critical in least]
    return replace(
        standing,
        threshold=min(sums) / standing.n if len(sums) == len(here) else None,
        theta=seen,
        sigma=spread_of(beginning.totals, beginning.sizes),
        interval=Interval(upper, (lower, upper)),
        reasons=reasons_of(beginning),
        estimate=estimate,
    )


def repeats_boundaries(
    repeats: Repeats, *, theta: float, alpha: float, beta: float, discordance: float | None = None
) -> Boundaries:
    """Return the boundaries by which `repeats_sequential` decided, with the same parameters.

    They reach up to the unit at which the run stopped. If there are two walks, both must fail; the boundary of failing
    is that of the walk that failed last, or did not fail.

    Examples
    --------
    Without any answer that differs a run passes at its end:

    >>> from accgate.stats.answers import repeats_of
    >>> same = repeats_of(np.full((100, 4), 100.0), np.full((100, 1), 100.0), n_max=1319)
    >>> repeats_boundaries(same, theta=2.0, alpha=0.05, beta=0.2)
    Boundaries(fails=(), passes=((100.0, 0.0),))
    """
    plan, walks = _walks(repeats, theta=theta, alpha=alpha, beta=beta, discordance=discordance)
    stop = _decisive(walks)
    one, unit, n = stop.repeats, stop.unit, repeats.samples.astype(float)
    fails = [(float(n[i]), sum_at(one, i + 1, lost)) for _, i, lost in failing(stop.outcome, one.events, unit)]
    looks = _looks(one, plan)[: unit + 1]
    drawn = np.linspace(0, unit, min(unit + 1, DRAWN)).round().astype(np.int64)
    drawn = drawn[looks[drawn] != NONE]
    passes = [(float(n[i]), sum_at(one, int(i) + 1, float(looks[i]))) for i in drawn]
    return Boundaries(tuple(fails), tuple(passes))


def visible_drop(n: int, discordance: float | None, *, alpha: float, beta: float) -> float:
    """Return the drop (points) to look for if the user set no theta.

    A whole run of n samples detects it. The whole discordance counts as noise, since no run has shown yet how much of
    it more answers would average out.

    >>> round(visible_drop(1000, None, alpha=0.05, beta=0.2), 2)
    2.34
    """
    factor = quantile_sum(alpha, beta) ** 2 * GSPRT_MAXIMUM / n
    variance = TYPICAL if discordance is None else discordance
    return min(25.0 * (factor + math.sqrt(factor * factor + 16.0 * factor * variance)), 100.0)


@dataclass(frozen=True)
class _Walk:
    """A walk of one way to exchange answers, and where it stopped.

    `unit` is the index of its last unit.
    """

    repeats: Repeats
    outcome: Outcome
    unit: int


def _walks(
    repeats: Repeats, *, theta: float, alpha: float, beta: float, discordance: float | None
) -> tuple[RepeatsSchedule, list[_Walk]]:
    """Return a run's schedule, and a walk for each way to exchange answers.

    The last walk exchanges whole sides. The schedule is that of whole sides, whose null variance holds across builds.
    It depends on the draws of the other walk, which therefore spends its error by its own variances, and counts on no
    pass.
    """
    *others, sides = reversed(repeats.exchanges)
    schedule = partial(repeats_schedule, theta=theta, alpha=alpha, beta=beta, discordance=discordance)
    plan = schedule(sides)
    walks = []
    for each in others:
        own = replace(plan, allowed=schedule(each).allowed)
        is_last = repeats.is_whole and plan.last == len(repeats.sizes) - 1
        walks.append(_walk(each, own, alpha if is_last else float(own.allowed[plan.last]), binding=False))
    return plan, [*walks, _walk(sides, plan, alpha, binding=True)]


def _decisive(walks: list[_Walk]) -> _Walk:
    """Choose the walk that ends the run.

    The first walk to pass ends it, else one that does not fail, else the last to fail.
    """
    passing = [walk for walk in walks if walk.outcome.stop == "futility"]
    if passing:
        return min(passing, key=lambda walk: walk.unit)
    return max(walks, key=lambda walk: (walk.outcome.stop == "end", walk.unit, walk.repeats is walks[-1].repeats))


def _walk(repeats: Repeats, plan: RepeatsSchedule, alpha: float, *, binding: bool) -> _Walk:
    """Walk through a run's events, with `binding` as in `fair_walk`."""
    kinds, kind = repeats.kinds
    at = repeats.events[repeats.events <= plan.last]
    looks = _looks(repeats, plan)
    starts, ends = np.append(0, at), np.append(at, plan.last + 1)
    before = [int(looks[start:end].max(initial=NONE)) for start, end in zip(starts, ends, strict=True)]
    steps = [kinds[i].masses for i in kind[at]]
    lost = np.cumsum(repeats.lost[at])
    outcome = fair_walk(steps, lost, plan.allowed[at], np.array(before), alpha=alpha, binding=binding)
    if outcome.at_end:
        return _Walk(repeats, outcome, plan.last)
    start = int(at[outcome.event - 1]) if outcome.event else 0
    if outcome.stop == "regression":
        return _Walk(repeats, outcome, start)
    return _Walk(repeats, outcome, start + int(np.argmax(looks[start : plan.last + 1] >= outcome.position)))


def _looks(repeats: Repeats, plan: RepeatsSchedule) -> Ints:
    """Return the most losses with which a run passes after each unit.

    An entry is `NONE` if no run passes there.
    """
    most, right = np.cumsum(repeats.most), np.cumsum(repeats.right)
    lost = most - (plan.passes + repeats.share * right / repeats.before.shape[1]) / repeats.rate
    looks: Ints = np.maximum(np.floor(lost + 1e-9), NONE).astype(np.int64)
    if plan.over:
        looks[plan.last] = NONE  # the last unit of a whole run is its end, and no look
    return looks
