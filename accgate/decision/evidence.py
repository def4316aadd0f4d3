"""The scores, reference and design that a check is decided on."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from accgate import metrics
from accgate.design import Choice, Data, Design, Mean, Target, choose_test, given_of, oriented
from accgate.errors import BadInput
from accgate.records.file import Record
from accgate.records.membership import clusters_of
from accgate.records.pairing import pair_scores
from accgate.records.scores import Codes, Floats, Scores
from accgate.stats.answers import Repeats, repeats_of
from accgate.stats.sequential import places_of
from accgate.stats.statistics import Rows

if TYPE_CHECKING:
    from accgate.design import Figure
    from accgate.planning.checks import Check
    from accgate.tasks import Samples


@dataclass(frozen=True)
class SampleStatistic:
    """A statistic that is no mean of scores, with both sides' rows.

    `lowest` and `highest` bound its value, points; None where nothing does.
    """

    function: Callable[[Rows], float]
    reference: Rows
    candidate: Rows
    method: Literal["influence", "bootstrap"] = "influence"
    name: str = "statistic"
    resamples: int = 9999
    higher_score_is_better: bool = True  # of the single scores, whatever the statistic's direction
    lowest: float | None = None
    highest: float | None = None


@dataclass(frozen=True)
class Evidence:
    """The data that one check is decided on.

    A candidate's failed samples are NaN; `worst` and `best` are the scores that bracket them, None where the
    metric has no bounds. `chance` is the mean that guessing gives, where the task has one. `clusters` has the cluster
    of each of the candidate's samples, as a number. With `n_max` the candidate holds the first samples of a run of that
    many. `binary` is False where scores between 0 and 100 are possible. With a `statistic` its value is tested instead
    of the scores' mean. `groups` maps the id of each sample of the whole run to its group, empty for a sample without
    one; None where there are no groups. `builds` counts the builds that made the reference's runs.
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
    builds: int = 1

    @property
    def answers(self) -> tuple[int, int]:
        """Answers to one sample in the reference and in the candidate. A mean or a target counts as one answer."""
        reference = self.reference.values.shape[1] if isinstance(self.reference, Scores) else 1
        return reference, self.candidate.values.shape[1]

    @property
    def is_paired(self) -> bool:
        """Whether the same samples are compared one by one."""
        return isinstance(self.reference, Scores) and self.design.test != "two-sample"

    @property
    def may_stop_early(self) -> bool:
        """Whether the check asks for a test that may stop early."""
        return self.is_paired and self.statistic is None and self.design.may_stop_early

    @cached_property
    def cluster_count(self) -> int | None:
        """Number of clusters, if there are any."""
        return None if self.clusters is None else len(np.unique(self.clusters))

    @property
    def data(self) -> Data:
        """What the choice of a test asks of these scores."""
        reference, candidate, n = self.reference, self.candidate, self.candidate.n
        binary = self.binary and isinstance(reference, Scores) and reference.is_binary and candidate.is_binary
        return Data(
            reference=given_of(reference),
            n=n,
            binary=binary,
            answers=self.answers,
            clusters=self.cluster_count,
            is_whole=self.n_max is None or n >= self.n_max,
            statistic=None if self.statistic is None else self.statistic.method,
        )

    @cached_property
    def choice(self) -> Choice:
        """The test that decides it.

        Raises
        ------
        BadInput
            When the data lack what the design's test needs.
        """
        return choose_test(self.design, self.data)

    @property
    def bounds(self) -> tuple[float, float] | None:
        """Least and largest possible score. It is None where the metric has no bounds, or a score is beyond them."""
        if self.worst is None or self.best is None:
            return None
        low, high = sorted((self.worst, self.best))
        assert isinstance(self.reference, Scores)
        values = np.concatenate([self.reference.means(), self.candidate.means()])
        return (low, high) if float(values.min()) >= low and float(values.max()) <= high else None

    @cached_property
    def before(self) -> Scores:
        """The reference's scores in the candidate's order."""
        assert isinstance(self.reference, Scores)
        return pair_scores(self.reference, self.candidate)

    def better(self, value: Figure) -> Figure:
        """Turn a mean, a difference or an array so that higher is better.

        A value that is turned twice is itself again.
        """
        return oriented(value, self.design.higher_is_better)

    @cached_property
    def differences(self) -> Floats:
        """candidate - reference of each sample in the candidate's order, points, higher better."""
        return self.better(self.candidate.means() - self.before.means())

    @property
    def changes(self) -> Floats | None:
        """How each sample's score changed, higher better. It is None for samples that are not paired."""
        if self.statistic is None:
            return self.differences if self.is_paired else None
        return oriented(self.candidate.means() - self.before.means(), self.statistic.higher_score_is_better)

    @property
    def ends(self) -> tuple[float | None, float | None]:
        """The worst and the best possible score or statistic, higher better. It is None for one without a bound."""
        worst, best = self.worst, self.best
        if self.statistic is not None:
            low, high = self.statistic.lowest, self.statistic.highest
            worst, best = (low, high) if self.design.higher_is_better else (high, low)
        floor, ceiling = (None if end is None else self.better(end) for end in (worst, best))
        if floor is not None and ceiling is not None and floor > ceiling:
            return ceiling, floor
        return floor, ceiling

    @property
    def reference_value(self) -> float:
        """What the reference gives, its mean or its statistic, higher better."""
        if self.statistic is not None:
            return self.value_of(self.statistic.reference)
        return self.better(self.reference.mean)

    def value_of(self, rows: Rows) -> float:
        """Return the statistic of such rows, higher better."""
        assert self.statistic is not None
        return self.better(float(self.statistic.function(rows)))

    @property
    def loss(self) -> float:
        """The most points that one sample's score, or the statistic, can lose.

        It is infinite where nothing bounds the scores.
        """
        floor, ceiling = self.ends
        return math.inf if floor is None or ceiling is None else ceiling - floor

    @property
    def sides(self) -> tuple[Floats, Floats]:
        """The answers of reference and candidate, turned so that 100 is right. An answer that failed is NaN."""
        higher = self.design.higher_is_better if self.statistic is None else self.statistic.higher_score_is_better
        before, now = self.before.values, self.candidate.values
        return (before, now) if higher else (100.0 - before, 100.0 - now)

    @property
    def repeats(self) -> Repeats:
        """The answers of both sides, all of them 0 or 100, higher better."""
        return repeats_of(*self.sides, self.clusters, n_max=self.n_max)

    def by_cluster(self) -> Evidence:
        """Return the evidence with the samples of each cluster together.

        Clusters keep the order in which they first appear, as sequential tests look at them.
        """
        codes = self.clusters
        if codes is None or self.statistic is not None:
            return self
        order = np.argsort(places_of(codes), kind="stable")
        if np.array_equal(order, np.arange(len(codes))):
            return self
        return replace(self, candidate=self.candidate.take(self.candidate.ids.take(order)), clusters=codes[order])

    def fill(self, score: float | None) -> Evidence:
        """Give every failed sample this score, or NaN for None."""
        if not self.candidate.failed:
            return self
        return replace(self, candidate=self.candidate.fill(math.nan if score is None else score))

    def first(self, n: int) -> Evidence:
        """Return the evidence of the first n of its paired samples."""
        assert isinstance(self.reference, Scores)
        ids, clusters = self.candidate.ids[:n], None if self.clusters is None else self.clusters[:n]
        return replace(self, candidate=self.candidate.take(ids), reference=self.reference.take(ids), clusters=clusters)


