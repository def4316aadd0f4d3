"""The evidence on which a check was decided, from the samples of both sides in the run's folder."""

import math
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import numpy as np

from accgate.decision.evidence import Evidence
from accgate.design import Design
from accgate.records.file import paths_of, read_gzip_lines
from accgate.records.ids import Ids
from accgate.records.log import read_log
from accgate.records.membership import Codes, codes_of
from accgate.records.scores import Floats, Scores, is_binary
from accgate.report.samples import first_places, fixed_order, means_of
from accgate.stats import TestName
from accgate.verdict import Verdict


def evidence_of(verdict: Verdict, folder: Path, seed: int) -> Evidence | str:
    """Return the evidence on which a check was decided, or why the files beside accgate.json do not hold it.

    They do not tell the range of the metric; it is taken for 0 to 100.

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
    ids = written.take(first)
    candidate = means_of(ids, written, scores)
    if np.isnan(candidate).any():
        return "some samples have no score"
    reference, binary = _reference(paths.before, ids)
    if reference is None:
        return "the reference's scores are not beside accgate.json"
    is_same = _close(candidate, verdict.candidate.mean) and _close(reference, verdict.reference.mean)
    if len(ids) != verdict.n or not is_same:
        return "the records beside accgate.json belong to another run"
    names = [record.cluster for record in records.take(first)] if records.fills("cluster") else [None]
    clusters = None if None in names else codes_of(names)
    return evidence_from(verdict, Scores(ids, candidate[:, None]), Scores(ids, reference[:, None]), clusters, binary)


def evidence_from(
    verdict: Verdict, candidate: Scores, reference: Scores, clusters: Codes | None = None, binary: bool = True
) -> Evidence:
    """Return the evidence of a check from both sides' scores of the samples that it used.

    `binary` says that all scores of the reference are 0 or 100, those of samples that the check did not use included.
    """
    assert verdict.test is not None
    return Evidence(
        candidate=candidate,
        reference=reference,
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
        clusters=clusters,
        n_max=verdict.n_max,
        binary=binary,
    )


def _close(scores: Floats, mean: float | None) -> bool:
    return mean is None or math.isclose(float(scores.mean()), mean, rel_tol=1e-9, abs_tol=1e-9)


def _reference(path: Path, ids: Ids) -> tuple[Floats | None, bool]:
    """The reference's score of each sample, None where the file lacks one; and whether all its scores are 0 or 100."""
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
