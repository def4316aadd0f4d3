"""Shards joined into one run."""

import math
import os
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from accgate.engines import FINGERPRINT, union_of
from accgate.engines.identity import SAME, are_one, fingerprints_of, may_mix
from accgate.errors import CANNOT_EVALUATE, PASSED, BadInput, writing
from accgate.evaluation.assignment import NO_ENGINE, Assignment, assignment_of, engine_in
from accgate.evaluation.outcome import EvaluatedCheck, EvaluatedRun, Evaluation
from accgate.evaluation.presence import refuse_faults
from accgate.evaluation.resume import begin_anew, check_points, settings_of
from accgate.evaluation.shards.run import RECORDING, ShardRun, Share, read_shard, write_shard
from accgate.evaluation.shards.shard import Shard, parse_shard, samples_digest, units
from accgate.evaluation.stored import StopRuleOf, finished_evaluation
from accgate.inputs.paths import table_in
from accgate.planning.checks import Check
from accgate.planning.model import ModelKey, PlannedModel
from accgate.records.file import (
    ENVIRONMENT,
    FILES,
    JUDGE_SERVED,
    MERGED,
    NOT_COMPARED,
    PLAN,
    SERVED,
    Record,
    paths_of,
    settings_of_run,
    to_line,
    write_settings,
)
from accgate.records.ids import Places
from accgate.records.lock import sole_run
from accgate.records.log import RecordLog, empty_log, places_in, read_log
from accgate.records.replacement import write_atomically, write_gzip_lines
from accgate.references.judge import Makers
from accgate.result import EngineInfo
from accgate.text import count_of, mismatches, some_of

# Settings in which shards may differ. `engine_mismatches` compares engines, of which a model has one.
OWN = {"engine", ENVIRONMENT, "records", "shard", *NOT_COMPARED} - {PLAN}
HERE = "this merge"  # its accuracy.toml, and its version of accgate


@dataclass(frozen=True)
class Source:
    """One shard's records of a check."""

    folder: Path
    settings: Mapping[str, Any]
    records: RecordLog


@dataclass(frozen=True)
class Pool:
    """All shards' records of a check."""

    check: Check
    sources: tuple[Source, ...]

    @property
    def engine(self) -> EngineInfo:
        """What answered, with empty names where nothing did."""
        return engine_in(self.sources[0].settings) if self.sources else NO_ENGINE

    @cached_property
    def log(self) -> RecordLog:
        """Return the whole check's log, with all shards' records at their places.

        Of two records of the same sample, one with a score wins over a failed one, since a resumed run asks failed
        samples again.
        """
        ids, repeats = self.check.task.samples.ids, self.check.repeats
        log = empty_log(Path(), ids, repeats)
        for source in self.sources:
            places = self.places(source)
            of_plan = np.flatnonzero(places >= 0)
            twice = of_plan[np.isin(places[of_plan], log.places())]
            both = zip(twice.tolist(), source.records.take(twice), log.take(places[twice]), strict=True)
            worse = [number for number, own, other in both if _worth(own) >= _worth(other)]
            better = np.setdiff1d(of_plan, worse)
            log.put_all(places[better], source.records.take(better))
        return log

    @cached_property
    def records(self) -> RecordLog:
        """Each record once, in the fixed order."""
        return self.log.present

    def places(self, source: Source) -> Places:
        """Return the places of a source's records in the fixed order.

        Unknown samples have the place -1.
        """
        return places_in(self.check.task.samples.ids, self.check.repeats, source.records)

    @property
    def served(self) -> dict[str, Any]:
        """Who answered and who marked, as settings beside records keep it."""
        tables = {
            key: union_of([table_in(source.settings, key) for source in self.sources]) for key in (SERVED, JUDGE_SERVED)
        }
        return {key: table for key, table in tables.items() if table}

    @property
    def files(self) -> dict[str, str]:
        """Return the digests of the files that answers depend on.

        A file counts if any shard's machine had it.
        """
        return {name: digest for source in self.sources for name, digest in table_in(source.settings, FILES).items()}

    @property
    def makers(self) -> Makers:
        """Who answered and who marked, as far as any shard says."""
        return Makers.of_settings({**self.served, FILES: self.files})

    @property
    def whole(self) -> Assignment:
        """The check as one run would be assigned it."""
        return assignment_of(self.check, self.engine, files=self.files)


def _worth(record: Record) -> tuple[bool, bytes]:
    return record.score is None, to_line(record)


def pool_of(check: Check, runs: Mapping[Path, ShardRun]) -> Pool:
    """Read the shards' records of a check.

    Raises
    ------
    BadInput
        For records or settings that are damaged, or of another shard than their folder.
    """
    sources = []
    for folder, run in runs.items():
        paths = paths_of(folder, *check.key)
        if not paths.records.exists():
            continue
        settings = settings_of_run(paths)
        shard = settings.get("shard")
        if shard is not None and shard not in run.shards:
            held = ", ".join(run.shards)
            raise BadInput(f"{paths.settings}: is of shard {shard} in the folder of shard {held}; run that shard again")
        records = read_log(paths.records)
        check_points(records, check.task, paths)
        sources.append(Source(folder, settings, records))
    return Pool(check, tuple(sources))


