"""Commands with their options, and errors of one line.

An error says what is wrong, the nearest right word, and where to read on.
"""

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from accgate.cli.common import OUT, RESULT
from accgate.errors import BAD_INPUT
from accgate.text import nearest

REQUIRED = "the following arguments are required: "  # argparse's words


class Command(NamedTuple):  # a dataclass would load `inspect`, at every start
    """A command of the command line.

    A command that only has subcommands has no `run`. One with `loads_datasets` works in an empty folder.
    """

    name: str
    help: str
    add_options: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int] | None = None
    loads_datasets: bool = False


class Parser(argparse.ArgumentParser):
    """argparse's parser, without the usage before each error."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.register("type", float, partial(_parsed, float, "a number"))
        self.register("type", int, partial(_parsed, int, "a whole number"))

    def error(self, message: str) -> NoReturn:
        """End with exit code 2 and one line.

        Without a command, print the help instead.
        """
        message = re.sub(r"^argument ", "", message)
        if message.startswith(REQUIRED):
            lacking = [each for each in self._actions if each.choices and str(each.metavar or each.dest) in message]
            if any(isinstance(action, argparse._SubParsersAction) for action in lacking):
                self.print_help()  # no success: a script whose command is empty has done nothing
                self.exit(BAD_INPUT)
            choices = "; ".join(" or ".join(map(str, action.choices or ())) for action in lacking)
            message = f"give {choices or message.removeprefix(REQUIRED)}"
        see = " See" if message.endswith("?") else "; see"
        self.exit(BAD_INPUT, f"{self.prog}: {message}{see} {self.prog} --help\n")

    def parse_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:  # type: ignore[override]
        """Parse the arguments.

        An unknown option ends with an error that names the nearest one.
        """
        words = sys.argv[1:] if args is None else list(args)
        arguments, unknown = self.parse_known_args(words, namespace)
        if unknown:
            used = _parser_used(self, words)
            option = unknown[0].partition("=")[0]
            if option.startswith("-"):
                used.error(f"there is no option {option}; {nearest(option, used._option_string_actions)}")
            used.error(f"{unknown[0]!r} is one argument too many")
        return arguments

    def _print_message(self, message: str, file: Any = None) -> None:
        """Print a message, and let a failed write be seen.

        argparse itself ignores one.
        """
        (file or sys.stderr).write(message)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Check as argparse does, and name the nearest choice.

        argparse would list all of them.
        """
        if action.choices is None or value in action.choices:
            return
        hint = nearest(str(value), map(str, action.choices))
        if isinstance(action, argparse._SubParsersAction):
            self.error(f"there is no command {value!r}; {hint}")
        raise argparse.ArgumentError(action, f"there is no {value!r}; {hint}")


class Grouped(argparse.HelpFormatter):
    """Help in which commands stand under headings."""

    def _format_action(self, action: argparse.Action) -> str:
        is_command = isinstance(action, argparse._SubParsersAction._ChoicesPseudoAction)
        heading = HEADINGS.get(action.dest) if is_command else ""
        return (f"\n  {heading}:\n" if heading else "") + super()._format_action(action)


def add_commands(parser: argparse.ArgumentParser, commands: Iterable[Command], metavar: str) -> None:
    """Add a parser for each command.

    The parsed arguments hold the command's `run`.
    """
    parsers = parser.add_subparsers(metavar=metavar, required=True)
    parser.set_defaults(loads_datasets=False)
    for command in commands:
        text = command.help
        made = parsers.add_parser(command.name, help=text, description=f"{text[0].upper()}{text[1:]}.")
        if example := EXAMPLES.get(made.prog):
            made.epilog = f"Example: {example}"
        debug_option(made)
        command.add_options(made)
        if command.run is not None:
            made.set_defaults(run=command.run, loads_datasets=command.loads_datasets)


def debug_option(parser: argparse.ArgumentParser) -> None:
    """Add --debug.

    Without SUPPRESS a subcommand's parser would reset a --debug before it.
    """
    what = "show the traceback of an error"
    parser.add_argument("--debug", action="store_true", default=argparse.SUPPRESS, help=what)


def _parser_used(parser: argparse.ArgumentParser, words: Sequence[str]) -> argparse.ArgumentParser:
    """Return the parser of the command that the words name."""
    for action in parser._actions:  # argparse has no other way to its own arguments
        if isinstance(action, argparse._SubParsersAction):
            for i, word in enumerate(words):
                if word in action.choices:
                    return _parser_used(action.choices[word], words[i + 1 :])
    return parser


def _parsed(kind: type[float | int], what: str, text: str) -> float:
    try:
        return kind(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not {what}") from None


def run_option(command: argparse.ArgumentParser) -> None:
    """Add RUN, the folder of a run."""
    command.add_argument("folder", nargs="?", type=run_folder, default=OUT, metavar="RUN", help=f"the run ({OUT})")


def run_folder(text: str) -> Path:
    """Return the folder of a run, which its accgate.json may stand for."""
    path = Path(text)
    return path.parent if path.name == RESULT.name and not path.is_dir() else path


def result_file(text: str) -> Path:
    """Return the path of a result, given that path or the run's folder."""
    path = Path(text)
    return path / RESULT.name if path.is_dir() else path


def count(text: str) -> int:
    """Read a number of 1 or more, as the type of an option."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of 1 or more")
    return int(text)


HEADINGS = {  # in the help of accgate, above these commands
    "init": "set up", "record": "evaluate and decide", "report": "read a run", "ab": "find a cause",
    "publish": "on GitHub, and over time", "import": "files and people", "schema": "accgate itself",
}  # fmt: skip

# A line to try for each command, which its --help ends with
_LINES = Path(__file__).with_name("examples.txt").read_text("utf-8").splitlines()
EXAMPLES: Mapping[str, str] = dict(line.split(": ", 1) for line in _LINES)
