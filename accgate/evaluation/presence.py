"""Refuse what cannot be evaluated before the first request.

An engine may lack an ability, a GPU the memory, a server its model, or a recording some samples.
"""

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence

from accgate.engines import Engine, recording_of
from accgate.errors import BadInput, CannotEvaluate
from accgate.planning.checks import Check
from accgate.planning.model import ModelKey, PlannedModel
from accgate.tasks import Task
from accgate.text import count_of, some_of, with_stop


def models_and_judges(checks: Sequence[Check]) -> dict[ModelKey, PlannedModel]:
    """List the models of the checks and their judges, each once."""
    return {each.key: each for check in checks for each in (check.planned_model, check.judge) if each is not None}


def running_servers(checks: Sequence[Check]) -> dict[ModelKey, PlannedModel]:
    """Return the models and judges whose servers run before the checks are evaluated.

    If accgate starts one of the servers, the others on this machine are left out: each may be that server, or be
    started with it.
    """
    each = [(model, server) for model in models_and_judges(checks).values() if (server := model.server()) is not None]
    starts = any(server.starts_server for _, server in each)
    return {model.key: model for model, server in each if not server.starts_server and not (starts and server.is_here)}


async def refuse_absent(checks: Sequence[Check], running: Mapping[ModelKey, PlannedModel]) -> None:
    """Ask the servers that run already whether they have their models.

    The first model's server and its judge's are left out, since the evaluation begins by asking these. A server that
    does not answer only causes a warning, and is asked again when its turn comes.

    Raises
    ------
    BadInput
        For every server that lacks its model.
    """
    if not checks:
        return
    soon = models_and_judges(checks[:1]) if checks[0].planned_model.key in running else {}
    later = [model for key, model in models_and_judges(checks).items() if key in running and key not in soon]
    outcomes = await asyncio.gather(*(model.reach() for model in later), return_exceptions=True)
    refuse_faults([message for outcome in outcomes if isinstance(outcome, BadInput) for message in outcome.messages])
    for model, outcome in zip(later, outcomes, strict=True):
        if isinstance(outcome, CannotEvaluate):
            what, cause = "model" if model.table == "models" else "judge", with_stop(str(outcome))
            logging.getLogger(__name__).warning(f"{what} {model.name}: {cause} It is asked again when its turn comes")
        elif isinstance(outcome, BaseException):
            raise outcome


def refuse_faults(faults: Iterable[str]) -> None:
    """Raise BadInput with the faults, each once, if there are any."""
    if distinct := dict.fromkeys(faults):
        raise BadInput(*distinct)


def refuse_unknown_ids(checks: Sequence[Check]) -> None:
    """Refuse recorded samples that belong to no task, as of another prompt or dataset.

    Raises
    ------
    BadInput
        Which samples, and how many.
    """
    for name, model in {check.model: check.planned_model for check in checks}.items():
        recording = recording_of(model.engine())
        datasets = [check.task.dataset_ids for check in checks if check.model == name]
        if recording is None or None in datasets:
            continue
        unknown = recording.unknown_ids([ids for ids in datasets if ids is not None])
        if unknown:
            samples = count_of(len(unknown), "recorded sample") + (" belongs" if len(unknown) == 1 else " belong")
            fault, hint = f"{samples} to none of its tasks", "were they made with another prompt or dataset?"
            raise BadInput(f"model {name}: {fault}: {some_of(unknown)}; {hint}")


def missing_records(engine: Engine, task: Task) -> str | None:
    """Say which of a task's samples a recording lacks, if it lacks some.

    A missing sample does not count as failed, and a test that stops early might never ask for it.
    """
    recording = recording_of(engine)
    missing = [] if recording is None else recording.missing_ids(task.samples.ids)
    if not missing:
        return None
    count = len(task.samples)
    return f"no record of {len(missing)} of {count} samples: {some_of(missing)}; record every sample, each once"


def refuse_unable(asked: Iterable[tuple[Engine, Check]]) -> None:
    """Refuse checks that cannot be evaluated.

    Their engine cannot answer them, or their judge does not fit into memory beside the model.

    Raises
    ------
    BadInput
        Why, with the alternative, for each of them.
    """
    refuse_faults(fault for each in asked for fault_of in (missing_ability, crowding) if (fault := fault_of(*each)))


def crowding(engine: Engine, check: Check) -> str | None:
    """Say why a check's model and judge overfill a GPU, if they do.

    Both are loaded while the judge marks answers.
    """
    share, judge = getattr(engine, "memory_share", None), check.judge
    if share is None or judge is None:
        return None
    judges = getattr(judge.engine(), "memory_share", None)
    if judges is None or share + judges <= 1.0 + 1e-9:
        return None
    takes = f"model {check.model} takes {share:.0%} of the GPU's memory and its judge {judge.name} {judges:.0%}"
    fix = "set options.gpu_memory_utilization of both to at most 1 together, or let a server judge (openai)"
    return f"{takes}, at the same time; {fix}"


def missing_ability(engine: Engine, check: Check) -> str | None:
    """Say why an engine cannot answer a check's task, and which engine can."""
    task = check.task
    answering = getattr(engine, "inner", engine)  # of replicas, what each of them runs
    if task.has_tools and not getattr(answering, "calls_tools", True):
        flags = '"--enable-auto-tool-choice", "--tool-call-parser", "PARSER", "--port", "{port}"'
        fault = f"task {task.name} has tools, but the engine of {check.model} reads no tool calls"
        return f'{fault}; use openai with options.serve = ["vllm", "serve", "MODEL", {flags}]'
    if not task.needs_likelihoods or hasattr(engine, "score") or recording_of(engine) is not None:
        return None
    what = f"task {task.name} compares log-likelihoods, which the engine of {check.model} does not give"
    can = "use vllm, llamacpp, or openai with a server whose /v1/completions has echo and logprobs (vLLM, SGLang)"
    return f"{what}; {can}" + (', or let it generate the letter: choose = "letter"' if task.by_likelihood else "")
