"""Kept replies, read and scored anew without a model.

The rules may have changed, or a prompt turned out to open the model's thought.
"""

import asyncio
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from accgate.engines import Reply, split_reasoning
from accgate.errors import AccgateError, BadInput, writing
from accgate.evaluation.reading import Thoughts, kind_of, read, shorten
from accgate.evaluation.sample import confidence_of
from accgate.evaluation.scoring import ByFunction, NotScored, Scorers, Scoring, in_range, score_of
from accgate.planning.checks import Check
from accgate.records.figures import Figures
from accgate.records.file import Record, paths_of, settings_of_run, write_settings
from accgate.records.finish import CUT
from accgate.records.log import lines_of, read_log
from accgate.records.pairing import changed_parts, fingerprint_in, is_asked_alike, is_rescored
from accgate.records.replacement import write_atomically
from accgate.tasks import HarnessTask, Sample, Task

AT_ONCE = 1_000  # records that are scored at the same time, so that their replies fit into memory


@dataclass(frozen=True)
class Rereading:
    """What reading a check's kept replies anew changed, or the problem that prevented it.

    With a `problem` the records stay as they are, or are `left_out` where the task would score them in another way now.
    `changed` pairs each changed record with its new reading. `means` has the mean of all scores before and after, in
    points.
    """

    model: str
    task: str
    replies: int = 0
    changed: tuple[tuple[Record, Record], ...] = ()
    means: tuple[float | None, float | None] = (None, None)
    problem: str | None = None
    left_out: bool = False


def reread_run(checks: Sequence[Check], run: Path, out: Path) -> list[Rereading]:
    """Write a run's records into another folder, their replies read anew.

    The run itself does not change. A check that cannot be read anew gets no records in the new folder, so that a
    resumed run asks it again.

    Raises
    ------
    BadInput
        When records or settings are damaged.
    CannotEvaluate
        When the new records cannot be written.
    """
    done = []
    for check in checks:
        old, new = paths_of(run, *check.key), paths_of(out, *check.key)
        if not old.records.exists():
            done.append(Rereading(*check.key, problem="the run's folder has no records of it", left_out=True))
            continue
        settings, records = settings_of_run(old), read_log(old.records)
        recorded = fingerprint_in(settings)
        again, about = reread_records(check, records, recorded)
        done.append(about)
        if about.left_out:
            continue
        with writing(new.records.parent):
            write_settings(new, settings | {f"task {part}": digest for part, digest in check.task.fingerprint.items()})
            if old.prompts.exists():
                shutil.copyfile(old.prompts, new.prompts)
            write_atomically(new.records, lines_of(again))
    return done


def reread_records(
    check: Check, records: Sequence[Record], recorded: Mapping[str, str]
) -> tuple[Sequence[Record], Rereading]:
    """Read records anew, and report what changed.

    The records were made with a task of the `recorded` fingerprint.
    """
    fault = _fault(check, recorded)
    try:
        again = records if fault is not None else asyncio.run(_read_all(check, records))
    except AccgateError as error:
        fault = str(error)
    if fault is not None:
        left_out = is_rescored(recorded, check.task.fingerprint)
        return records, Rereading(*check.key, len(records), problem=fault, left_out=left_out)
    changed = tuple(pair for pair in zip(records, again, strict=True) if _differs(*pair))
    return again, Rereading(*check.key, len(records), changed, (_mean(records), _mean(again)))


def _fault(check: Check, recorded: Mapping[str, str]) -> str | None:
    """Say why the replies of a check cannot be read anew, if they cannot."""
    task = check.task
    if not is_asked_alike(recorded, task.fingerprint):
        return f"{' and '.join(changed_parts(recorded, task.fingerprint))} changed"
    if check.planned_model.settings.engine == "recorded":
        return "its answers come from a recording, which can be run again without a model"
    if task.by_likelihood or task.metric.kind in ("likelihood", "harness") or task.content.attack:
        return "its scores need several replies to a sample, of which records keep one"
    return None


async def _read_all(check: Check, records: Sequence[Record]) -> list[Record]:
    samples = {sample.id: sample for sample in check.task.samples}
    async with Scorers() as scorers:
        scoring = await scorers.of(check) if check.task.metric.kind == "code" else ByFunction()
        again: list[Record] = []
        for start in range(0, len(records), AT_ONCE):
            part = records[start : start + AT_ONCE]
            tasks = (_read(check.task, samples.get(record.id), record, scoring) for record in part)
            again += await asyncio.gather(*tasks)
        return again


