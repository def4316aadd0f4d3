"""How an answer gets its points: by the metric's function, by running it, or by a second model's mark."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from accgate.engines import Engine, Request, RequestFailed
from accgate.tasks import ANSWER, Sample, Task, by_regex

if TYPE_CHECKING:
    from accgate.evaluation.assignment import Sampling
    from accgate.sandbox import Sandbox


class NotScored(Exception):
    """An answer could not be scored; the message becomes the record's `error`."""


class Scoring(Protocol):
    """Gives answers their points."""

    async def points(self, task: Task, sample: Sample, answer: str, *, repeat: int = 0) -> float:
        """The points of an answer.

        Raises
        ------
        NotScored
            When this answer cannot be scored; others may.
        CannotEvaluate
            When no further answer can.
        """
        ...


class ByFunction:
    """Points from the task's metric."""

    async def points(self, task: Task, sample: Sample, answer: str, *, repeat: int = 0) -> float:  # noqa: ARG002
        """The metric's points, which must be in its range."""
        return scored(task, sample, answer)


def scored(task: Task, sample: Sample, answer: str) -> float:
    """The points that a task's metric gives an answer.

    Raises
    ------
    NotScored
        When the metric fails, or gives what is outside its range.
    """
    try:
        score = task.score(answer, sample.target)
    except ImportError:
        raise
    except Exception as error:  # a user's own function raises what it likes
        raise NotScored(f"the metric {task.metric.name} failed: {type(error).__name__}: {error}") from error
    low, high = task.metric.lowest, task.metric.highest
    if not math.isfinite(score) or (low is not None and score < low) or (high is not None and score > high):
        raise NotScored(f"the metric {task.metric.name} gave {score:g}, which is outside its range of {low} to {high}")
    return score


@dataclass(frozen=True)
class ByRunning:
    """100 points for code that ends without an error, in a sandbox."""

    sandbox: Sandbox

    async def points(self, task: Task, sample: Sample, answer: str, *, repeat: int = 0) -> float:  # noqa: ARG002
        """100 where the target's program, with the answer in it, ends as it should, else 0."""
        from accgate.sandbox import WorkerEnded

        try:
            outcome = await self.sandbox.passes(sample.target.replace(ANSWER, answer))
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

    async def points(self, task: Task, sample: Sample, answer: str, *, repeat: int = 0) -> float:
        """The last mark in the judge's reply, scaled from the rubric's range."""
        assert task.judge is not None
        request = Request(
            id=sample.id,
            repeat=repeat,
            prompt=sample.rubric.replace(ANSWER, answer),
            max_tokens=self.sampling.max_tokens or task.judge.max_tokens,
            temperature=self.sampling.temperature,
            top_p=self.sampling.top_p,
            top_k=self.sampling.top_k,
            seed=self.sampling.seed,
            stop=self.sampling.stop,
            extra=self.sampling.extra or {},
        )
        try:
            reply = await self.engine.complete(request)
        except RequestFailed as error:
            raise NotScored(f"the judge gave no reply: {error}") from error
        low, high = task.judge.lowest, task.judge.highest
        found = by_regex(reply.text or "", task.judge.regex)
        try:
            mark = float(found or "")
        except ValueError:
            mark = math.nan
        if not low <= mark <= high:
            raise NotScored(f"the judge's reply holds no mark from {low:g} to {high:g}: {(reply.text or '')[-80:]!r}")
        return 100.0 * (mark - low) / (high - low)
