"""A config with all that it names, checked without starting anything."""

from __future__ import annotations

from dataclasses import replace

from accgate.config import Config
from accgate.planning.baselines import refuse_unknown_baselines
from accgate.planning.checks import Check, plan_checks
from accgate.planning.design import planned_judge, planned_model
from accgate.planning.model import check_engines


def validate(config: Config, *, probe: bool = False) -> tuple[Check, ...]:
    """The planned checks, with the options and files of every engine checked, judges' too; nothing is started.

    An engine that is not installed here is no fault of the file: its checks carry a note. With `probe` each server is
    asked once whether it answers.

    Raises
    ------
    BadInput
        With every fault of the engines and of the baselines' names, or what `plan_checks` finds.
    CannotEvaluate
        With `probe`, when a server does not answer.
    """
    models = [planned_model(config, name) for name in config.models]
    judges = [planned_judge(config, name) for name in config.judges]
    notes = check_engines([*models, *judges])
    refuse_unknown_baselines(config)
    if probe:
        for model in (*models, *judges):
            model.probe()
    return tuple(
        replace(check, notes=(*check.notes, *(notes[key] for key in _engines_of(check) if key in notes)))
        for check in plan_checks(config, known_sizes=True)
    )


def _engines_of(check: Check) -> list[tuple[str, str]]:
    models = [check.planned_model] if check.judge is None else [check.planned_model, check.judge]
    return [(model.table, model.name) for model in models]
