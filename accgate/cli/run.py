"""The commands that evaluate, `run`, `merge` and `record`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from accgate.cli.cache import cache_of, caching_options
from accgate.cli.common import (
    CONFIG,
    OUT,
    config_of,
    config_options,
    console,
    names_of,
    print_json,
    print_note,
    print_outcome,
    selection_options,
    whole_config,
    workspace_option,
    write,
    write_html,
)
from accgate.cli.parser import count
from accgate.cli.streams import writing_output
from accgate.cli.working_folder import as_typed, from_start
from accgate.errors import BAD_INPUT, PASSED, BadInput

if TYPE_CHECKING:
    from accgate.config.config import Config
    from accgate.evaluation.assignment import Observer, RunOptions
    from accgate.evaluation.outcome import Interrupted
    from accgate.evaluation.rereading import Rereading
    from accgate.evaluation.shards.run import ShardRun
    from accgate.evaluation.shards.shard import Shard
    from accgate.record import Recording
    from accgate.result import Result
    from accgate.run_plan import Rules


def run_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `run`."""
    config_options(command)
    _evaluation_options(command, OUT)
    caching_options(command)
    command.add_argument("--shard", metavar="i/N", help="evaluate only part i of N of the samples, for merge")
    what = "with --shard: a folder that all shards share, in which they stop together; instead of --out"
    command.add_argument("--together", type=Path, metavar="DIR", help=what)
    what = "with --shard: only the part of what each check is expected to need; merge says where more is needed"
    command.add_argument("--first", action="store_true", help=what)
    what = "ask every sample, even once the verdict is known: `history pool` needs them all"
    command.add_argument("--whole", action="store_true", help=what)
    decision_options(command)


def merge_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `merge`."""
    command.add_argument("shards", nargs="+", type=Path, metavar="DIR", help="folder of a run with --shard")
    command.add_argument("--config", default=CONFIG, type=Path, metavar="FILE", help=f"the config ({CONFIG})")
    selection_options(command)
    command.add_argument("--out", type=Path, default=OUT, metavar="DIR", help=f"folder for the result ({OUT})")
    command.add_argument("--reason", metavar="TEXT", help="of `record --shard`: why a reference is replaced")
    command.add_argument("--no-replies", action="store_true", help="of `record --shard`: keep no replies")
    command.add_argument("--accept-low", action="store_true", help="of `record --shard`: keep a low reference")
    decision_options(command)


def record_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `record`."""
    config_options(command)
    _evaluation_options(command, OUT / "record")
    instead = command.add_mutually_exclusive_group()
    instead.add_argument("--reason", metavar="TEXT", help="why a reference is replaced")
    instead.add_argument("--add", action="store_true", help="add this run to the reference as further repeats")
    instead.add_argument("--add-rows", action="store_true", help="evaluate rows that the dataset gained; add them")
    instead.add_argument("--missing", action="store_true", help="only checks that have no reference; replaces none")
    twice = "evaluate every sample twice, and keep in the reference how many scores differ: the engine's own noise"
    command.add_argument("--check", action="store_true", help=twice)
    command.add_argument("--runs", type=count, default=1, metavar="N", help="evaluate every sample N times (1)")
    command.add_argument("--shard", metavar="i/N", help="evaluate only part i of N of the samples, for merge")
    command.add_argument("--no-replies", action="store_true", help="keep no replies beside the scores")
    low = "keep a reference in which no more answers are right than by guessing"
    command.add_argument("--accept-low", action="store_true", help=low)
    command.add_argument("--reread", action="store_true", help="score replies that references keep anew; asks no model")


def _evaluation_options(command: argparse.ArgumentParser, out: Path) -> None:
    command.add_argument("--out", type=Path, default=out, metavar="DIR", help=f"folder for records and result ({out})")
    workspace_option(command)
    command.add_argument("--resume", action="store_true", help="continue an unfinished run")
    command.add_argument("--quiet", action="store_true", help="show no progress")


