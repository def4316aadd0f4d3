"""The entry point, with the table of commands and the handling of errors."""

import argparse
import errno
import io
import os
import sys
import traceback
from collections.abc import Sequence
from functools import lru_cache
from importlib import import_module
from typing import Any

from accgate._version import __version__
from accgate.cli.common import CONFIG
from accgate.cli.parser import Command, Grouped, Parser, add_commands, debug_option
from accgate.cli.streams import discard, messages_may_be_lost, plain_signs, require_output, writing_output
from accgate.cli.working_folder import as_typed, in_an_empty_folder, nearest_config
from accgate.errors import BAD_INPUT, CANNOT_EVALUATE, DISK_FULL, INTERRUPTED, AccgateError
from accgate.signals import ending_on_signals
from accgate.text import message_line

UNUSABLE_NAME = (errno.ENAMETOOLONG, errno.ELOOP)  # of a file: no system takes such a name


@messages_may_be_lost()
def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    A user's mistake prints one line, no traceback.
    """
    arguments = argparse.Namespace(debug=False)
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Ids and replies can hold what no encoding has. Line by line, lines keep their order in a log with messages.
        sys.stdout.reconfigure(errors=plain_signs.__name__, line_buffering=True)
    try:
        with writing_output():  # --help and --version end here
            arguments = build_parser().parse_args(argv)
        require_output()
        with ending_on_signals(), writing_output():
            return _run(arguments)
    except KeyboardInterrupt:
        more = "; finished samples are recorded, go on with --resume" if hasattr(arguments, "resume") else ""
        print(f"accgate: interrupted{more}", file=sys.stderr)
        return INTERRUPTED
    except AccgateError as error:
        _print_error(arguments, error, str(error))
        return error.exit_code
    except BrokenPipeError:
        discard(sys.stdout)
        return CANNOT_EVALUATE
    except Exception as error:
        if isinstance(error, OSError) and error.errno in UNUSABLE_NAME:
            _print_error(arguments, error, f"{error.filename}: {error.strerror}; give another name")
            return BAD_INPUT
        _print_error(arguments, error, _message_of(error))
        return CANNOT_EVALUATE


def _message_of(error: Exception) -> str:
    """Describe an error that nothing in between explained."""
    if isinstance(error, OSError) and error.errno in DISK_FULL:
        name = "a file" if error.filename is None else str(error.filename)
        return f"{name}: cannot be written: {error.strerror}; free some space, then run it again"
    return f"internal error: {type(error).__name__}: {error}; run it with --debug and report what that prints"


def _run(arguments: argparse.Namespace) -> int:
    """Run the command.

    One that loads datasets runs in an empty folder.
    """
    if getattr(arguments, "config", None) == CONFIG:
        arguments.config = nearest_config()
    if not arguments.loads_datasets:
        return int(arguments.run(arguments))
    with in_an_empty_folder(arguments):
        try:
            return int(arguments.run(arguments))
        except AccgateError as error:
            _print_error(arguments, error, as_typed(str(error)))
            return error.exit_code


@lru_cache(maxsize=1)  # argparse takes 6 ms to put it together
def build_parser() -> Parser:
    """Build the parser of the whole command line."""
    parser = Parser(
        prog="accgate",
        description="Tells whether a language model's accuracy regressed, with a hypothesis test.",
        formatter_class=Grouped,
        epilog="Exit codes: 0 passed, 1 regression, 2 bad input, 3 could not finish, 4 no verdict, 130 interrupted.",
    )
    parser.add_argument("--version", action="version", version=f"accgate {__version__}")
    debug_option(parser)
    parser.set_defaults(debug=False, parser=parser)
    commands = (Command(name, text, *_of(module, name), loads) for name, text, module, loads in COMMANDS)
    add_commands(parser, commands, "COMMAND")
    return parser


def _of(room: str, name: str) -> tuple[Any, Any]:
    """Return what adds a command's options and what runs it.

    The second is None for a command that only has subcommands.
    """
    module = import_module(f"accgate.cli.{room}")
    return getattr(module, f"{name}_options"), getattr(module, name, None)


def _print_error(arguments: argparse.Namespace, error: Exception, message: str) -> None:
    if arguments.debug:
        traceback.print_exception(error)
    red, plain = ("\033[31m", "\033[0m") if sys.stderr.isatty() and not os.environ.get("NO_COLOR") else ("", "")
    for line in message.splitlines():
        print(f"{red}accgate: {message_line(line)}{plain}", file=sys.stderr)


COMMANDS = (  # in the order of `accgate --help`: the module of each, and whether it loads datasets
    ("init", "write a starter accuracy.toml and workflow", "start", False),
    ("validate", "check accuracy.toml and say what it means", "plan", True),
    ("tasks", "say how each task reads a reply, or show ten examples", "plan", True),
    ("plan", "show samples, theta and gamma of each check, or how many test cases to annotate", "plan", True),
    ("record", "evaluate and write references", "run", True),
    ("run", "evaluate, decide and report", "run", True),
    ("merge", "join the shards of a run, then decide and report", "run", True),
    ("launch", "print or submit the job file of a run over a cluster", "launch", False),
    ("compare", "decide from two files of per-sample scores, without a model", "compare", False),
    ("sigma", "estimate sigma from one run, or sigma and discordance from two runs of one model", "compare", False),
    ("report", "print a result, explain a check, or write Markdown, HTML or JUnit XML", "report", False),
    ("view", "open a run in a browser, and follow one that goes on", "report", False),
    ("verify", "decide a finished run again from its records, and refuse a result that differs", "report", False),
    ("ab", "compare two models, evaluated now side by side", "trials", True),
    ("blame", "say which changed setting explains a regression", "trials", True),
    ("bisect", "say which commit lost a model's answers", "trials", True),
    ("rerun", "ask again what a run lost, several times", "trials", True),
    ("publish", "publish a run on GitHub: comment, check run, summary, outputs", "github", False),
    ("respond", "carry out the command in a pull request comment: /accgate accept, record or rerun", "github", False),
    ("propose", "propose new references as a pull request or a commit, after respond", "github", False),
    ("history", "keep every run of the main branch, and show each check over time", "history", False),
    ("import", "turn files of other tools into run records or references", "interop", False),
    ("export", "write a run in another tool's format", "interop", False),
    ("questionnaire", "have people rate both sides' answers blindly, and decide on that", "questionnaire", False),
    ("cache", "show or prune the replies that runs keep", "cache", False),
    ("schema", "print the JSON schema of accuracy.toml or of a result", "start", False),
    ("completion", "print the script that completes commands and options in a shell", "start", False),
)
