"""The command `history`: runs added, joined, shown, drawn, published."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from accgate.cli.common import write
from accgate.errors import CANNOT_EVALUATE, PASSED, BadInput

if TYPE_CHECKING:
    from accgate.config import Config
    from accgate.history import History, Run

FILE, CONFIG = Path("history.jsonl"), Path("accuracy.toml")


def history_arguments(command: argparse.ArgumentParser, shared: argparse.ArgumentParser) -> None:
    """The arguments of `history`, one parser for each action."""
    actions = command.add_subparsers(dest="action", metavar="ACTION", required=True)

    def add(name: str, text: str) -> argparse.ArgumentParser:
        made = actions.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".", parents=[shared])
        made.set_defaults(command="history")
        return made

    added = add("add", "append a run's result to a history")
    _result_arguments(added)
    added.add_argument("--file", type=Path, default=FILE, metavar="FILE", help="the history (history.jsonl)")
    added.add_argument("--commit", metavar="SHA", help="what was judged (the commit of the config's folder)")
    show = add("show", "each check over time")
    _history_argument(show)
    show.add_argument("--last", type=_count, default=20, metavar="N", help="runs in a table (20)")
    show.add_argument("--json", action="store_true", help="print only JSON on standard output")
    merge = add("merge", "join histories; the order does not matter")
    merge.add_argument(
        "histories", nargs="+", type=Path, metavar="FILE", help="histories, or folders of history*.jsonl"
    )
    merge.add_argument("--out", type=Path, required=True, metavar="FILE", help="may be one of them")
    pushed = add("push", "add a run to the history on a branch of its own on GitHub")
    _result_arguments(pushed)
    pushed.add_argument("--branch", default="accgate-history", metavar="NAME", help="(accgate-history)")
    pushed.add_argument("--page", action="store_true", help="write index.html there too, for GitHub Pages")
    page = add("html", "write each check over time as one HTML file")
    _history_argument(page)
    page.add_argument("--out", default="-", metavar="FILE", help="- is standard output, the default")
    badge = add("badge", "draw the latest run as a badge")
    _history_argument(badge)
    badge.add_argument("--out", metavar="FILE", help="write the SVG; - is standard output")
    badge.add_argument("--json", action="store_true", help="print shields.io's endpoint JSON on standard output")


def _result_arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("result", type=Path, metavar="accgate.json", help="a run's result")
    command.add_argument("--config", type=Path, metavar="FILE", help="names variants and references (accuracy.toml)")


def _history_argument(command: argparse.ArgumentParser) -> None:
    what = "a history, or a folder of history*.jsonl (history.jsonl)"
    command.add_argument("file", nargs="?", type=Path, default=FILE, metavar="FILE", help=what)
    command.add_argument("--check", metavar="MODEL/TASK", help="only this one")


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of 1 or more")
    return int(text)


def history(arguments: argparse.Namespace) -> int:
    """Do what the action says; what it exits with."""
    return ACTIONS[arguments.action](arguments)


def _add(arguments: argparse.Namespace) -> int:
    from accgate.history import add_run
    from accgate.references import commit_of

    config = _config(arguments)
    if arguments.commit is None:
        arguments.commit = commit_of(Path() if config is None else config.folder)
    is_new, found = add_run(arguments.file, _run(arguments, arguments.commit, config))
    _say_notes(found)
    print(f"{arguments.file}: {'added the run' if is_new else 'has this run already'}; {_counted(found)}")
    return PASSED


def _config(arguments: argparse.Namespace) -> Config | None:
    """The config that is named, or the one that is there; without any, names of variants and references stay out."""
    from accgate.config import load_config

    if arguments.config is None and not CONFIG.is_file():
        _note("there is no accuracy.toml here: variants and digests of references are left out; name one with --config")
        return None
    return load_config(arguments.config or CONFIG)


def _run(arguments: argparse.Namespace, commit: str, config: Config | None) -> Run:
    from accgate.history import run_of
    from accgate.report import read_result

    result = read_result(arguments.result)
    return run_of(
        result, arguments.result.read_bytes(), commit=commit, config=config, now=lambda: datetime.now(timezone.utc)
    )


def _show(arguments: argparse.Namespace) -> int:
    from accgate.cli.common import console
    from accgate.history import as_rows, print_history, series_of

    found = _read(arguments.file)
    series = series_of(found.runs, arguments.check)
    if arguments.json:
        import json

        print(json.dumps(as_rows(series), indent=2))
    else:
        print_history(console(), series, last=arguments.last)
    return PASSED


def _merge(arguments: argparse.Namespace) -> int:
    from accgate.history import write_merged

    found = write_merged(arguments.histories, arguments.out)
    _say_notes(found)
    print(f"{arguments.out}: {_counted(found)}")
    return PASSED


def _html(arguments: argparse.Namespace) -> int:
    from accgate.history import html_page

    write(arguments.out, html_page(_read(arguments.file), arguments.check))
    return PASSED


def _badge(arguments: argparse.Namespace) -> int:
    from accgate.history import badge_of, svg

    if arguments.out is None and not arguments.json:
        raise BadInput("say --out FILE for the SVG, --json for shields.io's endpoint, or both")
    if arguments.out == "-" and arguments.json:
        raise BadInput("--json prints on standard output; write the SVG to a file")
    badge = badge_of(_read(arguments.file).runs, arguments.check)
    if arguments.out is not None:
        write(arguments.out, svg(badge))
    if arguments.json:
        import json

        print(json.dumps(badge.endpoint()))
    return PASSED


def _push(arguments: argparse.Namespace) -> int:
    from accgate.cli.github import connected, mask_tokens
    from accgate.github import CannotPublish, command, push_files, read_event, refuse_other_branch
    from accgate.history import NAME, add_to

    mask_tokens(os.environ)
    event, config = read_event(os.environ), _config(arguments)
    branch = arguments.branch
    try:
        client = connected(event, os.environ)
        refuse_other_branch(client, event, os.environ.get("GITHUB_REF", ""))
        run = _run(arguments, event.head_sha, config)
        sha, addition = push_files(
            client, event.repository, branch, NAME,
            lambda content: add_to(content, run, name=f"{branch}:{NAME}", page=arguments.page),
        )  # fmt: skip
    except CannotPublish as error:
        print(command("error", str(error), title="accgate history"), flush=True)
        return CANNOT_EVALUATE
    _say_notes(addition.history)
    what = "added the run" if addition.files else "has this run already"
    print(f"{branch}: {what}; {_counted(addition.history)} at {sha}")
    return PASSED


def _read(path: Path) -> History:
    from accgate.history import read_history

    found = read_history(path)
    _say_notes(found)
    return found


def _counted(found: History) -> str:
    return "1 run" if len(found.lines) == 1 else f"{len(found.lines):,} runs"


def _say_notes(found: History) -> None:
    for note in found.notes:
        _note(note)


def _note(text: str) -> None:
    print(f"accgate: {text}", file=sys.stderr)


ACTIONS: dict[str, Callable[[argparse.Namespace], int]] = {
    "add": _add,
    "show": _show,
    "merge": _merge,
    "push": _push,
    "html": _html,
    "badge": _badge,
}
