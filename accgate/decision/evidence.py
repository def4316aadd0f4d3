"""The evidence that a check is decided on: its scores, those of its reference, and its design."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from accgate import metrics
from accgate.design import Design, Mean, Target
from accgate.errors import BadInput
from accgate.records import Codes, Record, Scores, clusters_of
from accgate.stats import Rows

if TYPE_CHECKING:
    from accgate.planning.checks import Check
    from accgate.tasks import Samples


@dataclass(frozen=True)
class SampleStatistic:
    """A statistic that is no mean of scores, with its data of each sample on both sides, row by row.

    `lowest` and `highest` bound its value, points; None where nothing does.
    """

    function: Callable[[Rows], float]
    reference: Rows
    candidate: Rows
    method: Literal["influence", "bootstrap"] = "influence"
    name: str = "statistic"
    higher_score_is_better: bool = True  # of the single scores, whatever the statistic's direction
    lowest: float | None = None
    highest: float | None = None


@dataclass(frozen=True)
class Evidence:
    """The data that one check is decided on.

    A candidate's failed samples are NaN; `worst` and `best` are the scores that bracket them, None where the
    metric has no bounds. `chance` is the mean that guessing gives, where the task has one. `clusters` has the cluster
    of each of the candidate's samples, as a number. With `n_max` the candidate holds the first samples of a run of that
    many. `binary` False says that scores between 0 and 100 may come.
    With a `statistic` its value is tested, and not the scores' mean. `groups` has the group of each sample of the whole
    run by its id, empty for one without; None where there are no groups.
    """

    candidate: Scores
    reference: Scores | Mean | Target
    design: Design
    model: str | None = None
    task: str | None = None
    worst: float | None = 0.0
    best: float | None = 100.0
    clusters: Codes | None = None
    n_max: int | None = None
    binary: bool = True
    statistic: SampleStatistic | None = None
    chance: float | None = None
    groups: Mapping[str, str] | None = None

    @property
    def answers(self) -> tuple[int, int]:
        """Answers to one sample in the reference and in the candidate; a reference without samples counts as one."""
        reference = self.reference.values.shape[1] if isinstance(self.reference, Scores) else 1
        return reference, self.candidate.values.shape[1]

    def fill(self, score: float | None) -> Evidence:
        """The same with every failed sample at this score; None where nothing bounds it."""
        if not self.candidate.failed:
            return self
        return replace(self, candidate=self.candidate.fill(math.nan if score is None else score))

    def first(self, n: int) -> Evidence:
        """The evidence of the first n of its paired samples, of the same run."""
        assert isinstance(self.reference, Scores)
        ids, clusters = self.candidate.ids[:n], None if self.clusters is None else self.clusters[:n]
        return replace(self, candidate=self.candidate.take(ids), reference=self.reference.take(ids), clusters=clusters)


def evidence_of(check: Check, records: Sequence[Record], *, stopped: bool = False) -> Evidence:
    """The evidence of a check; of a run that was stopped, that of its whole clusters.

    Raises
    ------
    BadInput
        When a sample has no record, or an uneven number of repeats.
    """
    from accgate.references.store import scores_of

    assert check.reference is not None
    samples = check.task.samples
    if stopped:
        samples = whole_clusters(samples, len(records) // check.repeats)
        records = records[: len(samples) * check.repeats]
    ids = samples.ids
    candidate = scores_of(records, check.task.of(samples))
    reference = check.reference.take(ids) if isinstance(check.reference, Scores) else check.reference
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
        binary=not isinstance(check.reference, Scores) or check.reference.is_binary,
        statistic=statistic,
        chance=check.task.chance,
        groups=check.task.groups,
    )


def _statistic(check: Check, records: Sequence[Record], ids: Sequence[str]) -> SampleStatistic | None:
    """The task's statistic and its data of both sides; None where a sample failed, so that it has no value.

    Raises
    ------
    BadInput
        When the records of a side lack a value that it needs.
    """
    assert check.task.aggregate is not None
    assert check.recorded is not None
    if any(record.score is None for record in records):
        return None
    aggregate = metrics.aggregate(check.task.aggregate, **check.task.aggregate_options)
    wanted = set(ids)
    recorded = [record for record in check.recorded.records() if record.id in wanted]
    try:
        candidate, reference = aggregate.encode(records, recorded)
    except metrics.UnusableRecords as error:
        raise BadInput(f"{check.name}: {error}") from error
    method: Literal["influence", "bootstrap"] = "bootstrap" if check.design.test == "bootstrap" else "influence"
    higher = check.task.metric.higher_is_better
    return SampleStatistic(
        function=aggregate.statistic,
        reference=reference,
        candidate=candidate,
        method=method,
        name=aggregate.name,
        higher_score_is_better=higher,
        lowest=aggregate.lowest,
        highest=aggregate.highest,
    )


def whole_clusters(samples: Samples, count: int) -> Samples:
    """The first samples without those of a cluster that goes on past them."""
    if count < len(samples) and samples[count].cluster is not None:
        while count and samples[count - 1].cluster == samples[count].cluster:
            count -= 1
    return samples[:count]
