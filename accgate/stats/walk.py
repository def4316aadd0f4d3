"""The exact null distribution of a sequential paired test.

If reference and candidate are exchangeable, each unit that changed its score is as likely lost as gained, whatever its
size and whatever came before. Given when units changed and by how much, the sum of what was lost is a walk with fair
signs. Its probability to cross any boundary is computed by convolution, and depends on no unknown parameter. Steps with
another distribution than fair signs (`repeats`) are handled in the same way.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Stop = Literal["regression", "futility", "end"]
NONE = -1  # no cut: no sum stops for futility
FAIR = np.array([0.5, 0.5])  # the masses of a change that is as likely gained as lost
NEGLIGIBLE = 1e-280  # mass that is dropped; far confidence limits rest on masses nearly as small


@dataclass(frozen=True)
class Outcome:
    """Where a walk stopped, and what its null distribution says there.

    `event` counts the changed units up to the stop, and `position` is the sum lost. `stop` says why the walk ended, and
    `at_end` that all events had passed. `critical` is the least sum lost that would have rejected there, None if none
    could. `p_value` orders outcomes by stage: earlier rejections are more extreme, then larger sums at the same event.
    `exits` and `alive` hold the null masses for intervals: (events, sums, masses) of all earlier rejections, and (sums,
    masses) of the walks that got as far as this one.
    """

    event: int
    stop: Stop
    at_end: bool
    position: int
    critical: int | None
    p_value: float
    exits: tuple[Ints, Ints, Floats]
    alive: tuple[Ints, Floats]

    @property
    def least(self) -> dict[int, int]:
        """The least sum lost that rejected at each earlier event where one did."""
        events, sums, _ = self.exits
        return {int(event): int(sums[events == event].min()) for event in np.unique(events)}

    def extremes(self, beyond: bool) -> tuple[Ints, Ints, Floats]:
        """Return events, sums and null masses of outcomes at least as extreme.

        With `beyond` only those that are more extreme are returned.
        """
        alive, mass = self.alive
        ahead = alive > self.position if beyond else alive >= self.position
        here = np.full(int(ahead.sum()), self.event), alive[ahead], mass[ahead]
        event, lost, mass = (np.concatenate(pair) for pair in zip(self.exits, here, strict=True))
        return event[mass > 0.0], lost[mass > 0.0], mass[mass > 0.0]


def fair_walk(
    steps: Sequence[Floats], lost: Ints, allowed: Floats, cuts: Ints, *, alpha: float, binding: bool = True
) -> Outcome:
    """Follow the sum lost through its boundaries, and its null distribution along with it.

    Parameters
    ----------
    steps : K arrays
        Null masses of what each event loses, 0, 1, 2 and so on lattice units; `FAIR` for a change of one unit.
    lost : int array of shape (K,)
        Sum of the sizes that were lost, after each event.
    allowed : array of shape (K,)
        Cumulative type I error that may be spent by rejecting up to each event; not decreasing.
    cuts : int array of shape (K + 1,)
        Largest sum lost that stops for futility just before each event, and at last at the end; `NONE` for none.
    alpha : float
        Type I error of the whole walk; what is left at the end is spent there.
    binding : bool
        Whether a walk that is cut counts as unable to reject, which frees its share of the error for later events.
        Without, the error holds also where a run goes on past a cut, or where signs are not quite fair.

    Notes
    -----
    At each event the walk rejects from the least sum whose null mass keeps the error spent within `allowed`, so the
    type I error is at most alpha for every discordance, exactly.

    Examples
    --------
    Four changes, looked at only at the end: McNemar's exact test, P(Bin(4, 1/2) >= 4).

    >>> o = fair_walk([FAIR] * 4, np.array([1, 2, 3, 4]), np.zeros(4), np.full(5, NONE), alpha=0.1)
    >>> o.stop, o.critical, o.p_value
    ('regression', 4, 0.0625)
    """
    base, mass, spent = 0, np.ones(1), 0.0  # mass[i] is P(alive, sum lost = base + i)
    position, critical = 0, None
    exits: list[tuple[int, int, Floats]] = []

    def ended(event: int, stop: Stop, *, at_end: bool = False) -> Outcome:
        """Return the outcome of a walk that stops as it stands."""
        p_value = min(spent + float(mass[max(position - base, 0) :].sum()), 1.0)
        sums = np.arange(base, base + len(mass))
        return Outcome(event, stop, at_end, position, critical, p_value, _exits(exits), (sums, mass))

    for event, step in enumerate(steps):
        cut = _effective_cut(int(cuts[event]), base, mass, alpha - spent)
        if position <= cut:
            return ended(event, "futility")
        if binding and cut >= base:
            mass, base = mass[cut + 1 - base :], cut + 1
        mass = np.convolve(mass, step)
        position = int(lost[event])
        room = allowed[event] - spent
        count = rejection_count(mass, room)
        least = _least(base, mass, count, position)
        rejects = position >= least and room >= 0.0
        critical = least if count or rejects else None
        if rejects:
            return ended(event + 1, "regression")
        if count:
            exits.append((event + 1, base + len(mass) - count, mass[len(mass) - count :]))
            spent += float(mass[len(mass) - count :].sum())
            mass = mass[: len(mass) - count]
        base, mass, dropped = trim(base, mass)
        spent += dropped
    if position <= _effective_cut(int(cuts[-1]), base, mass, alpha - spent):
        return ended(len(steps), "futility")
    count = rejection_count(mass, alpha - spent)
    least = _least(base, mass, count, position)
    stop: Stop = "regression" if position >= least else "end"
    critical = least if count or stop == "regression" else None
    return ended(len(steps), stop, at_end=True)


def without_passes(outcome: Outcome, steps: Sequence[Floats], lost: Ints, cuts: Ints) -> Outcome:
    """Return an outcome with the masses of walks that no cut stopped.

    The walk was not `binding`. The p-value stays. Estimates and limits need these masses, because they rest on where
    runs do stop. Parameters are those of `fair_walk`.
    """
    least = outcome.least
    base, mass, exits = 0, np.ones(1), list[tuple[int, int, Floats]]()
    for event in range(outcome.event):
        position = int(lost[event - 1]) if event else 0
        first = max(min(int(cuts[event]), position - 1) + 1 - base, 0)
        base, mass = base + first, np.convolve(mass[first:], steps[event])
        end = max(least.get(event + 1, base + len(mass)) - base, 0)
        exits.append((event + 1, base + end, mass[end:]))
        mass = mass[:end]
    return replace(outcome, exits=_exits(exits), alive=(np.arange(base, base + len(mass)), mass))


def walk_at(event: int, position: int, exits: list[tuple[int, int, Floats]], alive: Floats, base: int = 0) -> Outcome:
    """Build an outcome after `event` changes that has only what estimates and limits need.

    `exits` are earlier rejections, each with its change, the least sum lost, and the masses from that sum on.
    `alive[i]` is the mass of the walks that got as far with the sum base + i.
    """
    sums = np.arange(base, base + len(alive))
    return Outcome(event, "end", True, position, None, 1.0, _exits(exits), (sums, alive))


def _effective_cut(cut: int, base: int, mass: Floats, room: float) -> int:
    """Lower the cut to sums that the error left would not reject.

    So a run that passes has p above alpha.
    """
    if cut < base:
        return cut
    return min(cut, base + len(mass) - 1 - rejection_count(mass, room))


def rejection_count(mass: Floats, room: float) -> int:
    """Count the largest sums that may reject within `room`."""
    most = room * (1.0 + 1e-12)
    if not len(mass) or mass[-1] > most:  # by far the most often
        return 0
    return int(mass[::-1].cumsum().searchsorted(most, side="right"))


def _least(base: int, mass: Floats, count: int, position: int) -> int:
    """Find the least sum that rejects.

    If all sums reject, so does a `position` whose mass was trimmed.
    """
    return base + len(mass) - count if count < len(mass) else min(base, position)


def trim(base: int, mass: Floats, negligible: float = NEGLIGIBLE) -> tuple[int, Floats, float]:
    """Cut the ends whose mass is negligible.

    Return where the rest begins, the rest, and the mass that was cut above it. Counting that mass as spent is safe.
    """
    if mass[0] > negligible and mass[-1] > negligible:
        return base, mass, 0.0
    keep = np.flatnonzero(mass > negligible)
    if not len(keep):
        return base, mass, 0.0
    first, last = int(keep[0]), int(keep[-1]) + 1
    return base + first, mass[first:last], float(mass[last:].sum())


def _exits(exits: list[tuple[int, int, Floats]]) -> tuple[Ints, Ints, Floats]:
    """Flatten rejections into arrays of events, sums and masses.

    Each rejection is an event, a least sum and masses.
    """
    events = np.concatenate([np.full(len(m), e) for e, _, m in exits]) if exits else np.zeros(0, np.int64)
    lost = np.concatenate([np.arange(s, s + len(m)) for _, s, m in exits]) if exits else np.zeros(0, np.int64)
    masses = np.concatenate([m for _, _, m in exits]) if exits else np.zeros(0)
    return events, lost, masses
