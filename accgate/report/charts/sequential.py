"""The way of a run that may stop early: what it had lost and gained by each sample, between its two boundaries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from accgate.report.charts.axes import across, frame, upward
from accgate.report.charts.svg import Chart, drawing, element, legend, path, pixel
from accgate.text import number, signed

if TYPE_CHECKING:
    from accgate.report.html import SequentialPath
    from accgate.verdict import Verdict

POINTS = 240  # of a line
TABLE = 12  # rows
WHY = {
    "regression": "it stopped there because so much was lost",
    "futility": "it stopped there because a change of theta would have shown",
    "end": "it used all of its samples",
}


def sequential_chart(verdict: Verdict, walk: SequentialPath, key: str) -> Chart:
    """The running sum of differences against the samples used, with the boundaries at which the run fails or passes."""
    n_max, exact = verdict.n_max or verdict.n, walk.points == 100.0
    last = min(n_max, 3 * verdict.n)  # a run that stopped at once would be a dot else
    values = [*walk.total, 0.0, *(v for _, v in walk.fails), *(v for _, v in walk.passes)]
    room = 0.06 * (max(values) - min(values) or 1.0)
    x, y = across(0.0, float(last)), upward(min(values) - room, max(values) + room)
    parts = [frame(x, y, x_words="samples, in the fixed order", y_words=walk.unit, whole=exact)]
    entries = [("line", "line candidate", "this run")]
    for name, class_, bound in (("fails", "line bad", walk.fails), ("passes", "line good", walk.passes)):
        if bound:
            parts.append(path([(x.at(n), y.at(v)) for n, v in thinned(bound)], class_))
            if len(bound) == 1:
                (n, value), *_ = bound
                parts.append(element("circle", cx=pixel(x.at(n)), cy=pixel(y.at(value)), r=4, class_=f"dot {class_}"))
            entries.append(("line", class_, name))
    run = list(zip([0, *walk.n], [0.0, *walk.total], strict=True))
    parts.append(path([(x.at(n), y.at(v)) for n, v in thinned(run)], "line candidate"))
    end = x.at(verdict.n), y.at(run[-1][1])
    parts.append(element("circle", cx=pixel(end[0]), cy=pixel(end[1]), r=6, class_="dot candidate"))
    parts.append(legend(entries))
    title = "The way to the verdict, sample by sample"
    why = WHY.get(verdict.stop or "", "it ended")
    so_far = "How many more samples got better than worse so far" if exact else "The sum of the differences so far"
    description = (
        f"{so_far}; worse is down. After {verdict.n:,} of at most {n_max:,} samples the difference was "
        f"{signed(verdict.difference)} points: {why}."
    )
    svg = drawing(
        key, "sequential", title, description, *parts, data_n=verdict.n, data_n_max=n_max, data_stop=verdict.stop,
        data_difference=walk.difference, data_boundaries="recomputed" if walk.whole else "final",
    )  # fmt: skip
    headings = ("Samples", walk.unit.capitalize(), "Difference, points", "Fails at", "Passes at")
    return Chart("sequential", title, description, svg, headings, _rows(walk, verdict), walk.notes)


def thinned(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """At most `POINTS` of the points, with the first and the last."""
    if len(points) <= POINTS:
        return list(points)
    return [points[round(k * (len(points) - 1) / (POINTS - 1))] for k in range(POINTS)]


def _rows(walk: SequentialPath, verdict: Verdict) -> tuple[tuple[str, ...], ...]:
    count = len(walk.n)
    places = sorted({round(k * (count - 1) / (TABLE - 1)) for k in range(TABLE)})
    sign = 1.0 if verdict.higher_is_better else -1.0
    return tuple(
        (
            f"{walk.n[k]:,}", number(walk.total[k], walk.digits),
            signed(sign * walk.total[k] * walk.points / walk.n[k]),
            _before(walk.fails, walk.n[k], walk.digits), _before(walk.passes, walk.n[k], walk.digits),
        )
        for k in places
    )  # fmt: skip


def _before(bound: tuple[tuple[float, float], ...], n: int, digits: int) -> str:
    """A boundary's last value up to a number of samples."""
    known = [value for at, value in bound if at <= n]
    return number(known[-1], digits) if known else "-"
