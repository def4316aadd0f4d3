"""Is the stated confidence right, and how right are the answers that the model is surest of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from accgate.report.charts.axes import across, frame, upward
from accgate.report.charts.svg import Chart, drawing, element, legend, path, pixel
from accgate.text import number


def reliability_chart(error: float, bins: Sequence[Mapping[str, Any]], key: str) -> Chart:
    """The reliability diagram: accuracy against confidence, both in points, a dot for each bin that has answers.

    `error` is the expected calibration error in points, `bins` the details of the aggregate `ece`.
    """
    used = [row for row in bins if row["answers"]]
    x, y = across(0.0, 100.0), upward(0.0, 100.0)
    parts = [frame(x, y, x_words="stated confidence, %", y_words="accuracy, points")]
    parts.append(path([(x.at(0), y.at(0)), (x.at(100), y.at(100))], "line faint"))
    largest = max((row["answers"] for row in used), default=1)
    for row in used:
        place, top, right = pixel(x.at(row["confidence"])), pixel(y.at(row["accuracy"])), pixel(y.at(row["confidence"]))
        parts.append(element("line", x1=place, x2=place, y1=right, y2=top, class_="line other"))
        parts.append(
            element(
                "circle",
                cx=place,
                cy=top,
                r=pixel(3 + 5 * (row["answers"] / largest) ** 0.5),
                class_="dot null",
                data_confidence=row["confidence"],
                data_accuracy=row["accuracy"],
                data_answers=row["answers"],
            )
        )
    parts.append(
        legend([("line", "line faint", "right"), ("area", "dot null", "answers"), ("line", "line other", "gap")])
    )
    title = "Is the candidate's confidence right?"
    description = f"Accuracy by stated confidence; the expected calibration error is {number(error)} points."
    rows = [
        (
            f"{100 * row['above']:.1f} to {100 * row['up_to']:.1f}",
            f"{row['answers']:,}",
            number(row["confidence"]),
            number(row["accuracy"]),
        )
        for row in used
    ]
    svg = drawing(key, "reliability", title, description, *parts, data_ece=error)
    headings = ("Confidence, %", "Answers", "Mean confidence, %", "Accuracy, points")
    return Chart("reliability", title, description, svg, headings, tuple(rows))


def coverage_chart(area: float, curve: Sequence[Mapping[str, float]], key: str) -> Chart:
    """The accuracy-coverage curve: accuracy of the surest answers against their share.

    `area` is the area under it in points, `curve` the details of the aggregate `accuracy_coverage_auc`.
    """
    x, y = across(0.0, 100.0), upward(0.0, 100.0)
    points = [(100 * point["coverage"], point["accuracy"]) for point in curve]
    parts = [frame(x, y, x_words="share answered, the surest first, %", y_words="accuracy, points")]
    parts.append(path([(x.at(c), y.at(a)) for c, a in points], "line null"))
    if len(points) == 1:
        ((c, a),) = points
        parts.append(element("circle", cx=pixel(x.at(c)), cy=pixel(y.at(a)), r=4, class_="dot null"))
    parts.append(legend([("line", "line null", "candidate")]))
    title = "How right are the answers the candidate is surest of?"
    description = f"Accuracy by the share of answers, the surest first; the area under it is {number(area)} points."
    shown = [points[round(k * (len(points) - 1) / 10)] for k in range(11)] if len(points) > 11 else points
    rows = [(f"{c:.1f}", number(a)) for c, a in shown]
    svg = drawing(key, "coverage", title, description, *parts, data_area=area)
    return Chart("coverage", title, description, svg, ("Share answered, %", "Accuracy, points"), tuple(rows))
