"""One check in the HTML report.

It shows what became of it in a sentence, its settings, its figures and its two charts.
"""

import math
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np

from accgate.decision.evidence import Evidence
from accgate.decision.path import path_of
from accgate.design import Design
from accgate.records.file import paths_of, read_gzip_lines
from accgate.records.ids import Ids
from accgate.records.log import read_log
from accgate.records.membership import codes_of
from accgate.records.scores import Floats, Scores, is_binary
from accgate.report.charts.distribution import distribution_chart
from accgate.report.charts.evidence import evidence_chart
from accgate.report.charts.svg import Chart
from accgate.report.samples import first_places, fixed_order, means_of
from accgate.stats import TestName
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
    evidence = "the run's folder was not given" if folder is None else evidence_in(folder, verdict, seed)
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


# The evidence of a check, from its run's folder


OTHER_RUN = "the records beside accgate.json belong to another run"


def evidence_in(folder: Path, verdict: Verdict, seed: int) -> Evidence | str:
    """Read the evidence of a check from the files beside accgate.json.

    Or it is why the files do not hold it.

    Raises
    ------
    BadInput
        When a file is damaged.
    """
    if verdict.model is None or verdict.task is None:
        return "a comparison of two files has no run folder"
    paths = paths_of(folder, verdict.model, verdict.task)
    if not paths.records.is_file():
        return "the run's records are not beside accgate.json"
    records = read_log(paths.records)
    written, scores = records.figures.ids, records.figures.columns["score"]
    first = fixed_order(records, seed)[: verdict.n]
    names = [record.cluster for record in records.take(first)] if records.fills("cluster") else ()
    ids = written.take(first)
    candidate = means_of(ids, written, scores)
    is_told = not np.isnan(candidate).any() and verdict.statistic is None  # whether the mean tells the run
    if len(candidate) != verdict.n or (is_told and not _close(candidate, verdict.candidate.mean)):
        return OTHER_RUN
    clusters = tuple(name for name in names if name is not None)
    reference, binary = _reference(paths.before, ids)
    if reference is not None and verdict.statistic is None and not _close(reference, verdict.reference.mean):
        return OTHER_RUN
    return evidence_of(verdict, ids, candidate, reference, clusters if len(clusters) == len(ids) else None, binary)


def evidence_of(
    verdict: Verdict,
    ids: Ids,
    candidate: Floats,
    reference: Floats | None,
    clusters: Sequence[str] | None = None,
    binary: bool = True,
) -> Evidence | str:
    """Return the evidence on which a check was decided.

    Or it is why these samples do not hold it. They stand in the fixed order, with scores in points, NaN where one
    failed, and do not tell the range of the metric, which is taken for 0 to 100. `reference` is None where its scores
    are not beside the run, `clusters` where samples are independent. `binary` says that all scores of the reference are
    0 or 100, those of samples that the check did not use included.
    """
    if reference is None:
        return "the reference's scores are not beside accgate.json"
    if np.isnan(candidate).any():
        return "some samples have no score"
    assert verdict.test is not None
    return Evidence(
        candidate=Scores(ids, candidate[:, None]),
        reference=Scores(ids, reference[:, None]),
        design=Design(
            test=cast("TestName", verdict.test),
            alpha=verdict.alpha,
            beta=verdict.beta,
            theta=verdict.theta_target,
            allowed_drop=verdict.allowed_drop,
            certify=verdict.certify,
            higher_is_better=verdict.higher_is_better,
            discordance=verdict.discordance_planned,
        ),
        clusters=None if clusters is None else codes_of(clusters),
        n_max=verdict.n_max,
        binary=binary,
    )


def _close(scores: Floats, mean: float | None) -> bool:
    return mean is None or math.isclose(float(scores.mean()), mean, rel_tol=1e-9, abs_tol=1e-9)


def _reference(path: Path, ids: Ids) -> tuple[Floats | None, bool]:
    """Read the reference's score of each sample.

    None where the file lacks one. It adds whether all its scores are 0 or 100.
    """
    scores = array("d")

    def scored() -> Iterator[str]:
        for row in read_gzip_lines(path, "score"):
            if row["score"] is not None:
                scores.append(float(row["score"]))
                yield row["id"]

    written = Ids(scored())
    if not len(ids) or ids.without(written):
        return None, True
    values = np.array(scores)
    return means_of(ids, written, values), is_binary(means_of(written.take(first_places(written)), written, values))
