"""Every check evaluated, one engine at a time.

Two engines run at a time where two models must be equal.
"""

import asyncio
import contextlib
import threading
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import Any

from accgate.engines import Engine, all_or_first_error
from accgate.errors import BadInput, CannotEvaluate
from accgate.evaluation.ahead import first_samples
from accgate.evaluation.assignment import NO_ENGINE, Decides, Observer, RunOptions, Watch, assignment_of
from accgate.evaluation.check import evaluate
from accgate.evaluation.files import FileDigests, Prefetch, content_of
from accgate.evaluation.interruption import Stop, interruptible
from accgate.evaluation.outcome import EvaluatedCheck, EvaluatedRun, Evaluation, Interrupted
from accgate.evaluation.pair import SideBySide, Watches
from accgate.evaluation.presence import (
    missing_records,
    models_and_judges,
    refuse_absent,
    refuse_unable,
    running_servers,
)
from accgate.evaluation.resume import Servers, begin_anew, resumable_records, scored_records
from accgate.evaluation.scoring import JudgeFailed, OtherJudge, Scorers, judge_fault
from accgate.evaluation.shards.run import ShardRun, write_shard
from accgate.evaluation.shards.siblings import Siblings
from accgate.evaluation.stored import earlier_evaluation, engine_of, unfinished_evaluation
from accgate.planning.checks import Check
from accgate.planning.model import ModelKey
from accgate.planning.validation import refuse_broken_templates
from accgate.records.file import changed_fault, paths_of, settings_of_run, stamp_of
from accgate.records.lock import sole_run
from accgate.records.log import read_log
from accgate.records.replacement import refuse_unwritable
from accgate.references.judge import OF_JUDGE, Makers
from accgate.result import EngineInfo


def evaluate_checks(
    checks: Sequence[Check],
    options: RunOptions,
    watches: Watches | None = None,
    shard_plan: Mapping[str, Any] | None = None,
) -> EvaluatedRun:
    """Evaluate the checks, one engine at a time.

    A check whose engine fails gets the reason instead. `watches` has what may end a check early, by its key. Checks
    that must equal another side come first, both sides at the same time; the rest of the other side's own check is
    asked in its turn. A shard's run notes in its folder that it began, with the `shard_plan` of the whole run.

    Raises
    ------
    BadInput
        For engine options or earlier records that cannot be used, and a folder that is not writable or has another run.
    Interrupted
        When SIGINT, SIGTERM or SIGHUP came and what was in flight has finished.
    """
    began, clock = datetime.now(timezone.utc), time.monotonic()
    refuse_unwritable(options.out)
    models = {check.model: check.planned_model for check in checks}
    engines = {name: model.engine() for name, model in models.items()}
    refuse_unable((engines[check.model], check) for check in checks)
    refuse_broken_templates(checks)
    with sole_run(options.out), interruptible() as stop:
        if not options.resume:
            begin_anew([paths_of(options.out, *check.key) for check in checks])
        if shard_plan is not None:
            write_shard(ShardRun((str(options.shard),), shard_plan), options.out)
        cache = options.cache
        digests = FileDigests() if cache is None else cache.digests
        run = _Run(checks, engines, options, watches or {}, digests, stop)
        try:
            asyncio.run(run.all_models())
        finally:
            if cache is not None:
                cache.close()
        evaluated = tuple(map(run.item_with_records, (*run.evaluated, *run.sides)))
    if stop.requested:
        raise Interrupted(checks, evaluated)
    seconds = round(time.monotonic() - clock, 3)
    return EvaluatedRun(evaluated, run.infos, began.isoformat(timespec="seconds"), seconds)


KEPT = "finished samples are kept; correct that, then go on with --resume"


