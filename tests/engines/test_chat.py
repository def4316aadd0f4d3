"""Conversations and tools on a real server: what is sent, and which servers are refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from accgate.engines import Reply, Request
from accgate.engines.wire import MalformedReply, body_of, reply_of
from accgate.errors import CannotEvaluate
from tests.engines.asking import outcomes
from tests.support.servers import Fault, Server

SYSTEM = {"role": "system", "content": "Be brief."}
USER = {"role": "user", "content": "What is the weather in Rome?"}
PREFIX = {"role": "assistant", "content": "The weather in Rome is"}
CALL = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Rome"}'}}
TOOLS = ({"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {}}}},)
CHAT = Request("a", 0, "", messages=(SYSTEM, USER))
CONTINUED = Request("a", 0, "", messages=(USER, PREFIX))
WITH_TOOLS = Request("a", 0, "", messages=(USER,), tools=TOOLS, tool_choice="auto")


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(answer=lambda _: " warm.") as made:
        yield made


def replies(server: Server, *requests: Request) -> list[Any]:
    return outcomes(server.url, *requests, max_retries=0)


def texts(server: Server, *requests: Request) -> list[Any]:
    return [reply.text for reply in replies(server, *requests)]


def refusal(server: Server, request: Request) -> str:
    (error,) = replies(server, request)
    assert isinstance(error, CannotEvaluate), error
    return str(error)


def test_a_conversation_is_sent_as_it_is_written(server: Server) -> None:
    tool = {"role": "tool", "tool_call_id": "c1", "content": "18 C"}
    called = {"role": "assistant", "content": None, "tool_calls": [CALL]}
    asked = Request("a", 0, "", messages=(SYSTEM, USER, called, tool))
    assert texts(server, CHAT, asked) == [" warm.", " warm."]
    bodies = [seen.body for seen in server.seen]
    assert [body["messages"] for body in bodies] == [[SYSTEM, USER], [SYSTEM, USER, called, tool]]
    assert not any({"continue_final_message", "add_generation_prompt", "tools"} & set(body) for body in bodies)


def test_a_prefix_and_tools_are_said_in_the_words_of_vllm() -> None:
    body = body_of(CONTINUED, "toy")
    assert (body["continue_final_message"], body["add_generation_prompt"]) == (True, False)
    body = body_of(WITH_TOOLS, "toy")
    assert (body["tools"], body["tool_choice"]) == (list(TOOLS), "auto")
    vouched = {"continue_final_message": True}
    assert "continue_final_message" not in body_of(Request("a", 0, "Hi", extra=vouched), "toy")


def test_images_go_to_the_last_message_of_the_user() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
    request = Request("a", 0, "", messages=(USER, PREFIX, {"role": "user", "content": "And this?"}), parts=(image,))
    assert body_of(request, "toy")["messages"] == [
        USER, PREFIX, {"role": "user", "content": [image, {"type": "text", "text": "And this?"}]}
    ]  # fmt: skip


def test_a_server_that_continues_is_asked_whether_it_does_once(server: Server) -> None:
    assert texts(server, *[CONTINUED] * 6) == [" warm."] * 6
    assert len(server.seen) == 3 + 6
    assert {seen.body["max_tokens"] for seen in server.seen[:3]} == {1}


def test_a_prefix_that_the_server_repeats_is_no_part_of_the_reply(server: Server) -> None:
    server.repeats_prefix = True
    assert texts(server, CONTINUED) == [" warm."]
    with Server(answer=lambda _: "The weather in Rome is warm.") as other:  # the model says it again: that is its reply
        assert texts(other, CONTINUED) == ["The weather in Rome is warm."]


def test_a_server_that_would_ask_another_prompt_is_refused(server: Server) -> None:
    server.continues = False
    text = refusal(server, CONTINUED)
    assert text.startswith(f"toyserver at {server.url} does not continue the assistant's last message")
    assert "sampling.extra.continue_final_message = true" in text
    vouched = Request("a", 0, "", messages=CONTINUED.messages, extra={"continue_final_message": True})
    assert texts(server, vouched) == [" warm."]
    server.continues, server.counts = True, False
    assert "or does not say so: its replies have no usage.prompt_tokens" in refusal(server, CONTINUED)
    refused = Fault(400, {"error": {"message": "Unrecognized request argument: continue_final_message"}})
    server.fault_of = lambda body: refused if "continue_final_message" in body else None
    assert "last message: HTTP 400" in refusal(server, CONTINUED)


def test_a_server_that_hides_or_refuses_tools_is_refused(server: Server) -> None:
    server.shows_tools = False
    assert "shows the model no tools: the prompt is as long without them" in refusal(server, WITH_TOOLS)
    server.shows_tools, server.counts = True, False
    assert texts(server, WITH_TOOLS) == [" warm."]
    refused = Fault(400, {"error": {"message": '"auto" tool choice requires --enable-auto-tool-choice'}})
    server.fault_of = lambda body: refused if "tools" in body else None
    assert "takes no tools: HTTP 400" in refusal(server, WITH_TOOLS)
    assert "--tool-call-parser" in refusal(server, WITH_TOOLS)


def test_calls_are_read_with_their_arguments_as_the_model_wrote_them() -> None:
    def choice(**message: Any) -> Any:
        return {"choices": [{"message": {"role": "assistant", **message}, "finish_reason": "tool_calls"}]}

    broken = {"function": {"name": "weather", "arguments": '{"city": "Ro'}}
    of_ollama = {"function": {"name": "weather", "arguments": {"city": "Rome"}}}
    pairs = (("weather", '{"city": "Rome"}'), ("weather", '{"city": "Ro'), ("weather", '{"city": "Rome"}'))
    expected = Reply("", "tool_calls", tool_calls=pairs)
    for content in ({"content": None}, {"content": ""}, {}):
        assert reply_of(choice(tool_calls=[CALL, broken, of_ollama], **content)) == expected
    assert reply_of(choice(content="Well.", tool_calls=[])).tool_calls == ()
    for bad in ("x", [1], [{}], [{"function": {}}], {"function": {"name": "weather"}}):
        with pytest.raises(MalformedReply, match=r"^the response"):
            reply_of(choice(content="", tool_calls=bad))
