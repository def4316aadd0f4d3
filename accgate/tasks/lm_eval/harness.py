"""A task of lm-evaluation-harness as a task of accgate.

lm-eval words and scores its samples; ids, order, records and tests are accgate's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accgate.inputs.typed import parse_table
from accgate.metrics import Metric
from accgate.metrics.code import declared_files
from accgate.sandbox.declared import Code
from accgate.tasks.definition import Definition
from accgate.tasks.lm_eval.mapping import stated_direction
from accgate.tasks.sample import Sample
from accgate.tasks.samples import Samples
from accgate.tasks.schema import HARNESS, Dataset, DefinitionFile, ReasoningUse
from accgate.tasks.task import Task

if TYPE_CHECKING:
    from accgate.tasks.lm_eval.task import LmEvalTask


@dataclass(frozen=True, kw_only=True)
class HarnessTask(Task):
    """A task whose samples lm-eval words and scores."""

    lm_eval: LmEvalTask = field(compare=False)

    @property
    def needs_likelihoods(self) -> bool:
        """Whether lm-eval asks how likely given texts are."""
        return self.lm_eval.needs_likelihoods


def unloaded_definition(name: str, options: Mapping[str, Any]) -> Definition:
    """Return the definition of a task of lm-eval that is not loaded.

    It has only the task's name, its metric and the metric's direction.
    """
    metric = options.get("metric") or "acc"
    return harness_definition(name, str(metric), stated_direction(metric, options.get("higher_is_better")))


def harness_definition(name: str, metric: str, higher_is_better: bool) -> Definition:
    """Return the definition of a task whose prompts and scorer lm-eval has."""
    content = DefinitionFile(
        dataset=Dataset(hub=f"lm_eval/{name}"),
        prompt=name,
        target=name,
        metric=f"{HARNESS}{metric}",
        metric_options={"higher_is_better": higher_is_better},
        source="lm-evaluation-harness",
    )
    return Definition(content, Path(f"lm_eval/{name}"))


def load_from_harness(
    name: str, options: Mapping[str, Any], folder: Path, trees: Sequence[Path], table: str
) -> LmEvalTask:
    """Load the task of lm-eval with this name, by its table's `options`.

    Paths in options start from `folder`. Where the rules of `trees` decide, the task's code may read of their files
    only those of include_path and those that `options.files` names.

    Raises
    ------
    KeyFaults
        For options that there are not, with keys of the task's table in accuracy.toml.
    BadInput
        For names that lm-eval does not know, and code that opens another file of the trees.
    CannotEvaluate
        When lm-eval is not installed, or the data set cannot be had.
    """
    from accgate.tasks.lm_eval.loading import LmEvalOptions
    from accgate.tasks.lm_eval.task import lm_eval_task, load_apart

    checked = parse_table(options, LmEvalOptions, ("options",))
    if not trees:
        return lm_eval_task(name, options=checked, folder=folder)
    code = Code(f"lm-eval's task {name}", included_files(options, folder), tuple(trees), table, folder)
    return load_apart(code, name, checked)


def included_files(options: Mapping[str, Any], folder: Path) -> tuple[Path, ...]:
    """List the files of a task's own that lm-eval reads.

    These are the files of include_path at any depth, and the declared ones.

    Raises
    ------
    BadInput
        When there is no such folder or file.
    """
    own, declared = options.get("include_path"), options.get("files") or ()
    included = [own] if isinstance(own, str) else []
    names = [name for name in declared if isinstance(name, str)] if isinstance(declared, (list, tuple)) else []
    return tuple(dict.fromkeys(declared_files(folder, [*included, *names])))


def harness_task(name: str, task: LmEvalTask, seed: int, reasoning: ReasoningUse) -> HarnessTask:
    """Return the samples of a loaded task in the fixed order."""
    several = len({sample.task for sample in task.samples}) > 1
    samples = Samples(
        Sample(one.id, one.prompt, one.prompt, "", one.target, group=one.task if several else None)
        for one in task.samples
    )
    definition = harness_definition(task.name, task.metric, task.higher_is_better)
    longest = max(request.max_tokens for sample in task.samples for request in sample.requests)
    content = replace(definition.content, mode="completion", max_tokens=longest, reasoning=reasoning)
    lowest, highest = (0.0, 100.0) if task.scale == 100.0 else (None, None)  # fractions of lm-eval's
    metric = Metric(
        content.metric, lowest=lowest, highest=highest, higher_is_better=task.higher_is_better, kind="harness"
    )
    return HarnessTask(
        name=name,
        samples=samples.in_order(seed),
        metric=metric,
        definition=replace(definition, content=content),
        fingerprint=task.fingerprint if reasoning == "strip" else {**task.fingerprint, "reasoning": reasoning},
        dataset_ids=samples.ids,
        lm_eval=task,
    )
