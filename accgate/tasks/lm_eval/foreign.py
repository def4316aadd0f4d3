"""A task of lm-evaluation-harness as one of ours: its prompts and its scorer, our ids, order, records and tests."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accgate.inputs import TomlFile, parsed_toml
from accgate.metrics import Metric
from accgate.records import order_key
from accgate.tasks.definition import Definition
from accgate.tasks.sample import Sample
from accgate.tasks.schema import Dataset, DefinitionFile, Extract
from accgate.tasks.task import Task
from accgate.text import Key

if TYPE_CHECKING:
    from accgate.tasks.lm_eval.tasks import LmEvalSample, LmEvalTask

METRIC = "lm_eval:"  # before the name of a metric that lm-eval computes
# Lower is better, as lm-eval has it; asked only where lm-eval itself is not loaded, as in the guard.
LOWER = frozenset({"perplexity", "word_perplexity", "byte_perplexity", "bits_per_byte", "ter", "brier_score"})


@dataclass(frozen=True, kw_only=True)
class ForeignTask(Task):
    """A task whose samples lm-eval asks for and scores; `asked` has what it asks of each, by id."""

    lm_eval: LmEvalTask = field(compare=False)
    asked: dict[str, LmEvalSample] = field(compare=False, repr=False)


def is_foreign(definition: Definition) -> bool:
    """Whether lm-eval has the prompts and the scorer."""
    return definition.content.metric.startswith(METRIC)


def named_definition(name: str, options: dict[str, Any]) -> Definition:
    """What is known of a task of lm-eval without loading lm-eval: a definition that only names it."""
    metric = options.get("metric") or "acc"
    return _definition(name, str(metric), higher=metric not in LOWER)


def foreign_definition(task: LmEvalTask) -> Definition:
    """The definition of a task that lm-eval has loaded."""
    return _definition(task.name, task.metric, higher=task.higher_is_better)


def _definition(name: str, metric: str, *, higher: bool) -> Definition:
    content = DefinitionFile(
        dataset=Dataset(hub=f"lm_eval/{name}"), prompt=name, target=name, metric=f"{METRIC}{metric}",
        metric_options={"higher_is_better": higher}, source="lm-evaluation-harness",
    )  # fmt: skip
    return Definition(content, parsed_toml(Path(f"lm_eval/{name}"), ""))


def load_foreign(name: str, source: TomlFile, key: Key) -> LmEvalTask:
    """The task that the table at `key` names with `lm_eval` and its options.

    Raises
    ------
    BadInput
        For options and names that lm-eval does not know.
    CannotEvaluate
        When lm-eval is not installed, or the data set cannot be had.
    """
    from accgate.inputs import validated
    from accgate.tasks.lm_eval.tasks import LmEvalOptions, lm_eval_task

    options = validated(source, LmEvalOptions, (*key, "options"))
    return lm_eval_task(name, options=options, folder=source.path.parent)


def foreign_task(name: str, task: LmEvalTask, seed: int) -> ForeignTask:
    """The samples of a loaded task in the fixed order."""
    asked = {sample.id: sample for sample in task.samples}
    several = len({sample.task for sample in task.samples}) > 1
    samples = [
        Sample(sample.id, sample.prompt, sample.prompt, "", sample.target, group=sample.task if several else None)
        for sample in task.samples
    ]
    samples.sort(key=lambda sample: order_key(seed, sample.id))
    bounded = task.scale == 100.0  # fractions of lm-eval's
    metric = Metric(
        f"{METRIC}{task.metric}",
        _never,
        lowest=0.0 if bounded else None,
        highest=100.0 if bounded else None,
        higher_is_better=task.higher_is_better,
        kind="foreign",
    )
    return ForeignTask(
        name=name, samples=tuple(samples), metric=metric, extract=Extract(), mode="completion", stop=(),
        max_tokens=max(request.max_tokens for sample in task.samples for request in sample.requests),
        fingerprint=task.fingerprint, dataset_ids=frozenset(asked), lm_eval=task, asked=asked,
    )  # fmt: skip


def _never(answer: str, target: str) -> float:
    raise TypeError(f"lm-eval scores {answer!r} against {target!r}")