@dataclass(frozen=True)
class _Run:
    """What all checks of a run share, and the checks evaluated so far."""

    checks: Sequence[Check]
    engines: Mapping[str, Engine]
    options: RunOptions
    watches: Watches
    digests: FileDigests
    stop: Stop
    scorers: Scorers = field(default_factory=Scorers)
    evaluated: list[EvaluatedCheck] = field(default_factory=list)
    infos: dict[str, EngineInfo] = field(default_factory=dict)
    content: dict[ModelKey, Mapping[str, str]] = field(default_factory=dict)  # of each model's and judge's files
    written: dict[Path, tuple[int, int, int] | None] = field(default_factory=dict)
    asked_beside: dict[tuple[str, str], EvaluatedCheck] = field(default_factory=dict)  # other sides, so far
    earlier: dict[tuple[str, str], Evaluation] = field(default_factory=dict)  # finished before this run

    async def all_models(self) -> None:
        """Evaluate all checks until a stop is requested."""
        running = running_servers(self.checks)
        for check in self.checks if self.options.resume else ():
            self._find_earlier(check)
        unfinished = [check for check in self.checks if check.key not in self.earlier]
        await self.stop.unless_requested(refuse_absent(unfinished, running))
        sides = {check.other_side.key for check in self.checks if check.other_side is not None}
        alone = [c for c in self.checks if c.other_side is None and (c.reference is not None or c.key not in sides)]
        async with self.scorers:
            for held in _by_both_models(self.checks):
                if not self.stop.requested:
                    await self._side_by_side(held)
            for name, engine in self.engines.items():
                waiting = [check for check in alone if check.model == name]
                if waiting and not self.stop.requested:
                    await self._of_model(engine, waiting, running)

    async def _of_model(self, engine: Engine, waiting: list[Check], running: Collection[ModelKey]) -> None:
        """Evaluate the checks of one model that wait for it."""
        is_left = waiting[0].planned_model.key in running and all(check.key in self.earlier for check in waiting)
        ahead = contextlib.ExitStack()
        try:
            await self._begin(engine, waiting, starts=not is_left)
            if self.stop.requested:
                return
            self._prefetch(waiting[0].model, ahead)
            failed: dict[ModelKey, JudgeFailed] = {}  # judges that mark nothing any more
            while waiting and not self.stop.requested:
                judge = None if waiting[0].judge is None else waiting[0].judge.key
                try:
                    if judge in failed and waiting[0].key not in self.earlier:
                        raise failed[judge]
                    item = await self.check(engine, waiting[0])
                except JudgeFailed as error:
                    assert judge is not None
                    failed[judge] = error
                    item = EvaluatedCheck(waiting[0], problem=str(error))
                if item is not None:
                    self.evaluated.append(item)
                waiting.pop(0)
        except CannotEvaluate as error:
            self.evaluated.extend(EvaluatedCheck(check, problem=str(error)) for check in waiting)
        finally:
            ahead.close()
            await engine.close()

    async def _side_by_side(self, checks: Sequence[Check]) -> None:
        """Evaluate the checks of one model that must equal another, with both engines.

        When an engine fails, the checks that are left get the reason.
        """
        others = [check.other_side for check in checks if check.other_side is not None]
        left = [check for check in checks if not self._is_finished(check)]
        engines = [each[0].planned_model.engine() for each in (others, checks)]
        try:
            for engine, each in zip(engines, (others, checks), strict=True):
                if not self.stop.requested:
                    await self._begin(engine, each, starts=bool(left))
            while left and not self.stop.requested:
                await self._pair(engines, left[0])
                left.pop(0)
        except CannotEvaluate as error:
            self.evaluated.extend(EvaluatedCheck(check, problem=str(error)) for check in left)
        finally:
            for engine in engines:
                await engine.close()

    async def _pair(self, engines: Sequence[Engine], check: Check) -> None:
        """Evaluate both sides of a check at the same time.

        Neither side is kept if a stop was requested before both began.
        """
        both, pair = self._both_sides(check)
        await self.scorers.of(check)  # once for both

        async def evaluate_side(number: int) -> EvaluatedCheck | None:
            watch = Watch(both.rule(number))
            item = await self.check(engines[number], pair[number], watch, is_shown=number == 1)
            both.end(number, None if item is None else item.evaluation)
            return item

        first, second = await all_or_first_error(map(evaluate_side, (0, 1)))
        if first is not None and second is not None:
            self.asked_beside[pair[0].key] = first
            self.evaluated.append(second)
            self.earlier.pop(pair[0].key, None)
            self._find_earlier(pair[0])

    def _both_sides(self, check: Check) -> tuple[SideBySide, tuple[Check, Check]]:
        assert check.other_side is not None
        both = self.watches.get(check.key)
        return both if isinstance(both, SideBySide) else SideBySide(check, None), (check.other_side, check)

    def _is_finished(self, check: Check) -> bool:
        """Tell whether earlier records decide a check of two sides.

        If they do, they become its evaluation.
        """
        if not self.options.resume:
            return False
        both, pair = self._both_sides(check)
        paths = [paths_of(self.options.out, *side.key).records for side in pair]
        stamps = {path: stamp_of(path) for path in paths}
        first, second = (self._stored(side, lambda _: True) for side in pair)
        if first is None or second is None or not both.is_decided_by((first, second)):
            return False
        self.written.update(stamps)
        self.asked_beside[pair[0].key] = EvaluatedCheck(pair[0], first)
        self.evaluated.append(EvaluatedCheck(check, second))
        return True

    def _stored(self, check: Check, stops: Decides | None) -> Evaluation | None:
        """Return an earlier run's evaluation of a check, if nothing is missing.

        Later records may be missing where `stops` ends the check.
        """
        assignment = assignment_of(check, NO_ENGINE, self.options.shard)
        return earlier_evaluation(assignment, paths_of(self.options.out, *check.key), stops)

    @property
    def sides(self) -> list[EvaluatedCheck]:
        """The evaluated other sides that have no check of their own."""
        own = {item.check.key for item in self.evaluated}
        return [item for key, item in self.asked_beside.items() if key not in own]

    def _prefetch(self, running: str, until: contextlib.ExitStack) -> None:
        """Read or download the next model's files until the stack closes."""
        left = [c.planned_model for c in self.checks if c.key not in self.earlier and c.model != running]
        if following := [each for each in left if each.key not in self.content]:
            until.callback(Prefetch(following[0], self.digests).end)

    async def _begin(self, engine: Engine, checks: Sequence[Check], *, starts: bool) -> None:
        """Start a model's engine while model and judge files are read.

        Without `starts` no sample is left to ask, and the records of an earlier run name the engine. Nothing is noted
        once a stop is requested.
        """
        model = checks[0].planned_model
        new = {key: each for key, each in models_and_judges(checks).items() if key not in self.content}
        is_over = threading.Event()
        digest_of = partial(self.digests, is_over=is_over.is_set)

        def read() -> None:
            self.content.update({key: content_of(each, digest_of) for key, each in new.items()})

        try:
            with self._kept_note(), model.locating():
                starting = [engine.start()] if starts else []  # `close` must not come before its end
                await self.stop.unless_requested(all_or_first_error([asyncio.to_thread(read), *starting]))
        finally:
            is_over.set()
        if self.stop.requested:
            return
        paths = [paths_of(self.options.out, *check.key) for check in checks]
        self.infos[checks[0].model] = engine.describe() if starts else engine_of(settings_of_run(paths[0]), paths[0])
        for check, own in zip(checks, paths, strict=True):  # all first: one model must answer all of these checks
            if check.key in self.earlier or scored_records(own):
                Servers(engine).expect_same(own)

    @contextlib.contextmanager
    def _kept_note(self) -> Iterator[None]:
        """Add to a BadInput that finished samples are kept, if there are any."""
        try:
            yield
        except BadInput as error:
            if not any(item.evaluation for item in self.evaluated):
                raise
            raise BadInput(*error.messages, f"{self.options.out}: {KEPT}") from error

    def _find_earlier(self, check: Check) -> None:
        """Note the evaluation of a check that an earlier run finished, if one did."""
        path, watch = paths_of(self.options.out, *check.key).records, self._watch(check)
        stamp = stamp_of(path)  # as it is read: its turn may come hours later
        rule = watch.stop_rule if self.options.shard is None else None
        if (evaluation := self._stored(check, None if rule is None else rule.decides)) is not None:
            self.earlier[check.key], self.written[path] = evaluation, stamp

    def _watch(self, check: Check) -> Watch:
        watch = self.watches.get(check.key)
        return watch if isinstance(watch, Watch) else Watch()

    async def check(
        self, engine: Engine, check: Check, beside: Watch | None = None, *, is_shown: bool = True
    ) -> EvaluatedCheck | None:
        """Evaluate a check.

        The result is None if a stop was requested before its judge had started. `beside` watches a check that runs
        beside its other side, in place of the check's own watch. The observer sees only a check that `is_shown`.
        """
        options, info = self.options, self.infos[check.model]
        assignment = assignment_of(check, info, options.shard, self._files_of(check))
        if missing := missing_records(engine, assignment.task):
            return EvaluatedCheck(check, problem=missing)
        paths = paths_of(options.out, *check.key)
        earlier = resumable_records(assignment, paths)
        watch = beside or self._watch(check)
        observer = options.observer if is_shown else Observer()
        observer.compares(watch.comparison)
        if beside is None and (evaluation := self.earlier.get(check.key)) is not None:
            observer.started(*check.key, assignment.total, evaluation.records)
            observer.ended()
            return EvaluatedCheck(check, evaluation)
        with self._kept_note():
            scoring = await self.stop.unless_requested(self.scorers.of(check))
        if scoring is None:
            return None
        servers = Servers(engine, scoring)
        if earlier:
            servers.expect_same(paths)
        fault_of = partial(judge_fault, check)
        if fault := fault_of(Makers.of_settings({**assignment.settings, **servers.settings()})):
            return EvaluatedCheck(check, problem=fault)
        answering = engine
        if options.cache is not None and beside is None:  # one side's kept replies would answer for both
            answering = options.cache.before(engine, check, info)
        others = None
        if options.shard is not None and options.together is not None:
            others = Siblings(options.together, options.shard, check.task, assignment, servers)
        stop_rule = first_samples(check, assignment.task) if options.first else watch.stop_rule
        try:
            evaluation = await evaluate(
                answering,
                assignment,
                paths,
                earlier=earlier,
                observer=observer,
                stop_rule=stop_rule,
                others=others,
                scoring=scoring,
                fault_of=fault_of,
                stop=self.stop,
            )
        except OtherJudge as error:
            return EvaluatedCheck(check, problem=str(error))
        self.written[paths.records] = stamp_of(paths.records)
        return EvaluatedCheck(check, evaluation)

    def item_with_records(self, item: EvaluatedCheck) -> EvaluatedCheck:
        """Add the records that a check wrote before its engine failed.

        If the file changed since it was written, the item gets that problem instead.
        """
        path = paths_of(self.options.out, *item.check.key).records
        if path in self.written and self.written[path] != stamp_of(path):
            return EvaluatedCheck(item.check, problem=str(changed_fault(path)))
        if item.evaluation is None and path.exists():  # of this run, or of the run that it resumes
            with contextlib.suppress(BadInput):  # a damaged file is an earlier run's, since the engine never started
                return replace(item, evaluation=unfinished_evaluation(item.check, read_log(path)))
        return item

    def _files_of(self, check: Check) -> Mapping[str, str]:
        """Return the digests of the files that a check's records depend on.

        The keys are the names of the files.
        """
        files = dict(self.content[check.planned_model.key])
        if check.judge is not None:
            marks = self.content[check.judge.key]
            files |= {f"{name}{OF_JUDGE}{check.judge.name}": digest for name, digest in marks.items()}
        return files


def _by_both_models(checks: Sequence[Check]) -> list[list[Check]]:
    """Group the checks that must equal another side by both models."""
    pairs: dict[tuple[str, str], list[Check]] = {}
    for check in checks:
        if check.other_side is not None:
            pairs.setdefault((check.other_side.model, check.model), []).append(check)
    return list(pairs.values())
