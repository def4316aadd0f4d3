"""The evaluation of one check, from prompts to scored records.

A bounded number of requests is in flight, and each record is written as it finishes.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence

from accgate.engines import Engine, all_or_first_error, useful_in_flight
from accgate.engines.base import side_by_side
from accgate.errors import writing
from accgate.evaluation.ahead import Places, Prefix
from accgate.evaluation.assignment import Assignment, Observer, StopRule
from accgate.evaluation.interruption import Stop
from accgate.evaluation.outcome import Evaluation
from accgate.evaluation.rereading import reread
from accgate.evaluation.resume import FaultOf, Servers, SettingsFile
from accgate.evaluation.sample import Asker
from accgate.evaluation.scoring import ByFunction, Scoring
from accgate.evaluation.shards.siblings import Siblings
from accgate.records.file import Record, RecordPaths, RecordWriter
from accgate.records.log import RecordLog, beginning_of, empty_log, places_in
from accgate.records.replacement import write_gzip_lines
from accgate.tasks import Task


async def evaluate(
    engine: Engine,
    assignment: Assignment,
    paths: RecordPaths,
    *,
    earlier: Sequence[Record] = (),
    observer: Observer,
    stop_rule: StopRule | None = None,
    others: Siblings | None = None,
    scoring: Scoring | None = None,
    fault_of: FaultOf = lambda _: None,
    stop: Stop | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> Evaluation:
    """Ask, score and record the samples that no earlier run answered.

    The evaluation ends early, with `complete` False, once more than `max_failed` of the records have failed, or more
    than `max_unread` hold no answer: the check is an error whatever follows. It ends early with `stopped` once
    `stop_rule` says that the finished beginning of the order decides. Answers still awaited are then dropped, since
    those that come first are no random subset. For a shard, that is the beginning of the whole order, of which `others`
    evaluate the other parts. Once a stop is requested, no further sample is asked, and requests in flight have its
    grace to finish. `fault_of` says why replies of these models and judges may not be recorded, once it is known who
    they are.

    Raises
    ------
    OtherJudge
        When `fault_of` names a fault.
    CannotEvaluate
        When the engine or the disk fails for good; finished records are kept.
    """
    task = assignment.task
    scoring = scoring or ByFunction()
    settings_file = SettingsFile(Servers(engine, scoring), assignment, paths, fault_of)
    settings_file.begin()
    writer = RecordWriter(paths.records, earlier)
    ids, repeats = task.samples.ids, assignment.repeats
    records = empty_log(paths.records, ids, repeats)
    records.put_all(places_in(ids, repeats, earlier), earlier, writer.starts)
    unread, attacked = assignment.unread_in(records.figures), int(records.figures.columns["attacked_unread"].sum())
    in_flight = engine.concurrency if stop_rule is None else useful_in_flight(engine)
    prefix = None if stop_rule is None else Prefix(stop_rule, records, assignment, in_flight, others)
    places, asker = Places(records, prefix, in_flight, clock), Asker(engine, assignment, scoring, clock)
    failed, decided, stop = 0, asyncio.Event(), stop or Stop()

    def is_lost() -> bool:
        return failed > assignment.most_failed or assignment.is_unread(unread, attacked)

    def is_over() -> bool:
        return is_lost() or decided.is_set() or stop.requested

    async def work() -> None:
        nonlocal failed, unread, attacked
        while (place := await places.next(is_over)) is not None:
            had_learned = asker.thoughts.unopened
            record = await asker.record(task.samples[place // repeats], place % repeats)
            settings_file.update()  # before the record, so that no record lacks who made it
            records.put(place, record, writer.append(record))
            if asker.thoughts.unopened and not had_learned and _reread(task, records, writer):
                unread = assignment.unread_in(records.figures) - assignment.counts(record)
            failed += record.score is None
            unread, attacked = unread + assignment.counts(record), attacked + record.attacked_unread
            observer.finished(record)
            if prefix is not None and not decided.is_set() and prefix.decides():
                decided.set()
            places.free(place, record)

    observer.measures(places.speed)
    observer.started(assignment.model, task.name, assignment.total, records.present)
    began = clock()
    prompts = asyncio.create_task(asyncio.to_thread(_write_prompts, assignment, paths))
    try:
        with writer:
            if prefix is not None and (earlier or others) and prefix.decides():
                decided.set()
            await _until_decided(all_or_first_error(work() for _ in range(in_flight)), decided, stop)
    finally:
        observer.ended()
        seconds = clock() - began
        await asyncio.shield(prompts)
    finished = records.present
    used = _used(prefix, records, assignment) if prefix is not None and decided.is_set() else None
    asked = len(finished) - len(earlier)
    settings_file.end(finished, asked, seconds, ended=used is not None or assignment.is_unread(unread, attacked))
    interrupted = used is None and stop.requested and len(finished) < assignment.total
    return Evaluation(
        finished[:used],
        complete=not is_lost() and not interrupted,
        stopped=used is not None and used < assignment.total,
        beyond=() if used is None else finished[used:],
        asked=asked,
        seconds=seconds,
        makers=settings_file.makers,
    )


def _used(prefix: Prefix, records: RecordLog, assignment: Assignment) -> int:
    """Count the records on which an early decision stands, of a shard its own.

    Records that finished after the decision count too, since the file does not show which these are.
    """
    return beginning_of(records.places(), assignment.repeats) if assignment.whole is None else prefix.used


def _write_prompts(assignment: Assignment, paths: RecordPaths) -> None:
    """Write the prompts beside the records.

    It runs in a thread, since compressing them takes longer than asking the first sample.
    """
    rows = ({"id": sample.id, "prompt": sample.prompt} for sample in assignment.task.samples)
    with writing(paths.prompts, "name another folder with --out, or make room in this one"):
        write_gzip_lines(paths.prompts, rows)


def _reread(task: Task, records: RecordLog, writer: RecordWriter) -> bool:
    """Read all records again now that the prompt is known to open thoughts.

    Return whether any record changed.
    """
    before = list(records.present)
    again = [reread(task, record) for record in before]
    if all(new is old for new, old in zip(again, before, strict=True)):
        return False
    writer.rewrite(again)
    records.put_all(records.places(), again, writer.starts)
    return True


async def _until_decided(work: Awaitable[object], decided: asyncio.Event, stop: Stop) -> None:
    """Wait for the work, or cancel it.

    It is cancelled once the check is decided, or the grace of a requested stop is over.
    """
    async with side_by_side(work, decided.wait(), stop.wait()) as tasks:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if stop.requested and not decided.is_set():
            await asyncio.wait(tasks[:2], timeout=stop.grace, return_when=asyncio.FIRST_COMPLETED)
        if tasks[0].done():
            await tasks[0]
