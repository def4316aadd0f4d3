"""Prompts to replies to scored records: a bounded number in flight, each record written as it finishes."""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from accgate.engines import Engine, Reply, Request, RequestFailed
from accgate.errors import BadInput, CannotEvaluate
from accgate.records import (
    Record,
    RecordPaths,
    RecordWriter,
    read_records,
    write_atomically,
    write_gzip_lines,
)
from accgate.tasks.samples import Sample, Task

# In the settings beside records: scored records of a run that was decided early; the whole plan of a shard's part; the
# shards whose records were merged.
STOPPED, PLAN, MERGED = "stopped_with", "plan", "merged"


@dataclass(frozen=True)
class Sampling:
    """How replies are drawn; `max_tokens` None leaves the task's."""

    temperature: float = 0.0
    max_tokens: int | None = None
    top_p: float | None = None
    top_k: int | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()
    extra: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Assignment:
    """What is evaluated: a model on the samples of a task, each `repeats` times.

    Of a check's part, `whole` is the number of records of the whole check.
    """

    model: str
    task: Task
    repeats: int
    sampling: Sampling
    settings: Mapping[str, Any]
    max_failed: float
    whole: int | None = None

    @property
    def most_failed(self) -> int:
        """Number of records that may fail: with one more the whole check is an error."""
        return math.floor(self.max_failed * (self.total if self.whole is None else self.whole) + 1e-9)

    @property
    def total(self) -> int:
        """Number of records of the finished evaluation."""
        return len(self.task.samples) * self.repeats

    def keys(self) -> Iterator[tuple[Sample, int]]:
        """(sample, repeat) in the fixed order."""
        return ((sample, repeat) for sample in self.task.samples for repeat in range(self.repeats))


@dataclass(frozen=True)
class Evaluation:
    """The records of one (model, task), in the fixed order; `complete` unless too many samples failed.

    With `stopped` the check was decided early, on these records: all of the first samples of the order, without a gap.
    `beyond` are the records of later samples that had finished by then: they cost, and decide nothing.
    """

    records: tuple[Record, ...]
    complete: bool
    stopped: bool = False
    beyond: tuple[Record, ...] = ()

    @property
    def failed(self) -> tuple[Record, ...]:
        """Records without a score."""
        return tuple(record for record in self.records if record.score is None)


class Judge(Protocol):
    """Says whether the first samples of the order, all finished, decide the check already."""

    def __call__(self, records: Sequence[Record]) -> bool:
        """Whether they do; `records` holds every repeat of the first samples, in the order."""
        ...


class Observer(Protocol):
    """Watches an evaluation."""

    def started(self, model: str, task: str, total: int, kept: Sequence[Record]) -> None:
        """An evaluation of `total` records begins, with those kept of an earlier run."""
        ...

    def finished(self, record: Record) -> None:
        """A record was written."""
        ...

    def ended(self) -> None:
        """The evaluation is over."""
        ...


def refuse_unfinished(paths: RecordPaths) -> None:
    """Refuse to start anew over the records of an unfinished run; finished, merged and failed ones may go.

    Raises
    ------
    BadInput
        When there are such records: how many, and how to go on.
    """
    scored = _scored_records(paths)
    settings = settings_of_run(paths) if scored else {}
    if scored and MERGED not in settings and len(scored) not in (settings.get("records"), settings.get(STOPPED)):
        raise BadInput(
            f"{paths.records}: holds {len(scored):,} records of an unfinished run; go on with --resume, name another "
            "--out, or delete it"
        )


def _scored_records(paths: RecordPaths) -> list[Record]:
    if not paths.records.exists():
        return []
    return [record for record in read_records(paths.records) if record.score is not None]


def kept_records(assignment: Assignment, paths: RecordPaths, *, resume: bool) -> list[Record]:
    """The scored records that a resumed run keeps; failed ones are asked again. A finished run starts anew.

    Raises
    ------
    BadInput
        When unfinished records exist and `resume` was not asked for, or when the earlier run had other settings
        or samples: what differs.
    """
    if not resume:
        refuse_unfinished(paths)
    scored = _scored_records(paths)
    if not scored or not resume:
        return []
    _check_settings(assignment, paths)
    expected = {(sample.id, repeat) for sample, repeat in assignment.keys()}  # noqa: SIM118
    unknown = [record.id for record in scored if record.key not in expected]
    if unknown:
        raise BadInput(
            f"{paths.records}: {len(unknown)} of {len(scored)} records are not among this run's samples; "
            "the plan changed since: start without --resume in another --out"
        )
    return scored


