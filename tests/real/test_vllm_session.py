"""One process with real vLLM: what its engine answers, scores and refuses, what transformers says, and commands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.real import vllm_cpu
from tests.real.vllm_environment import SMALL, Environment, project
from tests.support.gates import table, write_task

pytestmark = pytest.mark.vllm

QUIZ = [
    ("The capital of France is", ["Berlin, the capital of Germany", "Paris"], "B"),
    ("Two plus two is", ["four", "a purple elephant"], "A"),
    ("The sun rises in the", ["refrigerator", "east", "bathroom"], "B"),
    ("Water freezes and becomes", ["ice", "music"], "A"),
]
NAMES = ("quiz", "text", "sure")


def recording(folder: Path, model: str) -> Path:
    """accuracy.toml of tasks that ask for options, texts and confidences."""
    rows = [{"q": q, "o": o, "a": a, "t": f"{q} {o[ord(a) - 65]}."} for q, o, a in QUIZ]
    chosen = {"choices.options": "{{ o | tojson }}", "choices.by": "likelihood", "choices.normalise": "tokens"}
    completion = {"prompt": "{{ q }}", "target": "{{ a }}", "mode": "completion"}
    write_task(folder, "quiz", rows, **completion, **chosen, metric="exact_match", aggregate="ece")
    write_task(folder, "text", rows, prompt="", target="{{ t }}", mode="completion", metric="perplexity")
    sure = {"confidence": {"by": "tokens"}, "max_tokens": 3, "attack": [{"kind": "case", "field": "q", "ask": "all"}]}
    write_task(folder, "sure", rows, **completion | {"target": "{{ o[0] }}"}, metric="contains", **sure)
    text = table("models.m", {"engine": "vllm", "model": model})
    text += table("models.m.options", SMALL | {"log": "vllm.log", "seed": 3})
    text += "".join(table(f"tasks.{name}", {"file": f"{name}.toml"}) for name in NAMES)
    config = folder / "accuracy.toml"
    config.write_text(text + table("tasks.arithmetic", {"num_samples": 12}))
    return config


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the commands work."""
    return tmp_path_factory.mktemp("commands")


@pytest.fixture(scope="session")
def facts(prepared: Environment, folder: Path) -> dict[str, Any]:
    """What one engine did, what transformers says of the same, and what commands of the same process said."""
    places = {name: folder / name for name in ("record", "varying", "misspelt")}
    for place in places.values():
        place.mkdir()
    config = project(
        places["misspelt"], prepared.model, enforce_eagre=True, kv_cache_dtype="fp9", compilation_config={"no_such": 1}
    )
    config.write_text(config.read_text() + table("models.m.sampling.extra", {"min_pp": 0.1, "min_p": 3.0}))
    recorded, varying = recording(places["record"], prepared.model), places["varying"]
    commands = {
        "misspelt": ["validate", config],
        "varying": ["run", project(varying, prepared.model, batch_invariant=True), "--out", varying / "out", "--quiet"],
        "record": ["record", recorded, "--out", recorded.parent / "out", "--quiet"],
    }
    arguments = json.dumps([[*map(str, words)] for words in commands.values()])
    with prepared.marked() as environment:
        done = environment.run("-m", "tests.real.vllm_session", prepared.model, arguments)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    return {**told, "commands": dict(zip(commands, told["commands"], strict=True))}


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


def test_all_that_vllm_documents_of_its_arguments_is_taken(facts: dict[str, Any]) -> None:
    assert facts["refused arguments"] == []


def test_texts_of_one_token_are_one_request_and_longer_ones_share_their_prompt(facts: dict[str, Any]) -> None:
    for name, expected in facts["transformers"]["options"].items():
        for time in ("first", "again"):
            for values, theirs in zip(facts["accgate"]["options"][name][time], expected, strict=True):
                assert values == pytest.approx(theirs, abs=1e-2), (name, time)
    asked = {name: found["asked"] for name, found in facts["accgate"]["options"].items()}
    assert asked == {"labels": 1, "texts": 4, "short": 2}


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
    assert engine["info"]["environment"].items() >= engine["under"].items()
    assert "cuda" not in engine["info"]["environment"]  # a build for the CPU
    assert engine["concurrency"] >= 256
    assert engine["caching"] is True


def test_a_closed_engine_leaves_nothing(engine: dict[str, Any]) -> None:
    assert engine["logged"]
    assert not engine["log left"]
    assert engine["children left"] == 0
    assert engine["variables"] == [], "what is set for one model would change the next"


def test_options_are_checked_against_vllms_own_classes(facts: dict[str, Any]) -> None:
    done = facts["commands"]["misspelt"]
    assert done["code"] == 2
    said = [line.partition("models.m.")[2] for line in done["err"].splitlines()]
    assert [line.split(":")[0] for line in said] == [
        "options.enforce_eagre", "options.kv_cache_dtype", "options.compilation_config.no_such",
    ]  # fmt: skip
    assert "did you mean 'enforce_eager'?" in said[0]


def test_invariant_kernels_are_refused_where_there_are_none(facts: dict[str, Any]) -> None:
    if not facts["on a processor"]:
        pytest.skip("needs vLLM's CPU build")
    done = facts["commands"]["varying"]
    assert done["code"] == 2
    assert "options.batch_invariant: is true, but vLLM has no batch-invariant kernels for" in done["err"]


def test_a_recording_scores_options_texts_and_confidences_and_prints_only_its_own(
    facts: dict[str, Any], folder: Path
) -> None:
    done, place = facts["commands"]["record"], folder / "record"
    assert (done["code"], done["err"]) == (0, "")
    assert "Initializing" not in done["out"]
    assert "Initializing" in (place / "vllm.log").read_text()
    files = {name: place / "out" / "m" / f"{name}.jsonl" for name in (*NAMES, "arithmetic")}
    found = {name: [json.loads(line) for line in path.read_text().splitlines()] for name, path in files.items()}
    assert [record["error"] for record in found["arithmetic"]] == [None] * 12
    assert json.loads((place / "out" / "m" / "arithmetic.settings.json").read_text())["options"]["seed"] == 3
    assert [record["score"] for record in found["quiz"]] == [100.0] * 4
    assert all(0.5 < record["confidence"] < 1.0 for record in found["quiz"])
    assert all(1.0 < record["score"] < 1e5 for record in found["text"])  # short texts, with nothing before them
    assert all(0.0 < record["confidence"] <= 1.0 and record["attacked"] is not None for record in found["sure"])
    means = {name: (place / "references" / "m" / f"{name}.toml").read_text() for name in NAMES}
    assert all("mean" in mean for mean in means.values())
    assert "confidence" in (place / "references" / "m" / "quiz.scores.csv").read_text().splitlines()[0]
