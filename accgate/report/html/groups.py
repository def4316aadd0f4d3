"""The groups of a check in the HTML report: a table with a small bar for each change."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from accgate.design import oriented
from accgate.report.charts.axes import axis_around, short
from accgate.report.charts.svg import element, label, line, percent
from accgate.report.groups import NAME
from accgate.text import clip
from accgate.verdict import groups_paragraph
from accgate.verdict.points import points_text, range_text

if TYPE_CHECKING:
    from accgate.report.charts.axes import Axis
    from accgate.verdict import GroupFigures, Verdict

SHOWN = 16  # groups that stand unfolded; those that stand out are the first
TYPICAL = 0.75  # share of the intervals that the drawings show whole; a group of few samples has a very wide one
HEIGHT = 20  # pixels of a bar's drawing


@dataclass(frozen=True)
class GroupRow:
    """One group: its drawing, its figures as texts, and whether it stands out."""

    name: str
    svg: str
    change: str
    interval: str
    samples: str
    worse: str
    better: str
    stands_out: bool


@dataclass(frozen=True)
class GroupTable:
    """The groups of a check: what they say, the axis of all drawings, the rows, and those that are folded."""

    text: str
    level: str
    axis: str
    rows: tuple[GroupRow, ...]
    folded: tuple[GroupRow, ...]


def group_table(verdict: Verdict) -> GroupTable | None:
    """The table of a check's groups; None where it has none."""
    text, groups = groups_paragraph(verdict), verdict.groups
    if text is None or groups is None:
        return None
    x, higher = _scale(groups.rows, verdict.higher_is_better), verdict.higher_is_better
    rows = tuple(_row(verdict, group, x) for group in groups.rows)
    level = f"{100 * (1 - groups.alpha):.4g}% interval"
    return GroupTable(text, level, _axis(x, higher), rows[:SHOWN], rows[SHOWN:])


def _row(verdict: Verdict, group: GroupFigures, x: Axis) -> GroupRow:
    return GroupRow(
        clip(group.name, NAME, " …"),
        _drawing(group, x, verdict.higher_is_better),
        points_text(verdict, group.difference, sign=True),
        range_text(verdict, group.interval),
        f"{group.n:,}",
        f"{group.lost:,}",
        f"{group.gained:,}",
        group.stands_out,
    )


def _scale(groups: tuple[GroupFigures, ...], higher: bool) -> Axis:
    """Changes, turned so that worse is left: all of them and most intervals fit in."""
    ends = [oriented(end, higher) for group in groups for end in group.interval or ()]
    worst, best = sorted((end for end in ends if end < 0.0), reverse=True), sorted(end for end in ends if end > 0.0)
    values = [oriented(group.difference, higher) for group in groups]
    values += [side[math.ceil(TYPICAL * (len(side) - 1))] for side in (worst, best) if side]
    return axis_around([0.0, *values], 0.06)


def _axis(x: Axis, higher: bool) -> str:
    ticks = [value for value in x.ticks(5) if value == 0.0 or abs(x.at(value) - x.at(0.0)) > 0.2]
    labels = [label(x.at(value), 13, short(oriented(value, higher))) for value in ticks]
    return element("svg", *labels, width="100%", height=18, aria_hidden="true")


def _drawing(group: GroupFigures, x: Axis, higher: bool) -> str:
    """A bar from no change to the difference, and the interval as a line; left is worse."""
    zero, end = x.at(0.0), x.at(oriented(group.difference, higher))
    class_ = "bar worse" if group.stands_out and end < zero else "bar"
    width = percent(abs(end - zero))
    parts = [element("rect", x=percent(min(zero, end)), y=5, width=width, height=10, class_=class_)]
    if group.interval is not None:
        low, high = sorted(x.at(oriented(each, higher)) for each in group.interval)
        parts.append(line(low, HEIGHT / 2, high, HEIGHT / 2, "span"))
    parts.append(line(zero, -4, zero, HEIGHT + 4, "ax"))
    return element("svg", *parts, width="100%", height=HEIGHT, aria_hidden="true", data_difference=group.difference)
