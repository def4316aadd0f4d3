"""Statistics that are not means, each with pairs of runs of the same model, of which the candidate is worse or not."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Statistic = Callable[[Floats], float]

# Small reference aggregates, each of rows with the columns named, in points.


def mean(scores: Floats) -> float:
    return float(scores.mean())


def parity(rows: Floats) -> float:
    """Accuracy of group 1 minus that of group 0; columns score, group."""
    score, group = rows.T
    return float(score[group == 1].mean() - score[group == 0].mean())


def area(rows: Floats) -> float:
    """Area under the ROC curve by mid-ranks; columns score, class."""
    score, positive = rows[:, 0], rows[:, 1] == 1
    p = int(positive.sum())
    _, inverse, counts = np.unique(score, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2.0)[inverse]
    return float(100.0 * (ranks[positive].sum() - p * (p + 1) / 2.0) / (p * (len(rows) - p)))


def calibration_error(rows: Floats) -> float:
    """Expected calibration error in 10 bins; columns confidence, correctness."""
    confidence, correct = rows.T
    bins = np.minimum((confidence * 10.0).astype(int), 9)
    return float(100.0 * np.abs(np.bincount(bins, confidence - correct)).sum() / len(rows))


# Pairs from the same model, of which the candidate is `worse` by some amount.


def kept(rng: np.random.Generator, before: Floats, share: float) -> Floats:
    """A second run of 0/1 outcomes, in which this share is drawn anew from all outcomes."""
    return np.where(rng.random(len(before)) < share, rng.permutation(before), before)


def spoiled(rng: np.random.Generator, outcomes: Floats, share: float) -> Floats:
    return np.where(rng.random(len(outcomes)) < share, 0.0, outcomes)


def mean_pairs(rng: np.random.Generator, n: int, worse: float = 0.0) -> tuple[Floats, Floats]:
    base = rng.normal(60.0, 20.0, n)
    return base + rng.normal(0.0, 5.0, n), base + rng.normal(0.0, 5.0, n) - worse


def parity_pairs(rng: np.random.Generator, n: int, worse: float = 0.0) -> tuple[Floats, Floats]:
    group = (np.arange(n) % 3 == 0).astype(float)
    before = (rng.random(n) < 0.6).astype(float)
    after = kept(rng, before, 0.3)
    after = np.where(group == 1, spoiled(rng, after, worse / 60.0), after)
    return np.stack([100.0 * before, group], axis=1), np.stack([100.0 * after, group], axis=1)


def area_pairs(rng: np.random.Generator, n: int, worse: float = 0.0) -> tuple[Floats, Floats]:
    positive = (np.arange(n) % 3 == 0).astype(float)
    base = rng.normal(1.2 * positive, 1.0)
    before, after = base + rng.normal(0.0, 0.4, n), base + rng.normal(0.0, 0.4, n) - worse * positive
    return np.stack([before, positive], axis=1), np.stack([after, positive], axis=1)


def calibration_pairs(rng: np.random.Generator, n: int, worse: float = 0.0) -> tuple[Floats, Floats]:
    base, luck = rng.uniform(0.5, 0.95, n), rng.random(n)
    sides = []
    for gap in (0.1, 0.1 + worse / 100.0):
        confidence = np.clip(base + rng.normal(0.0, 0.03, n), 0.0, 1.0)
        again = np.where(rng.random(n) < 0.15, rng.random(n), luck)
        sides.append(np.stack([confidence, (again < base - gap).astype(float)], axis=1))
    return sides[0], sides[1]


def turned(statistic: Statistic) -> Statistic:
    """A statistic of which lower is better, as one of which higher is."""
    return lambda rows: -statistic(rows)


CASES = {
    "mean": (mean_pairs, mean),
    "parity": (parity_pairs, parity),
    "area": (area_pairs, area),
    "calibration": (calibration_pairs, turned(calibration_error)),
}
