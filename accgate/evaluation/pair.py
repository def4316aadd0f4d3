"""Two models asked the same samples at the same time, until what both have finished decides."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from accgate.engines import Engine, all_or_first_error
from accgate.errors import CannotEvaluate
from accgate.evaluation.assignment import Observer, Silent, assignment_of
from accgate.evaluation.check import evaluate
from accgate.evaluation.interruption import Stop, interruptible
from accgate.evaluation.options import RunOptions
from accgate.evaluation.outcome import EvaluatedCheck, Evaluation, Interrupted, why_incomplete
from accgate.evaluation.presence import missing_records, refuse_absent, refuse_unable, running_servers
from accgate.evaluation.scoring import Scorers, Scoring
from accgate.planning.checks import Check
from accgate.records.file import Record, paths_of
from accgate.records.lock import sole_run

Decides = Callable[[Sequence[Record], Sequence[Record]], bool]
Pair = tuple[Check, Check]


class _SideBySide:
    """What both sides have finished of the order, and whether that decides."""

    def __init__(self, decides: Decides | None, observer: Observer, stop: Stop) -> None:
        self._decides, self._observer, self._stop = decides, observer, stop
        self._finished: list[Sequence[Record]] = [(), ()]
        self._looked = 0
        self.used: int | None = None

    async def evaluate(self, side: int, check: Check, engine: Engine, scoring: Scoring, out: Path) -> Evaluation:
        assignment = assignment_of(check, engine.describe())
        if problem := missing_records(engine, assignment.task):
            raise CannotEvaluate(f"{check.name}: {problem}")
        return await evaluate(
            engine,
            assignment,
            paths_of(out, *check.key),
            observer=self._observer if side else Silent(),
            stop_rule=None if self._decides is None else lambda records: self._is_decided(side, records),
            scoring=scoring,
            stop=self._stop,
        )

    def _is_decided(self, side: int, records: Sequence[Record]) -> bool:
        """Whether the samples that both have finished decide; then both end, each at its next answer."""
        self._finished[side] = records
        common = min(map(len, self._finished))
        if self.used is None and common > self._looked:
            self._looked = common
            assert self._decides is not None
            if self._decides(self._finished[0][:common], self._finished[1][:common]):
                self.used = common
        return self.used is not None


def refuse_absent_judges(pairs: Sequence[Pair]) -> None:
    """Ask the judges of later tasks whether their servers have them, before the first task is evaluated.

    Raises
    ------
    BadInput
        For every server that lacks its model.
    """
    running = running_servers([check for pair in pairs for check in pair])
    asyncio.run(refuse_absent([check for check, _ in pairs], running))  # both models begin with the first task


def evaluate_pair(
    pair: Pair, options: RunOptions, decides: Decides | None
) -> tuple[tuple[Sequence[Record], Sequence[Record]], bool]:
    """The records of both checks on the same samples, and whether it ended early.

    `decides` says of the records of the first samples, finished by both, whether they decide.

    Raises
    ------
    BadInput
        For engine options that cannot be used.
    CannotEvaluate
        When an engine fails for good, or too many samples of a side have no score or replies no answer.
    Interrupted
        When SIGINT, SIGTERM or SIGHUP came and what was in flight has finished.
    """
    engines = [check.planned_model.engine() for check in pair]
    refuse_unable(zip(engines, pair, strict=True))
    with sole_run(options.out), interruptible() as stop:
        side_by_side = _SideBySide(decides, options.observer, stop)
        evaluations = asyncio.run(_both(pair, engines, options.out, side_by_side, stop))
    if stop.requested:
        raise Interrupted(pair, [EvaluatedCheck(c, e) for c, e in zip(pair, evaluations, strict=False)])
    for check, evaluation in zip(pair, evaluations, strict=True):
        if side_by_side.used is None and not evaluation.complete:
            why = "\n".join(why_incomplete(EvaluatedCheck(check, evaluation))).replace(", then go on with --resume", "")
            raise CannotEvaluate(f"{check.name}: {why}")
    first, second = (evaluation.records[: side_by_side.used] for evaluation in evaluations)
    return (first, second), side_by_side.used is not None


async def _both(
    pair: Pair, engines: Sequence[Engine], out: Path, side_by_side: _SideBySide, stop: Stop
) -> list[Evaluation]:
    """The evaluations of both; none where a stop was requested before all had started."""
    async with Scorers() as scorers:
        try:
            scorings = await stop.unless_requested(_start(pair, engines, scorers))
            if scorings is None:
                return []
            sides = enumerate(zip(pair, engines, scorings, strict=True))
            return await all_or_first_error(side_by_side.evaluate(side, *each, out) for side, each in sides)
        finally:
            for engine in engines:
                await engine.close()


async def _start(pair: Pair, engines: Sequence[Engine], scorers: Scorers) -> list[Scoring]:
    for check, engine in zip(pair, engines, strict=True):
        with check.planned_model.locating():
            await engine.start()
    return [await scorers.of(check) for check in pair]
