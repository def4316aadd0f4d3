"""The command line: every command with its arguments."""

from __future__ import annotations

import argparse
from pathlib import Path

from accgate._version import __version__
from accgate.cli.parser import Parser


def parser() -> argparse.ArgumentParser:
    """The command line."""
    top = Parser(
        prog="accgate", description="Tells whether a language model's accuracy regressed, by hypothesis test.",
        epilog="Exit codes: 0 passed, 1 regression, 2 bad input, 3 could not finish, 4 no verdict, 130 interrupted.",
    )  # fmt: skip
    top.add_argument("--version", action="version", version=f"accgate {__version__}")
    commands = top.add_subparsers(metavar="COMMAND", required=True)
    shared = Parser(add_help=False)
    shared.add_argument("--debug", action="store_true", help="show the traceback of an error")

    def add(name: str, text: str) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".", parents=[shared])
        made.set_defaults(command=name)
        return made

    from accgate.cli.start import completion_arguments, explain_arguments, init_arguments

    init_arguments(add("init", "write a starter accuracy.toml and workflow"))
    _config_arguments(add("validate", "check accuracy.toml and say what it means"))
    plan = add("plan", "samples, theta and gamma of each check, or how many test cases to annotate")
    _config_arguments(plan)
    plan.add_argument("--runs", action="append", type=Path, metavar="DIR", help="run folders to cost by (accgate-out)")
    _annotation_arguments(plan)
    run = add("run", "evaluate, decide and report")
    _config_arguments(run)
    _evaluation_arguments(run, "accgate-out")
    _caching_arguments(run)
    run.add_argument("--shard", metavar="i/N", help="evaluate only the i-th of N parts of the samples, for merge")
    _decision_arguments(run)
    _merge_arguments(add("merge", "join the shards of a run, then decide and report"))
    record = add("record", "evaluate and write references")
    _config_arguments(record)
    _evaluation_arguments(record, "accgate-out/record")
    instead = record.add_mutually_exclusive_group()
    instead.add_argument("--reason", metavar="TEXT", help="why a reference is replaced")
    instead.add_argument("--add", action="store_true", help="add this run to the reference as further repeats")
    record.add_argument("--shard", help=argparse.SUPPRESS)  # refused with the reason
    record.add_argument("--no-replies", action="store_true", help="keep no replies beside the scores")
    _compare_arguments(add("compare", "decide from two files of per-sample scores, without a model"))
    _sigma_arguments(add("sigma", "estimate sigma from a run, and from two runs of one model how many scores change"))
    _report_arguments(add("report", "render a result"))
    explain_arguments(add("explain", "say in words how the verdict of a check came about"))
    _publish_arguments(add("publish", "tell GitHub what came of a run: comment, check run, summary, outputs"))
    respond = add("respond", "do what a comment on a pull request asks for: /accgate accept or rerun")
    respond.add_argument("--check-name", default="accgate", metavar="NAME", help="of the gate's check run (accgate)")
    _propose_arguments(add("propose", "propose recorded references as a pull request, after respond"))
    _cache_arguments(add("cache", "show or prune the replies that runs keep"))
    _questionnaire_arguments(
        add("questionnaire", "have people rate the answers of both sides blindly, and decide on it")
    )
    from accgate.cli.interop import export_arguments, import_arguments

    import_arguments(add("import", "make run records or references of other tools' files"), shared)
    export_arguments(add("export", "write run records as another tool's files"))
    from accgate.cli.history import history_arguments

    history_arguments(add("history", "keep every run of the main branch, and show each check over time"), shared)
    schema = add("schema", "print a JSON schema")
    schema.add_argument("what", choices=["config", "result"])
    completion_arguments(add("completion", "print the script that completes commands and options in a shell"))
    return top


def _config_arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("config", nargs="?", default="accuracy.toml", type=Path, metavar="accuracy.toml")
    _selection_arguments(command)


def _selection_arguments(command: argparse.ArgumentParser) -> None:
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


def _merge_arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("shards", nargs="+", type=Path, metavar="DIR", help="folder of a run with --shard")
    command.add_argument("--config", default="accuracy.toml", type=Path, metavar="FILE", help="(accuracy.toml)")
    _selection_arguments(command)
    command.add_argument("--out", type=Path, default=Path("accgate-out"), metavar="DIR", help="result (accgate-out)")
    _decision_arguments(command)


def _decision_arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--base",
        type=Path,
        metavar="FILE",
        help="accuracy.toml of the base commit: its rules judge, over this one's models",
    )
    command.add_argument("--html", action="store_true", help="write report.html beside accgate.json too")


def _compare_arguments(command: argparse.ArgumentParser) -> None:
    from accgate.stats import TESTS

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


def _sigma_arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("records", nargs="+", type=Path, metavar="RECORDS", help="one or two files with id and score")
    command.add_argument("--theta", type=float, default=2.0, help="drop in points to plan for (2)")
    command.add_argument("--alpha", type=float, default=0.05, help="type I error rate (0.05)")
    command.add_argument("--beta", type=float, default=0.2, help="type II error rate (0.2)")
    command.add_argument("--scale", type=float, help="factor to points: 100 for fractions, 1 for points")
    command.add_argument("--json", action="store_true", help="print only JSON on standard output")


