"""Searches for the place from which a condition holds.

Where one whole number is sought `bisect` with a key serves.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from accgate.stats.walk import Bools, Ints


def halve(
    holds: Callable[[float], bool], low: float, high: float, *, share: float = 0.0, rounds: int = 1100
) -> tuple[float, float]:
    """Narrow two numbers between which a condition begins to hold.

    It ends where they differ by `share` of the larger, or after so many rounds, by default as far as floats go. The
    condition is not asked at the ends.

    >>> [round(end, 6) for end in halve(lambda x: x * x >= 2.0, 0.0, 2.0, share=1e-7)]
    [1.414214, 1.414214]
    """
    for _ in range(rounds):
        if high - low <= share * high:
            break
        middle = 0.5 * (low + high)
        low, high = (low, middle) if holds(middle) else (middle, high)
    return low, high


def least_of_each(holds: Callable[[Ints], npt.ArrayLike], most: Ints) -> Ints:
    """Find for each place the least whole number from which a condition holds.

    They start at 0, and are `most` where it never does.

    >>> least_of_each(lambda k: k * k >= np.array([5, 9, 50]), np.array([6, 6, 6])).tolist()
    [3, 3, 6]
    """
    low, high = np.zeros_like(most), most
    while np.any(is_open := low < high):
        middle = (low + high) // 2
        reached: Bools = np.asarray(holds(np.minimum(middle, most - 1)), dtype=bool)
        low = np.where(is_open & ~reached, middle + 1, low)
        high = np.where(is_open & reached, middle, high)
    return low
