"""The product in one screen, from planning and evaluating to deciding.

It covers every model and task.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from accgate.config.config import Config, load_config
from accgate.decision.progress import early_stop
from accgate.decision.run import Decided, decide_checks, result_of
from accgate.errors import BadInput
from accgate.evaluation.assignment import Observer, RunOptions
from accgate.evaluation.outcome import EvaluatedRun
from accgate.evaluation.pair import copy_other_sides
from accgate.evaluation.rereading import Rereading, reread_run
from accgate.evaluation.resume import begin_anew
from accgate.evaluation.run import evaluate_checks
from accgate.evaluation.shards.merge import join, refuse_own_output, write_union
from accgate.evaluation.shards.run import ShardRun, end_shard
from accgate.evaluation.stored import read_evaluation
from accgate.guard.own_rules import verdicts_beside
from accgate.records.file import paths_of
from accgate.records.lock import sole_run
from accgate.records.replacement import refuse_unwritable
from accgate.references.store import copy_references
from accgate.report.result_file import differences, forget_result, read_result, write_result
from accgate.result import NAME, Result
from accgate.run_plan import Rules, RunPlan, plan_run

if TYPE_CHECKING:
    from accgate.evaluation.cache.engine import Cache

OUT = Path("accgate-out")


def run(
    config: Config | str | Path,
    *,
    rules: Rules = None,
    out: str | Path = OUT,
    resume: bool = False,
    observer: Observer | None = None,
    cache: Cache | None = None,
) -> Result:
    """Plan, evaluate and decide every check of a config, and write accgate.json into `out`.

    Parameters
    ----------
    config : Config or path of accuracy.toml
    rules : RuleSets or "bootstrap", optional
        On a pull request the rules of its base, which decide; its own rules' verdicts stand beside. "bootstrap" notes
        in the result that the base has no rules.
    out : path
        The run's folder; with `resume` the records in it are kept.
    observer : Observer, optional
        Is told of every record as it is written.
    cache : Cache, optional
        Replies of earlier runs, which are not asked for again.

    Raises
    ------
    BadInput
        For anything in config, tasks, references or earlier records that cannot be used; nothing is evaluated then.
    CannotEvaluate
        When the result cannot be written.
    KeyboardInterrupt
        When SIGINT came: what was in flight has finished and is recorded, there is no result, and `resume` goes on.
    """
    config, options = load_config(config), RunOptions(Path(out), resume, observer or Observer(), cache)
    return run_whole(config, options, rules)


def run_whole(config: Config, options: RunOptions, rules: Rules = None) -> Result:
    """Plan, evaluate and decide as `run` does, with its options in one."""
    forget_result(options.out)
    plan = plan_run(config, rules)
    evaluated = evaluate(plan, options)
    return write(decide(plan, evaluated), plan, options.out)


def evaluate(plan: RunPlan, options: RunOptions) -> EvaluatedRun:
    """Ask and score what the plan's checks need. A shard that cannot see the others does not stop early."""
    plan.refuse_unknown_samples()
    watches = plan.watches(stops=not options.whole and (options.shard is None or options.together is not None))
    return evaluate_checks(plan.decidable, options, watches, None if options.shard is None else plan.shard_plan)


def decide(plan: RunPlan, evaluated: EvaluatedRun) -> Result:
    """Decide every check and the run. Verdicts by a pull request's own rules are added, which decide nothing."""
    decided = Decided()
    for part in plan.parts:
        decided += decide_checks(part.gate, part.checks, evaluated).of_part(is_new=part.is_new, tier=part.tier)
    result = replace(result_of(plan.parts[0].gate, decided, evaluated), rules=plan.rules)
    if plan.own is None:
        return result
    beside, allowed = verdicts_beside(plan.own, evaluated, decided, stored=plan.stored)
    return replace(result, beside=beside, allowed_beside=allowed)


def write(result: Result, plan: RunPlan, out: Path) -> Result:
    """Write accgate.json into a run's folder, with the references that it shows.

    Only the parts of a reference that the report shows are copied.

    Raises
    ------
    CannotEvaluate
        When they cannot be written.
    """
    references = {c.key: c.recorded for c in plan.decidable if c.recorded is not None}
    result = replace(result, checks=copy_references(result.checks, references, out))
    copy_other_sides(plan.decidable, out)
    write_result(result, out)
    return result


def verify(config: Config | str | Path, out: str | Path = OUT, rules: Rules = None) -> Result:
    """Decide a finished run again from its records, by these rules and references.

    The run's accgate.json must agree. No model is asked, no dataset is read where a reference has scores, and no code
    of a user's is loaded.

    Raises
    ------
    BadInput
        Where the two differ, or the records are damaged, missing, of other samples or made with other settings.
    """
    config, out = load_config(config), Path(out)
    plan = plan_run(config, rules, stored=True)
    computed = decide(plan, read_evaluation(plan.decidable, out, early_stop))
    written = read_result(out / NAME)
    if faults := differences(written, computed):
        raise BadInput(*(f"{out / NAME}: {fault}" for fault in faults))
    return replace(written, beside=computed.beside, allowed=computed.allowed, allowed_beside=computed.allowed_beside)


def reread(config: Config, run: Path, out: Path, rules: Rules = None) -> tuple[Result, list[Rereading]]:
    """Score a run's kept replies anew in another folder, and decide.

    No model is asked.

    Raises
    ------
    BadInput
        When the run is damaged, or of other models, or its references were read by other rules.
    CannotEvaluate
        When the new run cannot be written.
    """
    refuse_own_output([run], out)
    before = read_result(run / NAME)
    forget_result(out)
    plan = plan_run(config, rules)
    refuse_unwritable(out)
    with sole_run(out):
        begin_anew([paths_of(out, *check.key) for check in plan.decidable])
        readings = reread_run(plan.decidable, run, out)
    evaluated = read_evaluation(plan.decidable, out, early_stop)
    evaluated = replace(evaluated, started=before.started, seconds=before.seconds, shards=before.shards)
    return write(decide(plan, evaluated), plan, out), readings


def run_shard(config: Config, options: RunOptions, rules: Rules = None) -> ShardRun:
    """Plan every check of a config and evaluate a shard of its samples.

    `merge` decides on the shards. Where `merge` finds that the `first` samples do not decide, `resume` without `first`
    evaluates the rest. Raises as `run` does.
    """
    forget_result(options.out)
    plan = plan_run(config, rules)
    return end_shard(plan.shard_plan, evaluate(plan, options), options)


def merge(config: Config, folders: Sequence[Path], out: Path, rules: Rules = None) -> Result:
    """Join the records of shards, and decide every check of a config.

    The result is written into `out` as accgate.json. The folders may come in any order, and one of them twice.
    `started` is the first shard's, and `seconds` is the time of all.

    Raises
    ------
    BadInput
        When the shards are not of one plan, or hold two scores of one sample: what differs, and where.
    """
    refuse_own_output(folders, out)
    forget_result(out)
    plan = plan_run(config, rules)
    joined = join(plan.decidable, plan.shard_plan, folders, early_stop)
    write_union(joined, out)
    return write(decide(plan, joined.evaluated), plan, out)