def _report_arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "result", nargs="?", type=Path, default=Path("accgate-out/accgate.json"), metavar="accgate.json",
        help="a result, or a verdict of compare --json (accgate-out/accgate.json)",
    )  # fmt: skip
    command.add_argument("--markdown", metavar="FILE", help="write Markdown; - is standard output, the default")
    command.add_argument("--junit", metavar="FILE", help="write JUnit XML; - is standard output")
    command.add_argument("--html", metavar="FILE", help="write one HTML file; - is standard output")


def _publish_arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("result", nargs="?", type=Path, metavar="accgate.json", help="a result; it need not exist")
    command.add_argument("--start", action="store_true", help="first: refuse what must not run; open the check")
    command.add_argument("--state", type=Path, metavar="FILE", help="keeps the check run from --start to the end")
    command.add_argument("--check-name", default="accgate", metavar="NAME", help="of the check run (accgate)")
    command.add_argument("--config", default="accuracy.toml", metavar="PATH", help="accuracy.toml in the repository")
    command.add_argument("--head", type=Path, default=Path(), metavar="DIR", help="files of the head commit (.)")
    command.add_argument("--base", type=Path, metavar="DIR", help="files of the base commit, for the guard")
    command.add_argument("--exit-code", type=int, metavar="N", help="what the run exited with; the result must agree")
    command.add_argument("--log", type=Path, metavar="FILE", help="what the run printed, shown where it has no result")
    command.add_argument("--comment", default="always", choices=["always", "on-change", "on-failure", "never"])
    command.add_argument("--fail-on", default="regression,inconclusive,no-reference,guard", metavar="LIST")
    command.add_argument("--cancelled", action="store_true", help="the job was stopped: end the check run so")
    command.add_argument("--untrusted", action="store_true", help="anybody may have written the result: advisory only")
    command.add_argument("--dry-run", action="store_true", help="print the comment instead of publishing it")


def _propose_arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("folder", type=Path, metavar="DIR", help="the references that record wrote, from its job")
    command.add_argument("--head-sha", required=True, metavar="SHA", help="the commit that they were recorded at")
    command.add_argument("--references", default="references", metavar="PATH", help="their folder in the repository")
    command.add_argument("--as", dest="how", default="pull-request", choices=["pull-request", "commit"])


def _caching_arguments(command: argparse.ArgumentParser) -> None:
    either = command.add_mutually_exclusive_group()
    either.add_argument("--cache", metavar="DIR", help="reuse replies of runs of the same model ($ACCGATE_CACHE)")
    either.add_argument("--no-cache", action="store_true", help="ask everything, whatever ACCGATE_CACHE says")


def _cache_arguments(command: argparse.ArgumentParser) -> None:
    from accgate.cli.cache import age, size

    command.add_argument("action", choices=["info", "prune"])
    command.add_argument("--cache", metavar="DIR", help="folder ($ACCGATE_CACHE)")
    command.add_argument("--older-than", type=age, metavar="AGE", help="prune what no run used for so long: 30d, 12h")
    command.add_argument("--max-size", type=size, metavar="SIZE", help="prune the longest unused until so much is left")
    command.add_argument("--json", action="store_true", help="print only JSON on standard output")


def _questionnaire_arguments(command: argparse.ArgumentParser) -> None:
    command.usage = (
        "accgate questionnaire [--out FILE] [...] DIR | REFERENCE CANDIDATE\n"
        "       accgate questionnaire import RATINGS.json... --key FILE [...]"
    )
    what = "a run's folder, or two files of answers; or `import` and the files that raters downloaded"
    command.add_argument("paths", nargs="+", metavar="PATH", help=what)
    build = command.add_argument_group("to build the page that people rate on")
    build.add_argument("--out", type=Path, metavar="FILE", help="the page; its key goes beside it (questionnaire.html)")
    build.add_argument("--config", type=Path, metavar="FILE", help="names a run's reference (accuracy.toml)")
    build.add_argument("--model", metavar="NAME", help="of a run's folder with several")
    build.add_argument("--task", metavar="NAME", help="of a run's folder with several")
    build.add_argument("--questions", type=int, metavar="N", help="draw so many (20, or all there are)")
    build.add_argument("--items", type=Path, metavar="FILE", help="TOML with the statements to agree or disagree with")
    build.add_argument("--seed", type=int, help="of draw and order (random; who knows it can tell the sides apart)")
    build.add_argument("--show-targets", action="store_true", default=None, help="show the expected answers")
    build.add_argument("--force", action="store_true", default=None, help="replace a questionnaire and its key")
    decide = command.add_argument_group("to import ratings")
    decide.add_argument("--key", type=Path, metavar="FILE", help="the .key.json that was written with the page")
    decide.add_argument("--alpha", type=float, help="type I error rate (0.05)")
    decide.add_argument("--beta", type=float, help="type II error rate (0.2)")
    decide.add_argument("--theta", type=float, help="drop in points (25 a level) that must be detectable")
    decide.add_argument("--correction", choices=["none", "holm", "bonferroni", "bh"], help="over the items (holm)")
    decide.add_argument("--allow-missing", action="store_true", default=None, help="leave out what was not rated")
    decide.add_argument("--markdown", metavar="FILE", help="write Markdown too; - is standard output, alone")
    decide.add_argument("--json", action="store_true", default=None, help="print only JSON on standard output")
