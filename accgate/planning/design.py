"""The task, judge and design of a check before its samples are read."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from accgate.config.config import Config
from accgate.config.tables import Judge, Model, TaskSettings
from accgate.design import Design
from accgate.errors import KeyFaults
from accgate.metrics import Kind
from accgate.planning.judge import judge_code
from accgate.planning.model import PlannedModel
from accgate.references.store import Reference
from accgate.tasks import (
    MAX_UNREAD,
    Definition,
    DefinitionFile,
    Sample,
    Samples,
    Task,
    read_definition,
    recorded_samples,
    unloaded_definition,
)
from accgate.tasks.lm_eval.harness import harness_definition, harness_task, load_from_harness
from accgate.tasks.rows import Source
from accgate.tasks.task import UNREAD, build_task, stored_task

if TYPE_CHECKING:
    from accgate.tasks.lm_eval.task import LmEvalTask


@dataclass(frozen=True)
class TaskSource:
    """A task whose samples are not read yet.

    It has the task's table in accuracy.toml and its definition. `harness` is the task as lm-evaluation-harness has
    loaded it, None for a task of accgate's.
    """

    name: str
    settings: TaskSettings
    definition: Definition
    harness: LmEvalTask | None = None
    _built: dict[tuple[int | None, bool], Task] = field(init=False, default_factory=dict, compare=False, repr=False)

    @property
    def content(self) -> DefinitionFile:
        """What the definition's file says."""
        return self.definition.content

    @property
    def theta(self) -> float | None:
        """The drop in points that must be detectable.

        accuracy.toml gives it, or else the definition does.
        """
        return self.content.theta if self.settings.theta is None else self.settings.theta

    @cached_property
    def bounds(self) -> tuple[float | None, float | None]:
        """The lowest and the highest score of the metric, points.

        It is None for no bound, and for a task of lm-eval.
        """
        if self.settings.lm_eval is not None:
            return None, None
        metric = self.definition.metric(loaded=False)
        return metric.lowest, metric.highest

    @property
    def max_unread(self) -> float:
        """The share of replies that may hold no answer.

        It is that of accuracy.toml, else the definition's, else 0.2.
        """
        named = (self.settings.max_unread, self.content.max_unread)
        return next((share for share in named if share is not None), MAX_UNREAD)

    def task(self, config: Config, count: int | None, *, loaded: bool = True) -> Task:
        """Return the task with its samples, rendered once.

        A task that is generated has `count` of them.

        Raises
        ------
        KeyFaults
            For settings of the task's rows that cannot be used.
        BadInput
            For faults of the dataset or the definition.
        CannotEvaluate
            When the dataset cannot be had.
        """
        key = (count if self.content.dataset.generator else None, loaded)
        if key not in self._built:
            self._built[key] = self._task(config, count, loaded=loaded)
        return self._built[key]

    def _task(self, config: Config, count: int | None, *, loaded: bool) -> Task:
        settings, seed = self.settings, config.gate.seed
        if self.harness is not None:
            return harness_task(self.name, self.harness, seed, settings.reasoning or "strip")
        names = settings.dataset, settings.few_shot_dataset
        dataset, few_shot = (None if name is None else config.path(name) for name in names)
        source = Source(settings.options, seed, count, dataset, few_shot, settings.subset)
        task = build_task(self.name, self.definition, source, mode=settings.mode, loaded=loaded)
        return task if settings.judge is None else _with_judge(task, config.judges[settings.judge])

    @property
    def is_local(self) -> bool:
        """Whether the rows are generated, or lie in a file."""
        settings, dataset = self.settings, self.content.dataset
        is_here = settings.dataset is not None or (dataset.hub is None and not dataset.parts)
        return settings.lm_eval is None and is_here

    def stored_task(self, config: Config, recorded: Reference | None, count: int | None) -> Task:
        """Return a task of recorded samples, which can be decided and not evaluated.

        Where the reference has no scores, nothing is known of the `count` samples (`is_unread`).

        Raises
        ------
        KeyFaults
            When nothing says how many samples there are.
        """
        if recorded is not None and recorded.scores is not None:
            samples, fingerprint = recorded_samples(recorded.records()), recorded.about.fingerprint
        elif count:
            samples, fingerprint = Samples(Sample(UNREAD.format(n), "", "", "", "") for n in range(count)), {}
        else:
            fault = "is missing; write the number of samples, because the reference has no scores of single samples"
            raise KeyFaults((("num_samples",), fault))
        task = stored_task(self.name, self.definition, samples, fingerprint, seed=config.gate.seed)
        return task if self.settings.judge is None else _with_judge(task, config.judges[self.settings.judge])


