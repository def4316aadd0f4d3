"""The command `verify`: decide a finished run again, and refuse a result that does not follow from its records."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from accgate.cli.common import CONFIG, OUT, print_json, selection_options, write
from accgate.cli.run import base_option, rules_of
from accgate.errors import BadInput


def verify_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `verify`."""
    command.add_argument("folder", nargs="?", type=Path, default=OUT, metavar="RUN", help=f"folder of the run ({OUT})")
    command.add_argument("--config", default=CONFIG, type=Path, metavar="FILE", help=f"the config ({CONFIG})")
    selection_options(command)
    base_option(command)
    command.add_argument("--statement", metavar="FILE", help="write the verdict as an in-toto statement; - is stdout")
    command.add_argument("--commit", metavar="SHA", help="the commit that the statement is about")


def verify(arguments: argparse.Namespace) -> int:
    """Decide again, compare, and print the verdict; its exit code is the run's."""
    from accgate import gate
    from accgate.report.result_file import statement_of
    from accgate.report.story import headline_of

    if (arguments.statement is None) != (arguments.commit is None):
        raise BadInput("--statement and --commit go together: a statement is about a commit")
    config, rules, bootstrap = rules_of(arguments)
    result = gate.verify(config, arguments.folder, rules=rules, bootstrap=bootstrap)
    if arguments.statement is not None:
        statement = statement_of(result, arguments.folder, commit=arguments.commit)
        write(arguments.statement, json.dumps(statement, indent=2) + "\n")
    if arguments.json:
        print_json(json.dumps({"agrees": True, "verdict": result.verdict, "exit_code": result.exit_code}))
    elif arguments.statement != "-":
        print(f"The records give this verdict, with all its figures. {headline_of(result).text}")
    return result.exit_code
