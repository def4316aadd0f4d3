"""Error rates of the gates on tokens, and of calibration errors: `python benchmarks/tails.py [--runs N]`.

Tokens: a reference some of whose answers run to max_tokens, and a candidate that takes exactly the allowed 10% more on
average, or a fifth more than that, at alpha 0.05.

Calibration: two independent runs with confidences of other forms, both calibrated or both too sure by the same; and
candidates that are too sure by 15 points more. A twentieth of the runs, since each takes two statistics a sample.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from accgate import metrics
from accgate.stats.bootstrap import drop_evidence
from accgate.stats.power import quantile
from accgate.stats.statistics import Unsigned, statistic_test

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


@dataclass(frozen=True)
class CalibrationCell:
    """The forms of both sides' confidences, and by how much both claim more than they hold, a share."""

    name: str
    reference: str
    candidate: str
    gap: float = 0.0
    bins: int = 15
    n: int = 200


FORMS = ("constant", "two-point", "uniform", "beta", "sure")
CALIBRATION_CELLS = [
    *(CalibrationCell("ece", one, other) for one in FORMS for other in FORMS if one != other),
    *(CalibrationCell(name, "constant", "uniform", bins=10) for name in ("ece", "ece_adaptive", "rmsce", "mce")),
    *(CalibrationCell(name, "constant", "uniform") for name in ("ece_adaptive", "rmsce", "mce")),
    *(CalibrationCell(name, "two-point", "beta") for name in ("ece_adaptive", "rmsce", "mce")),
    *(CalibrationCell("ece", one, other, 0.08) for one, other in (("constant", "uniform"), ("uniform", "constant"))),
    *(CalibrationCell(name, "constant", "uniform", n=1_000) for name in ("ece", "mce")),
]


def confidences(form: str, rng: np.random.Generator, n: int) -> Floats:
    """The confidences of n answers, shares, all of at least 0.1."""
    if form == "constant":
        return np.full(n, 0.7)
    if form == "two-point":
        return rng.choice(np.array([0.55, 0.9]), n)
    low, high = {"uniform": (1.0, 1.0), "beta": (5.0, 2.0), "sure": (8.0, 1.0)}[form]
    return np.maximum(rng.beta(low, high, n), 0.1)


def calibration_rate(cell: CalibrationCell, runs: int, seed: int, worse: float = 0.0) -> float:
    """How many runs regress where the candidate is too sure by `worse` more than the reference."""
    aggregate, failed = metrics.aggregate(cell.name, bins=cell.bins), 0
    assert isinstance(aggregate.statistic, Unsigned)
    statistic, turn = aggregate.statistic, aggregate.statistic.turn
    for run in range(runs):
        rng = np.random.default_rng([seed, run])
        sides = []
        for form, gap in ((cell.reference, cell.gap), (cell.candidate, cell.gap + worse)):
            stated = confidences(form, rng, cell.n)
            right = 100.0 * (rng.random(cell.n) < stated - gap)
            sides.append([{"confidence": c, "score": s} for c, s in zip(stated, right, strict=True)])
        before, after = aggregate.encode(*sides)
        result = statistic_test(before, after, lambda r: -statistic(r), alpha=ALPHA, beta=0.2, turn=turn)
        failed += result.threshold is not None and result.difference < result.threshold
    return failed / runs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=2_000)
    arguments = parser.parse_args()
    for cell in COST_CELLS:
        healthy, grown = cost_rates(cell, arguments.runs, seed=5)
        share = f"{100 * cell.runaway:g}% at {cell.most:,.0f}{' on both sides' if cell.both else ''}"
        print(f"{share:28} n {cell.n:5,}  healthy failed {healthy:.3f}  20% more failed {grown:.3f}", flush=True)
    for form in CALIBRATION_CELLS:
        right, worse = (calibration_rate(form, arguments.runs // 20, 5, more) for more in (0.0, 0.15))
        sides = f"{form.reference} to {form.candidate}, gap {form.gap:g}"
        text = f"{form.name}, {form.bins} bins, n {form.n:,}: {sides}"
        print(f"{text:66}  healthy failed {right:.3f}  15 points worse failed {worse:.3f}", flush=True)


if __name__ == "__main__":
    main()
