"""What accgate advises to write into accuracy.toml is TOML, and validate takes it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from accgate.engines.base import ModelTable
from accgate.engines.openai.options import Options, field_hint
from accgate.engines.table import create
from accgate.inputs.toml import tomllib
from accgate.inputs.typed import parse_table
from tests.engines.asking import engine_at, outcome
from tests.support.cases import each
from tests.support.cases import refusal as refused
from tests.support.servers import Fault, Server

SENT = {"model": "toy", "messages": [], "max_tokens": 9, "temperature": 0.0, "top_k": 1, "a.b": 1, 'q"': 1}


def refusal(param: Any, code: str = "unsupported_parameter") -> dict[str, Any]:
    return {"error": {"message": "no", "code": code, "param": param}}


def advised(hint: str) -> dict[str, Any]:
    """The fields that a hint advises, as validate reads them."""
    match = re.search(r"\bfields = \{.*?\}", hint)
    assert match is not None, hint
    table = tomllib.loads(match[0])
    parse_table(table, Options, ())
    return table


@each(
    ("param", "fields", "advice"),
    [
        ("max_tokens", {}, {"max_tokens": "max_completion_tokens"}),
        ("max_completion_tokens", {"max_tokens": "max_completion_tokens"}, {"max_tokens": False}),
        ("temperature", {}, {"temperature": False}),
        ("temperature", {"top_k": False}, {"top_k": False, "temperature": False}),
        ('q"', {}, {'q"': False}),
    ],
)
def test_a_field_that_a_server_refuses_is_left_out_beside_what_fields_has(
    param: str, fields: dict[str, Any], advice: dict[str, Any]
) -> None:
    sent = {name: value for name, value in SENT.items() if name not in fields} | dict.fromkeys(fields.values(), 1)
    assert advised(field_hint(refusal(param), sent, fields)) == {"fields": advice}


@each("param", ["messages[0].role", "messages", "model", None, "None", 4, "", "response_format.json_schema", ["top_k"]])
def test_there_is_no_hint_that_would_not_work(param: Any) -> None:
    assert field_hint(refusal(param), SENT, {}) == ""
    assert field_hint({"error": "no"}, SENT, {}) == field_hint("no", SENT, {}) == ""
    assert field_hint(refusal("top_k", "rate_limit"), SENT, {}) == ""


@each(
    ("status", "message", "told"),
    [
        (404, "nothing here", True), (400, "Invalid model name passed in model=toy", True),
        (422, "temperature is too low", False),
    ],
)  # fmt: skip
def test_a_gateway_that_refuses_the_model_later_says_which_it_has(status: int, message: str, told: bool) -> None:
    with Server() as server:
        server.models = {"data": [{"id": "team/toy-7b"}, {"id": "other"}]}
        server.fault_of = lambda _: Fault(status, {"error": {"message": message}})
        assert ("the server has team/toy-7b; did you mean that?" in str(outcome(server))) is told


NO_URLS = (
    "", "localhost:8000", "http://:80/v1", "http://h:port/v1", "http://h:0/v1", "http://[::1", "http://a b",
    "http://h/v1\n", "https://h/v1#top", "https://h/v1?key=SECRET", "https://me:SECRET@h/v1",
    "https://h/v1/chat/completions/", "https://me:SECRET/x@h/v1", "me:SECRET@h/v1",
)  # fmt: skip


def test_a_url_that_cannot_work_or_holds_a_secret_is_told_before_the_run(messages: SnapshotAssertion) -> None:
    faults = [refused(engine_at, url, api_key_env="KEY") for url in NO_URLS]
    assert faults == messages
    assert "SECRET" not in "".join(faults)


UNREADABLE: tuple[Any, ...] = (
    {"stream": True}, {"stream_options": {"include_usage": True}}, {"n": 2}, {"echo": True}, {"messages": []},
    {"model": "other"},
)  # fmt: skip


def test_further_fields_that_no_reply_can_come_of_are_told_before_the_run(messages: SnapshotAssertion) -> None:
    def make(extra: Any) -> Any:
        return create("openai", ModelTable("toy", {"base_url": "http://h/v1"}, Path(), extra))

    assert [refused(make, extra) for extra in UNREADABLE] == messages
    for extra in ({"stream": False}, {"n": 1}, {"min_p": 0.1, "response_format": {"type": "json_object"}}):
        assert make(extra)


def test_a_key_that_begins_with_basic_is_a_name_and_a_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY", "Basic bWU6aHVudGVyMg==")
    with Server() as server:
        server.fault_of = lambda _: Fault(400, {"error": {"message": '"bWU6aHVudGVyMg== (hunter2) is unknown"'}})
        assert "*** (***) is unknown" in str(outcome(server, api_key_env="KEY"))
        assert server.seen[0].headers["authorization"] == "Basic bWU6aHVudGVyMg=="
