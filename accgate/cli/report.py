"""The commands `report` and `explain`, which show a result."""

from __future__ import annotations

import argparse
from pathlib import Path

from accgate.cli.common import RESULT, console, write
from accgate.errors import PASSED


def report_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `report`."""
    command.add_argument(
        "result",
        nargs="?",
        type=Path,
        default=RESULT,
        metavar="accgate.json",
        help=f"a result, or a verdict of compare --json ({RESULT})",
    )
    command.add_argument("--markdown", metavar="FILE", help="write Markdown; - is standard output")
    command.add_argument("--junit", metavar="FILE", help="write JUnit XML; - is standard output")
    command.add_argument("--ctrf", metavar="FILE", help="write a CTRF report (JSON); - is standard output")
    command.add_argument("--html", metavar="FILE", help="write one HTML file; - is standard output")


def explain_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `explain`."""
    command.add_argument(
        "check", nargs="?", metavar="CHECK", help="MODEL/TASK, or just one of the two where that is enough"
    )
    command.add_argument(
        "result", nargs="?", type=Path, default=RESULT, metavar="accgate.json", help=f"a result ({RESULT})"
    )


def report(arguments: argparse.Namespace) -> int:
    """Print a result for the terminal, or write it in the forms that are asked for."""
    from accgate.report.flips import flips_of_result
    from accgate.report.result_file import read_result

    result = read_result(arguments.result)
    if {arguments.markdown, arguments.junit, arguments.ctrf, arguments.html} == {None}:
        from accgate.report.ending import print_result

        print_result(console(), result, flips_of_result(result, arguments.result.parent))
        return PASSED
    if arguments.junit is not None:
        from accgate.report.result_file import junit_xml

        write(arguments.junit, junit_xml(result))
    if arguments.ctrf is not None:
        from accgate.report.result_file import ctrf_json

        write(arguments.ctrf, ctrf_json(result))
    flips = flips_of_result(result, arguments.result.parent)
    if arguments.html is not None:
        from accgate.report.html.page import html_report

        write(arguments.html, html_report(result, flips, arguments.result.parent))
    if arguments.markdown is not None:
        from accgate.report.markdown import render_markdown

        write(arguments.markdown, render_markdown(result, flips))
    return PASSED


def explain(arguments: argparse.Namespace) -> int:
    """Explain in words how a check got its verdict."""
    from accgate.report.ending import print_groups
    from accgate.report.result_file import read_result
    from accgate.report.terminal import print_explanation
    from accgate.report.words import explanation_of, find_check

    name: str | None = arguments.check
    path: Path = arguments.result
    if name is not None and name.endswith(".json") and Path(name).is_file():  # only the file was named
        path = Path(name)
        name = None
    result = read_result(path)
    check = find_check(result, name)
    print_explanation(console(), explanation_of(result, check))
    if check.groups is not None and check.groups.rows:
        print()
        print_groups(console(), check)
    return PASSED
