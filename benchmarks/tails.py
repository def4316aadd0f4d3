"""Error rates of the gates on tokens: `python benchmarks/tails.py [--runs N]`.

Tokens: a reference some of whose answers run to max_tokens, and a candidate that takes exactly the allowed 10% more on
average, or a fifth more than that, at alpha 0.05.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from accgate.stats.power import quantile
from accgate.stats.ratio import drop_evidence

Floats = npt.NDArray[np.float64]
ALPHA, ALLOWED = 0.05, 0.1
USUAL = 5.0, 0.6  # of the logarithm of a usual answer's tokens: mean and standard deviation


@dataclass(frozen=True)
class CostCell:
    """`n` samples of at most `most` tokens; a share of the reference's answers, or of both sides', runs to the most."""

    n: int
    most: float
    runaway: float
    both: bool = False


COST_CELLS = [
    CostCell(n, most, runaway, both)
    for most in (512.0, 4_096.0)
    for n in (50, 100, 300, 1_000)
    for runaway, both in ((0.0, False), (0.005, False), (0.02, False), (0.02, True), (0.05, False))
]


def cost_rates(cell: CostCell, runs: int, seed: int) -> tuple[float, float]:
    """How many of the runs fail where the mean grew by what is allowed, and where it grew by a fifth more."""
    rng, shape = np.random.default_rng(seed), (runs, cell.n)
    usual = np.minimum(rng.lognormal(*USUAL, shape), cell.most)
    mean = float(np.minimum(np.random.default_rng(0).lognormal(*USUAL, 1_000_000), cell.most).mean())
    before = np.where(rng.random(shape) < cell.runaway, cell.most, usual)
    again = (rng.random(shape) < cell.runaway) & cell.both
    whole = (1.0 - cell.runaway) * mean + cell.runaway * cell.most
    rates = []
    for growth in (1.0, 1.2):
        left = (1.0 + ALLOWED) * growth * whole - cell.both * cell.runaway * cell.most
        longer = left / (mean * (1.0 - cell.both * cell.runaway))
        now = np.where(again, cell.most, longer * usual * rng.lognormal(-0.02, 0.2, shape))
        room = (1.0 + ALLOWED) * before - now
        rates.append(float(np.mean(drop_evidence(room, (1.0 + ALLOWED) * cell.most) >= -quantile(ALPHA))))
    return rates[0], rates[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=2_000)
    arguments = parser.parse_args()
    for cell in COST_CELLS:
        healthy, grown = cost_rates(cell, arguments.runs, seed=5)
        share = f"{100 * cell.runaway:g}% at {cell.most:,.0f}{' on both sides' if cell.both else ''}"
        print(f"{share:28} n {cell.n:5,}  healthy failed {healthy:.3f}  20% more failed {grown:.3f}", flush=True)


if __name__ == "__main__":
    main()
