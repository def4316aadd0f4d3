"""Ties in a sort key: the values' expectation over every order of the tied."""

from __future__ import annotations

import numpy as np

from accgate.metrics.aggregates.columns import Floats, Ints


def tie_starts(keys: Floats) -> Ints:
    """Where each block of equal keys starts, in sorted keys."""
    return np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))


def tie_means(keys: Floats, values: Floats) -> Floats:
    """Each value replaced by the mean over its block of equal keys; the keys are sorted.

    >>> tie_means(np.array([1.0, 2.0, 2.0]), np.array([5.0, 0.0, 100.0])).tolist()
    [5.0, 50.0, 50.0]
    """
    starts = tie_starts(keys)
    if len(starts) == len(keys):
        return values
    sizes = np.diff(np.append(starts, len(keys)))
    return np.repeat(np.add.reduceat(values, starts) / sizes, sizes)
