"""The few SVG elements that a chart is made of.

Colours come from the page's style, by class. A chart has no viewBox: its places across are percent of whatever width
the page has, and those down are pixels, so that text keeps its size at every width. Curves stand in a drawing within,
which is stretched.
"""

import html
from collections.abc import Iterable
from dataclasses import dataclass

HEIGHT, BELOW = 240, 24  # of the plotted area and of the axis below it, pixels
ACROSS = 1000  # width of the stretched drawing, in its own units


@dataclass(frozen=True)
class Chart:
    """A chart with the texts around it.

    `title` asks a question, `about` says what is drawn, and `caption` answers. `scale` says that figures stand left of
    the chart, for which the page leaves room.
    """

    title: str
    about: str
    svg: str
    caption: str
    scale: bool = False


def element(name: str, *children: str, **attributes: str | float | None) -> str:
    """Write an SVG element.

    `text_anchor` names the attribute text-anchor, `class_` is class, and None leaves one out. Children are markup.

    >>> element("line", x1=1.5, data_error=72.5, class_="mark")
    '<line x1="1.5" data-error="72.5" class="mark"/>'
    """
    pairs = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{html.escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{pairs}>{''.join(children)}</{name}>" if children else f"<{name}{pairs}/>"


def pixel(value: float) -> float:
    """Round a coordinate to a tenth of a pixel.

    No eye can tell the difference.

    >>> pixel(12.3456)
    12.3
    """
    return round(float(value), 1) + 0.0


def percent(share: float) -> str:
    """Write a place across, from 0 to 1, as a share of the width.

    >>> percent(0.12345), percent(0.5)
    ('12.35%', '50%')
    """
    return f"{round(100.0 * share + 0.0, 2):g}%"


def path(points: Iterable[tuple[float, float]], class_: str, *, closed: bool = False) -> str:
    """Draw a line through points, or with `closed` the area within.

    A point is (share of the width from 0 to 1, pixels from the top).

    >>> path([(0, 0), (0.5, 2)], "ln")
    '<path d="M0 0L500 2" class="ln"/>'
    """
    through = "L".join(f"{ACROSS * x:.0f} {pixel(y):g}" for x, y in points)
    return element("path", d=f"M{through}{'Z' if closed else ''}", class_=class_) if through else ""


def stretch(*parts: str) -> str:
    """Stretch curves to the chart's width."""
    shape: dict[str, str | float | None] = {"viewBox": f"0 0 {ACROSS} {HEIGHT}", "preserveAspectRatio": "none"}
    return element("svg", *parts, width="100%", height=HEIGHT, **shape)


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> str:
    """Draw a straight line from one point to another.

    `x1` and `x2` are shares of the width, and `y1` and `y2` are in pixels.
    """
    return element("line", x1=percent(x1), x2=percent(x2), y1=pixel(y1), y2=pixel(y2), class_=class_)


def label(
    x: float, y: float, value: str, *, anchor: str = "middle", dx: float | None = None, class_: str | None = None
) -> str:
    """Write a text at a place in a drawing.

    `x` is a share of the width, and `y` is in pixels.
    """
    end = None if anchor == "start" else anchor
    return element("text", html.escape(value), x=percent(x), y=pixel(y), dx=dx, text_anchor=end, class_=class_)


def label_beside(x: float, y: float, value: str, class_: str) -> str:
    """Write a label left or right of a place, where there is more room."""
    return label(x, y, value, anchor="end" if x > 0.5 else "start", dx=-6 if x > 0.5 else 6, class_=class_)


def mark(verdict: str, x: float, y: float) -> str:
    """Draw the sign of a verdict at a place.

    The shapes differ, so that nobody depends on the colours.
    """
    if verdict in ("pass", "inconclusive"):
        return element("circle", cx=percent(x), cy=pixel(y), r=4.5, class_=f"at {verdict}")
    return element("use", href="#d-bad", x=percent(x), y=pixel(y), class_="at regression")


def drawing(key: str, kind: str, description: str, *parts: str, **data: float | str | None) -> str:
    """Write the whole SVG, with a sentence for those who cannot see it.

    `key` makes its id unique.
    """
    return element(
        "svg",
        element("title", html.escape(description), id=f"{key}-{kind}"),
        *parts,
        width="100%",
        height=HEIGHT + BELOW,
        role="img",
        aria_labelledby=f"{key}-{kind}",
        class_=f"chart {kind}",
        **data,
    )
