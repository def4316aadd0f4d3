"""The looks of a run whose scores are not 0/100, or come in clusters: its evidence at each, and the bounds there.

The evidence for a drop is the z of `drop_score`, compared with bounds that spend the type I error as samples come. The
evidence against a drop of theta is the same score of the opposite; its likelihood ratio says when the run passes.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import blake2b

import numpy as np

from accgate.stats.bootstrap import ENOUGH, change_scales, drop_score
from accgate.stats.brownian import Walks, spending_bounds
from accgate.stats.gsprt import unseen_n
from accgate.stats.power import quantile, quantile_sum
from accgate.stats.sequential import Units
from accgate.stats.walk import Floats, Ints, Stop

FIRST = 30  # samples before the first look
FEW = 30  # changed units under which no variance is trusted
RATIO = 1.08  # of the samples at a look to those at the look before
POWER = 1.5  # of the share of samples, to which the error that may be spent is proportional
NEAR_SHARE = 0.8  # of the error is spent by the samples that a drop of theta needs, the rest by the end
PASSING = 1.5  # over beta: how many times likelier no drop is than one of theta where a run passes early
NEEDED = 1.6  # samples that count as those, times what a fixed n takes
REMEMBERED = 1024  # looks whose evidence is kept: a run that goes on is asked of the same ones again and again


@dataclass(frozen=True)
class Evidence:
    """What the looks at a run say, as arrays of shape (..., looks).

    `unit`, of shape (looks,), is the index of the last unit before each and `n` its samples. `drop` is z of the
    evidence for a drop, `sound` that against a drop of theta; `squares` (points^2) is the variance of the sum,
    `changed` the number of units that had changed, and `tail` how far gains stand out, in typical changes.
    """

    unit: Ints
    n: Ints
    drop: Floats
    sound: Floats
    squares: Floats
    changed: Ints
    tail: Floats

    def then(self, *more: Evidence) -> Evidence:
        """The evidence with that of more looks."""
        columns = zip(*(vars(each).values() for each in (self, *more)), strict=True)
        return Evidence(*(np.concatenate(column, axis=-1) for column in columns))

    def first(self, count: int) -> Evidence:
        """The evidence of so many looks."""
        return Evidence(*(values[..., :count] for values in vars(self).values()))


def evidence_at(totals: Floats, sizes: Ints, unit: Ints, *, theta: float) -> Evidence:
    """The evidence after each of these units, from totals of shape (..., G) and sizes of shape (G,)."""
    columns = []
    for last in unit:
        x, n = totals[..., : last + 1], sizes[: last + 1].astype(np.float64)
        typical, tail, _ = change_scales(x)
        scores = drop_score(x, n), drop_score(-x, n, theta)
        tail = tail / np.where(typical > 0.0, typical, 1.0)
        columns.append((*scores, np.sum(x * x, axis=-1), np.sum(x != 0.0, axis=-1), tail))
    stacked = (np.stack(column, axis=-1) for column in zip(*columns, strict=True))
    return Evidence(unit, np.cumsum(sizes)[unit], *stacked)


class _Remembered:
    """The evidence at looks, by a digest of all that they saw; the least recently used goes."""

    def __init__(self) -> None:
        self._by_key: OrderedDict[tuple[float, int, bytes, bytes], Evidence] = OrderedDict()

    def at_each(self, units: Units, unit: Ints, theta: float) -> Iterator[tuple[Evidence, bool]]:
        """The evidence after each of these units in turn, and whether it is remembered."""
        digests, start = (blake2b(digest_size=16), blake2b(digest_size=16)), 0
        for last in map(int, unit):
            for digest, values in zip(digests, (units.totals, units.sizes), strict=True):
                digest.update(values[start : last + 1].tobytes())
            key, start = (theta, last, digests[0].digest(), digests[1].digest()), last + 1
            evidence = self._by_key.pop(key, None)
            is_remembered = evidence is not None
            if evidence is None:
                evidence = evidence_at(units.totals, units.sizes, np.array([last]), theta=theta)
            self._by_key[key] = evidence
            if len(self._by_key) > REMEMBERED:
                self._by_key.popitem(last=False)
            yield evidence, is_remembered


_REMEMBERED = _Remembered()


@dataclass(frozen=True)
class Course:
    """The looks that a run of `n_max` samples is to come to, and its rates; `loss` and `earliest` as in `Units`."""

    n_max: int
    theta: float
    alpha: float
    beta: float
    loss: float = 100.0
    earliest: int = 0

    @property
    def whole_loss(self) -> float:
        """The most points that one sample can lose; 100 where scores have no bounds."""
        return self.loss if math.isfinite(self.loss) else 100.0

    @cached_property
    def n(self) -> Ints:
        """Samples at each look: so many times fewer at each one before, down to the first."""
        count = 1 + max(0, math.floor(math.log(max(self.n_max, 1) / FIRST) / math.log(RATIO)))
        return np.unique(np.ceil(self.n_max / RATIO ** np.arange(count) - 1e-9).astype(np.int64))

    @cached_property
    def fractions(self) -> tuple[float, ...]:
        """Share of the samples at each look."""
        return tuple((self.n / self.n_max).tolist())

    def stop(self, evidence: Evidence, *, over: bool) -> tuple[int, Stop]:
        """The look at which a run stops, and why; the last one and "end" where it does not.

        `over` says that the last look is that of `n_max`; the arrays are those of one run.
        """
        rejects = evidence.drop >= self.bounds(evidence, over=over)
        bounds = self.sound_bounds(evidence)
        passes = np.isfinite(bounds) & (evidence.sound >= bounds) & (evidence.drop < -quantile(self.alpha))
        passes[-1] &= not over
        stops = np.flatnonzero(rejects | passes)
        if not len(stops):
            return len(rejects) - 1, "end"
        look = int(stops[0])
        return look, "regression" if rejects[look] else "futility"

    def bounds(self, evidence: Evidence, *, over: bool) -> Floats:
        """The z from which each look of one run rejects, infinite where none does."""
        first, count = self.first(evidence, over=over), len(evidence.drop)
        if first is None:
            return np.full(count, math.inf)
        return efficacy_bounds(self.fractions, first, self.halvings(evidence, first), self.alpha)[:count]

    def first(self, evidence: Evidence, *, over: bool) -> int | None:
        """The first look that may reject: with enough changes, more of them where gains stand out, or the last."""
        enough = evidence.changed >= ENOUGH * (1.0 + evidence.tail)
        enough[-1] |= over
        return int(np.argmax(enough)) if enough.any() else None

    def halvings(self, evidence: Evidence, look: int) -> int:
        """How often the samples of the run are halved to come to those that theta needs, as seen at a look."""
        variance = float(evidence.squares[look]) / int(evidence.n[look])
        needed = NEEDED * quantile_sum(self.alpha, self.beta) ** 2 * variance / self.theta**2
        if math.isfinite(self.loss):
            needed = max(needed, 1.5 * unseen_n(self.theta, beta=self.beta, loss=self.loss))
        return max(0, math.floor(math.log2(self.n_max / max(needed, 1.0))))

    def sound_bounds(self, evidence: Evidence) -> Floats:
        """The z against a drop of theta from which each look passes, infinite where too few units were seen.

        The run is then 1.5 / beta times as likely without a drop as with one of theta. By Ville's inequality a drop of
        theta passes so with a probability of at most two thirds of beta.
        """
        n, few, loss = evidence.n, evidence.changed < FEW, self.whole_loss
        whole = loss * self.theta * n  # the variance of a drop of theta that is made of whole losses
        error = np.sqrt(np.where(few, np.maximum(evidence.squares, whole), evidence.squares))
        drift = self.theta * n / error
        least = unseen_n(self.theta, beta=self.beta, loss=loss)
        unseen = (math.isfinite(self.loss) | (evidence.changed == 0)) & (evidence.unit + 1 < least)
        unseen |= evidence.unit < self.earliest
        return np.where(unseen, math.inf, math.log(PASSING / self.beta) / drift + 0.5 * drift)


def spent_by(fractions: Floats, halvings: int, alpha: float) -> Floats:
    """Type I error that may be spent by each look: most of it by the samples that are needed, the rest by the end.

    >>> spent_by(np.array([0.25, 0.5, 1.0]), 2, 0.05).round(4)
    array([0.0413, 0.0435, 0.05  ])
    """
    near = np.minimum(fractions * 2.0**halvings, 1.0) ** POWER
    return alpha * (NEAR_SHARE * near + (1.0 - NEAR_SHARE) * fractions**POWER)


@lru_cache(maxsize=512)
def efficacy_bounds(fractions: tuple[float, ...], first: int, halvings: int, alpha: float) -> Floats:
    """The z from which each look rejects, so that the error spent is as `spent_by` allows; none before the first.

    References
    ----------
    Lan and DeMets 1983, Biometrika 70.
    """
    shares = np.array(fractions)
    spent = spent_by(shares, halvings, alpha)[first:]
    return np.append(np.full(first, math.inf), spending_bounds(shares[first:], spent))


def stagewise_p(fractions: tuple[float, ...], bounds: Floats, look: int, z: float) -> float:
    """The chance without a drop that an earlier look rejects, or this one sees a z at least as large."""
    before = np.flatnonzero(np.isfinite(bounds[:look]))
    scores = tuple((fractions[i], float(bounds[i]) * math.sqrt(fractions[i])) for i in before)
    walks, spent = _walks_past(scores)
    return min(spent + walks.mass_above(fractions[look], z * math.sqrt(fractions[look])), 1.0)


@lru_cache(maxsize=512)
def _walks_past(scores: tuple[tuple[float, float], ...]) -> tuple[Walks, float]:
    """The walks that no look with these fractions and scores stopped, and the mass of those that one did."""
    if not scores:
        return Walks(), 0.0
    before, spent = _walks_past(scores[:-1])
    fraction, score = scores[-1]
    walks = copy(before)
    spent += walks.mass_above(fraction, score)
    walks.pass_between(fraction, -math.inf, score)
    return walks, spent


def looked_at(units: Units, course: Course) -> Ints:
    """Index of the last unit before each look that a run has come to."""
    unit = np.searchsorted(units.samples, course.n)
    return unit[unit < len(units.totals)]


def each_look(units: Units, course: Course) -> Iterator[tuple[Evidence, bool]]:
    """The evidence at each look in turn, the next one as though it were now, and whether it is remembered."""
    return _REMEMBERED.at_each(units, np.append(looked_at(units, course), len(units.totals) - 1), course.theta)


def next_look(units: Units, course: Course) -> Evidence:
    """The evidence at the looks of a run, as though the next one were now."""
    first, *others = (now for now, _ in each_look(units, course))
    return first.then(*others)
