"""Evaluate the checks of a config and keep their scores as references."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from accgate._version import __version__
from accgate.config.config import Config, load_config
from accgate.engines.identity import change_of
from accgate.errors import BadInput, CannotEvaluate
from accgate.evaluation.assignment import RunOptions
from accgate.evaluation.outcome import EvaluatedCheck, EvaluatedRun, Evaluation, failures
from accgate.evaluation.reading import unread_problem
from accgate.evaluation.rereading import Rereading, reread_records
from accgate.evaluation.run import evaluate_checks
from accgate.evaluation.sameness import floor_fault, sameness_fault
from accgate.evaluation.scoring import judge_fault
from accgate.evaluation.shards.merge import join, write_union
from accgate.evaluation.shards.run import RECORDING, ShardRun, end_shard, plan_of, read_shard
from accgate.planning.checks import Check, plan_checks
from accgate.records.figures import Figures
from accgate.records.file import Record, paths_of
from accgate.records.lock import sole_writer
from accgate.records.log import read_log, records_at
from accgate.records.pairing import is_rescored
from accgate.records.replacement import Replacements, refuse_unwritable
from accgate.references.settings import answer_settings, setting_changes
from accgate.references.store import Reference, ReferenceFile, read_reference, reference_path, scores_of
from accgate.references.writer import (
    add_runs,
    figures_of,
    has_runs,
    reference_to_extend,
    replaced_figures,
    write_reference,
)
from accgate.report.result_file import forget_result
from accgate.result import EngineInfo
from accgate.tasks import Task
from accgate.text import number


@dataclass(frozen=True)
class Recording:
    """How a run is recorded, and what its references keep.

    With `add` the scores become further repeats of the existing reference, whatever they are. With `add_rows` only
    samples that it lacks are evaluated, as often as its own were, and added to it. Several `runs` are evaluated as one,
    as repeats of each sample: the reference is that of a first run to which the others were added. With `twice` every
    sample is evaluated twice, and the reference is that of the first run: its discordance is the share of 0/100 scores
    that the second changed. With `missing` only checks without a reference are evaluated, so that nothing is replaced.
    With `accept_low` a recording that leaves no room for a drop is kept; `note` receives a warning of it.
    """

    runs: int = 1
    twice: bool = False
    add: bool = False
    add_rows: bool = False
    missing: bool = False
    replies: bool = True
    reason: str | None = None
    commit: str = ""
    accept_low: bool = False
    note: Callable[[str], None] = lambda _: None

    @property
    def extends(self) -> bool:
        """Whether the reference that is there stays, and gets more."""
        return self.add or self.add_rows

    def checks(self, config: Config) -> list[Check]:
        """Plan the checks of a config, with the repeats that all runs take together."""
        times = 2 if self.twice else self.runs
        planned = plan_checks(config, recording=True)
        return [replace(check, repeats=times * check.repeats) for check in planned]


def record(config: Config | str | Path, options: RunOptions, recording: Recording) -> list[Path]:
    """Evaluate every check of a config and record it.

    The scores become references, whose paths are returned. With `resume` references that hold the run already stay as
    they are. With `missing` it may write none.

    Raises
    ------
    BadInput
        When a reference would be replaced without a reason, cannot be added to, or has a folder that cannot be written;
        nothing is evaluated then.
    CannotEvaluate
        When a sample failed, an engine did, or too many replies hold no answer; no reference is written for that check.
    """
    config, resume = load_config(config), options.resume
    if not (recording.extends or recording.missing or resume):  # before a prompt is rendered
        for model, task in config.pairs_to_evaluate():
            path = reference_path(config.references, model, config.models[model].variant, task)
            replaced_figures(path, recording.reason)
    checks = recording.checks(config)
    if recording.add:  # one judge marks all runs of a reference
        checks = [_held_against(check, reference_to_extend(*_place(check))) for check in checks]
    elif recording.add_rows:
        checks = [check for each in checks if (check := _of_new_rows(each)) is not None]
        if not checks:
            raise BadInput("the references already have all planned samples; there is no row to add")
    elif recording.missing:
        checks = [check for check in checks if _lacks_reference(config, check)]
        if not checks:
            return []
    elif resume:
        replaced = [check for check in checks if not _is_finished(check, options.out, recording)]
        _refuse_replaced(replaced, recording.reason)
    _refuse_unwritable(checks)
    forget_result(options.out)  # of a run with these records: they, or the reference that it is of, are replaced
    return _write(evaluate_checks(checks, options), recording, resume=resume)


def reread(config: Config, reason: str | None = None) -> list[Rereading]:
    """Score the kept replies of a config's references anew, without asking a model.

    A reference is written again where its scores, or how its replies were read, change.

    Raises
    ------
    BadInput
        When a reference is damaged, or there is none.
    CannotEvaluate
        When one cannot be written.
    """
    done = []
    for check in plan_checks(config, recording=True):
        with sole_writer(_path(check).parent):
            try:
                if (reference := read_reference(_path(check))) is not None:
                    done.append(_reread(check, reference, reason))
            except BadInput as error:
                done.append(Rereading(*check.key, problem=str(error), left_out=True))
    if not done:
        raise BadInput(f"{config.references}: holds no reference of these models and tasks; leave out --reread")
    return done


def _reread(check: Check, reference: Reference, reason: str | None) -> Rereading:
    """Read one reference anew, and keep what it says of its run.

    Who answered, when and how stays as it was recorded.
    """
    old = reference.about
    if reference.scores is None:
        return Rereading(*check.key, problem="its reference has only a mean")
    records = reference.kept_records()
    again, about = reread_records(check, records, old.fingerprint)
    if about.problem is not None or not (about.changed or is_rescored(old.fingerprint, check.task.fingerprint)):
        return about
    failed = [record for record in again if record.score is None]
    unread = unread_problem(again, check.max_unread)
    fault = f"sample {failed[0].id}: {failed[0].error}" if failed else unread[0] if unread else None
    if fault is not None or (fault := sameness_fault(check.task, again)) is not None:
        raise BadInput(f"{reference.path}: {fault}; the reference stays as it was")
    ids = reference.scores.ids
    figures = figures_of(scores_of(again, check.task.of(sample for sample in check.task.samples if sample.id in ids)))
    figures["discordance"] = old.discordance if figures["discordance"] is None else figures["discordance"]
    new, answers = replace(old, fingerprint=dict(check.task.fingerprint), **figures), _needs_answers(check)
    reason = reason or f"{len(about.changed):,} of {about.replies:,} replies scored otherwise by {__version__}"
    write_reference(check.references, new, again, reason=reason, replies=True, answers=answers, runs=old.runs)
    return about


def record_shard(config: Config, options: RunOptions, recording: Recording) -> ShardRun:
    """Evaluate a shard of the samples of every check.

    `record_merged` writes the references of all shards. Raises as `record` does, but looks at no reference.
    """
    checks = recording.checks(config)
    plan = _shard_plan(config, checks, recording)
    forget_result(options.out)
    return end_shard(plan, evaluate_checks(checks, options, shard_plan=plan), options)


def record_merged(config: Config, folders: Sequence[Path], out: Path, recording: Recording) -> list[Path]:
    """Join the parts of `record_shard` in `out`, write references, and return their paths.

    References that an earlier, unfinished merge of the same parts wrote stay.

    Raises
    ------
    BadInput
        When a reference would be replaced without a reason, or the parts are not of one plan: what differs, and where.
    CannotEvaluate
        As `record` does, and where samples are missing.
    """
    checks = recording.checks(config)
    joined = join(checks, _shard_plan(config, checks, recording), folders, lambda _: None)
    unwritten = [item.check for item in joined.evaluated.checks if not _is_written(item, recording)]
    _refuse_replaced(unwritten or checks, recording.reason)
    _refuse_unwritable(checks)
    write_union(joined, out)
    return _write(joined.evaluated, recording, resume=bool(unwritten))


def recording_of_shards(folders: Sequence[Path]) -> Recording | None:
    """Return how often shards of `record` asked each sample.

    It is None for shards of `run`. BadInput says that the first folder is no shard, or that its plan is damaged.
    """
    match read_shard(folders[0]).plan.get(RECORDING):
        case None:
            return None
        case {"runs": int(runs), "twice": bool(twice)} if runs > 0:
            return Recording(runs, twice)
    raise BadInput(f"{folders[0]}: its shard.json is damaged; run that shard again")


def _shard_plan(config: Config, checks: Sequence[Check], recording: Recording) -> dict[str, Any]:
    return {**plan_of([(config.gate, checks)]), RECORDING: {"runs": recording.runs, "twice": recording.twice}}


def _held_against(check: Check, reference: Reference) -> Check:
    return replace(check, recorded=reference, reference=reference.evidence)


def _of_new_rows(check: Check) -> Check | None:
    """Return the check of only those samples that its reference lacks.

    The result is None if the reference has all samples. BadInput says why a reference cannot be extended, such as other
    settings of the model.
    """
    reference = reference_to_extend(*_place(check), rows=True)
    assert reference.scores is not None
    path, known = reference.path, reference.scores.ids
    if changed := setting_changes(reference.about, check.planned_model.settings, None, check.task):
        fix = "ask the new rows with the settings of the others, or replace the reference with --reason TEXT"
        raise BadInput(f"{path}: the settings changed since it was recorded: {'; '.join(changed)}; {fix}")
    new = check.task.of(sample for sample in check.task.samples if sample.id not in known)
    if not len(new.samples):
        return None
    return replace(_held_against(check, reference), task=new, repeats=reference.about.repeats)


def _refuse_replaced(checks: Sequence[Check], reason: str | None) -> None:
    for check in checks:
        replaced_figures(_path(check), reason)


def _refuse_unwritable(checks: Sequence[Check]) -> None:
    """Refuse a store that no reference can be written to, before anything is asked."""
    for folder in {_path(check).parent for check in checks}:
        refuse_unwritable(folder, "as `references` in accuracy.toml")


def _lacks_reference(config: Config, check: Check) -> bool:
    """Tell whether a check has no reference and its task's table no mean."""
    settings = config.tasks[check.task.name]
    return settings.target is None and settings.reference is None and not replaced_figures(_path(check), "it stays")


