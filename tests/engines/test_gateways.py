"""What gateways, logins and other APIs answer: a reply, or the true cause with advice that works, and no secret."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

from accgate.engines import Reply, RequestFailed
from accgate.engines.openai import client
from accgate.engines.openai.probe import ask_server
from accgate.engines.wire import MalformedReply, body_value, reply_of
from accgate.errors import CannotEvaluate
from tests.engines.asking import outcome
from tests.support.cases import each
from tests.support.servers import Fault, Server

GOOD = {"choices": [{"index": 0, "text": "4", "finish_reason": "stop"}]}
SCRIPT = b"<script>" + b"x" * 900 + b"</script>"
LOGIN = b"<!-- corp --><!DOCTYPE html>\n<html><head>" + SCRIPT + b"<title>Sign&nbsp;in\n</title></head>"
STREAM = b'data: {"choices": [{"delta": {"content": "4"}}]}\n\ndata: [DONE]\n\n'
GZIP = {"content-encoding": "gzip"}
SECRETS = ("sk-secret", "hunter2")
pytestmark = pytest.mark.usefixtures("short_waits")


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY", SECRETS[0])


def sent_on(status: int, location: str) -> Fault:
    return Fault(status, headers={"location": location})


def said(server: Server, **options: Any) -> str:
    """What comes of one request, in words; the key and what a server tells of another never stand there."""
    try:
        found = outcome(server, **{"max_outage": 0.05, "api_key_env": "KEY", "max_retries": 1, **options})
    except CannotEvaluate as error:
        found = error
    text = found.text if isinstance(found, Reply) else f"{type(found).__name__}: {found}"
    assert not any(secret in text for secret in SECRETS)
    return str(text)


@each(
    ("fault", "words"),
    [
        (Fault(body=LOGIN), 'CannotEvaluate: .*a web page, "Sign in"; is options.base_url an.*no server has'),
        (Fault(502, LOGIN), 'CannotEvaluate: HTTP 502 .*: a web page, "Sign in"; no server has answered'),
        (Fault(402, {"error": {"message": "no credit"}}), "CannotEvaluate: .*no credit left: top it up, then go on"),
        (Fault(body=STREAM), r"RequestFailed: .*is a stream; add `extra = \{ stream = false \}`"),
        (Fault(body=b'{"response": "4"}\n{"done": true}'), "RequestFailed: .*is a stream; add"),
        (Fault(body=b'data: {"error": {"message": "boom", "code": 400}}\n\n'), "RequestFailed: .*boom"),
        (Fault(body=b'event: error\ndata: {"error": {"message": "gone", "code": 502}}\n\n'), "CannotEvaluate: .*gone"),
        (Fault(body=gzip.compress(json.dumps(GOOD).encode()), headers=GZIP), "4$"),
        (Fault(503, b"\0no", GZIP), "CannotEvaluate: HTTP 503 .*no server has answered"),
        (sent_on(302, "https://h/login?next=sk-secret"), r"redirects to https://h/login\?\*\*\*; that"),
        (sent_on(302, "https://me:hunter2@h/v1/completions"), "redirects to https://[*]{3}h/v1; that"),
        (sent_on(308, "/v1/completions/"), "redirects to .*/v1/completions/; that is no address"),
        (Fault(body={"choices": [{"index": 1, "text": "5"}, {"index": 0, "text": "4"}]}), "4$"),
        (Fault(body={"choices": GOOD["choices"] * 2}), "RequestFailed: .*the response holds 2 replies to one request"),
        (Fault(body=json.dumps(GOOD).encode("utf-16")), "4$"),
    ],
)  # fmt: skip
def test_an_answer_is_a_reply_or_named_as_what_it_is(fault: Fault, words: str) -> None:
    with Server() as server:
        server.fault_of = lambda _: fault
        with pytest.raises(RequestFailed, match=f"^(?s:.*){words}"):
            raise RequestFailed(said(server))


def test_a_page_that_is_shown_for_a_while_fails_no_sample() -> None:
    with Server(lambda _: "4") as server:
        server.fail([Fault(body=LOGIN)] * 3)
        assert said(server, max_retries=0, max_outage=60.0) == "4"


@each(
    ("models", "words"),
    [
        (Fault(body=LOGIN), 'it gives a web page, "Sign in"; is options.base_url an API\'s, and does a'),
        (sent_on(302, "https://h/login?t=hunter2"), "it redirects to https://h/login?***; that is no"),
    ],
)  # fmt: skip
def test_what_is_no_api_is_told_by_the_probe_and_at_the_start(models: Fault, words: str) -> None:
    with Server() as server:
        server.models = models
        text = ask_server(server.url, "KEY").text()
        assert words in text
        assert words in said(server)
        assert "hunter2" not in text
        assert not text.endswith("options.base_url right?")
        assert not server.seen


def test_a_redirect_takes_the_key_to_no_other_server_and_is_followed_within_one() -> None:
    with Server() as other, Server(lambda _: "4") as server:
        server.models = Fault(307, headers={"location": f"{other.url}/models"})
        assert "redirects to" in said(server)
        server.models = sent_on(307, "/health")
        assert said(server) == "4"
        assert (other.listings, other.seen) == (0, [])


@each(
    ("choice", "reason"),
    [
        ({"finish_reason": None, "stop_reason": "max_tokens"}, "max_tokens"),
        ({"finishReason": "MAX_TOKENS"}, "max_tokens"),
        ({"finish_reason": "stop", "stop_reason": "length"}, "stop"),  # a stop string that was found
        ({"finish_reason": None, "stop_reason": 128001}, None),
    ],
)
def test_an_end_is_read_by_whatever_name_it_has(choice: Any, reason: str | None) -> None:
    assert reply_of({"choices": [{"text": "4", **choice}]}).finish_reason == reason


@each(
    ("usage", "more", "reason"),
    [
        ({"completion_tokens": 256}, {}, "length"),
        ({"completion_tokens": 240}, {}, "length"),  # servers count the last tokens differently
        ({"completion_tokens": 12}, {}, "server_limit"),
        ({"completion_tokens": 12, "prompt_tokens": 9, "total_tokens": 265}, {}, "length"),  # with a thought
        ({"completion_tokens": 12}, {"reasoning_content": "so"}, "length"),
        ({}, {}, "length"),
    ],
)
def test_a_reply_that_is_cut_off_before_its_limit_met_the_servers(usage: Any, more: Any, reason: str) -> None:
    body = {"choices": [{"message": {"content": "4", **more}, "finish_reason": "length"}], "usage": usage}
    assert reply_of(body, 256).finish_reason == reason
    assert reply_of(body).finish_reason == "length"


@each("raw", [b'"text"', b"[1]", b"{}", b'data: {"a"', b"data: {]}\n\n", b"\xff", b"", b"<html>", b"{" * 10**5])
def test_any_bytes_are_a_body_that_holds_no_reply(raw: bytes) -> None:
    body = body_value(raw)
    assert client.meant_by(body, 200) in (200, 503)
    with pytest.raises(MalformedReply):
        reply_of(body)
