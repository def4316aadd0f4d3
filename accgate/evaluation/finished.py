"""The evaluation that records make up, whoever wrote them: all of a check, or as many of its first as decide it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from accgate.evaluation.assignment import Assignment, Evaluation
from accgate.records import Places, Record, beginning_of
from accgate.references import Makers

Stops = Callable[[Sequence[Record]], bool]


def finished_evaluation(
    assignment: Assignment, present: Sequence[Record], places: Places, stops: Stops | None, makers: Makers
) -> Evaluation | None:
    """The evaluation of an assignment; None where records are missing that it needs.

    `present` are its records in the fixed order, at these places of it. Where later ones are missing, the beginning
    must decide the check by its rule. What is missing cannot change the verdict: a sequential test goes by the first
    sample after which it decides.
    """
    if assignment.is_beyond(present):
        return Evaluation(present, complete=False, makers=makers)
    if len(present) == assignment.total:
        return Evaluation(present, complete=True, makers=makers)
    count = beginning_of(places, assignment.repeats)
    first = present[:count]
    if stops is None or not first or not stops(first):
        return None
    return Evaluation(first, complete=True, stopped=True, beyond=present[count:], makers=makers)