def plan_mismatches(plan: Mapping[str, Any], runs: Mapping[Path, ShardRun]) -> list[str]:
    """List how the shards' plans differ from this merge's.

    Plans have the rules and the version of accgate.
    """
    plans = {HERE: plan} | {str(folder): run.plan for folder, run in runs.items()}
    faults = mismatches("accgate", {place: {"version": each.get("accgate")} for place, each in plans.items()})
    faults += mismatches("accgate record", {place: {RECORDING: each.get(RECORDING)} for place, each in plans.items()})
    rules = {place: each.get("checks") or {} for place, each in plans.items()}
    for name in sorted({name for each in rules.values() for name in each}):
        without = [place for place, each in rules.items() if name not in each]
        if without:
            faults.append(f"{name}: is not a check of {some_of(without)}; name the same --models, --tasks and --base")
        faults += mismatches(name, {place: each[name] for place, each in rules.items() if name in each})
    return faults


def engine_mismatches(pools: Sequence[Pool]) -> list[str]:
    """List where engine, version, hardware, environment or files differ between shards."""
    engines: dict[str, dict[str, Mapping[str, Any]]] = defaultdict(dict)
    files: dict[tuple[str, str], dict[str, Mapping[str, Any]]] = defaultdict(dict)
    for pool in pools:
        for source in pool.sources:
            place = str(paths_of(source.folder, *pool.check.key).settings)
            under = table_in(source.settings, ENVIRONMENT)
            engines[pool.check.model][place] = {"engine": engine_in(source.settings).identity, ENVIRONMENT: under}
            for name, digest in table_in(source.settings, FILES).items():
                files[pool.check.model, name][place] = {f"the content of {name}": digest}
    faults = [fault for model, each in engines.items() for fault in mismatches(model, each)]
    return faults + [fault for (model, _), each in files.items() for fault in mismatches(model, each)]


def server_mismatches(pools: Sequence[Pool]) -> list[str]:
    """List where different servers answered for a model, or marked for a judge.

    Replies and servers' lists of models show that. Several fingerprints are fine where every shard has all of them, or
    the options of the model or judge allow them all.
    """
    asked: dict[ModelKey, PlannedModel] = {}
    named: dict[tuple[ModelKey, str], dict[str, Mapping[str, Any]]] = defaultdict(dict)
    for pool in pools:
        for table, model in ((SERVED, pool.check.planned_model), (JUDGE_SERVED, pool.check.judge)):
            if model is None:
                continue
            asked[model.key] = model
            for source in pool.sources:
                place = str(paths_of(source.folder, *pool.check.key).settings)
                for key, value in table_in(source.settings, table).items():
                    if key != SAME:
                        named[model.key, key][place] = {key: value}
    faults = []
    for (who, key), each in named.items():
        marks, options = frozenset().union(*map(fingerprints_of, each.values())), asked[who].settings.options
        values = [value[key] for value in each.values()]
        if not (may_mix(options, marks) if key == FINGERPRINT else are_one(options, values)):
            more = ", or name those of one model in options.fingerprints" if key == FINGERPRINT else ""
            about = asked[who].name if asked[who].table == "models" else f"judge {asked[who].name}"
            faults += [fault + more for fault in mismatches(about, each)]
    return faults


def settings_mismatches(pool: Pool) -> list[str]:
    """List where shards had other settings or samples than this merge."""
    wanted = {**settings_of(pool.whole), PLAN: samples_digest(pool.check.task)}
    places = {HERE: wanted} | {str(source.folder): source.settings for source in pool.sources}
    shared = {place: {key: each[key] for key in each.keys() - OWN} for place, each in places.items()}
    return mismatches(pool.check.name, shared)


