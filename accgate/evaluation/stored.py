"""Evaluations made of records that an earlier run wrote."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from accgate.errors import BadInput
from accgate.evaluation.assignment import LONGEST, Assignment, Decides, assignment_of, engine_in
from accgate.evaluation.outcome import EvaluatedCheck, EvaluatedRun, Evaluation
from accgate.evaluation.resume import changed_settings, check_points, settings_of
from accgate.planning.checks import Check
from accgate.records.file import (
    NOT_COMPARED,
    STOPPED,
    Record,
    RecordPaths,
    count_lines,
    paths_of,
    read_gzip_lines,
    settings_of_run,
)
from accgate.records.ids import Places
from accgate.records.log import RecordLog, beginning_of, in_fixed_order, read_log
from accgate.records.pairing import PARTS, changed_parts, fingerprint_in, is_rescored
from accgate.references.judge import Makers
from accgate.result import EngineInfo
from accgate.tasks import Sample, Samples, Task, recorded_samples
from accgate.text import count_of, some_of

StopRuleOf = Callable[[Check], "Decides | None"]
OWN = {"records", *NOT_COMPARED}


def finished_evaluation(
    assignment: Assignment, present: Sequence[Record], places: Places, stops: Decides | None, makers: Makers
) -> Evaluation | None:
    """Build the evaluation of an assignment, None where it lacks records that it needs.

    `present` has its records in the fixed order, at these `places`. Later records may be missing if the beginning
    decides the check by `stops`. They could not change the verdict, since a sequential test goes by the first sample
    after which it decides.
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


def earlier_evaluation(assignment: Assignment, paths: RecordPaths, stops: Decides | None) -> Evaluation | None:
    """Build the evaluation that an earlier run finished.

    The result is None where samples are left to ask.

    Raises
    ------
    BadInput
        When records or settings are damaged.
    """
    if not (paths.records.exists() and paths.settings.exists()):
        return None
    settings = settings_of_run(paths)
    if STOPPED not in settings and count_lines(paths.records) < assignment.total:  # faster than reading records
        return None
    records = read_log(paths.records)
    if not records or records.figures.failed.any():  # failed samples are asked again
        return None
    present, places = in_fixed_order(assignment.task.samples.ids, assignment.repeats, records)
    if (places < 0).any():  # records of another plan, which `resumable_records` refuses
        return None
    return finished_evaluation(assignment, present, places, stops, Makers.of_settings(settings))


def engine_of(settings: Mapping[str, Any], paths: RecordPaths) -> EngineInfo:
    """Return the engine that the settings beside records name.

    Raises
    ------
    BadInput
        When they name none.
    """
    engine = engine_in(settings)
    if not engine.name:
        raise BadInput(f"{paths.settings}: names no engine; run the gate again")
    return engine


def unfinished_evaluation(check: Check, log: RecordLog) -> Evaluation:
    """Build the evaluation of a check whose engine failed after these records."""
    records, places = in_fixed_order(check.task.samples.ids, check.repeats, log)
    return Evaluation(records.take(np.flatnonzero(places >= 0)), complete=False)


def read_evaluation(checks: Sequence[Check], out: Path, stop_rule_of: StopRuleOf) -> EvaluatedRun:
    """Read what a run's folder holds of every check, to decide again.

    `stop_rule_of` gives the rule by which a check may have ended early. Otherwise every sample must have its record.

    Raises
    ------
    BadInput
        For records or settings that are missing, damaged, or not of these checks.
    """
    items, engines = [], {}
    for planned in checks:
        paths = paths_of(out, *planned.key)
        if not paths.records.exists():
            items.append(EvaluatedCheck(planned, problem="the run's folder has no records of it"))
            continue
        settings = settings_of_run(paths)
        engines[planned.model] = engine_of(settings, paths)
        check = _with_samples(_with_longest(planned, settings), settings, paths)
        _refuse_other_settings(check, settings, engines[check.model], paths)
        items.append(_check_of(check, settings, engines[check.model], paths, stop_rule_of))
    return EvaluatedRun(tuple(items), engines)


