"""The entry point: the table of commands, and what an error prints and exits with."""

import argparse
import errno
import io
import os
import sys
import traceback
from collections.abc import Sequence
from functools import lru_cache
from types import ModuleType

from accgate._version import __version__
from accgate.cli import (
    cache,
    compare,
    export,
    github,
    history,
    interop,
    launch,
    plan,
    questionnaire,
    report,
    run,
    start,
    tasks,
    trials,
)
from accgate.cli.parser import Command, Parser, add_commands, debug_option
from accgate.cli.streams import DISK_FULL, discard, messages_may_be_lost, require_output, writing_output
from accgate.cli.working_folder import as_typed, in_an_empty_folder
from accgate.errors import BAD_INPUT, CANNOT_EVALUATE, INTERRUPTED, AccgateError
from accgate.signals import ending_on_signals
from accgate.text import message_line

UNUSABLE_NAME = (errno.ENAMETOOLONG, errno.ELOOP)  # of a file: no system takes it, whatever it is for


@messages_may_be_lost()
def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code; a user's mistake prints one line, no traceback."""
    arguments = argparse.Namespace(debug=False)
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Ids and replies can hold what no encoding has. Line by line, lines keep their order in a log with messages.
        sys.stdout.reconfigure(errors="backslashreplace", line_buffering=True)
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
    """What to say of an error that nothing in between explained."""
    if isinstance(error, OSError) and error.errno in DISK_FULL:
        name = "a file" if error.filename is None else str(error.filename)
        return f"{name}: cannot be written: {error.strerror}; free some space, then run it again"
    return f"internal error: {type(error).__name__}: {error}; run it with --debug and report what that prints"


def _run(arguments: argparse.Namespace) -> int:
    """Run the command; one that loads datasets in an empty folder."""
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
    """The parser of the whole command line."""
    parser = Parser(
        prog="accgate",
        description="Tells whether a language model's accuracy regressed, with a hypothesis test.",
        epilog="Exit codes: 0 passed, 1 regression, 2 bad input, 3 could not finish, 4 no verdict, 130 interrupted.",
    )
    parser.add_argument("--version", action="version", version=f"accgate {__version__}")
    debug_option(parser)
    parser.set_defaults(debug=False, parser=parser)
    add_commands(parser, COMMANDS, "COMMAND")
    return parser


def _print_error(arguments: argparse.Namespace, error: Exception, message: str) -> None:
    if arguments.debug:
        traceback.print_exception(error)
    red, plain = ("\033[31m", "\033[0m") if sys.stderr.isatty() and not os.environ.get("NO_COLOR") else ("", "")
    for line in message.splitlines():
        print(f"{red}accgate: {message_line(line)}{plain}", file=sys.stderr)


def _command(name: str, text: str, module: ModuleType, *, loads_datasets: bool = False) -> Command:
    """A command whose module has a function of its name, and beside it that of its options."""
    return Command(name, text, getattr(module, f"{name}_options"), getattr(module, name, None), loads_datasets)


COMMANDS = (  # in the order of `accgate --help`
    _command("init", "write a starter accuracy.toml and workflow", start),
    _command("validate", "check accuracy.toml and say what it means", plan, loads_datasets=True),
    _command("tasks", "say how each task reads a reply, or show ten examples", tasks, loads_datasets=True),
    _command(
        "plan",
        "show samples, theta and gamma of each check, or how many test cases to annotate",
        plan,
        loads_datasets=True,
    ),
    _command("run", "evaluate, decide and report", run, loads_datasets=True),
    _command("merge", "join the shards of a run, then decide and report", run, loads_datasets=True),
    _command("launch", "print or submit the job file of a run over a cluster", launch),
    _command("ab", "compare two models, evaluated now side by side", trials, loads_datasets=True),
    _command("blame", "say which changed setting explains a regression", trials, loads_datasets=True),
    _command("bisect", "say which commit lost a model's answers", trials, loads_datasets=True),
    _command("rerun", "ask again what a run lost, several times", trials, loads_datasets=True),
    _command(
        "verify", "decide a finished run again from its records; refuse a result that does not follow from them", report
    ),
    _command("record", "evaluate and write references", run, loads_datasets=True),
    _command("compare", "decide from two files of per-sample scores, without a model", compare),
    _command("sigma", "estimate sigma from one run, or sigma and discordance from two runs of one model", compare),
    _command("report", "print a result, or write it as Markdown, HTML or JUnit XML", report),
    _command("view", "open a run in a browser, and follow one that goes on", report),
    _command("explain", "explain in words how a check got its verdict", report),
    _command("publish", "publish a run on GitHub: comment, check run, summary, outputs", github),
    _command("respond", "carry out the command in a pull request comment: /accgate accept or rerun", github),
    _command("propose", "propose new references as a pull request or a commit, after respond", github),
    _command("cache", "show or prune the replies that runs keep", cache),
    _command(
        "questionnaire",
        "have people rate the answers of both sides blindly, and decide from their ratings",
        questionnaire,
    ),
    _command("import", "turn files of other tools into run records or references", interop),
    _command("export", "write a run in another tool's format", export),
    _command("history", "keep every run of the main branch, and show each check over time", history),
    _command("schema", "print the JSON schema of accuracy.toml or of a result", start),
    _command("completion", "print the script that completes commands and options in a shell", start),
)
