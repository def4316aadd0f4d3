"""References that gather runs of main (`[gate] reference_runs`): false failures, and what becomes of a decline.

`python -m benchmarks.living` prints a table in some ten minutes; `--histories 20` takes one. Each history has 50
merges of 1,000 samples. An answer of the model flips either way in every run alone ("noise"), or in a merge for good
("builds"). `kept` never changes its reference, `pooled` gathers up to `--runs` by accgate's rule, `replaced` takes
every run that passed as the next reference, as teams do by hand.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from accgate.decision.evidence import Evidence
from accgate.decision.outcome import fails
from accgate.design import Design
from accgate.history.pool import inequality
from accgate.records.ids import Ids
from accgate.records.scores import Scores

ALPHA, ABILITY, MERGES = 0.05, 0.8, 50
World = Literal["noise", "builds"]
Way = Literal["kept", "pooled", "replaced"]


@dataclass(frozen=True)
class Cell:
    """What happens to a model: it declines by so many points a merge, and jumps down at the middle of its history."""

    world: World
    decline: float = 0.0
    jump: float = 0.0

    @property
    def begins(self) -> int:
        """The first merge that is worse; 0 where none is."""
        return 1 if self.decline else MERGES // 2 if self.jump else 0


@dataclass(frozen=True)
class Outcome:
    """The share of merges that failed, the first bad one, the runs in the reference, and how far its mean moved."""

    failed: float
    first: float
    pooled: float
    moved: float


def _runs(cell: Cell, rng: np.random.Generator, n: int, flips: float) -> Iterator[np.ndarray]:
    """Yield the scores of the first run, and of the run after each merge."""
    right = rng.random(n) < ABILITY
    back = flips * ABILITY / (1.0 - ABILITY)
    for merge in range(MERGES + 1):
        if merge:
            fall = (cell.decline + cell.jump * (merge == MERGES // 2)) / 100.0 / ABILITY
            right = right & ~(rng.random(n) < fall)
        changed = rng.random(n) < np.where(right, flips, back)
        now = np.where(changed, ~right, right)
        if cell.world == "builds":
            right = now
        yield 100.0 * now[:, None]


def history(cell: Cell, way: Way, seed: int, *, most: int, n: int, flips: float) -> tuple[list[int], int, float]:
    """Simulate a history: the merges whose run failed, the runs in the reference, and how far its mean moved."""
    runs = _runs(cell, np.random.default_rng(seed), n, flips)
    ids = Ids(f"{number:05d}" for number in range(n))
    reference, failed, size = Scores(ids, next(runs)), [], 1
    begun = reference.mean
    for merge, values in enumerate(runs, 1):
        now = Scores(ids, values)
        if fails(Evidence(now, reference, Design()), ALPHA, n):
            if merge >= cell.begins:
                failed.append(merge)
            if merge >= cell.begins > 0:
                break  # somebody looks
        elif way == "replaced":
            reference = now
        elif way == "pooled" and size < most and inequality(reference, size, now) is None:
            reference, size = Scores(ids, np.concatenate([reference.values, values], axis=1)), size + 1
    return failed, size, reference.mean - begun


def outcome_of(cell: Cell, way: Way, histories: int, *, most: int = 8, n: int = 1000, flips: float = 0.02) -> Outcome:
    """Simulate histories; a decline that no merge showed counts as shown after the last."""
    done = [history(cell, way, seed, most=most, n=n, flips=flips) for seed in range(histories)]
    return Outcome(
        failed=sum(len(failed) for failed, _, _ in done) / (MERGES * histories),
        first=float(np.mean([failed[0] if failed else MERGES + 1 for failed, _, _ in done])),
        pooled=float(np.mean([size for _, size, _ in done])),
        moved=float(np.mean([moved for _, _, moved in done])),
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--histories", type=int, default=200)
    parser.add_argument("--runs", type=int, default=8)
    arguments = parser.parse_args()
    print("| world | change | reference | merges that fail | first fails at merge | its runs | its mean moved |")
    print("|---|---|---|--:|--:|--:|--:|")
    changes = (0.0, 0.0), (0.1, 0.0), (0.3, 0.0), (0.0, 3.0)
    worlds: tuple[World, ...] = ("noise", "builds")
    ways: tuple[Way, ...] = ("kept", "pooled", "replaced")
    for cell in (Cell(world, *change) for world in worlds for change in changes):
        name = f"-{cell.decline:g} a merge" if cell.decline else f"-{cell.jump:g} at once" if cell.jump else "none"
        for way in ways:
            done = outcome_of(cell, way, arguments.histories, most=arguments.runs)
            first = "" if name == "none" else f"{done.first:.1f}"
            failed = f"{100 * done.failed:.1f}%" if name == "none" else ""
            print(
                f"| {cell.world} | {name} | {way} | {failed} | {first} | {done.pooled:.1f} | {done.moved:+.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