def base_option(command: argparse.ArgumentParser) -> None:
    """Add --base and --tree."""
    what = "accuracy.toml of the base commit: its rules decide, for the models of this config"
    command.add_argument("--base", type=Path, metavar="FILE", help=what)
    command.add_argument("--tree", type=Path, metavar="DIR", help="the repository; no rule may name a file outside")


def decision_options(command: argparse.ArgumentParser) -> None:
    """Add --base, --tree and --html."""
    base_option(command)
    command.add_argument("--html", action="store_true", help="write report.html beside accgate.json too")


def run(arguments: argparse.Namespace) -> int:
    """Evaluate, decide and report, or evaluate a shard."""
    from accgate import gate
    from accgate.evaluation.outcome import Interrupted
    from accgate.report.result_file import forget_result

    shard = _shard_of(arguments)
    forget_result(arguments.out)  # first: a config that cannot be read must not leave an old verdict there
    config, rules = rules_of(arguments)
    options = replace(
        _options_of(arguments),
        cache=cache_of(arguments),
        shard=shard,
        together=arguments.together,
        first=arguments.first,
        whole=arguments.whole,
    )
    try:
        if shard is not None:
            done = gate.run_shard(config, options, rules)
            return _print_shard(arguments, shard, done, "is evaluated; decide with `accgate merge`")
        result = gate.run_whole(config, options, rules)
    except Interrupted as interruption:
        _report_interruption(arguments.out, interruption)
        raise
    report_result(arguments, result, quiet=arguments.quiet)
    return result.exit_code


def _shard_of(arguments: argparse.Namespace) -> Shard | None:
    """Return the shard to evaluate, or None where no shard is asked for.

    With --together the shard gets a folder of its own.
    """
    from accgate.evaluation.shards.shard import parse_shard
    from accgate.evaluation.shards.siblings import place_in

    if arguments.shard is None:
        for option in ("first", "together"):
            if getattr(arguments, option):
                raise BadInput(f"--{option} is for shards; give --shard i/N too, or leave it out")
        return None
    shard = parse_shard(arguments.shard)
    if arguments.whole and arguments.first:
        raise BadInput("--whole asks every sample, --first only the first ones; leave one of them out")
    if arguments.together is not None:
        if arguments.first:
            raise BadInput("--first is for shards that cannot see each other; leave it out with --together")
        if arguments.out != from_start(OUT):
            raise BadInput("--together gives each shard a folder of its own; leave --out out")
        arguments.out = place_in(arguments.together, shard)
    return shard


def _options_of(arguments: argparse.Namespace) -> RunOptions:
    """Return the options of every command that evaluates checks."""
    from accgate.evaluation.assignment import RunOptions

    return RunOptions(arguments.out, arguments.resume, observer_of(arguments))


def _print_shard(arguments: argparse.Namespace, shard: Shard, done: ShardRun, what: str) -> int:
    """Print what a shard holds and how to go on with it.

    Return its exit code.
    """
    if arguments.json:
        print_json(done)
    else:
        for share in done.checks:
            outcome = as_typed(share.problem or f"{share.records:,} records")
            print(f"shard {shard}: {share.model} / {share.task}: {outcome}")
        print(f"shard {shard} {what} of all {shard.count} shards")
    assert done.exit_code is not None
    return done.exit_code


def merge(arguments: argparse.Namespace) -> int:
    """Join shards, decide and report.

    Shards of `record` become references instead.
    """
    from accgate import gate, record
    from accgate.evaluation.shards.merge import refuse_own_output
    from accgate.report.result_file import forget_result

    refuse_own_output(arguments.shards, arguments.out)
    forget_result(arguments.out)
    if (recording := record.recording_of_shards(arguments.shards)) is not None:
        return _merge_recorded(arguments, recording)
    if arguments.reason is not None or arguments.no_replies:
        raise BadInput("--reason and --no-replies are for shards of `accgate record`; leave them out")
    config, rules = rules_of(arguments)
    result = gate.merge(config, arguments.shards, arguments.out, rules)
    report_result(arguments, result)
    return result.exit_code


