"""The paired test of a statistic that need not be a mean.

Such statistics are calibration errors, or areas under a curve.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from accgate.stats import special
from accgate.stats.paired import paired_t
from accgate.stats.power import quantile_sum
from accgate.stats.result import Interval, TestResult
from accgate.stats.walk import Floats

Ints = npt.NDArray[np.intp]
Rows = npt.NDArray[Any]
Method = Literal["influence", "bootstrap"]

TURNS = 200  # draws of a statistic under chance alone: their mean is known to a fourteenth of their spread
ROUNDING = 64.0 * float(np.finfo(np.float64).eps)  # relative error of an aggregate: a few sums deep


@dataclass(frozen=True)
class Unsigned:
    """A statistic of the sizes of errors, which chance alone raises.

    A binned calibration error is one. `turn` returns the rows with the sign of every sample's error reversed; if errors
    are by chance alone, those rows are as likely as the given ones.
    """

    function: Callable[[Rows], float]
    turn: Callable[[Rows], Rows]

    def __call__(self, rows: Rows) -> float:
        """Return the statistic of these rows."""
        return self.function(rows)


class StatisticUndefined(ValueError):
    """A statistic without a value on the samples in the message.

    It raised, or was not finite.
    """


def statistic_test(
    reference: npt.ArrayLike,
    candidate: npt.ArrayLike,
    statistic: Callable[[Rows], float],
    *,
    alpha: float,
    beta: float,
    clusters: npt.ArrayLike | None = None,
    method: Method = "influence",
    turn: Callable[[Rows], Rows] | None = None,
    resamples: int = 9999,
    seed: int = 0,
) -> TestResult:
    """Test one-sided that the candidate's statistic is below the reference's on the same samples.

    The unit is the sample, or the cluster if there are clusters.

    Parameters
    ----------
    reference, candidate : array of shape (n,) or (n, k)
        What the statistic needs of each sample, row by row the same samples.
    statistic : callable
        Takes rows like `reference`, any number of them and with repetitions, returns the statistic in points. Higher
        is better: give minus the statistic where lower is.
    alpha, beta : float
        Type I and type II error rates.
    clusters : array of shape (n,), optional
        Label of each sample's cluster. Each unit costs two evaluations: beyond about 10,000 independent samples
        `clusters=np.arange(n) % 1000` limits them.
    method : str
        `influence`: t test on the jackknife influence values of the difference. `bootstrap`: studentised paired
        bootstrap, for few or skewed samples.
    turn : callable, optional
        That of an `Unsigned` statistic. What chance alone adds to it is measured on both sides. The difference is
        subtracted if it makes the candidate look worse, and its size is added to theta.
    resamples, seed : int
        For the bootstrap, and for the swaps of a statistic without a standard error; the seed for turns too.

    Returns
    -------
    TestResult
        `theta` is (z_{1-alpha} + z_{1-beta}) standard errors, `sigma` is sqrt(n) standard errors.

    Raises
    ------
    StatisticUndefined
        Where the statistic has no value on the whole reference or candidate: there is nothing to decide.

    Notes
    -----
    For the mean this is `paired_t` on the differences. A statistic of absolute values, such as a binned calibration
    error, is biased upwards, and the bias cancels in the difference only if both sides spread alike over the bins. So
    with `turn` it is measured on each side: the mean of the statistic with the sign of each unit's error drawn at
    random. If a statistic has kinks (a calibration error at perfectly calibrated bins, an absolute parity difference at
    0), the jackknife overstates its error: false alarms are rarer than alpha, and theta is larger than necessary. The
    jackknife fails for statistics that depend on single samples (maximum, median, worst group).

    The bootstrap uses the influence values of the whole sample in each resample. A resample without a value counts
    against rejection.

    If the standard error is 0 or does not exist (all right becomes all wrong; the only sample of a class), whole rows
    are swapped between the sides at random, which is exact if both come from the same model.

    References
    ----------
    Efron and Stein 1981, Ann. Statist. 9; Efron 1992, JRSS B 54; Davison and Hinkley 1997, chapters 2 and 5. Of the
    bias: Broecker and Smith 2007, Weather and Forecasting 22; Roelofs et al. 2022, arXiv 2012.08668; Kumar et al. 2019,
    arXiv 1909.10155.

    Examples
    --------
    The attack success rate rose from 20% to 35% of 200 attacks, with 42 flips:

    >>> before = np.repeat([1, 1, 0, 0], [34, 6, 36, 124])
    >>> after = np.repeat([1, 0, 1, 0], [34, 6, 36, 124])
    >>> resistance = lambda rows: -100.0 * rows.mean()
    >>> r = statistic_test(before, after, resistance, alpha=0.05, beta=0.2)
    >>> round(r.difference, 6), round(r.threshold, 2), round(r.theta, 2)
    (-15.0, -5.07, 7.63)
    """
    if method not in get_args(Method):
        raise ValueError(f"method is {method!r}; give one of {', '.join(get_args(Method))}")
    before, after = np.asarray(reference), np.asarray(candidate)
    values = value_of(statistic, before, "the reference"), value_of(statistic, after, "the candidate")
    codes, noise = unit_codes(len(before), clusters), ROUNDING * max(*map(abs, values), 1.0)
    pair = _Pair(before, after, statistic, values[1] - values[0], noise, codes, resamples, seed)
    units, name = pair.units, "sample" if clusters is None else "cluster"
    if units < 2:
        return _without_error(pair, None, None, f"one {name} has no variance: no drop can be seen")
    try:
        influence = influence_values(pair.difference, pair.n, clusters=clusters)
    except StatisticUndefined as fact:
        fall = (math.ceil(-math.log2(alpha)) - 1) * 100.0 / units  # as many have to change as a sign test needs
        return _swap_test(pair, None, fall, alpha, f"{fact}: it has no standard error")
    if np.ptp(influence) <= pair.noise * units:
        effect = _largest_effect(pair, clusters)
        theta = quantile_sum(alpha, beta) ** 2 * effect
        same = np.array_equal(pair.reference, pair.candidate)
        reason = "no sample changed" if same else f"no single {name} changes the difference"
        return _swap_test(pair, theta, _least_fall(units, alpha) * effect, alpha, reason)
    error = float(np.std(influence, ddof=1)) / math.sqrt(units)
    lean, spread = (0.0, 0.0) if turn is None else _lean(pair, turn)
    if spread > error:  # as for a maximum, which depends on single samples: the jackknife misses that
        influence, error = influence * (spread / error), spread
    fair = replace(pair, whole=pair.whole - min(lean, 0.0))
    if method == "influence":
        result = paired_t(fair.whole + influence - np.mean(influence), alpha=alpha, beta=beta)
    else:
        result = _bootstrap_t(fair, influence, alpha)
    theta = quantile_sum(alpha, beta) * error + abs(lean)
    result = replace(result, difference=pair.whole, theta=theta, sigma=error * math.sqrt(pair.n))
    return _with_lean(result, lean, error)


def _lean(pair: _Pair, turn: Callable[[Rows], Rows]) -> tuple[float, float]:
    """Return the difference's mean and deviation under random signs.

    Each unit's errors get a random sign, the same on both sides.
    """
    rng, values = np.random.default_rng(pair.seed), []
    turned = replace(pair, reference=turn(pair.reference), candidate=turn(pair.candidate))
    for _ in range(TURNS):
        which = (rng.random(pair.n) < 0.5)[pair.codes][:, None]
        before = np.where(which, turned.reference, pair.reference)
        after = np.where(which, turned.candidate, pair.candidate)
        now, then = (value_of(pair.statistic, side, "turned errors") for side in (after, before))
        values.append(now - then)
    return float(np.mean(values)), float(np.std(values, ddof=1))


def _with_lean(result: TestResult, lean: float, error: float) -> TestResult:
    """Add to a result what chance alone makes of the difference.

    The test left it out.
    """
    off, interval = min(lean, 0.0), result.interval
    if interval is not None:
        low, high = interval.two_sided
        interval = Interval(interval.one_sided, (low - abs(lean), high))
    look = f"{abs(lean):.2f} points {'worse' if lean < 0.0 else 'better'}"
    reasons = (
        f"chance alone makes the candidate look {look}, since its confidences spread differently over the bins; "
        "brier_score has no bins and sees smaller changes",
    )
    return replace(
        result,
        threshold=None if result.threshold is None else result.threshold + off,
        interval=interval,
        reasons=(*result.reasons, *reasons) if abs(lean) > 0.5 * error else result.reasons,
    )


@dataclass(frozen=True)
class _Pair:
    """Both sides, and the difference of their statistics.

    `whole` is the difference, worse below 0, and `noise` its rounding error. `codes` is the unit of each sample, and
    `resamples` the number of random draws.
    """

    reference: Rows
    candidate: Rows
    statistic: Callable[[Rows], float]
    whole: float
    noise: float
    codes: Ints
    resamples: int
    seed: int

    @property
    def n(self) -> int:
        return len(self.reference)

    @property
    def units(self) -> int:
        return int(self.codes.max()) + 1

    def difference(self, index: Ints) -> float:
        return self.statistic(self.candidate[index]) - self.statistic(self.reference[index])

    def swap(self, which: npt.NDArray[np.bool_]) -> float:
        """Return the difference with these samples' rows swapped between the sides."""
        before, after = self.reference.copy(), self.candidate.copy()
        before[which], after[which] = self.candidate[which], self.reference[which]
        return self.statistic(after) - self.statistic(before)


