"""The commands `validate`, `plan` and `tasks`, which ask no model.

They show every check of a config, with its figures and costs, and how each task reads a reply.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from accgate.cli.common import CONFIG, OUT, config_of, config_options, console, json_option, print_json, print_outcome
from accgate.cli.working_folder import as_typed, from_start
from accgate.errors import PASSED, BadInput
from accgate.text import message_line, nearest, with_stop

if TYPE_CHECKING:
    from accgate.config.config import Config
    from accgate.evaluation.examples import Example
    from accgate.planning.checks import Check
    from accgate.planning.cost import Estimate, Speed
    from accgate.tasks import Definition, Task


def validate_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `validate`."""
    config_options(command)
    command.add_argument("--probe", action="store_true", help="ask each server: does it answer, have the model?")


def plan_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `plan`."""
    config_options(command)
    command.add_argument(
        "--runs", action="append", type=Path, metavar="DIR", help=f"runs to estimate the costs from ({OUT})"
    )
    command.add_argument("--probe", action="store_true", help="ask each running server a few samples: how fast is it?")
    what = "say how many samples show such a drop; reads no config"
    command.add_argument("--theta", type=float, metavar="POINTS", help=what)
    group = command.add_argument_group("if you have no dataset yet: how many test cases to annotate")
    group.add_argument("--margin", type=float, metavar="T", help="how far the mean may be off, in units of the range")
    group.add_argument("--confidence", type=float, default=0.95, metavar="SHARE", help="with this confidence (0.95)")
    group.add_argument("--range", nargs=2, type=float, default=[0.0, 1.0], metavar=("LOW", "HIGH"), help="scores (0 1)")
    group.add_argument("--population", type=int, metavar="N", help="how many test cases exist at all, if you know")


def validate(arguments: argparse.Namespace) -> int:
    """Check a config and all that it names, and say what it means."""
    from accgate.planning.validation import probe, validate

    config = config_of(arguments)
    checks = validate(config)
    answers = probe(config, checks) if arguments.probe else ()
    code = _print_checks(arguments, config, checks)
    if not arguments.json:
        for answer in answers or ["no model has a server to ask"] * arguments.probe:
            print(with_stop(message_line(answer)))
    return code


def plan(arguments: argparse.Namespace) -> int:
    """Plan every check of a config, or with --margin the annotation of test cases."""
    from accgate.planning.checks import plan_checks

    if arguments.margin is not None:
        return _plan_annotation(arguments)
    if arguments.theta is not None:
        return _plan_theta(arguments)
    config = config_of(arguments)
    checks = plan_checks(config, known_sizes=True)
    runs = arguments.runs or [path for path in (from_start(OUT),) if path.is_dir()]
    return _print_checks(arguments, config, checks, _estimates(checks, runs, probe=arguments.probe))


def _estimates(checks: Sequence[Check], runs: Sequence[Path], *, probe: bool) -> list[Estimate]:
    """Estimate when each check is decided, and its costs.

    With `probe` the speed of its running server is measured first.
    """
    from accgate.decision.progress import early_stop, expecting
    from accgate.planning.cost import estimate_of, hardware_here

    speeds: Sequence[Speed | str | None] = [None] * len(checks)
    if probe:
        from accgate.evaluation.speed import probed_speed

        speeds = [probed_speed(check) for check in checks]
    planned = [expecting(check, early_stop(check)) for check in checks]
    return [estimate_of(check, runs, hardware_here, speed) for check, speed in zip(planned, speeds, strict=True)]


def _plan_theta(arguments: argparse.Namespace) -> int:
    from accgate.planning.samples import plan
    from accgate.report.plans import theta_sentence

    plans = [plan(arguments.theta, test=test) for test in ("auto", "gsprt")]
    print_outcome(arguments, plans, lambda screen: screen.print(theta_sentence(*plans), markup=False))
    return PASSED


def _plan_annotation(arguments: argparse.Namespace) -> int:
    from accgate.planning.annotation import annotation_plan
    from accgate.report.plans import print_annotation

    low, high = arguments.range
    annotation = annotation_plan(
        arguments.margin, confidence=arguments.confidence, low=low, high=high, population=arguments.population
    )
    print_outcome(arguments, annotation, lambda screen: print_annotation(screen, annotation))
    return PASSED


def _print_checks(
    arguments: argparse.Namespace, config: Config, checks: Sequence[Check], costs: Sequence[Estimate] | None = None
) -> int:
    """Print the checks in words.

    With `costs` a table of their figures follows, and one of the costs.
    """
    from accgate.report.plans import gate_sentence, plan_rows, print_costs, print_overall, print_plan

    if arguments.json:
        rows = plan_rows(checks)
        for row, cost in zip(rows, costs or (), strict=False):
            row["cost"] = {key: value for key, value in asdict(cost).items() if key not in ("model", "task")}
        print_json(rows)
        return PASSED
    screen, title = console(), gate_sentence(Path(as_typed(config.source.path)), config.gate, checks)
    print_plan(screen, checks, title=title, table=costs is not None)
    print_overall(screen, config.gate, checks)
    print_costs(screen, costs or ())
    return PASSED


def tasks_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `tasks`."""
    command.add_argument("name", nargs="?", metavar="NAME", help="show what this task reads from ten example replies")
    command.add_argument("--config", type=Path, default=CONFIG, metavar="FILE", help=f"the config ({CONFIG})")
    json_option(command)


def tasks(arguments: argparse.Namespace) -> int:
    """Print the line of every task, those of a config first.

    With a name, print example replies and what the task reads from them.
    """
    from accgate.config.config import load_config
    from accgate.evaluation.examples import examples_of, reading_of
    from accgate.report.readings import print_readings
    from accgate.tasks import library_names

    has_config = arguments.config.exists() or arguments.config != from_start(CONFIG)
    config = load_config(arguments.config) if has_config else None
    names = dict.fromkeys([*(config.tasks if config else ()), *library_names()])
    shown: dict[str, tuple[str, list[Example]]]
    if arguments.name is None:
        shown = {name: (reading_of(_definition_of(config, name)), []) for name in names}
    elif arguments.name in names:
        task = _task_of(config, arguments.name)
        shown = {arguments.name: (reading_of(task.definition), examples_of(task))}
    else:
        raise BadInput(f"there is no task {arguments.name!r}; {nearest(arguments.name, names)}")
    rows = [{"task": name, "reading": reading, "examples": each} for name, (reading, each) in shown.items()]
    print_outcome(arguments, rows, lambda screen: print_readings(screen, shown))
    return PASSED


def _definition_of(config: Config | None, name: str) -> Definition:
    """Read the definition of a task of the config, or else of the library.

    It loads no code of the user's.
    """
    from accgate.planning.design import task_source
    from accgate.tasks import library_file, read_definition

    if config is None or name not in config.tasks:
        return read_definition(library_file(name))
    with config.source.locating(("tasks", name)):
        return task_source(config, name, loaded=False).definition


def _task_of(config: Config | None, name: str) -> Task:
    """Return the task, with its rows if they are local or generated."""
    from accgate.evaluation.examples import ROWS, unread_task
    from accgate.planning.design import task_source

    if config is not None and name in config.tasks:
        with config.source.locating(("tasks", name)):
            source = task_source(config, name, loaded=config.tasks[name].lm_eval is None)
            if source.is_local:
                return source.task(config, ROWS)
    return unread_task(name, _definition_of(config, name))
