"""accuracy.toml as typed, frozen dataclasses.

Rules that one value can break stand with its field; rules between values stand in `_faults`.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass as plain_dataclass
from dataclasses import field, replace
from pathlib import Path
from typing import Any, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from accgate.errors import BadInput
from accgate.inputs import CLOSED, Count, Flag, Number, Text, Texts, TomlFile, Whole, located, read_toml, validated
from accgate.records import file_name
from accgate.stats import PAIRED_TESTS, Correction, TestName
from accgate.tasks import ENDINGS, Beta, ChosenBy, Level, library_names
from accgate.text import Key, dotted, nearest

EngineName = Literal["vllm", "openai", "llamacpp", "recorded", "ray"]


@dataclass(frozen=True, kw_only=True, config=CLOSED)
class Gate:
    """`[gate]`: the error rates and rules of every check."""

    alpha: Level = 0.05
    beta: Beta = 0.2
    correction: Correction = Field(default="holm", description="correction for several (model, task) checks in one run")
    on_inconclusive: Literal["fail", "warn"] = Field(
        default="fail", description="whether a run too small to see theta fails the gate"
    )
    drift_alpha: Level = Field(default=0.05, description="type I error rate of the slow decline over all references")
    max_failed: Number = Field(
        default=0.01, ge=0, lt=1, description="share of samples that may stay without a score, 0 or more and below 1"
    )
    early_stopping: Flag = Field(default=True, description="stop as soon as the evidence allows")
    references: Text = Field(
        default="references", min_length=1, description="folder of references, relative to this file"
    )
    seed: Whole = Field(default=0, description="order of the samples, and generated tasks")


@dataclass(frozen=True, kw_only=True, config=CLOSED)
class Sampling:
    """`[models.NAME.sampling]`: how replies are drawn; unset values leave the task's or engine's default."""

    temperature: Number = Field(default=0.0, ge=0, description="0 is greedy")
    max_tokens: Count | None = Field(default=None, description="longest reply; the task's own where unset")
    top_p: Number | None = Field(default=None, gt=0, le=1, description="nucleus, above 0 and at most 1")
    top_k: Whole | None = Field(default=None, description="candidates per token; what 0 or -1 means is the engine's")
    seed: Whole | None = Field(default=None, description="seed of the engine's sampler")
    stop: Texts = Field(default=(), description="stop strings, besides the task's")
    extra: dict[Text, Any] = Field(
        default_factory=dict, description="further fields of the request, as the engine has them"
    )


@dataclass(frozen=True, kw_only=True, config=CLOSED)
class Model:
    """`[models.NAME]`: one engine with weights and options."""

    engine: EngineName = Field(description='engine = "vllm", "openai", "llamacpp", "recorded" or "ray"')
    model: Text = Field(min_length=1, description='model = "...", the weights, model name or file the engine loads')
    variant: dict[Text, Any] = Field(default_factory=dict, description="labels of what runs: quant, kv, gpu")
    baseline: Text | None = Field(
        default=None, description='which reference judges it: "model" or "model@key=value,..."'
    )
    options: dict[Text, Any] = Field(default_factory=dict, description="the engine's own options")
    sampling: Sampling = field(default_factory=Sampling)


@dataclass(frozen=True, kw_only=True, config=CLOSED)
class Task:
    """`[tasks.NAME]`: what is asked, and how much of a drop matters; points throughout."""

    file: Text | None = Field(default=None, description="task definition, relative to this file")
    library: Text | None = Field(default=None, description="name in the task library where it is not this table's own")
    lm_eval: Text | None = Field(default=None, description="a task of lm-evaluation-harness, with its scorer")
    options: dict[Text, Any] = Field(default_factory=dict, description="options of a generated task, or of lm_eval")
    mode: Literal["chat", "completion"] | None = Field(default=None, description="ask by chat or by raw completion")
    dataset: Text | None = Field(
        default=None, description="file that takes the place of the definition's dataset, relative to this file"
    )
    few_shot_dataset: Text | None = Field(
        default=None, description="file that takes the place of the solved examples, relative to this file"
    )
    subset: Text | None = Field(default=None, description="configuration of the hub dataset, in place of dataset.name")
    choose: ChosenBy | None = Field(
        default=None, description="multiple choice by a generated letter or by the options' likelihoods"
    )
    run_code: Flag = Field(default=False, description="allow that code which the model wrote is run, in a sandbox")
    judge: Text | None = Field(default=None, description="which of [judges] gives the marks, for metric = judge")
    sigma: Number | None = Field(default=None, ge=0, description="standard deviation of one score in points, 0 or more")
    theta: Number | None = Field(default=None, gt=0, description="drop in points that must be detectable, above 0")
    discordance: Number | None = Field(
        default=None, ge=0, le=1, description="expected share of samples that change their score, for planning, 0 to 1"
    )
    num_samples: Count | None = Field(default=None, description="samples to evaluate, 1 or more")
    limit: Count | None = Field(default=None, description="at most this many samples, 1 or more")
    alpha: Level | None = None
    beta: Beta | None = None
    test: TestName = Field(default="auto", description="auto takes the best test that the reference allows")
    reference: Number | None = Field(
        default=None, description="the reference's mean in points, where no scores are recorded"
    )
    reference_num_samples: Count | None = Field(default=None, description="number of samples behind `reference`")
    target: Number | None = Field(default=None, description="an absolute mean in points that must hold")
    models: Texts = Field(default=(), description="models this task is for; all where empty")
    repeats: Count = Field(default=1, description="answers per sample, 1 or more")
    tags: Texts = Field(default=(), description="labels to choose tasks by")


@dataclass(frozen=True, kw_only=True, config=CLOSED)
class Judge:
    """`[judges.NAME]`: a model that marks answers; it is a rule of the gate, and no model that is gated."""

    engine: Literal["openai", "vllm", "llamacpp"] = Field(default="openai", description="the engine that asks it")
    model: Text = Field(min_length=1, description='model = "...", the judge\'s name on its server')
    options: dict[Text, Any] = Field(default_factory=dict, description="the engine's own options")
    sampling: Sampling = field(default_factory=Sampling)


@dataclass(frozen=True, kw_only=True, config=CLOSED)
class Report:
    """`[report]`: what people read."""

    template: Text | None = Field(
        default=None,
        min_length=1,
        description="Jinja template over blocks of the comment, relative to this file",
    )


@dataclass(frozen=True, kw_only=True, config=CLOSED)
class AccuracyFile:
    """accuracy.toml."""

    models: dict[Text, Model] = Field(description="a table [models.NAME] with engine and model")
    tasks: dict[Text, Task] = Field(description="a table [tasks.NAME]")
    gate: Gate = field(default_factory=Gate)
    report: Report = field(default_factory=Report)
    judges: dict[Text, Judge] = Field(default_factory=dict, description="tables [judges.NAME] with engine and model")


@plain_dataclass(frozen=True)
class Config:
    """accuracy.toml, checked, with its place in the file system for relative paths and messages."""

    gate: Gate
    models: Mapping[str, Model]
    tasks: Mapping[str, Task]
    source: TomlFile
    partial: bool = False  # only some of the file's tasks were chosen
    checks_in_file: int = 0  # (model, task) pairs of the whole file, which a reference must serve
    models_source: TomlFile | None = None  # the file of [models], where it is another than that of the rules
    only: frozenset[tuple[str, str]] | None = None  # the (model, task) pairs that are checked; all where None
    report: Report = field(default_factory=Report)
    judges: Mapping[str, Judge] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        """The folder that relative paths of the file start from."""
        return self.source.path.parent

    @property
    def models_file(self) -> TomlFile:
        """The file that [models] stands in: paths of weights and recordings start from its folder."""
        return self.source if self.models_source is None else self.models_source

    @property
    def references(self) -> Path:
        """The reference store."""
        return Path(os.path.normpath(self.path(self.gate.references)))

    def rate(self, task: str, rate: Literal["alpha", "beta"], definition: float | None) -> float:
        """alpha or beta of a task: its own, what [gate] says in the file, the definition's, or the default."""
        own, gate = getattr(self.tasks[task], rate), getattr(self.gate, rate)
        if own is not None:
            return float(own)
        says = rate in self.source.data.get("gate", {})
        return float(gate if says or definition is None else definition)

    def path(self, name: str) -> Path:
        """A path of the file, made relative to the file's folder."""
        return self.source.path_of(name)

    def without_baselines(self) -> Config:
        """The config with only the models that are no one's candidate: those a reference is recorded of.

        Raises
        ------
        BadInput
            When every model is a candidate.
        """
        own = {name: model for name, model in self.models.items() if model.baseline is None}
        if not own:
            raise BadInput(f"{self.source.path}: every model has a baseline; name the one to record with --models")
        return replace(self, models=own)

    def pairs(self) -> list[tuple[str, str]]:
        """Every (model, task) that is checked, in the file's order."""
        pairs = [(m, t) for m in self.models for t, task in self.tasks.items() if not task.models or m in task.models]
        return pairs if self.only is None else [pair for pair in pairs if pair in self.only]