def _bootstrap_t(pair: _Pair, influence: Floats, alpha: float) -> TestResult:
    """Test by a centred studentised bootstrap.

    It is centred because a bootstrap's estimate of bias is wrong at kinks, and the bias is common to both sides.
    """
    values, errors = np.empty(pair.resamples), np.empty(pair.resamples)
    root = math.sqrt(len(influence))
    for i, (rows, units) in enumerate(resamples_of(pair.codes, pair.resamples, pair.seed)):
        values[i] = value_or_nan(pair.difference, rows)
        errors[i] = np.std(influence[units], ddof=1) / root
    exists = np.isfinite(values)
    centre = float(np.mean(values[exists])) if exists.any() else math.nan
    with np.errstate(all="ignore"):
        null = (values - centre) / errors
    error = float(np.std(influence, ddof=1)) / root
    p_value, low, high = tails(null, pair.whole / error, alpha)
    missing = pair.resamples - int(exists.sum())
    reason = f"{missing} of {pair.resamples} resamples have no value: they count against a regression"
    bounds = pair.whole - high * error, pair.whole - low * error
    interval = Interval(bounds[1], bounds) if all(map(math.isfinite, bounds)) else None
    threshold = low * error if math.isfinite(low) else None
    return TestResult(pair.whole, p_value, threshold, None, None, interval, (reason,) if missing else ())


