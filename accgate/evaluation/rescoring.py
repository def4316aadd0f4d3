"""Records scored again: by other rules, or once it shows that their prompts open a thought."""

from __future__ import annotations

from dataclasses import replace

from accgate.engines import Reply, split_reasoning
from accgate.errors import BadInput
from accgate.evaluation.reading import Thoughts, kind_of, read, shorten
from accgate.evaluation.scoring import NotScored, in_range, score_of
from accgate.records import CUT, Record
from accgate.tasks import HarnessTask, Sample, Task


def rescore(task: Task, sample: Sample, record: Record) -> Record:
    """A record as this task scores its reply; one without a reply keeps its score.

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
    if task.content.reasoning == "keep" and record.reasoning is not None:
        raise BadInput("not evaluated: its scores need the whole reasoning, which records do not keep")
    if task.by_likelihood:
        answer, reading = record.answer, record.reading
    elif not record.reply and record.reading in ("cut", "unread"):
        answer, reading = None, record.reading  # it ended within its reasoning
    else:
        again = read(
            task,
            Reply(record.reply, record.finish_reason, reasoning=record.reasoning),
            Thoughts(),
            sample,
            recorded=True,
        )
        answer, reading = again.answer, None if record.reading is None else again.kind
    try:
        score = task.metric.worst if answer is None else score_of(task, sample, answer)
    except NotScored as error:
        return replace(record, answer=answer, score=None, error=str(error))
    reading = reading and kind_of(reading, task, sample, answer, score)
    return replace(record, answer=answer, score=score, reading=reading)


def reread(task: Task, record: Record) -> Record:
    """A record of a model whose prompt opens its thought: a reply that was cut off without any mark held no answer.

    That shows only once another reply closes a thought that it did not open.
    """
    reply = record.reply
    is_within = record.finish_reason in CUT and record.reasoning is None and record.reading is not None
    if not is_within or not reply or task.content.reasoning == "keep":
        return record
    if split_reasoning(reply, cut=True).answer != reply:
        return record
    score = task.metric.worst
    if isinstance(task, HarnessTask):
        question = task.documents[record.id]
        score = in_range(task, task.lm_eval.points(question, [""] * len(question.requests)))
    if score is None:
        return record
    return replace(record, answer=None, score=score, reading="cut", reply="", reasoning=shorten(reply))
