"""The OpenAI form of requests and replies, whatever a server sends."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accgate.engines import Reply, Request
from accgate.engines.wire import MalformedReply, body_of, error_text, reply_of
from accgate.records.finish import CUT, FULL, REFUSED
from tests.support.cases import each


@pytest.mark.parametrize(("system", "prompt"), [("", "1 + 1 ="), ("Add.", "Add.\n\n1 + 1 =")])
def test_a_completion_body_has_one_prompt_with_the_system_message_first(system: str, prompt: str) -> None:
    assert body_of(Request("a", 0, "1 + 1 =", system=system, mode="completion"), "toy")["prompt"] == prompt


def test_zero_and_seed_zero_are_set_values() -> None:
    body = body_of(Request("a", 0, "", seed=0, top_k=0, top_p=0.0, stop=("a", "b")), "toy")
    assert (body["seed"], body["top_k"], body["top_p"], body["stop"]) == (0, 0, 0.0, ["a", "b"])


NO_ERRORS: list[Any] = [
    None, "", " ", {}, [], False, 0, "null", {"message": ""}, {"message": None, "type": None, "code": None},
    {"code": 0, "message": "success"}, {"code": "200", "message": "OK"}, {"code": None, "message": " ", "metadata": {}},
]  # fmt: skip
USAGE = {"prompt_tokens": 3, "completion_tokens": 4}


def drafted(length: Any, steps: Any) -> dict[str, Any]:
    """As vLLM answers with --per-request-spec-decode-metrics (vllm pull request 48915)."""
    more = {"draft_acceptance_rate": 0.08, "acceptance_histogram": [39, 1, 0, 3], "num_accepted_draft_tokens": 10}
    spec = {"mean_acceptance_length": length, "num_spec_steps": steps, **more, "num_draft_tokens": 129}
    return {"metrics": {"time_to_first_token_ms": 85.2, "speculative_decoding": spec}}


# What a server adds to its body, or to the choice, and the acceptance length; of replies of 54 tokens.
DRAFTED: dict[str, tuple[dict[str, Any], dict[str, Any], float | None]] = {
    "vLLM": (drafted(53 / 43, 43), {}, 1.2326),
    "vLLM, half of the tokens without a draft": (drafted(3.0, 9), {}, 1.5143),
    "vLLM, nothing drafted": (drafted(1.0, 0), {}, 1.0),
    "vLLM, the last draft is longer than the reply": (drafted(4.0, 15), {}, 4.0),
    "vLLM without speculation": ({"metrics": {"speculative_decoding": None}}, {}, None),
    "vLLM, metrics of another form": ({"metrics": [1]}, {}, None),
    "TensorRT-LLM": ({}, {"avg_decoded_tokens_per_iter": 2.7}, 2.7),
    "TensorRT-LLM, rounded": ({}, {"avg_decoded_tokens_per_iter": 0.99999994}, 1.0),
    "TensorRT-LLM, no step": ({}, {"avg_decoded_tokens_per_iter": 0.0}, None),
    "no float": ({}, {"avg_decoded_tokens_per_iter": 10**400}, None),
    "SGLang": ({}, {"meta_info": {"spec_accept_length": 2.25, "spec_verify_ct": 24}}, 2.25),
    "SGLang, the count alone": ({}, {"meta_info": {"spec_verify_ct": 24}}, 2.25),
    "SGLang, fewer tokens than steps": ({}, {"meta_info": {"spec_verify_ct": 60}}, None),
    "llama.cpp": ({"timings": {"predicted_n": 54, "draft_n": 48, "draft_n_accepted": 31}}, {}, 2.4091),
    "llama.cpp, nothing accepted": ({"timings": {"predicted_n": 54, "draft_n": 48, "draft_n_accepted": 0}}, {}, 1.0),
    "llama.cpp, more accepted than made": ({"timings": {"predicted_n": 54, "draft_n_accepted": 53}}, {}, None),
    "no server says it": ({}, {}, None),
}


@each(("body", "choice", "length"), DRAFTED.values())
def test_the_acceptance_length_is_what_the_server_says_of_this_reply(
    body: dict[str, Any], choice: dict[str, Any], length: float | None
) -> None:
    reply = reply_of({"choices": [{"text": "4", **choice}], "usage": {"completion_tokens": 54}, **body})
    assert reply == Reply("4", completion_tokens=54, acceptance=length)


@each(
    ("body", "reply"),
    [
        (
            {"choices": [{"message": {"content": "4"}, "finish_reason": "stop"}], "usage": USAGE},
            Reply("4", "stop", 3, 4),
        ),
        ({"choices": [{"text": "4", "finish_reason": "length"}], "usage": USAGE}, Reply("4", "length", 3, 4)),
        ({"choices": [{"text": "4"}, {"text": "5"}]}, Reply("4")),
        *(({"choices": [{"text": "4"}], "usage": usage}, Reply("4")) for usage in (None, [1], "3", {})),
        ({"choices": [{"message": {"content": None}, "finish_reason": "stop"}]}, Reply("", "stop")),
        ({"choices": [{"message": {"content": None, "reasoning_content": "so"}}]}, Reply("", reasoning="so")),
        ({"choices": [{"message": {"content": "4", "reasoning": "so"}}]}, Reply("4", reasoning="so")),
        ({"choices": [{"message": {"content": "\n\n    4", "reasoning_content": ""}}]}, Reply("    4")),
        ({"choices": [{"message": {"refusal": "No."}, "finish_reason": "stop"}]}, Reply("No.", "refusal")),
        (
            {"choices": [{"message": {"content": [
                {"type": "thinking", "thinking": [{"type": "text", "text": "so"}]}, {"type": "text", "text": "4"},
            ]}}]},
            Reply("4", reasoning="so"),
        ),
        (
            {"choices": [{"text": "4"}], "usage": {"completion_tokens_details": {"reasoning_tokens": 3}}},
            Reply("4", reasoning_tokens=3),
        ),
        ({"choices": [{"text": "4"}], "usage": {"reasoning_tokens": 3}}, Reply("4", reasoning_tokens=3)),
        ({"choices": [{"text": "4"}], "usage": {"prompt_tokens": "3", "completion_tokens": -5}}, Reply("4")),
        ({"choices": [{"message": None, "text": "4"}]}, Reply("4")),
        ({"choices": [{"text": "4", "finish_reason": {"type": "length", "length": 8}}]}, Reply("4", "length")),
        *(({"choices": [{"text": "4", "error": error}], "error": error}, Reply("4")) for error in NO_ERRORS),
    ],
)  # fmt: skip
def test_a_completion_is_read(body: Any, reply: Reply) -> None:
    assert reply_of(body) == reply


@each(
    "body",
    [
        None, "", [], {}, {"choices": None}, {"choices": []}, {"choices": [None]}, {"choices": [{}]},
        {"choices": [{"message": {}}]}, {"choices": [{"message": "4"}]}, {"choices": [{"text": 4}]},
        {"choices": [{"text": None, "finish_reason": "stop"}]}, {"choices": [{"message": {"content": None}}]},
        {"error": {"message": "no"}},
        {"error": {"message": "no"}, "choices": [{"text": "4"}]}, {"choices": [{"text": "4", "error": {"code": 502}}]},
    ],
)  # fmt: skip
def test_what_holds_no_text_is_malformed(body: Any) -> None:
    with pytest.raises(MalformedReply, match=r"^the response"):
        reply_of(body)


ENDS = {
    "whole": "stop STOP eos_token end_turn stop_words tool-calls functionCall FINISH FinishReason.STOP",
    "cut": "length max_tokens MAX_TOKENS maxTokens token_limit FinishReason.MAX_TOKENS maxPredictedTokensReached",
    "full": "contextLengthReached model_length model_context_window_exceeded max_context",
    "refused": "content_filter contentFilter refusal FINISH_REASON_SAFETY guardrail_intervened ERROR_TOXIC repetition",
    "unknown": "abort error ERROR_LIMIT network_error timeout not_finished time_limit pause_turn OTHER 超时",
}


@each(("kind", "word"), [(kind, word) for kind, words in ENDS.items() for word in words.split()])
def test_an_end_is_known_in_the_spelling_of_each_server(kind: str, word: str) -> None:
    body = {"choices": [{"text": "4", "finish_reason": word}]}
    if kind == "unknown":
        with pytest.raises(MalformedReply, match=rf"^the response is not known to be whole: finish_reason '{word}'"):
            reply_of(body)
    else:
        reason = reply_of(body).finish_reason
        expected = (kind in ("cut", "full"), kind == "full", kind == "refused")
        assert (reason in CUT, reason in FULL, reason in REFUSED) == expected


@each("reason", [{"type": "stop", "matched": 2}, None, "", 1, float("nan")])
def test_an_end_without_a_word_is_one(reason: Any) -> None:
    reply = reply_of({"choices": [{"text": "4", "finish_reason": reason}]})
    assert reply.finish_reason not in CUT | REFUSED


KEYS = st.sampled_from(
    ["choices", "message", "text", "content", "usage", "error", "finish_reason", "prompt_tokens", "reasoning", "type"]
)
ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text("a \n\u00e9\U0001f600", max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYS, inner, max_size=4),
)


@given(ANY)
def test_any_body_is_a_reply_or_malformed_and_has_a_short_error_text(body: Any) -> None:
    try:
        reply = reply_of(body)
    except MalformedReply:
        pass
    else:
        assert isinstance(reply.text, str)
        assert reply.finish_reason is None or isinstance(reply.finish_reason, str)
    assert len(error_text(body)) <= 300
    assert "\n" not in error_text(body)


def test_the_message_of_an_error_is_found_and_stands_on_one_line() -> None:
    assert error_text({"error": {"message": "too\n long", "code": 400}}) == "too long"
    assert error_text("<h1>Bad\tgateway</h1>") == "<h1>Bad gateway</h1>"
