"""Jackknife influence values: what each sample contributes to a statistic that need not be a mean."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.intp]
Rows = npt.NDArray[Any]


class StatisticUndefined(ValueError):
    """The statistic has no value (it raised, or was not finite) on the samples named in the message."""


def influence_values(statistic: Callable[[Ints], float], n: int, *, clusters: npt.ArrayLike | None = None) -> Floats:
    """Jackknife influence values of a statistic: (units - 1) * (whole - without the unit).

    Their standard deviation (ddof 1) over the square root of their number is the jackknife standard error. For
    a mean of independent samples the value of sample i is exactly x_i - mean(x).

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
    units = int(codes.max()) + 1
    whole = defined(statistic, np.arange(n), "all samples")
    without = [defined(statistic, np.flatnonzero(codes != u), _without(u, clusters)) for u in range(units)]
    return (units - 1) * (whole - np.array(without))


def influence_of_means(
    values: npt.ArrayLike,
    statistic: Callable[[Floats], Floats] | None = None,
    *,
    clusters: npt.ArrayLike | None = None,
) -> Floats:
    """`influence_values` of a function of column means, with all leave-one-out means at once.

    Parameters
    ----------
    values : array of shape (n,) or (n, k)
        Per-sample quantities.
    statistic : callable, optional
        Takes means of shape (m, k), returns m statistics in points. The default is the mean of the only column.
    clusters : array of shape (n,), optional
        Label of each sample's cluster.

    Raises
    ------
    StatisticUndefined
        As `influence_values`.

    Examples
    --------
    A ratio of means in percent, as a performance drop rate is one:

    >>> values = np.array([[100.0, 100.0], [0.0, 100.0], [100.0, 100.0], [100.0, 0.0]])
    >>> influence_of_means(values, lambda m: 100.0 * m[:, 0] / m[:, 1]).round(12).tolist()
    [0.0, -150.0, 0.0, 100.0]
    """
    sums, sizes = unit_sums(values, clusters)
    function = statistic or only_column
    with np.errstate(all="ignore"):
        whole = function((sums.sum(axis=0) / sizes.sum())[None, :])[0]
        without = function((sums.sum(axis=0) - sums) / (sizes.sum() - sizes)[:, None])
    if not math.isfinite(whole):
        raise StatisticUndefined("the statistic has no value on all samples")
    if not np.isfinite(without).all():
        where = _without(int(np.argmin(np.isfinite(without))), clusters)
        raise StatisticUndefined(f"the statistic has no value on {where}")
    influence: Floats = (len(sums) - 1) * (whole - np.asarray(without, dtype=np.float64))
    return influence


def _without(unit: int, clusters: npt.ArrayLike | None) -> str:
    if clusters is None:
        return f"the samples without sample {unit}, from 0"
    return f"the samples without cluster {np.unique(np.asarray(clusters))[unit]}"


def defined(statistic: Callable[[Rows], float], rows: Rows, where: str) -> float:
    """The statistic of these rows, or of the samples with these indices; `where` names them in the error.

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
    """As `defined`, with NaN for no value; numpy's warnings about that are silenced."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        try:
            value = float(statistic(rows))
        except (ValueError, ArithmeticError):
            return math.nan
    return value if math.isfinite(value) else math.nan


def unit_codes(n: int, clusters: npt.ArrayLike | None) -> Ints:
    """Number of each sample's unit, from 0: the sample itself, or its cluster in the order of the sorted labels."""
    if n < 1:
        raise ValueError("there are no samples")
    if clusters is None:
        return np.arange(n)
    labels = np.asarray(clusters)
    if labels.shape != (n,):
        raise ValueError(f"clusters have shape {labels.shape}; give one label for each of the {n} samples")
    return np.unique(labels, return_inverse=True)[1].astype(np.intp)


def unit_sums(values: npt.ArrayLike, clusters: npt.ArrayLike | None) -> tuple[Floats, Floats]:
    """Sums of the columns over each unit, shape (units, k), and the units' sizes, shape (units,)."""
    table = np.asarray(values, dtype=np.float64)
    table = table[:, None] if table.ndim == 1 else table
    if table.ndim != 2:
        raise ValueError(f"values have shape {table.shape}; give (n,) or (n, k)")
    if not np.isfinite(table).all():
        raise ValueError("values must be finite")
    codes = unit_codes(len(table), clusters)
    if clusters is None:
        return table, np.ones(len(table))
    sizes = np.bincount(codes).astype(np.float64)
    sums = np.empty((len(sizes), table.shape[1]))
    for k, column in enumerate(table.T):
        sums[:, k] = np.bincount(codes, column)
    return sums, sizes


def only_column(means: Floats) -> Floats:
    """The default statistic: the mean itself."""
    if means.shape[1] != 1:
        raise ValueError(f"values have {means.shape[1]} columns; say which statistic of their means is meant")
    return means[:, 0]
