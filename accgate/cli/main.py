"""The commands: arguments in, printing out, exit codes. What they do stands in the modules they call."""

from __future__ import annotations

import argparse
import io
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from accgate.cli.arguments import parser
from accgate.cli.common import config_of, console, show_result, write
from accgate.errors import CANNOT_EVALUATE, INTERRUPTED, PASSED, AccgateError
from accgate.signals import ending_on_signals

if TYPE_CHECKING:
    from accgate.config import Config
    from accgate.planning import Check, Estimate


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; the exit code says what came of it, and no user's mistake gives a traceback."""
    arguments = parser().parse_args(argv)
    command = COMMANDS[arguments.command]
    if isinstance(sys.stdout, io.TextIOWrapper):  # ids and replies can hold what no encoding has
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        with ending_on_signals():
            code = command(arguments)
        sys.stdout.flush()
    except KeyboardInterrupt:
        print("accgate: interrupted; finished samples are recorded, go on with --resume", file=sys.stderr)
        return INTERRUPTED
    except AccgateError as error:
        return _failed(arguments, error, str(error), error.exit_code)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python complains when it flushes
        return CANNOT_EVALUATE
    except Exception as error:
        kind = type(error).__name__
        message = f"internal error: {kind}: {error}. --debug shows where; please report it with that"
        return _failed(arguments, error, message, CANNOT_EVALUATE)
    return code


def _failed(arguments: argparse.Namespace, error: Exception, message: str, code: int) -> int:
    if arguments.debug:
        traceback.print_exception(error)
    _complain(message)
    return code


def _complain(message: str) -> None:
    red, plain = ("\033[31m", "\033[0m") if sys.stderr.isatty() and not os.environ.get("NO_COLOR") else ("", "")
    for line in message.splitlines():
        print(f"{red}accgate: {line}{plain}", file=sys.stderr)


def _init(arguments: argparse.Namespace) -> int:
    from accgate.cli.start import init

    return init(arguments)


def _explain(arguments: argparse.Namespace) -> int:
    from accgate.cli.start import explain

    return explain(arguments)


def _completion(arguments: argparse.Namespace) -> int:
    from accgate.cli.start import completion

    return completion(arguments)


def _validate(arguments: argparse.Namespace) -> int:
    from accgate.planning import validate

    config = config_of(arguments)
    return _show_checks(arguments, config, validate(config), table=False)


def _plan(arguments: argparse.Namespace) -> int:
    if arguments.margin is not None:
        return _plan_annotation(arguments)
    from accgate.planning import estimates, hardware_here, plan_checks

    config = config_of(arguments)
    checks = plan_checks(config)
    runs = arguments.runs or [path for path in (Path("accgate-out"),) if path.is_dir()]
    return _show_checks(arguments, config, checks, table=True, costs=estimates(checks, runs, hardware_here))


def _plan_annotation(arguments: argparse.Namespace) -> int:
    from accgate.planning import annotation_plan

    low, high = arguments.range
    plan = annotation_plan(
        arguments.margin, confidence=arguments.confidence, low=low, high=high, population=arguments.population
    )
    if arguments.json:
        import json

        print(json.dumps(plan.as_dict(), indent=2))
    else:
        from accgate.report import print_annotation

        print_annotation(console(), plan)
    return PASSED


def _sigma(arguments: argparse.Namespace) -> int:
    from accgate.planning import noise_of

    noise = noise_of(
        arguments.records, theta=arguments.theta, alpha=arguments.alpha, beta=arguments.beta, scale=arguments.scale
    )
    if arguments.json:
        from accgate.result import to_json

        print(to_json(noise))
    else:
        from accgate.report import print_noise

        print_noise(console(), noise)
    return PASSED


