"""0/100 answers given several times, counted by unit and run."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from accgate.stats.sequential import Sampled, places_of
from accgate.stats.walk import Floats, Ints


@dataclass(frozen=True)
class Kind:
    """Units whose K + R runs have the same numbers of right answers.

    The order of the runs does not matter. `most` is the largest number of right answers that the candidate's runs can
    have in such a unit, and `right` the number in all runs together. `masses[w]` is the probability under H0 that the
    candidate has w fewer than `most`.
    """

    most: int
    right: int
    masses: Floats

    @property
    def variance(self) -> float:
        """Variance under H0 of the candidate's right answers."""
        lost = np.arange(len(self.masses))
        return float(self.masses @ (lost - self.masses @ lost) ** 2)


@dataclass(frozen=True)
class Repeats(Sampled):
    """Right answers of each unit in each run.

    A unit is a sample or a whole cluster, and units stand in the order in which they are looked at. `before` has shape
    (units, K) and `now` shape (units, R): right answers in each run of the reference and of the candidate, higher
    better. `sizes`, of shape (units,), counts the samples of each unit, and `n_max` those of the whole run; if it is
    larger than their sum, these units are the beginning of a run. One answer counts as `share` of a sample.
    """

    before: Ints
    now: Ints
    sizes: Ints
    n_max: int
    share: float = 1.0

    @cached_property
    def rate(self) -> float:
        """What one right answer adds to the difference if the candidate has it instead."""
        return float(self.share * (1.0 / self.now.shape[1] + 1.0 / self.before.shape[1]))

    @property
    def totals(self) -> Floats:
        """Sum of candidate - reference over each unit, averaged over the runs, in points."""
        return np.asarray(100.0 * self.share * (self.now.mean(axis=1) - self.before.mean(axis=1)))

    @cached_property
    def sides(self) -> Repeats:
        """The same answers with one count a side.

        The difference of the two counts is that of the sides' means. Exchanging runs then exchanges whole sides: a unit
        is as likely to lose its difference as to gain it.
        """
        runs, own = self.before.shape[1], self.now.shape[1]
        step = math.lcm(runs, own)
        gained = (step // own * self.now.sum(axis=1) - step // runs * self.before.sum(axis=1))[:, np.newaxis]
        return replace(self, before=np.maximum(-gained, 0), now=np.maximum(gained, 0), share=self.share / step)

    @property
    def exchanges(self) -> tuple[Repeats, ...]:
        """The null hypotheses that a regression must contradict, as answers to exchange.

        Within one build all answers to a sample are exchangeable. Across builds only whole sides are: the runs of one
        build agree with each other more than with those of another. With equally many runs on both sides the first
        hypothesis implies the second, which then decides alone.
        """
        return (self.sides,) if self.before.shape[1] == self.now.shape[1] else (self.sides, self)

    @cached_property
    def kinds(self) -> tuple[tuple[Kind, ...], Ints]:
        """The kinds of units, and the kind of each unit."""
        runs = np.sort(np.concatenate([self.before, self.now], axis=1), axis=1)
        base = int(runs.max()) + 1
        fits = base ** runs.shape[1] < 2**62  # one number a row: much faster than comparing rows
        rows = runs @ base ** np.arange(runs.shape[1]) if fits else runs
        _, first, kind = np.unique(rows, axis=0, return_index=True, return_inverse=True)
        return tuple(kind_of(row, self.now.shape[1]) for row in runs[first]), kind.reshape(-1)

    @cached_property
    def events(self) -> Ints:
        """Indices of the units whose runs differ.

        The other units carry no evidence.
        """
        kinds, kind = self.kinds
        tells = np.array([len(each.masses) > 1 for each in kinds], dtype=bool)
        return np.flatnonzero(tells[kind])

    @cached_property
    def most(self) -> Ints:
        """The most right answers that the candidate could have had of each unit."""
        kinds, kind = self.kinds
        return np.array([each.most for each in kinds], dtype=np.int64)[kind]

    @cached_property
    def right(self) -> Ints:
        """Right answers to each unit in all runs together."""
        return np.asarray(self.before.sum(axis=1) + self.now.sum(axis=1))

    @cached_property
    def lost(self) -> Ints:
        """Right answers of each unit that the candidate lacks, of the possible most."""
        return np.asarray(self.most - self.now.sum(axis=1))

    @cached_property
    def variances(self) -> Floats:
        """Null variance of each unit's difference, in squared shares of one sample."""
        kinds, kind = self.kinds
        return self.rate**2 * np.array([each.variance for each in kinds])[kind]

    def first(self, count: int) -> Repeats:
        """Return the first `count` units of the same run."""
        return replace(self, before=self.before[:count], now=self.now[:count], sizes=self.sizes[:count])

    def difference(self, most: float, lost: float, right: float) -> float:
        """Return the sum of differences (points) of some units.

        In these units the candidate has `most` - `lost` right answers. `right` is the number in all runs together.
        """
        return float(100.0 * (self.rate * (most - lost) - self.share * right / self.before.shape[1]))

    @property
    def flicker(self) -> float:
        """Variance of the sum of differences from disagreement among a side's own runs.

        It is in squared shares of a sample. More runs would reduce this part of the noise. It is 0 if each side has a
        single run.
        """
        spread = sum(float(((side - side.mean(axis=1, keepdims=True)) ** 2).sum()) for side in (self.before, self.now))
        return float(self.rate * self.share * spread / max(self.before.shape[1] + self.now.shape[1] - 2, 1))

    @property
    def whole_loss(self) -> Kind:
        """The kind of a sample that the candidate always loses.

        It is right in all runs of the reference and wrong in all of the candidate.
        """
        return kind_of(np.repeat([0, 1], [self.now.shape[1], self.before.shape[1]]), self.now.shape[1])


def repeats_of(before: Floats, now: Floats, codes: npt.ArrayLike | None = None, *, n_max: int | None = None) -> Repeats:
    """Count right answers by unit, from scores of 0 and 100.

    The scores have shapes (n, K) and (n, R), higher better. `codes` of shape (n,) name the cluster of each sample:
    clusters stand in the order in which they first appear.

    >>> repeats_of(np.array([[100.0, 0.0]]), np.array([[0.0]])).totals.tolist()
    [-50.0]
    """
    n = len(now) if n_max is None else n_max
    unit = np.arange(len(now)) if codes is None else places_of(codes)
    sizes = np.bincount(unit)
    counts = [np.zeros((len(sizes), side.shape[1]), np.int64) for side in (before, now)]
    for count, side in zip(counts, (before, now), strict=True):
        np.add.at(count, unit, np.rint(side / 100.0).astype(np.int64))
    return Repeats(counts[0], counts[1], sizes, n)


def kind_of(row: Ints, runs: int) -> Kind:
    """Return the kind of a unit from its right answers in each run.

    `runs` of these runs are the candidate's.
    """
    ways = np.zeros((runs + 1, int(row.sum()) + 1))  # [k, t]: to choose k runs with t right answers
    ways[0, 0] = 1.0
    for value in row.tolist():
        ways[1:, value:] += ways[:-1, : ways.shape[1] - value]
    possible = np.flatnonzero(ways[runs])
    least, most = int(possible[0]), int(possible[-1])
    return Kind(most, int(row.sum()), ways[runs, least : most + 1][::-1] / ways[runs].sum())