def _is_finished(check: Check, out: Path, recording: Recording) -> bool:
    """Tell whether a check's reference is the finished run of a folder."""
    records = paths_of(out, *check.key).records
    if not records.exists():
        return False
    log = read_log(records)
    return len(log) == len(check.task.samples) * check.repeats and _is_reference(check, log, recording)


def _is_written(item: EvaluatedCheck, recording: Recording, extended: Reference | None = None) -> bool:
    """Tell whether a finished run is already in its reference.

    With `extended`, that reference must have the run's records. Otherwise the check's own reference must be this run
    and no other.
    """
    if item.evaluation is None or not item.evaluation.complete:
        return False
    if extended is not None:
        return has_runs(extended, item.evaluation.records, recording.runs)
    return _is_reference(item.check, item.evaluation.records, recording)


def _is_reference(check: Check, records: Sequence[Record], recording: Recording) -> bool:
    """Tell whether a check's reference is the run of these records and no other."""
    try:
        reference = read_reference(_path(check))
    except BadInput:  # a damaged one is replaced
        return False
    first, runs = _first_run(check, records, twice=recording.twice), recording.runs
    return reference is not None and reference.about.runs == runs and has_runs(reference, first, runs)


def _write(evaluated: EvaluatedRun, recording: Recording, *, resume: bool = False) -> list[Path]:
    """Write the reference of every check, or add to it.

    With `resume` only references that lack the run are written. Other commands may write the same references, so each
    is read under the lock that keeps them out.
    """
    written, problems = [], []
    for item in evaluated.checks:
        check = item.check
        with sole_writer(_path(check).parent):
            rows = recording.add_rows
            extended = reference_to_extend(*_place(check), rows=rows) if recording.extends else None
            if extended is not None:
                check = _held_against(check, extended)
            if resume and _is_written(item, recording, extended):
                continue
            try:
                both = _whole(check, item)
                if recording.add_rows and extended is not None:
                    _refuse_other_model(check, extended, both)
                else:
                    _refuse_low(check, both, recording)
            except CannotEvaluate as error:
                problems.append(str(error))
                continue
            first = _first_run(check, both.records, twice=recording.twice)
            about = _about(check, replace(both, records=first), evaluated.engines[check.model], recording.commit, both)
            if extended is None:
                write = partial(
                    write_reference, check.references, about, first, reason=recording.reason, design=check.design
                )
            else:
                write = partial(add_runs, extended, about, first, rows=rows)
            written.append(write(replies=recording.replies, answers=_needs_answers(check), runs=recording.runs))
    if problems:
        raise CannotEvaluate("\n".join(problems))
    if not written:
        raise BadInput("every run is in its reference already; leave out --resume to evaluate again")
    return written


