"""A forest plot of a run's checks: the change of each with its interval, as an SVG for a comment and as text.

Worse is left. Places are points of the checks' own scale; a check whose figure is a statistic has no row.
"""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from accgate.design import oriented
from accgate.report.charts.axes import Axis, axis_of, short
from accgate.report.story import SIGNS
from accgate.text import clip, visible
from accgate.verdict import Verdict, loss_of, mean_change, subject_of
from accgate.verdict.points import interval_text, points_text

FILES = ("forest-light.svg", "forest-dark.svg")  # beside accgate.json
MOST = 40  # rows of a plot
WIDTH, ROW, TOP = 400, 24, 24  # of the picture, pixels
NAMES, FIGURES, FIGURE = 124, 48, 9  # left of the plotted part, right of it at least, and of a letter there
LIGHT = {
    "text": "#171c23", "muted": "#525c69", "edge": "#6b7684", "line": "#dce1e7", "bad": "#b42318", "warn": "#865400",
    "good": "#0d6a5e", "zone": "#f9dfdb", "back": "#ffffff",
}  # fmt: skip
DARK = {
    "text": "#e8ecf1", "muted": "#a3aeba", "edge": "#7f8b99", "line": "#2c353f", "bad": "#ff8d80", "warn": "#eebb58",
    "good": "#5cc8b5", "zone": "#3c1f1c", "back": "#0f1318",
}  # fmt: skip
COLUMNS = 38  # of the plot as text
TICKS = 4  # round figures of a plot, at most
ROOM = 0.08  # of the scale, left at each end
FAR = 3.0  # times the median interval, or the largest change, to which one check may stretch the scale for all


@dataclass(frozen=True)
class Place:
    """Where a check lies on the common scale: points, turned so that worse is below 0.

    `ends` are its interval's, `limit` is the change at which the check fails, for one that did, and `sees` the drop
    that it can detect.
    """

    change: float
    ends: tuple[float, float] | None
    limit: float | None
    sees: float | None


def place_of(verdict: Verdict) -> Place | None:
    """The place of a check; None where it has no difference."""
    if (change := mean_change(verdict)) is None:
        return None
    higher, ends = verdict.higher_is_better, None
    if verdict.interval is not None:
        low, high = sorted(oriented(end, higher) for end in verdict.interval.two_sided)
        ends = low, high
    sees = None if verdict.theta is None else -verdict.theta - verdict.allowed_drop
    return Place(oriented(change, higher), ends, _limit(verdict), sees)


def _limit(verdict: Verdict) -> float | None:
    outcome, before = verdict.by_scores or verdict.verdict, verdict.reference.mean
    if outcome != "regression" or verdict.gamma is None or before is None:
        return None
    return oriented(verdict.gamma - before, verdict.higher_is_better)


