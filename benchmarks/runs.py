"""What several runs of a reference are worth: `python -m benchmarks.runs [--runs N]`.

Tables for docs/measured.md: the share of harmless changes that fail at a fixed n, by the exchange of all answers
alone and by the test that is used; the share of runs that show more collapses than flicker explains; the error rates
and mean samples with early stopping; and the samples that a plan takes.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from accgate.planning.samples import Assumptions
from accgate.stats.answers import Repeats, repeats_of
from accgate.stats.early_repeats import repeats_sequential
from accgate.stats.repeats import collapses_of, sum_masses, sum_tails
from accgate.stats.walk import Bools, Floats

ALPHA, BETA, THETA = 0.05, 0.2, 2.0
ACCURACY, SEED = 0.6, 0
SHAPES = ((1, 1), (2, 1), (4, 1), (8, 1), (2, 2), (4, 2))
FLICKERS = (0.0, 0.005, 0.03)


@dataclass(frozen=True)
class World:
    """Two builds: the second flips samples either way and loses some, and every answer of either flickers."""

    n: int
    before: int
    now: int
    flips: float
    flicker: float
    accuracy: float = ACCURACY
    lost: float = 0.0

    def runs(self, count: int) -> Iterator[Repeats]:
        """Yield the answers of so many pairs of builds."""
        rng = np.random.default_rng(SEED)
        for _ in range(count):
            right, chance = rng.random(self.n) < self.accuracy, rng.random(self.n)
            worse = chance < (0.5 * self.flips + self.lost) / self.accuracy
            better = chance < 0.5 * self.flips / (1.0 - self.accuracy)
            other = np.where(right, ~worse, better)
            yield repeats_of(self.answers(rng, right, self.before), self.answers(rng, other, self.now))

    def answers(self, rng: np.random.Generator, right: Bools, runs: int) -> Floats:
        """Scores of so many runs of a build, shape (n, runs)."""
        return np.where(right[:, np.newaxis] ^ (rng.random((self.n, runs)) < self.flicker), 100.0, 0.0)


def exchanged_alone(run: Repeats) -> float:
    """The p-value of the test that takes all answers to a sample for exchangeable."""
    base, mass = sum_masses(run)
    return float(mass[max(int(run.lost.sum()) - base, 0) :].sum())


def print_sizes(count: int) -> None:
    """Print the shares of harmless changes that fail at a fixed n."""
    print("| n, K, R | accuracy | flips | flicker | all answers exchanged | the larger p |\n|---|---|---|---|---|---|")
    worlds = [World(n, *shape, 0.04, f) for n in (200, 1319) for shape in SHAPES for f in FLICKERS]
    worlds += [World(200, k, 1, q, 0.005, accuracy) for k in (4, 8) for q in (0.01, 0.02) for accuracy in (0.04, 0.2)]
    for world in worlds:
        tests = [(exchanged_alone(run), sum_tails(run)[0]) for run in world.runs(count)]
        alone, larger = np.mean(np.array(tests) <= ALPHA, axis=0)
        shape = f"{world.n:,}, {world.before}, {world.now}"
        print(
            f"| {shape} | {world.accuracy} | {world.flips} | {world.flicker} | {alone:.3f} | {larger:.3f} |", flush=True
        )


def print_collapses(count: int) -> None:
    """Print how often healthy runs, and those that lose 2%, show more collapses than flicker explains."""
    print("\n| K, R | accuracy | flips | flicker | healthy | 2% lost |\n|---|---|---|---|---|---|")
    rates = ((0.9, 0.0, 0.2), (0.9, 0.04, 0.0), (0.9, 0.04, 0.2), (0.6, 0.04, 0.05), (0.2, 0.04, 0.2))
    for shape in ((2, 2), (4, 2), (8, 2), (2, 4), (4, 4)):
        for accuracy, flips, flicker in rates:
            shares = []
            for lost in (0.0, 0.02):
                world = World(1319, *shape, flips, flicker, accuracy, lost)
                sides = ([np.asarray(100.0 * side) for side in (run.before, run.now)] for run in world.runs(count))
                tests = [collapses_of(before, now) for before, now in sides]
                shares.append(f"{np.mean([test.p_value <= ALPHA for test in tests]):.3f}")
            print(f"| {shape[0]}, {shape[1]} | {accuracy} | {flips} | {flicker} | {' | '.join(shares)} |", flush=True)


def print_early(count: int) -> None:
    """Print the error rates and mean samples of runs that may stop early."""
    print("\n| K, R | flips | flicker | healthy: fails, mean samples | dropped: fails, passes early, mean samples |")
    print("|---|---|---|---|---|")
    for shape in SHAPES[1:]:
        for flips, flicker in ((0.04, 0.0), (0.04, 0.005), (0.0, 0.025)):
            cells = []
            for lost in (0.0, THETA / 100.0):
                world = World(1319, *shape, max(flips - lost, 0.0), flicker, lost=lost)
                test = partial(repeats_sequential, theta=THETA, alpha=ALPHA, beta=BETA, figures=False)
                results = [test(run) for run in world.runs(count)]
                shares = [np.mean([r.stop == stop for r in results]) for stop in ("regression", "futility")]
                listed = ", ".join(f"{share:.3f}" for share in (shares if lost else shares[:1]))
                cells.append(f"{listed}, {np.mean([r.n for r in results]):,.0f}")
            print(f"| {shape[0]}, {shape[1]} | {flips} | {flicker} | {' | '.join(cells)} |", flush=True)


def print_planned() -> None:
    """Print the samples of a plan, by the discordance of two builds and what of it two runs of one show."""
    print("\n| discordance | of it within a build | K = 1 | 2 | 4 | 8 |\n|---|---|---|---|---|---|")
    for q, within in ((0.05, 0.0), (0.05, 0.025), (0.1, 0.1), (0.2, 0.1), (0.2, 0.2), (0.4, 0.4)):
        planned = []
        for k in (1, 2, 4, 8):
            noise = max(q - within, THETA / 100.0) + 0.5 * within * (1.0 + 1.0 / k) if k > 1 else q
            planned.append(f"{Assumptions('paired', ALPHA, BETA, None, noise).most_n(THETA):,}")
        print(f"| {q:.0%} | {within:.1%} | {' | '.join(planned)} |")


def main(arguments: Sequence[str] | None = None) -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=2_000, help="of each cell")
    options = parser.parse_args(arguments)
    print_planned()
    print_sizes(options.runs)
    print_collapses(options.runs)
    print_early(options.runs)


if __name__ == "__main__":
    main()