def record_faults(pool: Pool) -> Iterator[str]:
    """Yield what is wrong with shards' records.

    Records may belong to no sample, and samples may have different scores in two shards.
    """
    ids, repeats = pool.check.task.samples.ids, pool.check.repeats
    first, differ = np.full(len(ids) * repeats, np.nan), np.zeros(len(ids) * repeats, dtype=bool)
    for source in pool.sources:
        places = pool.places(source)
        unknown = sorted(set(source.records.figures.ids.take(np.flatnonzero(places < 0))))
        if unknown:
            path, strays = paths_of(source.folder, *pool.check.key).records, count_of(len(unknown), "id")
            yield f"{path}: holds {strays} that this plan lacks: {some_of(unknown)}; run that shard again"
        scored = np.flatnonzero((places >= 0) & ~source.records.figures.failed)
        at, scores = places[scored], source.records.figures.columns["score"][scored]
        differ[at] |= ~np.isnan(first[at]) & (first[at] != scores)
        first[at] = np.where(np.isnan(first[at]), scores, first[at])
    doubtful = sorted(ids.take(np.unique(np.flatnonzero(differ) // repeats)))
    if doubtful:
        fault = f"different scores in different shards for {count_of(len(doubtful), 'sample')}: {some_of(doubtful)}"
        yield f"{pool.check.name}: {fault}; give one run of each shard"


@dataclass(frozen=True)
class JoinedShards:
    """The union of shards.

    `run` is the shard.json of all. `evaluated` begins with the first shard, and took the sum of their seconds.
    """

    pools: tuple[Pool, ...]
    evaluated: EvaluatedRun
    run: ShardRun


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
    """Join the records of all shards, each once, in the fixed order.

    A check that lacks records gets the reason instead.

    Parameters
    ----------
    checks : sequence of Check
        The whole checks, not a shard's parts.
    plan : mapping
        What `plan_of` says of the run's checks.
    folders : sequence of Path
        The shards' folders, in any order; a folder may come twice.
    stop_rule_of : function of a Check
        The rule by which the first samples may decide a check that lacks later ones.

    Raises
    ------
    BadInput
        When a folder is no shard; when plans, settings, engines or hardware differ; for records that belong to no
        sample, and samples with two scores. The messages name all differences of a kind.
    """
    runs = {folder: read_shard(folder) for folder in sorted(set(folders))}
    refuse_faults(plan_mismatches(plan, runs))
    pools = tuple(pool_of(check, runs) for check in checks)
    faults = [*engine_mismatches(pools), *server_mismatches(pools)]
    refuse_faults([*faults, *(fault for pool in pools for fault in settings_mismatches(pool))])
    refuse_faults(fault for pool in pools for fault in record_faults(pool))
    items = tuple(_evaluation_of(pool, runs, stop_rule_of) for pool in pools)
    run = _union(plan, pools, items, runs.values())
    engines = {pool.check.model: pool.engine for pool in pools if pool.sources}
    return JoinedShards(pools, EvaluatedRun(items, engines, run.started, run.seconds, len(run.shards)), run)


def write_union(joined: JoinedShards, out: Path) -> None:
    """Write the joined records in the form that a run writes.

    Reports, a later merge and `--resume` can then read them.

    Raises
    ------
    BadInput
        When `out` has records of an unfinished run, or another run goes on in it.
    CannotEvaluate
        When they cannot be written.
    """
    places = [paths_of(out, *pool.check.key) for pool in joined.pools]
    with sole_run(out), writing(out, "correct that, then merge again"):
        begin_anew(places)
        for pool, paths in zip(joined.pools, places, strict=True):
            if not pool.sources:
                continue
            samples = pool.check.task.samples
            write_gzip_lines(paths.prompts, ({"id": sample.id, "prompt": sample.prompt} for sample in samples))
            settings = settings_of(pool.whole) | pool.served
            write_settings(paths, {**settings, PLAN: samples_digest(pool.check.task), MERGED: joined.run.shards})
            write_atomically(paths.records, map(to_line, pool.records))
        write_shard(joined.run, out)


def _evaluation_of(pool: Pool, runs: Mapping[Path, ShardRun], stop_rule_of: StopRuleOf) -> EvaluatedCheck:
    """Return the check as a run of its own would have evaluated it."""
    places, stops = pool.log.places(), stop_rule_of(pool.check)
    evaluation = finished_evaluation(pool.whole, pool.records, places, stops, pool.makers)
    if evaluation is None:
        unfinished = Evaluation(pool.records, complete=False, makers=pool.makers)
        return EvaluatedCheck(pool.check, unfinished, _missing(pool, runs))
    return EvaluatedCheck(pool.check, evaluation)


def _missing(pool: Pool, runs: Mapping[Path, ShardRun]) -> str:
    """Say which samples lack records, of which shards, and how these shards ended."""
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
    fix = "Evaluate them, with --resume where a shard's folder is left, and merge again"
    return f"{sum(map(len, missing.values()))} of {len(samples)} samples lack records: {'; '.join(parts)}. {fix}"


def _fate(shard: Shard, pool: Pool, runs: Mapping[Path, ShardRun]) -> str:
    """Say how a shard ended."""
    own = [run for run in runs.values() if str(shard) in run.shards]
    shares = [share for run in own for share in run.checks if (share.model, share.task) == pool.check.key]
    if problems := sorted({share.problem for share in shares if share.problem is not None}):
        return f"says: {'; '.join(problems)}"
    if any(run.exit_code is None for run in own):
        return "did not finish"
    return "ended without them" if own else "was not given"


def _shards(runs: Iterable[ShardRun]) -> list[Shard]:
    return sorted({parse_shard(label) for run in runs for label in run.shards})


def _union(
    plan: Mapping[str, Any], pools: Sequence[Pool], evaluated: Sequence[EvaluatedCheck], runs: Collection[ShardRun]
) -> ShardRun:
    """Join the shard.json of all shards. The seconds of a run that was given twice count once."""
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