def _refuse_other_settings(check: Check, settings: dict[str, Any], info: EngineInfo, paths: RecordPaths) -> None:
    """Refuse records that were made with other settings.

    The model, the sampling, the prompts and the way in which answers are scored must be the same.
    """
    now = settings_of(assignment_of(check, info))
    changed = [key for key in changed_settings(settings, now, OWN) if not key.startswith("task ")]
    then = fingerprint_in(settings)
    if is_rescored(then, check.task.fingerprint):
        changed += changed_parts(then, check.task.fingerprint)
    if changed:
        reread = " or score its kept replies anew (`accgate rerun RUN --reread`)"
        fix = "run the gate again" + reread * (set(changed) <= {PARTS["extract"], PARTS["metric"], PARTS["files"]})
        fault = "the records were made with other settings than the rules and models have"
        raise BadInput(f"{paths.settings}: {fault}: {', '.join(changed)}; {fix}")


def _with_longest(check: Check, settings: Mapping[str, Any]) -> Check:
    """Return a check of an lm-eval task with its run's longest reply."""
    content, longest = check.task.content, settings.get(LONGEST)
    if not content.by_harness or type(longest) is not int:
        return check
    definition = replace(check.task.definition, content=replace(content, max_tokens=longest))
    return replace(check, task=replace(check.task, definition=definition))


def _with_samples(check: Check, settings: dict[str, Any], paths: RecordPaths) -> Check:
    """Return a check with the samples of its records, where no reference names them.

    There must be as many as were planned. Fewer are taken only if the check has a theta: the decision then says whether
    they were enough.
    """
    task = check.task
    if not task.is_unread:
        return check
    samples = recorded_samples(read_log(paths.records))
    count, seed = len(task.samples), check.design.seed
    if check.reference is None:
        return replace(check, task=_task_beside(check, samples, settings, paths))
    if len(samples) != count and (check.design.theta is None or len(samples) > count):
        fault = f"holds {count_of(len(samples), 'sample')}, but {count:,} are planned"
        raise BadInput(f"{paths.records}: {fault}; if the dataset has no more, set num_samples = {len(samples)}")
    fingerprint = fingerprint_in(settings)
    return replace(check, task=replace(task.of(samples.in_order(seed)), fingerprint=fingerprint))


def _task_beside(check: Check, samples: Samples, settings: Mapping[str, Any], paths: RecordPaths) -> Task:
    """Return the task of a two-sided check with the samples of its run.

    Only the run of such a check knows its samples. The prompts beside the records give their order. Both sides may have
    ended before the last sample.

    Raises
    ------
    BadInput
        When there are more samples than planned.
    """
    recorded = {sample.id: sample for sample in samples}
    rows = [row["id"] for row in read_gzip_lines(paths.prompts, "prompt")]
    if len(rows) > len(check.task.samples) or not recorded.keys() <= {*rows}:
        raise BadInput(f"{paths.prompts}: holds other samples than are planned; run the gate again")
    whole = Samples(recorded.get(id_) or Sample(id_, "", "", "", "") for id_ in rows)
    return replace(check.task.of(whole), fingerprint=fingerprint_in(settings))


def _check_of(
    check: Check, settings: dict[str, Any], info: EngineInfo, paths: RecordPaths, stop_rule_of: StopRuleOf
) -> EvaluatedCheck:
    """Return the check with its records.

    If the records are too few, the result states that problem.
    """
    records = read_log(paths.records)
    check_points(records, check.task, paths)
    present, places = in_fixed_order(check.task.samples.ids, check.repeats, records)
    if unknown := sorted(set(present.figures.ids.take(np.flatnonzero(places < 0)))):
        strays = count_of(len(unknown), "id")
        raise BadInput(f"{paths.records}: holds {strays} that this check lacks: {some_of(unknown)}")
    assignment = assignment_of(check, info)
    makers = Makers.of_settings(settings)
    # A check of two sides has no reference; whether both sides' records suffice shows when they are decided.
    stops = (lambda _: True) if check.reference is None else stop_rule_of(check)
    evaluation = finished_evaluation(assignment, present, places, stops, makers)
    if evaluation is not None:
        return EvaluatedCheck(check, evaluation)
    lacking = np.delete(np.arange(assignment.total), places)
    missing = check.task.samples.ids.take(np.unique(lacking // check.repeats))
    lacks = f"lacks {len(lacking)} of {assignment.total} records ({some_of(missing)})"
    problem = f"{paths.records}: {lacks}, and the others do not end the check early"
    return EvaluatedCheck(check, Evaluation(present, complete=False, makers=makers), problem)
