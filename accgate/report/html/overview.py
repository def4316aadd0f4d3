"""The top of the HTML page, with every check on one scale.

It also says what the run cost.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from accgate.design import oriented
from accgate.report.charts.axes import Axis, axis_around, short
from accgate.report.forest import Place, place_of, place_of_group, scale_of
from accgate.report.words import has_evidence, samples_used, savings
from accgate.text import clip, compact, duration, visible
from accgate.verdict.points import change_text, interval_text, points_text, range_text, theta_text
from accgate.verdict.sentences import groups_paragraph, name_of

if TYPE_CHECKING:
    from accgate.result import Result
    from accgate.verdict import GroupFigures, Verdict

GROUPS = 4  # of a check that stand out and have a row of their own
NAME = 60  # characters of a name
TYPICAL = 0.75  # share of the groups' intervals that are drawn whole; a group of few samples has a very wide one

Labels = tuple[tuple[float, str], ...]  # of an axis: a place across and its words


@dataclass(frozen=True)
class Row:
    """A check on the page's scale, or one of its groups.

    `number` is the check's, in the page's order.
    """

    number: int
    verdict: Verdict
    place: Place | None
    change: str
    interval: str
    samples: str
    group: GroupFigures | None = None

    @property
    def task(self) -> str:
        """The name of its row."""
        return clip(self.verdict.task or self.verdict.model or "candidate", NAME, " …")

    @property
    def model(self) -> str:
        """The model, below the name."""
        return clip(self.verdict.model or "", NAME, " …") if self.verdict.task else ""

    @property
    def about(self) -> str:
        """The drawing in words."""
        name = clip(visible(name_of(self.verdict)), NAME)
        if self.group is not None:
            name += f", group {clip(visible(self.group.name), NAME)}"
        words = f"{name}: {self.change} points{f', interval {self.interval}' if self.interval else ''}"
        if self.place is None or self.place.sees is None:
            return words
        return f"{words}; smallest visible change {theta_text(self.verdict)}"


@dataclass(frozen=True)
class Plot:
    """Checks or groups on one scale.

    `interval` heads the column of intervals. `text` describes a check's groups. With `has_limit` the legend explains
    the limit that is drawn.
    """

    x: Axis
    labels: Labels
    rows: tuple[Row, ...]
    interval: str
    text: str = ""
    has_limit: bool = False


def forest_of(verdicts: Sequence[Verdict]) -> Plot:
    """Lay out all checks in their order, each with its groups that stand out."""
    rows: list[Row] = []
    for number, verdict in enumerate(verdicts):
        rows.append(_row(number, verdict))
        standing_out = () if verdict.groups is None else verdict.groups.standing_out
        rows += [_group_row(number, verdict, group) for group in standing_out[:GROUPS]]
    places = [row.place for row in rows if row.place is not None and row.group is None]
    x = scale_of(places)
    levels = {f"{v.confidence} interval" for v in verdicts if v.interval}
    interval = levels.pop() if len(levels) == 1 else "Interval"
    has_limit = any(place.limit is not None for place in places)
    labels = _labels(x, {verdict.higher_is_better for verdict in verdicts})
    return Plot(x, labels, tuple(rows), interval, has_limit=has_limit)


def _labels(x: Axis, directions: set[bool]) -> Labels:
    """Return the axis labels that have room on a phone.

    The label at 0 is "no change". Where checks differ in which direction is better, each label names its own.
    """
    words, room = {0.0: "no change"}, 0.17
    for value in x.ticks(6):
        if value != 0.0:
            words[value] = short(oriented(value, all(directions)), plus=True)
            if len(directions) > 1:
                words[value], room = f"{short(abs(value))} {'better' if value > 0.0 else 'worse'}", 0.22
    return _with_room(x, words, room)


def _with_room(x: Axis, words: Mapping[float, str], room: float) -> Labels:
    """Keep the labels that stand at least `room` apart, a share of the width.

    Labels nearer to 0 are kept first.
    """
    labels: list[tuple[float, str]] = []
    for value in sorted(words, key=abs):
        if all(abs(x.at(value) - place) > room for place, _ in labels):
            labels.append((x.at(value), words[value]))
    return tuple(labels)


def _row(number: int, verdict: Verdict) -> Row:
    samples = f"{verdict.n:,} of {verdict.n_max or verdict.n:,}" if verdict.n and has_evidence(verdict) else ""
    change = change_text(verdict)
    return Row(number, verdict, place_of(verdict), change, interval_text(verdict), samples)


def _group_row(number: int, verdict: Verdict, group: GroupFigures) -> Row:
    place = place_of_group(group, verdict.higher_is_better)
    change, interval = points_text(verdict, group.difference, sign=True), range_text(verdict, group.interval)
    return Row(number, verdict, place, change, interval, f"{group.n:,}", group)


def group_table(verdict: Verdict) -> Plot | None:
    """Lay out a check's groups, if it has any."""
    text, groups, higher = groups_paragraph(verdict), verdict.groups, verdict.higher_is_better
    if text is None or groups is None:
        return None
    rows = tuple(_group_row(0, verdict, group) for group in groups.rows)
    x = _group_scale([row.place for row in rows if row.place is not None])
    labels = _with_room(x, {value: short(oriented(value, higher)) for value in (0.0, *x.ticks())}, 0.25)
    return Plot(x, labels, rows, f"{100 * (1 - groups.alpha):.4g}% interval", text)