def _swap_test(pair: _Pair, theta: float | None, fall: float, alpha: float, reason: str) -> TestResult:
    """Test by swapping each unit's rows between the sides at random.

    Without a change each row is as likely to be of either side. `fall` (points) says how much worse a statistic that
    did not get worse could have been without being a regression: the threshold lies there.
    """
    if pair.whole >= -pair.noise:
        can_reject = 0.5**pair.units <= alpha
        return _without_error(pair, theta, min(pair.whole, 0.0) - fall if can_reject else None, reason)
    rng = np.random.default_rng(pair.seed)
    swaps = (rng.random(pair.n) < 0.5 for _ in range(pair.resamples))  # the first of them are the units'
    null = np.array([value_or_nan(pair.swap, which[pair.codes]) for which in swaps])
    p_value, low, _ = tails(null, pair.whole, alpha)
    threshold, sigma = low if math.isfinite(low) else None, None if theta is None else 0.0
    reasons = reason, "decided by swapping samples between the sides at random"
    return TestResult(pair.whole, p_value, threshold, theta, sigma, None, reasons)


def _without_error(pair: _Pair, theta: float | None, threshold: float | None, reason: str) -> TestResult:
    """Return the result of a statistic without a standard error.

    The statistic did not get worse, or there is one unit only.
    """
    return TestResult(pair.whole, 1.0, threshold, theta, None if theta is None else 0.0, None, (reason,))


def _largest_effect(pair: _Pair, clusters: npt.ArrayLike | None) -> float:
    """Return the most by which one unit is taken to move the statistic.

    That is the range of the reference's influence values, at least 100 points, divided among the units. With it theta
    of a run without changes is what that many units could hide; for 0/100 scores, `paired_binary_effect` without a
    flip.
    """
    influence = influence_values(lambda i: pair.statistic(pair.reference[i]), pair.n, clusters=clusters)
    return max(float(np.ptp(influence)), 100.0) / len(influence)


def _least_fall(units: int, alpha: float) -> int:
    """Count the units that may fall alike without a rejection.

    No other unit changes, and the test is the t test.

    >>> _least_fall(100, 0.05)
    2
    """
    fallen = np.arange(1, units)
    t = np.sqrt((units - 1.0) * fallen / (units - fallen))
    return int(np.count_nonzero(special.stdtr(units - 1.0, -t) > alpha))


