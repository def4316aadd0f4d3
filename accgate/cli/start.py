"""The commands `init` for a project, `completion` for a shell, `schema` for an editor."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accgate.cli.common import names_of, print_json, print_note
from accgate.cli.parser import result_file, run_folder
from accgate.errors import INTERRUPTED, PASSED, AccgateError, BadInput, KeyFaults, reading, writing

if TYPE_CHECKING:
    from accgate.cli.starter.files import Answers, OwnTask

OF_DATA = ("prompt_field", "answer_field", "answer_form", "labels", "metric")
TEXTS = (  # options of `init` that take any text
    ("--model", None, "what the engine loads, or the model's name on the server"),
    ("--name", None, "the model's name in the config (of the model)"),
    ("--base-url", "URL", "address of the server, for openai (http://127.0.0.1:8000/v1)"),
    ("--api-key-env", "NAME", "environment variable with the server's key (none)"),
    ("--data", "FILE", "your own questions: JSONL, CSV or Parquet, in place of --tasks"),
    ("--prompt-field", "NAME", "with --data: the field to ask, or several (guessed)"),
    ("--answer-field", "NAME", "with --data: the field with the right answer (guessed)"),
    ("--labels", "NAMES", "with --data: what the numbers of a label stand for"),
    ("--metric", "NAME", "with --data: how replies are scored (guessed)"),
)
NOTHING = "nothing was written"
LONGEST = 5000  # characters of a prompt that are printed


def init_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `init`, which asks questions where none of them is given."""
    command.description = (
        "Write a starter accuracy.toml, its schema for editors, and a workflow, then validate them. At a terminal "
        "it asks what to write, unless an option says so."
    )
    engines = ["openai", "vllm", "llamacpp", "ray", "recorded"]
    command.add_argument("--engine", choices=engines, help="what runs the model (openai)")
    for flag, metavar, what in TEXTS:
        command.add_argument(flag, metavar=metavar, help=what)
    forms = "with --data: what names the right option: its letter, text, or number from 0 or 1 (guessed)"
    command.add_argument("--answer-form", choices=["letter", "text", "0", "1"], help=forms)
    what = "tasks of the library, commas between them (arithmetic)"
    command.add_argument("--tasks", "--task", metavar="NAMES", help=what)
    what = "drop that must be detected (the task's own, or 4)"
    command.add_argument("--theta", type=float, metavar="POINTS", help=what)
    what = "for a model that thinks before it answers: temperature 0.6, 32k tokens, repeats, and tasks for it"
    command.add_argument("--reasoning", action="store_true", default=None, help=what)
    for flag, default, what in (
        ("--workflow", None, "write the GitHub workflow too (yes)"),
        ("--probe", True, "ask the server once for its models (yes)"),
    ):
        command.add_argument(flag, action=argparse.BooleanOptionalAction, default=default, help=what)
    command.add_argument("--yes", action="store_true", help="ask nothing; take the defaults")
    command.add_argument("--force", action="store_true", help="replace files that exist")


def completion_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `completion`."""
    command.add_argument("shell", choices=["bash", "zsh", "fish"], help="the shell that is to complete")


def schema_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `schema`."""
    command.add_argument("what", choices=["config", "result"], help="accuracy.toml, or accgate.json")


def init(arguments: argparse.Namespace) -> int:
    """Write the starter files, validate them, and print the next step."""
    from accgate.cli.starter.files import CONFIG_FILE, SCHEMA_FILE, WORKFLOW_FILE, repository_of, workflow_text
    from accgate.config.config import config_schema

    config, schema, folder = Path(CONFIG_FILE), Path(SCHEMA_FILE), Path.cwd()
    repository = repository_of(folder)
    workflow = Path(WORKFLOW_FILE) if repository == folder else repository / WORKFLOW_FILE
    if arguments.yes or _given_by(arguments) or not sys.stdin.isatty():
        answers, about_server = _answers_of(arguments)
    else:
        if config.exists():  # before anything is asked
            _refuse_to_replace([config, schema, workflow], force=arguments.force)
        if (typed := _typed_answers(probe=arguments.probe)) is None:
            return INTERRUPTED
        answers, about_server = typed, ""
    asks = sys.stdin.isatty() and not arguments.yes
    own = None if answers.data is None else _own_task(answers, repository, asks=asks)
    files = {config: _config_text(answers, own), schema: json.dumps(config_schema(), indent=2) + "\n"}
    if own is not None:
        files[Path(f"{own.name}.toml")] = own.text
    if answers.workflow:
        inside = (folder.relative_to(repository) / config).as_posix()
        files[workflow] = workflow_text(inside, answers.engine, answers.model, answers.base_url)
    _refuse_to_replace(files, force=arguments.force)
    for line in () if own is None else own.about:
        print(line)
    for path, content in files.items():
        _write(path, content)
        print(f"wrote {path}")
    if (repository / ".git").exists():
        _ignore_runs(Path() if repository == folder else repository)
    if about_server:
        print_note(about_server)
    return _validate(config, shows=own is not None)


