"""The command that says how each task reads replies, and shows ten."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from accgate.cli.common import CONFIG, json_option, print_outcome
from accgate.cli.working_folder import from_start
from accgate.errors import PASSED, BadInput
from accgate.text import nearest

if TYPE_CHECKING:
    from accgate.config.config import Config
    from accgate.evaluation.examples import Example
    from accgate.tasks import Definition, Task


def tasks_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `tasks`."""
    command.add_argument("name", nargs="?", metavar="NAME", help="show what this task reads from ten example replies")
    command.add_argument("--config", type=Path, default=CONFIG, metavar="FILE", help=f"the config ({CONFIG})")
    json_option(command)


def tasks(arguments: argparse.Namespace) -> int:
    """Print the line of every task, those of a config first.

    With a name print the examples of one.
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

    No code of a user's is loaded.
    """
    from accgate.planning.design import task_source
    from accgate.tasks import library_file, read_definition

    if config is None or name not in config.tasks:
        return read_definition(library_file(name))
    with config.source.locating(("tasks", name)):
        return task_source(config, name, loaded=False).definition


def _task_of(config: Config | None, name: str) -> Task:
    """Return the task with its rows.

    It has them if they lie in a file or are generated.
    """
    from accgate.evaluation.examples import ROWS, unread_task
    from accgate.planning.design import task_source

    if config is not None and name in config.tasks:
        with config.source.locating(("tasks", name)):
            source = task_source(config, name, loaded=config.tasks[name].lm_eval is None)
            if source.is_local:
                return source.task(config, ROWS)
    return unread_task(name, _definition_of(config, name))
