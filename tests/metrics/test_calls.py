"""Scores of tool calls; calls.json has what `ast_checker` of bfcl-eval 2026.3.23 says of each."""

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from accgate.engines.wire import reply_of
from accgate.metrics import get
from accgate.metrics.calls import with_tools
from accgate.tasks.tools import calls_answer, parse_reply, reply_json

# Arguments that stand in BFCL's check as right and as wrong beside the city, which is right.
CALLS: dict[str, Any] = json.loads(Path(__file__).with_name("calls.json").read_text(encoding="utf-8"))
TOOLS = [{"type": "function", "function": {"name": "get_weather", "parameters": CALLS["parameters"]}}]
STRICT = "right for BFCL, which takes true as 1"


def made(*calls: tuple[str, Any]) -> str:
    return json.dumps([{"name": name, "arguments": arguments} for name, arguments in calls])


def test_one_call_is_right_as_bfcl_has_it() -> None:
    score, target = get("tool_calls"), with_tools(json.dumps([CALLS["wanted"]]), TOOLS)
    for arguments in CALLS["right"]:
        assert score(made(("get_weather", {"city": "SF"} | arguments)), target) == 100.0, arguments
    wrong = [{"city": "SF"} | arguments for arguments in CALLS["wrong"] + CALLS[STRICT]]
    for arguments in [*wrong, {}, "city", '{"city": "SF"', None, ["SF"]]:
        assert score(made(("get_weather", arguments)), target) == 0.0, arguments
    assert score(made(("get.weather", {"city": "SF"})), target) == 100.0  # where a server takes dots
    assert score(made(("getweather", {"city": "SF"})), target) == 0.0


def test_without_tools_the_allowed_values_give_the_types() -> None:
    score, target = get("tool_calls"), json.dumps({"f": {"n": [3], "x": [1.5, ""], "ok": [True, ""]}})
    right: list[Any] = [{"n": 3}, {"n": 3.0}, {"n": 3, "x": 1.5}, {"n": 3, "ok": True}]
    wrong: list[Any] = [{"n": "3"}, {"n": True}, {"n": 3, "x": "1.5"}, {"n": 3, "ok": 1}, {"n": 3, "y": 1}, {"x": 1.5}]
    assert [score(made(("f", each)), target) for each in right] == [100.0] * len(right)
    assert [score(made(("f", each)), target) for each in wrong] == [0.0] * len(wrong)


def test_several_calls_are_matched_once_each_in_any_order() -> None:
    score = get("tool_calls")
    target = json.dumps([{"f": {"a": [1, 2]}}, {"f": {"a": [1]}}, {"g": {}}])
    calls = [("f", {"a": 2}), ("f", {"a": 1}), ("g", {})]
    for order in itertools.permutations(calls):  # BFCL matches greedily, so that some of these are wrong there
        assert score(made(*order), target) == 100.0
    for wrong in (calls[:2], [*calls, calls[2]], [calls[0], calls[0], calls[2]], [*calls[:2], ("h", {})], []):
        assert score(made(*wrong), target) == 0.0


def test_no_call_is_right_where_none_is_expected() -> None:
    score = get("tool_calls")
    assert (score("[]", "[]"), score(made(("f", {})), "[]")) == (100.0, 0.0)
    assert [score(text, "[]") for text in ("", "No.", "{}", "null", "5", '{"f": 1}', "[5]")] == [0.0] * 7


def test_a_call_that_was_made_is_a_target_too() -> None:
    score = get("tool_calls")
    target = made(("f", {"a": 1, "b": {"c": "x"}, "d": [{"e": 2}]}))
    assert score(target, target) == 100.0
    assert score(made(("f", {"a": 1, "b": {"c": "X."}, "d": [{"e": 2}]})), target) == 100.0
    assert score(made(("f", {"a": 1, "b": {"c": "y"}, "d": [{"e": 2}]})), target) == 0.0
    assert score(made(("f", {"a": 1})), target) == 0.0


def test_exact_strings_are_an_option() -> None:
    exact, loose = get("tool_calls", strings="exact"), get("tool_calls")
    target = json.dumps({"f": {"a": ["April 1"], "b": [["x"], ""], "c": [{"k": ["v"]}, ""]}})
    assert exact(made(("f", {"a": "April 1", "b": ["x"], "c": {"k": "v"}})), target) == 100.0
    for arguments in ({"a": "april 1"}, {"a": "April 1", "b": ["X"]}, {"a": "April 1", "c": {"k": "V"}}):
        answer = made(("f", arguments))
        assert (exact(answer, target), loose(answer, target)) == (0.0, 100.0)


def test_a_target_without_expected_calls_is_an_error() -> None:
    for target in ("Rome", "5", "[5]", "[{}]", '{"f": 1}', '{"f": {"a": 1}}', '[{"f": {"a": ["b"]}}, null]',
                   '{"name": "f", "arguments": [1]}'):  # fmt: skip
        with pytest.raises(ValueError, match=r"is|gives"):
            get("tool_calls")("[]", target)


@pytest.mark.parametrize("arguments", ["{}", "", " ", "null", None, ...], ids=repr)
def test_a_call_without_arguments_is_one_whatever_the_server_writes(arguments: Any) -> None:
    call = {"name": "now"} | ({} if arguments is ... else {"arguments": arguments})
    reply = reply_of({"choices": [{"message": {"content": None, "tool_calls": [{"function": call}]}}]})
    answer = calls_answer(parse_reply(reply_json(reply.text, reply.tool_calls)))
    assert answer == '[{"name": "now", "arguments": {}}]'
    for target in ([{"now": {}}], [{"name": "now", "arguments": {}}], [call] if arguments != "{}" else [{"now": {}}]):
        for each in (answer, json.dumps([{"name": "now"} | ({} if arguments in (..., "{}") else call)])):
            assert get("tool_calls")(each, json.dumps(target)) == 100.0, (each, target)
    assert get("tool_calls")(answer, '[{"now": {"zone": ["UTC"]}}]') == 0.0