def evidence_of(check: Check, records: Sequence[Record], *, stopped: bool = False) -> Evidence:
    """Build the evidence of a check from its records.

    Of a run that was `stopped` only whole clusters count.

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
    bracketed = check.task.content.aggregate is None
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
        clusters=clusters_of(reference, candidate) if isinstance(reference, Scores) else None,
        n_max=len(check.task.samples),
        binary=not isinstance(check.reference, Scores) or check.reference.is_binary,
        statistic=statistic,
        chance=check.task.content.chance,
        groups=check.task.groups,
        builds=1 if check.recorded is None else check.recorded.about.builds,
    )


def _statistic(check: Check, records: Sequence[Record], ids: Sequence[str]) -> SampleStatistic | None:
    """Return the task's statistic with the rows of both sides.

    It is None where a sample failed.

    Raises
    ------
    BadInput
        When the records of a side lack a value that it needs.
    """
    statistic = check.task.definition.statistic
    assert statistic is not None
    assert check.recorded is not None
    if any(record.score is None for record in records):
        return None
    wanted = set(ids)
    recorded = [record for record in check.recorded.records() if record.id in wanted]
    try:
        candidate, reference = statistic.encode(records, recorded)
    except metrics.UnusableRecords as error:
        raise BadInput(f"{check.name}: {error}") from error
    return SampleStatistic(
        function=statistic.statistic,
        reference=reference,
        candidate=candidate,
        method=check.design.statistic_method,
        name=statistic.name,
        higher_score_is_better=check.task.metric.higher_is_better,
        lowest=statistic.lowest,
        highest=statistic.highest,
    )


def whole_clusters(samples: Samples, count: int) -> Samples:
    """Return the first samples, without a cluster that goes on past them."""
    if count < len(samples) and samples[count].cluster is not None:
        while count and samples[count - 1].cluster == samples[count].cluster:
            count -= 1
    return samples[:count]
