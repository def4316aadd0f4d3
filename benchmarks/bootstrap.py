"""Seconds for 100,000 paired resamples of 1,319 pairs: `python benchmarks/bootstrap.py [--runs N] [--json]`.

The ways run in turn, so that a noisy machine is noisy for all; the table shows the median and how many times as long
it takes as `paired_bootstrap` of the same pairs.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy import stats

from accgate.stats.bootstrap import paired_bootstrap

Floats = npt.NDArray[np.float64]
PAIRS = 1319
RESAMPLES = 100_000
BINS = 10


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    rng = np.random.default_rng(0)
    graded = rng.normal(-0.5, 20.0, PAIRS)
    binary = rng.choice([-100.0, 0.0, 100.0], PAIRS, p=[0.03, 0.95, 0.02])
    bins = calibration_columns(rng)
    ways: dict[str, Callable[[], Floats]] = {
        "paired_bootstrap, graded scores": lambda: paired_bootstrap(graded, resamples=RESAMPLES),
        "paired_bootstrap, 0/100 scores": lambda: paired_bootstrap(binary, resamples=RESAMPLES),
        "paired_bootstrap, ratio": lambda: paired_bootstrap(bins[:, :2], ratio, resamples=RESAMPLES),
        "paired_bootstrap, 10-bin ECE": lambda: paired_bootstrap(bins, ece_difference, resamples=RESAMPLES),
        "numpy loop, graded scores": lambda: numpy_loop(graded),
        "scipy.stats.bootstrap, graded scores": lambda: scipy_bootstrap(graded),
    }
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(arguments.runs):
        for name, way in ways.items():
            began = time.perf_counter()
            way()
            times[name].append(time.perf_counter() - began)
    medians = {name: statistics.median(values) for name, values in times.items()}
    unit = medians["paired_bootstrap, graded scores"]
    if arguments.json:
        print(json.dumps({name: {"seconds": value, "ratio": value / unit} for name, value in medians.items()}))
        return
    print(f"{'100,000 resamples of 1,319 pairs':40} {'seconds':>8} {'ratio':>7}")
    for name, value in medians.items():
        print(f"{name:40} {value:8.3f} {value / unit:7.2f}")


def calibration_columns(rng: np.random.Generator) -> Floats:
    """Confidence minus correctness of both sides, in a column for each bin and side."""
    columns = np.zeros((PAIRS, 2 * BINS))
    for side in range(2):
        confidence = rng.random(PAIRS)
        correct = rng.random(PAIRS) < confidence
        columns[np.arange(PAIRS), side * BINS + (confidence * BINS).astype(int)] = confidence - correct
    return columns


def ece_difference(means: Floats) -> Floats:
    gaps: Floats = 100.0 * np.abs(means).reshape(len(means), 2, BINS).sum(axis=2)
    return gaps[:, 1] - gaps[:, 0]


def ratio(means: Floats) -> Floats:
    return 100.0 * means[:, 0] / means[:, 1]


def numpy_loop(values: Floats) -> Floats:
    rng = np.random.default_rng(0)
    return np.array([values[rng.integers(0, PAIRS, PAIRS)].mean() for _ in range(RESAMPLES)])


def scipy_bootstrap(values: Floats) -> Floats:
    result = stats.bootstrap((values,), np.mean, n_resamples=RESAMPLES, batch=1000, method="percentile", rng=0)
    return np.asarray(result.bootstrap_distribution)


if __name__ == "__main__":
    main()