def scale_of(places: Sequence[Place]) -> Axis:
    """The common scale: 0, every change and most intervals fit in; what a check can detect where that is not far."""
    intervals = [place.ends for place in places if place.ends is not None]
    ends = [0.0, *(place.change for place in places)]
    if widths := sorted(high - low for low, high in intervals):
        far = FAR * widths[(len(widths) - 1) // 2]
        ends += [min(max(end, -far), far) for each in intervals for end in each]
    reach = FAR * max(map(abs, ends))
    ends += [place.sees for place in places if place.sees is not None and place.sees >= -reach]
    low, high = min(ends), max(ends)
    if high - low < 1e-9:
        return axis_of(-1.0, 1.0)
    room = ROOM * (high - low)
    return axis_of(low - room, high + room)


def tick_text(value: float) -> str:
    """A round figure of the scale.

    >>> tick_text(-10.0), tick_text(0.5), tick_text(0.0)
    ('−10', '+0.5', '0')
    """
    return f"+{short(value)}" if value > 0.0 else short(value)


@dataclass(frozen=True)
class Row:
    """A check in a plot: `figure` is its change as it is printed."""

    name: str
    model: str
    verdict: str
    place: Place
    figure: str
    interval: str


def rows_of(checks: Sequence[Verdict]) -> list[Row]:
    """The rows of checks that have a place among the others, at most 40, those of one model together.

    The order of the checks stays, and models come in the order of their first check.
    """
    rows = [row for verdict in checks if (row := _row(verdict)) is not None][:MOST]
    models = list(dict.fromkeys(row.model for row in rows))
    return sorted(rows, key=lambda row: models.index(row.model))


def _row(verdict: Verdict) -> Row | None:
    place = place_of(verdict)
    if place is None or loss_of(verdict) is None or verdict.statistic or verdict.p_value is None:
        return None
    name, model = visible(subject_of(verdict)), visible(verdict.model or "") if verdict.task else ""
    change = points_text(verdict, mean_change(verdict), sign=True)
    return Row(name, model, verdict.verdict, place, change, interval_text(verdict))


@dataclass(frozen=True)
class Scale:
    """The common scale of rows, drawn from `start` to `end`."""

    axis: Axis
    start: float
    end: float

    @staticmethod
    def of(rows: Sequence[Row], start: float, end: float) -> Scale:
        """The scale of these rows, in pixels or columns."""
        return Scale(scale_of([row.place for row in rows]), start, end)

    def at(self, value: float) -> float:
        """The place of a figure; what is beyond the ends stands at them."""
        return self.start + self.axis.across(value) * (self.end - self.start)

    def ticks(self) -> list[tuple[float, float]]:
        """The round figures, each with its place."""
        return [(value, self.at(value)) for value in self.axis.ticks(TICKS)]


def description_of(rows: Sequence[Row]) -> str:
    """What the picture shows, for those who cannot see it."""
    worse = [row for row in rows if row.verdict == "regression"]
    beyond = f"{_full_name(worse[0])} fell {worse[0].figure.lstrip('−')}" if len(worse) == 1 else ""
    several = f"{len(worse)} of them lie beyond their limits" if worse else "none of them lies beyond its limit"
    return f"Change of each of {len(rows)} checks in points, with its interval: {beyond or several}."


def _full_name(row: Row) -> str:
    return f"{row.name} on {row.model}" if row.model else row.name


# The picture


def forest_svg(checks: Sequence[Verdict], *, dark: bool) -> str | None:
    """The plot as an SVG of its own, 400 pixels wide, for a light or a dark page; None for fewer than two rows."""
    rows = rows_of(checks)
    if len(rows) < 2:
        return None
    tokens = DARK if dark else LIGHT
    scale = Scale.of(rows, NAMES, WIDTH - max(FIGURES, *(FIGURE * (len(row.figure) - 1) for row in rows)))
    models = len({row.model for row in rows if row.model})
    height = TOP + ROW * len(rows) + 28 * models + 44
    parts = [_style(tokens), *_axis(scale, tokens, height - 30)]
    y, model = TOP + 4.0, ""
    for row in rows:
        if row.model != model:
            model = row.model
            y += 28.0
            parts.append(f'<text x="0" y="{y - 8:g}" class="m">{_fit(model, 46)}</text>')
        parts += _row_svg(row, scale, y + 12, tokens)
        y += ROW
    parts += _legend(rows, tokens, height - 12)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}"'
    return f'{head} role="img"><title>{html.escape(description_of(rows))}</title>{"".join(parts)}</svg>\n'


def forest_files(checks: Sequence[Verdict]) -> dict[str, str]:
    """The pictures for a light and a dark page by the names of their files; none for fewer than two rows."""
    pictures = {name: forest_svg(checks, dark=dark) for name, dark in zip(FILES, (False, True), strict=True)}
    return {name: picture for name, picture in pictures.items() if picture is not None}


def _style(tokens: dict[str, str]) -> str:
    font = '14px -apple-system,"Segoe UI",Roboto,"Noto Sans","Liberation Sans",Arial,sans-serif'
    rules = f"text{{font:{font};fill:{tokens['text']}}}.b{{font-weight:600}}.m{{fill:{tokens['muted']};font-size:13px}}"
    return f"<style>{rules}.e{{text-anchor:end}}.c{{text-anchor:middle}}</style>"