def load_config(path: str | Path) -> Config:
    """Read and check accuracy.toml.

    Raises
    ------
    BadInput
        With a message for every fault: file, line, key, what is wrong and the mend.

    Examples
    --------
    >>> load_config("configs/quickstart.toml").gate.beta
    0.2
    """
    return checked_config(read_toml(Path(path), mend="write one with `accgate init`"))


def checked_config(file: TomlFile) -> Config:
    """The config of a file that is read already; raises as `load_config` does."""
    content = validated(file, AccuracyFile)
    if faults := list(_faults(content, file)):
        raise located(file, faults)
    config = Config(content.gate, content.models, content.tasks, file, report=content.report, judges=content.judges)
    return replace(config, checks_in_file=len(config.pairs()))


def config_schema() -> dict[str, Any]:
    """JSON schema of accuracy.toml, for editors."""
    from pydantic import TypeAdapter

    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **TypeAdapter(AccuracyFile).json_schema()}


def chosen(config: Config, models: tuple[str, ...] = (), tasks: tuple[str, ...] = ()) -> Config:
    """The config with only these models and tasks (names, or tags of tasks); all where empty.

    Raises
    ------
    BadInput
        For a name that the config does not have.
    """
    labels = {tag for task in config.tasks.values() for tag in task.tags}
    asked = [("model", name, {*config.models}) for name in models]
    asked += [("task", name, {*config.tasks, *labels}) for name in tasks]
    unknown = [(kind, name, known) for kind, name, known in asked if name not in known]
    if unknown:
        raise BadInput(
            *(f"{config.source.path}: no {kind} {name!r}; {nearest(name, known)}" for kind, name, known in unknown)
        )
    kept_models = {k: v for k, v in config.models.items() if not models or k in models}
    kept_tasks = {k: v for k, v in config.tasks.items() if not tasks or k in tasks or set(v.tags) & set(tasks)}
    partial = config.partial or len(kept_tasks) < len(config.tasks)
    return replace(config, models=kept_models, tasks=kept_tasks, partial=partial)


