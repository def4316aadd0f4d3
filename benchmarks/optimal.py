"""How near the default test is to Wald's bounds: `python -m benchmarks.optimal [--runs N] [--cells Q:THETA[:TOLD]]`.

For each discordance, drop theta and discordance that the plan was told it prints the mean samples where nothing is
worse and after a drop of theta, in multiples of the fewest that any test takes, and the shares of runs that fail and
pass. Which samples change is drawn; given that, the walk of their signs is summed exactly.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from accgate.planning.samples import plan
from accgate.stats.gsprt import Passing, before_each, schedule
from accgate.stats.mcnemar import mcnemar_theta
from accgate.stats.power import GSPRT_LEAST
from accgate.stats.search import least_of_each
from accgate.stats.sequential import Units
from accgate.stats.walk import Bools, Floats, Ints, rejection_count
from benchmarks.decisions import wald_bounds

SEED = 0
CELLS = [(max(q, theta / 100.0), theta, q) for theta in (1.0, 2.0, 4.0) for q in (0.03, 0.05, 0.08, 0.12)]
CELLS += [(q, 2.0, 0.05) for q in (0.02, 0.03, 0.04, 0.045, 0.055, 0.06, 0.08, 0.12, 0.2)]
RATES = ((0.01, 0.2), (0.05, 0.1), (0.05, 0.05), (0.1, 0.3), (0.002, 0.2))


@dataclass(frozen=True)
class Cell:
    """The share of samples that change, theta in points, the share that was told, and the error rates."""

    q: float
    theta: float
    told: float
    alpha: float = 0.05
    beta: float = 0.2

    @property
    def n(self) -> int:
        """The most samples that are planned."""
        return plan(self.theta, discordance=self.told, alpha=self.alpha, beta=self.beta, test="gsprt").n


@dataclass(frozen=True)
class Ends:
    """Shares of runs that pass early, fail, and come to their end where that says theta, and the mean samples."""

    passed: float
    failed: float
    ended: float
    n: float


def ends(cell: Cell, changed: Bools, lost: float) -> Ends:
    """How a run ends in which these samples change and each change is a loss with the chance `lost`, by exact sums."""
    units = Units(np.where(changed, -100.0, 0.0), np.ones(len(changed), np.int64), exact=True, n_max=len(changed))
    planned = schedule(units, theta=cell.theta, alpha=cell.alpha, beta=cell.beta, discordance=cell.told)
    passing = Passing(units, planned, cell.theta, cell.beta)
    at = units.events[units.events <= planned.last]
    before = before_each(at, planned.last - planned.over)
    cuts, base, spent = passing.largest(before), 0, 0.0
    fair, mass = np.ones(1), np.ones(1)  # of the sums lost from `base` on, with fair signs and with these
    passed = failed = n = 0.0
    for event, most in enumerate(cuts.tolist()):
        cut = min(most, base + len(fair) - 1 - rejection_count(fair, cell.alpha - spent))
        if cut >= base:
            start, end = int(at[event - 1]) if event else 0, int(before[event])
            sums = np.arange(base, cut + 1)
            share, base = mass[: len(sums)], cut + 1
            passed, n = passed + float(share.sum()), n + float(share @ first_units(passing, sums, event, start, end))
            fair, mass = fair[len(sums) :], mass[len(sums) :]
        if event == len(at) or not len(fair):
            break
        fair, mass = stepped(fair, 0.5), stepped(mass, lost)
        count = rejection_count(fair, float(planned.allowed[at[event]]) - spent)
        spent += float(fair[len(fair) - count :].sum())
        share = mass[len(mass) - count :]
        failed, n = failed + float(share.sum()), n + float(share.sum()) * (int(at[event]) + 1)
        fair, mass = fair[: len(fair) - count], mass[: len(mass) - count]
    count, used = rejection_count(fair, cell.alpha - spent), planned.last + 1
    rejected, left = float(mass[len(mass) - count :].sum()), float(mass.sum())
    seen = mcnemar_theta(int(used / GSPRT_LEAST), discordance=len(at) / used, alpha=cell.alpha, beta=cell.beta)
    says = seen is not None and seen <= cell.theta
    return Ends(passed, failed + rejected, (left - rejected) * says, n + left * used)


def first_units(passing: Passing, sums: Ints, event: int, start: int, end: int) -> Ints:
    """The samples after which each of these sums lost passes first, of those from `start` to `end`."""
    events = np.full(len(sums), event)
    later = least_of_each(lambda k: passing.holds(start + k, events, sums), np.full(len(sums), end - start))
    units: Ints = start + later + 1
    return units


def stepped(mass: Floats, lost: float) -> Floats:
    """The masses after one more change."""
    after: Floats = np.append(mass * (1.0 - lost), 0.0) + np.append(0.0, mass * lost)
    return after


def measured(cell: Cell, runs: int) -> tuple[list[Ends], list[Ends]]:
    """The ends of so many draws of what changes, where nothing is worse and after a drop of theta."""
    rng, chance = np.random.default_rng(SEED), 0.5 * (1.0 + cell.theta / 100.0 / cell.q)
    draws = [rng.random(cell.n) for _ in range(runs)]
    return [ends(cell, u < cell.q, 0.5) for u in draws], [ends(cell, u < cell.q, chance) for u in draws]


def row(cell: Cell, runs: int) -> str:
    """The row of a cell."""
    healthy, dropped = measured(cell, runs)
    best = wald_bounds(cell.q, cell.theta, alpha=cell.alpha, beta=cell.beta)
    mean, error = mean_of([end.n for end in healthy])
    after, _ = mean_of([end.n for end in dropped])
    wrong, by = mean_of([end.passed + end.ended for end in dropped])
    figures = [
        f"{cell.q:.1%}",
        f"{cell.told:.1%}",
        f"{cell.theta:g}",
        f"{cell.alpha:g}, {cell.beta:g}",
        f"{cell.n:,}",
        f"{mean:,.0f} ({mean / best[0]:.3f} ± {error / best[0]:.3f})",
        f"{after:,.0f} ({after / best[1]:.3f})",
        f"{mean_of([end.failed for end in healthy])[0]:.4f}",
        f"{wrong:.4f} ± {by:.4f}",
        f"{mean_of([end.failed for end in dropped])[0]:.3f}",
    ]
    return f"| {' | '.join(figures)} |"


def mean_of(values: Sequence[float]) -> tuple[float, float]:
    """The mean and its standard error."""
    return float(np.mean(values)), float(np.std(values) / math.sqrt(len(values)))


def main(arguments: Sequence[str] | None = None) -> None:
    """Compute and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=400, help="draws of a cell; large ones get fewer")
    parser.add_argument("--cells", nargs="+", metavar="Q:THETA[:TOLD]", help="5:2:5 for 5%%, 2 points and 5%%")
    given = parser.parse_args(arguments)
    cells = [Cell(*each) for each in CELLS] + [Cell(q, 2.0, 0.05, *rates) for rates in RATES for q in (0.04, 0.05, 0.1)]
    if given.cells:
        parts = [[float(part) for part in text.split(":")] for text in given.cells]
        cells = [Cell(p[0] / 100.0, p[1], p[-1 if len(p) == 3 else 0] / 100.0) for p in parts]
    print(
        "| changes | told | theta | alpha, beta | at most | healthy (of the bound) | dropped | healthy fail "
        "| dropped pass | dropped fail |\n" + "|---" * 10 + "|"
    )
    for cell in cells:
        print(row(cell, max(40, min(given.runs, given.runs * 1_500 // cell.n))), flush=True)


if __name__ == "__main__":
    main()
