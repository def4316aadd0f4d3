"""When a running check may stop, and how near that is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from accgate.decision.comparison import is_settled
from accgate.decision.evidence import evidence_of, whole_clusters
from accgate.decision.progress import limits_of
from accgate.design import FEWEST_CLUSTERS
from accgate.evaluation import Comparison, Limits, Watch
from accgate.planning import Check
from accgate.records import Record, Scores
from accgate.stats import SEQUENTIAL_TESTS, Correction


class EarlyStop:
    """Whether the beginning of a check decides it, at this alpha; it keeps what it was asked about last."""

    def __init__(self, check: Check, *, correction: Correction, checks: int) -> None:
        self._check, self._correction, self._checks = check, correction, checks
        self._latest: Sequence[Record] = ()

    def __call__(self, records: Sequence[Record]) -> bool:
        """Whether it is decided, whatever its failed samples would score."""
        self._latest = records
        if not whole_clusters(self._check.task.samples, len(records) // self._check.repeats):
            return False
        evidence = evidence_of(self._check, records, stopped=True)
        return is_settled(evidence, correction=self._correction, checks=self._checks)

    def limits(self) -> Limits | None:
        """How near the beginning that was judged last is to a decision; None where nothing says that."""
        if not whole_clusters(self._check.task.samples, len(self._latest) // self._check.repeats):
            return None
        alpha = self._check.design.alpha / (1 if self._correction == "none" else self._checks)
        return limits_of(evidence_of(self._check, self._latest, stopped=True), alpha)


def early_stop(check: Check, *, correction: Correction, checks: int) -> EarlyStop | None:
    """What stops the evaluation of a check early; None where its test takes all samples."""
    clusters = {sample.cluster for sample in check.task.samples if sample.cluster is not None}
    few = bool(clusters) and len(clusters) < FEWEST_CLUSTERS
    if check.test not in SEQUENTIAL_TESTS or few or not isinstance(check.reference, Scores):
        return None
    return EarlyStop(check, correction=correction, checks=checks)


def watch_of(check: Check, *, correction: Correction, checks: int, stops: bool = True) -> Watch:
    """What may end the evaluation of a check early, unless not `stops`, and what its scores are held against."""
    stop = early_stop(check, correction=correction, checks=checks) if stops else None
    reference = check.reference if check.task.aggregate is None else None
    scores: Mapping[str, float] | float | None = None
    if isinstance(reference, Scores):
        scores = dict(zip(reference.ids, map(float, reference.averaged()), strict=True))
    elif reference is not None:
        scores = reference.mean
    return Watch(stop, Comparison(scores) if stop is None else Comparison(scores, stop.limits))