def _faults(content: AccuracyFile, file: TomlFile) -> Iterator[tuple[Key, str]]:
    """Faults between values, each with its key."""
    for kind, names in (("models", content.models), ("tasks", content.tasks)):
        if not names:
            yield (kind,), f"has no table; add [{kind}.NAME]"
        yield from _name_faults(kind, names)
    for name, model in content.models.items():
        yield from _model_faults(name, model)
    if content.report.template is not None and not file.has_file(content.report.template):
        yield ("report", "template"), f"there is no file {content.report.template!r} in {file.path.parent}"
    for name, task in content.tasks.items():
        for key, message in _task_faults(name, task, content, file):
            yield ("tasks", name, *key), message


def _model_faults(name: str, model: Model) -> Iterator[tuple[Key, str]]:
    for label, value in model.variant.items():
        if isinstance(value, (dict, list)) or (isinstance(value, float) and not math.isfinite(value)):
            yield ("models", name, "variant", label), f"is {value!r}; write text, a number or true/false"
    for key in ("messages", "prompt"):  # no model's own: the base's rules say what is asked
        if key in model.sampling.extra:
            yield ("models", name, "sampling", "extra", key), "is what a task asks; write it in the task's file"


def _name_faults(kind: str, names: Mapping[str, Any]) -> Iterator[tuple[Key, str]]:
    seen: dict[str, str] = {}
    for name in names:
        usable = name.strip() == name != "" and name.isprintable() and "@" not in name
        if not usable or len(name) > 100 or len(file_name(name)) > 200:  # file systems stop at 255 bytes
            yield (kind, name), "is not a usable name; use up to 100 printable characters without @"
        other = seen.setdefault(name.casefold(), name)
        if other != name:
            yield (
                (kind, name),
                f"differs from {dotted((kind, other))} only in upper and lower case; rename one of the two",
            )


