"""The scores of a check's samples on both sides, read from the run's folder."""

import math
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np

from accgate.decision.evidence import Evidence
from accgate.design import Design
from accgate.records.file import Record, paths_of, read_gzip_lines
from accgate.records.ids import Ids
from accgate.records.log import read_log
from accgate.records.membership import codes_of
from accgate.records.scores import Floats, Scores, is_binary
from accgate.report.samples import first_places, fixed_order, means_of
from accgate.stats.names import TestName
from accgate.verdict import Verdict


@dataclass(frozen=True)
class Sides:
    """The samples that a check was decided on, in the fixed order.

    Scores are in points, NaN where a sample failed. `reference` is None where the run's folder lacks its scores, and
    `clusters` is None where samples are independent. `records` are the candidate's, every repeat. `binary` says that
    all scores of the reference are 0 or 100, even those of samples that the check did not use.
    """

    ids: Ids
    candidate: Floats
    reference: Floats | None
    clusters: tuple[str, ...] | None
    records: Sequence[Record]
    binary: bool = True

    def evidence(self, verdict: Verdict) -> Evidence | str:
        """Return the evidence of a check, or say why the files lack it.

        The files do not say the range of the metric, which is assumed to be 0 to 100.
        """
        if self.reference is None:
            return "the reference's scores are not beside accgate.json"
        if np.isnan(self.candidate).any():
            return "some samples have no score"
        assert verdict.test is not None
        return Evidence(
            candidate=Scores(self.ids, self.candidate[:, None]),
            reference=Scores(self.ids, self.reference[:, None]),
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
            clusters=None if self.clusters is None else codes_of(self.clusters),
            n_max=verdict.n_max,
            binary=self.binary,
        )


def sides_of(verdict: Verdict, folder: Path, seed: int) -> Sides | str:
    """Read the samples of a check, or say why its files lack them.

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
    has_mean = not np.isnan(candidate).any() and verdict.statistic is None  # by which to recognise the run
    if len(candidate) != verdict.n or (has_mean and not _close(candidate, verdict.candidate.mean)):
        return "the records beside accgate.json belong to another run"
    places = ids.places(written)
    own = np.flatnonzero(places >= 0)
    records = records.take(own[np.argsort(places[own], kind="stable")])
    clusters = tuple(name for name in names if name is not None)
    reference, binary = _reference(paths.before, ids)
    if reference is not None and verdict.statistic is None and not _close(reference, verdict.reference.mean):
        return "the records beside accgate.json belong to another run"
    return Sides(ids, candidate, reference, clusters if len(clusters) == len(ids) else None, records, binary)


def _close(scores: Floats, mean: float | None) -> bool:
    return mean is None or math.isclose(float(scores.mean()), mean, rel_tol=1e-9, abs_tol=1e-9)


def _reference(path: Path, ids: Ids) -> tuple[Floats | None, bool]:
    """Read the reference's scores of samples, and whether they are binary.

    Binary scores are all 0 or 100 in the whole file. The scores are None where the file lacks one.
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
