"""Every check evaluated, one engine at a time."""

import asyncio
import contextlib
import threading
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from functools import partial
from pathlib import Path

from accgate.engines import Engine, all_or_first_error
from accgate.errors import BadInput, CannotEvaluate
from accgate.evaluation.ahead import first_samples
from accgate.evaluation.assignment import NO_ENGINE, ComparingObserver, Watch, assignment_of
from accgate.evaluation.check import evaluate
from accgate.evaluation.files import FileDigests, Prefetch, content_of
from accgate.evaluation.interruption import Stop, interruptible
from accgate.evaluation.options import RunOptions
from accgate.evaluation.outcome import EvaluatedCheck, EvaluatedRun, Evaluation, Interrupted
from accgate.evaluation.presence import (
    missing_records,
    models_and_judges,
    models_of,
    refuse_absent,
    refuse_unable,
    running_servers,
)
from accgate.evaluation.resume import Servers, begin_anew, resumable_records, scored_records
from accgate.evaluation.scoring import JudgeFailed, OtherJudge, Scorers, judge_fault
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
    checks: Sequence[Check], options: RunOptions, watches: Mapping[tuple[str, str], Watch] | None = None
) -> EvaluatedRun:
    """Evaluate the checks, one engine at a time. A check whose engine fails carries the reason instead.

    `watches` may stop the evaluation of a check, by its key, as soon as it is decided.

    Raises
    ------
    BadInput
        For engine options or earlier records that cannot be used, and a folder that is not writable or has another run.
    Interrupted
        When SIGINT, SIGTERM or SIGHUP came and what was in flight has finished.
    """
    began, clock = datetime.now(timezone.utc), time.monotonic()
    refuse_unwritable(options.out)
    engines = {name: model.engine() for name, model in models_of(checks).items()}
    refuse_unable((engines[check.model], check) for check in checks)
    refuse_broken_templates(checks)
    with sole_run(options.out), interruptible() as stop:
        if not options.resume:
            begin_anew([paths_of(options.out, *check.key) for check in checks])
        cache = options.cache
        run = _Run(options, watches or {}, FileDigests() if cache is None else cache.digests, stop)
        try:
            asyncio.run(run.all_models(engines, checks))
        finally:
            if cache is not None:
                cache.close()
        evaluated = tuple(map(run.item_with_records, run.evaluated))
    if stop.requested:
        raise Interrupted(checks, evaluated)
    seconds = round(time.monotonic() - clock, 3)
    return EvaluatedRun(evaluated, run.infos, began.isoformat(timespec="seconds"), seconds)


KEPT = "the samples that were finished before are kept; correct that, then go on with --resume"
Content = dict[ModelKey, Mapping[str, str]]  # of the files of each model and judge


