"""One check in the HTML report.

It shows what became of it in a sentence, its settings, its figures and its two charts.
"""

from dataclasses import replace
from pathlib import Path

from accgate.decision.path import path_of
from accgate.report.charts.distribution import distribution_chart
from accgate.report.charts.evidence import evidence_chart
from accgate.report.charts.svg import Chart
from accgate.report.html.run import sides_of
from accgate.text import with_capital, with_stop
from accgate.verdict import Verdict
from accgate.verdict.findings import (
    chance_sentence,
    drop_sentence,
    lack_sentence,
    lost_answers,
    move_sentence,
    pass_words,
    samples_words,
)
from accgate.verdict.points import points_text
from accgate.verdict.sentences import sight_sentence


def charts_of(verdict: Verdict, folder: Path | None, seed: int, key: str) -> tuple[list[Chart], str]:
    """Draw how a check's evidence grew, and whether it can be chance.

    The former needs the run's folder. The second of the pair says why a chart is missing.

    Raises
    ------
    BadInput
        When a file of the folder is damaged.
    """
    if verdict.p_value is None or verdict.candidate.mean is None or verdict.test == "overall":
        return [], ""
    verdict = replace(verdict, verdict=verdict.by_scores or verdict.verdict)  # the charts are of the scores
    first = None if verdict.test in ("two-sample", "target") else _of_samples(verdict, folder, seed, key)
    charts = [chart for chart in (first, distribution_chart(verdict, key)) if isinstance(chart, Chart)]
    return charts, f"The chart of single samples is left out: {first}." if isinstance(first, str) else ""


def _of_samples(verdict: Verdict, folder: Path | None, seed: int, key: str) -> Chart | str:
    """Return the chart of single samples, or the reason why there is none."""
    if verdict.statistic is not None:
        return f"{verdict.statistic} is not a mean of single samples"
    sides = "the run's folder was not given" if folder is None else sides_of(verdict, folder, seed)
    evidence = sides if isinstance(sides, str) else sides.evidence(verdict)
    if isinstance(evidence, str):
        return evidence
    if (steps := path_of(evidence, verdict)) is None:
        return "the records beside accgate.json give another verdict"
    return evidence_chart(verdict, steps, key)


# What became of a check


def outcome_text(verdict: Verdict, together: str = "", *, first: bool) -> str:
    """Say what became of a check, in two or three sentences.

    Of the first check it is what the headline leaves out. `together` says what the gate allows the whole run.
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
