"""The chart of how a check's evidence grew, sample by sample.

It shows where the check would have failed or passed.
"""

from collections.abc import Iterator, Sequence

from accgate.decision.path import SequentialPath
from accgate.design import oriented
from accgate.report.charts.axes import Axis, axis_of, figures_below, figures_beside, short, thin
from accgate.report.charts.svg import HEIGHT, Chart, drawing, label, label_beside, line, mark, path, stretch
from accgate.verdict import Verdict

POINTS, FEW = 160, 32  # of a line; of the upper limit, which jumps with each sample that changed

Points = Sequence[tuple[float, float]]


def evidence_chart(verdict: Verdict, steps: SequentialPath, key: str) -> Chart:
    """Draw the running sum of the differences between the limits of failing and passing."""
    points = 100.0 if steps.exact else 1.0
    sums = [value / points for value in steps.sums]
    fails, passes = ([(n, value / points) for n, value in bound] for bound in (steps.fails, steps.passes))
    values = [*sums, 0.0, *(v for _, v in (*fails, *passes))]
    room = max(values) - min(values) or 1.0
    x = axis_of(0.0, float(verdict.n))
    y = axis_of(min(values) - 0.16 * room, max(values) + 0.1 * room).drawn(HEIGHT, 0.0)
    run = _places(x, y, [(0, 0.0), *zip(steps.n, sums, strict=True)])
    edge = _places(x, y, fails)
    zone = [*edge, (edge[-1][0], HEIGHT), (edge[0][0], HEIGHT)] if len(fails) > 1 else []  # where a run fails
    curves = [path(zone, "zone", closed=True), path(edge, "ln f"), path(_places(x, y, passes, FEW), "ln g")]
    curves.append(path(run, "ln"))
    what = "Answers gained less answers lost" if steps.exact else "Sum of the differences in points, worse is down"
    total = short(round(sums[-1], 0 if steps.exact else 1), plus=True)
    across, down = run[-1]
    words = {"regression": "failed", "pass": "passed"}.get(verdict.verdict, "undecided")
    svg = drawing(
        key,
        "evidence",
        f"{what} after each sample: {total} after {verdict.n:,} of {verdict.n_max or verdict.n:,} samples.",
        figures_beside(y, whole=steps.exact),
        stretch(*filter(None, curves)),
        figures_below(x, whole=True),
        *_limits(verdict, x, y, fails, passes),
        mark(verdict.verdict, across, down),
        label_beside(across, min(down + 20, HEIGHT - 4), f"{total}: {words}", "t halo"),
        data_difference=oriented(steps.sums[-1] / steps.n[-1], verdict.higher_is_better),
    )
    caption = _caption(verdict, steps, fails)
    return Chart("Evidence, sample by sample", f"{what}, by samples used", svg, caption, scale=True)


def _places(x: Axis, y: Axis, values: Points, most: int = POINTS) -> list[tuple[float, float]]:
    return [(x.at(n), y.at(value)) for n, value in thin(values, most)]


def _limits(verdict: Verdict, x: Axis, y: Axis, fails: Points, passes: Points) -> Iterator[str]:
    """Draw the labels of both limits, where these end.

    A limit that is known at the last sample alone is drawn as a short line there.
    """
    if len(fails) == 1:
        ((n, value),) = fails
        place, level = x.at(n), y.at(value)
        yield line(place, level, place, HEIGHT, "limit")
        yield label(place, min(level + 14, HEIGHT - 6), "fails below", anchor="end", dx=-8, class_="b halo")
    elif fails and verdict.verdict != "regression":  # else the run's own label says it
        at, level = x.at(fails[0][0]), max(y.at(value) for _, value in fails) + 18
        yield label_beside(at, min(level, HEIGHT - 6), "fails below", "b halo")
    if passes:
        at, level = x.at(passes[-1][0]), min(y.at(value) for _, value in passes)
        yield label(at, max(level - 8, 10), "passes above", anchor="end", class_="gd halo")


def _caption(verdict: Verdict, steps: SequentialPath, fails: Points) -> str:
    n, most = verdict.n, verdict.n_max or verdict.n
    unneeded = f"; the other {most - n:,} were not needed" if n < most else ""
    if verdict.verdict == "regression":
        start = f"The run failed after {n:,} of {most:,} samples{unneeded}."
        start = "The run failed at its last sample." if n == most else start
    elif n < most:
        start = f"The run ended after {n:,} of {most:,} samples{unneeded}."
    else:
        start = f"The run used all {n:,} samples{' and stayed clear of the limit' if fails else ''}."
    if steps.is_whole:
        return f"{start} The limits depend on how many samples had changed by then."
    return f"{start} The limit shown holds at the last sample." if fails else start
