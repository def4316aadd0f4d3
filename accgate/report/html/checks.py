"""One check in the HTML report: what became of it in a sentence, its settings, its figures and its two charts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from accgate.decision.path import path_of
from accgate.report.charts.axes import axis_of, figures_below, figures_beside, upright
from accgate.report.charts.distribution import distribution_chart
from accgate.report.charts.evidence import evidence_chart
from accgate.report.charts.svg import Chart, drawing, element, label, line, path, percent, pixel, stretch
from accgate.report.html.run import Sides, sides_of
from accgate.text import number, with_capital, with_stop
from accgate.verdict import (
    Verdict,
    chance_sentence,
    drop_sentence,
    lack_sentence,
    lost_answers,
    move_sentence,
    pass_words,
    points_text,
    samples_words,
    sight_sentence,
)


@dataclass(frozen=True)
class Pictures:
    """The charts of a check, and the reasons why others are missing."""

    charts: tuple[Chart, ...] = ()
    missing: tuple[str, ...] = ()


def pictures_of(verdict: Verdict, folder: Path | None, seed: int, key: str) -> Pictures:
    """The charts of a check: how the evidence grew, which needs the run's folder, and whether it can be chance.

    Raises
    ------
    BadInput
        When a file of the folder is damaged.
    """
    if verdict.p_value is None or verdict.candidate.mean is None or verdict.test == "overall":
        return Pictures()
    verdict = replace(verdict, verdict=verdict.by_scores or verdict.verdict)  # the charts are of the scores
    chance = distribution_chart(verdict, key)
    if verdict.test in ("two-sample", "target"):
        return Pictures(() if chance is None else (chance,))
    sides = "the run's folder was not given" if folder is None else sides_of(verdict, folder, seed)
    first = sides if isinstance(sides, str) else _of_samples(verdict, sides, key)
    charts = tuple(chart for chart in (first, chance) if isinstance(chart, Chart))
    return Pictures(charts, (f"The chart of single samples is left out: {first}.",) if isinstance(first, str) else ())


def _of_samples(verdict: Verdict, sides: Sides, key: str) -> Chart | str:
    """The chart of single samples, or the reason why there is none."""
    if verdict.statistic is not None:
        return _of_confidence(verdict.statistic, sides, key)
    evidence = sides.evidence(verdict)
    if isinstance(evidence, str):
        return evidence
    steps = path_of(evidence, verdict)
    return "the records beside accgate.json do not lead to it" if steps is None else evidence_chart(verdict, steps, key)


def _of_confidence(statistic: str, sides: Sides, key: str) -> Chart | str:
    """The chart of a statistic of stated confidence."""
    from accgate import metrics

    if statistic not in ("ece", "accuracy_coverage_auc"):
        return f"{statistic} is not a mean of single samples"
    try:
        outcome = metrics.aggregate(statistic).outcome(sides.records)
    except metrics.UnusableRecords as fault:
        return str(fault)
    if outcome.value is None:
        return str(outcome.reason)
    if statistic == "ece":
        return reliability_chart(outcome.value, outcome.details["bins"], key)
    return coverage_chart(outcome.value, outcome.details["curve"], key)


# Is the stated confidence right, and how right are the answers that the model is surest of


X, Y = axis_of(0.0, 100.0), upright(0.0, 100.0)
COLUMNS = ("confidence", "accuracy", "answers")


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
    return Chart("Is the candidate's confidence right?", about, svg, caption, scale=True)


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
    return Chart(title, about, svg, f"The area under the line is {number(area)} points.", scale=True)


# What became of a check


def outcome_text(verdict: Verdict, together: str = "", *, first: bool) -> str:
    """What became of a check, in two or three sentences; of the first, what the headline leaves out.

    `together` says what the gate allows the whole run.
    """
    if verdict.failed_cost is not None:
        lines = [] if first else [drop_sentence(verdict), chance_sentence(verdict, together)]
        return " ".join(f"{line}." for line in (*lines, f"The scores alone: {verdict.by_scores}"))
    if first:
        return f"{_failed_at(verdict)}." if verdict.verdict == "regression" and verdict.p_value is not None else ""
    if verdict.p_value is None or verdict.candidate.mean is None:
        return with_stop(with_capital("; ".join(verdict.reasons) or "no reason is recorded"))
    if verdict.verdict == "regression":
        start = f"{drop_sentence(verdict)}, {samples_words(verdict)}"
        parts = [start, _failed_at(verdict), chance_sentence(verdict, together)]
    elif verdict.verdict == "pass":
        parts = [f"{move_sentence(verdict)}, {pass_words(verdict)}", lost_answers(verdict), sight_sentence(verdict)]
    elif verdict.verdict == "inconclusive":
        parts = [lack_sentence(verdict), f"{move_sentence(verdict)}, {samples_words(verdict)}"]
    else:
        parts = ["; ".join(verdict.reasons), f"{move_sentence(verdict)}, {samples_words(verdict)}"]
    return " ".join(with_stop(part) for part in parts if part)


def _failed_at(verdict: Verdict) -> str:
    """Answers lost and gained, and the limit that the mean passed."""
    lost = "" if verdict.lost is None else f"{verdict.lost:,} answers got worse and {verdict.gained or 0:,} better"
    if verdict.gamma is None:
        return lost
    early = f" after {verdict.n:,} of {verdict.n_max:,} samples" if verdict.is_early else ""
    limit = f"the limit was {points_text(verdict, verdict.gamma)}{early}"
    return f"{lost}; {limit}" if lost else with_capital(limit)
