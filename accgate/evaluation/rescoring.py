"""Records scored again: by other rules, or once it shows that their prompts open a thought."""

from dataclasses import replace

from accgate.engines import Reply, split_reasoning
from accgate.errors import BadInput
from accgate.evaluation.reading import Thoughts, kind_of, read, shorten
from accgate.evaluation.scoring import NotScored, in_range, score_of
from accgate.records.file import Record
from accgate.records.finish import CUT
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
    answer, kind = read_again(task, sample, record)
    try:
        score = task.metric.worst if answer is None else score_of(task, sample, answer)
    except NotScored as error:
        return replace(record, answer=answer, score=None, error=str(error))
    reading = None if record.reading is None else kind_of(kind, task, sample, answer, score)
    return replace(record, answer=answer, score=score, reading=reading)


def read_again(task: Task, sample: Sample, record: Record) -> tuple[str | None, str]:
    """The answer that a task finds in a record's reply, and the kind of that reading.

    Raises
    ------
    BadInput
        When it reads the reasoning too, of which the record has a part.
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
