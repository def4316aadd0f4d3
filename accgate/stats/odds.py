"""Confidence limits of a difference, from the odds of a loss.

With given odds, the losses of each unit follow Fisher's noncentral hypergeometric distribution: the null distribution,
tilted. A limit is the difference at those odds under which an outcome as extreme as the one seen has a given
probability. The share of answers that differ is uncertain as well, and widens the limits.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from accgate.stats.answers import Kind, Repeats
from accgate.stats.noise import wilson
from accgate.stats.result import Interval
from accgate.stats.search import halve
from accgate.stats.sequential import interval_without_change
from accgate.stats.walk import Floats, Ints, Outcome

BELOW = math.nextafter(0.0, -1.0)
FURTHEST = 40.0  # tilt past which an odds ratio is as good as infinite


@dataclass(frozen=True)
class Limits:
    """Limits of the difference around a `centre` (points).

    They are those of a walk that ended after `units` units.
    """

    repeats: Repeats
    units: int
    outcome: Outcome
    centre: float

    def interval(self, alpha: float, *, rejected: bool) -> Interval:
        """Return the one-sided and two-sided limits at a fixed n.

        The upper one is below 0 exactly if H0 was `rejected`.
        """
        if not self.outcome.event:
            return interval_without_change(self.units, alpha)
        high, low = self._limit(alpha, 1.0), self._limit(1.0 - alpha, -1.0)
        high = min(high, BELOW) if rejected else max(high, 0.0)
        return Interval(high, (min(low, high), high))

    def upper(self, alpha: float, *, rejected: bool) -> float:
        """Return the upper limit of a walk that may stop early.

        Such a walk can stop because unusually many answers differ. So the odds and the share of units that differ are
        both taken at their worst.
        """
        if not self.outcome.event:
            return interval_without_change(self.units, alpha).one_sided
        total, _ = self._differences(self._tilt(alpha))
        least, most = wilson(self.outcome.event, self.units, alpha)
        scale = (least if total < 0.0 else most) * self.units / self.outcome.event
        high = max(scale * total / self._samples, self.centre)
        return min(high, BELOW) if rejected else max(high, 0.0)

    def estimate(self) -> float:
        """Find the difference (points) at which an outcome this extreme has probability one half.

        After an early stop this estimate is median-unbiased; the observed difference is not.
        """
        if not self.outcome.event:
            return 0.0
        totals = sum(self._differences(self._tilt(0.5, beyond=beyond))[0] for beyond in (False, True))
        return 0.5 * totals / self._samples

    @property
    def _samples(self) -> int:
        return int(self.repeats.sizes[: self.units].sum())

    def _limit(self, level: float, side: float) -> float:
        total, squares = self._differences(self._tilt(level))
        m, units, n = self.outcome.event, self.units, self._samples
        width = max(side * (total / n - self.centre), 0.0)
        _, most = wilson(m, units, min(level, 1.0 - level))
        between = math.sqrt(squares / m) * (most - m / units) * units / n
        return min(max(self.centre + side * math.hypot(width, between), -100.0), 100.0)

    @cached_property
    def _telling(self) -> tuple[tuple[Kind, ...], Ints]:
        """The kinds, and that of each event up to the stop."""
        kinds, kind = self.repeats.kinds
        return kinds, kind[self.repeats.events[: self.outcome.event]]

    @cached_property
    def _log_masses(self) -> Floats:
        """Logarithms of the kinds' null masses, shape (kinds, sums)."""
        kinds, _ = self._telling
        logs = np.full((len(kinds), max(len(each.masses) for each in kinds)), -np.inf)
        for row, each in zip(logs, kinds, strict=True):
            np.log(each.masses, out=row[: len(each.masses)], where=each.masses > 0.0)
        return logs

    def _tilted(self, tilt: float) -> tuple[Floats, Floats]:
        """Return each kind's log E[exp(tilt w)] under H0, and tilted masses of w.

        w counts the right answers that are lost.
        """
        exponent = self._log_masses + tilt * np.arange(self._log_masses.shape[1])
        top = exponent.max(axis=1, keepdims=True)
        weight = np.exp(exponent - top)
        total = weight.sum(axis=1, keepdims=True)
        return (top + np.log(total))[:, 0], weight / total

    def _differences(self, tilt: float) -> tuple[float, float]:
        """Sum the expected differences (points) of the events at this tilt.

        The second figure is the sum of their squares.
        """
        kinds, kind = self._telling
        _, masses = self._tilted(tilt)
        lost = masses @ np.arange(masses.shape[1])
        expected = np.array(
            [self.repeats.difference(each.most, mean, each.right) for each, mean in zip(kinds, lost, strict=True)]
        )
        counts = np.bincount(kind, minlength=len(kinds))
        return float(counts @ expected), float(counts @ expected**2)

    def _tilt(self, level: float, *, beyond: bool | None = None) -> float:
        """Find the log odds of a loss at which this outcome has probability `level`.

        Outcomes that are at least as extreme count with it. With `beyond` only outcomes that are more extreme count; it
        defaults to True for levels above 1/2.
        """
        kinds, kind = self._telling
        beyond = level > 0.5 if beyond is None else beyond
        event, lost, mass = self.outcome.extremes(beyond)
        log_mass = np.log(mass)
        if not len(event):
            return FURTHEST if beyond else -FURTHEST
        counts = np.bincount(kind, minlength=len(kinds))
        last = int(event.min()) == self.outcome.event  # then the order of the events does not matter

        def probability(tilt: float) -> float:
            growth = self._tilted(tilt)[0]
            log_norm = counts @ growth if last else np.concatenate([[0.0], np.cumsum(growth[kind])])[event]
            return float(np.sum(np.exp(np.minimum(log_mass + tilt * lost - log_norm, 0.0))))

        side, reach = (1.0 if probability(0.0) < level else -1.0), 0.01
        while reach < FURTHEST and (probability(side * reach) < level) == (side > 0.0):
            reach *= 2.0  # from 0 outwards: far tilts lean on masses that were dropped
        low, high = sorted((0.0, side * reach))
        return 0.5 * sum(halve(lambda tilt: probability(tilt) >= level, low, high, rounds=40))
