"""A line of text that shows where a check's mean stands between its reference and its threshold."""

# ruff: noqa: RUF001, RUF002 (the marks are what this draws)

from __future__ import annotations

import math

from accgate.design import oriented

WIDTH = 25  # with both ends
GAMMA, REFERENCE = 8, 16  # cells of the 23 between the ends, so that gauges of several checks compare


def gauge(
    reference: float | None,
    gamma: float | None,
    mean: float | None,
    *,
    higher_is_better: bool = True,
    theta: float | None = None,
) -> str:
    """Reference (R), gamma (γ) and mean (●) on a line of fixed width; left is worse, whatever the metric.

    All figures are points. γ and R always stand at the same places, so the unit is their distance; where there is no
    gamma it is `theta`. A mean left of γ fails the gate; ● hides R where they meet. `«` and `»` say that the mean is
    further off than the line is long. Without a finite reference and mean there is no gauge.

    >>> gauge(75.0, 72.5, 74.4)
    '├────────γ─────●─R──────┤'
    >>> gauge(75.0, 72.5, 72.4)
    '├───────●γ───────R──────┤'
    >>> gauge(75.0, 72.5, 40.0)
    '«●───────γ───────R──────┤'
    >>> gauge(5.0, 5.5, 4.8, higher_is_better=False)
    '├────────γ───────R──●───┤'
    >>> gauge(75.0, None, 75.0, theta=2.0)
    '├────────────────●──────┤'
    >>> gauge(None, None, 75.0)
    ''
    """
    if reference is None or mean is None or not math.isfinite(reference - mean - (gamma or 0.0)):
        return ""
    room = oriented(reference - gamma, higher_is_better) if gamma is not None else theta
    unit = room if room is not None and room > 0.0 else theta if theta is not None and theta > 0.0 else 1.0
    place = REFERENCE + oriented(mean - reference, higher_is_better) / unit * (REFERENCE - GAMMA)
    last = WIDTH - 3
    at = round(min(max(place, 0.0), float(last)))
    cells = ["─"] * (last + 1)
    cells[REFERENCE] = "R"
    if gamma is not None:
        mark = GAMMA if room is not None and room > 0.0 else REFERENCE - 1
        failed = oriented(mean, higher_is_better) < oriented(gamma, higher_is_better)
        at = min(at, mark - 1) if failed else max(at, mark + 1)  # rounding must not move it across
        cells[mark] = "γ"
    cells[at] = "●"
    return ("«" if place < -0.5 else "├") + "".join(cells) + ("»" if place > last + 0.5 else "┤")
