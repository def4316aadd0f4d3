"""How far ahead an evaluation asks that may end early: on a clock of its own, so no time depends on the machine."""

from __future__ import annotations

import asyncio
import math
import random
import re
import selectors
import statistics
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from accgate.config.tables import Sampling
from accgate.decision.progress import expected_samples, watch_of
from accgate.engines import Reply, Request, RequestFailed
from accgate.evaluation.assignment import Assignment, Limits, Observer, StopRule
from accgate.evaluation.check import evaluate
from accgate.evaluation.interruption import Stop
from accgate.evaluation.outcome import Evaluation
from accgate.evaluation.speed import Saturation
from accgate.planning.samples import Assumptions
from accgate.records.file import paths_of
from accgate.tasks.task import Task
from tests.evaluation.serving import Toy
from tests.evaluation.test_early import check
from tests.support.loading import load_task

N, DISCORDANCE, THETA = 1000, 0.03, 4.0
GPU: dict[str, float] = {}
PROCESSOR = {"step": 0.002, "each": 0.002, "tokens": 12.0}  # 3 in flight give 75% of the tokens a second of 64
SLOW = {"step": 0.01, "each": 0.03, "tokens": 8.0}  # a slow processor


class Clock(selectors.SelectSelector):
    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self.now += timeout or 0.0
        return super().select(0)


class Loop(asyncio.SelectorEventLoop):
    """Waiting takes no time: the clock goes to what is due next."""

    def __init__(self) -> None:
        self.clock = Clock()
        super().__init__(self.clock)

    def time(self) -> float:
        return self.clock.now


@dataclass
class Decoder(Toy):
    """An engine that decodes as a GPU does: each step gives one token to all in flight, at little more for each."""

    wrong: frozenset[str]
    concurrency: int
    step: float = 0.01
    each: float = 0.00002
    tokens: float = 60.0
    waiting: dict[asyncio.Future[None], int] = field(default_factory=dict)
    replies: int = 0
    most_in_flight: int = 0
    running: asyncio.Task[None] | None = None

    async def complete(self, request: Request) -> Reply:
        draw = random.Random(request.id).gauss(-0.18, 0.6)
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.waiting[future] = tokens = max(1, round(self.tokens * math.exp(draw)))
        self.most_in_flight = max(self.most_in_flight, len(self.waiting))
        self.running = self.running or asyncio.create_task(self._run())
        try:
            await future
        finally:
            self.waiting.pop(future, None)
        self.replies += 1
        a, sign, b = re.findall(r"(\d+) ([-+]) (\d+)", request.prompt)[-1]
        return Reply(str(int(a) + int(sign + b) + (request.id in self.wrong)), completion_tokens=tokens)

    async def _run(self) -> None:
        while self.waiting:
            await asyncio.sleep(self.step + self.each * len(self.waiting))
            for future, left in list(self.waiting.items()):
                if future in self.waiting:
                    self.waiting[future] = left - 1
                if left <= 1 and not future.done():
                    future.set_result(None)
        self.running = None


def evaluated(
    engine: Decoder, task: Task, out: Path, rule: StopRule | None, *, max_failed: float = 0.1, **keys: Any
) -> tuple[Evaluation, float]:
    """The evaluation, and its seconds on the engine's clock."""
    loop = Loop()
    assignment = Assignment("m", task, 1, Sampling(), {}, max_failed)
    keys = {"observer": Observer(), "stop_rule": rule, "clock": loop.time, **keys}
    work = evaluate(engine, assignment, paths_of(out, "m", "t"), **keys)
    try:
        return loop.run_until_complete(work), loop.time()
    finally:
        if engine.running is not None:
            engine.running.cancel()
            loop.run_until_complete(asyncio.gather(engine.running, return_exceptions=True))
        loop.close()


@cache
def sums(seed: int = 0, count: int = N) -> Task:
    return load_task("arithmetic", options={"high": 300}, count=count, seed=seed)


