"""Jackknife influence values: what each sample contributes to a statistic that need not be a mean."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from accgate.stats.walk import Floats

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
    whole = value_of(statistic, np.arange(n), "all samples")
    without = [value_of(statistic, np.flatnonzero(codes != u), _without(u, clusters)) for u in range(units)]
    return (units - 1) * (whole - np.array(without))


def _without(unit: int, clusters: npt.ArrayLike | None) -> str:
    if clusters is None:
        return f"the samples without sample {unit}, from 0"
    return f"the samples without cluster {np.unique(np.asarray(clusters))[unit]}"


def value_of(statistic: Callable[[Rows], float], rows: Rows, where: str) -> float:
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
    """As `value_of`, with NaN for no value; numpy's warnings about that are silenced."""
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
