"""The samples of a check from the run's folder: both sides, in the fixed order, and the evidence that they are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
import numpy.typing as npt

from accgate.decision import Evidence
from accgate.design import Design
from accgate.records import Ids, Record, Scores, codes_of, is_binary, order_key, paths_of, read_gzip_lines, read_records

if TYPE_CHECKING:
    from accgate.stats import TestName
    from accgate.verdict import Verdict

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Sides:
    """The samples that a check was decided on, in the fixed order; scores in points, NaN where a sample failed.

    `reference` is None where its scores are not beside the run, `clusters` where samples are independent. `records`
    are the candidate's, every repeat. `binary` says that all scores of the reference are 0 or 100, those of samples
    that the check did not use included.
    """

    ids: tuple[str, ...]
    candidate: Floats
    reference: Floats | None
    clusters: tuple[str, ...] | None
    records: tuple[Record, ...]
    binary: bool = True

    def evidence(self, verdict: Verdict) -> Evidence | str:
        """The evidence on which a check was decided, or why the files do not hold it.

        They do not tell the range of the metric; it is taken for 0 to 100.
        """
        if self.reference is None:
            return "the reference's scores are not beside accgate.json"
        if np.isnan(self.candidate).any():
            return "samples failed"
        assert verdict.test is not None
        return Evidence(
            candidate=Scores(Ids(self.ids), self.candidate[:, None]),
            reference=Scores(Ids(self.ids), self.reference[:, None]),
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
    """The samples of a check from the files beside accgate.json, or why there are none.

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
    by_id: dict[str, list[Record]] = {}
    for record in read_records(paths.records):
        by_id.setdefault(record.id, []).append(record)
    ids = sorted(by_id, key=lambda id_: order_key(seed, id_, by_id[id_][0].cluster))[: verdict.n]
    candidate = np.array([_mean([record.score for record in by_id[id_]]) for id_ in ids], dtype=np.float64)
    if not _same(verdict, candidate):
        return "the records beside accgate.json belong to another run"
    records = tuple(record for id_ in ids for record in by_id[id_])
    names = [by_id[id_][0].cluster for id_ in ids]
    clusters = tuple(name for name in names if name is not None)
    reference, binary = _reference(paths.before, ids)
    if reference is not None and verdict.statistic is None and not _close(reference, verdict.reference.mean):
        return "the records beside accgate.json belong to another run"
    return Sides(tuple(ids), candidate, reference, clusters if len(clusters) == len(ids) else None, records, binary)


def _mean(scores: Sequence[float | None]) -> float:
    """The mean over a sample's repeats; NaN where one of them has no score."""
    points = [score for score in scores if score is not None]
    return sum(points) / len(points) if len(points) == len(scores) else math.nan


def _same(verdict: Verdict, candidate: Floats) -> bool:
    """Whether the records can be those of the verdict: so many samples, with that mean."""
    if len(candidate) != verdict.n:
        return False
    return bool(np.isnan(candidate).any()) or verdict.statistic is not None or _close(candidate, verdict.candidate.mean)


def _close(scores: Floats, mean: float | None) -> bool:
    return mean is None or math.isclose(float(scores.mean()), mean, rel_tol=1e-9, abs_tol=1e-9)


def _reference(path: Path, ids: Sequence[str]) -> tuple[Floats | None, bool]:
    """The reference's score of each sample, None where the file lacks one; and whether all its scores are 0 or 100."""
    scores: dict[str, list[float]] = {}
    for row in read_gzip_lines(path, "score"):
        if row["score"] is not None:
            scores.setdefault(row["id"], []).append(float(row["score"]))
    if not ids or any(id_ not in scores for id_ in ids):
        return None, True
    means = {id_: sum(values) / len(values) for id_, values in scores.items()}
    return np.array([means[id_] for id_ in ids]), is_binary(np.array(list(means.values())))
