"""Is the stated confidence right, and how right are the answers that the model is surest of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from accgate.report.charts.axes import axis_of, figures_below, figures_beside, upright
from accgate.report.charts.svg import Chart, drawing, element, label, line, path, percent, pixel, stretch
from accgate.text import number

X, Y = axis_of(0.0, 100.0), upright(0.0, 100.0)


def reliability_chart(error: float, bins: Sequence[Mapping[str, Any]], key: str) -> Chart:
    """The reliability diagram: accuracy against confidence, both in points, a dot for each bin that has answers.

    `error` is the expected calibration error in points, `bins` the details of the aggregate `ece`.
    """
    used = [row for row in bins if row["answers"]]
    largest = max((row["answers"] for row in used), default=1)
    parts = []
    for row in used:
        place, top, right = X.at(row["confidence"]), Y.at(row["accuracy"]), row["confidence"]
        parts.append(line(place, Y.at(right), place, top, "limit"))
        size, data = pixel(3 + 5 * (row["answers"] / largest) ** 0.5), {f"data_{k}": row[k] for k in COLUMNS}
        parts.append(element("circle", cx=percent(place), cy=pixel(top), r=size, class_="at pass", **data))
    about = "Accuracy by stated confidence, both in percent; a larger dot has more answers"
    svg = drawing(
        key,
        "reliability",
        f"{about}. The expected calibration error is {number(error)} points.",
        figures_beside(Y),
        stretch(path([(0, Y.at(0)), (1, Y.at(100))], "ln alt")),
        *parts,
        figures_below(X),
        label(0.5, Y.at(50) - 8, "right", dx=-10, anchor="end", class_="halo"),
        data_ece=error,
    )
    caption = f"Red lines are the gap to what it stated; they average {number(error)} points."
    return Chart("reliability", "Is the candidate's confidence right?", about, svg, caption, scale=True)


COLUMNS = ("confidence", "accuracy", "answers")


def coverage_chart(area: float, curve: Sequence[Mapping[str, float]], key: str) -> Chart:
    """The accuracy-coverage curve: accuracy of the surest answers against their share.

    `area` is the area under it in points, `curve` the details of the aggregate `accuracy_coverage_auc`.
    """
    points = [(X.at(100 * point["coverage"]), Y.at(point["accuracy"])) for point in curve]
    about = "Accuracy in points, by the share of answers, the surest first, %"
    svg = drawing(
        key,
        "coverage",
        f"{about}. The area under it is {number(area)} points.",
        figures_beside(Y),
        stretch(path([(0.0, points[0][1]), *points], "ln ref")),
        figures_below(X),
        data_area=area,
    )
    title = "How right are the answers the candidate is surest of?"
    return Chart("coverage", title, about, svg, f"The area under the line is {number(area)} points.", scale=True)
