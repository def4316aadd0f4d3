"""The commands of the first minutes: init, explain and completion."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from accgate.errors import INTERRUPTED, PASSED, AccgateError, BadInput

if TYPE_CHECKING:
    from accgate.cli.starter import Answers

SHELLS = ("bash", "zsh", "fish")
FLAGS = ("name", "engine", "model", "base_url", "tasks", "theta", "workflow")
NOTHING = "nothing was written"


def init_arguments(command: argparse.ArgumentParser) -> None:
    """The flags of init; it asks where none is given."""
    command.description = (
        "Write a starter accuracy.toml, its schema for editors, and a workflow, then validate them. At a terminal "
        "it asks for what to write, unless a flag says so."
    )
    command.add_argument("--engine", choices=["openai", "vllm", "llamacpp", "ray", "recorded"], help="(openai)")
    command.add_argument("--model", help="what the engine loads, or its name on the server")
    command.add_argument("--base-url", metavar="URL", help="of an openai engine (http://127.0.0.1:8000/v1)")
    command.add_argument("--tasks", "--task", metavar="NAMES", help="of the library, comma-separated (arithmetic)")
    command.add_argument("--theta", type=float, metavar="POINTS", help="drop that must be seen (the task's own, or 4)")
    command.add_argument("--name", help="the model's name in the config (model)")
    command.add_argument(
        "--workflow", action=argparse.BooleanOptionalAction, default=None, help="write the GitHub workflow too (yes)"
    )
    command.add_argument("--yes", action="store_true", help="ask nothing; take what is usual")
    command.add_argument("--force", action="store_true", help="replace files that exist")


def explain_arguments(command: argparse.ArgumentParser) -> None:
    """The arguments of explain."""
    command.add_argument("check", nargs="?", metavar="CHECK", help="MODEL/TASK, or the one of the two that tells it")
    command.add_argument(
        "result", nargs="?", type=Path, default=Path("accgate-out/accgate.json"), metavar="accgate.json",
        help="a result (accgate-out/accgate.json)",
    )  # fmt: skip


def completion_arguments(command: argparse.ArgumentParser) -> None:
    """The arguments of completion."""
    command.add_argument("shell", choices=SHELLS)


def init(arguments: argparse.Namespace) -> int:
    """Write the starter files, validate them, and say what comes next."""
    from accgate.cli.starter import CONFIG_FILE, SCHEMA_FILE, WORKFLOW_FILE, repository_of, schema_text, workflow_text

    config, schema, folder = Path(CONFIG_FILE), Path(SCHEMA_FILE), Path.cwd()
    repository = repository_of(folder)
    workflow = Path(WORKFLOW_FILE) if repository == folder else repository / WORKFLOW_FILE
    present = [str(path) for path in (config, schema, workflow) if path.exists()]
    flags = any(getattr(arguments, flag) is not None for flag in FLAGS)
    if not flags and not arguments.yes and sys.stdin.isatty():
        if config.exists() and not arguments.force:
            raise BadInput(_exist(present))
        try:
            answers = _asked()
        except EOFError:
            print()  # the cursor stands behind the question
            raise BadInput(f"the questions were not answered; {NOTHING}") from None
        except KeyboardInterrupt:
            print(f"\naccgate: interrupted; {NOTHING}", file=sys.stderr)
            return INTERRUPTED
    else:
        answers = _given(arguments)
    files = {config: _config_text(answers), schema: schema_text()}
    if answers.workflow:
        inside = (folder.relative_to(repository) / config).as_posix()
        files[workflow] = workflow_text(inside, answers.engine, answers.model)
    present = [str(path) for path in files if path.exists()]
    if present and not arguments.force:
        raise BadInput(_exist(present))
    for path, content in files.items():
        _write(path, content)
        print(f"wrote {path}")
    if (repository / ".git").exists():
        _ignore(Path() if repository == folder else repository)
    return _validated(config)


def _exist(present: list[str]) -> str:
    return f"{' and '.join(present)} exist; {NOTHING}. --force replaces them"


def _asked() -> Answers:
    from accgate.cli.starter import asked
    from accgate.tasks import library_names

    return asked(input, print, library_names(), missing=_missing, width=shutil.get_terminal_size().columns)


def _missing(engine: str, model: str) -> str | None:
    """What is wrong with a file that an engine shall read; None where it is there, or the engine reads no file."""
    from accgate.cli.starter import CONFIG_FILE
    from accgate.engines import NoModel, found_model, recorded
    from accgate.inputs import TomlFile

    here = TomlFile(Path(CONFIG_FILE), "", {})
    if engine == "recorded" and not here.has_file(model):
        return here.missing_file(model, recorded.KIND)
    if engine == "llamacpp":
        try:
            found_model(model, here)
        except NoModel as error:
            return str(error)
    return None


def _given(arguments: argparse.Namespace) -> Answers:
    """What the flags say, with what is usual for the others."""
    from accgate.cli.starter import MODELS, Answers, name_fault, names_of
    from accgate.engines import url_fault

    engine = arguments.engine or Answers.engine
    if arguments.base_url is not None and engine != "openai":
        raise BadInput(f"--base-url is for --engine openai, and the engine is {engine}; leave out one of the two")
    flags = {"--base-url": (arguments.base_url, url_fault), "--name": (arguments.name, name_fault)}
    faults = [f"{flag} {fault}" for flag, (text, of) in flags.items() if text is not None and (fault := of(text))]
    if faults:
        raise BadInput(*faults)
    usual = Answers(engine=engine, model=MODELS[engine])
    tasks = usual.tasks if arguments.tasks is None else names_of(arguments.tasks)
    workflow = usual.workflow if arguments.workflow is None else arguments.workflow

    def given(flag: str) -> str:
        value = getattr(arguments, flag)
        return str(getattr(usual, flag) if value is None else value)

    return Answers(engine, given("model"), given("base_url"), tasks, arguments.theta, workflow, given("name"))


def _config_text(answers: Answers) -> str:
    """accuracy.toml, checked; raises BadInput where an answer cannot be used."""
    from accgate.cli.starter import CONFIG_FILE, config_text, theta_of
    from accgate.config import checked_config
    from accgate.inputs import parsed_toml
    from accgate.tasks import library_names
    from accgate.text import nearest

    known = library_names()
    if unknown := [task for task in answers.tasks if task not in known]:
        raise BadInput(*(f"no task {task!r} in the library; {nearest(task, known)}" for task in unknown))
    if not answers.tasks:
        raise BadInput("--tasks names none; give a task of the library, such as arithmetic")
    text = config_text(
        name=answers.name, engine=answers.engine, model=answers.model, base_url=answers.base_url,
        tasks={task: theta_of(task) if answers.theta is None else answers.theta for task in answers.tasks},
    )  # fmt: skip
    checked_config(parsed_toml(Path(CONFIG_FILE), text))
    return text


def _write(path: Path, content: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode("utf-8", "surrogateescape"))
    except OSError as error:
        raise BadInput(f"{path}: cannot be written: {error.strerror}; mend that, then init --force") from error


def _ignore(top: Path) -> None:
    """Keep what runs write out of the repository, whose .gitignore is at its top."""
    from accgate.cli.starter import IGNORE_FILE, IGNORED, ignoring

    path = top / IGNORE_FILE
    there = path.exists()
    try:
        before = path.read_bytes().decode("utf-8", "surrogateescape") if there else ""
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}; write {IGNORED} into it yourself") from error
    content = ignoring(before)
    if content is not None:
        _write(path, content)
        print(f"added {IGNORED} to {path}" if there else f"wrote {path}")


def _validated(config: Path) -> int:
    """Validate what was written, as `accgate validate` does, and say the next command."""
    from accgate.config import load_config
    from accgate.planning import validate
    from accgate.report import gate_sentence

    try:
        loaded = load_config(config)
        checks = validate(loaded)
    except AccgateError as error:  # weights, recordings and datasets are not of init's making
        for line in str(error).splitlines():
            print(f"not ready yet: {line}")
        print("Next: mend that and run `accgate validate`, then `accgate record` on a version that you trust.")
        return PASSED
    print(f"valid: {gate_sentence(loaded.source.path, loaded.gate, len(checks))}")
    for note in dict.fromkeys(note for check in checks for note in check.notes if "`accgate record`" not in note):
        print(f"note: {note}")
    print("Next: `accgate record` on a version that you trust, commit the references, then `accgate run` on a change.")
    return PASSED


def explain(arguments: argparse.Namespace) -> int:
    """Say in words how the verdict of a check came about."""
    from accgate.cli.common import console
    from accgate.report import explanation_of, find_check, print_explanation, read_result

    named: str | None = arguments.check
    path: Path = arguments.result
    if named is not None and named.endswith(".json") and Path(named).is_file():  # the file alone was named
        path = Path(named)
        named = None
    result = read_result(path)
    verdict = find_check(result, named)
    print_explanation(console(), explanation_of(result, verdict))
    return PASSED


def completion(arguments: argparse.Namespace) -> int:
    """Print the script that completes accgate's commands, options and files in a shell."""
    import shtab

    from accgate.cli.arguments import parser

    top = parser()
    for action in _actions(top):
        if action.type is Path or action.metavar in ("FILE", "DIR"):
            action.complete = shtab.DIRECTORY if action.metavar == "DIR" else shtab.FILE  # type: ignore[attr-defined]
    print(shtab.complete(top, arguments.shell))
    return PASSED


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    for action in parser._actions:  # argparse has no other way to its own arguments
        if isinstance(action, argparse._SubParsersAction):
            for command in dict.fromkeys(action.choices.values()):
                yield from _actions(command)
        elif action.option_strings or action.choices is None:
            yield action
