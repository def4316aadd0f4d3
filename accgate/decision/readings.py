"""How the replies of a check were read, on both sides, and the checks that this alone makes an error."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from accgate.evaluation.reading import is_silence_alone, silence_cause, unread_problem
from accgate.evaluation.sameness import sameness_fault, sameness_note
from accgate.planning.checks import Check
from accgate.records.figures import Figures, readings_of
from accgate.records.file import Record
from accgate.records.scores import Scores
from accgate.verdict import Reason, Verdict, texts_of


def with_readings(verdict: Verdict, check: Check, records: Sequence[Record]) -> Verdict:
    """The verdict with how the replies of both sides were read; an error where too many hold no answer.

    Where the reference's replies were read, a loss by replies that are empty or cut off stays a regression, with that
    cause. No run passes against a reference whose scores are all the worst, unless it says that its replies were read.
    """
    before, now = check.reference_readings, readings_of(records)
    figures = Figures.of(records)
    unread = figures.ids.take(np.flatnonzero(figures.unread))
    verdict = replace(
        verdict,
        reference=replace(verdict.reference, readings=before),
        candidate=replace(verdict.candidate, readings=now),
        lost_unread=None if verdict.lost is None or now is None else int((unread.places(verdict.flips) >= 0).sum()),
    )
    problem = unread_problem(records, check.max_unread)
    if problem is None and (fault := sameness_fault(check.task, records)) is not None:
        problem = (fault,)
    if problem is not None and verdict.verdict == "regression" and is_silence_alone(check, records):
        return verdict.explained_by((*texts_of("unread", (silence_cause(records),)), *verdict.causes))
    if problem is not None:
        verdict = replace(
            verdict,
            verdict="error",
            theta=None,
            gamma=None,
            p_value=None,
            p_mid=None,
            p_adjusted=None,
            interval=None,
        )
        return verdict.explained_by((*texts_of("unread", problem), *verdict.causes))
    if (note := sameness_note(records)) is not None:
        verdict = verdict.because(Reason.of("same-answers", text=note))
    if verdict.verdict in ("pass", "inconclusive") and now is not None and before is None and _is_worst(check):
        return replace(verdict, verdict="inconclusive").because(Reason.of("unread-reference"))
    return verdict


def _is_worst(check: Check) -> bool:
    reference, worst = check.reference, check.task.metric.worst
    return isinstance(reference, Scores) and worst is not None and bool((reference.values == worst).all())
