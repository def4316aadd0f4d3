"""Power of the overall check beside Holm's over its checks: `python -m benchmarks.overall [--runs N] [--gsm8k FILE]`.

Two tables for docs/measured.md: twenty tasks, also of several answers to a sample, and a pair of models on GSM8K's
test set, its questions cut into twenty parts. The pair is simulated: a question changes in proportion to the steps of
its solution. With `--gsm8k` these are those of the file, else all are alike.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.stats import binom

from accgate.stats.answers import Repeats, repeats_of
from accgate.stats.early_repeats import repeats_sequential
from accgate.stats.gsprt import gsprt_test
from accgate.stats.pooled import Series, pooled_test
from accgate.stats.repeats import repeats_exact
from accgate.stats.sequential import units_of

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
ALPHA, BETA, SPLIT, PARTS = 0.05, 0.2, 0.8, 20
QUESTIONS, SEED = 1319, 0
PAIRS = ((0.04, 0.02), (0.0425, 0.0175), (0.205, 0.147))  # shares lost and gained: a quantised model, and another one
TASKS = ((1, 1, 0.0), (1, 1, 0.7), (1, 1, 1.0), (4, 1, 0.0), (4, 1, 0.7), (2, 2, 0.7))  # answers, points lost
SAMPLES, NOISE, THETA = 400, 0.05, 4.0


def steps_of(path: Path | None) -> tuple[Ints, Ints]:
    """How many steps each question takes, and a number that a hash of its text gives."""
    if path is None:
        return np.ones(QUESTIONS, np.int64), np.random.default_rng(SEED).permutation(QUESTIONS)
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    hashes = [int(hashlib.sha256(row["question"].encode()).hexdigest()[:12], 16) for row in rows]
    return np.array([row["answer"].count("\n") for row in rows]), np.array(hashes)


def cut_power(steps: Ints, order: Ints, lost: float, gained: float, runs: int) -> tuple[float, float, float]:
    """Shares of runs that fail: by Holm over the parts, by the overall check at its fifth, and by either."""
    rng, parts = np.random.default_rng(SEED), np.array_split(np.argsort(order, kind="stable"), PARTS)
    weight = np.minimum(steps / steps.mean(), 1.0 / (lost + gained))
    u = rng.random((runs, len(steps)))
    worse, better = u < lost * weight, u > 1.0 - gained * weight
    counts = [(worse[:, part].sum(axis=1), better[:, part].sum(axis=1)) for part in parts]
    least = np.min([binom.sf(down - 1, down + up, 0.5) for down, up in counts], axis=0)
    overall = binom.sf(worse.sum(axis=1) - 1, (worse | better).sum(axis=1), 0.5) <= (1.0 - SPLIT) * ALPHA
    either = overall | (least <= SPLIT * ALPHA / PARTS)
    return float(np.mean(least <= ALPHA / PARTS)), float(overall.mean()), float(either.mean())


def answers(rng: np.random.Generator, before: int, now: int, drop: float) -> tuple[Floats, Floats]:
    """Answers to the samples of one task: two single runs differ in a share `NOISE`, and `drop` points are lost."""
    noisy = rng.random(SAMPLES) < 2.0 * NOISE
    chance = np.where(noisy, 0.5, (rng.random(SAMPLES) < 0.75).astype(float))[:, np.newaxis]
    reference, candidate = rng.random((SAMPLES, before)) < chance, rng.random((SAMPLES, now)) < chance
    candidate &= rng.random((SAMPLES, 1)) >= drop / 100.0 / (0.75 * (1.0 - 2.0 * NOISE) + NOISE)
    return np.where(reference, 100.0, 0.0), np.where(candidate, 100.0, 0.0)


def task_power(before: int, now: int, drop: float, runs: int) -> tuple[float, float, float]:
    """Shares of runs of twenty tasks that fail: by Holm, by the overall check, and by that where tasks stop early."""
    rng, failed = np.random.default_rng(SEED), np.zeros(3)
    level = SPLIT * ALPHA / PARTS
    for _ in range(runs):
        tasks = [repeats_of(*answers(rng, before, now, drop)) for _ in range(PARTS)]
        holm = any(repeats_exact(task, alpha=ALPHA, beta=BETA).p_value <= ALPHA / PARTS for task in tasks)
        whole = pooled_test([Series(task) for task in tasks], alpha=(1.0 - SPLIT) * ALPHA).rejects
        early = pooled_test([Series(stopped(task, level), stops=True) for task in tasks], alpha=(1.0 - SPLIT) * ALPHA)
        failed += holm, whole, early.rejects
    holm_share, whole_share, early_share = (failed / runs).tolist()
    return holm_share, whole_share, early_share


def stopped(task: Repeats, alpha: float) -> Repeats:
    """The answers that a task's sequential test uses."""
    rates = {"theta": THETA, "alpha": alpha, "beta": BETA}
    single = task.before.shape[1] == task.now.shape[1] == 1
    if single:
        return task.first(gsprt_test(units_of(task.totals), figures=False, **rates).n)
    return task.first(repeats_sequential(task, figures=False, **rates).n)


def main(arguments: Sequence[str] | None = None) -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20_000, help="of a pair; of tasks a hundredth")
    parser.add_argument("--gsm8k", type=Path, metavar="FILE", help="GSM8K's test set: lines with question and answer")
    options = parser.parse_args(arguments)
    print(
        "| GSM8K, lost and gained | cut by | Holm over the parts | overall | either |\n| --- | --- | --- | --- | --- |"
    )
    steps, hashes = steps_of(options.gsm8k)
    for lost, gained in PAIRS:
        for name, order in (("hash", hashes), ("steps", steps)):
            figures = " | ".join(f"{share:.2f}" for share in cut_power(steps, order, lost, gained, options.runs))
            print(f"| {lost:.2%}, {gained:.2%} | {name} | {figures} |", flush=True)
    print("\n| answers: reference, candidate | lost in each check | Holm over the checks | overall | stopping early |")
    print("| --- | --- | --- | --- | --- |")
    for before, now, drop in TASKS:
        figures = " | ".join(f"{share:.2f}" for share in task_power(before, now, drop, max(1, options.runs // 100)))
        print(f"| {before}, {now} | {drop:g} points | {figures} |", flush=True)


if __name__ == "__main__":
    main()
