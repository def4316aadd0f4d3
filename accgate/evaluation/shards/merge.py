"""Shards joined into one run: they must agree in all that counts, and what is missing is named."""

import math
import os
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from accgate.errors import CANNOT_EVALUATE, PASSED, BadInput, writing
from accgate.evaluation.outcome import EvaluatedCheck, EvaluatedRun, Evaluation
from accgate.evaluation.resume import refuse_unfinished, settings_of
from accgate.evaluation.shards.pool import (
    Pool,
    engine_mismatches,
    plan_mismatches,
    pool_of,
    record_faults,
    server_mismatches,
    settings_mismatches,
)
from accgate.evaluation.shards.run import ShardRun, Share, read_shard, write_shard
from accgate.evaluation.shards.shard import Shard, parse_shard, samples_digest, units
from accgate.evaluation.stored import StopRuleOf, finished_evaluation
from accgate.planning.checks import Check
from accgate.records.file import MERGED, PLAN, paths_of, to_line, write_settings
from accgate.records.lock import sole_run
from accgate.records.replacement import write_atomically, write_gzip_lines
from accgate.text import some_of


@dataclass(frozen=True)
class JoinedShards:
    """The union of shards: what each check has, the engine of each model, and `run`, the shard.json of all."""

    pools: tuple[Pool, ...]
    checks: tuple[EvaluatedCheck, ...]
    run: ShardRun

    @property
    def evaluated(self) -> EvaluatedRun:
        """What all shards together evaluated: begun with the first, and as long as all of them took."""
        engines = {pool.check.model: pool.engine for pool in self.pools if pool.sources}
        run = self.run
        return EvaluatedRun(self.checks, engines, run.started, run.seconds, len(run.shards))


def refuse_own_output(folders: Sequence[Path], out: Path) -> None:
    """Refuse to write the union over a shard.

    Raises
    ------
    BadInput
        When `out` is one of the folders.
    """
    if os.path.realpath(out) in map(os.path.realpath, folders):  # unlike resolve(), it takes a loop of links
        raise BadInput(f"{out}: is one of the shards; name another folder with --out")


def join(
    checks: Sequence[Check], plan: Mapping[str, Any], folders: Sequence[Path], stop_rule_of: StopRuleOf
) -> JoinedShards:
    """The records of all shards, each once, in the fixed order; a check that lacks some carries the reason instead.

    Parameters
    ----------
    checks : sequence of Check
        The checks to join, whole.
    plan : mapping
        What `plan_of` says of the run's checks.
    folders : sequence of Path
        In any order, and more than once.
    stop_rule_of : function of a Check
        The rule by which the beginning of the order may decide a check of which later samples are missing.

    Raises
    ------
    BadInput
        When a folder is no shard; when plans, settings, engines or hardware differ; for records that belong to no
        sample, and samples with two scores. All that is found is said.
    """
    runs = {folder: read_shard(folder) for folder in sorted(set(folders))}
    _refuse(plan_mismatches(plan, runs))
    pools = tuple(pool_of(check, runs) for check in checks)
    faults = [*engine_mismatches(pools), *server_mismatches(pools)]
    _refuse([*faults, *(fault for pool in pools for fault in settings_mismatches(pool))])
    _refuse(fault for pool in pools for fault in record_faults(pool))
    evaluated = tuple(_evaluation_of(pool, runs, stop_rule_of) for pool in pools)
    return JoinedShards(pools, evaluated, _union(plan, pools, evaluated, runs.values()))


