"""A config with all that it names, checked without starting anything."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from accgate.config.config import Config
from accgate.engines import Request
from accgate.errors import BadInput
from accgate.planning.baselines import refuse_unknown_baselines
from accgate.planning.checks import Check, plan_checks
from accgate.planning.design import planned_judge, planned_model
from accgate.planning.model import PlannedModel, check_engines
from accgate.tasks import HarnessTask

FIRST = 3  # samples of which a chat template must render one: a single sample may be unusual


def validate(config: Config) -> tuple[Check, ...]:
    """Plan the checks, and check the options and files of every engine.

    Judges are checked too, and nothing is started. An engine that is not installed here is no fault of the file: its
    checks carry a note.

    Raises
    ------
    BadInput
        With every fault of the engines and of the baselines' names, or what `plan_checks` finds.
    """
    notes = check_engines(_models_of(config))
    refuse_unknown_baselines(config)
    checks = plan_checks(config, known_sizes=True)
    refuse_broken_templates(checks)
    return tuple(
        replace(check, notes=(*check.notes, *(notes[key] for key in _engines_of(check) if key in notes)))
        for check in checks
    )


def refuse_broken_templates(checks: Sequence[Check]) -> None:
    """Refuse chat templates that render none of a check's first samples.

    Only templates that are files here are tried.

    Raises
    ------
    BadInput
        For every template that cannot be parsed, or renders none of them.
    """
    faults: dict[str, None] = {}  # each once, of whatever tasks
    for check in checks:
        try:
            check.planned_model.check_template([*_first_chats(check)])
        except BadInput as error:
            faults |= dict.fromkeys(error.messages)
    if faults:
        raise BadInput(*faults)


def _first_chats(check: Check) -> Iterator[Request]:
    """Yield the requests of those of a check's first samples that are chats."""
    count = 0 if check.task.is_unread or isinstance(check.task, HarnessTask) else min(FIRST, check.n)
    for sample in map(check.task.samples.__getitem__, range(count)):
        if (mode := check.task.part_of(sample).content.mode) == "chat":
            parts = tuple({"type": "image_url", "image_url": {"url": url}} for url in sample.images)
            extra = check.planned_model.settings.sampling.extra
            yield Request(
                sample.id, 0, sample.user, sample.system, mode, extra=extra, parts=parts,
                messages=sample.messages, tools=sample.tools,
            )  # fmt: skip


def probe(config: Config, checks: Sequence[Check] = ()) -> tuple[str, ...]:
    """Ask the servers of all models and judges once.

    The result has a line for each model and judge. A check with raw prompts has a line where its first prompt would
    begin with the same special token twice.

    Raises
    ------
    BadInput
        When a URL or a model's name is wrong.
    CannotEvaluate
        When a server does not answer.
    """
    answers = [f"{model.name}: {answer}" for model in _models_of(config) for answer in model.probe()]
    faults = [f"{check.name}: {fault}" for check in checks if (fault := _beginning(check)) is not None]
    return (*answers, *faults)


def _beginning(check: Check) -> str | None:
    """Say how the first prompt of a check begins wrongly, if it does."""
    server, sampling = check.planned_model.server(), check.planned_model.settings.sampling
    if server is None or not len(check.task.samples) or sampling.extra.get("add_special_tokens") is False:
        return None
    sample = check.task.samples[0]
    if check.task.part_of(sample).content.mode != "completion":
        return None
    return server.beginning(Request(sample.id, 0, sample.user, sample.system, "completion"))


def _models_of(config: Config) -> list[PlannedModel]:
    models = [planned_model(config, name) for name in config.models]
    return models + [planned_judge(config, name) for name in config.judges]


def _engines_of(check: Check) -> list[tuple[str, str]]:
    return [(model.table, model.name) for model in (check.planned_model, check.judge) if model is not None]
