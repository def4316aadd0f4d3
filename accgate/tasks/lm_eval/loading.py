"""Tasks loaded by the installed lm-evaluation-harness.

They are loaded as its own command loads them, seeds included.
"""

import contextlib
import functools
import io
import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field
from pydantic.dataclasses import dataclass

from accgate.errors import BadInput, CannotEvaluate, needing
from accgate.inputs.typed import CLOSED, Flag, Number, Text, Texts, Whole
from accgate.text import nearest

RANDOM_SEED, NUMPY_SEED = 0, 1234  # what lm-eval sets before it loads: some tasks shuffle options while they load


@dataclass(frozen=True, kw_only=True, config=CLOSED)
class LmEvalOptions:
    """`[tasks.NAME.options]` of a task with `lm_eval`."""

    metric: Text | None = Field(default=None, description="the metric, where the task has several, as acc_norm")
    filter: Text | None = Field(default=None, description="the filter, where the task has several")
    scale: Number | None = Field(default=None, gt=0, description="factor to points: 100 for fractions, 1 for points")
    num_fewshot: Whole | None = Field(default=None, ge=0, description="examples in the prompt, as --num_fewshot")
    higher_is_better: Flag | None = Field(default=None, description="whether more of the metric is better")
    include_path: Text | None = Field(default=None, description="folder with task files of your own")
    files: Texts = Field(default=(), description="files and folders that code in include_path reads beside it")
    fewshot_seed: Whole = Field(default=1234, description="of the draw of examples; lm-eval's own default")
    chat: Flag = Field(default=False, description="ask by chat, as lm-eval does with --apply_chat_template")
    system: Text | None = Field(default=None, description="system message, as --system_instruction")


def load_tasks(name: str, options: LmEvalOptions, include_path: Path | None) -> dict[str, Any]:
    """Load the tasks that a name stands for, by their own names.

    The requests of every document are built.

    Raises
    ------
    BadInput
        When there is no such task, or it is of a kind that is not run here.
    CannotEvaluate
        When lm-eval is not installed, or the data set cannot be had.
    """
    with needing(f"lm-eval's task {name} needs the package lm_eval", "lm-eval"):
        import lm_eval.tasks  # noqa: F401
    if include_path is not None and not include_path.is_dir():
        raise BadInput(f"{include_path}: there is no such folder; include_path names one with task files")
    with _seed(), contextlib.redirect_stderr(io.StringIO()):  # its progress bars would tear ours
        tasks = _own_task(name, include_path) or _load(_manager(include_path), name)
        for own, task in tasks.items():
            _refuse(own, task)
            _build(own, task, options)
    return tasks


@functools.cache
def _manager(include_path: Path | None, *, defaults: bool = True) -> Any:
    """Index lm-eval's thousands of task files once.

    Indexing takes many seconds, and the index serves every task of a config.
    """
    from lm_eval.tasks import TaskManager

    return TaskManager(include_path=None if include_path is None else str(include_path), include_defaults=defaults)


def _own_task(name: str, include_path: Path | None) -> dict[str, Any]:
    """Find a task or group in a folder of one's own, without lm-eval's index.

    A group that builds on lm-eval's own tasks gives nothing.
    """
    if include_path is None:
        return {}
    manager = _manager(include_path, defaults=False)
    if name in manager.all_subtasks:
        return _load(manager, name)
    try:
        return dict(manager.load([name])["tasks"]) if name in manager.all_tasks else {}
    except Exception:  # a group may name lm-eval's own tasks; faults show once it is loaded with these
        return {}


def _load(manager: Any, name: str) -> dict[str, Any]:
    if name not in manager.all_tasks:
        raise BadInput(f"lm-eval has no task {name!r}; {nearest(name, manager.all_tasks)}")
    hint = f"; does `lm_eval --tasks {name} --limit 1` run on this machine?"
    with failures(f"lm-eval cannot load its task {name}", hint):
        return dict(manager.load([name])["tasks"])


def _refuse(name: str, task: Any) -> None:
    if getattr(task, "UNSAFE_CODE", False):
        raise BadInput(f"lm-eval's task {name} runs the model's code in no sandbox; use accgate's humaneval or mbpp")
    if getattr(task, "MULTIMODAL", False):
        raise BadInput(f"lm-eval's task {name} asks with images or sounds, which accgate does not support here")


def _build(name: str, task: Any, options: LmEvalOptions) -> None:
    """Build a task as `simple_evaluate` of lm-eval prepares it.

    A task that sets 0 examples itself keeps 0.
    """
    own = task.get_config("num_fewshot")
    if own is None or (options.num_fewshot is not None and own != 0):
        task.set_config(key="num_fewshot", value=options.num_fewshot or 0)
    task.set_fewshot_seed(seed=options.fewshot_seed)
    with failures(f"lm-eval cannot build the prompts of {name}"):
        task.build_all_requests(
            system_instruction=options.system,
            apply_chat_template=options.chat,
            chat_template=_messages if options.chat else None,
        )


def _messages(messages: Sequence[dict[str, str]], add_generation_prompt: bool = True) -> str:  # noqa: ARG001
    """Write messages as the text in which lm-eval's chat client keeps them."""
    return json.dumps(messages, ensure_ascii=False)


def means_of(task: Any, others: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield (metric, filter) of a task's values that are means over documents.

    Metrics in `others` count too.
    """
    from lm_eval.api.metrics import mean, nanmean

    for metric, how in task.aggregation().items():
        if how in (mean, nanmean) or metric in others:
            for ensemble in task._filters:
                yield metric, ensemble.name


@contextlib.contextmanager
def failures(fault: str, hint: str = "") -> Iterator[None]:
    """Raise CannotEvaluate for what lm-eval or a task's code raises."""
    try:
        yield
    except Exception as error:  # the network, a data set's format, a task's own templates and code
        raise CannotEvaluate(f"{fault}: {type(error).__name__}: {error}{hint}") from error


@contextlib.contextmanager
def _seed() -> Iterator[None]:
    """Set the random state that lm-eval's command starts from, for a while.

    The caller's own state comes back.
    """
    import numpy as np

    state, numpy_state = random.getstate(), np.random.get_state()
    random.seed(RANDOM_SEED)
    np.random.seed(NUMPY_SEED)
    try:
        yield
    finally:
        random.setstate(state)
        np.random.set_state(numpy_state)
