"""What an earlier run left: which of its records a resumed run keeps, and the settings that they were made with."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from accgate.engines import Engine, identity_of
from accgate.errors import BadInput, writing
from accgate.evaluation.assignment import Assignment
from accgate.evaluation.files import changed_content
from accgate.records import (
    MERGED,
    NOT_COMPARED,
    SERVED,
    STOPPED,
    Figures,
    Record,
    RecordPaths,
    Scores,
    check_bounds,
    places_in,
    read_log,
    settings_of_run,
    write_settings,
)
from accgate.tasks import Task
from accgate.text import some_of


def refuse_unfinished(paths: RecordPaths) -> None:
    """Refuse to start anew over the records of an unfinished run; finished, merged and failed ones may go.

    Raises
    ------
    BadInput
        When there are such records: how many, and how to go on.
    """
    scored = _scored_records(paths)
    settings = settings_of_run(paths) if scored else {}
    if scored and MERGED not in settings and len(scored) not in (settings.get("records"), settings.get(STOPPED)):
        raise BadInput(
            f"{paths.records}: holds {len(scored):,} records of an unfinished run; go on with --resume, name another "
            "--out, or delete it"
        )


def _scored_records(paths: RecordPaths) -> Sequence[Record]:
    if not paths.records.exists():
        return []
    records = read_log(paths.records)
    return records.take(np.flatnonzero(~records.figures.failed))


def resumable_records(assignment: Assignment, paths: RecordPaths, *, resume: bool) -> Sequence[Record]:
    """The scored records that a resumed run keeps; failed ones are asked again. A finished run starts anew.

    Raises
    ------
    BadInput
        When unfinished records exist and `resume` was not asked for, or when the earlier run had other settings
        or samples: what differs.
    """
    if not resume:
        refuse_unfinished(paths)
    scored = _scored_records(paths)
    if not scored or not resume:
        return []
    _check_settings(assignment, paths)
    check_points(scored, assignment.task, paths)
    unknown = int((places_in(assignment.task.samples.ids, assignment.repeats, scored) < 0).sum())
    if unknown:
        raise BadInput(
            f"{paths.records}: {unknown} of {len(scored)} records are not among this run's samples; "
            "the plan changed since: start without --resume in another --out"
        )
    return scored


def check_points(records: Sequence[Record], task: Task, paths: RecordPaths) -> None:
    """Refuse records with a score outside the range of the task's metric.

    Raises
    ------
    BadInput
        Which and how many.
    """
    low, high = task.metric.lowest, task.metric.highest
    figures = Figures.of(records)
    scores = Scores(figures.ids, figures.columns["score"][:, None])
    fix = f"these are the bounds of {task.metric.name}, so the file was changed: delete it, and run again"
    check_bounds(scores, low, high, str(paths.records), fix)


def _check_settings(assignment: Assignment, paths: RecordPaths) -> None:
    earlier, now = settings_of_run(paths), settings_of(assignment)
    changed = sorted(key for key in {*earlier, *now} - NOT_COMPARED if earlier.get(key) != now.get(key))
    if changed:
        raise BadInput(
            f"{paths.settings}: {', '.join(changed)} changed since the run began; undo that, or start without "
            "--resume in another --out"
        )
    if files := changed_content(earlier, now):
        raise BadInput(
            f"{paths.settings}: the content of {some_of(files)} changed since the run began: answers of two models are "
            "never mixed; put the file back, or start without --resume in another --out"
        )


def expect_same_server(engine: Engine, paths: RecordPaths) -> None:
    """Tell an engine who answered the records that a resumed run keeps: replies of another model are never mixed in.

    Raises
    ------
    BadInput
        When its server already names another.
    """
    if (identity := identity_of(engine)) is not None and isinstance(
        served := settings_of_run(paths).get(SERVED), Mapping
    ):
        identity.expect(served, str(paths.settings))


class SettingsFile:
    """The settings beside the records of an evaluation, with who answers as far as the engine's replies say it."""

    def __init__(self, engine: Engine, assignment: Assignment, paths: RecordPaths) -> None:
        self._identity, self._assignment, self._paths = identity_of(engine), assignment, paths
        self._served: dict[str, Any] = {}
        self._revision: int | None = None

    def settings(self) -> dict[str, Any]:
        """The settings as they are now."""
        served = {} if self._identity is None else self._identity.settings()
        return {**settings_of(self._assignment), **({SERVED: served} if served else {})}

    def write(self) -> None:
        """Write them."""
        settings = self.settings()
        self._served = settings.get(SERVED, {})
        write_settings(self._paths, settings)

    def update(self) -> None:
        """Write them again where replies said more of who gives them.

        Raises
        ------
        CannotEvaluate
            When they cannot be written.
        """
        if self._identity is None or self._identity.revision == self._revision:
            return
        if self._identity.settings() != self._served:
            with writing(self._paths.settings):
                self.write()
        self._revision = self._identity.revision


def settings_of(assignment: Assignment) -> dict[str, Any]:
    """The settings of an assignment, as JSON holds them."""
    fingerprint = {f"task {part}": digest for part, digest in assignment.task.fingerprint.items()}
    settings = {**assignment.settings, **fingerprint, "records": assignment.total}
    return dict(json.loads(json.dumps(settings, default=str)))
