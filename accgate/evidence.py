"""What the records of a check say: the evidence that it is decided on, whole or as far as a run has come."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from accgate.assignment import Judge
from accgate.checks import Check
from accgate.clusters import clusters_of
from accgate.decide import is_settled
from accgate.design import FEWEST_CLUSTERS
from accgate.records import Record
from accgate.references import scores_of
from accgate.scores import Scores
from accgate.stats.names import SEQUENTIAL_TESTS, Correction
from accgate.tasks.samples import Sample
from accgate.verdict import Evidence


def evidence_of(check: Check, records: Sequence[Record], *, stopped: bool = False) -> Evidence:
    """The evidence of a check; of a run that was stopped, that of its whole clusters.

    Raises
    ------
    BadInput
        When a sample has no record, or an uneven number of repeats.
    """
    assert check.reference is not None
    samples: Sequence[Sample] = check.task.samples
    if stopped:
        samples = _whole_clusters(samples, len(records) // check.repeats)
        records = records[: len(samples) * check.repeats]
    ids = [sample.id for sample in samples]
    candidate = scores_of(records, check.task.of(samples))
    reference = check.reference.taken(ids) if isinstance(check.reference, Scores) else check.reference
    return Evidence(
        candidate=candidate,
        reference=reference,
        design=check.design,
        model=check.model,
        task=check.task.name,
        worst=check.task.metric.worst,
        best=check.task.metric.best,
        clusters=clusters_of(reference, candidate, None) if isinstance(reference, Scores) else None,
        n_max=len(check.task.samples),
        binary=not isinstance(check.reference, Scores) or bool(np.isin(check.reference.averaged(), (0.0, 100.0)).all()),
    )


def _whole_clusters(samples: Sequence[Sample], count: int) -> Sequence[Sample]:
    """The first samples without those of a cluster that goes on past them."""
    if count < len(samples) and samples[count].cluster is not None:
        while count and samples[count - 1].cluster == samples[count].cluster:
            count -= 1
    return samples[:count]


def early_judge(check: Check, *, correction: Correction, checks: int) -> Judge | None:
    """What stops the evaluation of a check early; None where its test takes all samples."""
    clusters = {sample.cluster for sample in check.task.samples if sample.cluster is not None}
    few = bool(clusters) and len(clusters) < FEWEST_CLUSTERS
    if check.test not in SEQUENTIAL_TESTS or few or not isinstance(check.reference, Scores):
        return None

    def judge(records: Sequence[Record]) -> bool:
        samples = _whole_clusters(check.task.samples, len(records) // check.repeats)
        if not samples:
            return False
        return is_settled(evidence_of(check, records, stopped=True), correction=correction, checks=checks)

    return judge
