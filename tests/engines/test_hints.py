"""What accgate advises to write into accuracy.toml is TOML, and validate takes it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from accgate.engines.base import ModelTable
from accgate.engines.openai.options import Options, field_hint, url_fault
from accgate.engines.table import create
from accgate.engines.wire import extra_faults
from accgate.errors import BadInput
from accgate.inputs.toml import tomllib
from accgate.inputs.typed import parse_table
from tests.engines.asking import engine_at, outcome
from tests.support.cases import each
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


@each(
    ("url", "cause"),
    [
        ("https://h/v1#top", "requests add their paths to the end"),
        ("https://h/v1?key=SECRET", "requests add their paths to the end"),
        ("https://me:SECRET@h/v1", "which holds a secret; leave it out, and name an environment variable"),
        ("https://h/v1/chat/completions/", "requests add /chat/completions to it: write https://h/v1"),
        ("https://me:SECRET/x@h/v1", "which is not a URL"),
        ("me:SECRET@h/v1", "does not begin with http"),
    ],
)
def test_a_url_that_cannot_work_or_holds_a_secret_is_told_before_the_run(url: str, cause: str) -> None:
    with pytest.raises(BadInput, match=r"^options.base_url: ") as caught:
        engine_at(url, api_key_env="KEY")
    assert cause in str(caught.value)
    assert "SECRET" not in str(caught.value)
    assert url_fault(url) is not None


@each(
    ("extra", "refused"),
    [
        ({"stream": True}, "stream"), ({"stream": False}, None),
        ({"stream_options": {"include_usage": True}}, "stream_options"),
        ({"n": 2}, "n"), ({"n": 1}, None), ({"echo": True}, "echo"), ({"messages": []}, "messages"),
        ({"model": "other"}, "model"), ({"min_p": 0.1, "response_format": {"type": "json_object"}}, None),
    ],
)  # fmt: skip
def test_further_fields_that_no_reply_can_come_of_are_told_before_the_run(extra: Any, refused: str | None) -> None:
    keys = [key for key, _ in extra_faults(extra)]
    assert keys == ([] if refused is None else [("sampling", "extra", refused)])
    table = ModelTable("toy", {"base_url": "http://h/v1"}, Path(), extra)
    if refused is None:
        assert create("openai", table)
    else:
        with pytest.raises(BadInput, match=rf"^sampling.extra.{refused}: is .*; remove it$"):
            create("openai", table)


def test_a_key_that_begins_with_basic_is_a_name_and_a_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY", "Basic bWU6aHVudGVyMg==")
    with Server() as server:
        server.fault_of = lambda _: Fault(400, {"error": {"message": '"bWU6aHVudGVyMg== (hunter2) is unknown"'}})
        assert "*** (***) is unknown" in str(outcome(server, api_key_env="KEY"))
        assert server.seen[0].headers["authorization"] == "Basic bWU6aHVudGVyMg=="
