"""The commands that show a finished run, or decide it anew (`verify`)."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from accgate.cli.common import CONFIG, RESULT, console, print_json, print_note, selection_options, write, write_html
from accgate.cli.parser import result_file, run_option
from accgate.cli.run import base_option, rules_of
from accgate.errors import PASSED, BadInput

if TYPE_CHECKING:
    from accgate.result import Result


def report_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `report`."""
    what = f"a result, or a verdict of compare --json ({RESULT})"
    command.add_argument("result", nargs="?", type=result_file, default=RESULT, metavar="accgate.json", help=what)
    command.add_argument("--check", metavar="CHECK", help="explain one check's verdict: MODEL/TASK, or one of the two")
    command.add_argument("--markdown", metavar="FILE", help="write Markdown; - is standard output")
    command.add_argument("--junit", metavar="FILE", help="write JUnit XML; - is standard output")
    command.add_argument("--ctrf", metavar="FILE", help="write a CTRF report (JSON); - is standard output")
    command.add_argument("--html", metavar="FILE", help="write one HTML file; - is standard output")


def report(arguments: argparse.Namespace) -> int:
    """Print a result or one of its checks, or write it in other formats."""
    from accgate.report.flips import flips_of_result
    from accgate.report.result_file import ctrf_json, junit_xml, read_result

    result, folder = read_result(arguments.result), arguments.result.parent
    if arguments.check is not None:
        _print_check(result, arguments.check)
    elif {arguments.markdown, arguments.junit, arguments.ctrf, arguments.html} == {None}:
        from accgate.report.ending import print_result

        print_result(console(), result, flips_of_result(result, folder))
    for name, text_of in ((arguments.junit, junit_xml), (arguments.ctrf, ctrf_json)):
        if name is not None:
            write(name, text_of(result))
    if arguments.html is not None:
        write_html(arguments.html, result, folder)
    if arguments.markdown is not None:
        from accgate.report.markdown import render_markdown

        write(arguments.markdown, render_markdown(result, flips_of_result(result, folder)))
    return PASSED


def _print_check(result: Result, name: str) -> None:
    from accgate.report.ending import print_groups
    from accgate.report.terminal import print_explanation
    from accgate.report.words import explanation_of, find_check

    check = find_check(result, name)
    print_explanation(console(), explanation_of(result, check))
    if check.groups is not None and check.groups.rows:
        print()
        print_groups(console(), check)


def view_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `view`."""
    run_option(command)
    command.add_argument("--config", default=CONFIG, type=Path, metavar="FILE", help=f"config of the run ({CONFIG})")
    command.add_argument("--no-browser", action="store_true", help="print the address and open no browser")
    command.add_argument("--minutes", type=float, default=10.0, metavar="N", help="end after no visit for so long (10)")


def view(arguments: argparse.Namespace) -> int:
    """Serve a run on this machine until nobody looks any more, or Ctrl-C."""
    import webbrowser

    from accgate.report.live.progress import Follower, checks_of
    from accgate.report.live.server import Viewer

    if not arguments.folder.is_dir():
        raise BadInput(f"{arguments.folder}: there is no such folder; start a run, or name the folder of its --out")
    if not 0.0 < arguments.minutes <= 24 * 60:
        raise BadInput(f"--minutes is {arguments.minutes:g}; give a number above 0 and up to 1440")
    checks, fault = checks_of(arguments.config)
    viewer = Viewer(Follower(arguments.folder, checks), idle=60.0 * arguments.minutes)
    if fault is not None and not viewer.follower.is_finished:
        print_note(f"there is no plan, so only finished samples are shown: {fault}")
    print(viewer.url, flush=True)
    print_note("open the full address; it works on this machine only. Ctrl-C ends it")
    if not arguments.no_browser and not webbrowser.open(viewer.url):
        print_note("no browser could be opened; open the address yourself")
    try:
        viewer.serve()
    except KeyboardInterrupt:
        print_note("ended")
    return PASSED


def verify_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `verify`."""
    run_option(command)
    command.add_argument("--config", default=CONFIG, type=Path, metavar="FILE", help=f"the config ({CONFIG})")
    selection_options(command)
    base_option(command)
    command.add_argument("--statement", metavar="FILE", help="write the verdict as an in-toto statement; - is stdout")
    command.add_argument("--commit", metavar="SHA", help="the commit that the statement is about")


def verify(arguments: argparse.Namespace) -> int:
    """Decide a run again and print the verdict, whose exit code is the run's."""
    from accgate import gate
    from accgate.report.result_file import statement_of
    from accgate.report.story import headline_of

    if (arguments.statement is None) != (arguments.commit is None):
        raise BadInput("--statement and --commit go together: a statement is about a commit")
    config, rules = rules_of(arguments)
    result = gate.verify(config, arguments.folder, rules)
    if arguments.statement is not None:
        statement = statement_of(result, arguments.folder, commit=arguments.commit)
        write(arguments.statement, json.dumps(statement, indent=2) + "\n")
    if arguments.json:
        print_json({"agrees": True, "verdict": result.verdict, "exit_code": result.exit_code})
    elif arguments.statement != "-":
        print(f"The records give the same verdict and figures. {headline_of(result).text}")
    return result.exit_code
