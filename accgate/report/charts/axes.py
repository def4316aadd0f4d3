"""Axes of all drawings, with places of figures and round numbers to label."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from accgate.report.charts.svg import BELOW, HEIGHT, label, line, pixel

MINUS = "\N{MINUS SIGN}"
FEW = 5  # lines of an axis
T = TypeVar("T")


@dataclass(frozen=True)
class Axis:
    """Figures from `low` to `high` at places from `start` to `end`.

    A place is a share of the width, a pixel or a column, as the drawing needs.
    """

    low: float
    high: float
    start: float = 0.0
    end: float = 1.0

    def at(self, value: float) -> float:
        """Return the place of a figure on the axis.

        A figure beyond an end has the place of that end.

        >>> Axis(0.0, 10.0).at(5.0), Axis(0.0, 10.0).at(99.0), Axis(0.0, 10.0, 240.0, 0.0).at(2.5)
        (0.5, 1.0, 180.0)
        """
        share = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def pixel(self, value: float) -> float:
        """Return the place of a figure, rounded to a tenth of a pixel."""
        return pixel(self.at(value))

    def drawn(self, start: float, end: float) -> Axis:
        """Return the same figures at other places."""
        return replace(self, start=start, end=end)

    def step(self, most: int = FEW, *, whole: bool = False) -> float:
        """Return the distance between round figures, of which at most about `most` fit.

        It is 1, 2 or 5 times a power of ten.
        """
        raw = max((self.high - self.low) / most, 1.0 if whole else 0.0)
        power = 10.0 ** math.floor(math.log10(raw))
        return next(power * factor for factor in (1.0, 2.0, 5.0, 10.0) if power * factor >= raw * (1 - 1e-9))

    def ticks(self, most: int = FEW, *, whole: bool = False) -> list[float]:
        """Return the round figures within the ends, about `most` of them.

        With `whole`, for counts, they are whole numbers.

        >>> Axis(0.3, 9.0).ticks(6)
        [2.0, 4.0, 6.0, 8.0]
        """
        step = self.step(most, whole=whole)
        first = math.ceil(self.low / step - 1e-9)
        return [round(k * step, 12) for k in range(first, math.floor(self.high / step + 1e-9) + 1)]


def axis_around(values: Iterable[float], room: float) -> Axis:
    """Build an axis on which all figures lie.

    At each end a share `room` of their span stays free.
    """
    ends = sorted(values)
    air = room * (ends[-1] - ends[0])
    return axis_of(ends[0] - air, ends[-1] + air)


def axis_of(low: float, high: float) -> Axis:
    """Build an axis between two figures, which are moved apart where they are equal."""
    if high - low > 1e-9 * max(1.0, abs(low), abs(high)):
        return Axis(low, high)
    room = max(1.0, 1e-6 * abs(low))
    return Axis(low - room, high + room)


def thin(points: Sequence[T], most: int) -> Sequence[T]:
    """Return at most `most` of the points, evenly spread, first and last included."""
    if len(points) <= most:
        return points
    return [points[round(k * (len(points) - 1) / (most - 1))] for k in range(most)]


def figures_below(x: Axis, *, sign: float = 1.0, whole: bool = False) -> str:
    """Write the figures under a chart. `sign` is -1 where the axis is turned round."""
    parts = []
    for value in x.ticks(whole=whole):
        place = x.at(value)
        anchor = "start" if place < 0.04 else "end" if place > 0.96 else "middle"
        parts.append(label(place, HEIGHT + BELOW - 6, short(sign * value), anchor=anchor))
    return "".join(parts)


def figures_beside(y: Axis, *, whole: bool) -> str:
    """Draw lines across a chart, and their figures left of it."""
    parts = []
    for value in y.ticks(whole=whole):
        place = y.at(value)
        parts.append(line(0, place, 1, place, "ax" if value == 0.0 else "gr"))
        parts.append(label(0, place + 4, short(value, plus=True), anchor="end", dx=-8))
    return "".join(parts)


def short(value: float, *, plus: bool = False) -> str:
    """Write a round figure, with commas between thousands.

    With `plus` a figure above 0 begins with a plus.

    >>> short(1000.0), short(0.0), short(-10.0, plus=True), short(0.5, plus=True)
    ('1,000', '0', '−10', '+0.5')
    """
    if value == 0.0:
        return "0"
    size = abs(value)
    words = f"{size:.3g}" if size >= 1e6 or size < 1e-3 else f"{size:,.0f}" if size >= 1000 else f"{size:g}"
    return f"{'+' if plus else ''}{words}" if value > 0.0 else f"{MINUS}{words}"
