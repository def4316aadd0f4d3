"""The scorings of a run: made once, used by all its checks, and closed with it."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import asdict

from accgate.engines import Engine, replayed
from accgate.evaluation.assignment import Sampling
from accgate.evaluation.scoring import ByFunction, ByJudge, ByRunning, Scoring
from accgate.planning import Check
from accgate.tasks import HarnessTask


class Scorers:
    """Scorings by check, in an asynchronous context that closes their sandboxes and judges."""

    def __init__(self) -> None:
        self._open = AsyncExitStack()
        self._made: dict[tuple[object, ...], Scoring] = {}

    async def __aenter__(self) -> Scorers:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._open.aclose()

    async def of(self, check: Check) -> Scoring:
        """How a check's answers get their points.

        Raises
        ------
        BadInput
            When the judge's options cannot be used.
        CannotEvaluate
            When nothing confines code that is to be run, or the judge cannot be reached.
        """
        kind = check.task.metric.kind
        if kind == "code":
            return await self._running(check)
        if kind == "judge":
            return await self._judged(check)
        return ByFunction()

    async def _running(self, check: Check) -> Scoring:
        from accgate.sandbox import Limits, Sandbox

        options = {"timeout": 3.0, "memory": 1024, **check.task.metric_options}
        limits = Limits(seconds=float(options["timeout"]), memory=int(options["memory"]))
        key = ("code", limits)
        if key not in self._made:
            self._made[key] = ByRunning(await self._open.enter_async_context(Sandbox(limits)))
        return self._made[key]

    async def _judged(self, check: Check) -> Scoring:
        judge = check.judge
        assert judge is not None
        key = ("judge", judge.name, judge.folder)  # a pull request's new checks have judges of its own file
        if key not in self._made:
            engine = judge.engine()
            self._open.push_async_callback(engine.close)
            await engine.start()
            self._made[key] = ByJudge(engine, Sampling(**asdict(judge.settings.sampling)))
        return self._made[key]


def lacking(engine: Engine, check: Check) -> str | None:
    """Why an engine cannot answer a check's task, with the alternative; None where it can."""
    task = check.task
    by_harness = isinstance(task, HarnessTask) and task.lm_eval.needs_likelihoods
    needed = by_harness or task.by_likelihood or task.metric.kind == "likelihood"
    if not needed or hasattr(engine, "score") or replayed(engine) is not None:
        return None
    what = f"task {task.name} compares log-likelihoods, which the engine of {check.model} does not give"
    can = "use vllm, or openai with a server whose /v1/completions has echo and logprobs (vLLM, SGLang)"
    return f"{what}; {can}" + (', or let it generate the letter: choose = "letter"' if task.by_likelihood else "")
