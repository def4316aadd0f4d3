"""The command `history`.

It adds runs to a history, joins histories, shows, draws and publishes them.
"""

from __future__ import annotations

import argparse
import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from accgate.cli.common import CONFIG, json_option, print_note, print_outcome, write
from accgate.cli.parser import Command, add_commands, count, result_file
from accgate.cli.working_folder import nearest_config
from accgate.errors import PASSED
from accgate.text import count_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from accgate.config.config import Config
    from accgate.history.file import History
    from accgate.history.pool import Pooling
    from accgate.history.run import Run

FILE = Path("history.jsonl")


def history_options(command: argparse.ArgumentParser) -> None:
    """Add the commands of `history`."""
    add_commands(command, ACTIONS, "ACTION")


def _add_options(command: argparse.ArgumentParser) -> None:
    _result_options(command)
    command.add_argument("--file", type=Path, default=FILE, metavar="FILE", help=f"the history ({FILE})")
    command.add_argument("--commit", metavar="SHA", help="commit that was run (the commit of the config's folder)")


def _show_options(command: argparse.ArgumentParser) -> None:
    _history_options(command)
    command.add_argument("--last", type=count, default=20, metavar="N", help="runs in a table (20)")
    json_option(command)


def _merge_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("histories", nargs="+", type=Path, metavar="FILE", help="histories, or folders of them")
    command.add_argument("--out", type=Path, required=True, metavar="FILE", help="file to write; may be one of them")


def _push_options(command: argparse.ArgumentParser) -> None:
    _result_options(command)
    command.add_argument("--branch", default="accgate-history", metavar="NAME", help="its branch (accgate-history)")
    command.add_argument("--page", action="store_true", help="write index.html there too, for GitHub Pages")


def _pool_options(command: argparse.ArgumentParser) -> None:
    _result_options(command)
    command.add_argument("--commit", metavar="SHA", help="commit that was run (the commit of the config's folder)")
    command.add_argument("--dry-run", action="store_true", help="decide, and write nothing")
    json_option(command)


def _html_options(command: argparse.ArgumentParser) -> None:
    _history_options(command)
    command.add_argument("--out", default="-", metavar="FILE", help="file to write; - is standard output (-)")


def _result_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("result", type=result_file, metavar="accgate.json", help="a run's result")
    command.add_argument("--config", type=Path, metavar="FILE", help=f"the config of models and references ({CONFIG})")


def _history_options(command: argparse.ArgumentParser) -> None:
    what = f"a history, or a folder of history*.jsonl ({FILE})"
    command.add_argument("file", nargs="?", type=Path, default=FILE, metavar="FILE", help=what)
    command.add_argument("--check", metavar="MODEL/TASK", help="only this check")


def _add(arguments: argparse.Namespace) -> int:
    from accgate.history.file import add_run
    from accgate.inputs.checkout import commit_of

    config = _config_of(arguments)
    commit = commit_of(Path() if config is None else config.folder) if arguments.commit is None else arguments.commit
    is_new, history = add_run(arguments.file, _run_of(arguments, commit, config))
    _print_notes(history)
    print(f"{arguments.file}: {_addition(history, is_new=is_new)}")
    return PASSED


def _show(arguments: argparse.Namespace) -> int:
    from accgate.history.series import as_rows, print_history, series_of

    series = series_of(_read(arguments).runs, arguments.check)
    print_outcome(arguments, as_rows(series), lambda screen: print_history(screen, series, last=arguments.last))
    return PASSED


def _merge(arguments: argparse.Namespace) -> int:
    from accgate.history.file import write_merged

    history = write_merged(arguments.histories, arguments.out)
    _print_notes(history)
    print(f"{arguments.out}: {count_of(len(history.lines), 'run')}")
    return PASSED


def _html(arguments: argparse.Namespace) -> int:
    from accgate.history.page import html_page

    write(arguments.out, html_page(_read(arguments), arguments.check))
    return PASSED


