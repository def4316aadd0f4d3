"""The few SVG elements that a chart is made of; colours come from the page's style, by class."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 384, 280  # of every chart, in its own units: on a phone one of them is about 0.8 pixels
LETTER = 7.8  # width of a letter of the widest common sans-serif at the labels' size


@dataclass(frozen=True)
class Chart:
    """A chart: `svg` with title and description within, and its figures as a table.

    `rows` stand under `headings`, as text; `notes` say what the picture simplifies.
    """

    kind: str
    title: str
    description: str
    svg: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()


def element(name: str, *children: str, **attributes: str | float | None) -> str:
    """An SVG element; `data_gamma` names the attribute data-gamma, `class_` is class, and None leaves one out.

    Numbers keep all their digits, so that a picture holds the very figures of accgate.json. Children are markup.

    >>> element("line", x1=1.5, data_gamma=72.5, class_="mark")
    '<line x1="1.5" data-gamma="72.5" class="mark"/>'
    >>> element("text", text("a < b"))
    '<text>a &lt; b</text>'
    """
    pairs = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{html.escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{pairs}>{''.join(children)}</{name}>" if children else f"<{name}{pairs}/>"


def text(value: str) -> str:
    """Any text within an element."""
    return html.escape(value)


def pixel(value: float) -> float:
    """A coordinate to a tenth, which no eye tells from the exact one.

    >>> pixel(12.3456)
    12.3
    """
    return round(float(value), 1) + 0.0


def path(points: Iterable[tuple[float, float]], class_: str, *, closed: bool = False, **data: float | None) -> str:
    """A line through points, or an area.

    >>> path([(0, 0), (1.25, 2)], "null")
    '<path d="M0.0 0.0L1.2 2.0" class="null"/>'
    """
    through = "L".join(f"{pixel(x)} {pixel(y)}" for x, y in points)
    return element("path", d=f"M{through}{'Z' if closed else ''}", class_=class_, **data) if through else ""


def label(x: float, y: float, value: str, *, anchor: str = "middle", class_: str | None = None) -> str:
    """A text at a place."""
    return element("text", text(value), x=pixel(x), y=pixel(y), text_anchor=anchor, class_=class_)


def legend(entries: Sequence[tuple[str, str, str]]) -> str:
    """The row below a chart that says what its lines and areas are: (`line` or `area`, class, words)."""
    widths = [24 + LETTER * len(words) for _, _, words in entries]
    gap = min(16.0, (WIDTH - sum(widths)) / max(len(entries), 1))
    x, y, parts = 4.0, HEIGHT - 8.0, []
    for (kind, class_, words), width in zip(entries, widths, strict=True):
        if kind == "line":
            parts.append(path([(x, y - 4), (x + 18, y - 4)], class_))
        else:
            parts.append(element("rect", x=pixel(x), y=y - 10, width=18, height=12, class_=class_))
        parts.append(label(x + 22, y, words, anchor="start"))
        x += width + gap
    return "".join(parts)


def drawing(key: str, kind: str, title: str, description: str, *parts: str, **data: float | str | None) -> str:
    """The whole SVG, with its title and description for those who cannot see it; `key` makes their ids unique."""
    return element(
        "svg",
        element("title", text(title), id=f"{key}-title"),
        element("desc", text(description), id=f"{key}-text"),
        *parts,
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="img",
        aria_labelledby=f"{key}-title {key}-text",
        class_=f"chart {kind}",
        **data,
    )
