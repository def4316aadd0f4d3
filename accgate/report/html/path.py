"""The way of a sequential check through its boundaries, recomputed from the samples that it was decided on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from accgate.stats import (
    FEWEST_CHANGES,
    LOOKS,
    NONE,
    Floats,
    Ints,
    Outcome,
    Passing,
    Schedule,
    SequentialResult,
    Units,
    before_each,
    fair_walk,
    group_design,
    group_sequential_test,
    gsprt_test,
    looks_of,
    lost_sums,
    schedule,
    units_of,
)

if TYPE_CHECKING:
    from accgate.report.html.run import Sides
    from accgate.verdict import Verdict

Points = tuple[tuple[float, float], ...]
LOOKED = 300  # units at which the boundary of passing is drawn


@dataclass(frozen=True)
class SequentialPath:
    """The sum of differences after each unit, worse is down, and its boundaries as (samples, sum).

    `unit` says what the sum counts, `points` how many points one of it is. With `whole` the boundaries are those of
    the whole way, else the final limit alone.
    """

    n: tuple[int, ...]
    total: tuple[float, ...]
    fails: Points
    passes: Points
    unit: str
    points: float
    difference: float
    whole: bool
    notes: tuple[str, ...] = ()

    @property
    def digits(self) -> int:
        """Digits that the sum is shown with."""
        return 0 if self.points == 100.0 else 2


def units_of_sides(verdict: Verdict, sides: Sides) -> Units | str:
    """The units that the test looked at, worse below 0, or why there are none."""
    if sides.reference is None:
        return "the reference's scores are not beside accgate.json"
    if np.isnan(sides.candidate).any():
        return "samples failed"
    difference = sides.candidate - sides.reference
    codes = None if sides.clusters is None else np.unique(sides.clusters, return_inverse=True)[1]
    everything = np.concatenate([sides.candidate, sides.reference])
    bounded = bool(everything.min() >= 0.0 and everything.max() <= 100.0)
    binary = bool(np.isin(sides.reference, (0.0, 100.0)).all())
    difference = difference if verdict.higher_is_better else -difference
    return units_of(difference, codes, n_max=verdict.n_max, binary=binary, bounded=bounded)


def path_of(verdict: Verdict, sides: Sides) -> SequentialPath | str:
    """The way of a check, or why there is none to draw."""
    units = units_of_sides(verdict, sides)
    if isinstance(units, str):
        return units
    sign = 1.0 if verdict.higher_is_better else -1.0
    points = 100.0 if units.exact else 1.0
    path = SequentialPath(
        n=tuple(units.samples.tolist()), total=tuple((np.cumsum(units.totals) / points).tolist()), fails=(), passes=(),
        unit="better minus worse, samples" if units.exact else "sum of differences, points", points=points,
        difference=sign * float(units.totals.sum()) / int(units.sizes.sum()), whole=False,
    )  # fmt: skip
    bounds = _bounds(verdict, units)
    if bounds is not None:
        fails, passes, notes = bounds
        return replace(path, fails=_scaled(fails, points), passes=_scaled(passes, points), whole=True, notes=notes)
    if verdict.gamma is None or verdict.reference.mean is None:
        return path
    limit = sign * (verdict.gamma - verdict.reference.mean) * verdict.n / points
    note = "The boundaries on the way are not recomputed for this check; the limit is that of its last sample."
    return replace(path, fails=((float(verdict.n), limit),), notes=(note,))


def _scaled(bound: list[tuple[float, float]], points: float) -> Points:
    return tuple((n, value / points) for n, value in bound)


Bounds = tuple[list[tuple[float, float]], list[tuple[float, float]], tuple[str, ...]]


def _bounds(verdict: Verdict, units: Units) -> Bounds | None:
    """Boundaries in points; None where the test, run once more, does not stop where the check did."""
    theta = verdict.theta_target if verdict.theta_target is not None else verdict.theta
    alpha, beta = verdict.alpha_applied, verdict.beta
    if theta is None or alpha is None or not len(units.totals):
        return None
    if verdict.test == "gsprt":
        q = verdict.discordance_planned
        if not _agrees(gsprt_test(units, theta=theta, alpha=alpha, beta=beta, discordance=q), verdict):
            return None
        plan = schedule(units, theta=theta, alpha=alpha, beta=beta, discordance=q)
        return _gsprt_bounds(units, plan, theta, alpha, beta)
    if verdict.test == "group-sequential":
        if not _agrees(group_sequential_test(units, theta=theta, alpha=alpha, beta=beta), verdict):
            return None
        return _group_bounds(units, theta, alpha, beta)
    return None


def _agrees(again: SequentialResult, verdict: Verdict) -> bool:
    """Whether the test says the same once more, of this result and these files."""
    same_p = verdict.p_value is not None and abs(again.p_value - verdict.p_value) <= 1e-9
    return same_p and (again.n, again.stop) == (verdict.n, verdict.stop)


def _rejections(units: Units, outcome: Outcome, steps: Ints, scale: float, at: Ints) -> list[tuple[float, float]]:
    """Where the walk would have failed, as (samples, sum of differences in points)."""
    events, sums, _ = outcome.exits
    total = np.concatenate([[0], np.cumsum(steps)])
    least = {int(e): int(sums[events == e].min()) for e in np.unique(events)}
    if outcome.critical is not None:
        least[outcome.event] = outcome.critical
    samples = np.concatenate([[0], units.samples[at]])
    found = [(float(samples[e]), float(scale * (total[e] - 2 * c))) for e, c in sorted(least.items())]
    if outcome.at_end and outcome.critical is not None:
        found[-1] = (float(units.samples[-1]), found[-1][1])
    return found


def _gsprt_bounds(units: Units, plan: Schedule, theta: float, alpha: float, beta: float) -> Bounds:
    scale, sizes = units.lattice()
    ended = plan.full or int(plan.n[-1]) >= units.n_max
    at = units.events[units.events <= plan.last]
    steps = sizes[: len(at)]
    cuts = np.full(len(at) + 1, NONE)
    passing = Passing(units, plan, theta, beta)
    if units.exact:
        cuts = passing.largest(before_each(at, plan.last - ended))
    lost = lost_sums(units, sizes)[: len(at)]
    outcome = fair_walk(steps, lost, plan.allowed[at], cuts, alpha=alpha, binding=units.exact)
    looked = np.unique(np.linspace(0, len(units.totals) - 1 - ended, LOOKED).round().astype(np.int64))
    values = passing.sums(looked)
    known = ~np.isnan(values)
    return _rejections(units, outcome, steps, scale, at), _pairs(plan.n[looked][known], values[known]), _notes(units)


def _group_bounds(units: Units, theta: float, alpha: float, beta: float) -> Bounds:
    design = group_design(min(LOOKS, units.n_max), alpha, beta)
    looks = looks_of(units, design, theta=theta, alpha=alpha)
    at, (scale, steps) = units.events, units.lattice()
    allowed = np.full(len(at), -1.0)
    ended = int(units.samples[-1]) >= units.n_max
    early = looks.unit < len(units.totals) - 1 if ended else np.ones(len(looks.unit), bool)  # the rest at the end
    for event, error in zip(looks.changed[early], looks.spent[early], strict=True):
        if event and (units.exact or event >= FEWEST_CHANGES):
            allowed[event - 1] = error
    never = np.zeros(len(at), np.int64)  # a walk that loses nothing meets no boundary, and sees them all
    outcome = fair_walk(steps, never, allowed, np.full(len(at) + 1, NONE), alpha=alpha, binding=False)
    if not ended:
        outcome = replace(outcome, critical=None)
    return _rejections(units, outcome, steps, scale, at), _pairs(looks.n, -looks.most), _notes(units)


def _pairs(n: Floats, values: Floats) -> list[tuple[float, float]]:
    return list(zip(n.tolist(), values.tolist(), strict=True))


def _notes(units: Units) -> tuple[str, ...]:
    notes = ["The limits depend on how many samples had changed by then."]
    if not units.exact:
        notes.append("Where scores are skewed the test corrects its sums, which the limits here leave out.")
    return tuple(notes)
