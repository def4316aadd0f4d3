"""The commands that ask models now and record nothing.

They are `ab`, `blame`, `bisect` and `rerun`.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import TYPE_CHECKING

from accgate.cli.common import CONFIG, OUT, config_of, console, json_option, print_outcome, workspace_option, write
from accgate.cli.parser import count, run_folder, run_option
from accgate.cli.run import base_option, decision_options, observer_of, report_result, rules_of
from accgate.cli.working_folder import as_typed
from accgate.errors import PASSED, AccgateError, BadInput

if TYPE_CHECKING:
    from accgate.config.config import Config
    from accgate.run_plan import Rules

REREAD = "reread"  # the folder of a run whose replies were read anew, in that of the run
FAILURE = 1_000  # characters of why nothing was found


def _loss_options(command: argparse.ArgumentParser) -> None:
    """Add the options that name a run's check, and how it is asked again."""
    run_option(command)
    command.add_argument("--config", default=CONFIG, type=Path, metavar="FILE", help=f"the config ({CONFIG})")
    command.add_argument("--model", metavar="NAME", help="the model of the check (the one that lost most answers)")
    command.add_argument("--task", metavar="NAME", help="the task of the check")
    command.add_argument("--resume", action="store_true", help="go on where an earlier one ended")
    command.add_argument("--quiet", action="store_true", help="show no progress")


def blame_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `blame`."""
    _loss_options(command)
    command.add_argument("--alpha", type=float, default=0.05, help="chance that an innocent setting is named (0.05)")
    command.add_argument("--samples", type=count, metavar="N", help="ask at most this many questions in all")
    command.add_argument("--minutes", type=float, metavar="N", help="ask no further question after this time")
    command.add_argument("--out", type=Path, metavar="DIR", help="folder for cause.json and the records (RUN)")
    base_option(command)
    workspace_option(command)
    command.add_argument("--html", action="store_true", help="write cause.html beside cause.json too")
    command.add_argument("--markdown", metavar="FILE", help="write the outcome as Markdown; - is stdout")
    json_option(command)


def blame(arguments: argparse.Namespace) -> int:
    """Search for what explains the loss, and print it.

    cause.json holds the cause, or why none was found.
    """
    from accgate.evaluation.assignment import RunOptions
    from accgate.records.replacement import refuse_unwritable
    from accgate.report.cause import CauseFile, blame_html, blame_markdown, print_blame, write_cause
    from accgate.result import CAUSE, CAUSE_HTML
    from accgate.trials.search import blame

    if arguments.minutes is not None and not 0.0 < arguments.minutes < math.inf:
        raise BadInput(f"--minutes is {arguments.minutes}; give a number above 0")
    if not 0.0 < arguments.alpha < 0.5:
        raise BadInput(f"--alpha is {arguments.alpha}; give a number above 0 and below 0.5")
    out: Path = arguments.folder if arguments.out is None else arguments.out
    refuse_unwritable(out)
    try:
        config, rules = _rules_of_run(arguments)
        done = blame(
            config,
            arguments.folder,
            RunOptions(out, arguments.resume, observer_of(arguments)),
            rules=rules,
            model=arguments.model,
            task=arguments.task,
            alpha=arguments.alpha,
            samples=arguments.samples,
            minutes=arguments.minutes,
            saves=lambda so_far: write_cause(CauseFile(so_far), out / CAUSE),
        )
    except AccgateError as error:
        if out.is_dir():  # else the run's folder was not even named right
            write_cause(CauseFile(failure=as_typed(str(error)).splitlines()[0][:FAILURE]), out / CAUSE)
        raise
    write_cause(CauseFile(done), out / CAUSE)
    if arguments.html:
        write(out / CAUSE_HTML, blame_html(done))
    print_outcome(arguments, done, lambda screen: print_blame(screen, done), lambda: blame_markdown(done))
    return PASSED


def _rules_of_run(arguments: argparse.Namespace) -> tuple[Config, Rules]:
    """Return the config and rules of a run.

    Only the models and tasks that its result names are selected.
    """
    from accgate.report.result_file import read_result
    from accgate.result import NAME

    checks = read_result(arguments.folder / NAME).checks
    arguments.models = list(dict.fromkeys(str(verdict.model) for verdict in checks))
    arguments.tasks = list(dict.fromkeys(str(verdict.task) for verdict in checks))
    return rules_of(arguments)


def ab_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `ab`."""
    command.add_argument("first", metavar="MODEL_A", help="a model of accuracy.toml")
    command.add_argument("second", metavar="MODEL_B", help="the model that is held against it")
    command.add_argument("--config", default=CONFIG, type=Path, metavar="FILE", help=f"the config ({CONFIG})")
    command.add_argument("--against", type=Path, metavar="FILE", help="the config that has MODEL_B, if another")
    command.add_argument("--tasks", action="append", default=[], metavar="NAMES", help="only these tasks")
    command.add_argument("--two-sided", action="store_true", help="decide better, worse or no difference of theta")
    what = f"the records' folder ({OUT / 'ab'})"
    command.add_argument("--out", type=Path, default=OUT / "ab", metavar="DIR", help=what)
    command.add_argument("--quiet", action="store_true", help="show no progress")
    json_option(command)


