"""Axes: from figures to places, and the round numbers at which there is a line."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from accgate.report.charts.svg import HEIGHT, WIDTH, element, label, pixel

LEFT, RIGHT, BOTTOM = 52.0, WIDTH - 12.0, HEIGHT - 58.0  # of the plotted area
MOST_NAMES = 8  # under one axis


@dataclass(frozen=True)
class Axis:
    """Figures from `low` to `high` along pixels from `start` to `end`."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """The place of a figure; what is beyond the ends stands at them.

        >>> Axis(0.0, 10.0, 100.0, 200.0).at(5.0), Axis(0.0, 10.0, 100.0, 200.0).at(99.0)
        (150.0, 200.0)
        """
        share = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self, most: int = 6, *, whole: bool = False) -> list[float]:
        """Round figures within the ends, at most so many; `whole` ones for counts.

        >>> Axis(0.3, 9.0, 0.0, 1.0).ticks()
        [2.0, 4.0, 6.0, 8.0]
        """
        raw = max((self.high - self.low) / most, 1.0 if whole else 0.0)
        power = 10.0 ** math.floor(math.log10(raw))
        step = next(power * factor for factor in (1.0, 2.0, 5.0, 10.0) if power * factor >= raw * (1 - 1e-9))
        first = math.ceil(self.low / step - 1e-9)
        return [round(k * step, 12) for k in range(first, math.floor(self.high / step + 1e-9) + 1)]


def across(low: float, high: float) -> Axis:
    """The horizontal axis; ends that meet are moved apart."""
    low, high = _apart(low, high)
    return Axis(low, high, LEFT, RIGHT)


def upward(low: float, high: float, *, top: float = 14.0) -> Axis:
    """The vertical axis, from the bottom to `top`."""
    low, high = _apart(low, high)
    return Axis(low, high, BOTTOM, top)


def _apart(low: float, high: float) -> tuple[float, float]:
    if high - low > 1e-9 * max(1.0, abs(low), abs(high)):
        return low, high
    room = max(1.0, 1e-6 * abs(low))
    return low - room, high + room


def frame(
    x: Axis,
    y: Axis | None,
    *,
    x_words: str,
    y_words: str = "",
    names: Sequence[str] | None = None,
    whole: bool = False,
) -> str:
    """Lines, figures and words of the axes; without `y` the height has no unit.

    `names` stand at 0, 1 and so on of `x`; `whole` says that `y` counts something.
    """
    base = y.start if y is not None else BOTTOM
    parts = [element("line", x1=LEFT, x2=RIGHT, y1=pixel(base), y2=pixel(base), class_="axis")]
    if names is None:
        ticks = [(value, _short(value)) for value in x.ticks()]
    else:
        ticks = [(float(at), name) for at, name in enumerate(names)][:: math.ceil(len(names) / MOST_NAMES)]
    for value, words in ticks:
        place = x.at(value)
        parts.append(element("line", x1=pixel(place), x2=pixel(place), y1=base, y2=base + 4, class_="axis"))
        parts.append(label(min(max(place, 22.0), WIDTH - 22.0), base + 17, words))
    parts.append(label((LEFT + RIGHT) / 2, base + 33, x_words))
    if y is not None:
        for value in y.ticks(whole=whole):
            place = pixel(y.at(value))
            parts.append(element("line", x1=LEFT, x2=RIGHT, y1=place, y2=place, class_="grid"))
            parts.append(label(LEFT - 5, place + 4, _short(value), anchor="end"))
        middle = pixel((y.start + y.end) / 2)
        parts.append(
            element("text", y_words, x=0, y=0, text_anchor="middle", transform=f"translate(12 {middle}) rotate(-90)")
        )
    return "".join(parts)


def _short(value: float) -> str:
    """A round figure: thousands are marked, as everywhere in a report.

    >>> _short(1000.0), _short(-0.5), _short(0.0)
    ('1,000', '-0.5', '0')
    """
    if value == 0.0:
        return "0"
    size = abs(value)
    if size >= 1e6 or size < 1e-3:
        return f"{value:.3g}"
    return f"{value:,.0f}" if size >= 1000 else f"{value:g}"
