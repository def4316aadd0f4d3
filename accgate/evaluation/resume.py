"""The records that a resumed run keeps, and their settings."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from typing import Any

import numpy as np

from accgate.engines import Engine
from accgate.engines.identity import Identity, identity_of
from accgate.errors import BadInput, writing
from accgate.evaluation.assignment import Assignment
from accgate.evaluation.files import changed_content
from accgate.evaluation.scoring import ByJudge, OtherJudge, Scoring
from accgate.inputs.paths import table_in
from accgate.records.figures import Figures
from accgate.records.file import (
    JUDGE_SERVED,
    MEASURED,
    MERGED,
    NOT_COMPARED,
    SERVED,
    STOPPED,
    Record,
    RecordPaths,
    settings_of_run,
    write_settings,
)
from accgate.records.log import RecordLog, places_in, read_log
from accgate.records.scores import Scores, check_bounds
from accgate.references.judge import Makers
from accgate.tasks import Task
from accgate.text import count_of, differences, path_text, some_of

ANEW = "start without --resume in another --out"


def refuse_unfinished(paths: RecordPaths) -> None:
    """Refuse to start anew over scored records of an unfinished run.

    Records of finished and merged runs, and failed records, may be removed.

    Raises
    ------
    BadInput
        When there are such records, with their number and how to go on.
    """
    scored = scored_records(paths)
    settings = settings_of_run(paths) if scored else {}
    if scored and MERGED not in settings and len(scored) not in (settings.get("records"), settings.get(STOPPED)):
        held = f"{count_of(len(scored), 'record')} of an unfinished run"
        raise BadInput(f"{paths.records}: holds {held}; go on with --resume, name another --out, or delete it")


def begin_anew(places: Sequence[RecordPaths]) -> None:
    """Remove the records of finished runs, before anything is asked.

    The run may end before it comes to some of its checks. If their old records stayed, `--resume` would take them for
    records of this run.

    Raises
    ------
    BadInput
        When one of them has records of an unfinished run; nothing is removed then.
    CannotEvaluate
        When they cannot be removed.
    """
    for paths in places:
        refuse_unfinished(paths)
    for paths in places:
        with writing(paths.records, "name another folder with --out, or make this one writable"):
            paths.records.unlink(missing_ok=True)


def scored_records(paths: RecordPaths) -> Sequence[Record]:
    """Return the scored records of a check's file, none where there is no file."""
    if not paths.records.exists():
        return []
    records = read_log(paths.records)
    return records.take(np.flatnonzero(~records.figures.failed))


def resumable_records(assignment: Assignment, paths: RecordPaths) -> Sequence[Record]:
    """Return the scored records that a run keeps.

    Failed samples are asked again. A run that does not resume has removed earlier records (`begin_anew`).

    Raises
    ------
    BadInput
        When the earlier run had other settings or samples.
    """
    if not (scored := scored_records(paths)):
        return []
    _check_settings(assignment, paths)
    check_points(scored, assignment.task, paths)
    unknown = int((places_in(assignment.task.samples.ids, assignment.repeats, scored) < 0).sum())
    if unknown:
        strays = f"{unknown} of {count_of(len(scored), 'record')} belong to no sample of this run"
        raise BadInput(f"{paths.records}: the plan changed, so {strays}; {ANEW}")
    return scored


def check_points(records: Sequence[Record], task: Task, paths: RecordPaths) -> None:
    """Refuse records with a score outside the range of the task's metric.

    Raises
    ------
    BadInput
        Which and how many.
    """
    figures = Figures.of(records)
    scores = Scores(figures.ids, figures.columns["score"][:, None])
    fix = f"these are the bounds of {task.metric.name}, so the file was changed: delete it, and run again"
    check_bounds(scores, task.metric.lowest, task.metric.highest, str(paths.records), fix)


def changed_settings(one: Mapping[str, Any], other: Mapping[str, Any], own: Set[str] = NOT_COMPARED) -> list[str]:
    """Return the keys in which settings of records differ.

    The `own` keys of each run are left out.
    """
    return sorted(key for key in {*one, *other} - own if one.get(key) != other.get(key))