def task_source(config: Config, name: str, *, loaded: bool = True) -> TaskSource:
    """Find a task of accuracy.toml with its definition.

    The definition is the harness's, a file's, or the library's. Unless `loaded`, neither lm-eval nor a user's metric is
    loaded: the task can only be decided on what is recorded.

    Raises
    ------
    KeyFaults
        Where the task needs leave to run code, a judge, or recorded samples, and its table does not give them.
    BadInput
        For faults of the definition.
    CannotEvaluate
        When a task of the harness cannot be loaded, or the metric needs a package that is not installed.
    """
    settings = config.tasks[name]
    if settings.lm_eval is not None:
        if not loaded:
            return TaskSource(name, settings, unloaded_definition(settings.lm_eval, settings.options))
        table = f"[tasks.{name}.options] of {config.source.path}"
        harness = load_from_harness(settings.lm_eval, settings.options, config.folder, config.trees, table)
        definition = harness_definition(harness.name, harness.metric, harness.higher_is_better)
        return TaskSource(name, settings, definition, harness)
    definition = read_definition(config.definition_path(name)).with_choice(settings.choose)
    definition = replace(definition.with_reasoning(settings.reasoning), trees=config.trees)
    _refuse_lacking(settings, definition, definition.metric(loaded=loaded).kind)
    return TaskSource(name, settings, definition)


def _refuse_lacking(settings: TaskSettings, definition: Definition, kind: Kind) -> None:
    aggregate = definition.content.aggregate
    if kind == "code" and not settings.run_code:
        fault = "runs code that the model wrote: allow that with run_code = true, and read docs/security.md"
        raise KeyFaults(((), fault))
    if kind == "judge" and settings.judge is None:
        raise KeyFaults(((), 'needs a judge; name one of the tables [judges.NAME] with judge = "NAME"'))
    if aggregate is None:
        return
    for key in ("target", "reference"):
        if getattr(settings, key) is not None:
            fault = f"is a mean, but {aggregate} needs recorded samples; remove it and record a reference"
            raise KeyFaults(((key,), fault))
    for key in ("allowed_drop", "certify"):
        if getattr(settings, key):
            raise KeyFaults(((key,), f"is for means, and {aggregate} is not one; remove it"))
    if settings.test not in ("auto", "bootstrap"):
        fault = f"is {settings.test!r}; {aggregate} is not a mean of scores: use auto or bootstrap"
        raise KeyFaults((("test",), fault))


def design_of(config: Config, task: TaskSource) -> Design:
    """Return the error rates and the test of a check.

    They are those of accuracy.toml, or else the definition's.

    Raises
    ------
    KeyFaults
        Where a proof is asked for of a theta that is not there.
    """
    gate, settings, definition = config.gate, task.settings, task.content
    if settings.certify and task.theta is None:
        raise KeyFaults((("certify",), "needs theta: a pass proves that the drop is less than allowed_drop + theta"))
    is_mean = definition.aggregate is None
    needs_all = gate.groups == "fail" and has_groups(task.definition)  # a stop looks at all samples together
    sigma = definition.sigma if settings.sigma is None else settings.sigma
    return Design(
        test=settings.test,
        alpha=config.rate(task.name, "alpha", definition.alpha),
        beta=config.rate(task.name, "beta", definition.beta),
        sigma=sigma if is_mean else None,
        theta=task.theta,
        higher_is_better=task.definition.higher_is_better,
        # An early stop needs a theta that the evidence can rule out.
        early_stopping=gate.early_stopping and task.theta is not None and is_mean and not needs_all,
        seed=gate.seed,
        certify=settings.certify,
        tier=settings.tier,
    )


def has_groups(definition: Definition) -> bool:
    """Tell whether the scores of a task come in groups."""
    content = definition.content
    return content.aggregate is None and (content.columns.group is not None or bool(content.dataset.parts))


def planned_model(config: Config, name: str) -> PlannedModel:
    """Return the model of this name, in the file that holds [models]."""
    return PlannedModel(name, config.models[name], config.models_file, workspace=config.workspace)


def planned_judge(config: Config, name: str) -> PlannedModel:
    """Return the judge of this name, as a model that can be asked."""
    judge = config.judges[name]
    settings = Model(engine=judge.engine, model=judge.model, options=judge.options, sampling=judge.sampling)
    return PlannedModel(name, settings, config.source, "judges", code=judge_code(config, name))


def _with_judge(task: Task, judge: Judge) -> Task:
    """Put the judge into a task's fingerprint, for another judge gives other marks."""
    named = {key: value for key, value in asdict(judge).items() if key not in ("options", "files")}
    digest = hashlib.sha256(f"{task.fingerprint['metric']}{sorted(named.items())}".encode()).hexdigest()[:16]
    return replace(task, fingerprint={**task.fingerprint, "metric": digest})
