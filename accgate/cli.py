"""The commands: arguments in, printing out, exit codes. What they do stands in the modules they call."""

from __future__ import annotations

import argparse
import io
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accgate.arguments import parser
from accgate.errors import CANNOT_EVALUATE, INTERRUPTED, PASSED, AccgateError, BadInput

if TYPE_CHECKING:
    from rich.console import Console

    from accgate.base import Rulings
    from accgate.config import Config
    from accgate.result import Result


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; the exit code says what came of it, and no user's mistake gives a traceback."""
    arguments = parser().parse_args(argv)
    command = COMMANDS[arguments.command]
    if isinstance(sys.stdout, io.TextIOWrapper):  # ids and replies can hold what no encoding has
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
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


def _config(arguments: argparse.Namespace) -> Config:
    from accgate.config import chosen, load_config

    return chosen(load_config(arguments.config), _names(arguments.models), _names(arguments.tasks))


def _names(given: Sequence[str]) -> tuple[str, ...]:
    return tuple(name.strip() for text in given for name in text.split(",") if name.strip())


def _rulings(arguments: argparse.Namespace) -> Rulings | None:
    """The rules of the base commit, on a pull request whose base has some."""
    from accgate.base import Selection, rulings
    from accgate.config import load_config

    if arguments.base is None:
        return None
    selection = Selection(_names(arguments.models), _names(arguments.tasks))
    return rulings(load_config(arguments.config), arguments.base, selection)


def _console(*, stderr: bool = False) -> Console:
    from accgate.report.console import PlainConsole as Console

    # Where nothing says how wide it is, 120 columns hold the table: a log is not a narrow terminal.
    console = Console(stderr=stderr, highlight=False)
    return console if console.is_terminal else Console(stderr=stderr, highlight=False, width=120)


def _init(arguments: argparse.Namespace) -> int:
    from accgate.config import checked_config
    from accgate.starter import WORKFLOW, config_text
    from accgate.tasks.library import library_names
    from accgate.tomlfile import nearest, parsed_toml

    if arguments.task not in library_names():
        raise BadInput(f"no task {arguments.task!r} in the library; {nearest(arguments.task, library_names())}")
    text = config_text(
        name=arguments.name, engine=arguments.engine, model=arguments.model, task=arguments.task,
        theta=arguments.theta, base_url=arguments.base_url,
    )  # fmt: skip
    checked_config(parsed_toml(Path("accuracy.toml"), text))
    files = {Path("accuracy.toml"): text, Path(".github/workflows/accuracy.yml"): WORKFLOW}
    present = [str(path) for path in files if path.exists()]
    if present and not arguments.force:
        raise BadInput(f"{' and '.join(present)} exist; nothing was written. --force replaces them")
    for path, content in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
        print(f"wrote {path}")
    print("Next: accgate validate, then accgate record on a version that you trust, and commit the references.")
    return PASSED


def _validate(arguments: argparse.Namespace) -> int:
    from accgate.checks import validate

    config = _config(arguments)
    return _show_checks(arguments, config, validate(config), table=False)


def _plan(arguments: argparse.Namespace) -> int:
    if arguments.margin is not None:
        return _plan_annotation(arguments)
    from accgate.checks import plan_checks

    config = _config(arguments)
    return _show_checks(arguments, config, plan_checks(config), table=True)


def _plan_annotation(arguments: argparse.Namespace) -> int:
    from accgate.annotation import annotation_plan

    low, high = arguments.range
    plan = annotation_plan(
        arguments.margin, confidence=arguments.confidence, low=low, high=high, population=arguments.population
    )
    if arguments.json:
        import json

        print(json.dumps(plan.as_dict(), indent=2))
    else:
        from accgate.report.plans import print_annotation

        print_annotation(_console(), plan)
    return PASSED


def _sigma(arguments: argparse.Namespace) -> int:
    from accgate.noise import noise_of

    noise = noise_of(
        arguments.records, theta=arguments.theta, alpha=arguments.alpha, beta=arguments.beta, scale=arguments.scale
    )
    if arguments.json:
        from accgate.result import plain_json

        print(plain_json(noise))
    else:
        from accgate.report.noise import print_noise

        print_noise(_console(), noise)
    return PASSED


def _show_checks(arguments: argparse.Namespace, config: Config, checks: Sequence[Any], *, table: bool) -> int:
    from accgate.checks import as_rows

    if arguments.json:
        import json

        print(json.dumps(as_rows(checks), indent=2))
        return PASSED
    from accgate.report.plans import gate_sentence, print_plan

    print_plan(_console(), checks, title=gate_sentence(config, len(checks)), table=table)
    return PASSED


def _observer(arguments: argparse.Namespace) -> Any:
    from accgate.report.terminal import ProgressBar

    return None if arguments.quiet else ProgressBar(_console(stderr=True))


def _run(arguments: argparse.Namespace) -> int:
    from accgate import gate

    gate.forget_result(arguments.out)
    if arguments.shard is not None:
        return _run_shard(arguments)
    config, rulings, bootstrap = _judging(arguments)
    result = gate.run(
        config, rulings=rulings, bootstrap=bootstrap, out=arguments.out, resume=arguments.resume,
        observer=_observer(arguments),
    )  # fmt: skip
    return _reported(arguments, result)


