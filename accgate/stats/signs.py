"""Sums whose terms keep or flip their sign with equal chance: p-values, cuts and limits from all or many patterns."""

from __future__ import annotations

import math

import numpy as np

from accgate.stats import special
from accgate.stats.mcnemar import log_choose
from accgate.stats.result import Interval
from accgate.stats.walk import Bools, Floats, Ints, trim

CLOSE = 1e-9  # relative rounding error at which sums count as equal
LATTICE_SUMS = 10**6
LATTICE_WORK = 10**8  # additions that an exact distribution may cost: about 0.1 s
CHUNK = 2**17  # numbers drawn at a time: 1 MB stays in the processor's cache
NEGLIGIBLE = 1e-150  # products of smaller masses underflow, and denormal numbers are slow


def common_step(magnitudes: Floats) -> tuple[Ints, float] | None:
    """`magnitudes` (above 0) as whole multiples of one step; None where the step is too fine to count every sum.

    Euclid's algorithm on all of them at once, with room for the rounding of averages such as 100 / 3.

    >>> multiples, step = common_step(np.array([100 / 3, 200 / 3, 100.0]))
    >>> multiples.tolist(), round(step, 4)
    ([1, 2, 3], 33.3333)
    """
    step, total, largest = float(magnitudes.min()), float(magnitudes.sum()), float(magnitudes.max())
    while total <= step * min(LATTICE_SUMS, LATTICE_WORK / len(magnitudes)):
        multiples = np.rint(magnitudes / step)
        fitted = total / float(multiples.sum())  # rounding grows with every division; the fit takes it out
        if (np.abs(magnitudes - fitted * multiples) <= CLOSE * largest).all():
            return multiples.astype(np.int64), fitted
        rest = np.abs(magnitudes - step * multiples)
        if not (rest > CLOSE * largest).any():
            return None
        step = float(rest[rest > CLOSE * largest].min())
    return None


def lattice_decision(multiples: Ints, lost: Bools, alpha: float) -> tuple[float, float | None]:
    """Exact p, and the cut: the sum (in steps) below which it is at most alpha, None where no sum is.

    `lost` says which of the terms are negative. The cut lies half a step above the largest sum that is rejected.
    """
    base, mass = _lost_masses(multiples)
    at_least = np.cumsum(mass[::-1])[::-1]
    total, position = int(multiples.sum()), int(multiples[lost].sum())
    all_lost = 0.5 ** len(multiples)
    p_value = min(float(at_least[max(position - base, 0)]), 1.0) if position < base + len(mass) else all_lost
    if all_lost > alpha:
        return p_value, None
    critical = base + int(np.argmax(at_least <= alpha)) if at_least[-1] <= alpha else base + len(mass)
    return p_value, total - 2.0 * critical + 1.0


def _lost_masses(multiples: Ints) -> tuple[int, Floats]:
    """Masses of the sum lost, from `base` on: equal terms at once as a binomial, the small ones first."""
    base, mass = 0, np.ones(1)
    for step, count in zip(*np.unique(multiples, return_counts=True), strict=True):
        base, mass, _ = trim(base, _convolve(mass, int(step), _binomial(int(count))), NEGLIGIBLE)
    return base, mass


def _binomial(count: int) -> Floats:
    """Masses of Bin(count, 1/2); exact in floats where they are, so that a p of 1/32 is."""
    k = np.arange(count + 1)
    if count < 1000:
        masses: Floats = np.asarray(special.comb(count, k), dtype=np.float64) * 0.5**count
    else:
        masses = np.exp(log_choose(count, k) - count * math.log(2.0))
    masses[masses <= NEGLIGIBLE] = 0.0
    return masses


def _convolve(mass: Floats, step: int, binomial: Floats) -> Floats:
    """`mass` plus `step` times a binomial: by its atoms, or by residues modulo the step, whichever are fewer."""
    result = np.zeros(len(mass) + step * (len(binomial) - 1))
    if len(binomial) <= step:
        for k, share in enumerate(binomial):
            result[k * step : k * step + len(mass)] += share * mass
    else:
        for residue in range(min(step, len(mass))):
            result[residue::step] = np.convolve(mass[residue::step], binomial)
    return result


def pattern_decision(flipped: Floats, terms: Floats, alpha: float, *, counted: int) -> tuple[float, float | None]:
    """p, and the sum below which it is at most alpha, from the sums of the flipped terms in each pattern.

    `counted` observed patterns are added: 1 for random patterns, 0 where all are listed.
    """
    total, largest = float(terms.sum()), float(np.abs(terms).sum())
    sums, patterns = total - 2.0 * flipped, len(flipped) + counted
    p_value = (counted + int((sums <= total + CLOSE * largest).sum())) / patterns
    rank = rejection_count(alpha, patterns) - counted
    if rank < 0:
        return p_value, None
    cut = float(np.partition(sums, rank)[rank]) - CLOSE * largest
    return p_value, cut if cut > -largest else None


def rejection_count(alpha: float, patterns: int) -> int:
    """How many of the patterns may be as extreme as one that is rejected."""
    return math.floor(alpha * patterns * (1.0 + 1e-12))


def all_subsets(columns: Floats) -> Floats:
    """Sums over every subset of the rows, shape (2 ** rows, columns), the empty one first."""
    sums = np.zeros((1, columns.shape[1]))
    for row in columns:
        sums = np.concatenate([sums, sums + row])
    return sums


def random_subsets(columns: Floats, resamples: int, seed: int) -> Floats:
    """Sums over random subsets of the rows, shape (resamples, columns), each row in or out with equal chance."""
    random, units = np.random.default_rng(seed), len(columns)
    width, rows = -(-units // 8), max(1, CHUNK // units)
    sums = []
    for start in range(0, resamples, rows):
        count = min(rows, resamples - start)
        bits = np.frombuffer(random.bytes(count * width), dtype=np.uint8).reshape(count, width)
        sums.append(np.unpackbits(bits, axis=1, count=units).astype(np.float64) @ columns)
    return np.concatenate(sums)


def shift_limits(flipped: Floats, alpha: float) -> Interval | None:
    """Limits of the shift per sample that sign patterns do not reject; None where they reject none.

    A shift lies above the sum of a pattern exactly where it is above the mean of the terms that the pattern flips, so
    the limits are ranks among these means. `flipped` has a column of totals and one of sizes, without the observed
    pattern.
    """
    rank = rejection_count(alpha, len(flipped) + 1)
    empty = flipped[:, 1] == 0.0
    if rank <= int(empty.sum()):
        return None
    means = flipped[:, 0] / np.where(empty, 1.0, flipped[:, 1])
    high = float(np.partition(np.where(empty, math.inf, means), -rank)[-rank])
    low = float(np.partition(np.where(empty, -math.inf, means), rank - 1)[rank - 1])
    return Interval(high, (low, high))