@dataclass(frozen=True)
class _Run:
    """What all checks of a run share, and those evaluated so far."""

    options: RunOptions
    watches: Mapping[tuple[str, str], Watch]
    digests: FileDigests
    stop: Stop
    evaluated: list[EvaluatedCheck] = field(default_factory=list)
    infos: dict[str, EngineInfo] = field(default_factory=dict)
    content: Content = field(default_factory=dict)
    written: dict[Path, tuple[int, int, int] | None] = field(default_factory=dict)
    earlier: dict[tuple[str, str], Evaluation] = field(default_factory=dict)  # finished before this run

    async def all_models(self, engines: Mapping[str, Engine], checks: Sequence[Check]) -> None:
        running = running_servers(checks)
        for check in checks if self.options.resume else ():
            paths = paths_of(self.options.out, *check.key)
            stamp = stamp_of(paths.records)  # as it is read: its turn may come hours later
            stops = self.watches.get(check.key, Watch()).stop_rule if self.options.shard is None else None
            assignment = assignment_of(check, NO_ENGINE, self.options.shard)
            if (evaluation := earlier_evaluation(assignment, paths, stops)) is not None:
                self.earlier[check.key], self.written[paths.records] = evaluation, stamp
        unfinished = [check for check in checks if check.key not in self.earlier]
        await self.stop.unless_requested(refuse_absent(unfinished, running))
        async with Scorers() as scorers:
            await self._all_models(engines, checks, running, scorers)

    async def _all_models(
        self,
        engines: Mapping[str, Engine],
        checks: Sequence[Check],
        running: Collection[ModelKey],
        scorers: Scorers,
    ) -> None:
        for name, engine in engines.items():
            waiting = [check for check in checks if check.model == name]
            is_left = waiting[0].planned_model.key in running and all(check.key in self.earlier for check in waiting)
            ahead = contextlib.ExitStack()
            try:
                if self.stop.requested or not await self._begin(None if is_left else engine, waiting):
                    return
                self._prefetch(checks, name, ahead)
                for check in waiting:  # whatever their order: it must be the same that answers the others
                    paths = paths_of(self.options.out, *check.key)
                    if check.key in self.earlier or scored_records(paths):
                        Servers.of(engine).expect_same(paths)
                failed: dict[ModelKey, JudgeFailed] = {}  # judges that mark nothing any more
                while waiting and not self.stop.requested:
                    judge = None if waiting[0].judge is None else waiting[0].judge.key
                    try:
                        if judge in failed and waiting[0].key not in self.earlier:
                            raise failed[judge]
                        item = await self.check(engine, waiting[0], scorers)
                        if item is None:
                            return
                        self.evaluated.append(item)
                    except JudgeFailed as error:
                        assert judge is not None
                        failed[judge] = error
                        self.evaluated.append(EvaluatedCheck(waiting[0], problem=str(error)))
                    waiting.pop(0)
            except CannotEvaluate as error:
                self.evaluated.extend(EvaluatedCheck(check, problem=str(error)) for check in waiting)
            finally:
                ahead.close()
                await engine.close()

    def _prefetch(self, checks: Sequence[Check], running: str, until: contextlib.ExitStack) -> None:
        """Read or download the files of the next model that is left to ask, if there is one, until the stack closes."""
        left = [check.planned_model for check in checks if check.key not in self.earlier and check.model != running]
        if following := [each for each in left if each.key not in self.content]:
            until.callback(Prefetch(following[0], self.digests).end)

    async def _begin(self, engine: Engine | None, checks: Sequence[Check]) -> bool:
        """Start a model's engine while its and its judges' files are read, unless a stop is requested.

        It returns False then. No engine: the records of an earlier run say what answered, and nothing is left to ask.
        """
        model = checks[0].planned_model
        new = {key: each for key, each in models_and_judges(checks).items() if key not in self.content}
        is_over = threading.Event()
        digest_of = partial(self.digests, is_over=is_over.is_set)

        def read() -> None:
            self.content.update({key: content_of(each, digest_of) for key, each in new.items()})

        try:
            with self._kept_note(), model.locating():
                starting = [] if engine is None else [engine.start()]  # `close` must not come before its end
                await self.stop.unless_requested(all_or_first_error([asyncio.to_thread(read), *starting]))
        finally:
            is_over.set()
        if self.stop.requested:
            return False
        paths = paths_of(self.options.out, model.name, checks[0].task.name)
        self.infos[model.name] = engine_of(settings_of_run(paths), paths) if engine is None else engine.describe()
        return True

    @contextmanager
    def _kept_note(self) -> Iterator[None]:
        """Say, where a run ends without a result, that what it evaluated until then is kept."""
        try:
            yield
        except BadInput as error:
            if not any(item.evaluation for item in self.evaluated):
                raise
            raise BadInput(*error.messages, f"{self.options.out}: {KEPT}") from error

    async def check(self, engine: Engine, check: Check, scorers: Scorers) -> EvaluatedCheck | None:
        """The check evaluated; None where a stop was requested before its judge had started."""
        options, info = self.options, self.infos[check.model]
        assignment = assignment_of(check, info, options.shard, self._files_of(check))
        if missing := missing_records(engine, assignment.task):
            return EvaluatedCheck(check, problem=missing)
        paths = paths_of(options.out, *check.key)
        earlier = resumable_records(assignment, paths, resume=options.resume)
        watch = self.watches.get(check.key, Watch())
        if isinstance(options.observer, ComparingObserver):
            options.observer.compares(watch.comparison)
        if (evaluation := self.earlier.get(check.key)) is not None:
            options.observer.started(*check.key, assignment.total, evaluation.records)
            options.observer.ended()
            return EvaluatedCheck(check, evaluation)
        with self._kept_note():
            scoring = await self.stop.unless_requested(scorers.of(check))
        if scoring is None:
            return None
        servers = Servers.of(engine, scoring)
        if earlier:
            servers.expect_same(paths)
        fault_of = partial(judge_fault, check)
        if fault := fault_of(Makers.of_settings({**assignment.settings, **servers.settings()})):
            return EvaluatedCheck(check, problem=fault)
        answering = engine if options.cache is None else options.cache.before(engine, check, info)
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
                observer=options.observer,
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
        """The item with what it recorded before its engine failed.

        Where its records are not there any more as they were written, it has that reason instead.
        """
        path = paths_of(self.options.out, *item.check.key).records
        if path in self.written and self.written[path] != stamp_of(path):
            return EvaluatedCheck(item.check, problem=str(changed_fault(path)))
        if item.evaluation is None and path.exists():  # of this run, or of the one that it resumes
            with contextlib.suppress(BadInput):  # damaged: of an earlier run, before its engine started
                return replace(item, evaluation=unfinished_evaluation(item.check, read_log(path)))
        return item

    def _files_of(self, check: Check) -> Mapping[str, str]:
        """The digests of the files on which a check's records depend, by their names."""
        files = dict(self.content[check.planned_model.key])
        if check.judge is not None:
            marks = self.content[check.judge.key]
            files |= {f"{name}{OF_JUDGE}{check.judge.name}": digest for name, digest in marks.items()}
        return files