def _axis(scale: Scale, tokens: dict[str, str], bottom: float) -> list[str]:
    parts, zero = [], scale.at(0.0)
    for value, x in scale.ticks():
        parts.append(f'<path d="M{x:.1f} 24V{bottom:g}" stroke="{tokens["edge" if value == 0.0 else "line"]}"/>')
        if value == 0.0:
            parts.append(f'<text x="{x:.1f}" y="14" class="b c">no change</text>')
        elif abs(x - zero) > 52:
            parts.append(f'<text x="{x:.1f}" y="14" class="m c">{tick_text(value)}</text>')
    return parts


def _row_svg(row: Row, scale: Scale, y: float, tokens: dict[str, str]) -> list[str]:
    kind = {"regression": "bad", "pass": "good"}.get(row.verdict, "warn")
    place, colour, x = row.place, tokens[kind], scale.at(row.place.change)
    low, high = place.ends or (place.change, place.change)
    parts = []
    if place.limit is not None:
        end = scale.at(place.limit)
        parts.append(
            f'<rect x="{scale.start:g}" y="{y - 10:g}" width="{max(end - scale.start, 0):.1f}" height="20" '
            f'fill="{tokens["zone"]}"/><path d="M{end:.1f} {y - 10:g}v20" stroke="{colour}"/>'
        )
    bold = "" if kind == "good" else ' class="b"'
    parts.append(_sign(kind, y, tokens))
    parts.append(f'<text x="22" y="{y + 5:g}"{bold}>{_fit(row.name, 13)}</text>')
    parts.append(f'<path d="M{scale.at(low):.1f} {y:g}H{scale.at(high):.1f}" stroke="{colour}" stroke-width="2.5"/>')
    if place.sees is not None and place.sees >= scale.axis.low:
        parts.append(f'<path d="M{scale.at(place.sees):.1f} {y - 7:g}v14" stroke="{tokens["text"]}" stroke-width="2"/>')
    if kind == "bad":
        parts.append(f'<path d="M{x - 6:.1f} {y:g}l6-6 6 6-6 6z" fill="{colour}"/>')
    elif kind == "warn":
        parts.append(
            f'<circle cx="{x:.1f}" cy="{y:g}" r="4.5" fill="{tokens["back"]}" stroke="{colour}" stroke-width="2"/>'
        )
    else:
        parts.append(f'<circle cx="{x:.1f}" cy="{y:g}" r="4" fill="{colour}"/>')
    parts.append(f'<text x="{WIDTH}" y="{y + 5:g}" class="b e">{row.figure}</text>')
    return parts


def _sign(kind: str, y: float, tokens: dict[str, str]) -> str:
    """An octagon with a cross, a diamond with a question, or a tick, 14 pixels wide, at the left edge."""
    colour = tokens[kind]
    if kind == "bad":
        cross = f'<path d="M5.5 {y - 2.5:g}l5 5m0-5l-5 5" stroke="{tokens["back"]}" stroke-width="1.8"/>'
        return f'<path d="M5 {y - 7:g}h6l4 4v6l-4 4h-6l-4-4v-6z" fill="{colour}"/>{cross}'
    if kind == "warn":
        mark = f'<path d="M8 {y - 3.5:g}v4.2" stroke="{colour}" stroke-width="1.8"/>'
        dot = f'<circle cx="8" cy="{y + 3.2:g}" r="1" fill="{colour}"/>'
        return f'<path d="M8 {y - 7:g}l7 7-7 7-7-7z" fill="none" stroke="{colour}" stroke-width="1.6"/>{mark}{dot}'
    return f'<path d="M4.5 {y + 0.3:g}l2.5 2.5 4.5-5" fill="none" stroke="{colour}" stroke-width="1.8"/>'


