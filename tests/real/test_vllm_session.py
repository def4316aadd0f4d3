"""One engine of real vLLM: what it answers, scores and refuses, and what transformers says of the same."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.real import vllm_cpu
from tests.real.vllm_environment import Environment

pytestmark = pytest.mark.vllm


@pytest.fixture(scope="session")
def facts(prepared: Environment) -> dict[str, Any]:
    """What one engine did, and what transformers says of the same."""
    done = prepared.run("-m", "tests.real.vllm_session", prepared.model)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="session")
def engine(facts: dict[str, Any]) -> dict[str, Any]:
    return facts["accgate"]


def test_replies_come_with_the_probabilities_of_their_tokens(engine: dict[str, Any]) -> None:
    sure = engine["replies"]["sure"]
    assert len(sure["logprobs"]) == sure["completion_tokens"] == 4
    assert all(-1.0 < value <= 0.0 for value in sure["logprobs"])  # what follows 4 is no riddle
    assert engine["replies"]["completion"]["logprobs"] is None


def test_chats_and_completions_are_answered(engine: dict[str, Any]) -> None:
    replies = engine["replies"]
    assert "Paris" in replies["chat"]["text"]
    assert replies["completion"]["text"].startswith(" 5, 6")
    assert replies["stop"]["text"] == " g h"
    assert [replies[name]["finish_reason"] for name in ("completion", "stop")] == ["length", "stop"]
    assert replies["completion"]["completion_tokens"] == 8


def test_prompts_have_the_tokens_of_the_models_own_template(facts: dict[str, Any]) -> None:
    ours = facts["accgate"]
    assert ours["prompts"] == facts["transformers"]["prompts"]
    assert {n: len(p) for n, p in ours["prompts"].items()} == {
        n: r["prompt_tokens"] for n, r in ours["replies"].items()
    }


def test_scores_are_the_natural_log_probabilities_of_transformers(facts: dict[str, Any]) -> None:
    for name, expected in facts["transformers"]["scores"].items():
        assert facts["accgate"]["scores"][name]["values"] == pytest.approx(expected, abs=1e-2), name


def test_a_continuations_tokens_are_its_own(engine: dict[str, Any]) -> None:
    scores = engine["scores"]
    assert "".join(scores["completion"]["tokens"]) == " Paris, of course."
    assert "".join(scores["inside"]["tokens"]) == "nce is Paris"
    assert scores["completion"]["tokens"][0] == " Paris"
    assert scores["inside"]["greedy"] is False


def test_a_seed_repeats_a_draw(engine: dict[str, Any]) -> None:
    first, again, other = engine["drawn"]
    assert first == again != other


def test_a_guided_reply_is_one_of_the_choices(engine: dict[str, Any]) -> None:
    assert engine["guided"] in ("seven", "eight")
    assert engine["defaults"] == {"repetition_penalty": 1.5}
    assert engine["replies"]["completion"]["text"] != engine["penalised"]


def test_a_refused_request_fails_alone(engine: dict[str, Any]) -> None:
    assert "maximum context length is 2048 tokens" in engine["refused"]["long"]
    assert "not a multimodal model" in engine["refused"]["image"]
    assert "min_p must be in [0, 1]" in engine["refused"]["extra"]


def test_a_cancelled_request_is_aborted_in_the_engine(engine: dict[str, Any]) -> None:
    assert engine["aborted"] == {"free during": False, "free after": True}


def test_it_says_what_runs_and_asks_for_more_than_runs_at_once(engine: dict[str, Any]) -> None:
    assert engine["info"]["name"] == "vllm"
    assert engine["info"]["version"].split("+")[0] == f"vllm {vllm_cpu.version()}"
    assert len(engine["info"]["hardware"]) > 3
    assert engine["concurrency"] >= 256
    assert engine["caching"] is True


def test_a_closed_engine_leaves_nothing(engine: dict[str, Any]) -> None:
    assert engine["logged"]
    assert not engine["log left"]
    assert engine["children left"] == 0
    assert engine["variables"] == [], "what is set for one model would change the next"
