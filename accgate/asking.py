"""One sample asked and its reply scored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from accgate.assignment import Assignment
from accgate.engines import Engine, Reply, Request, RequestFailed
from accgate.errors import BadInput
from accgate.records import Record
from accgate.tasks.samples import Sample, Task


async def ask(
    engine: Engine, assignment: Assignment, sample: Sample, repeat: int, clock: Callable[[], float]
) -> Record:
    """The record of one sample; where it got no reply, with the error instead."""
    began = clock()
    error: str | None = None
    try:
        reply = await engine.complete(_request(assignment, sample, repeat))
    except RequestFailed as failure:
        reply, error = Reply(None), str(failure) or "no reply"
    answer, score = (None, None) if error else _scored(assignment.task, sample, reply)
    if score is None and error is None:
        error = "no answer in the reply, and the metric has no worst score"
    return Record(
        id=sample.id, repeat=repeat, score=score, target=sample.target, answer=answer, reply=reply.text,
        finish_reason=reply.finish_reason, prompt_tokens=reply.prompt_tokens,
        completion_tokens=reply.completion_tokens, seconds=round(clock() - began, 4), error=error,
        cluster=sample.cluster, group=sample.group, label=sample.label, cached=reply.cached or None,
    )  # fmt: skip


def _request(assignment: Assignment, sample: Sample, repeat: int) -> Request:
    sampling, task = assignment.sampling, assignment.task
    return Request(
        id=sample.id,
        repeat=repeat,
        prompt=sample.user,
        system=sample.system,
        mode=task.mode,
        max_tokens=sampling.max_tokens or task.max_tokens,
        temperature=sampling.temperature,
        top_p=sampling.top_p,
        top_k=sampling.top_k,
        seed=None if sampling.seed is None else sampling.seed + repeat,
        stop=(*task.stop, *sampling.stop),
        extra=sampling.extra or {},
    )


def _scored(task: Task, sample: Sample, reply: Reply) -> tuple[str | None, float | None]:
    """(answer, score). A reply in which no answer is found is wrong, not failed."""
    answer = None if reply.text is None else task.answer(reply.text)
    if reply.score is not None:
        return answer, _in_range(task, sample, reply.score)
    if answer is None:
        return None, task.metric.worst
    return answer, task.metric(answer, sample.target)


def rescored(task: Task, sample: Sample, record: Record) -> Record:
    """A record as this task scores its reply; one without a reply keeps its score.

    Raises
    ------
    BadInput
        When a recorded score is outside the metric's range.
    """
    if record.reply is None:
        return record
    answer, score = _scored(task, sample, Reply(record.reply))
    return replace(record, answer=answer, score=score)


def _in_range(task: Task, sample: Sample, score: float) -> float:
    low, high = task.metric.lowest, task.metric.highest
    if (low is not None and score < low) or (high is not None and score > high):
        raise BadInput(
            f"task {task.name}, sample {sample.id}: the recorded score {score:g} is outside the metric's range of "
            f"{low} to {high} points; is options.scale right?"
        )
    return score