def _merge_recorded(arguments: argparse.Namespace, recording: Recording) -> int:
    """Join shards of `record`, and write the references."""
    from accgate.record import record_merged

    if arguments.base is not None or arguments.tree is not None or arguments.html:
        raise BadInput("shards of `accgate record` are merged without a verdict; leave --base, --tree and --html out")
    config = _recording_config(arguments)
    recording = _with_references(arguments, config, recording)
    return _print_references(arguments, record_merged(config, arguments.shards, arguments.out, recording), recording)


def _with_references(arguments: argparse.Namespace, config: Config, recording: Recording) -> Recording:
    """Return the recording with the settings of the references it writes."""
    from accgate.inputs.checkout import commit_of

    commit = commit_of(config.folder)
    low, replies = arguments.accept_low, not arguments.no_replies
    return replace(recording, reason=arguments.reason, commit=commit, replies=replies, accept_low=low, note=print_note)


def _recording_config(arguments: argparse.Namespace) -> Config:
    """Return the config whose models are recorded.

    Without --models these are all that are not compared with another model.
    """
    config = config_of(arguments)
    return config if arguments.models else config.without_baselines()


def _record_shard(arguments: argparse.Namespace, recording: Recording) -> int:
    from accgate.evaluation.shards.shard import parse_shard
    from accgate.record import record_shard

    shard = parse_shard(arguments.shard)
    if recording.extends or recording.missing or arguments.reason is not None or arguments.no_replies:
        fix = "leave --add, --add-rows and --missing out, and give --reason and --no-replies to the merge"
        raise BadInput(f"shards only evaluate, `accgate merge` writes a new reference; {fix}")
    options = replace(_options_of(arguments), shard=shard)
    done = record_shard(_recording_config(arguments), options, recording)
    return _print_shard(arguments, shard, done, "is evaluated; write the reference with `accgate merge`")


def record(arguments: argparse.Namespace) -> int:
    """Evaluate and write references."""
    from accgate.record import Recording, record

    if arguments.check and (arguments.add or arguments.add_rows or arguments.runs != 1):
        raise BadInput("--check evaluates all twice for a new reference; leave --add, --add-rows and --runs out")
    if arguments.add_rows and arguments.runs != 1:
        raise BadInput("--add-rows asks new rows as often as the reference's others were asked; leave --runs out")
    recording = Recording(arguments.runs, arguments.check, arguments.add, arguments.add_rows, arguments.missing)
    if arguments.reread:
        return _record_reread(arguments, recording)
    if arguments.shard is not None:
        return _record_shard(arguments, recording)
    config = _recording_config(arguments)
    recording = _with_references(arguments, config, recording)
    return _print_references(arguments, record(config, _options_of(arguments), recording), recording)


def _record_reread(arguments: argparse.Namespace, recording: Recording) -> int:
    """Score the replies of references anew.

    Return the exit code, which is bad input if any reference could not be read anew.
    """
    from accgate.record import Recording, reread
    from accgate.report.readings import print_rereadings

    if recording != Recording() or arguments.shard is not None or arguments.resume or arguments.no_replies:
        raise BadInput("--reread asks no model; of the options of `record` give only --reason, --models and --tasks")
    done = reread(_recording_config(arguments), arguments.reason)
    print_outcome(arguments, done, lambda screen: print_rereadings(screen, done))
    if any(each.changed for each in done) and not arguments.quiet:
        print_note("the references changed; commit them, and score runs the same way: accgate rerun RUN --reread")
    return BAD_INPUT if any(each.left_out for each in done) else PASSED


