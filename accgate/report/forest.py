"""A forest plot of a run's checks.

It shows the change of each in points with its interval, as an SVG for a comment and as text. Worse is left. A check
that is decided on a statistic has another unit, and no row.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from accgate.design import oriented
from accgate.report.charts.axes import Axis, axis_around, short
from accgate.report.html.inline import page_template
from accgate.report.story import SIGNS
from accgate.text import clip, visible
from accgate.verdict import GroupFigures, Verdict
from accgate.verdict.findings import loss_of, subject_of
from accgate.verdict.points import change_text, interval_text

FILES = ("forest-light.svg", "forest-dark.svg")  # beside accgate.json
MOST = 40  # rows of a plot
WIDTH = 400  # of the picture, pixels
NAMES, FIGURES, FIGURE = 124, 48, 9  # left of the plotted part, right of it at least, and of a letter there
COLUMNS = 38  # of the plot as text
TICKS = 4  # round figures of a plot, at most
ROOM = 0.08  # of the scale, left at each end
FAR = 3.0  # times the median interval, or the largest change, to which one check may stretch the scale for all


@dataclass(frozen=True)
class Place:
    """Position of a check on the common scale, in points.

    Points are turned so that worse is below 0. `ends` are those of the interval. `limit` is the change at which a
    failed check failed, and `sees` the drop that a check can detect.
    """

    change: float
    ends: tuple[float, float] | None
    limit: float | None = None
    sees: float | None = None


def place_of(verdict: Verdict) -> Place | None:
    """Return the place of a check, if it has a difference."""
    # The raw difference of a run that stopped early always lies in its interval; the corrected one may not.
    if (change := verdict.difference if verdict.difference_raw is None else verdict.difference_raw) is None:
        return None
    higher, sees = verdict.higher_is_better, None if verdict.sees is None else -verdict.sees
    return Place(oriented(change, higher), _turned(verdict.ends, higher), _limit(verdict), sees)


def place_of_group(group: GroupFigures, higher_is_better: bool) -> Place:
    """Return the place of a group of a check's samples."""
    return Place(oriented(group.difference, higher_is_better), _turned(group.interval, higher_is_better))


def _turned(ends: tuple[float, float] | None, higher_is_better: bool) -> tuple[float, float] | None:
    """Return both ends of an interval, the worse one first."""
    if ends is None:
        return None
    low, high = sorted(oriented(end, higher_is_better) for end in ends)
    return low, high


def _limit(verdict: Verdict) -> float | None:
    outcome, before = verdict.by_scores or verdict.verdict, verdict.reference.mean
    if outcome != "regression" or verdict.gamma is None or before is None:
        return None
    return oriented(verdict.gamma - before, verdict.higher_is_better)


