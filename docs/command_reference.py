"""docs/commands.md from the parser: `python -m docs.command_reference` writes it anew."""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from accgate.cli.main import build_parser

PAGE = Path(__file__).with_name("commands.md")
HEAD = """\
# Commands

Every command with an example, as `accgate COMMAND --help` prints it. Written by `python -m docs.command_reference`.

## Exit codes

| exit code | means |
|---|---|
| 0 | every check passed |
| 1 | a regression |
| 2 | bad input: the message names the file, the line, the key and the fix |
| 3 | the evaluation could not finish |
| 4 | no verdict: inconclusive, or no reference yet; of `publish`, rules loosened without an approval |
| 130 | interrupted; `--resume` continues |

Progress and messages go to standard error. With `--json` standard output holds JSON alone. `--debug` shows an
error's traceback.

## Arguments of several commands

Each command names those it takes; its own words go first.
"""
ACTIONS_OWN = {"accgate publish", "accgate respond", "accgate propose"}  # the action calls them; its page says what for
ON_THE_ACTIONS_PAGE = "The [action](action.md) calls it; `{name} --help` lists its options."
SHARED_BY = 2  # commands, from which on an argument is described once
Command = tuple[str, argparse.ArgumentParser]


def page() -> str:
    """The whole page."""
    commands = list(_parsers(build_parser()))
    common = _common("accgate", commands)
    parts = [part for command in commands for part in _command(*command, commands, common)]
    return "\n".join([HEAD, *common, "", *parts])


def _parsers(parser: argparse.ArgumentParser, prefix: str = "accgate") -> Iterator[Command]:
    """Each command, and each command within a command."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, inner in action.choices.items():
                yield f"{prefix} {name}", inner
                yield from _parsers(inner, f"{prefix} {name}")


def _arguments(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """The arguments of a command's own, without the commands within it."""
    return [
        action
        for action in parser._actions
        if action.dest not in ("help", "debug")
        and action.help != argparse.SUPPRESS
        and not isinstance(action, argparse._SubParsersAction)
    ]


def _common(parent: str, commands: list[Command]) -> list[str]:
    """The arguments that several commands right below a parent describe in the same words."""
    used = Counter(
        (_name(action), _row(parser, action))
        for name, parser in commands
        if name.rpartition(" ")[0] == parent and name not in ACTIONS_OWN
        for action in _arguments(parser)
    )
    most = {name: row for (name, row), count in reversed(used.most_common()) if count >= SHARED_BY}
    return [row for (name, row) in used if most.get(name) == row]


def _command(name: str, parser: argparse.ArgumentParser, commands: list[Command], everywhere: list[str]) -> list[str]:
    """Heading, purpose, example and arguments of one command."""
    lines = [f"{'#' * min(name.count(' ') + 1, 3)} {name}", "", _line(parser.description or ""), ""]
    if parser.epilog:
        lines += [f"`{parser.epilog.partition(': ')[2]}`", ""]
    if name in ACTIONS_OWN:
        return [*lines, ON_THE_ACTIONS_PAGE.format(name=name), ""]
    parent = name.rpartition(" ")[0]
    common = everywhere if parent == "accgate" else [*everywhere, *_common(parent, commands)]
    rows = {_row(parser, action): _name(action) for action in _arguments(parser)}
    own = [row for row in rows if row not in common]
    shared = [f"`{argument}`" for row, argument in rows.items() if row in common]
    if own:
        lines += [*own, ""]
    if shared:
        lines += [f"{'Also' if own else 'Takes'} {', '.join(shared)}.", ""]
    within = [row for row in _common(name, commands) if row not in everywhere]
    if within:
        lines += ["Several of its commands take:", "", *within, ""]
    return lines


def _row(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    """One argument: how it is written, and what it does."""
    value = _value(action)
    names = [f"`{option}{f' {value}' if value else ''}`" for option in action.option_strings]
    text = parser._get_formatter()._expand_help(action) if action.help else ""
    return f"- {', '.join(names) or f'`{_name(action)}`'}: {_line(text)}"


def _name(action: argparse.Action) -> str:
    return action.option_strings[0] if action.option_strings else _value(action) or action.dest


def _value(action: argparse.Action) -> str:
    value = action.metavar if isinstance(action.metavar, str) else (action.dest.upper() if action.nargs != 0 else "")
    if action.choices and not isinstance(action.metavar, str):
        value = ",".join(map(str, action.choices))
    return value + (" ..." if action.nargs in ("*", "+") else "")


def _line(text: str) -> str:
    return re.sub(r"\s+", " ", text)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
