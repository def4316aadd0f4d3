"""How the evidence of a check grew, sample by sample, and where it would have failed or passed."""

from collections.abc import Iterator, Sequence

from accgate.decision.path import SequentialPath
from accgate.decision.sequential import Bets
from accgate.design import oriented
from accgate.report.charts.axes import Axis, axis_of, figures_below, figures_beside, short, upright
from accgate.report.charts.svg import HEIGHT, Chart, beside, drawing, label, line, mark, path, stretch
from accgate.text import drop_word
from accgate.verdict import Verdict

POINTS, FEW = 160, 32  # of a line; of the upper limit, which jumps with each sample that changed
TITLE = "Evidence, sample by sample"

Points = Sequence[tuple[float, float]]


def evidence_chart(verdict: Verdict, steps: SequentialPath, key: str) -> Chart:
    """The running sum of the differences, between the limits at which the run fails or passes; or what its bets won."""
    if steps.bets is not None:
        return _bets_chart(verdict, steps.n, steps.bets, key)
    points = 100.0 if steps.exact else 1.0
    sums = [value / points for value in steps.sums]
    fails, passes = ([(n, value / points) for n, value in bound] for bound in (steps.fails, steps.passes))
    values = [*sums, 0.0, *(v for _, v in (*fails, *passes))]
    room = max(values) - min(values) or 1.0
    x, y = axis_of(0.0, float(verdict.n)), upright(min(values) - 0.16 * room, max(values) + 0.1 * room)
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
        figures_beside(y, plus=True, whole=steps.exact),
        stretch(*filter(None, curves)),
        figures_below(x, whole=True),
        *_limits(verdict, x, y, fails, passes),
        mark(verdict.verdict, across, down),
        beside(across, min(down + 20, HEIGHT - 4), f"{total}: {words}", "t halo"),
        data_n=verdict.n,
        data_n_max=verdict.n_max,
        data_stop=verdict.stop,
        data_difference=oriented(steps.sums[-1] / steps.n[-1], verdict.higher_is_better),
        data_boundaries="recomputed" if steps.is_whole else "final",
    )
    return Chart(TITLE, f"{what}, by samples used", svg, _caption(verdict, steps, fails), scale=True)


def _places(x: Axis, y: Axis, values: Points, most: int = POINTS) -> list[tuple[float, float]]:
    return [(x.at(n), y.at(value)) for n, value in thin(values, most)]


def _limits(verdict: Verdict, x: Axis, y: Axis, fails: Points, passes: Points) -> Iterator[str]:
    """The labels of both limits, where they end; a single limit is a short line at the last sample."""
    if len(fails) == 1:
        ((n, value),) = fails
        place, level = x.at(n), y.at(value)
        yield line(place, level, place, HEIGHT, "limit")
        yield label(place, min(level + 14, HEIGHT - 6), "fails below", anchor="end", dx=-8, class_="b halo")
    elif fails and verdict.verdict != "regression":  # else the run's own label says it
        at, level = x.at(fails[0][0]), max(y.at(value) for _, value in fails) + 18
        yield beside(at, min(level, HEIGHT - 6), "fails below", "b halo")
    if passes:
        at, level = x.at(passes[-1][0]), min(y.at(value) for _, value in passes)
        yield label(at, max(level - 8, 10), "passes above", anchor="end", class_="gd halo")


def _caption(verdict: Verdict, steps: SequentialPath, fails: Points) -> str:
    n, most = verdict.n, verdict.n_max or verdict.n
    left = f"; the other {most - n:,} were not needed" if n < most else ""
    if verdict.verdict == "regression":
        start = f"The line met the limit after {n:,} of {most:,} samples{left}."
    elif n < most:
        start = f"The run ended after {n:,} of {most:,} samples{left}."
    else:
        start = f"The run used all {n:,} samples{' and stayed clear of the limit' if fails else ''}."
    if steps.is_whole:
        return f"{start} The limits depend on how many samples had changed by then."
    return f"{start} The limit is that of the last sample." if fails else start


def thin(points: Points, most: int) -> Points:
    """At most so many of the points, with the first and the last."""
    if len(points) <= most:
        return points
    return [points[round(k * (len(points) - 1) / (most - 1))] for k in range(most)]


def _bets_chart(verdict: Verdict, n: tuple[int, ...], bets: Bets, key: str) -> Chart:
    """The evidence of a drop and of none after each unit, with `n` samples used by then; the run ends at 100."""
    drop, sound = ([100.0 * share for share in shares] for shares in (bets.drop, bets.sound))
    x, y = axis_of(0.0, float(verdict.n)), upright(-100.0, 1.15 * max(100.0, *drop, *sound))
    lines = {
        name: _places(x, y, [(0, 0.0), *zip(n, shares, strict=True)]) for name, shares in (("f", drop), ("g", sound))
    }
    kind = drop_word(verdict.higher_is_better)
    ends = sorted(((points[-1], name) for name, points in lines.items()), key=lambda end: end[0][1])
    heights = ends[0][0][1] - 10, max(ends[1][0][1] + 18, ends[0][0][1] + 14)
    words = {"f": (f"a {kind}", "b halo"), "g": ("no change", "gd halo")}
    svg = drawing(
        key,
        "evidence",
        f"Evidence for a {kind} and for no change, in percent of what decides: {drop[-1]:.0f} and {sound[-1]:.0f} "
        f"after {verdict.n:,} of {verdict.n_max or verdict.n:,} samples.",
        figures_beside(y),
        line(0, y.at(100.0), 1, y.at(100.0), "limit dashed"),
        stretch(path(lines["f"], "ln f"), path(lines["g"], "ln g")),
        figures_below(x, whole=True),
        label(0, y.at(100.0) - 6, "enough", dx=6, class_="t halo"),
        *(beside(end[0], height, *words[name]) for (end, name), height in zip(ends, heights, strict=True)),
        data_n=verdict.n,
        data_stop=verdict.stop,
        data_drop=bets.drop[-1],
        data_sound=bets.sound[-1],
    )
    caption = (
        f"The run ends where one of both reaches 100%. It used {verdict.n:,} of {verdict.n_max or verdict.n:,} samples."
    )
    return Chart(TITLE, "Share of the evidence that decides, %, by samples used", svg, caption, scale=True)
