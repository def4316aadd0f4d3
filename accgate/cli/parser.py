"""Commands with their options, and errors of one line: what is wrong, the nearest right word, where to read on."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, NoReturn

from accgate.cli.examples import EXAMPLES
from accgate.errors import BAD_INPUT
from accgate.text import nearest


class Command(NamedTuple):  # a dataclass would load `inspect`, at every start
    """A command of the command line; one that only has commands of its own has no `run`.

    One with `loads_datasets` works in an empty folder.
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
        self.register("type", float, _number)
        self.register("type", int, _whole)

    def error(self, message: str) -> NoReturn:
        """End with exit code 2 and one line."""
        message = re.sub(r"^argument ", "", message)
        message = re.sub(r"^the following arguments are required: ", "give ", message)
        see = " See" if message.endswith("?") else "; see"
        self.exit(BAD_INPUT, f"{self.prog}: {message}{see} {self.prog} --help\n")

    def parse_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:  # type: ignore[override]
        """Parse the arguments; an unknown option ends with an error that names the nearest one."""
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
        """As argparse's own, which takes no notice where a text cannot be written."""
        (file or sys.stderr).write(message)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """As argparse's own, with the nearest choice in place of a page of them."""
        if action.choices is None or value in action.choices:
            return
        hint = nearest(str(value), map(str, action.choices))
        if isinstance(action, argparse._SubParsersAction):
            self.error(f"there is no command {value!r}; {hint}")
        raise argparse.ArgumentError(action, f"there is no {value!r}; {hint}")


def add_commands(parser: argparse.ArgumentParser, commands: Iterable[Command], metavar: str) -> None:
    """Add a parser for each command; what it parses has the command's `run`, and whether --debug was given."""
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
    """Add --debug; without SUPPRESS the inner of two commands would reset what the outer one was given."""
    parser.add_argument(
        "--debug", action="store_true", default=argparse.SUPPRESS, help="show the traceback of an error"
    )


def _parser_used(parser: argparse.ArgumentParser, words: Sequence[str]) -> argparse.ArgumentParser:
    """The parser of the command that the words name."""
    for action in parser._actions:  # argparse has no other way to its own arguments
        if isinstance(action, argparse._SubParsersAction):
            for i, word in enumerate(words):
                if word in action.choices:
                    return _parser_used(action.choices[word], words[i + 1 :])
    return parser


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
