"""The evaluation that records make up, whoever wrote them: all of a check, or as many of its first as decide it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from accgate.errors import BadInput
from accgate.evaluation.assignment import Assignment, Evaluation
from accgate.evaluation.reading import is_beyond_unread
from accgate.records import STOPPED, Places, Record, RecordPaths, beginning_of, places_in, read_log, settings_of_run
from accgate.references.judge import Makers
from accgate.result import EngineInfo

Stops = Callable[[Sequence[Record]], bool]
BLOCK = 1 << 20  # bytes
ENGINE = ("name", "version", "hardware")


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


def earlier_evaluation(assignment: Assignment, paths: RecordPaths, stops: Stops | None) -> Evaluation | None:
    """The evaluation that an earlier run finished, so that nothing is left to ask; None where something is.

    Raises
    ------
    BadInput
        When records or settings are damaged.
    """
    if not (paths.records.exists() and paths.settings.exists()):
        return None
    settings = settings_of_run(paths)
    if STOPPED not in settings and _lines_in(paths.records) < assignment.total:  # quicker than to read them
        return None
    records = read_log(paths.records)
    if not records or records.figures.failed.any():  # failed samples are asked again
        return None
    places = places_in(assignment.task.samples.ids, assignment.repeats, records)
    if (places < 0).any():  # of another plan, as whoever resumes is told
        return None

    def decides(first: Sequence[Record]) -> bool:
        return stops is not None and not is_beyond_unread(first, assignment.max_unread) and stops(first)

    order, makers = np.argsort(places), Makers.of_settings(settings)
    return finished_evaluation(assignment, records.take(order), places[order], decides, makers)


def _lines_in(path: Path) -> int:
    with path.open("rb") as file:
        return sum(block.count(b"\n") for block in iter(partial(file.read, BLOCK), b""))


def engine_of(settings: Mapping[str, Any], paths: RecordPaths) -> EngineInfo:
    """The engine that the settings beside records name.

    Raises
    ------
    BadInput
        When they name none.
    """
    engine = settings.get("engine")
    if not isinstance(engine, dict) or any(not isinstance(engine.get(key), str) for key in ENGINE):
        raise BadInput(f"{paths.settings}: names no engine; run the gate again")
    return EngineInfo(*(engine[key] for key in ENGINE))