def _push(arguments: argparse.Namespace) -> int:
    from accgate.cli.github import fail_job, job_here
    from accgate.github.api.answers import CannotPublish
    from accgate.github.branch import push_files, refuse_other_branch
    from accgate.github.event import read_event
    from accgate.history.file import NAME, add_to
    from accgate.history.page import html_page

    job = job_here()
    event, config = read_event(job.environ), _config_of(arguments)
    try:
        client = job.connect(event)
        refuse_other_branch(event, job.environ.get("GITHUB_REF", ""), arguments.branch)
        run, name = _run_of(arguments, event.head_sha, config), f"{arguments.branch}:{NAME}"
        add = partial(add_to, run=run, name=name, page=html_page if arguments.page else None)
        sha, addition = push_files(client, event.repository, arguments.branch, NAME, add)
    except CannotPublish as error:
        return fail_job("history", error)
    _print_notes(addition.history)
    print(f"{arguments.branch}: {_addition(addition.history, is_new=bool(addition.files))} at {sha}")
    return PASSED


def _pool(arguments: argparse.Namespace) -> int:
    from accgate.config.config import load_config
    from accgate.github.branch import refuse_other_branch
    from accgate.github.event import read_event
    from accgate.history.pool import pool
    from accgate.inputs.checkout import commit_of

    if os.environ.get("GITHUB_ACTIONS") == "true":
        refuse_other_branch(read_event(os.environ), os.environ.get("GITHUB_REF", ""))
    config = load_config(arguments.config or nearest_config())
    commit = commit_of(config.folder) if arguments.commit is None else arguments.commit
    done = pool(config, arguments.result, commit=commit, writes=not arguments.dry_run)
    print_outcome(arguments, done, lambda screen: _print_poolings(screen, done, dry=arguments.dry_run))
    return PASSED


def _print_poolings(screen: Console, done: Sequence[Pooling], *, dry: bool) -> None:
    for each in done:
        outcome = f"{'would be ' * dry}pooled, {count_of(each.runs, 'run')}" if each.is_pooled else "not pooled"
        screen.print(f"{each.model} / {each.task}: {outcome}: {each.why}", markup=False, highlight=False)


def _config_of(arguments: argparse.Namespace) -> Config | None:
    """Load the config that is named, or the one that is here.

    Without one, variants and reference digests are left out.
    """
    from accgate.config.config import load_config

    path = arguments.config or nearest_config()
    if arguments.config is None and not path.is_file():
        print_note(f"there is no {CONFIG} here, so variants and reference digests are left out; name one with --config")
        return None
    return load_config(path)


def _run_of(arguments: argparse.Namespace, commit: str, config: Config | None) -> Run:
    from datetime import datetime, timezone

    from accgate.history.run import run_of
    from accgate.report.result_file import read_result

    result = read_result(arguments.result)
    content = arguments.result.read_bytes()
    return run_of(result, content, commit=commit, config=config, now=lambda: datetime.now(timezone.utc))


def _read(arguments: argparse.Namespace) -> History:
    from accgate.history.file import read_history

    history = read_history(arguments.file)
    _print_notes(history)
    return history


def _addition(history: History, *, is_new: bool) -> str:
    return f"{'added the run' if is_new else 'has this run already'}; {count_of(len(history.lines), 'run')}"


def _print_notes(history: History) -> None:
    for note in history.notes:
        print_note(note)


ACTIONS = (
    Command("add", "append a run's result to a history", _add_options, _add),
    Command("show", "show each check over time", _show_options, _show),
    Command("merge", "join histories; their order does not matter", _merge_options, _merge),
    Command("push", "add a run to the history on a branch of its own on GitHub", _push_options, _push),
    Command("pool", "add a run of main to the references, where it is equal within them", _pool_options, _pool),
    Command("html", "write each check over time as one HTML file", _html_options, _html),
)