def write_union(joined: JoinedShards, out: Path) -> None:
    """Write the joined records as a run does, so that a report shows them, and a later merge or `--resume` goes on.

    Raises
    ------
    BadInput
        When `out` has records of an unfinished run, or another run goes on in it.
    CannotEvaluate
        When they cannot be written.
    """
    places = [paths_of(out, *pool.check.key) for pool in joined.pools]
    with sole_run(out), writing(out, "correct that, then merge again"):
        for paths in places:
            refuse_unfinished(paths)
        for pool, paths in zip(joined.pools, places, strict=True):
            paths.records.unlink(missing_ok=True)
            if not pool.sources:
                continue
            samples = pool.check.task.samples
            write_gzip_lines(paths.prompts, ({"id": sample.id, "prompt": sample.prompt} for sample in samples))
            settings = settings_of(pool.whole) | pool.served
            write_settings(paths, {**settings, PLAN: samples_digest(pool.check.task), MERGED: joined.run.shards})
            write_atomically(paths.records, map(to_line, pool.records))
        write_shard(joined.run, out)


def _refuse(faults: Iterable[str]) -> None:
    if messages := list(faults):
        raise BadInput(*messages)


def _evaluation_of(pool: Pool, runs: Mapping[Path, ShardRun], stop_rule_of: StopRuleOf) -> EvaluatedCheck:
    """The check as a run of its own would have evaluated it."""
    places, stops = pool.log.places(), stop_rule_of(pool.check)
    evaluation = finished_evaluation(pool.whole, pool.records, places, stops, pool.makers)
    if evaluation is None:
        unfinished = Evaluation(pool.records, complete=False, makers=pool.makers)
        return EvaluatedCheck(pool.check, unfinished, _missing(pool, runs))
    return EvaluatedCheck(pool.check, evaluation)


def _missing(pool: Pool, runs: Mapping[Path, ShardRun]) -> str:
    """Which samples have not all their records, how many, of which shards, and what those said."""
    shards, samples = _shards(runs.values()), pool.check.task.samples
    most = max(shard.count for shard in shards)
    missing: dict[Shard, list[str]] = defaultdict(list)
    repeats = pool.check.repeats
    for number, (id_, unit) in enumerate(zip(samples.ids, units(samples), strict=True)):
        if not all(pool.log.has(number * repeats + repeat) for repeat in range(repeats)):
            holder = next((shard for shard in shards if shard.holds(unit)), Shard(unit % most + 1, most))
            missing[holder].append(id_)
    parts = [
        f"{len(ids)} of shard {shard}, which {_fate(shard, pool, runs)} ({some_of(ids)})"
        for shard, ids in sorted(missing.items())
    ]
    return (
        f"{sum(map(len, missing.values()))} of {len(samples)} samples lack records: {'; '.join(parts)}. Evaluate "
        "them, with --resume where a shard's folder is left, and merge again"
    )


def _fate(shard: Shard, pool: Pool, runs: Mapping[Path, ShardRun]) -> str:
    """What became of a shard."""
    holding = [run for run in runs.values() if str(shard) in run.shards]
    if not holding:
        return "was not given"
    told = {share.problem for run in holding for share in run.checks if (share.model, share.task) == pool.check.key}
    if problems := sorted(problem for problem in told if problem is not None):
        return f"says: {'; '.join(problems)}"
    return "did not end" if any(run.exit_code is None for run in holding) else "ended without them"


def _shards(runs: Iterable[ShardRun]) -> list[Shard]:
    return sorted({parse_shard(label) for run in runs for label in run.shards})


def _union(
    plan: Mapping[str, Any], pools: Sequence[Pool], evaluated: Sequence[EvaluatedCheck], runs: Collection[ShardRun]
) -> ShardRun:
    """The shard.json of all; a run that was given twice counts once in its seconds."""
    shares = tuple(
        Share(*pool.check.key, len(pool.records), int(pool.records.figures.failed.sum()), item.problem)
        for pool, item in zip(pools, evaluated, strict=True)
    )
    times = {(run.shards, run.started, run.seconds) for run in runs}
    seconds = [each for _, _, each in times if each is not None]
    return ShardRun(
        shards=tuple(map(str, _shards(runs))),
        plan=plan,
        exit_code=CANNOT_EVALUATE if any(share.problem for share in shares) else PASSED,
        checks=shares,
        started=min((began for _, began, _ in times if began is not None), default=None),
        seconds=round(math.fsum(seconds), 3) if seconds else None,
    )