def _print_references(arguments: argparse.Namespace, paths: Sequence[Path], recording: Recording) -> int:
    """Print which references were written."""
    from accgate.records.file import paths_of
    from accgate.records.log import read_log
    from accgate.references.store import read_reference
    from accgate.report.readings import print_replies
    from accgate.verdict.sentences import readings_text

    is_quiet = getattr(arguments, "quiet", False)  # merge has no such option
    written = {as_typed(path): reference.about for path in paths if (reference := read_reference(path)) is not None}
    if arguments.json:
        print_json({"references": list(written), "readings": {path: about.readings for path, about in written.items()}})
        return PASSED
    for path, about in written.items():
        q, readings = about.discordance, about.readings and readings_text(about.readings)
        noise = "noise shows in 0/100 scores only" if q is None else f"two runs differ in {100 * q:.3g}% of the scores"
        more = (f": {readings}" if readings else "") + (f"; {noise}" if recording.twice else "")
        print(f"{'added to' if recording.extends else 'recorded'} {path}{more}")
        records = paths_of(arguments.out, about.model, about.task).records
        if records.exists() and not is_quiet:
            print_replies(console(), read_log(records))
    if not written:
        print("every check has a reference; `accgate record --reason TEXT` replaces one")
    elif not is_quiet:
        console(stderr=True).print("Next: commit it, then `accgate run` on a change.", markup=False, highlight=False)
    return PASSED


def rules_of(arguments: argparse.Namespace) -> tuple[Config, Rules]:
    """Return the config, and which rules decide."""
    from accgate.guard.base import Selection, rule_sets_of, within_tree

    if arguments.base is None:
        config = config_of(arguments)
        return config if arguments.tree is None else within_tree(config, arguments.tree), None
    selection = Selection(names_of(*arguments.models), names_of(*arguments.tasks))
    base = rule_sets_of(whole_config(arguments), arguments.base, selection)
    return (config_of(arguments), "bootstrap") if base is None else (base.own, base)


def observer_of(arguments: argparse.Namespace) -> Observer:
    """Return the progress bar, or with --quiet a silent observer."""
    if arguments.quiet:
        from accgate.evaluation.assignment import Observer

        return Observer()
    from accgate.report.progress import ProgressBar

    return ProgressBar(console(stderr=True))


def _report_interruption(out: Path, interruption: Interrupted) -> None:
    """Write into report.md what an interrupted run evaluated.

    Such a run has no accgate.json.
    """
    from accgate.report.markdown import interrupted_report
    from accgate.result import REPORT

    out.mkdir(parents=True, exist_ok=True)
    write(out / REPORT, interrupted_report(interruption.checks, interruption.evaluated))


def report_result(
    arguments: argparse.Namespace, result: Result, *, quiet: bool = False, readings: Sequence[Rereading] = ()
) -> None:
    """Write a result for people beside its accgate.json, and print it.

    The `readings` of replies that were scored anew come first.
    """
    from accgate.report.flips import flips_of_result
    from accgate.report.forest import forest_files
    from accgate.report.markdown import render_markdown
    from accgate.report.story import worst_first
    from accgate.result import HTML, NAME, REPORT

    flips = flips_of_result(result, arguments.out)
    write(arguments.out / REPORT, render_markdown(result, flips))
    for name, picture in forest_files(worst_first(result.decided)).items():
        write(arguments.out / name, picture)
    if arguments.html:
        write_html(arguments.out / HTML, result, arguments.out)
    place = as_typed(arguments.out / NAME)
    with writing_output(f"the result is in {place}"):
        if arguments.json:
            print_json({"readings": readings, "result": result} if readings else result)
            return
        from accgate.report.ending import print_result
        from accgate.report.readings import print_rereadings

        print_rereadings(console(), readings)
        where = "" if arguments.out == from_start(OUT) else place
        report = "" if quiet else as_typed(arguments.out / (HTML if arguments.html else REPORT))
        print_result(console(), result, flips, report=report, place=where)
