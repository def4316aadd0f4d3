"""The pictures of docs/concepts.md, drawn from accgate's own figures: `python benchmarks/pictures.py` writes them.

Plain SVG of a few shapes, light or dark as the page is, and the same to the byte on every machine.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

import accgate
from accgate.records.ids import Ids, order_of
from accgate.stats.power import quantile

DOCS = Path(__file__).parents[1] / "docs"
WIDTH, LEFT, RIGHT = 760.0, 60.0, 730.0
STYLE = """
text { font: 15px system-ui, sans-serif; fill: #1f2328 }
.small { font-size: 13px }
.axis { stroke: #59636e; fill: none }
.mark { stroke: #1f2328; stroke-dasharray: 5 4; fill: none }
.a { stroke: #0b5cad; fill: none; stroke-width: 2.5 } .a-area { fill: #0b5cad; fill-opacity: .35 }
.b { stroke: #b3400a; fill: none; stroke-width: 2.5 } .b-area { fill: #b3400a; fill-opacity: .35 }
.a-text { fill: #0b5cad } .b-text { fill: #b3400a }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .axis { stroke: #9198a1 } .mark { stroke: #e6edf3 }
  .a { stroke: #6cb6ff } .a-area { fill: #6cb6ff } .a-text { fill: #6cb6ff }
  .b { stroke: #ffa066 } .b-area { fill: #ffa066 } .b-text { fill: #ffa066 }
}"""
Point = tuple[float, float]
Place = Callable[[float], float]


def svg(height: float, title: str, shapes: Sequence[str]) -> str:
    """A picture with its shapes; the title is its text alternative."""
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:g} {height:g}" role="img">'
    return "\n".join([head, f"<title>{escape(title)}</title>", f"<style>{STYLE}</style>", *shapes, "</svg>\n"])


def line(points: Sequence[Point], kind: str) -> str:
    """A line through points."""
    return f'<path class="{kind}" d="M{" L".join(f"{x:.1f},{y:.1f}" for x, y in points)}"/>'


def area(points: Sequence[Point], floor: float, kind: str) -> str:
    """What lies between points and a floor."""
    closed = [(points[0][0], floor), *points, (points[-1][0], floor)]
    return f'<path class="{kind}" d="M{" L".join(f"{x:.1f},{y:.1f}" for x, y in closed)}Z"/>'


def text(x: float, y: float, words: str, kind: str = "", anchor: str = "middle") -> str:
    """Words at a place."""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" class="{kind}">{escape(words)}</text>'


def scale(low: float, high: float, start: float, end: float) -> Place:
    """From figures between low and high to places between start and end."""
    return lambda value: start + (value - low) / (high - low) * (end - start)


def bell(mean: float, sd: float, x: Place, top: float, floor: float, low: float, high: float) -> list[Point]:
    """A normal density between low and high, as high as the room where it is highest."""
    values = [low + (high - low) * step / 160 for step in range(161)]
    return [(x(v), floor - (floor - top) * math.exp(-(((v - mean) / sd) ** 2) / 2)) for v in values]


def axis(x: Place, floor: float, values: Sequence[float], unit: str) -> list[str]:
    """A horizontal axis with its figures and its unit."""
    shapes = [line([(LEFT, floor), (RIGHT, floor)], "axis")]
    for value in values:
        shapes.append(line([(x(value), floor), (x(value), floor + 5)], "axis"))
        shapes.append(text(x(value), floor + 21, f"{value:g}", "small"))
    return [*shapes, text((LEFT + RIGHT) / 2, floor + 42, unit, "small")]


def hypotheses() -> str:
    """The two hypotheses of MMLU in TensorRT-LLM's suite: 4,096 samples, sigma 50, reference 68.17."""
    reference, n = 68.17, 4096
    plan = accgate.plan(2.747193, sigma=50.0, test="two-sample")
    assert plan.n == n
    sd = 50.0 * math.sqrt(2.0 / n)
    assert plan.theta is not None
    theta, gamma = plan.theta, reference - quantile(0.95) * sd
    low, high, top, floor = 61.0, 72.5, 60.0, 270.0
    x = scale(low, high, LEFT, RIGHT)
    shapes = [
        area(bell(reference, sd, x, top, floor, low, gamma), floor, "a-area"),
        area(bell(reference - theta, sd, x, top, floor, gamma, high), floor, "b-area"),
        line(bell(reference, sd, x, top, floor, low, high), "a"),
        line(bell(reference - theta, sd, x, top, floor, low, high), "b"),
        line([(x(gamma), 42), (x(gamma), floor)], "mark"),
        text(x(gamma), 34, f"gamma = {gamma:.2f}"),
        text(x(reference) + 8, 54, f"healthy: {reference:.2f}", "a-text", "start"),
        text(x(reference - theta) - 8, 54, f"dropped by theta: {reference - theta:.2f}", "b-text", "end"),
        text(x(gamma) - 92, floor - 14, "alpha 5%", "a-text", "end"),
        line([(x(gamma) - 88, floor - 18), (x(gamma) - 14, floor - 8)], "axis"),
        text(x(gamma) + 62, floor - 56, "beta 20%", "b-text", "start"),
        line([(x(gamma) + 58, floor - 58), (x(gamma) + 16, floor - 40)], "axis"),
        *axis(x, floor, [62, 64, 66, 68, 70, 72], "mean score of the candidate, points"),
    ]
    return svg(320, "Where the candidate's mean falls when it is healthy and when it lost theta points", shapes)


def pairing() -> str:
    """The same two hypotheses without pairs and with them: 745 samples, a drop of 2 points."""
    n, theta, q = 745, 2.0, 0.05
    assert accgate.plan(theta, discordance=q).n == n
    x = scale(-9.0, 7.0, LEFT, RIGHT)
    shapes: list[str] = []
    for words, sd, top, floor in (
        ("without pairs", 50.0 * math.sqrt(2.0 / n), 40.0, 165.0),
        ("in pairs, 5% changed", 100.0 * math.sqrt(q / n), 205.0, 330.0),
    ):
        shapes += [
            area(bell(0.0, sd, x, top, floor, -9.0, 7.0), floor, "a-area"),
            area(bell(-theta, sd, x, top, floor, -9.0, 7.0), floor, "b-area"),
            line(bell(0.0, sd, x, top, floor, -9.0, 7.0), "a"),
            line(bell(-theta, sd, x, top, floor, -9.0, 7.0), "b"),
            line([(LEFT, floor), (RIGHT, floor)], "axis"),
            text(LEFT + 4, top + 10, words, anchor="start"),
            text(LEFT + 4, top + 30, f"standard error {sd:.2f}", "small", "start"),
            text(x(3.2), top + 22, "healthy", "a-text", "start"),
            text(x(3.2), top + 42, "2 points lost", "b-text", "start"),
        ]
    shapes += axis(x, 330.0, [-8, -6, -4, -2, 0, 2, 4, 6], "difference of the means, points")
    return svg(380, "A drop of 2 points on 745 samples, without pairs and with them", shapes)


def scores(name: str) -> dict[str, float]:
    """The scores of a run of the quick start, by sample."""
    with (DOCS / "data" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return {row["id"]: float(row["score"]) for row in csv.DictReader(file)}


def stopping() -> str:
    """Two real runs of the quick start, sample by sample in the fixed order, to where the test stops."""
    reference = scores("reference")
    order = Ids(reference).take(order_of(0, reference))
    x, y = scale(0.0, 200.0, LEFT, RIGHT), scale(-3.0, 21.0, 270.0, 40.0)
    shapes = [
        *axis(x, 270.0, [0, 50, 100, 150, 200], "samples scored"),
        line([(LEFT, 40), (LEFT, 270)], "axis"),
        *(text(LEFT - 10, y(value) + 5, f"{value:g}", "small", "end") for value in (0, 5, 10, 15, 20)),
        text(LEFT - 36, 24, "lost minus gained, samples", "small", "start"),
        line([(x(0), y(0)), (x(200), y(0))], "axis"),
        line([(x(0), y(0)), (x(200), y(16))], "mark"),
        text(x(199), y(8.5), "a drop of theta, 8 points", "small", "end"),
    ]
    for name, words, kind, lift in (("kv-q4", "4 bits", "b", -12), ("kv-q8", "8 bits", "a", -12)):
        candidate = scores(name)
        verdict = accgate.compare(reference, candidate, theta=8.0, alpha=0.02, early_stopping=True)
        lost, points = 0.0, [(x(0), y(0))]
        for place, sample in enumerate(order[: verdict.n], start=1):
            lost += (reference[sample] - candidate[sample]) / 100.0
            points.append((x(place), y(lost)))
        end = points[-1]
        shapes += [
            line(points, kind),
            f'<circle cx="{end[0]:.1f}" cy="{end[1]:.1f}" r="5" class="{kind} {kind}-area"/>',
            text(end[0] + 10, end[1] + lift, f"{words}: {verdict.verdict} at {verdict.n}", f"{kind}-text", "start"),
        ]
    return svg(320, "Samples lost minus gained of two real runs, until the verdict", shapes)


PICTURES: dict[str, Callable[[], str]] = {"hypotheses": hypotheses, "pairing": pairing, "stopping": stopping}


def main() -> None:
    """Write the pictures."""
    for name, draw in PICTURES.items():
        path = DOCS / "pictures" / f"{name}.svg"
        path.write_text(draw(), encoding="utf-8")
        print(f"wrote {path}")


if __name__ == "__main__":
    main()
