"""A task of lm-eval whose code runs in a process of its own, which sees the files alone that the task consists of."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import lru_cache
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
    """A task whose samples are here, and whose scorer is in the process, under the number `place`."""

    process: CodeProcess = field(repr=False, compare=False)
    place: int = field(repr=False, compare=False)

    def score(self, sample: LmEvalSample, responses: Sequence[Response]) -> dict[str, float]:
        """As `LmEvalTask.score`; raises BadInput where the task's code opens another file of the repository."""
        return dict(_call(self.process, "score", place=self.place, id_=sample.id, responses=list(responses)))

    def answer(self, sample: LmEvalSample, responses: Sequence[Response]) -> str | None:
        """As `LmEvalTask.answer`."""
        text: str | None = _call(self.process, "answer", place=self.place, id_=sample.id, responses=list(responses))
        return text

    def is_unread(self, answer: str | None) -> bool:
        """As `LmEvalTask.is_unread`."""
        return bool(_call(self.process, "is_unread", place=self.place, answer=answer))


def load_apart(code: Code, name: str, options: LmEvalOptions) -> TaskApart:
    """The task of lm-eval with this name, loaded in a process that has the files of `code` alone.

    Raises
    ------
    KeyFaults, BadInput, CannotEvaluate
        As `lm_eval_task`; BadInput where its code opens another file of the repository.
    """
    process = _process(code) if code.files else _shared(replace(code, name="a task of lm-eval", table="its options"))
    about = _call(process, "load", name=name, options=asdict(options))
    samples = tuple(
        LmEvalSample(**each | {"requests": tuple(LmEvalRequest(**_tuples(one)) for one in each["requests"])})
        for each in _call(process, "samples", place=about["place"])
    )
    return TaskApart(**about, samples=samples, tasks={}, process=process)


def _process(code: Code) -> CodeProcess:
    os.makedirs(hub_cache(), exist_ok=True)  # noqa: PTH103 (a text)
    try:
        return CodeProcess(code, f"{__name__}:start", {"folder": code.folder})
    except (CodeFailed, ImportError) as error:
        raise CannotEvaluate(f"{code.name} cannot be loaded: {error}") from error


_shared = lru_cache(maxsize=2)(_process)  # of tasks without files of their own, with lm-eval's slow index


def _tuples(values: Any) -> Any:
    """Values in a list or a table, with tuples for the arrays that JSON has in their place."""
    pairs = values.items() if isinstance(values, dict) else enumerate(values)
    plain = {key: tuple(value) if isinstance(value, list) else value for key, value in pairs}
    return plain if isinstance(values, dict) else list(plain.values())


def _call(process: CodeProcess, function: str, **arguments: Any) -> Any:
    try:
        return process.call(function, **arguments)
    except (CodeFailed, ImportError) as error:
        raise CannotEvaluate(f"lm-eval failed: {error}") from error


def start(folder: str) -> Mapping[str, Callable[..., Any]]:
    """In the process: what loads tasks, and what is asked of them."""
    tasks: list[LmEvalTask] = []
    samples: list[dict[str, LmEvalSample]] = []
    kept = [each.name for each in fields(LmEvalSample) if each.name not in ("requests", "instances")]

    def load(name: str, options: Mapping[str, Any]) -> dict[str, Any]:
        task = lm_eval_task(name, options=LmEvalOptions(**options), folder=Path(folder))
        tasks.append(task)
        samples.append({sample.id: sample for sample in task.samples})
        return {each: getattr(task, each) for each in PLAIN} | {"place": len(tasks) - 1}

    def samples_of(place: int) -> list[dict[str, Any]]:
        return [
            {each: getattr(sample, each) for each in kept} | {"requests": [asdict(one) for one in sample.requests]}
            for sample in tasks[place].samples
        ]

    return {
        "load": load,
        "samples": samples_of,
        "score": lambda place, id_, responses: tasks[place].score(samples[place][id_], _tuples(responses)),
        "answer": lambda place, id_, responses: tasks[place].answer(samples[place][id_], _tuples(responses)),
        "is_unread": lambda place, answer: tasks[place].is_unread(answer),
    }
