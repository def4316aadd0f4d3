"""How an answer gets its points.

They come from the metric's function, from running the answer, or from a judge.
"""

from __future__ import annotations

import asyncio
import math
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from accgate.config.tables import Sampling
from accgate.engines import Engine, Request, RequestFailed, split_reasoning
from accgate.errors import AccgateError, CannotEvaluate
from accgate.metrics import Metric
from accgate.planning.checks import Check
from accgate.planning.model import PlannedModel
from accgate.records.finish import CUT, FULL, REFUSED
from accgate.records.scores import Scores
from accgate.references.judge import Makers, other_judge
from accgate.tasks import Sample, Task
from accgate.tasks.extract import by_regex
from accgate.tasks.prompts import CannotRender
from accgate.tasks.schema import JudgeTable

if TYPE_CHECKING:
    from accgate.sandbox.runner import Sandbox


class NotScored(Exception):
    """An answer that could not be scored. The message becomes the record's `error`."""


class JudgeFailed(CannotEvaluate):
    """A judge that marks nothing any more. Tasks without this judge can go on."""

    def __init__(self, judge: str, cause: CannotEvaluate) -> None:
        super().__init__(f"judge {judge}: {cause}")


class OtherJudge(CannotEvaluate):
    """A judge that is not the one that marked the reference. Checks with other references can go on."""


class Scoring(Protocol):
    """Gives answers their points."""

    async def points(self, task: Task, sample: Sample, answer: str, *, repeat: int = 0) -> float:
        """Return the points of an answer.

        Raises
        ------
        NotScored
            When this answer cannot be scored; others may.
        CannotEvaluate
            When no further answer can.
        """


class ByFunction:
    """Points from the task's metric."""

    async def points(self, task: Task, sample: Sample, answer: str, *, repeat: int = 0) -> float:  # noqa: ARG002
        """Return the metric's points, which must be in its range."""
        if task.metric.waits:
            return await asyncio.to_thread(score_of, task, sample, answer)
        return score_of(task, sample, answer)


def score_of(task: Task, sample: Sample, answer: str) -> float:
    """Return the points that a task's metric gives an answer.

    Raises
    ------
    NotScored
        When the metric fails, or gives what is outside its range.
    """
    try:
        score = task.score(answer, sample.target, sample.tools)
    except (ImportError, AccgateError):
        raise
    except Exception as error:  # a user's own function raises what it likes
        raise NotScored(f"the metric {task.metric.name} failed: {type(error).__name__}: {error}") from error
    return in_range(task, score)


def in_range(task: Task, score: float) -> float:
    """Return a metric's score, or raise NotScored where it is outside the metric's range."""
    metric = task.metric
    if not is_in_range(metric, score):
        what = f"the metric {metric.name} gave {score:g}, which is outside its range"
        raise NotScored(f"{what} of {metric.lowest} to {metric.highest}")
    return score


def is_in_range(metric: Metric, score: float) -> bool:
    """Tell whether a score is finite and one that its metric gives."""
    low, high = metric.lowest, metric.highest
    return math.isfinite(score) and (low is None or score >= low) and (high is None or score <= high)


@dataclass(frozen=True)
class ByRunning:
    """100 points for code that passes its tests in a sandbox. `before` runs before a whole program."""

    sandbox: Sandbox
    before: str = ""

    async def points(self, task: Task, sample: Sample, answer: str, *, repeat: int = 0) -> float:  # noqa: ARG002
        """Return 100 if the answer passes its tests, else 0.

        The tests are the target's program with the answer in it, or test cases.
        """
        from accgate.sandbox.assertions import split_program
        from accgate.sandbox.process import WorkerEnded

        try:
            if sample.cases:
                outcome = await self.sandbox.passes_cases(answer, sample.cases, self.before)
            else:
                outcome = await self.sandbox.passes(*split_program(sample.program, answer))
        except WorkerEnded as error:
            raise NotScored(str(error)) from error
        return 100.0 if outcome.passed else 0.0


