"""docs/commands.md from the parser: `python -m docs.command_reference` writes it anew."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

from accgate.cli.main import build_parser

PAGE = Path(__file__).with_name("commands.md")
HEAD = """\
# Commands

Every command with its options, as `accgate COMMAND --help` prints them. Written by `python -m docs.command_reference`.

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
"""


def page() -> str:
    """The whole page."""
    return "\n".join([HEAD, *(part for name, parser in _parsers(build_parser()) for part in _command(name, parser))])


def _parsers(parser: argparse.ArgumentParser, prefix: str = "accgate") -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Each command, and each command within a command."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, inner in action.choices.items():
                yield f"{prefix} {name}", inner
                yield from _parsers(inner, f"{prefix} {name}")


def _command(name: str, parser: argparse.ArgumentParser) -> list[str]:
    """Heading, purpose, example and table of one command."""
    actions = [a for a in parser._actions if a.dest not in ("help", "debug") and a.help != argparse.SUPPRESS]
    inner = [a for a in actions if isinstance(a, argparse._SubParsersAction)]
    rows = [_row(parser, action) for action in actions if action not in inner]
    lines = [f"{'#' * min(name.count(' ') + 1, 3)} {name}", "", _cell(parser.description or ""), ""]
    if parser.epilog:
        word, _, example = parser.epilog.partition(": ")
        lines += [f"{word}: `{example}`", ""]
    if rows:
        lines += ["| argument | meaning |", "|---|---|", *rows, ""]
    return lines


def _row(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    """One argument: how it is written, and what it does."""
    value = action.metavar if isinstance(action.metavar, str) else (action.dest.upper() if action.nargs != 0 else "")
    if action.choices and not isinstance(action.metavar, str):
        value = ",".join(map(str, action.choices))
    many = {"*": " ...", "+": " ..."}.get(str(action.nargs), "")
    names = [f"`{option}{f' {value}' if value else ''}{many}`" for option in action.option_strings]
    text = parser._get_formatter()._expand_help(action) if action.help else ""
    return f"| {', '.join(names) or f'`{value or action.dest}{many}`'} | {_cell(text)} |"


def _cell(text: str) -> str:
    return re.sub(r"\s+", " ", text).replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