def healthy_run(
    seed: int, theta: float = THETA, discordance: float = DISCORDANCE
) -> tuple[StopRule | None, Task, frozenset[str]]:
    """The rule of a check that did not drop, its task, and the ids that the engine answers wrong."""
    rng = np.random.default_rng(seed)
    task = sums(seed)
    reference = np.where(rng.random(N) < 0.7, 100.0, 0.0)
    candidate = np.where(rng.random(N) < discordance, 100.0 - reference, reference)
    wrong = frozenset(s.id for s, score in zip(task.samples, candidate, strict=True) if score == 0.0)
    planned, _ = Assumptions("gsprt", 0.05, 0.2, discordance=discordance).expected_n(N, theta)
    made = replace(check(task, reference=list(reference), theta=theta), expected_n_healthy=planned)
    return watch_of(made).stop_rule, task, wrong


def beside_ideal(
    folder: Path, concurrency: int, speed: dict[str, float], seeds: int = 4, theta: float = THETA,
    discordance: float = DISCORDANCE,
) -> tuple[float, float]:  # fmt: skip
    """Seconds and replies of healthy runs, times those of runs of just the samples that decided: means over seeds."""
    times, replies = [], []
    for seed in range(seeds):
        rule, task, wrong = healthy_run(seed, theta, discordance)
        engine = Decoder(wrong, concurrency, **speed)
        done, seconds = evaluated(engine, task, folder / f"{seed}", rule)
        assert done.stopped
        first = task.of(task.samples[: len(done.records)])
        _, ideal = evaluated(Decoder(wrong, concurrency, **speed), first, folder / f"ideal-{seed}", None)
        times.append(seconds / ideal)
        replies.append(engine.replies / len(done.records))
    return statistics.mean(times), statistics.mean(replies)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("concurrency", "most", "speed"),
    [
        (16, 1.15, GPU), (64, 1.5, GPU), (320, 2.4, GPU), (16, 1.05, PROCESSOR), (64, 1.15, PROCESSOR),
        (32, 1.15, SLOW),
    ],
)  # fmt: skip
def test_a_healthy_run_is_nearly_as_fast_as_one_that_knew_its_end_and_pays_little_more(
    tmp_path: Path, concurrency: int, most: float, speed: dict[str, float]
) -> None:
    time, paid = beside_ideal(tmp_path, concurrency, speed)
    assert time < 1.15
    assert paid < most


@pytest.mark.parametrize(("speed", "theta"), [(PROCESSOR, 8.0), (SLOW, 4.0)])
def test_a_run_without_a_change_asks_little_beyond_the_samples_that_a_pass_takes(
    tmp_path: Path, speed: dict[str, float], theta: float
) -> None:
    time, paid = beside_ideal(tmp_path, 64, speed, 2, theta, discordance=0.0)
    assert time < 1.2  # 64 at once would take 1.8 of the ideal's time at a theta of 8
    assert paid < 1.1


def foresees(expects: int, decides: float) -> StopRule:
    """A rule that expects the decision after so many samples, and decides after others."""
    return StopRule(lambda records: len(records) >= decides, lambda: expects)


def test_where_the_decision_comes_later_than_expected_the_engine_is_neither_idle_nor_flooded(tmp_path: Path) -> None:
    engine = Decoder(frozenset(), 128, tokens=12.0)
    done, _ = evaluated(engine, sums(count=400), tmp_path, foresees(expects=20, decides=200))
    assert done.stopped
    assert engine.most_in_flight == 128 // 4
    engine = Decoder(frozenset(), 128, tokens=12.0)
    whole, _ = evaluated(engine, sums(count=400), tmp_path, foresees(expects=20, decides=math.inf))
    assert len(whole.records) == 400


def test_a_run_that_needs_all_its_samples_is_as_fast_as_one_that_cannot_stop(tmp_path: Path) -> None:
    task = sums(count=400)
    for number, speed in enumerate((GPU, PROCESSOR)):
        rule = foresees(400, math.inf)
        _, seconds = evaluated(Decoder(frozenset(), 64, **speed), task, tmp_path / f"{number}", rule)
        _, whole = evaluated(Decoder(frozenset(), 64, **speed), task, tmp_path / f"whole-{number}", None)
        assert seconds < 1.02 * whole