async def _read(task: Task, sample: Sample | None, record: Record, scoring: Scoring) -> Record:
    """Read and score a record's reply anew. A failed sample without a reply stays as it is."""
    if record.reply is None and record.score is None:
        return record
    if sample is None or record.reply is None:
        fault = "is not among those asked now" if sample is None else "has no kept reply"
        raise BadInput(f"sample {record.shown_id} {fault}")
    task = task.part_of(sample)
    if record.reading is None and not record.reply.strip():  # a reference does not say where its thought ended
        return replace(record, reading=kind_of("empty", task, sample, "", record.score))
    answer, kind = read_again(task, sample, record)
    if task.metric.kind == "judge":
        if answer != record.answer:
            raise BadInput(f"sample {record.shown_id} is read with another answer, which the judge has not marked")
        return record
    confidence, error, score = record.confidence, None, task.metric.worst
    try:
        if answer is not None:
            score = await scoring.points(task, sample, answer, repeat=record.repeat)
        if task.content.confidence is not None and task.content.confidence.by == "reply":
            confidence = confidence_of(task, Reply(record.reply), record.reply, unread=answer is None)
    except NotScored as failure:
        score, error = None, str(failure)
    reading = kind_of(kind, task, sample, answer, score)
    record = replace(record, target=sample.target, confidence=confidence)
    return replace(record, answer=answer, score=score, error=error, reading=reading)


def _differs(before: Record, after: Record) -> bool:
    """Tell whether a reading changed. Records of a reference have no reading, only a score."""
    if before.score != after.score or before.confidence != after.confidence:
        return True
    return before.reading is not None and (before.reading, before.answer) != (after.reading, after.answer)


def _mean(records: Sequence[Record]) -> float | None:
    figures = Figures.of(records)
    return None if figures.failed.all() else float(np.nanmean(figures.columns["score"]))


def rescore(task: Task, sample: Sample, record: Record) -> Record:
    """Score a record's reply as this task does. A record without a reply keeps its score.

    Raises
    ------
    BadInput
        When the task's metric needs more than the reply.
    """
    if record.reply is None:
        return record
    task = task.part_of(sample)
    if task.metric.kind != "text" or task.content.attack or task.content.confidence is not None:
        raise BadInput("not evaluated: its scores need more than the recorded replies")
    answer, kind = read_again(task, sample, record)
    try:
        score = task.metric.worst if answer is None else score_of(task, sample, answer)
    except NotScored as error:
        return replace(record, answer=answer, score=None, error=str(error))
    reading = None if record.reading is None else kind_of(kind, task, sample, answer, score)
    return replace(record, answer=answer, score=score, reading=reading)


def read_again(task: Task, sample: Sample, record: Record) -> tuple[str | None, str]:
    """Return the answer in a record's reply, and the kind of its reading.

    Raises
    ------
    BadInput
        When the task reads the reasoning too, of which a record keeps only a part.
    """
    if task.content.reasoning == "keep" and record.reasoning is not None:
        raise BadInput("not evaluated: its scores need the whole reasoning, which records do not keep")
    if task.by_likelihood:
        return record.answer, record.reading or "read"
    if not record.reply and record.reading in ("cut", "unread"):
        return None, record.reading  # it ended within its reasoning
    reply = Reply(record.reply, record.finish_reason, reasoning=record.reasoning)
    again = read(task, reply, Thoughts(), sample, recorded=True)
    return again.answer, again.kind


def reread(task: Task, record: Record) -> Record:
    """Read a record anew as a reply that begins within the model's thought.

    Another reply has shown that the prompt opens the thought. A reply that was cut off without any mark then ended
    within its thought, and held no answer.
    """
    reply = record.reply
    is_within = record.finish_reason in CUT and record.reasoning is None and record.reading is not None
    if not is_within or not reply or task.content.reasoning == "keep":
        return record
    if split_reasoning(reply, cut=True).answer != reply:
        return record
    score = task.metric.worst
    if isinstance(task, HarnessTask):
        question = task.lm_eval.documents[record.id]
        score = in_range(task, task.lm_eval.points(question, [""] * len(question.requests)))
    if score is None:
        return record
    return replace(record, answer=None, score=score, reading="cut", reply="", reasoning=shorten(reply))
