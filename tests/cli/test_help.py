"""Every --help: an example that can be typed, each default, and each choice."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator
from typing import Any

from accgate.cli.main import build_parser
from accgate.cli.parser import EXAMPLES


def commands(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    inner = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if not inner:
        yield parser
    for action in inner:
        for each in dict.fromkeys(action.choices.values()):
            yield from commands(each)


def default_texts(value: Any) -> set[str]:
    """How a default may be written."""
    parts = value if isinstance(value, (list, tuple)) else [value]
    return {" ".join(str(part) for part in parts), " ".join(f"{part:g}" for part in parts if isinstance(part, float))}


def test_every_command_has_an_example_that_parses_as_that_command() -> None:
    parsers = {each.prog: each for each in commands(build_parser())}
    assert set(EXAMPLES) == set(parsers)
    for name, parser in parsers.items():
        line = EXAMPLES[name]
        assert " ".join(parser.format_help().split()).endswith(f"Example: {' '.join(line.split())}"), name
        words = shlex.split(line.removeprefix("source <(").removesuffix(")").partition(" > ")[0])
        arguments = build_parser().parse_args(words[1:])
        assert line.startswith(("accgate ", "source <(accgate "))
        assert " ".join(words).startswith(f"{name} ") or " ".join(words) == name, name
        assert arguments.run == parser.get_default("run"), name


def test_every_default_and_every_choice_stands_in_the_help() -> None:
    """A default of None, of a switch or of a list that is empty is none; what happens then is said where it matters."""
    missing = []
    for parser in commands(build_parser()):
        shown = " ".join(parser.format_help().split())
        for action in parser._actions:
            name, default = action.option_strings or action.dest, action.default
            if action.help is argparse.SUPPRESS:
                continue
            help_text = (action.help or "") % {**vars(action), "prog": parser.prog}
            if action.choices is not None:
                missing += [(parser.prog, name, choice) for choice in action.choices if str(choice) not in shown]
            if default in (None, False, argparse.SUPPRESS, []) or not action.help:
                continue
            texts = (
                {"yes"} if default is True else default_texts(default) if default != "" else {"all", "none", "the de"}
            )
            if not any(f"({text}" in help_text for text in texts if text):
                missing.append((parser.prog, name, default))
        assert all(action.help for action in parser._actions), parser.prog
    assert missing == []
