"""A task of lm-eval whose code runs in a process of its own, which sees the files alone that the task consists of."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from accgate.errors import CannotEvaluate
from accgate.sandbox.declared import Code, CodeFailed, CodeProcess, hub_cache
from accgate.tasks.lm_eval.loading import LmEvalOptions
from accgate.tasks.lm_eval.requests import LmEvalRequest, Response
from accgate.tasks.lm_eval.task import LmEvalSample, LmEvalTask, lm_eval_task

PLAIN = ("name", "metric", "filter", "scale", "higher_is_better", "output_type", "fingerprint")  # of a task


@dataclass(frozen=True)
class TaskApart(LmEvalTask):
    """A task whose samples are here, and whose scorer is in the process."""

    process: CodeProcess = field(repr=False, compare=False)

    def score(self, sample: LmEvalSample, responses: Sequence[Response]) -> dict[str, float]:
        """As `LmEvalTask.score`; raises BadInput where the task's code opens another file of the repository."""
        scores: dict[str, float] = _call(self.process, "score", id_=sample.id, responses=list(responses))
        return scores

    def answer(self, sample: LmEvalSample, responses: Sequence[Response]) -> str | None:
        """As `LmEvalTask.answer`."""
        text: str | None = _call(self.process, "answer", id_=sample.id, responses=list(responses))
        return text

    def is_unread(self, answer: str | None) -> bool:
        """As `LmEvalTask.is_unread`."""
        return bool(_call(self.process, "is_unread", answer=answer))


def load_apart(code: Code, name: str, options: LmEvalOptions) -> TaskApart:
    """The task of lm-eval with this name, loaded in a process that has the files of `code` alone.

    Raises
    ------
    KeyFaults, BadInput, CannotEvaluate
        As `lm_eval_task`; BadInput where its code opens another file of the repository.
    """
    os.makedirs(hub_cache(), exist_ok=True)  # noqa: PTH103 (a text)
    try:
        process = CodeProcess(
            code, f"{__name__}:start",
            lambda inside: {"name": name, "options": asdict(options), "folder": inside(code.folder)},
        )  # fmt: skip
    except CodeFailed as error:
        raise CannotEvaluate(f"lm-eval cannot load its task {name}: {error}") from error
    about = _call(process, "about")
    samples = tuple(
        LmEvalSample(**{**each, "requests": tuple(LmEvalRequest(**_request(one)) for one in each["requests"])})
        for each in _call(process, "samples")
    )
    return TaskApart(**about, samples=samples, tasks={}, process=process)


def _request(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a request as it holds them: JSON has arrays for tuples."""
    return {key: tuple(value) if isinstance(value, list) else value for key, value in values.items()}


def _call(process: CodeProcess, function: str, **arguments: Any) -> Any:
    try:
        return process.call(function, **arguments)
    except CodeFailed as error:
        raise CannotEvaluate(str(error)) from error


def start(name: str, options: Mapping[str, Any], folder: str) -> Mapping[str, Callable[..., Any]]:
    """In the process: load the task, and return what is asked of it."""
    task = lm_eval_task(name, options=LmEvalOptions(**options), folder=Path(folder))
    samples = {sample.id: sample for sample in task.samples}
    kept = [each.name for each in fields(LmEvalSample) if each.name not in ("requests", "instances")]

    def responses_of(values: Sequence[Any]) -> list[Response]:
        return [(value[0], value[1]) if isinstance(value, list) else value for value in values]

    return {
        "about": lambda: {each: getattr(task, each) for each in PLAIN},
        "samples": lambda: [
            {each: getattr(sample, each) for each in kept} | {"requests": [asdict(one) for one in sample.requests]}
            for sample in task.samples
        ],
        "score": lambda id_, responses: task.score(samples[id_], responses_of(responses)),
        "answer": lambda id_, responses: task.answer(samples[id_], responses_of(responses)),
        "is_unread": task.is_unread,
    }
