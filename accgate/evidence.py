"""What the records of a check say: the evidence that it is decided on, whole or as far as a run has come."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from accgate import metrics
from accgate.assignment import Judge
from accgate.checks import Check
from accgate.clusters import clusters_of
from accgate.decide import is_settled
from accgate.design import FEWEST_CLUSTERS
from accgate.errors import BadInput
from accgate.records import Record
from accgate.references import scores_of
from accgate.scores import Scores
from accgate.standing import Comparison, Limits, limits_of
from accgate.stats.names import SEQUENTIAL_TESTS, Correction
from accgate.tasks.samples import Sample
from accgate.verdict import Evidence, SampleStatistic


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
    bracketed = check.task.aggregate is None
    statistic = None if bracketed else _statistic(check, records, ids)
    metric = check.task.metric
    return Evidence(
        candidate=candidate,
        reference=reference,
        design=check.design,
        model=check.model,
        task=check.task.name,
        worst=metric.worst if bracketed else None,  # what a failed sample could do to a statistic, nobody knows
        best=metric.best if bracketed else None,
        clusters=clusters_of(reference, candidate, None) if isinstance(reference, Scores) else None,
        n_max=len(check.task.samples),
        binary=not isinstance(check.reference, Scores) or bool(np.isin(check.reference.averaged(), (0.0, 100.0)).all()),
        statistic=statistic,
    )


def _statistic(check: Check, records: Sequence[Record], ids: Sequence[str]) -> SampleStatistic | None:
    """What the task's statistic needs of both sides; None where a sample failed, so that there is none.

    Raises
    ------
    BadInput
        When the records of a side lack what it needs.
    """
    assert check.task.aggregate is not None
    assert check.recorded is not None
    if any(record.score is None for record in records):
        return None
    aggregate = metrics.aggregate(check.task.aggregate, **check.task.aggregate_options)
    wanted = set(ids)
    known = [record for record in check.recorded.records() if record.id in wanted]
    try:
        candidate, reference = aggregate.encode(records, known)
    except metrics.UnusableRecords as error:
        raise BadInput(f"{check.model} / {check.task.name}: {error}") from error
    method: Literal["influence", "bootstrap"] = "bootstrap" if check.design.test == "bootstrap" else "influence"
    return SampleStatistic(
        aggregate.statistic,
        reference,
        candidate,
        method,
        aggregate.name,
        higher_score_is_better=check.task.metric.higher_is_better,
    )


def _whole_clusters(samples: Sequence[Sample], count: int) -> Sequence[Sample]:
    """The first samples without those of a cluster that goes on past them."""
    if count < len(samples) and samples[count].cluster is not None:
        while count and samples[count - 1].cluster == samples[count].cluster:
            count -= 1
    return samples[:count]


class EarlyJudge:
    """Whether the beginning of a check decides it, at this alpha; it keeps what it was asked about last."""

    def __init__(self, check: Check, *, correction: Correction, checks: int) -> None:
        self._check, self._correction, self._checks = check, correction, checks
        self._latest: Sequence[Record] = ()

    def __call__(self, records: Sequence[Record]) -> bool:
        """Whether it is decided, whatever its failed samples would score."""
        self._latest = records
        if not _whole_clusters(self._check.task.samples, len(records) // self._check.repeats):
            return False
        evidence = evidence_of(self._check, records, stopped=True)
        return is_settled(evidence, correction=self._correction, checks=self._checks)

    def limits(self) -> Limits | None:
        """How near the beginning that was judged last is to a decision; None where nothing says that."""
        if not _whole_clusters(self._check.task.samples, len(self._latest) // self._check.repeats):
            return None
        alpha = self._check.design.alpha / (1 if self._correction == "none" else self._checks)
        return limits_of(evidence_of(self._check, self._latest, stopped=True), alpha)


def early_judge(check: Check, *, correction: Correction, checks: int) -> EarlyJudge | None:
    """What stops the evaluation of a check early; None where its test takes all samples."""
    clusters = {sample.cluster for sample in check.task.samples if sample.cluster is not None}
    few = bool(clusters) and len(clusters) < FEWEST_CLUSTERS
    if check.test not in SEQUENTIAL_TESTS or few or not isinstance(check.reference, Scores):
        return None
    return EarlyJudge(check, correction=correction, checks=checks)


def comparison_of(check: Check, judge: Judge | None) -> Comparison:
    """What the scores of a check are held against while it runs."""
    limits = judge.limits if isinstance(judge, EarlyJudge) else None
    reference = check.reference if check.task.aggregate is None else None
    known: Mapping[str, float] | float | None = None
    if isinstance(reference, Scores):
        known = dict(zip(reference.ids, map(float, reference.averaged()), strict=True))
    elif reference is not None:
        known = reference.mean
    return Comparison(known) if limits is None else Comparison(known, limits)
