"""Every check evaluated, one engine at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from accgate.checks import Check, engine_of
from accgate.config import Config
from accgate.engines import Engine, EngineInfo
from accgate.engines.recorded import RecordedEngine
from accgate.errors import BadInput, CannotEvaluate
from accgate.evaluate import (
    PLAN,
    Assignment,
    Evaluation,
    Judge,
    Observer,
    Sampling,
    evaluate,
    kept_records,
    refuse_unfinished,
)
from accgate.records import Record, paths_of
from accgate.scores import shown
from accgate.shards import Shard, samples_digest
from accgate.tasks.samples import Task


@dataclass(frozen=True)
class Evaluated:
    """A check with its evaluation, or with the reason why it has none."""

    check: Check
    evaluation: Evaluation | None = None
    problem: str | None = None


def evaluate_checks(
    config: Config,
    checks: Sequence[Check],
    *,
    out: Path,
    resume: bool,
    observer: Observer,
    judges: Mapping[tuple[str, str], Judge | None] | None = None,
    shard: Shard | None = None,
) -> tuple[list[Evaluated], dict[str, EngineInfo]]:
    """Evaluate the checks, one engine at a time; a check whose engine fails carries the reason instead.

    `judges` stop the evaluation of a (model, task) as soon as it is decided; of a `shard` only its samples are asked.

    Raises
    ------
    BadInput
        For engine options or earlier records that cannot be used.
    """
    made = {name: engine_of(config, name) for name in dict.fromkeys(check.model for check in checks)}
    if not resume:
        for check in checks:
            refuse_unfinished(paths_of(out, check.model, check.task.name))
    evaluated: list[Evaluated] = []
    infos: dict[str, EngineInfo] = {}

    async def all_models() -> None:
        for name, engine in made.items():
            waiting = [check for check in checks if check.model == name]
            try:
                await engine.start()
                infos[name] = engine.describe()
                while waiting:
                    check = waiting[0]
                    assignment = assignment_of(config, check, infos[name], shard)
                    if lacking := missing_records(engine, assignment.task):
                        evaluated.append(Evaluated(check, problem=lacking))
                    else:
                        paths = paths_of(out, name, check.task.name)
                        kept = kept_records(assignment, paths, resume=resume)
                        judge = (judges or {}).get((name, check.task.name))
                        done = await evaluate(engine, assignment, paths, kept=kept, observer=observer, judge=judge)
                        evaluated.append(Evaluated(check, done))
                    waiting.pop(0)
            except CannotEvaluate as error:
                evaluated.extend(Evaluated(check, problem=str(error)) for check in waiting)
            finally:
                await engine.close()

    asyncio.run(all_models())
    return evaluated, infos


def refuse_unknown_ids(config: Config, checks: Sequence[Check]) -> None:
    """Refuse recorded samples that belong to no task: they are of another prompt or dataset.

    Raises
    ------
    BadInput
        Which, and how many.
    """
    for name in dict.fromkeys(check.model for check in checks):
        engine = engine_of(config, name)
        datasets = [check.task.dataset_ids for check in checks if check.model == name]
        if not isinstance(engine, RecordedEngine) or None in datasets:
            continue
        engine.read()
        unknown = engine.unknown_ids(frozenset().union(*(ids for ids in datasets if ids is not None)))
        if unknown:
            raise BadInput(
                f"model {name}: {len(unknown)} recorded samples belong to no task of it: {shown(unknown)}; "
                "were they made with another prompt or dataset?"
            )


def missing_records(engine: Engine, task: Task) -> str | None:
    """What a recording lacks of a task's samples; None where it has them all.

    What was left out is no failed sample, and a test that stops early would never come to look for it.
    """
    if not isinstance(engine, RecordedEngine):
        return None
    missing = engine.missing_ids(sample.id for sample in task.samples)
    if not missing:
        return None
    count = len(task.samples)
    return f"{len(missing)} of {count} samples have no record: {shown(missing)}; record every sample, each once"


def assignment_of(config: Config, check: Check, info: EngineInfo, shard: Shard | None = None) -> Assignment:
    """What is evaluated of a check: all of it, or a shard's part, with the settings that tell two runs apart."""
    model = config.models[check.model]
    sampling = Sampling(**asdict(model.sampling))
    settings = {
        "engine": asdict(info),
        "model": model.model,
        "variant": model.variant,
        "options": model.options,
        "sampling": asdict(sampling),
        "repeats": check.repeats,
    }
    whole = Assignment(check.model, check.task, check.repeats, sampling, settings, check.max_failed)
    if shard is None:
        return whole
    settings |= {"shard": str(shard), PLAN: samples_digest(check.task)}
    return replace(whole, task=shard.of(check.task), settings=settings, whole=whole.total)


def failures(item: Evaluated, consequence: str) -> str:
    """What failed in an evaluation, in words, with the mend."""
    assert item.evaluation is not None
    failed = item.evaluation.failed
    total = len(item.check.task.samples) * item.check.repeats
    first = failed[0].error if failed else "none"
    return (
        f"{len(failed)} of {total} samples failed, {consequence}; the first: {first}. "
        "Mend the cause, then go on with --resume"
    )


class Silent:
    """An observer that says nothing."""

    def started(self, model: str, task: str, total: int, kept: Sequence[Record]) -> None:
        """Nothing."""

    def finished(self, record: Record) -> None:
        """Nothing."""

    def ended(self) -> None:
        """Nothing."""
