"""The error rates and the test of a check, from accuracy.toml and the task's definition."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, replace

from accgate.config import Config, Judge, Model
from accgate.config import Task as TaskSettings
from accgate.design import Design
from accgate.errors import BadInput
from accgate.planning.model import PlannedModel
from accgate.tasks import Definition, Task, is_foreign, is_higher_better, metric_of


def design_of(config: Config, name: str, source: Definition) -> Design:
    """What decides a check of a task: what accuracy.toml says, else the definition."""
    settings = config.tasks[name]
    gate, definition = config.gate, source.content
    theta = definition.theta if settings.theta is None else settings.theta
    mean = definition.aggregate is None
    return Design(
        test=settings.test,
        alpha=config.rate(name, "alpha", definition.alpha),
        beta=config.rate(name, "beta", definition.beta),
        sigma=(definition.sigma if settings.sigma is None else settings.sigma) if mean else None,
        theta=theta,
        higher_is_better=is_higher_better(source),
        early_stopping=gate.early_stopping and theta is not None and mean,  # it stops on what would rule out theta
        seed=gate.seed,
    )


def refuse_unready(config: Config, settings: TaskSettings, name: str, source: Definition) -> None:
    """Refuse a task that needs what accuracy.toml does not give: leave to run code, a judge, a reference's scores."""
    content, here = source.content, ("tasks", name)
    if is_foreign(source):
        return
    metric = metric_of(source)
    if metric.kind == "code" and not settings.run_code:
        fault = "runs code that the model wrote: allow that with run_code = true, and read docs/security.md"
        raise BadInput(config.source.error(here, fault))
    if metric.kind == "judge" and settings.judge is None:
        fault = 'needs a judge; name one of the tables [judges.NAME] with judge = "NAME"'
        raise BadInput(config.source.error(here, fault))
    if content.aggregate is not None and (settings.target is not None or settings.reference is not None):
        key = "target" if settings.target is not None else "reference"
        fault = f"is a mean; {content.aggregate} is judged against recorded samples alone, remove it and record some"
        raise BadInput(config.source.error((*here, key), fault))
    if content.aggregate is not None and settings.test not in ("auto", "bootstrap"):
        fault = f"is {settings.test!r}; {content.aggregate} is no mean of scores: use auto or bootstrap"
        raise BadInput(config.source.error((*here, "test"), fault))


def judge_of(config: Config, name: str | None) -> PlannedModel | None:
    """The judge of this name; None for none."""
    if name is None:
        return None
    judge = config.judges[name]
    asked = Model(engine=judge.engine, model=judge.model, options=judge.options, sampling=judge.sampling)
    return PlannedModel(name, asked, config.source, "judges")


def judged_by(task: Task, judge: Judge) -> Task:
    """The task with its judge in the fingerprint: another judge gives other marks."""
    named = {key: value for key, value in asdict(judge).items() if key != "options"}
    digest = hashlib.sha256(f"{task.fingerprint['metric']}{sorted(named.items())}".encode()).hexdigest()[:16]
    return replace(task, fingerprint={**task.fingerprint, "metric": digest})