def _task_faults(name: str, task: Task, content: AccuracyFile, file: TomlFile) -> Iterator[tuple[Key, str]]:
    for model in task.models:
        if model not in content.models:
            yield ("models",), f"names no model {model!r}; {nearest(model, content.models)}"
    if task.judge is not None and task.judge not in content.judges:
        yield ("judge",), f"names no judge {task.judge!r}; {nearest(task.judge, content.judges)}"
    yield from _source_faults(name, task, file)
    if task.reference is not None and task.reference_num_samples is None:
        yield ("reference",), "needs reference_num_samples beside it: the reference's own error counts"
    if task.reference is None and task.reference_num_samples is not None:
        yield ("reference_num_samples",), "needs reference, the mean in points, beside it"
    if task.reference is not None and task.target is not None:
        yield ("target",), "stands beside reference; one task is judged against one of the two"
    if task.limit is not None and task.num_samples is not None and task.limit < task.num_samples:
        yield ("limit",), f"is {task.limit}, less than num_samples = {task.num_samples}; remove one of the two"
    yield from _test_faults(task)


OURS = ("file", "library", "mode", "dataset", "few_shot_dataset", "subset", "choose", "judge")  # lm-eval has its own


def _source_faults(name: str, task: Task, file: TomlFile) -> Iterator[tuple[Key, str]]:
    if task.lm_eval is not None:
        given = [key for key in OURS if getattr(task, key) is not None]
        yield from (((key,), "stands beside lm_eval, which brings its own; remove one of the two") for key in given)
    elif task.file is not None:
        if task.library is not None:
            yield ("library",), "stands beside file; keep one of the two"
        if not file.has_file(task.file):
            missing = f"there is no file {task.file!r} in {file.path.parent}"
            yield ("file",), f"{missing}; write the path relative to this file"
    elif (task.library or name) not in library_names():
        key: Key = ("library",) if task.library else ()
        hint = nearest(task.library or name, library_names())
        yield key, f'is not in the task library; {hint}; or name a task file: file = "my_task.toml"'
    yield from _dataset_faults(task, file)


def _dataset_faults(task: Task, file: TomlFile) -> Iterator[tuple[Key, str]]:
    for key, path in (("dataset", task.dataset), ("few_shot_dataset", task.few_shot_dataset)):
        if path is not None and not file.has_file(path):
            yield (key,), f"there is no file {path!r} in {file.path.parent}; write the path relative to this file"
        elif path is not None and not path.lower().endswith(ENDINGS):
            yield (key,), f"is {path!r}; the name must end in {', '.join(ENDINGS)}"


def _test_faults(task: Task) -> Iterator[tuple[Key, str]]:
    if task.test == "target" and task.target is None:
        yield ("test",), "is target, but no target is set; add target = ..., the mean that must hold"
    if task.test not in ("target", "auto") and task.target is not None:
        yield ("test",), f"is {task.test!r}, but a target is set; use target, or remove the target"
    if task.test in PAIRED_TESTS and task.reference is not None:
        yield ("test",), f"is {task.test}, but only a reference's mean is given; use two-sample, or record one"