def addition(
    item: EvaluatedCheck, reference: Reference, info: EngineInfo, *, date: str, commit: str
) -> Callable[[Replacements], Path]:
    """Return a function that adds an earlier evaluation to a reference.

    It becomes one more run, with this date and commit.

    Raises
    ------
    CannotEvaluate
        What is wrong with the evaluation.
    """
    check, old = item.check, reference.about
    evaluation = _whole(check, item)
    _refuse_other_model(check, reference, evaluation)
    about = _about(check, evaluation, info, commit, evaluation)
    about = replace(about, date=date, fingerprint=old.fingerprint, samples_per_second=old.samples_per_second)
    add = partial(add_runs, reference, about, evaluation.records, replies=True, answers=_needs_answers(check))
    return lambda files: add(into=files)


def _refuse_other_model(check: Check, reference: Reference, evaluation: Evaluation) -> None:
    """Refuse replies of another model than the one that answered the reference's samples."""
    before, now = reference.about.makers.served, evaluation.makers.served
    if (change := change_of(before, now, check.planned_model.settings.options)) is not None:
        raise CannotEvaluate(f"{check.name}: another model answered the reference: {change}; nothing was added")


def _whole(check: Check, item: EvaluatedCheck) -> Evaluation:
    """Return a check's evaluation, which must be complete enough for a reference.

    CannotEvaluate says what it lacks.
    """
    evaluation, problem = item.evaluation, item.problem
    if problem is None and evaluation is not None:
        problem = judge_fault(check, evaluation.makers)
    if problem is not None or evaluation is None or evaluation.failed:
        problem = problem or failures(item, "a reference needs every score")
        raise CannotEvaluate(f"{check.name}: {problem}; no reference was written")
    if (unread := unread_problem(evaluation.records, check.max_unread)) is not None:
        what, *replies = unread
        raise CannotEvaluate("\n  ".join([f"{check.name}: {what}; no reference was written", *replies]))
    if (fault := sameness_fault(check.task, evaluation.records)) is not None:
        raise CannotEvaluate(f"{check.name}: {fault}; no reference was written")
    return evaluation