def ab(arguments: argparse.Namespace) -> int:
    """Compare two models, and print what came of each task."""
    from accgate.evaluation.assignment import RunOptions
    from accgate.report.terminal import print_ab
    from accgate.trials.comparison import ab

    arguments.models = []
    models, options = (arguments.first, arguments.second), RunOptions(arguments.out, observer=observer_of(arguments))
    done = ab(config_of(arguments), *models, options, against=arguments.against, two_sided=arguments.two_sided)
    answers = [(each.verdict, each.answer) for each in done.tasks]
    print_outcome(arguments, done, lambda screen: print_ab(screen, done.first, answers))
    return done.exit_code


def rerun_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `rerun`."""
    what = command.add_mutually_exclusive_group()
    what.add_argument("--flips", action="store_true", help="ask again what got worse, several times; the default")
    what.add_argument("--sample", metavar="ID", help="print prompt, replies and scores of one sample; nothing is asked")
    what.add_argument("--reread", action="store_true", help="score the kept replies anew and decide; nothing is asked")
    command.add_argument("--times", type=count, default=3, metavar="N", help="how often each is asked (3)")
    _loss_options(command)
    command.add_argument("--out", type=Path, metavar="DIR", help=f"with --reread: the new run's folder (RUN/{REREAD})")
    decision_options(command)
    json_option(command)


def rerun(arguments: argparse.Namespace) -> int:
    """Ask the lost answers again, or show one sample of a run."""
    from accgate.report.repetition import print_asked_again, print_sample
    from accgate.report.result_file import read_result
    from accgate.result import NAME
    from accgate.trials.loss import rerun

    if arguments.reread:
        return _reread(arguments)
    if arguments.out is not None or arguments.base is not None or arguments.tree is not None or arguments.html:
        raise BadInput("--out, --base, --tree and --html are for --reread; leave them out")
    if arguments.sample is not None:
        result = read_result(arguments.folder / NAME)
        print_sample(console(), result, arguments.folder, arguments.sample, arguments.model, arguments.task)
        return PASSED
    done = rerun(
        arguments.config,
        arguments.folder,
        model=arguments.model,
        task=arguments.task,
        times=arguments.times,
        resume=arguments.resume,
        observer=observer_of(arguments),
    )
    print_outcome(arguments, done, lambda screen: print_asked_again(screen, done, arguments.folder))
    return PASSED


def _reread(arguments: argparse.Namespace) -> int:
    """Score a run's kept replies anew in a folder of its own.

    Then decide and report as `run` does.
    """
    from accgate import gate

    if arguments.model is not None or arguments.task is not None or arguments.resume:
        raise BadInput("--reread decides a whole run; leave --model, --task and --resume out")
    run, arguments.out = arguments.folder, arguments.out or arguments.folder / REREAD
    config, rules = _rules_of_run(arguments)
    result, readings = gate.reread(config, run, arguments.out, rules)
    report_result(arguments, result, quiet=arguments.quiet, readings=readings)
    return result.exit_code


def bisect_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `bisect`."""
    out = OUT / "bisect"
    command.add_argument("--good", required=True, metavar="REV", help="a commit that was right; its rules decide")
    command.add_argument("--bad", default="HEAD", metavar="REV", help="a later commit that lost answers (HEAD)")
    command.add_argument("--config", default=CONFIG, type=Path, metavar="FILE", help=f"the config ({CONFIG})")
    command.add_argument("--model", metavar="NAME", help="the model, where the good commit has several")
    command.add_argument("--task", metavar="NAME", help="the task, where the good commit has several")
    command.add_argument("--serve", metavar="COMMAND", help="serves a commit's model in its tree, on the port {port}")
    command.add_argument("--run", type=run_folder, dest="of_run", metavar="RUN", help="a run of the bad commit")
    command.add_argument("--out", type=Path, default=out, metavar="DIR", help=f"folder for answers and log ({out})")
    command.add_argument("--resume", action="store_true", help="go on where an earlier search ended")
    command.add_argument("--quiet", action="store_true", help="show no progress")
    json_option(command)


def bisect(arguments: argparse.Namespace) -> int:
    """Search the commits, and name the one that lost the answers."""
    from accgate.report.repetition import print_bisection, print_chances
    from accgate.trials.bisection import bisect

    screen = console(stderr=True)
    done = bisect(
        arguments.config,
        arguments.good,
        arguments.bad,
        model=arguments.model,
        task=arguments.task,
        serve=arguments.serve,
        run=arguments.of_run,
        out=arguments.out,
        resume=arguments.resume,
        shows=None if arguments.quiet else lambda *seen: print_chances(screen, *seen),
    )
    print_outcome(arguments, done, lambda screen: print_bisection(screen, done, arguments.out))
    return PASSED