def _check_settings(assignment: Assignment, paths: RecordPaths) -> None:
    earlier, now = settings_of_run(paths), settings_of(assignment)
    changed = sorted(key for key in {*earlier, *now} - {STOPPED, PLAN, MERGED} if earlier.get(key) != now.get(key))
    if changed:
        raise BadInput(
            f"{paths.settings}: {', '.join(changed)} changed since the run began; undo that, or start without "
            "--resume in another --out"
        )


def settings_of_run(paths: RecordPaths) -> dict[str, Any]:
    """The settings that records were made with.

    Raises
    ------
    BadInput
        When the file cannot be read, or is damaged.
    """
    try:
        settings = json.loads(paths.settings.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadInput(
            f"{paths.settings}: cannot be read ({error}), so nothing tells what its records are of; delete "
            f"{paths.records} or name another --out"
        ) from error
    if not isinstance(settings, dict):
        raise BadInput(f"{paths.settings}: is damaged; delete {paths.records} or name another --out")
    return settings


def settings_of(assignment: Assignment) -> dict[str, Any]:
    """The settings of an assignment, as JSON holds them."""
    fingerprint = {f"task {part}": digest for part, digest in assignment.task.fingerprint.items()}
    settings = {**assignment.settings, **fingerprint, "records": assignment.total}
    return dict(json.loads(json.dumps(settings, default=str)))


def write_settings(paths: RecordPaths, settings: Mapping[str, Any]) -> None:
    """Write the settings beside the records that were made with them."""
    write_atomically(paths.settings, json.dumps(settings, sort_keys=True, indent=1).encode())


async def evaluate(
    engine: Engine,
    assignment: Assignment,
    paths: RecordPaths,
    *,
    kept: Sequence[Record] = (),
    observer: Observer,
    judge: Judge | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> Evaluation:
    """Ask what is not kept, score it and write it down.

    Stops early, with `complete` False, once more than `max_failed` of the records have failed: the check is an
    error whatever follows. Stops early with `stopped` once `judge` says that the finished beginning of the order
    decides; answers still awaited are then dropped, since those that come first are no random subset.

    Raises
    ------
    CannotEvaluate
        When the engine or the disk fails for good; finished records are kept.
    """
    task = assignment.task
    try:
        if not kept:  # records of an earlier run must never stand beside the settings of this one
            paths.records.unlink(missing_ok=True)
        write_gzip_lines(paths.prompts, ({"id": sample.id, "prompt": sample.prompt} for sample in task.samples))
        write_settings(paths, settings_of(assignment))
    except OSError as error:
        raise CannotEvaluate(f"{paths.settings.parent}: cannot be written: {error.strerror}; mend that") from error
    writer = RecordWriter(paths.records, kept)
    records = {record.key: record for record in kept}
    open_keys = iter([(s, r) for s, r in assignment.keys() if (s.id, r) not in records])  # noqa: SIM118
    most_failed = assignment.most_failed
    failed = 0

    prefix = None if judge is None else _Prefix(judge, [(s.id, r) for s, r in assignment.keys()], assignment.repeats)  # noqa: SIM118
    decided = asyncio.Event()

    async def work() -> None:
        nonlocal failed
        for sample, repeat in open_keys:
            if failed > most_failed or decided.is_set():
                return
            record = await _ask(engine, assignment, sample, repeat, clock)
            writer.append(record)
            records[record.key] = record
            failed += record.score is None
            observer.finished(record)
            if prefix is not None and not decided.is_set() and prefix.decides(records):
                decided.set()

    observer.started(assignment.model, task.name, assignment.total, kept)
    try:
        with writer:
            if prefix is not None and kept and prefix.decides(records):
                decided.set()
            await _until_decided([asyncio.create_task(work()) for _ in range(engine.concurrency)], decided)
    finally:
        observer.ended()
    if decided.is_set() and prefix is not None:
        scored = sum(record.score is not None for record in records.values())
        write_settings(paths, {**settings_of(assignment), STOPPED: scored})
        used = prefix.records(records)
        later = records.keys() - {record.key for record in used}
        beyond = tuple(record for key, record in records.items() if key in later)
        return Evaluation(tuple(used), complete=failed <= most_failed, stopped=True, beyond=beyond)
    ordered = (records.get((sample.id, repeat)) for sample, repeat in assignment.keys())  # noqa: SIM118
    return Evaluation(tuple(r for r in ordered if r is not None), complete=failed <= most_failed)


class _Prefix:
    """The finished beginning of the order, and whether it decides; asked again when it has grown by a fiftieth."""

    def __init__(self, judge: Judge, keys: Sequence[tuple[str, int]], repeats: int) -> None:
        self._judge, self._keys, self._repeats = judge, keys, repeats
        self._finished = 0
        self._asked = 0

    def decides(self, records: Mapping[tuple[str, int], Record]) -> bool:
        """Whether what is finished now decides."""
        while self._finished < len(self._keys) and self._keys[self._finished] in records:
            self._finished += 1
        samples = self._finished // self._repeats
        all_there = self._finished == len(self._keys)
        if all_there or samples < self._asked + max(1, self._asked // 50):
            return False
        self._asked = samples
        return self._judge(self.records(records))

    def records(self, records: Mapping[tuple[str, int], Record]) -> list[Record]:
        """The records of the beginning that was judged last."""
        return [records[key] for key in self._keys[: self._asked * self._repeats]]


async def _until_decided(workers: Sequence[asyncio.Task[None]], decided: asyncio.Event) -> None:
    """Wait for all workers, or until the check is decided; the rest is then cancelled."""
    watch = asyncio.create_task(decided.wait())
    everyone = asyncio.create_task(_all_or_first_error(workers))
    try:
        await asyncio.wait([watch, everyone], return_when=asyncio.FIRST_COMPLETED)
        if not everyone.done():
            everyone.cancel()
            await asyncio.gather(everyone, return_exceptions=True)
            return
        await everyone
    finally:
        watch.cancel()
        everyone.cancel()
        await asyncio.gather(watch, everyone, return_exceptions=True)


async def _all_or_first_error(workers: Sequence[asyncio.Task[None]]) -> None:
    """Wait for all workers; when one fails, or this is cancelled, the others are cancelled and awaited."""
    try:
        await asyncio.gather(*workers)
    finally:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)


async def _ask(
    engine: Engine, assignment: Assignment, sample: Sample, repeat: int, clock: Callable[[], float]
) -> Record:
    began = clock()
    error: str | None = None
    try:
        reply = await engine.complete(_request(assignment, sample, repeat))
    except RequestFailed as failure:
        reply, error = Reply(None), str(failure) or "no reply"
    answer, score = (None, None) if error else _scored(assignment.task, sample, reply)
    if score is None and error is None:
        error = "no answer in the reply, and the metric has no worst score"
    return Record(
        id=sample.id, repeat=repeat, score=score, target=sample.target, answer=answer, reply=reply.text,
        finish_reason=reply.finish_reason, prompt_tokens=reply.prompt_tokens,
        completion_tokens=reply.completion_tokens, seconds=round(clock() - began, 4), error=error,
        cluster=sample.cluster, group=sample.group, label=sample.label,
    )  # fmt: skip


def _request(assignment: Assignment, sample: Sample, repeat: int) -> Request:
    sampling, task = assignment.sampling, assignment.task
    return Request(
        id=sample.id,
        repeat=repeat,
        prompt=sample.user,
        system=sample.system,
        mode=task.mode,
        max_tokens=sampling.max_tokens or task.max_tokens,
        temperature=sampling.temperature,
        top_p=sampling.top_p,
        top_k=sampling.top_k,
        seed=None if sampling.seed is None else sampling.seed + repeat,
        stop=(*task.stop, *sampling.stop),
        extra=sampling.extra or {},
    )


def _scored(task: Task, sample: Sample, reply: Reply) -> tuple[str | None, float | None]:
    """(answer, score). A reply in which no answer is found is wrong, not failed."""
    answer = None if reply.text is None else task.answer(reply.text)
    if reply.score is not None:
        return answer, _in_range(task, sample, reply.score)
    if answer is None:
        return None, task.metric.worst
    return answer, task.metric(answer, sample.target)


def rescored(task: Task, sample: Sample, record: Record) -> Record:
    """A record as this task scores its reply; one without a reply keeps its score.

    Raises
    ------
    BadInput
        When a recorded score is outside the metric's range.
    """
    if record.reply is None:
        return record
    answer, score = _scored(task, sample, Reply(record.reply))
    return replace(record, answer=answer, score=score)


def _in_range(task: Task, sample: Sample, score: float) -> float:
    low, high = task.metric.lowest, task.metric.highest
    if (low is not None and score < low) or (high is not None and score > high):
        raise BadInput(
            f"task {task.name}, sample {sample.id}: the recorded score {score:g} is outside the metric's range of "
            f"{low} to {high} points; is options.scale right?"
        )
    return score
