"""An evaluation read again from a run's folder: its records, each once, and the settings that they were made with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from accgate.errors import BadInput
from accgate.evaluation.assignment import Evaluation
from accgate.evaluation.finished import Stops, engine_of, finished_evaluation
from accgate.evaluation.resume import check_points, settings_of
from accgate.evaluation.run import EvaluatedCheck, EvaluatedRun, assignment_of
from accgate.planning.checks import Check
from accgate.records import (
    NOT_COMPARED,
    RecordPaths,
    in_fixed_order,
    paths_of,
    read_log,
    settings_of_run,
)
from accgate.references.judge import Makers
from accgate.references.store import PARTS, changed_parts, is_rescored
from accgate.result import EngineInfo
from accgate.tasks import recorded_samples
from accgate.text import some_of

StopRuleOf = Callable[[Check], Stops | None]


def read_evaluation(checks: Sequence[Check], out: Path, stop_rule_of: StopRuleOf) -> EvaluatedRun:
    """What a run's folder holds of every check, for deciding again.

    `stop_rule_of` gives the rule by which a check may have ended early. Without it, and without its leave, every sample
    must be there.

    Raises
    ------
    BadInput
        For records or settings that are missing, damaged, or not of these checks: which, and how many.
    """
    items, engines = [], {}
    for planned in checks:
        paths = paths_of(out, *planned.key)
        if not paths.records.exists():
            items.append(EvaluatedCheck(planned, problem="the run's folder has no records of it"))
            continue
        settings = settings_of_run(paths)
        engines[planned.model] = engine_of(settings, paths)
        check = _with_samples(planned, settings, paths)
        _refuse_other_settings(check, settings, engines[check.model], paths)
        items.append(_check_of(check, settings, engines[check.model], paths, stop_rule_of))
    return EvaluatedRun(tuple(items), engines)


def _refuse_other_settings(check: Check, settings: dict[str, Any], info: EngineInfo, paths: RecordPaths) -> None:
    """Refuse records of another model, of other sampling, or of a task that is worded or scored in another way."""
    now = settings_of(assignment_of(check, info))
    keys = {key for key in {*settings, *now} - NOT_COMPARED - {"records"} if not key.startswith("task ")}
    changed = sorted(key for key in keys if settings.get(key) != now.get(key))
    then = {part: str(settings.get(f"task {part}")) for part in check.task.fingerprint}
    if is_rescored(then, check.task.fingerprint):
        changed += changed_parts(then, check.task.fingerprint)
    if changed:
        raise BadInput(
            f"{paths.settings}: the records were made with other settings than the rules and models have: "
            f"{', '.join(changed)}; run the gate again"
        )


def _with_samples(check: Check, settings: dict[str, Any], paths: RecordPaths) -> Check:
    """A check of samples that no reference names, with those of its records; it must have as many as were planned.

    Fewer are only taken where a theta has to be reached: the decision then says whether they were enough.
    """
    task = check.task
    if not task.is_unread:
        return check
    samples = recorded_samples(read_log(paths.records))
    count, seed = len(task.samples), check.design.seed
    if len(samples) != count and (check.design.theta is None or len(samples) > count):
        raise BadInput(
            f"{paths.records}: holds {len(samples)} samples, but {count} are planned; where the dataset has no more, "
            "set num_samples"
        )
    fingerprint = {part: str(settings.get(f"task {part}")) for part in PARTS}
    return replace(check, task=replace(task.of(samples.in_order(seed)), fingerprint=fingerprint))


def _check_of(
    check: Check, settings: dict[str, Any], info: EngineInfo, paths: RecordPaths, stop_rule_of: StopRuleOf
) -> EvaluatedCheck:
    """The check with its records; where some are missing that it needs, with that reason instead."""
    records = read_log(paths.records)
    check_points(records, check.task, paths)
    present, places = in_fixed_order(check.task.samples.ids, check.repeats, records)
    if unknown := sorted(set(present.figures.ids.take(np.flatnonzero(places < 0)))):
        raise BadInput(f"{paths.records}: {len(unknown)} ids belong to no sample of this check: {some_of(unknown)}")
    assignment = assignment_of(check, info)
    makers = Makers.of_settings(settings)
    evaluation = finished_evaluation(assignment, present, places, stop_rule_of(check), makers)
    if evaluation is not None:
        return EvaluatedCheck(check, evaluation)
    lacking = np.delete(np.arange(assignment.total), places)
    missing = check.task.samples.ids.take(np.unique(lacking // check.repeats))
    problem = (
        f"{paths.records}: {len(lacking)} of {assignment.total} records are missing ({some_of(missing)}), and "
        "those that are there do not end the check early"
    )
    return EvaluatedCheck(check, Evaluation(present, complete=False, makers=makers), problem)