def _refuse_low(check: Check, evaluation: Evaluation, recording: Recording) -> None:
    """Refuse or note a recording from which no drop could show. A theta larger than the mean is noted as well."""
    fault, theta = floor_fault(check.task, evaluation.records), check.design.theta
    if fault is not None and not recording.accept_low:
        fix = "correct the task or the model; `accgate record --resume --accept-low` keeps it, and asks nothing again"
        raise CannotEvaluate(f"{check.name}: {fault}: {fix}; no reference was written")
    mean, lowest = figures_of(scores_of(evaluation.records, check.task))["mean"], check.task.metric.lowest
    is_room = check.design.higher_is_better and lowest is not None and check.task.definition.statistic is None
    if fault is None and theta is not None and is_room and mean - (lowest or 0.0) < theta:
        fault = f"the mean is {number(mean)} points, so it cannot drop by theta = {theta:g}; set a smaller theta"
    if fault is not None:
        recording.note(f"{check.name}: {fault}")


def _first_run(check: Check, records: Sequence[Record], *, twice: bool) -> Sequence[Record]:
    """Return the records of the first of two runs, of one all."""
    if not twice:
        return records
    return records_at(records, np.flatnonzero(Figures.of(records).columns["repeat"] < check.repeats // 2))


def _place(check: Check) -> tuple[Path, str, Mapping[str, Any], Task]:
    """Return where a check's reference belongs."""
    return check.references, check.model, check.planned_model.variant, check.task


def _path(check: Check) -> Path:
    """Return the file of a check's reference."""
    return reference_path(*_place(check)[:-1], check.task.name)


def _needs_answers(check: Check) -> bool:
    """Tell whether the check's statistic counts answers, as precision and recall do."""
    statistic = check.task.definition.statistic
    return statistic is not None and "answer" in statistic.needs


def _about(check: Check, evaluation: Evaluation, info: EngineInfo, commit: str, both: Evaluation) -> ReferenceFile:
    """Return what a reference says of its evaluation. `both` includes the second run of `twice`."""
    records, figures = evaluation.records, Figures.of(evaluation.records)
    noise = figures_of(scores_of(both.records, check.task))["discordance"]
    rate = evaluation.asked / evaluation.seconds if evaluation.seconds and info.name != "recorded" else 0.0
    return ReferenceFile(
        model=check.model,
        task=check.task.name,
        **(figures_of(scores_of(records, check.task)) | {"discordance": noise}),
        date=datetime.now(timezone.utc).date().isoformat(),
        commit=commit,
        engine=info.name,
        engine_version=info.version,
        hardware=info.hardware,
        environment=dict(info.environment),
        prompt_tokens=_mean(figures.columns["prompt_tokens"]),
        completion_tokens=_mean(figures.columns["completion_tokens"]),
        samples_per_second=float(f"{rate:.4g}") or None,
        variant=dict(check.planned_model.variant),
        fingerprint=dict(check.task.fingerprint),
        settings=answer_settings(check.planned_model.settings, check.task),
        **asdict(evaluation.makers),
    )


def _mean(counts: npt.NDArray[np.int32]) -> float | None:
    """Average the counts, to a tenth. It is None unless every sample has one."""
    return round(int(counts.sum()) / len(counts), 1) if len(counts) and (counts >= 0).all() else None