def enough(fixed: float, each: float, late: float) -> int | None:
    """How many in flight are as good as 64, with such steps, and a share of replies that come late."""
    rng, now = random.Random(1), 0.0
    saturation = Saturation(64, lambda: now)
    running: list[tuple[tuple[float, float], int, int]] = []  # began, tokens, steps left
    for _ in range(400):
        while len(running) < (64 if saturation.replies else 16):
            tokens = max(1, round(rng.lognormvariate(2.4, 0.6)))
            steps = tokens if rng.random() >= late else tokens + 200
            running.append((saturation.begin(), tokens, steps))
        now += fixed + each * len(running)
        running = [(began, tokens, left - 1) for began, tokens, left in running]
        for began, tokens, left in running:
            if not left:
                saturation.end(began, tokens)
        running = [request for request in running if request[2]]
    return saturation.enough


@pytest.mark.parametrize("late", [0.0, 0.05])
@pytest.mark.parametrize(
    ("steps", "least", "most"),
    [((10.0, 0.02), 40, 64), ((10.0, 1.0), 17, 32), ((2.0, 2.0), 1, 8), ((0.0, 1.0), 1, 8)],
)
def test_how_many_saturate_an_engine_is_learned_whatever_disturbs_a_few_replies(
    steps: tuple[float, float], least: int, most: int, late: float
) -> None:
    learned = enough(*steps, late)
    assert learned is not None
    assert least <= learned <= most


def test_replies_that_never_overlap_differently_tell_nothing() -> None:
    now = 0.0
    saturation = Saturation(64, lambda: now)
    for _ in range(20):
        began = saturation.begin()
        now += 1.0
        saturation.end(began, 10)
    assert saturation.enough is None


def test_samples_that_wait_for_the_limit_end_with_the_run(tmp_path: Path) -> None:
    class Broken(Decoder):
        async def complete(self, request: Request) -> Reply:
            await super().complete(request)
            raise RequestFailed("overloaded")

    task = sums(count=400)
    done, _ = evaluated(Broken(frozenset(), 128), task, tmp_path / "lost", foresees(20, math.inf), max_failed=0.0)
    assert not done.complete
    assert len(done.records) <= 128
    stop = Stop()

    class Stopped(Decoder):
        async def complete(self, request: Request) -> Reply:
            reply = await super().complete(request)
            stop.request()
            return reply

    done, _ = evaluated(Stopped(frozenset(), 128), task, tmp_path / "stop", foresees(20, math.inf), stop=stop)
    assert not done.complete
    assert 0 < len(done.records) <= 128 // 4


def test_an_engine_that_more_requests_only_slow_gets_no_more_of_a_run_that_may_stop(tmp_path: Path) -> None:
    @dataclass
    class Processor(Decoder):
        saturated_at: int = 24

    for rule, most in ((foresees(100, math.inf), 24), (None, 90)):
        engine = Processor(frozenset(), 90)
        evaluated(engine, sums(count=100), tmp_path / str(most), rule)
        assert engine.most_in_flight == most


def test_a_decision_is_expected_where_the_evidence_of_either_side_would_be_enough() -> None:
    near = Limits(n=50, n_max=400, difference=0.0, p_value=1.0, allowed=0.0, passes=0.0, share=0.25)
    cases = (
        (near, 200),
        (replace(near, share=0.0), 400),  # nothing tells
        (replace(near, share=0.01), 400),
        (replace(near, share=1.0), 51),
        (replace(near, share=0.0, p_value=0.05**0.5), 100),
        (replace(near, share=0.0, p_value=0.0), 51),
        (replace(near, next_n=300), 300),  # no decision before the next look
    )
    for limits, expected in cases:
        assert expected_samples(limits, 0.05) == expected
