"""Options, configs and output that several commands share."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accgate.errors import BadInput, writing
from accgate.text import message_line

if TYPE_CHECKING:
    from rich.console import Console

    from accgate.config.config import Config
    from accgate.inputs.samples import Layout
    from accgate.result import Result

CONFIG, OUT, RESULT = Path("accuracy.toml"), Path("accgate-out"), Path("accgate-out/accgate.json")


def config_options(command: argparse.ArgumentParser) -> None:
    """Add accuracy.toml, and the options that select from it."""
    what = f"the config ({CONFIG})"
    command.add_argument("config", nargs="?", default=CONFIG, type=Path, metavar="accuracy.toml", help=what)
    selection_options(command)


def selection_options(command: argparse.ArgumentParser) -> None:
    """Add --models, --tasks and --json."""
    for option, what in (("--models", "models"), ("--tasks", "tasks, by name or tag")):
        command.add_argument(option, action="append", default=[], metavar="A,B", help=f"only these {what}")
    json_option(command)


def json_option(command: argparse.ArgumentParser) -> None:
    """Add --json."""
    command.add_argument("--json", action="store_true", help="print only JSON on standard output")


def rate_options(command: argparse.ArgumentParser) -> None:
    """Add --alpha and --beta."""
    command.add_argument("--alpha", type=float, default=0.05, help="type I error rate (0.05)")
    command.add_argument("--beta", type=float, default=0.2, help="type II error rate (0.2)")


def scale_option(command: argparse.ArgumentParser) -> None:
    """Add --scale."""
    command.add_argument("--scale", type=float, help="factor to points: 100 for fractions, 1 for points")


def scores_options(command: argparse.ArgumentParser) -> None:
    """Add the options that say how files of scores are read, and --json."""
    scale_option(command)
    what = "lowest and highest score in points (0 100); inf where there is none"
    command.add_argument("--bounds", type=float, nargs=2, metavar=("LOW", "HIGH"), help=what)
    json_option(command)
    layout_options(command)


def layout_options(command: argparse.ArgumentParser) -> None:
    """Add the options that say where a file has its samples."""
    group = command.add_argument_group("where the files have their samples, if that cannot be told")
    group.add_argument("--rows", metavar="JSONPATH", help="the samples, such as $.results, or $[?@.model == 'm']")
    for option, what in (("--id", "id of a sample"), ("--score", "score"), ("--repeat", "number of its repeat")):
        group.add_argument(option, metavar="NAME", help=f"column of the {what}, a.b of a nested one, or a JSONPath")


def layout_of(arguments: argparse.Namespace) -> Layout:
    """Return where the files have their samples, as the command line says."""
    from accgate.inputs.samples import Layout

    return Layout(arguments.rows, arguments.id, arguments.score, arguments.repeat)


def config_of(arguments: argparse.Namespace) -> Config:
    """Load a command's config, with only the models and tasks that it names."""
    from accgate.config.config import select

    return select(whole_config(arguments), names_of(*arguments.models), names_of(*arguments.tasks))


def whole_config(arguments: argparse.Namespace) -> Config:
    """Load the config that a command is given.

    Paths of its models start in --workspace, where the command has that option.
    """
    from accgate.config.config import load_config

    return replace(load_config(arguments.config), workspace=getattr(arguments, "workspace", None))


def workspace_option(command: argparse.ArgumentParser) -> None:
    """Add --workspace."""
    what = "where paths of [models] start, such as what a job built (the config's folder); no rule is read there"
    command.add_argument("--workspace", type=Path, metavar="DIR", help=what)


def names_of(*texts: str) -> tuple[str, ...]:
    """Split names with commas between them, each once.

    >>> names_of("mmlu, gsm8k,,mmlu", "arithmetic")
    ('mmlu', 'gsm8k', 'arithmetic')
    """
    return tuple(dict.fromkeys(name for text in texts for part in text.split(",") if (name := part.strip())))


def console(*, stderr: bool = False) -> Console:
    """Return the console that prints text for people."""
    from accgate.report.terminal import PlainConsole

    # Where nothing says how wide it is, 120 columns hold the table: a log is not a narrow terminal.
    plain = PlainConsole(stderr=stderr, highlight=False)
    return plain if plain.is_terminal else PlainConsole(stderr=stderr, highlight=False, width=120)


def print_outcome(
    arguments: argparse.Namespace,
    outcome: Any,
    show: Callable[[Console], None],
    markdown: Callable[[], str] | None = None,
) -> None:
    """Print an outcome for people, or with --json as JSON.

    With --markdown it is written as `markdown` too, which on standard output takes the place of the text for people.
    """
    if markdown is not None and arguments.markdown is not None:
        write(arguments.markdown, markdown())
    if arguments.json:
        print_json(outcome)
    elif markdown is None or arguments.markdown != "-":
        show(console())


def print_json(value: Any) -> None:
    """Print data as JSON that GitHub's runner finds no command in.

    Characters that would begin a command are escaped, so that readers of the JSON get the same data.
    """
    from accgate.result import to_json

    print(re.sub(r"(?<=:):|(?<=##)\[", lambda match: f"\\u{ord(match[0]):04x}", to_json(value)))


def print_note(text: str) -> None:
    """Print a remark on standard error."""
    for line in text.splitlines():
        print(f"accgate: {message_line(line)}", file=sys.stderr)


def write(name: str | Path, text: str) -> None:
    """Write a text to a file, or with `-` to standard output.

    Raises
    ------
    BadInput
        When the file cannot be written.
    CannotEvaluate
        When the disk is full.
    """
    if name == "-":
        sys.stdout.buffer.write(text.encode("utf-8", "replace"))
        return
    with writing(Path(name), "name another file", kind=BadInput):
        Path(name).write_text(text, encoding="utf-8", errors="replace")


def write_html(name: str | Path, result: Result, folder: Path) -> None:
    """Write the report as an HTML page.

    Replies that have no room in the page go into a file beside it.
    """
    from accgate.report.html.page import html_report
    from accgate.report.html.viewer import SamplesFile

    samples_file = SamplesFile(Path(name).with_suffix(".samples.js").name)
    write(name, html_report(result, folder, None if name == "-" else samples_file))
    if samples_file.parts:
        write(Path(name).with_name(samples_file.name), samples_file.text)
    elif name != "-":
        Path(name).with_name(samples_file.name).unlink(missing_ok=True)  # of an earlier, larger run