def _group_scale(places: Sequence[Place]) -> Axis:
    """Return a scale for the changes of all groups and most of their intervals."""
    ends = [end for place in places for end in place.ends or ()]
    worst, best = sorted((end for end in ends if end < 0.0), reverse=True), sorted(end for end in ends if end > 0.0)
    typical = [side[math.ceil(TYPICAL * (len(side) - 1))] for side in (worst, best) if side]
    return axis_around([0.0, *(place.change for place in places), *typical], 0.06)


def stats_of(result: Result) -> list[tuple[str, str, str]]:
    """Return the known samples, tokens and time of a run.

    Each is a name, a figure, and a remark that the page shows in small letters below.
    """
    used, most = samples_used(result)
    saved, idle = savings(result), sum(check.n for check in result.checks if not has_evidence(check))
    about = "all were used" if not any(check.is_early for check in result.checks) else "early stopping saved none"
    if saved is not None:
        about = f"{most:,} without early stopping; {saved}"
    if idle:
        about = f"{idle:,} of them in checks without a verdict" + ("" if saved is None else f"; {saved}")
    stats = [("Samples", f"{used + idle:,}", about if used + idle else "")]
    tokens = result.prompt_tokens + result.completion_tokens
    if tokens:
        cached = f"; {result.cached:,} samples from the cache" if result.cached else ""
        about = f"{compact(result.prompt_tokens)} read, {compact(result.completion_tokens)} written{cached}"
        stats.append(("Tokens", compact(tokens), about))
    if result.seconds is not None:
        stats.append(("Time", duration(result.seconds), _hardware(result)))
    return stats


def _hardware(result: Result) -> str:
    infos = sorted({f"{info.hardware}, {info.name} {info.version}" for info in result.engines.values()})
    return infos[0] if len(infos) == 1 else f"{len(infos)} engines" if infos else ""


def start_text(result: Result) -> str:
    """Write when the run began.

    >>> from accgate.result import Result
    >>> start_text(Result("pass", 0, (), started="2026-11-22T07:04:59+00:00"))
    '22 November 2026, 07:04 UTC'
    """
    try:
        moment = datetime.fromisoformat(result.started or "").astimezone(timezone.utc)
    except ValueError:
        return ""
    return f"{moment.day} {moment:%B %Y, %H:%M} UTC"
