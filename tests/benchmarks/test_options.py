"""The benchmark of options asks both sides the same texts, and counts the answers that are equal."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from accgate.engines.base import LogProbs, Request
from accgate.result import EngineInfo
from benchmarks.gpu_checks import Differs, apart, expect
from benchmarks.options import Turns, figures, task_of

pytestmark = pytest.mark.slow


def likelihood(text: str) -> float:
    """A model's: the sooner a text is in the alphabet, the likelier."""
    return -1.0 - ord(text.strip()[0]) - len(text) / 100


class Scorer:
    """An engine that only scores."""

    concurrency, saturated_at, calls_tools = 4, None, False

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    def describe(self) -> EngineInfo:
        """What it is."""
        return EngineInfo("stand-in", "1", "none")

    async def score(self, request: Request, continuations: Sequence[str]) -> list[LogProbs]:
        """The likelihoods."""
        self.asked += [(request.prompt, text) for text in continuations]
        return [LogProbs((text,), (likelihood(text),)) for text in continuations]


class Harness:
    """lm-eval's model of the same likelihoods."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    def loglikelihood(self, requests: Sequence[Any], **_: Any) -> list[tuple[float, bool]]:
        """The likelihoods."""
        self.asked += [request.args for request in requests]
        return [(likelihood(request.args[1]), False) for request in requests]


@pytest.mark.interop
@pytest.mark.parametrize(("kind", "words"), [("labels", 450), ("endings", 20)])
def test_both_sides_are_asked_the_same_texts(tmp_path: Path, kind: str, words: int) -> None:
    engine, harness = Scorer(), Harness()
    with contextlib.closing(asyncio.new_event_loop()) as loop:
        pair = Turns(engine, harness, loop, tmp_path, kind).pair(1, 3)  # type: ignore[arg-type]
    assert pair["equal"] == 3
    assert sorted(engine.asked) == sorted(harness.asked)
    assert len(harness.asked) == 12
    assert all(len(prompt.split()) >= words for prompt, _ in harness.asked)


def test_each_turn_has_other_samples(tmp_path: Path) -> None:
    prompts = [{each.prompt for each in task_of("endings", seed, 5, tmp_path).samples} for seed in (1, 2)]
    assert not prompts[0] & prompts[1]


def test_the_ratio_is_the_median_of_the_pairs() -> None:
    pairs = [{"accgate": 1.0, "lm_eval": seconds, "equal": 2} for seconds in (3.0, 9.0, 4.0)]
    assert figures(pairs, 2)["ratio"] == 4.0


def test_a_check_that_finds_something_else_names_both() -> None:
    assert apart([-1.0, -2.0], [-1.0, -2.5]) == 0.5
    assert apart([-1.0], []) == float("inf")
    with pytest.raises(Differs, match="expected V2; found V1"):
        expect(False, "V2", "V1")