def _run_shard(arguments: argparse.Namespace) -> int:
    from accgate import gate
    from accgate.shards import parse_shard

    shard = parse_shard(arguments.shard)
    config, rulings, _ = _judging(arguments)
    done = gate.run_shard(
        config, shard, rulings=rulings, out=arguments.out, resume=arguments.resume, observer=_observer(arguments)
    )
    if arguments.json:
        from accgate.result import plain_json

        print(plain_json(done))
    else:
        for share in done.checks:
            print(f"shard {shard}: {share.model} / {share.task}: {share.problem or f'{share.records:,} records'}")
        print(f"shard {shard} decides nothing; `accgate merge` does, on all {shard.count}")
    assert done.exit_code is not None
    return done.exit_code


def _merge(arguments: argparse.Namespace) -> int:
    from accgate import gate
    from accgate.merge import refuse_own_output

    refuse_own_output(arguments.shards, arguments.out)
    gate.forget_result(arguments.out)
    config, rulings, bootstrap = _judging(arguments)
    result = gate.merge(config, arguments.shards, rulings=rulings, bootstrap=bootstrap, out=arguments.out)
    return _reported(arguments, result)


def _judging(arguments: argparse.Namespace) -> tuple[Config, Rulings | None, bool]:
    """The config, the base's rules where a base has some, and whether it has none."""
    rulings = _rulings(arguments)
    config = _config(arguments) if rulings is None else rulings.own
    return config, rulings, arguments.base is not None and rulings is None


def _reported(arguments: argparse.Namespace, result: Result) -> int:
    """The result written for people beside accgate.json, and shown; its exit code."""
    from accgate.report.flips import flips_of_result
    from accgate.report.markdown import render
    from accgate.result import HTML, REPORT

    flips = flips_of_result(result, arguments.out)
    _write(str(arguments.out / REPORT), render(result, flips))
    if arguments.html:
        from accgate.report.html import html_report

        _write(str(arguments.out / HTML), html_report(result, flips))
    _show_result(arguments, result, flips)
    return result.exit_code


def _show_result(arguments: argparse.Namespace, result: Result, flips: Any = None) -> None:
    if arguments.json:
        from accgate.result import to_json

        print(to_json(result))
        return
    from accgate.report.terminal import print_result

    print_result(_console(), result, flips)


def _record(arguments: argparse.Namespace) -> int:
    from accgate import gate
    from accgate.revision import commit_of

    if arguments.shard is not None:
        raise BadInput("record takes no --shard: a reference is of one run; leave --shard out")
    config = _config(arguments)
    if not arguments.models:
        config = config.without_baselines()
    written = gate.record(
        config, out=arguments.out, resume=arguments.resume, reason=arguments.reason,
        commit=commit_of(config.folder), replies=not arguments.no_replies, add=arguments.add,
        observer=_observer(arguments),
    )  # fmt: skip
    if arguments.json:
        import json

        print(json.dumps({"references": [str(path) for path in written]}))
    else:
        for path in written:
            print(f"{'added to' if arguments.add else 'recorded'} {path}")
    return PASSED


def _compare(arguments: argparse.Namespace) -> int:
    from accgate.decide import compare_scores
    from accgate.design import Design
    from accgate.result import result_of_verdict, to_json
    from accgate.scores import in_points, read_scores

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
        _show_result(arguments, result)
    return result.exit_code


def _report(arguments: argparse.Namespace) -> int:
    from accgate.report.flips import flips_of_result
    from accgate.result import read_result

    result = read_result(arguments.result)
    if arguments.junit is not None:
        from accgate.report.junit import junit

        _write(arguments.junit, junit(result))
    flips = flips_of_result(result, arguments.result.parent)
    if arguments.html is not None:
        from accgate.report.html import html_report

        _write(arguments.html, html_report(result, flips))
    if arguments.markdown is not None or (arguments.junit is None and arguments.html is None):
        from accgate.report.markdown import render

        _write(arguments.markdown or "-", render(result, flips))
    return PASSED


def _publish(arguments: argparse.Namespace) -> int:
    from accgate.github.command_line import publish, start

    return (start if arguments.start else publish)(arguments, os.environ)


def _respond(arguments: argparse.Namespace) -> int:
    from accgate.github.command_line import respond

    return respond(arguments, os.environ)


def _propose(arguments: argparse.Namespace) -> int:
    from accgate.github.command_line import propose

    return propose(arguments, os.environ)


def _write(name: str, text: str) -> None:
    if name == "-":
        sys.stdout.buffer.write(text.encode("utf-8", "replace"))
        return
    try:
        Path(name).write_text(text, encoding="utf-8", errors="replace")
    except OSError as error:
        raise BadInput(f"{name}: cannot be written: {error.strerror}; name another file") from error


def _schema(arguments: argparse.Namespace) -> int:
    import json

    if arguments.what == "config":
        from accgate.config import config_schema as schema
    else:
        from accgate.result import result_schema as schema
    print(json.dumps(schema(), indent=2))
    return PASSED


COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {
    "init": _init,
    "validate": _validate,
    "plan": _plan,
    "run": _run,
    "merge": _merge,
    "record": _record,
    "compare": _compare,
    "sigma": _sigma,
    "report": _report,
    "publish": _publish,
    "respond": _respond,
    "propose": _propose,
    "schema": _schema,
}