def _check_settings(assignment: Assignment, paths: RecordPaths) -> None:
    earlier, now = settings_of_run(paths), settings_of(assignment)
    if changed := changed_settings(earlier, now):
        tables = [{key: each[key] for key in changed if key in each} for each in (earlier, now)]
        names = ", ".join(path_text(path) for path, _ in differences(tables))
        raise BadInput(f"{paths.settings}: {names} changed since the run began; undo that, or {ANEW}")
    if files := changed_content(earlier, now):
        fault = f"the content of {some_of(files)} changed since the run began: answers of two models are never mixed"
        raise BadInput(f"{paths.settings}: {fault}; put the file back, or {ANEW}")


class Servers:
    """The servers that answer and mark in an evaluation.

    Engines that run in this process have none.
    """

    def __init__(self, engine: Engine, scoring: Scoring | None = None) -> None:
        asked: list[tuple[str, Engine, str]] = [(SERVED, engine, "answered by")]
        if isinstance(scoring, ByJudge):
            asked.append((JUDGE_SERVED, scoring.engine, f"marked by judge {scoring.name} with"))
        # For each its key in the settings beside records, who it is, and what messages say that it did.
        self._all = [(key, who, deed) for key, one, deed in asked if (who := identity_of(one)) is not None]

    def settings(self) -> dict[str, Any]:
        """Return who the servers say that they are, as settings keep it."""
        return {key: table for key, identity, _ in self._all if (table := identity.settings())}

    def compare(self, other: Mapping[str, Any], where: str) -> None:
        """Refuse the settings of records that another model answered, or another judge marked.

        Raises
        ------
        BadInput
            Which, and where.
        """
        for identity, table, deed in self._in(other):
            identity.compare(table, where, deed)

    def expect_same(self, paths: RecordPaths) -> None:
        """Tell the servers who made the records that are kept.

        They then refuse replies of another model or judge.

        Raises
        ------
        BadInput
            When a server already names another.
        """
        for identity, table, deed in self._in(settings_of_run(paths)):
            identity.expect(table, str(paths.settings), deed)

    def _in(self, settings: Mapping[str, Any]) -> Iterator[tuple[Identity, Mapping[str, Any], str]]:
        for key, identity, deed in self._all:
            if table := table_in(settings, key):
                yield identity, table, deed


FaultOf = Callable[[Makers], "str | None"]


class SettingsFile:
    """The settings beside the records of an evaluation, with who answers and who marks.

    `fault_of` says why replies of these makers may not be recorded, None where they may.
    """

    def __init__(self, servers: Servers, assignment: Assignment, paths: RecordPaths, fault_of: FaultOf) -> None:
        self._servers, self._assignment, self._paths, self._fault_of = servers, assignment, paths, fault_of
        self._served: dict[str, Any] = {}

    def settings(self) -> dict[str, Any]:
        """Return the settings as they are now."""
        return {**settings_of(self._assignment), **self._servers.settings()}

    @property
    def makers(self) -> Makers:
        """Who answers and who marks, as far as it shows now."""
        return Makers.of_settings(self.settings())

    def begin(self) -> None:
        """Write the settings before the first record."""
        with writing(self._paths.settings.parent, "name another folder with --out, or make room in this one"):
            self._write()

    def _write(self) -> None:
        self._served = self._servers.settings()
        write_settings(self._paths, self.settings())

    def update(self) -> None:
        """Write the settings again where replies said more about who gives them.

        Raises
        ------
        OtherJudge
            When the judge is not the one that marked the reference.
        CannotEvaluate
            When the settings cannot be written.
        """
        if self._servers.settings() == self._served:
            return
        if (fault := self._fault_of(self.makers)) is not None:
            raise OtherJudge(fault)
        with writing(self._paths.settings):
            self._write()

    def end(self, finished: RecordLog, asked: int, seconds: float, *, ended: bool) -> None:
        """Note how long the new records took, and whether the evaluation `ended` early."""
        settings = self.settings()
        if not finished.figures.cached:  # a cached reply took no time
            settings[MEASURED] = {"records": asked, "seconds": round(seconds, 6)}
        if ended:  # it was decided, or its extraction must be corrected first: there is nothing to resume
            settings[STOPPED] = int((~finished.figures.failed).sum())
        with writing(self._paths.settings):
            write_settings(self._paths, settings)


def settings_of(assignment: Assignment) -> dict[str, Any]:
    """Return the settings of an assignment, as JSON holds them."""
    fingerprint = {f"task {part}": digest for part, digest in assignment.task.fingerprint.items()}
    settings = {**assignment.settings, **fingerprint, "records": assignment.total}
    return dict(json.loads(json.dumps(settings, default=str)))