def _legend(rows: Sequence[Row], tokens: dict[str, str], y: float) -> list[str]:
    good, text = tokens["good"], tokens["text"]
    parts = [
        f'<path d="M1 {y:g}h26" stroke="{good}" stroke-width="2.5"/><circle cx="14" cy="{y:g}" r="4" fill="{good}"/>',
        f'<text x="34" y="{y + 5:g}" class="m">change, interval</text>',
    ]
    if any(row.place.sees is not None for row in rows):
        parts.append(f'<path d="M152 {y - 7:g}v14" stroke="{text}" stroke-width="2"/>')
        parts.append(f'<text x="160" y="{y + 5:g}" class="m">smallest visible drop</text>')
    if any(row.place.limit is not None for row in rows):
        parts.append(f'<rect x="304" y="{y - 8:g}" width="16" height="16" fill="{tokens["zone"]}"/>')
        parts.append(f'<path d="M320 {y - 8:g}v16" stroke="{tokens["bad"]}"/>')
        parts.append(f'<text x="328" y="{y + 5:g}" class="m">fails here</text>')
    return parts


def _fit(text: str, letters: int) -> str:
    return html.escape(clip(text, letters, "…"))


# The same as text


@dataclass(frozen=True)
class Glyphs:
    """The characters of a text plot: their names say what they draw."""

    line: str = "─"
    left: str = ""
    right: str = ""
    zero: str = "┊"
    across: str = "┼"
    limit: str = ""
    regression: str = "◆"
    passed: str = "●"
    other: str = "○"


def row_cells(row: Row, scale: Scale, glyphs: Glyphs) -> str:
    """The interval of a row on a line of `scale.end` + 1 characters, without spaces at its end."""
    cells = [" "] * (int(scale.end) + 1)
    position = row.place
    ends = position.ends or (position.change, position.change)
    zero, low, high = (round(scale.at(value)) for value in (0.0, *ends))
    cells[zero] = glyphs.zero
    for place in range(low, high + 1):
        cells[place] = glyphs.across if place == zero else glyphs.line
    if high > low:
        cells[low], cells[high] = glyphs.left or cells[low], glyphs.right or cells[high]
    place = round(scale.at(position.change))
    if position.limit is not None:
        mark = round(scale.at(position.limit))
        if mark <= place:  # rounding never moves a regression to the side that passes
            mark = place + 1
        if glyphs.limit and mark < len(cells):
            cells[mark] = glyphs.limit
    cells[place] = {"regression": glyphs.regression, "pass": glyphs.passed}.get(row.verdict, glyphs.other)
    return "".join(cells).rstrip()


def text_plot(checks: Sequence[Verdict]) -> str | None:
    """The plot as text, 38 columns wide, which a phone does not break; None for fewer than two rows."""
    rows = rows_of(checks)
    if len(rows) < 2:
        return None
    names = min(14, 3 + max(len(row.name) for row in rows))
    figures = max(len(row.figure) for row in rows)
    scale = Scale.of(rows, 0, COLUMNS - names - figures - 2)
    lines, model = [_tick_line(scale, names)], ""
    for row in rows:
        if row.model != model:
            model = row.model
            lines.append(clip(model, COLUMNS, "…"))
        name = _pad(f"{SIGNS[row.verdict]} {clip(_narrow(row.name), names - 3, '…')}", names)
        bar = row_cells(row, scale, Glyphs()).ljust(int(scale.end) + 2)
        lines.append(f"{name}{bar}{row.figure:>{figures}}".rstrip())
    return "\n".join(lines)


def _pad(text: str, width: int) -> str:
    return text + " " * max(0, width - len(text))


def _narrow(text: str) -> str:
    """The text with a mark for each character that is not one column wide."""
    wide = ("W", "F")
    return "".join(
        "?" if unicodedata.east_asian_width(c) in wide or unicodedata.combining(c) or not c.isprintable() else c
        for c in text
    )


def _tick_line(scale: Scale, indent: int) -> str:
    """The round figures above their places, as many as do not touch."""
    line = [" "] * (indent + int(scale.end) + 4)
    for value, place in sorted(scale.ticks(), key=lambda tick: abs(tick[0])):
        text = tick_text(value)
        first = max(indent + round(place) - len(text) // 2, 0)
        if all(c == " " for c in line[max(first - 1, 0) : first + len(text) + 1]) and first + len(text) <= len(line):
            line[first : first + len(text)] = text
    return "".join(line).rstrip()
