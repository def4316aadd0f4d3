"""Searches for the place from which a condition holds.

For one whole number in a known range use `bisect` with a key instead.
"""

import math
from bisect import bisect_left
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from accgate.stats.walk import Bools, Ints

SHARE = 1e-10  # of a zero's size, to which it is found: far below what any test can tell


def halve(
    holds: Callable[[float], bool], low: float, high: float, *, share: float = 0.0, rounds: int = 1100
) -> tuple[float, float]:
    """Narrow two numbers between which a condition begins to hold.

    The search ends when they differ by `share` of the larger, or after so many `rounds`: by default when no float lies
    between them. The condition is never evaluated at the two ends.

    >>> [round(end, 6) for end in halve(lambda x: x * x >= 2.0, 0.0, 2.0, share=1e-7)]
    [1.414214, 1.414214]
    """
    for _ in range(rounds):
        if high - low <= share * high:
            break
        middle = 0.5 * (low + high)
        low, high = (low, middle) if holds(middle) else (middle, high)
    return low, high


def zero_between(rising: Callable[[float], float], low: float, high: float, *, width: float) -> float:
    """Find the zero of a function that rises from `low` to `high`.

    The function must be at most 0 at `low` and at least 0 at `high`, which may be the smaller number; its values may be
    infinite. The search ends when the zero is known to within `width` plus `SHARE` of its size. It interpolates by the
    inverse parabola where the last three points allow it, and halves elsewhere.

    Reference: Chandrupatla 1997, Advances in Engineering Software 28.

    >>> round(zero_between(lambda x: x**3 - 2.0, 0.0, 8.0, width=1e-12), 8)
    1.25992105
    """
    a, b, step = high, low, 0.5
    at_a, at_b = rising(a), rising(b)
    assert at_b <= 0.0 <= at_a
    while at_a and at_b:
        (c, at_c), a = (a, at_a), a + step * (b - a)
        if ((at_a := rising(a)) > 0.0) != (at_c > 0.0):
            c, at_c, b, at_b = b, at_b, c, at_c
        best = a if abs(at_a) < abs(at_b) else b
        least = (width + SHARE * abs(best)) / abs(b - a)
        if least > 0.5:
            return best
        x_share, y_share = (a - b) / (c - b), (at_a - at_b) / (at_c - at_b)
        step = 0.5
        if y_share**2 < x_share and (1.0 - y_share) ** 2 < 1.0 - x_share:
            step = at_a / (at_b - at_a) * at_c / (at_b - at_c)
            step += (c - a) / (b - a) * at_a / (at_c - at_a) * at_b / (at_c - at_b)
        step = min(max(step, least), 1.0 - least)
    return b if at_a else a


def least_near(holds: Callable[[int], bool], low: int, high: int) -> int:
    """Find the least whole number of 1 or more from which a condition holds.

    It is expected between `low` and `high`, beyond which numbers a fifth larger or smaller are tried in turn.

    >>> least_near(lambda n: n * n >= 400, 2, 3)
    20
    """
    while not holds(high):
        low, high = high + 1, math.ceil(1.2 * high) + 1
    while low > 1 and holds(low):
        low, high = math.floor(0.8 * low), low
    return low + bisect_left(range(low, high), True, key=holds)


def least_of_each(holds: Callable[[Ints], npt.ArrayLike], most: Ints) -> Ints:
    """Find for each place the least whole number from which a condition holds.

    Numbers from 0 to `most` - 1 are tried; the answer is `most` where the condition holds for none of them.

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
