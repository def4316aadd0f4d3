"""How the scores of both sides are distributed."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from accgate.records import is_binary
from accgate.report.charts.axes import across, frame, upward
from accgate.report.charts.svg import Chart, drawing, element, legend, pixel
from accgate.text import number

if TYPE_CHECKING:
    from accgate.verdict import Verdict

Floats = npt.NDArray[np.float64]
MOST_VALUES = 11  # distinct scores up to which each has a bar of its own
BINS = 20


def scores_chart(verdict: Verdict, candidate: Floats, reference: Floats | None, key: str) -> Chart | None:
    """Share of the samples by score, of both sides where the reference's scores are known.

    `candidate` and `reference` have shape (n,), points; NaN is left out. None where no sample has a score.
    """
    sides = [("candidate", candidate[~np.isnan(candidate)])]
    if reference is not None:
        sides.insert(0, ("reference", reference[~np.isnan(reference)]))
    everything = np.concatenate([values for _, values in sides])
    if not all(len(values) for _, values in sides):
        return None
    names, counts = _bars(everything, [values for _, values in sides])
    shares = [100.0 * row / row.sum() for row in counts]
    x, y = across(-0.5, len(names) - 0.5), upward(0.0, _top(max(float(row.max()) for row in shares)))
    short = [name.split(" ")[0] for name in names]
    parts = [frame(x, y, x_words="score, points", y_words="share of samples, %", names=short)]
    wide = min(60.0, 0.8 * (x.at(1.0) - x.at(0.0))) / len(sides)
    for side, ((name, _), row, count) in enumerate(zip(sides, shares, counts, strict=True)):
        for bin_, share in enumerate(row):
            left = x.at(bin_) + (side - len(sides) / 2) * wide
            top = y.at(float(share))
            parts.append(
                element(
                    "rect",
                    x=pixel(left),
                    y=pixel(top),
                    width=pixel(wide),
                    height=pixel(y.start - top),
                    class_=f"bar {name}",
                    data_count=int(count[bin_]),
                )
            )
    parts.append(legend([("area", f"bar {name}", name) for name, _ in sides]))
    title = "How the scores are distributed"
    means = {name: float(values.mean()) for name, values in sides}
    sides_mean = ", ".join(f"the {name}'s mean is {number(mean)}" for name, mean in means.items())
    description = f"Share of the samples by score: {sides_mean}."
    rows = [
        (name, *(f"{int(count[bin_]):,} ({share[bin_]:.1f}%)" for count, share in zip(counts, shares, strict=True)))
        for bin_, name in enumerate(names)
    ]
    svg = drawing(
        key,
        "scores",
        title,
        description,
        *parts,
        data_candidate=means["candidate"],
        data_reference=means.get("reference"),
        data_n=verdict.n,
    )
    notes = () if reference is not None else ("The reference's scores are not beside accgate.json.",)
    headings = ("Score, points", *(f"{name.capitalize()}, samples" for name, _ in sides))
    return Chart("scores", title, description, svg, headings, tuple(rows), notes)


def _bars(everything: Floats, sides: list[Floats]) -> tuple[list[str], list[npt.NDArray[np.int64]]]:
    """Names of the bars, and each side's number of samples in them."""
    distinct = np.unique(everything)
    if is_binary(distinct):
        distinct = np.array([0.0, 100.0])
    if len(distinct) <= MOST_VALUES:
        return [f"{value:g}" for value in distinct], [np.array([(v == d).sum() for d in distinct]) for v in sides]
    edges = np.linspace(distinct[0], distinct[-1], BINS + 1)
    names = [f"{low:.4g} to {high:.4g}" for low, high in pairwise(edges)]
    return names, [np.histogram(values, edges)[0] for values in sides]


def _top(most: float) -> float:
    return max(10.0 * math.ceil(most / 10.0), 10.0)
