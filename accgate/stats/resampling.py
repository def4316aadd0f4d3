"""The sign-flip test of paired scores.

Each term of a sum keeps or flips its sign with equal probability. p-values, cuts and limits come from all patterns of
signs, or from many random ones.
"""

import math

import numpy as np
import numpy.typing as npt

from accgate.stats import special
from accgate.stats.mcnemar import log_choose
from accgate.stats.paired import mcnemar_exact
from accgate.stats.power import detectable_effect, quantile
from accgate.stats.result import Interval, TestResult
from accgate.stats.totals import CLOSE, alike_result, as_units, robust_error, unit_result
from accgate.stats.walk import Bools, Floats, Ints, trim

LISTED = 20  # units whose 2 ** 20 sign patterns are all listed
LATTICE_SUMS = 10**6  # places of an exact distribution: 8 MB
LATTICE_WORK = 10**8  # additions for an exact distribution: about 0.1 s
CHUNK = 2**17  # numbers drawn at a time: 1 MB stays in the processor's cache
NEGLIGIBLE = 1e-150  # products of smaller masses underflow, and denormal numbers are slow


def sign_flip(
    totals: npt.ArrayLike,
    n: int,
    *,
    sizes: npt.ArrayLike | None = None,
    alpha: float,
    beta: float,
    resamples: int = 9999,
    seed: int = 0,
) -> TestResult:
    """Test paired scores one-sided by flipping the signs of units at random.

    If reference and candidate are exchangeable, a unit (a sample, or a cluster of samples) is as likely to change by T
    as by -T. p is the share of all sign patterns whose sum is at most the observed one.

    Parameters
    ----------
    totals : array of shape (G,)
        Sum of the differences candidate - reference in each unit, points.
    n : int
        Samples in all units together.
    sizes : array of shape (G,), optional
        Samples in each unit; by default all units have the same.
    alpha, beta : float
        Type I and type II error rates.
    resamples, seed : int
        Number of random patterns where not all can be counted, and the seed that draws them.

    Notes
    -----
    p is exact where the totals are multiples of a common step, as 0/100 scores and averages of repeats are, and for up
    to 20 changed units. Else it is (b + 1) / (resamples + 1), the observed pattern counted. Single 0/100 scores give
    McNemar's exact test.

    The interval holds the shifts of every sample that are not rejected, by rank among the means of flipped units: from
    all patterns for up to 20 units, from the random ones where p is from them. In between it is the normal one with
    the cluster-robust standard error. Its upper limit is below 0 exactly where the test rejects. Where nothing
    changed, or every sample by the same, the answer is that of `paired_t`. theta is no less than the distance to the
    threshold and z_{1-beta} standard errors: of one unit much larger than the others no standard error says enough.

    References
    ----------
    Fisher 1935, The Design of Experiments; Hartigan 1969, JASA 64 (the interval); Phipson and Smyth 2010,
    Stat. Appl. Genet. Mol. Biol. 9 (the observed pattern counts).

    Examples
    --------
    >>> r = sign_flip([-3.0, -1.0, 0.5, -4.0, -2.0], 5, alpha=0.1, beta=0.2)
    >>> r.p_value, round(r.threshold, 4)
    (0.0625, -1.6)
    """
    units, weights = as_units(totals, n, sizes)
    if len(units) == n and units.any() and np.isin(units, (-100.0, 0.0, 100.0)).all():
        return mcnemar_exact(int((units < 0).sum()), int((units > 0).sum()), n, alpha=alpha, beta=beta)
    difference, error = float(units.sum()) / n, robust_error(units, weights)
    if not error:
        return alike_result(units, weights, alpha, beta)
    changed, columns = units[units != 0.0], np.column_stack([units, weights])
    margin = -quantile(alpha) * error
    limits: Interval | None = Interval(difference + margin, (difference - margin, difference + margin))
    if lattice := common_step(np.abs(changed)):
        multiples, step = lattice
        p_value, cut = lattice_decision(multiples, changed < 0.0, alpha)
        cut = None if cut is None else cut * step
    elif len(changed) <= LISTED:
        p_value, cut = pattern_decision(all_subsets(changed[:, None])[:, 0], changed, alpha, counted=0)
    else:
        flipped = random_subsets(columns, resamples, seed)
        p_value, cut = pattern_decision(flipped[:, 0], changed, alpha, counted=1)
        limits = shift_limits(flipped, alpha)
    if len(units) <= LISTED:
        limits = shift_limits(all_subsets(columns)[1:], alpha)
    reasons = () if cut is not None else (f"too few changes: at alpha {alpha:g} no pattern of signs is a regression",)
    threshold = None if cut is None else cut / n
    sigma = error * math.sqrt(n)
    theta = detectable_effect(sigma, n, alpha=alpha, beta=beta)
    theta = theta if threshold is None else max(theta, -threshold - quantile(beta) * error)
    return unit_result(difference, p_value, threshold, theta, sigma, limits, reasons)


