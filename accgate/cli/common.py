"""What several commands share: the config they are given, and where they print and write."""

from __future__ import annotations

import argparse
import errno
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accgate.errors import BadInput, CannotEvaluate

if TYPE_CHECKING:
    from rich.console import Console

    from accgate.config import Config
    from accgate.guard import Rulings
    from accgate.result import Result

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # no fault of the name


def config_of(arguments: argparse.Namespace) -> Config:
    """The config that a command is given, with only the models and tasks that it names."""
    from accgate.config import chosen, load_config

    return chosen(load_config(arguments.config), names(arguments.models), names(arguments.tasks))


def names(given: Sequence[str]) -> tuple[str, ...]:
    """Names that may be given one by one or with commas between them."""
    return tuple(name.strip() for text in given for name in text.split(",") if name.strip())


def rulings_of(arguments: argparse.Namespace) -> Rulings | None:
    """The rules of the base commit, on a pull request whose base has some."""
    from accgate.config import load_config
    from accgate.guard import Selection, rulings

    if arguments.base is None:
        return None
    selection = Selection(names(arguments.models), names(arguments.tasks))
    return rulings(load_config(arguments.config), arguments.base, selection)


def console(*, stderr: bool = False) -> Console:
    """Where text for people goes."""
    from accgate.report import PlainConsole as Console

    # Where nothing says how wide it is, 120 columns hold the table: a log is not a narrow terminal.
    console = Console(stderr=stderr, highlight=False)
    return console if console.is_terminal else Console(stderr=stderr, highlight=False, width=120)


def observer(arguments: argparse.Namespace) -> Any:
    """What shows the progress; None where nobody wants to see it."""
    from accgate.report import ProgressBar

    return None if arguments.quiet else ProgressBar(console(stderr=True))


def reported(arguments: argparse.Namespace, result: Result) -> int:
    """The result written for people beside accgate.json, and shown; its exit code."""
    from accgate.report import flips_of_result, render_markdown
    from accgate.result import HTML, NAME, REPORT

    flips = flips_of_result(result, arguments.out)
    write(str(arguments.out / REPORT), render_markdown(result, flips))
    if arguments.html:
        from accgate.report import html_report

        write(str(arguments.out / HTML), html_report(result, flips, arguments.out))
    show_result(arguments, result, flips)
    if not arguments.json and not getattr(arguments, "quiet", False):  # merge has no progress to be quiet about
        check = " CHECK" if len(result.checks) > 1 else ""
        where = "" if arguments.out == Path("accgate-out") else f" {arguments.out / NAME}"
        more = f"More: {arguments.out / REPORT}; `accgate explain{check}{where}` says how a verdict came about."
        console(stderr=True).print(more, markup=False, highlight=False, soft_wrap=True)
    return result.exit_code


def show_result(arguments: argparse.Namespace, result: Result, flips: Any = None) -> None:
    """Show a result for people, or as JSON."""
    if arguments.json:
        from accgate.result import to_json

        print(to_json(result))
        return
    from accgate.report import print_result

    print_result(console(), result, flips)


def write(name: str, text: str) -> None:
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
    try:
        Path(name).write_text(text, encoding="utf-8", errors="replace")
    except OSError as error:
        fault = f"{name}: cannot be written: {error.strerror}"
        if error.errno in FULL:
            raise CannotEvaluate(f"{fault}; mend that") from error
        raise BadInput(f"{fault}; name another file") from error