def _typed_answers(*, probe: bool) -> Answers | None:
    """Ask somebody at the terminal for the answers.

    Return None after Ctrl-C.
    """
    import shutil

    from accgate.cli.starter.questions import ask_answers
    from accgate.tasks import library_names

    width, serves = shutil.get_terminal_size().columns, partial(_server, key=None, probe=probe)
    try:
        return ask_answers(
            input, print, library_names(), missing=_fault_of_file, reads=_fault_of_rows, serves=serves, width=width
        )
    except EOFError:
        print()  # the cursor stands behind the question
        raise BadInput(f"the questions were not answered; {NOTHING}") from None
    except KeyboardInterrupt:
        print(file=sys.stderr)
        print_note(f"interrupted; {NOTHING}")
        return None


def _refuse_to_replace(paths: Iterable[Path], *, force: bool) -> None:
    present = [str(path) for path in paths if path.exists()]
    if present and not force:
        are, them = ("exists", "it") if len(present) == 1 else ("exist", "them")
        raise BadInput(f"{' and '.join(present)} {are}; {NOTHING}. --force replaces {them}")


def _own_task(answers: Answers, repository: Path, *, asks: bool) -> OwnTask:
    """Make the task of a file of the user's own.

    The file must lie in the repository, because a gate's rules read nothing outside it.
    """
    from accgate.cli.starter.own_data import own_task
    from accgate.cli.starter.shapes import Unsure

    assert answers.data is not None
    data, here = Path(answers.data), Path.cwd()
    if not data.is_file():
        raise BadInput(f"--data {data}: there is no such file in {here}; {NOTHING}")
    if not data.resolve().is_relative_to(repository.resolve()):
        raise BadInput(f"--data {data} lies outside {repository}; copy it here first: cp {data} .")
    while True:
        try:
            return own_task(data.resolve(), here.resolve(), answers)
        except Unsure as doubt:
            if not asks:
                raise
            print(doubt)
            try:
                given = input(f"{doubt.field.replace('_', ' ').capitalize()}: ").strip()
            except (EOFError, KeyboardInterrupt):
                raise doubt from None
            if given in doubt.choices or (given and doubt.field in ("labels", "prompt_field")):
                settled: dict[str, Any] = {doubt.field: given}
                answers = replace(answers, **settled)


def _server(url: str, key: str | None, *, probe: bool) -> tuple[str, Sequence[str], str]:
    """Return a server's address, its models, and a sentence about both.

    The address may be the URL with /v1 added.
    """
    from accgate.engines.openai.probe import ask_server

    if not probe:
        return url, (), f"{url} was not asked"
    try:
        answer = ask_server(url, key)
    except AccgateError as error:
        return url, (), str(error)
    if answer.better is not None:
        return answer.better, answer.models, f"{url} does not answer; {answer.better} does, and is used"
    return url, answer.models, answer.text()


def _fault_of_rows(name: str) -> str | None:
    """Return what is wrong with a file of the user's rows, if anything."""
    from accgate.cli.starter.files import Answers, repository_of
    from accgate.cli.starter.shapes import Unsure

    try:
        _own_task(Answers(data=name), repository_of(Path.cwd()), asks=False)
    except AccgateError as error:
        return None if isinstance(error, Unsure) else str(error).removeprefix("--data ")  # that is asked next
    return None


def _fault_of_file(engine: str, model: str) -> str | None:
    """Return what is wrong with the file that an engine reads, if anything.

    An engine that reads no file has no fault.
    """
    from accgate.engines import model_file

    try:
        model_file(engine, model, Path())
    except KeyFaults as error:
        return error.faults[0][1]
    return None