@dataclass(frozen=True)
class ByJudge:
    """A second model's mark, scaled to 0 to 100 points.

    Zheng et al. 2023, arXiv 2306.05685, on what such marks are worth.
    """

    engine: Engine
    sampling: Sampling
    name: str = ""

    async def points(self, task: Task, sample: Sample, answer: str, *, repeat: int = 0) -> float:
        """Scale the last mark in the judge's reply from the rubric's range. An empty answer gets 0 unasked."""
        judge = task.content.judge
        assert judge is not None
        assert sample.rubric is not None
        if not answer.strip():
            return 0.0  # a judge that is shown no answer marks the question instead
        try:
            prompt = sample.rubric.about(answer)
        except CannotRender as error:
            raise NotScored(f"the rubric cannot show this reply: {error}") from error
        request = request_of(self.sampling, sample, repeat, prompt, judge.max_tokens)
        try:
            reply = await self.engine.complete(request)
        except RequestFailed as error:
            raise NotScored(f"the judge gave no reply: {error}") from error
        except CannotEvaluate as error:
            raise JudgeFailed(self.name, error) from error
        if reply.finish_reason in FULL:
            fix = "shorten the rubric, or serve the judge with a longer context"
            raise NotScored(f"the judge's reply was cut off before max_tokens, at its server's own limit; {fix}")
        if reply.finish_reason in CUT:
            raise NotScored(f"the judge's reply was cut off at {request.max_tokens} tokens; raise judge.max_tokens")
        if reply.finish_reason in REFUSED:
            raise NotScored(f"the judge refused, or a filter stopped it: finish_reason {reply.finish_reason!r}")
        low, high = judge.lowest, judge.highest
        mark = _mark(judge, by_regex(split_reasoning(reply.text or "").answer or "", judge.regex))
        if not low <= mark <= high:
            raise NotScored(f"the judge's reply holds no mark from {low:g} to {high:g}: {(reply.text or '')[-80:]!r}")
        return 100.0 * (mark - low) / (high - low)


def request_of(sampling: Sampling, sample: Sample, repeat: int, prompt: str, max_tokens: int) -> Request:
    """Return the request of a prompt, with a model's sampling.

    `max_tokens` is the task's, for a model that sets none.
    """
    return Request(
        id=sample.id,
        repeat=repeat,
        prompt=prompt,
        max_tokens=sampling.max_tokens or max_tokens,
        temperature=sampling.temperature,
        top_p=sampling.top_p,
        top_k=sampling.top_k,
        seed=sampling.seed,
        stop=sampling.stop,
        extra=sampling.extra,
    )


def _mark(judge: JudgeTable, word: str | None) -> float:
    """Return the mark that a judge's word stands for.

    The result is NaN where the word is no mark.
    """
    if judge.marks:
        return judge.marks.get(word or "", math.nan)
    try:
        return float(word or "")
    except ValueError:
        return math.nan


class Scorers(AsyncExitStack):
    """The scorings of a run, as an asynchronous context that closes them all.

    It makes each scoring once.
    """

    def __init__(self) -> None:
        super().__init__()
        self._made: dict[tuple[object, ...], Scoring] = {}

    async def of(self, check: Check) -> Scoring:
        """Return how a check's answers get their points.

        Raises
        ------
        BadInput
            When the judge's options cannot be used.
        CannotEvaluate
            When nothing confines code that is to be run, or the judge cannot be reached.
        """
        kind = check.task.metric.kind
        if kind == "code":
            return await self._by_running(check)
        if kind == "judge":
            assert check.judge is not None
            return await self._by_judge(check.judge)
        return ByFunction()

    async def _by_running(self, check: Check) -> Scoring:
        from accgate.sandbox.process import Limits, packages_of
        from accgate.sandbox.runner import Sandbox

        seconds = 6.0 if check.task.metric.name == "code_output" else 3.0
        own = check.task.content.metric_options
        options = {"timeout": seconds, "memory": 1024, "packages": (), "before": "", **own}
        limits = Limits(seconds=float(options["timeout"]), memory=int(options["memory"]))
        key = ("code", limits, tuple(options["packages"]), options["before"])
        if key not in self._made:
            sandbox = Sandbox(limits, packages=packages_of(options["packages"]))
            self._made[key] = ByRunning(await self.enter_async_context(sandbox), options["before"])
        return self._made[key]

    async def _by_judge(self, judge: PlannedModel) -> Scoring:
        if judge.key not in self._made:
            engine = judge.engine()
            self.push_async_callback(engine.close)
            try:
                with judge.locating():
                    await engine.start()
            except CannotEvaluate as error:
                raise JudgeFailed(judge.name, error) from error
            self._made[judge.key] = ByJudge(engine, judge.settings.sampling, judge.name)
        return self._made[judge.key]


def judge_fault(check: Check, makers: Makers) -> str | None:
    """Say that another judge marked a run than its check's reference, if that shows."""
    recorded = check.recorded
    if check.judge is None or recorded is None:
        return None
    if not isinstance(check.reference, Scores) and check.reference != recorded.evidence:
        return None  # the task's table has the mean or the target, so that the reference's marks do not count
    change = recorded.about.makers.judge_change(makers, check.judge.settings.options)
    return None if change is None else other_judge(recorded.path, f"judge {check.judge.name}", change)
