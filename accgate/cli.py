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

from accgate import __version__
from accgate.errors import CANNOT_EVALUATE, INTERRUPTED, PASSED, AccgateError, BadInput

if TYPE_CHECKING:
    from rich.console import Console

    from accgate.base import Rulings
    from accgate.config import Config
    from accgate.result import Result


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; the exit code says what came of it, and no user's mistake gives a traceback."""
    arguments = parser().parse_args(argv)
    command: Callable[[argparse.Namespace], int] = arguments.command
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


def parser() -> argparse.ArgumentParser:
    """The command line."""
    top = argparse.ArgumentParser(
        prog="accgate", description="Tells whether a language model's accuracy regressed, by hypothesis test.",
        epilog="Exit codes: 0 passed, 1 regression, 2 bad input, 3 could not finish, 4 no verdict, 130 interrupted.",
    )  # fmt: skip
    top.add_argument("--version", action="version", version=f"accgate {__version__}")
    commands = top.add_subparsers(metavar="COMMAND", required=True)
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--debug", action="store_true", help="show the traceback of an error")

    def add(name: str, command: Callable[[argparse.Namespace], int], text: str) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".", parents=[shared])
        made.set_defaults(command=command)
        return made

    _init_arguments(add("init", _init, "write a starter accuracy.toml and workflow"))
    _config_arguments(add("validate", _validate, "check accuracy.toml and say what it means"))
    plan = add("plan", _plan, "samples, theta and gamma of each check, or how many test cases to annotate")
    _config_arguments(plan)
    _annotation_arguments(plan)
    run = add("run", _run, "evaluate, decide and report")
    _config_arguments(run)
    _evaluation_arguments(run, "accgate-out")
    run.add_argument(
        "--base",
        type=Path,
        metavar="FILE",
        help="accuracy.toml of the base commit: its rules judge, over this one's models",
    )
    run.add_argument("--html", action="store_true", help="write report.html beside accgate.json too")
    record = add("record", _record, "evaluate and write references")
    _config_arguments(record)
    _evaluation_arguments(record, "accgate-out/record")
    instead = record.add_mutually_exclusive_group()
    instead.add_argument("--reason", metavar="TEXT", help="why a reference is replaced")
    instead.add_argument("--add", action="store_true", help="add this run to the reference as further repeats")
    record.add_argument("--no-replies", action="store_true", help="keep no replies beside the scores")
    _compare_arguments(add("compare", _compare, "decide from two files of per-sample scores, without a model"))
    sigma = add("sigma", _sigma, "estimate sigma from a run, and from two runs of one model how many scores change")
    sigma.add_argument("records", nargs="+", type=Path, metavar="RECORDS", help="one or two files with id and score")
    sigma.add_argument("--theta", type=float, default=2.0, help="drop in points to plan for (2)")
    sigma.add_argument("--alpha", type=float, default=0.05, help="type I error rate (0.05)")
    sigma.add_argument("--beta", type=float, default=0.2, help="type II error rate (0.2)")
    sigma.add_argument("--scale", type=float, help="factor to points: 100 for fractions, 1 for points")
    sigma.add_argument("--json", action="store_true", help="print only JSON on standard output")
    report = add("report", _report, "render a result")
    report.add_argument("result", type=Path, metavar="accgate.json", help="a result, or a verdict of compare --json")
    report.add_argument("--markdown", metavar="FILE", help="write Markdown; - is standard output, the default")
    report.add_argument("--junit", metavar="FILE", help="write JUnit XML; - is standard output")
    schema = add("schema", _schema, "print a JSON schema")
    schema.add_argument("what", choices=["config", "result"])
    return top


def _config_arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("config", nargs="?", default="accuracy.toml", type=Path, metavar="accuracy.toml")
    command.add_argument("--models", action="append", default=[], metavar="NAMES", help="only these, comma-separated")
    command.add_argument("--tasks", action="append", default=[], metavar="NAMES", help="only these names or tags")
    command.add_argument("--json", action="store_true", help="print only JSON on standard output")


def _annotation_arguments(command: argparse.ArgumentParser) -> None:
    group = command.add_argument_group("without a dataset yet: test cases to annotate so that the mean is known to")
    group.add_argument("--margin", type=float, metavar="T", help="how far the mean may be off, in units of the range")
    group.add_argument("--confidence", type=float, default=0.95, metavar="SHARE", help="with this confidence (0.95)")
    group.add_argument("--range", nargs=2, type=float, default=[0.0, 1.0], metavar=("LOW", "HIGH"), help="of a score")
    group.add_argument("--population", type=int, metavar="N", help="test cases there are at all, where that is known")


def _evaluation_arguments(command: argparse.ArgumentParser, out: str) -> None:
    command.add_argument("--out", type=Path, default=Path(out), metavar="DIR", help=f"records and result ({out})")
    command.add_argument("--resume", action="store_true", help="go on with an unfinished run")
    command.add_argument("--quiet", action="store_true", help="no progress")


def _init_arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("--name", default="model", help="the model's name in the config")
    command.add_argument("--engine", choices=["openai", "llamacpp", "recorded"], default="openai")
    command.add_argument("--model", default="HuggingFaceTB/SmolLM2-135M-Instruct", help="what the engine loads")
    command.add_argument("--base-url", default="http://127.0.0.1:8000/v1", help="of an openai engine")
    command.add_argument("--task", default="arithmetic", help="a task of the library")
    command.add_argument("--theta", type=float, default=4.0, help="drop in points that must be seen")
    command.add_argument("--force", action="store_true", help="replace files that exist")


def _compare_arguments(command: argparse.ArgumentParser) -> None:
    from accgate.stats.names import TESTS

    command.add_argument("reference", type=Path, metavar="REFERENCE", help="JSONL or CSV with id, score, maybe cluster")
    command.add_argument("candidate", type=Path, metavar="CANDIDATE")
    command.add_argument("--test", default="auto", choices=[test for test in TESTS if test != "target"])
    command.add_argument("--alpha", type=float, default=0.05, help="type I error rate (0.05)")
    command.add_argument("--beta", type=float, default=0.2, help="type II error rate (0.2)")
    command.add_argument("--sigma", type=float, help="standard deviation of one score in points, for two-sample")
    command.add_argument("--theta", type=float, help="drop in points that must be detectable")
    command.add_argument("--early-stopping", action="store_true", help="use as few samples as the evidence allows")
    command.add_argument("--discordance", type=float, metavar="Q", help="share of samples expected to change")
    command.add_argument("--seed", type=int, default=0, help="of the order of samples and of resampling (0)")
    command.add_argument("--scale", type=float, help="factor to points: 100 for fractions, 1 for points")
    command.add_argument("--lower-is-better", action="store_true", help="as for perplexity")
    command.add_argument("--json", action="store_true", help="print only JSON on standard output")


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
    from accgate.report.flips import flips_of_result
    from accgate.report.markdown import render
    from accgate.result import REPORT

    gate.forget_result(arguments.out)
    rulings = _rulings(arguments)
    config = _config(arguments) if rulings is None else rulings.own
    result = gate.run(
        config, rulings=rulings, bootstrap=arguments.base is not None and rulings is None, out=arguments.out,
        resume=arguments.resume, observer=_observer(arguments),
    )  # fmt: skip
    flips = flips_of_result(result, arguments.out)
    _write(str(arguments.out / REPORT), render(result, flips))
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
    if arguments.markdown is not None or arguments.junit is None:
        from accgate.report.markdown import render

        _write(arguments.markdown or "-", render(result, flips_of_result(result, arguments.result.parent)))
    return PASSED


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
