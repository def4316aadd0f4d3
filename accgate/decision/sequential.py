"""The tests that may stop early.

Each says how a run stands, where its boundaries lie and how near a decision is.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TypedDict

import numpy as np

from accgate.stats import LOOKS, Repeats, SequentialResult, Units, betting_path, group_design
from accgate.stats.betting import e_process_test
from accgate.stats.early_repeats import RepeatsSchedule, repeats_boundaries, repeats_schedule, repeats_sequential
from accgate.stats.graded import graded_next
from accgate.stats.group_sequential import group_sequential_boundaries, group_sequential_test, next_look
from accgate.stats.gsprt import Passing, Schedule, gsprt_boundaries, gsprt_test, schedule, soonest_pass
from accgate.stats.margin import margin_looks
from accgate.stats.sequential import Boundaries, Near
from accgate.stats.walk import Ints


class Rates(TypedDict):
    """What every sequential test takes besides its units.

    theta is in points.
    """

    theta: float
    alpha: float
    beta: float


@dataclass(frozen=True)
class SequentialTest(ABC):
    """A sequential test of the units of a run or of its beginning."""

    units: Units
    rates: Rates

    @abstractmethod
    def result(self, *, figures: bool = True) -> SequentialResult:
        """Return what the test says.

        Without `figures` that is where it stops, and its p-value.
        """

    def boundaries(self) -> Boundaries | None:
        """Return the boundaries by which it decides, if they can be drawn."""
        return None

    def next(self) -> Near | None:
        """Return how near a decision is, if the test can tell."""
        return None

    @cached_property
    def standing(self) -> SequentialResult:
        """Return where the run stands.

        It is `result` without its figures, which cost most of the time and decide nothing.
        """
        return self.result(figures=False)


@dataclass(frozen=True)
class Gsprt(SequentialTest):
    """The sequential probability ratio test of single 0/100 scores.

    It expects a discordance.
    """

    discordance: float | None = None

    def result(self, *, figures: bool = True) -> SequentialResult:
        """Return what the test says."""
        return gsprt_test(self.units, discordance=self.discordance, figures=figures, **self.rates)

    def boundaries(self) -> Boundaries:
        """Return where it fails and passes."""
        return gsprt_boundaries(self.units, discordance=self.discordance, **self.rates)

    def next(self) -> Near:
        """Return how near a decision is."""
        units = self.units
        plan = schedule(units, discordance=self.discordance, **self.rates)
        passing = Passing(units, plan, self.rates["theta"], self.rates["beta"])
        passes = float(passing.sums(np.array([plan.last]))[0])
        soonest = soonest_pass(units, discordance=self.discordance, **self.rates)
        return Near(_allowed(plan, units.events), passes, passing.share(plan.last), soonest=soonest)


@dataclass(frozen=True)
class RepeatsGsprt(SequentialTest):
    """The same for samples of which a side has several answers.

    All of them are 0 or 100.
    """

    repeats: Repeats
    discordance: float | None = None

    def result(self, *, figures: bool = True) -> SequentialResult:
        """Return what the test says."""
        return repeats_sequential(self.repeats, discordance=self.discordance, figures=figures, **self.rates)

    def boundaries(self) -> Boundaries:
        """Return where it fails and passes."""
        return repeats_boundaries(self.repeats, discordance=self.discordance, **self.rates)

    def next(self) -> Near:
        """Return how near a decision is."""
        repeats = self.repeats.sides
        plan = repeats_schedule(repeats, discordance=self.discordance, **self.rates)
        total, passes = float(repeats.totals[: plan.last + 1].sum()), 100.0 * float(plan.passes[plan.last])
        # At half a drop nothing speaks for either side.
        half = 0.5 * self.rates["theta"] * float(repeats.samples[plan.last])
        share = min(max((total + half) / (passes + half), 0.0), 1.0)
        return Near(_allowed(plan, repeats.events), passes, share)


@dataclass(frozen=True)
class GroupSequential(SequentialTest):
    """A few looks as the samples arrive, for scores and clusters of any kind."""

    def result(self, *, figures: bool = True) -> SequentialResult:
        """Return what the test says."""
        return group_sequential_test(self.units, figures=figures, **self.rates)

    def boundaries(self) -> Boundaries:
        """Return where it fails and passes at its looks."""
        return group_sequential_boundaries(self.units, **self.rates)

    def next(self) -> Near:
        """Return how near a decision is at the next look."""
        units, theta, alpha = self.units, self.rates["theta"], self.rates["alpha"]
        if not units.exact:
            return graded_next(units, **self.rates)
        design = group_design(min(LOOKS, units.n_max), alpha, self.rates["beta"])
        look = next_look(units, design, theta=theta, alpha=alpha)
        changed, total = int(look.changed[0]), float(units.totals.sum())
        passes = total + math.ceil((-float(look.most[0]) - total) / 200.0) * 200.0
        drop = theta * int(units.sizes.sum())
        share = 1.0 if total >= passes else min(max((drop + total) / (drop + passes), 0.0), 1.0)
        return Near(float(look.spent[0]) if changed else 0.0, passes, share, int(look.n[0]))


@dataclass(frozen=True)
class MarginLooks(SequentialTest):
    """The exact looks at a drop that is allowed or must be ruled out.

    `margin` is in points.
    """

    margin: float
    certify: bool

    def result(self, *, figures: bool = True) -> SequentialResult:
        """Return what the test says."""
        return margin_looks(self.units, margin=self.margin, certify=self.certify, figures=figures, **self.rates)


@dataclass(frozen=True)
class EProcess(SequentialTest):
    """A test by betting.

    `bound` is the largest possible difference of one sample, points.
    """

    bound: float

    def result(self, *, figures: bool = True) -> SequentialResult:
        """Return what the test says."""
        return e_process_test(self.units, bound=self.bound, figures=figures, **self.rates)

    def next(self) -> Near:
        """Return how near a decision is."""
        units = self.units
        path = betting_path(units.totals, units.planned, bound=self.bound, earliest=units.earliest, **self.rates)
        assert path.log_sound is not None
        share = min(max(float(path.log_sound[-1]) / -math.log(self.rates["beta"]), 0.0), 1.0)
        return Near(self.rates["alpha"], math.nan, share)


def _allowed(plan: Schedule | RepeatsSchedule, events: Ints) -> float:
    """Return the type I error that may be spent by the last unit used.

    It is that by the last change, 0 before any.
    """
    events = events[events <= plan.last]
    return float(plan.allowed[events[-1]]) if len(events) else 0.0