def common_step(magnitudes: Floats) -> tuple[Ints, float] | None:
    """Write `magnitudes` (above 0) as whole multiples of one step.

    Return None if the step is too fine to count every sum. The step is found by Euclid's algorithm on all magnitudes
    at once, which allows for the rounding of averages such as 100 / 3.

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
    """Return the exact p, and the cut below which a sum is rejected.

    The cut is a sum in steps. `lost` says which terms are negative. The cut lies half a step above the largest sum that
    is rejected, and is None if no sum is.
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
    """Return `base` and the masses of the sum lost from there on.

    All equal terms are added at once, as a binomial.
    """
    base, mass = 0, np.ones(1)
    for step, count in zip(*np.unique(multiples, return_counts=True), strict=True):
        base, mass, _ = trim(base, add_multiples(mass, int(step), _binomial(int(count))), NEGLIGIBLE)
    return base, mass


def _binomial(count: int) -> Floats:
    """Return the masses of Bin(count, 1/2).

    For small counts they are exact to the last bit, since a p of 1/32 must not be more.
    """
    k = np.arange(count + 1)
    if count < 1000:
        masses: Floats = np.asarray(special.comb(count, k), dtype=np.float64) * 0.5**count
    else:
        masses = np.exp(log_choose(count, k) - count * math.log(2.0))
    masses[masses <= NEGLIGIBLE] = 0.0
    return masses


def add_multiples(mass: Floats, step: int, other: Floats) -> Floats:
    """Return the masses of a sum plus `step` times another.

    The loop runs over the masses of the other sum, or over the residues of the step, whichever are fewer.
    """
    result = np.zeros(len(mass) + step * (len(other) - 1))
    if len(other) <= step:
        for k, share in enumerate(other):
            result[k * step : k * step + len(mass)] += share * mass
    else:
        for residue in range(min(step, len(mass))):
            result[residue::step] = np.convolve(mass[residue::step], other)
    return result


def pattern_decision(flipped: Floats, terms: Floats, alpha: float, *, counted: int) -> tuple[float, float | None]:
    """Return p, and the cut below which a sum is rejected.

    They are from the sum of the flipped terms in each pattern. The observed pattern must be `counted` once beside
    random patterns, and 0 times where all patterns are listed.
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
    """Count the patterns that may be as extreme as one that is rejected."""
    return math.floor(alpha * patterns * (1.0 + 1e-12))


def all_subsets(columns: Floats) -> Floats:
    """Sum every subset of the rows, the empty one first.

    The result has shape (2 ** rows, columns).
    """
    sums = np.zeros((1, columns.shape[1]))
    for row in columns:
        sums = np.concatenate([sums, sums + row])
    return sums


def random_subsets(columns: Floats, resamples: int, seed: int) -> Floats:
    """Sum random subsets of the rows, each row with probability one half.

    The result has shape (resamples, columns).
    """
    random, units = np.random.default_rng(seed), len(columns)
    width, rows = -(-units // 8), max(1, CHUNK // units)
    sums = []
    for start in range(0, resamples, rows):
        count = min(rows, resamples - start)
        bits = np.frombuffer(random.bytes(count * width), dtype=np.uint8).reshape(count, width)
        sums.append(np.unpackbits(bits, axis=1, count=units).astype(np.float64) @ columns)
    return np.concatenate(sums)


def shift_limits(flipped: Floats, alpha: float) -> Interval | None:
    """Find limits of the shift per sample that sign patterns do not reject.

    A shift is above the sum of a pattern exactly if it is above the mean of the terms that the pattern flips, so the
    limits are ranks among these means. `flipped` has a column of totals and one of sizes, without the observed pattern.
    Return None if no shift is rejected.
    """
    rank = rejection_count(alpha, len(flipped) + 1)
    empty = flipped[:, 1] == 0.0
    if rank <= int(empty.sum()):
        return None
    means = flipped[:, 0] / np.where(empty, 1.0, flipped[:, 1])
    high = float(np.partition(np.where(empty, math.inf, means), -rank)[-rank])
    low = float(np.partition(np.where(empty, -math.inf, means), rank - 1)[rank - 1])
    return Interval(high, (low, high))
