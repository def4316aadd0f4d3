"""The optimal sequential test between no drop and a drop, by backward induction.

The log likelihood ratio of many samples is a walk with normal steps: its variance is the information, and its mean is
minus half of that without a drop and plus half of it after one. Of all tests that keep both error rates within a given
number of samples, this one takes the fewest on average. It stops as soon as a wrong verdict is expected to cost less
than going on. The costs of the two wrong verdicts are chosen so that both error rates are met.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np

from accgate.stats.power import quantile_sum
from accgate.stats.walk import Floats

LOOKS = 50  # of the solved walk, after equal parts of the run
SPACING = 0.2  # of its grid, in standard deviations of a step
REACH = 30  # the longest step, in points of the grid
BETWEEN = 0.583  # standard deviations of a step by which bounds move if every sample is a look (Siegmund 1979)
HEALTHY = 2.5  # what a sample of a run without a drop costs, to one of a run with a drop: most runs have none
LOOSEST = 0.15, 0.4  # alpha and beta: at larger ones hardly any look is worth its samples
ACCURACY = 2e-3  # of both error rates, relative
FAR = 1e3  # a bound that is never met
LONGEST = 1.45  # samples of a run, in those of the test at a fixed n: more are not used
# benchmarks/optimal.py prints the error rates and the mean samples with these.
SHORT = 1.1, 1.33  # room up to which a run that reaches its end is undecided, and from which it has passed
ROOMS = {True: (1.2, 1.3, LONGEST), False: (0.4, 0.6, 0.8, 1.1, LONGEST)}  # the rooms that are solved


@dataclass(frozen=True)
class Optimal:
    """The optimal test of runs of a given length.

    `passes` are the log likelihood ratios of a drop at which a run passes, and `spent` the share of alpha spent on
    failing by then: arrays of shape (LOOKS + 1,), at the start and after each of the equal parts of a run. `healthy`
    and `dropped` are the mean numbers of samples without and with a drop, as multiples of what the test at a fixed n
    needs.
    """

    passes: Floats
    spent: Floats
    healthy: float
    dropped: float


@functools.cache
def optimal_test(alpha: float, beta: float, room: float, *, ends: bool = True) -> Optimal:
    """Find the optimal test at these error rates.

    A run has at most `room` times the samples of the test at a fixed n. With `ends` a run that reaches its end without
    failing has passed, which needs a room above 1. Without it such a run is undecided, and only runs that pass early
    count against beta.

    References
    ----------
    Wald and Wolfowitz 1948, Ann. Math. Stat. 19 (the optimum of runs without an end); Arrow, Blackwell and Girshick
    1949, Econometrica 17 (backward induction); Siegmund 1979, Adv. Appl. Probab. 11 (from looks to every sample).

    Examples
    --------
    No test of any length takes fewer than 0.43 and 0.62 of the samples at a fixed n, Wald's bounds:

    >>> test = optimal_test(0.05, 0.2, 1.45)
    >>> round(test.healthy, 2), round(test.dropped, 2)
    (0.46, 0.65)
    """
    alpha, beta = min(alpha, LOOSEST[0]), min(beta, LOOSEST[1])
    sd = math.sqrt(room / LOOKS) * quantile_sum(alpha, beta)
    half = math.ceil((5.0 - math.log(min(alpha, beta))) / (SPACING * sd))
    step = np.exp(-0.5 * (SPACING * np.arange(-REACH, REACH + 1) + 0.5 * sd) ** 2)
    ratios = np.asarray(SPACING * sd * np.arange(-half, half + 1), np.float64)
    walk = RatioWalk(ratios, step / step.sum(), room, ends)
    lows, highs = walk.bounds(*_costs(walk, alpha, beta))
    spent, _, left = walk.errors(lows, highs)
    lows[:-1] -= BETWEEN * sd
    healthy, dropped = room / LOOKS * left.sum(axis=1)
    return Optimal(np.append(lows[0], lows), np.append(0.0, spent / spent[-1]), float(healthy), float(dropped))


def _costs(walk: RatioWalk, alpha: float, beta: float) -> tuple[float, float]:
    """Find the costs of wrong verdicts that meet both error rates.

    The search is by Broyden's method.
    """
    ratio = 1.45 / walk.room
    first = np.array([6.5, 3.2]) * ratio**2 if walk.ends else np.array([5.6, 1.9]) / ratio  # near most solutions
    costs = np.log(first / np.array([beta, alpha]) / quantile_sum(alpha, beta) ** 2)
    inverse, move, before = -np.eye(2), np.zeros(2), np.zeros(2)
    for _ in range(60):
        spent, wrong, _ = walk.errors(*walk.bounds(*np.exp(costs)))
        off = np.clip(np.array([wrong / beta, spent[-1] / alpha]) - 1.0, -1.0, 1.0)
        if np.abs(off).max() < ACCURACY:
            break
        moved = inverse @ (off - before)
        along = float(move @ moved)
        if along > 0.1 * float(move @ move) > 0.0:
            inverse = inverse + np.outer(move - moved, move @ inverse) / along
        elif move.any():  # the approximation is bad: start it again
            inverse = -0.5 * np.eye(2)
        before, move = off, np.clip(-inverse @ off, -1.0, 1.0)
        costs = costs + move
    return float(np.exp(costs[0])), float(np.exp(costs[1]))


def bounds_at(passed: Floats, whole: Floats, room: Floats, *, alpha: float, beta: float) -> tuple[Floats, Floats]:
    """Return the bound of passing and the share of alpha spent.

    The bound is a log likelihood ratio. All arguments are arrays of one shape. `passed` is the share of the run so far.
    The result mixes two tests: one in which runs pass at their end, with the room `whole`, and one in which they end
    undecided, with `room`. The second counts more the smaller this room is (`SHORT`). Rooms between those in `ROOMS`
    are interpolated.
    """
    times = np.arange(LOOKS + 1) / LOOKS
    bound, spent = np.zeros_like(passed), np.zeros_like(passed)
    undecided = np.clip((SHORT[1] - room) / (SHORT[1] - SHORT[0]), 0.0, 1.0)
    for ends, own, part in ((True, whole, 1.0 - undecided), (False, room, undecided)):
        rooms = ROOMS[ends]
        place = np.interp(own, rooms, np.arange(len(rooms)))
        for i in range(len(rooms)):
            weight = part * np.maximum(1.0 - np.abs(place - i), 0.0)
            if weight.any():
                test = optimal_test(alpha, beta, rooms[i], ends=ends)
                bound += weight * np.interp(passed, times, test.passes)
                spent += weight * np.interp(passed, times, test.spent)
    return bound, spent


def mean_samples(room: float, *, alpha: float, beta: float) -> tuple[float, float]:
    """Return the mean samples without a drop and after one.

    They are multiples of what the test at a fixed n needs.

    >>> [[round(mean, 2) for mean in mean_samples(room, alpha=0.05, beta=0.2)] for room in (0.7, 1.2)]
    [[0.31, 0.4], [0.39, 0.53]]
    """
    ends = room >= SHORT[1]
    tests = [optimal_test(alpha, beta, each, ends=ends) for each in ROOMS[ends]]
    means = [[test.healthy for test in tests], [test.dropped for test in tests]]
    healthy, dropped = (float(np.interp(room, ROOMS[ends], each)) for each in means)
    return healthy, dropped


@dataclass(frozen=True)
class RatioWalk:
    """The walk of the log likelihood ratio on a grid.

    `step` has the probabilities of each step without a drop.
    """

    ratios: Floats
    step: Floats
    room: float
    ends: bool

    def bounds(self, missed: float, failed: float) -> tuple[Floats, Floats]:
        """Return the ratios up to which a run passes, and from which it fails.

        They minimise the expected cost, with these costs of a wrong pass and a wrong failure.
        """
        passing, failing = missed * np.exp(self.ratios), np.full(len(self.ratios), failed)
        look = self.room / LOOKS * (HEALTHY + np.exp(self.ratios))
        meet = math.log(failed / missed)
        lows, highs = np.full(LOOKS, meet if self.ends else -FAR), np.full(LOOKS, meet if self.ends else FAR)
        value = np.minimum(passing, failing) if self.ends else np.zeros(len(self.ratios))
        for i in range(LOOKS - 2, -1, -1):
            going = look + np.convolve(value, self.step[::-1], mode="same")
            lows[i] = _start(self.ratios, going - passing)
            highs[i] = -_start(-self.ratios[::-1], (going - failing)[::-1])
            value = np.minimum(np.minimum(passing, failing), going)
        return lows, highs

    def errors(self, lows: Floats, highs: Floats) -> tuple[Floats, float, Floats]:
        """Return both errors, and the shares of runs that reach each look.

        The type I error is given by each look. The first row of shares is for runs without a drop, the second for runs
        with one.
        """
        spacing, odds = self.ratios[1] - self.ratios[0], np.exp(self.ratios)
        mass, missed, spent, left = (self.ratios == 0.0).astype(float), 0.0, np.zeros(LOOKS), np.ones((2, LOOKS))
        for i in range(LOOKS):
            left[:, i] = mass.sum(), mass @ odds
            mass = np.convolve(mass, self.step, mode="same")
            passed, failed = (
                np.clip(beyond / spacing + 0.5, 0.0, 1.0) for beyond in (lows[i] - self.ratios, self.ratios - highs[i])
            )
            spent[i], missed = mass @ failed, missed + float(mass * odds @ passed)
            mass = mass * (1.0 - passed) * (1.0 - failed)
        return np.cumsum(spent), missed, left


def _start(ratios: Floats, saved: Floats) -> float:
    """Find the least ratio at which going on is cheaper than stopping.

    It is `-FAR` if going on is always cheaper.
    """
    i = int(np.argmax(saved < 0.0))
    if not i:
        return -FAR
    return float(ratios[i] + saved[i] / (saved[i - 1] - saved[i]) * (ratios[i] - ratios[i - 1]))