def _given_by(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the answers that options give."""
    from accgate.cli.starter.files import Answers

    return {name: value for name in vars(Answers()) if (value := getattr(arguments, name)) is not None}


def _answers_of(arguments: argparse.Namespace) -> tuple[Answers, str]:
    """Complete the answers that the options give with defaults.

    Return also a sentence about the server.
    """
    from accgate.cli.starter.files import MODELS, REASONING, Answers, name_fault
    from accgate.engines import url_fault

    engine = arguments.engine or Answers.engine
    if arguments.base_url is not None and engine != "openai":
        raise BadInput(f"--base-url is for --engine openai, and the engine is {engine}; leave out one of the two")
    checks = {"--base-url": (arguments.base_url, url_fault), "--name": (arguments.name, name_fault)}
    faults = [f"{flag} {fault}" for flag, (text, of) in checks.items() if text is not None and (fault := of(text))]
    if faults:
        raise BadInput(*faults)
    if arguments.reasoning and engine == "recorded":
        raise BadInput("--reasoning is for engines that ask a model; leave it out with --engine recorded")
    if arguments.data is None and (alone := [flag for flag in OF_DATA if getattr(arguments, flag) is not None]):
        raise BadInput(f"--{alone[0].replace('_', '-')} is for --data FILE; give that too, or leave it out")
    if arguments.data is not None and arguments.tasks is not None:
        raise BadInput("--data and --tasks are two sources of questions; give only one of the two")
    values = _given_by(arguments)
    about = ""
    if engine == "openai":
        url = arguments.base_url or Answers.base_url
        values["base_url"], models, about = _server(url, arguments.api_key_env, probe=arguments.probe)
        values = {"model": models[0], **values} if models else values
    if arguments.data is not None:
        values["tasks"] = ()
    elif arguments.tasks is not None:
        values["tasks"] = names_of(arguments.tasks)
    elif arguments.reasoning:
        values["tasks"] = tuple(REASONING)
    return Answers(**{"model": MODELS[engine]} | values), about


def _config_text(answers: Answers, own: OwnTask | None) -> str:
    """Write accuracy.toml, and check it.

    Raises BadInput where an answer cannot be used.
    """
    from accgate.cli.starter.files import CONFIG_FILE, REASONING, config_text, reasoning_fault, theta_of
    from accgate.config.config import config_of
    from accgate.inputs.toml import parsed_toml
    from accgate.tasks import library_names
    from accgate.text import nearest

    library = library_names()
    if unknown := [task for task in answers.tasks if task not in library]:
        raise BadInput(*(f"no task {task!r} in the library; {nearest(task, library)}" for task in unknown))
    if not answers.tasks and own is None:
        raise BadInput("--tasks is empty; name a task of the library, such as arithmetic")
    if answers.reasoning and (faults := [fault for task in answers.tasks if (fault := reasoning_fault(task))]):
        raise BadInput(*faults)
    usual = (REASONING if answers.reasoning else {}) if own is None else {own.name: own.theta}
    tasks = {task: usual.get(task) or theta_of(task) for task in (answers.tasks if own is None else usual)}
    text = config_text(answers, tasks if answers.theta is None else dict.fromkeys(tasks, answers.theta), own)
    if own is None:  # whose file is not written yet
        config_of(parsed_toml(Path(CONFIG_FILE), text))
    return text


def _write(path: Path, content: str) -> None:
    with writing(path, "correct that, then init --force", kind=BadInput):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode("utf-8", "surrogateescape"))


def _ignore_runs(top: Path) -> None:
    """Add the folder of runs to the .gitignore at the top of the repository."""
    from accgate.cli.starter.files import IGNORE_FILE, IGNORED, add_ignored

    path = top / IGNORE_FILE
    exists = path.exists()
    with reading(path, f"write {IGNORED} into it yourself"):
        before = path.read_bytes().decode("utf-8", "surrogateescape") if exists else ""
    content = add_ignored(before)
    if content is not None:
        _write(path, content)
        print(f"added {IGNORED} to {path}" if exists else f"wrote {path}")


def _validate(config: Path, *, shows: bool) -> int:
    """Validate what was written, as `accgate validate` does, and print the next step."""
    from accgate.config.config import load_config
    from accgate.planning.validation import validate
    from accgate.report.plans import gate_sentence
    from accgate.text import clip, visible
    from accgate.verdict import words_of

    try:
        loaded = load_config(config)
        checks = validate(loaded)
    except AccgateError as error:  # init writes no weights, recordings and datasets
        for line in str(error).splitlines():
            print(f"not ready yet: {line}")
        print("Next: correct that and run `accgate validate`, then `accgate record` on a version that you trust.")
        return PASSED
    print(f"valid: {gate_sentence(loaded.source.path, loaded.gate, checks)}")
    for sample in checks[0].task.samples[:1] if shows else ():
        print("the first prompt, as it is sent:")
        for line in clip(sample.prompt, LONGEST, " …").split("\n"):
            print("  | " + "".join(c if c.isprintable() else " " for c in line))
        print(f"expected: {visible(sample.target)}")
    notes = (words_of(note) for check in checks for note in check.notes if note.kind != "no-reference")
    for note in dict.fromkeys(notes):
        print(f"note: {note}")
    print("Next: `accgate record` on a version that you trust, commit the references, then `accgate run` on a change.")
    return PASSED


def schema(arguments: argparse.Namespace) -> int:
    """Print a JSON schema."""
    from accgate.config.config import config_schema
    from accgate.report.result_file import result_schema

    print_json(config_schema() if arguments.what == "config" else result_schema())
    return PASSED


def completion(arguments: argparse.Namespace) -> int:
    """Print the script that completes the parser's commands, options and files in a shell."""
    import shtab

    for action in _actions_of(arguments.parser):
        if action.type in (Path, run_folder, result_file) or action.metavar in ("FILE", "DIR"):
            action.complete = shtab.DIRECTORY if action.metavar == "DIR" else shtab.FILE  # type: ignore[attr-defined]
    print(shtab.complete(arguments.parser, arguments.shell))
    return PASSED


def _actions_of(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    for action in parser._actions:  # argparse has no other way to its own arguments
        if isinstance(action, argparse._SubParsersAction):
            for command in dict.fromkeys(action.choices.values()):
                yield from _actions_of(command)
        elif action.option_strings or action.choices is None:
            yield action
