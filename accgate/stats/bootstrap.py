"""Bootstrap distributions of statistics of paired samples: whole rows are drawn, so pairs stay together."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from accgate.stats.influence import Floats, Ints, unit_codes

Sampler = Callable[[np.random.Generator, int], npt.NDArray[Any]]

BLOCK = 4_000_000  # numbers handed to the statistic at once: 32 MB
PRODUCT = 3_000_000  # weights in one matrix product, 24 MB: a threaded BLAS is slow to wake for small ones
CACHED = 50_000  # draws made at once: what stays in a core's cache is several times faster
GATHERED = 4  # columns up to which adding the drawn values is quicker than counting them for a matrix product
FEW = 40  # a multinomial count costs about as much as drawing this many samples


def paired_bootstrap(
    values: npt.ArrayLike,
    statistic: Callable[[Floats], Floats] | None = None,
    *,
    clusters: npt.ArrayLike | None = None,
    resamples: int = 100_000,
    seed: int = 0,
) -> Floats:
    """Bootstrap distribution of a function of column means.

    Parameters
    ----------
    values : array of shape (n,) or (n, k)
        Per-sample quantities; what must stay paired (reference, candidate) stands in one row. A filter is a
        numerator column and a denominator column; a binned error has columns for each bin.
    statistic : callable, optional
        Takes means of shape (m, k), returns m statistics; called on blocks of the resamples. The default is the
        mean of the only column.
    clusters : array of shape (n,), optional
        Label of each sample's cluster; whole clusters are drawn then, and means are over the samples drawn.
    resamples : int
        Number of resamples.
    seed : int
        Seed of the draws.

    Returns
    -------
    array of shape (resamples,)
        Not finite where the statistic is not, as a ratio whose denominator was not drawn.

    Notes
    -----
    The plain multinomial bootstrap, without approximation: n samples drawn with replacement. Where few distinct
    rows occur, the counts of each are drawn directly, which is the same distribution at a fraction of the work.

    References
    ----------
    Efron 1979, Ann. Statist. 7; Davison and Hinkley 1997, section 2.3.

    Examples
    --------
    The standard error of a mean difference, 79 of 1,319 pairs discordant:

    >>> differences = np.repeat([-100.0, 100.0, 0.0], [53, 26, 1240])
    >>> round(float(paired_bootstrap(differences, resamples=10_000).std()), 1)
    0.7
    """
    sums, sizes = _unit_sums(values, clusters)
    function = statistic or _only_column
    units, k = sums.shape
    same_size = float(np.ptp(sizes)) == 0.0
    sampler = _sampler(sums if same_size else np.column_stack([sums, sizes]))
    rng = np.random.default_rng(seed)
    result = np.empty(resamples)
    block = max(1, BLOCK // (k + 1))
    for start in range(0, resamples, block):
        totals = sampler(rng, min(block, resamples - start))
        means = totals / (units * sizes[0]) if same_size else totals[:, :k] / totals[:, k:]
        with np.errstate(all="ignore"):
            result[start : start + len(means)] = function(means)
    return result


def resamples_of(codes: Ints, resamples: int, seed: int) -> Iterator[tuple[Ints, Ints]]:
    """Resamples of whole units: indices of the samples drawn, and of their units.

    `codes` is each sample's unit, numbered from 0 as `unit_codes` does.
    """
    rng = np.random.default_rng(seed)
    sizes = np.bincount(codes)
    members = np.split(np.argsort(codes, kind="stable"), np.cumsum(sizes)[:-1])
    for _ in range(resamples):
        drawn = rng.integers(0, len(sizes), size=len(sizes))
        yield drawn if len(sizes) == len(codes) else np.concatenate([members[unit] for unit in drawn]), drawn


def tails(null: Floats, observed: float, alpha: float) -> tuple[float, float, float]:
    """p-value of a low figure, and the figures beyond which draws lie with probability alpha on each side.

    The figure is below the lower limit exactly where its p-value is at most alpha. A draw without a value counts
    as lower than any. Where alpha is too small for the number of draws the limits are infinite.

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


def _sampler(rows: Floats) -> Sampler:
    """The way to draw as many rows as there are, with replacement: sums of the columns, shape (resamples, k)."""
    distinct, counts = np.unique(rows, axis=0, return_counts=True)
    n = len(rows)
    if len(distinct) * FEW <= n:
        count = _by_chunks(CACHED // len(distinct), lambda rng, m: rng.multinomial(n, counts / n, size=m))
        return _by_chunks(PRODUCT // len(distinct), lambda rng, m: count(rng, m) @ distinct)
    if rows.shape[1] <= GATHERED:
        return _by_chunks(CACHED // n, lambda rng, m: _drawn_sums(rng, m, rows))
    count = _by_chunks(CACHED // n, lambda rng, m: _drawn_counts(rng, m, n))
    return _by_chunks(PRODUCT // n, lambda rng, m: count(rng, m) @ rows)


def _by_chunks(size: int, draw: Sampler) -> Sampler:
    """`draw` called for at most `size` resamples at a time."""
    chunk = max(1, size)

    def sampler(rng: np.random.Generator, resamples: int) -> Floats:
        first = draw(rng, min(chunk, resamples))
        result = np.empty((resamples, first.shape[1]))
        result[: len(first)] = first
        for start in range(chunk, resamples, chunk):
            result[start : start + chunk] = draw(rng, min(chunk, resamples - start))
        return result

    return sampler


def _drawn_sums(rng: np.random.Generator, resamples: int, rows: Floats) -> Floats:
    """Sums of the rows drawn, column by column."""
    drawn = _drawn(rng, resamples, len(rows)).astype(np.intp)
    return np.stack([column.take(drawn, mode="clip").sum(axis=1) for column in rows.T], axis=1)


def _drawn_counts(rng: np.random.Generator, resamples: int, n: int) -> Ints:
    """How often each of n samples was drawn, shape (resamples, n)."""
    cells = _drawn(rng, resamples, n) + (np.arange(resamples) * n)[:, None]
    return np.bincount(cells.ravel(), minlength=resamples * n).reshape(resamples, n)


def _drawn(rng: np.random.Generator, resamples: int, n: int) -> npt.NDArray[Any]:
    """Indices drawn with replacement; 16 bits where they suffice, as the generator gives several at once."""
    return rng.integers(0, n, size=(resamples, n), dtype=np.uint16 if n <= 2**16 else np.int64)


def _unit_sums(values: npt.ArrayLike, clusters: npt.ArrayLike | None) -> tuple[Floats, Floats]:
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


def _only_column(means: Floats) -> Floats:
    """The default statistic: the mean itself."""
    if means.shape[1] != 1:
        raise ValueError(f"values have {means.shape[1]} columns; say which statistic of their means is meant")
    return means[:, 0]