def resamples_of(codes: Ints, resamples: int, seed: int) -> Iterator[tuple[Ints, Ints]]:
    """Yield resamples of whole units.

    Each is the indices of the samples drawn, and those of the units. `codes` is each sample's unit, as `unit_codes`
    numbers it.
    """
    rng = np.random.default_rng(seed)
    sizes = np.bincount(codes)
    members = np.split(np.argsort(codes, kind="stable"), np.cumsum(sizes)[:-1])
    for _ in range(resamples):
        drawn = rng.integers(0, len(sizes), size=len(sizes))
        yield drawn if len(sizes) == len(codes) else np.concatenate([members[unit] for unit in drawn]), drawn


def tails(null: Floats, observed: float, alpha: float) -> tuple[float, float, float]:
    """Return the p-value of a low figure, and limits of the draws.

    Draws lie beyond each limit with probability alpha. The figure is below the lower limit exactly if its p-value is at
    most alpha. A draw without a value counts as lower than any figure. If alpha is too small for the number of draws,
    the limits are infinite.

    >>> tails(np.arange(99.0), 3.5, 0.05)
    (0.05, 4.0, 94.0)
    """
    ordered = np.sort(np.where(np.isnan(null), -np.inf, null))
    draws = len(ordered) + 1
    p_value = (1 + int(np.searchsorted(ordered, observed, side="right"))) / draws
    rank = math.floor(alpha * draws * (1.0 + 1e-12))
    if rank < 1:
        return p_value, -math.inf, math.inf
    return p_value, float(ordered[rank - 1]), float(ordered[-rank])


def influence_values(statistic: Callable[[Ints], float], n: int, *, clusters: npt.ArrayLike | None = None) -> Floats:
    """Return the jackknife influence values of a statistic.

    The value of a unit is (units - 1) * (statistic of all - statistic without the unit). Their standard deviation (ddof
    1) over the square root of their number is the jackknife standard error. For a mean of independent samples the value
    of sample i is exactly x_i - mean(x).

    Parameters
    ----------
    statistic : callable
        Takes an index array into the n samples, returns the statistic on them, in points.
    n : int
        Number of samples.
    clusters : array of shape (n,), optional
        Label of each sample's cluster; the unit that is left out is then a whole cluster. Labels drawn at
        random bound the work on many independent samples, as in `clusters=np.arange(n) % 1000`.

    Returns
    -------
    array of shape (units,)
        In the order of the samples, or of the sorted cluster labels.

    Raises
    ------
    StatisticUndefined
        Where the statistic has no value on all samples, or without one unit.

    References
    ----------
    Efron and Stein 1981, Ann. Statist. 9 (jackknife variance); Davison and Hinkley 1997, Bootstrap Methods and
    their Application, section 2.7.

    Examples
    --------
    >>> x = np.array([1.0, 2.0, 6.0])
    >>> influence_values(lambda i: x[i].mean(), 3).round(12).tolist()
    [-2.0, -1.0, 3.0]
    """
    codes = unit_codes(n, clusters)
    labels, name = (range(n), "sample {}, from 0") if clusters is None else (np.unique(clusters), "cluster {}")
    whole = value_of(statistic, np.arange(n), "all samples")
    without = [
        value_of(statistic, np.flatnonzero(codes != unit), f"the samples without {name.format(label)}")
        for unit, label in enumerate(labels)
    ]
    return (len(without) - 1) * (whole - np.array(without))


def value_of(statistic: Callable[[Rows], float], rows: Rows, where: str) -> float:
    """Evaluate the statistic on these rows, or on samples with these indices.

    `where` names them in the error.

    Raises
    ------
    StatisticUndefined
        Where it raises ValueError or ArithmeticError, or is not finite.
    """
    value = value_or_nan(statistic, rows)
    if math.isnan(value):
        raise StatisticUndefined(f"the statistic has no value on {where}")
    return value


def value_or_nan(statistic: Callable[[Rows], float], rows: Rows) -> float:
    """Evaluate the statistic as `value_of` does, with NaN for no value.

    numpy's warnings are silenced.
    """
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        try:
            value = float(statistic(rows))
        except (ValueError, ArithmeticError):
            return math.nan
    return value if math.isfinite(value) else math.nan


def unit_codes(n: int, clusters: npt.ArrayLike | None) -> Ints:
    """Number each sample's unit from 0.

    The unit is the sample itself, or its cluster in the order of the sorted labels.
    """
    if clusters is None:
        return np.arange(n)
    labels = np.asarray(clusters)
    if labels.shape != (n,):
        raise ValueError(f"clusters have shape {labels.shape}; give one label for each of the {n} samples")
    return np.unique(labels, return_inverse=True)[1].astype(np.intp)