def _show_checks(
    arguments: argparse.Namespace,
    config: Config,
    checks: Sequence[Check],
    *,
    table: bool,
    costs: Sequence[Estimate] = (),
) -> int:
    from accgate.planning import as_rows

    if arguments.json:
        import json
        from dataclasses import asdict

        rows = as_rows(checks)
        for row, cost in zip(rows, costs, strict=False):
            row["cost"] = {key: value for key, value in asdict(cost).items() if key not in ("model", "task")}
        print(json.dumps(rows, indent=2))
        return PASSED
    from accgate.report import gate_sentence, print_costs, print_plan

    print_plan(console(), checks, title=gate_sentence(config.source.path, config.gate, len(checks)), table=table)
    print_costs(console(), costs)
    return PASSED


def _compare(arguments: argparse.Namespace) -> int:
    from accgate.decision import compare_scores
    from accgate.design import Design
    from accgate.records import in_points, read_scores
    from accgate.result import result_of_verdict, to_json

    reference, candidate = in_points(
        read_scores(arguments.reference, "reference"), read_scores(arguments.candidate, "candidate"), arguments.scale
    )
    design = Design(
        test=arguments.test, alpha=arguments.alpha, beta=arguments.beta, sigma=arguments.sigma,
        theta=arguments.theta, higher_is_better=not arguments.lower_is_better, discordance=arguments.discordance,
        early_stopping=arguments.early_stopping, seed=arguments.seed,
    )  # fmt: skip
    result = result_of_verdict(compare_scores(reference, candidate, design))
    if arguments.json:
        print(to_json(result.checks[0]))
    else:
        show_result(arguments, result)
    return result.exit_code


def _report(arguments: argparse.Namespace) -> int:
    from accgate.report import flips_of_result, read_result

    result = read_result(arguments.result)
    if arguments.junit is not None:
        from accgate.report import junit_xml

        write(arguments.junit, junit_xml(result))
    flips = flips_of_result(result, arguments.result.parent)
    if arguments.html is not None:
        from accgate.report import html_report

        write(arguments.html, html_report(result, flips, arguments.result.parent))
    if arguments.markdown is not None or (arguments.junit is None and arguments.html is None):
        from accgate.report import render_markdown

        write(arguments.markdown or "-", render_markdown(result, flips))
    return PASSED


def _run(arguments: argparse.Namespace) -> int:
    from accgate.cli.run import run

    return run(arguments)


def _merge(arguments: argparse.Namespace) -> int:
    from accgate.cli.run import merge

    return merge(arguments)


def _record(arguments: argparse.Namespace) -> int:
    from accgate.cli.run import record

    return record(arguments)


def _cache(arguments: argparse.Namespace) -> int:
    from accgate.cli.cache import cache

    return cache(arguments)


def _questionnaire(arguments: argparse.Namespace) -> int:
    from accgate.cli.questionnaire import questionnaire

    return questionnaire(arguments)


def _import(arguments: argparse.Namespace) -> int:
    from accgate.cli.interop import import_

    return import_(arguments)


def _export(arguments: argparse.Namespace) -> int:
    from accgate.cli.interop import export

    return export(arguments)


def _history(arguments: argparse.Namespace) -> int:
    from accgate.cli.history import history

    return history(arguments)


def _publish(arguments: argparse.Namespace) -> int:
    from accgate.cli.github import publish, start

    return (start if arguments.start else publish)(arguments, os.environ)


def _respond(arguments: argparse.Namespace) -> int:
    from accgate.cli.github import respond

    return respond(arguments, os.environ)


def _propose(arguments: argparse.Namespace) -> int:
    from accgate.cli.github import propose

    return propose(arguments, os.environ)


def _schema(arguments: argparse.Namespace) -> int:
    import json

    if arguments.what == "config":
        from accgate.config import config_schema as schema
    else:
        from accgate.report import result_schema as schema
    print(json.dumps(schema(), indent=2))
    return PASSED


COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {
    "init": _init,
    "validate": _validate,
    "plan": _plan,
    "run": _run,
    "merge": _merge,
    "record": _record,
    "cache": _cache,
    "questionnaire": _questionnaire,
    "import": _import,
    "export": _export,
    "history": _history,
    "compare": _compare,
    "sigma": _sigma,
    "report": _report,
    "explain": _explain,
    "publish": _publish,
    "respond": _respond,
    "propose": _propose,
    "schema": _schema,
    "completion": _completion,
}
