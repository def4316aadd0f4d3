"""A parser whose errors are one line: what is wrong, the nearest that would be right, and where to read on."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

from accgate.errors import BAD_INPUT


class Parser(argparse.ArgumentParser):
    """argparse's parser, of a command and of its commands, without the usage before each error."""

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
        """The arguments; of an unknown option the nearest one is named."""
        given = sys.argv[1:] if args is None else list(args)
        found, unknown = self.parse_known_args(given, namespace)
        if unknown:
            used = _used(self, given)
            option = unknown[0].partition("=")[0]
            if option.startswith("-"):
                used.error(f"there is no option {option}; {_nearest(option, used._option_string_actions)}")
            used.error(f"{unknown[0]!r} is one argument too many")
        return found

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """As argparse's own, with the nearest choice in place of a page of them."""
        if action.choices is None or value in action.choices:
            return
        hint = _nearest(str(value), map(str, action.choices))
        if isinstance(action, argparse._SubParsersAction):
            self.error(f"there is no command {value!r}; {hint}")
        raise argparse.ArgumentError(action, f"there is no {value!r}; {hint}")


def _nearest(word: str, known: Iterable[str]) -> str:
    from accgate.text import nearest

    return nearest(word, known)


def _used(parser: argparse.ArgumentParser, given: Sequence[str]) -> argparse.ArgumentParser:
    """The parser of the command that the arguments name."""
    for action in parser._actions:  # argparse has no other way to its own arguments
        if isinstance(action, argparse._SubParsersAction):
            for i, word in enumerate(given):
                if word in action.choices:
                    return _used(action.choices[word], given[i + 1 :])
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