def scale_of(places: Sequence[Place]) -> Axis:
    """Return a scale that holds 0, every change, and most intervals.

    The drop that a check can detect is on it where it is near enough.
    """
    intervals = [place.ends for place in places if place.ends is not None]
    ends = [0.0, *(place.change for place in places)]
    if widths := sorted(high - low for low, high in intervals):
        far = FAR * widths[(len(widths) - 1) // 2]
        ends += [min(max(end, -far), far) for each in intervals for end in each]
    reach = FAR * max(map(abs, ends))
    ends += [place.sees for place in places if place.sees is not None and place.sees >= -reach]
    return axis_around(ends, ROOM)


@dataclass(frozen=True)
class Row:
    """A check in a plot. `figure` is its change as text."""

    name: str
    model: str
    verdict: str
    place: Place
    figure: str
    interval: str


def rows_of(checks: Sequence[Verdict]) -> list[Row]:
    """Return the rows of at most 40 checks that have a place.

    Checks of one model stand together, and models come in the order of their first check.
    """
    rows = [row for verdict in checks if (row := _row(verdict)) is not None][:MOST]
    models = list(dict.fromkeys(row.model for row in rows))
    return sorted(rows, key=lambda row: models.index(row.model))


def _row(verdict: Verdict) -> Row | None:
    place = place_of(verdict)
    if place is None or loss_of(verdict) is None or verdict.statistic or verdict.p_value is None:
        return None
    name, model = visible(subject_of(verdict)), visible(verdict.model or "") if verdict.task else ""
    change = change_text(verdict)
    return Row(name, model, verdict.verdict, place, change, interval_text(verdict))


def row_scale(rows: Sequence[Row], start: float, end: float) -> Axis:
    """Return the common scale of these rows, in pixels or columns."""
    return scale_of([row.place for row in rows]).drawn(start, end)


def description_of(rows: Sequence[Row]) -> str:
    """Describe the picture for those who cannot see it."""
    worse = [row for row in rows if row.verdict == "regression"]
    beyond = ""
    if len(worse) == 1:
        (row,) = worse
        beyond = f"{row.name}{f' on {row.model}' if row.model else ''} fell {row.figure.lstrip('−')}"
    several = f"{len(worse)} of them lie beyond their limits" if worse else "none of them lies beyond its limit"
    return f"Change of each of {len(rows)} checks in points, with its interval: {beyond or several}."


# The picture


def forest_files(checks: Sequence[Verdict]) -> dict[str, str]:
    """Draw the plot as SVG for a light and a dark page.

    The keys are the names of the files. There is no file for fewer than two rows.
    """
    rows = rows_of(checks)
    if len(rows) < 2:
        return {}
    right = max(FIGURES, *(FIGURE * (len(row.figure) - 1) for row in rows))
    scale = row_scale(rows, NAMES, WIDTH - right)
    picture = partial(
        page_template("accgate.report", "forest.svg.j2").render,
        rows=rows,
        scale=scale,
        ticks=scale.ticks(TICKS),
        short=short,
        description=description_of(rows),
        width=WIDTH,
        height=68 + 24 * len(rows) + 28 * len({row.model for row in rows if row.model}),
    )
    return {name: f"{picture(dark=dark).strip()}\n" for name, dark in zip(FILES, (False, True), strict=True)}


# The same as text


def row_cells(row: Row, scale: Axis, *, whole: bool = False) -> str:
    """Draw the interval of a row on a line of `scale.end` + 1 characters.

    Spaces at the end are left out. With `whole` the ends of the interval and the limit are marked.
    """
    cells = [" "] * (int(scale.end) + 1)
    position = row.place
    ends = position.ends or (position.change, position.change)
    zero, low, high = (round(scale.at(value)) for value in (0.0, *ends))
    cells[zero] = "┊"
    for place in range(low, high + 1):
        cells[place] = "┼" if place == zero else "─"
    if whole and high > low:
        cells[low], cells[high] = "├", "┤"
    place = round(scale.at(position.change))
    if whole and position.limit is not None:
        mark = max(round(scale.at(position.limit)), place + 1)  # rounding never moves a regression to where it passes
        if mark < len(cells):
            cells[mark] = "▕"
    cells[place] = {"regression": "◆", "pass": "●"}.get(row.verdict, "○")
    return "".join(cells).rstrip()


def text_plot(checks: Sequence[Verdict]) -> str | None:
    """Draw the plot as text, in lines that a phone does not break.

    A line has 38 columns at most. Return None for fewer than two rows.
    """
    rows = rows_of(checks)
    if len(rows) < 2:
        return None
    names = min(14, 3 + max(len(row.name) for row in rows))
    figures = max(len(row.figure) for row in rows)
    scale = row_scale(rows, 0, COLUMNS - names - figures - 2)
    lines, model = [_tick_line(scale, names)], ""
    for row in rows:
        if row.model != model:
            model = row.model
            lines.append(clip(model, COLUMNS, "…"))
        name = f"{SIGNS[row.verdict]} {clip(_narrow(row.name), names - 3, '…')}".ljust(names)
        bar = row_cells(row, scale).ljust(int(scale.end) + 2)
        lines.append(f"{name}{bar}{row.figure:>{figures}}".rstrip())
    return "\n".join(lines)


def _narrow(text: str) -> str:
    """Replace each character that is not one column wide by a question mark."""
    wide = ("W", "F")
    return "".join(
        "?" if unicodedata.east_asian_width(c) in wide or unicodedata.combining(c) or not c.isprintable() else c
        for c in text
    )


def _tick_line(scale: Axis, indent: int) -> str:
    """Write the round figures above their places, as many as do not touch."""
    line = [" "] * (indent + int(scale.end) + 4)
    for value in sorted(scale.ticks(TICKS), key=abs):
        text = short(value, plus=True)
        first = max(indent + round(scale.at(value)) - len(text) // 2, 0)
        if all(c == " " for c in line[max(first - 1, 0) : first + len(text) + 1]) and first + len(text) <= len(line):
            line[first : first + len(text)] = text
    return "".join(line).rstrip()
