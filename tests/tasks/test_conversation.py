"""Tasks that are conversations, with tools or without: what goes to the model, and what a sample's id is of."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accgate.errors import BadInput, KeyFaults
from accgate.tasks.conversation import ROLES, messages_of, transcript
from accgate.tasks.prompts import CannotRender, Scope
from accgate.tasks.task import Task
from accgate.tasks.tools import parse_reply, reply_json, tools_of
from tests.support.gates import write_task
from tests.support.loading import load_task

CALL = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Rome"}'}}
WEATHER = {"name": "weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}
TOOL = {"type": "function", "function": WEATHER}
ROW = {
    "q": "Where is it warm?",
    "a": "Rome",
    "chat": [  # as WildChat has it, with columns that say nothing to a model
        {"role": "user", "content": "Hi", "language": "English", "turn_identifier": 1, "tool_calls": None},
        {"role": "assistant", "content": "Hello", "toxic": False},
        {"role": "user", "content": "Where is it warm?"},
    ],
    "tools": [TOOL],
}


def task_of(folder: Path, row: Any = ROW, **keys: Any) -> Task:
    """The task of one row, with these keys and no prompt."""
    path = write_task(folder, "chat", [row], **{"metric": "exact_match", **keys})
    lines = path.read_text().splitlines()
    path.write_text("\n".join(line for line in lines if not line.startswith("prompt") or "prompt" in keys))
    return load_task("chat", file=path)


def faults(folder: Path, **keys: Any) -> list[str]:
    with pytest.raises(BadInput) as caught:
        task_of(folder, **keys)
    return [message.replace(f"{folder}/", "") for message in caught.value.messages]


def test_messages_are_written_out_or_come_from_a_column(tmp_path: Path) -> None:
    written = [{"role": "system", "content": "By {{ a | length }} letters."}, {"role": "user", "content": "{{ q }}"}]
    (sample,) = task_of(tmp_path, messages=written).samples
    assert [message["content"] for message in sample.messages] == ["By 4 letters.", "Where is it warm?"]
    assert (sample.user, sample.system, sample.prefix) == ("", "", "")
    assert sample.prompt == "<system>\nBy 4 letters.\n<user>\nWhere is it warm?"
    (sample,) = task_of(tmp_path, messages="{{ chat | tojson }}").samples
    assert [tuple(message) for message in sample.messages] == [("role", "content")] * 3
    (sample,) = task_of(tmp_path, messages="{{ (chat + [{'role': 'assistant', 'content': 'In'}]) | tojson }}").samples
    assert (len(sample.messages), sample.prefix) == (4, "In")


def test_tool_turns_keep_their_calls_as_servers_take_them(tmp_path: Path) -> None:
    given_object = {**CALL, "function": {"name": "weather", "arguments": {"city": "Rome"}}}
    for call in (CALL, given_object, {"id": "c1", "name": "weather", "arguments": {"city": "Rome"}}):
        row = {**ROW, "chat": [
            {"role": "user", "content": "Hi"}, {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": "18 C"},
        ]}  # fmt: skip
        (sample,) = task_of(tmp_path, row, messages="{{ chat | tojson }}").samples
        assert sample.messages[1] == {"role": "assistant", "content": None, "tool_calls": [CALL]}


NO_CONVERSATION: list[tuple[Any, str]] = [
    ([], "messages gives an empty list"),
    ({"role": "user"}, "not a JSON list; write {{ column | tojson }}"),
    (["Hi"], "messages[0] is 'Hi', not an object with role and content"),
    ([{"role": "human", "content": "Hi"}], "messages[0] has the role 'human'; "),
    ([{"role": "user", "content": None}], "messages[0] has no content"),
    ([{"role": "user", "content": 5}], "messages[0]: content is 5; give text"),
    ([{"role": "system", "content": "Hi"}], "the last message has role system"),
    ([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": ""}], "has no text to continue"),
    ([{"role": "assistant", "content": "Hi", "tool_calls": [CALL]}], "has no text to continue"),
    ([{"role": "user", "content": "Hi", "tool_calls": [CALL]}], "only the assistant calls tools"),
    ([{"role": "tool", "content": "Hi"}], "has no tool_call_id"),
    ([{"role": "assistant", "tool_calls": [{"name": "f"}]}], "the call of 'f' has no id"),
    ([{"role": "assistant", "tool_calls": "f"}], "tool_calls is not a list"),
    *(([{"role": "assistant", "tool_calls": [{"function": each}]}], "a call has no function") for each in ({}, 5)),
]


def test_a_row_without_a_conversation_is_an_error() -> None:
    for messages, text in NO_CONVERSATION:
        with pytest.raises(CannotRender) as caught:
            messages_of("{{ m | tojson }}", Scope({"m": messages}))
        assert text in str(caught.value)


def test_a_fault_of_the_file_names_its_key(tmp_path: Path) -> None:
    user = [{"role": "user", "content": "{{ q }}"}]
    cases: list[tuple[dict[str, Any], str]] = [
        ({}, "prompt: is missing"),
        ({"messages": user, "prompt": "{{ q }}"}, "prompt: is set together with messages"),
        ({"messages": user, "system": "Hi"}, "system: is set together with messages"),
        ({"messages": user, "mode": "completion"}, 'messages: needs mode = "chat"'),
        ({"messages": []}, "messages: is not a list of messages"),
        ({"messages": "{{ q"}, "messages: is not a Jinja template"),
        ({"messages": [{"role": "user", "content": "{{ q"}]}, "messages: has a message whose content is not a Jinja"),
        ({"messages": [{"role": "user", "contnet": "x"}]}, "messages: has a message with the key 'contnet'; did you"),
        ({"messages": user, "tool_choice": "auto"}, "tool_choice: is set without tools"),
        ({"messages": user, "tools": [TOOL], "tool_choice": "any"}, "tool_choice: is 'any'; write one of auto, none"),
        ({"messages": user, "tools": [{"type": "function"}]}, "tools: tools[0] is not a function with a name"),
        ({"messages": user, "tools": [TOOL, TOOL]}, "tools: tools has the function 'weather' twice"),
        ({"messages": user, "tools": []}, "tools: tools is not a list of functions"),
        ({"messages": user, "metric": "tool_calls"}, 'tools: is missing; metric = "tool_calls"'),
        ({"messages": user, "tools": [TOOL], "metric": "perplexity"}, "tools: is set together with metric"),
        ({"messages": user, "images": ["q"], "mode": "completion"}, "images: needs"),
        ({"prompt": "{{ q }}", "extract": {"with_prefix": True}}, "extract.with_prefix: needs messages"),
    ]
    for keys, text in cases:
        assert any(text in fault for fault in faults(tmp_path, **keys)), (keys, text, faults(tmp_path, **keys))
    path = write_task(tmp_path, "tools", [ROW], prompt="{{ q }}", tools=[TOOL])
    with pytest.raises(KeyFaults, match="mode: is 'completion', but the task is a conversation or has tools"):
        load_task("tools", file=path, mode="completion")


def test_a_target_that_expects_no_calls_names_its_row(tmp_path: Path) -> None:
    (fault,) = faults(tmp_path, messages="{{ chat | tojson }}", tools="{{ tools | tojson }}", metric="tool_calls")
    assert fault.startswith("chat.toml: row 1 of the dataset: the target is 'Rome', which is not JSON; write {")


MESSAGE = st.fixed_dictionaries(
    {"role": st.sampled_from(ROLES), "content": st.text(st.sampled_from("<>\\\nuser{}a "), max_size=12) | st.none()},
    optional={"name": st.text(st.sampled_from('<>"\nab'), max_size=3), "tool_calls": st.just([CALL])},
)


def parsed(text: str) -> list[dict[str, Any]]:
    """The messages that a transcript was written from."""
    messages: list[dict[str, Any]] = []
    for line in text.split("\n"):
        if line.startswith("<"):
            role, _, rest = line[1:-1].partition(" ")
            messages.append({"role": role, "content": None, **(json.loads(rest) if rest else {})})
        else:
            before, content = messages[-1]["content"], line.removeprefix("\\")
            messages[-1]["content"] = content if before is None else f"{before}\n{content}"
    return messages


@given(st.lists(MESSAGE, min_size=1, max_size=4))
def test_no_two_conversations_have_one_text(messages: list[dict[str, Any]]) -> None:
    assert parsed(transcript(tuple(messages))) == messages


def test_ids_are_of_the_whole_conversation_and_its_tools(tmp_path: Path) -> None:
    user = {"role": "user", "content": "{{ q }}"}
    described = {**TOOL, "function": {**WEATHER, "description": "Weather"}}
    # A tool's keys stay in the order of the dataset, which is no part of the fingerprint.
    turned = {"function": dict(reversed(WEATHER.items())), "type": "function"}
    tasks = [
        task_of(tmp_path, **keys)
        for keys in (
            {"messages": [user]},
            {"prompt": "{{ q }}"},
            *({"messages": [{"role": role, "content": "Hi"}, user]} for role in ("system", "user")),
            {"messages": [user, {"role": "assistant", "content": "In"}]},
            *({"messages": [user], "tools": [tool]} for tool in (TOOL, described, turned)),
            {"messages": [user], "tools": [TOOL], "tool_choice": "required"},
        )
    ]
    assert len({task.samples[0].id for task in tasks}) == len(tasks)
    assert len({task.fingerprint["prompt"] for task in tasks}) == len(tasks) - 1


def test_a_prefix_in_what_is_read_changes_the_fingerprint(tmp_path: Path) -> None:
    tasks = (task_of(tmp_path, messages="{{ chat | tojson }}", extract__with_prefix=each) for each in (False, True))
    plain, joined = (task.fingerprint["extract"] for task in tasks)
    assert plain != joined


def test_images_and_attacks_change_the_last_message_of_the_user(tmp_path: Path) -> None:
    keys = {"messages": "{{ chat | tojson }}", "attack": [{"kind": "distractor", "text": "Look!"}]}
    (sample,) = task_of(tmp_path, **keys).samples
    (changed,) = sample.attacked
    assert changed == (*sample.messages[:2], {"role": "user", "content": "Where is it warm? Look!"})
    written = [{"role": "user", "content": "Hi"}, {"role": "user", "content": "{{ q }}"}]
    field = [{"kind": "case", "field": "q", "style": "upper", "rate": 1.0}]
    (sample,) = task_of(tmp_path, messages=written, attack=field).samples
    assert sample.attacked[0][1] == {"role": "user", "content": "WHERE IS IT WARM?"}
    called = [{"role": "assistant", "tool_calls": [CALL]}, {"role": "tool", "tool_call_id": "c1", "content": "x"}]
    (fault,) = faults(tmp_path, messages=called, attack=keys["attack"])
    assert fault.endswith("row 1 of the dataset: the conversation has no message of the user")


def test_the_answer_is_the_reply_or_the_reply_with_its_prefix(tmp_path: Path) -> None:
    keys = {"messages": [{"role": "user", "content": "{{ q }}"}, {"role": "assistant", "content": '{"city": "'}]}
    path = {"extract__json_path": "$.city"}
    reply = 'Rome"}'
    whole, inner = task_of(tmp_path, **keys), task_of(tmp_path, **keys, **path)
    together = task_of(tmp_path, **keys, **path, extract__with_prefix=True)
    assert whole.answer(reply, whole.samples[0]) == 'Rome"}'
    assert inner.answer(reply, inner.samples[0]) is None
    assert together.answer(reply, together.samples[0]) == "Rome"


BFCL: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {  # a property as BFCL describes it, and as JSON schema
    "points": ({"type": "array", "items": {"type": "tuple", "items": {"type": "float"}}},
               {"type": "array", "items": {"type": "array", "items": {"type": "number"}}}),
    "scale": ({"type": "float", "description": "S."},
              {"type": "number", "format": "float", "description": "S. This is a float type value."}),
    "by": ({"type": "any", "description": "B."}, {"type": "string", "description": "B."}),
    "options": ({"type": "dict", "properties": {"deep": {"type": "boolean"}}},
                {"type": "object", "properties": {"deep": {"type": "boolean"}}}),
}  # fmt: skip


def test_descriptions_of_bfcl_become_json_schemas() -> None:
    # as `convert_to_tool` of bfcl-eval 2026.3.23 makes it for ModelStyle.OPENAI_COMPLETIONS
    theirs, ours = ({name: pair[side] for name, pair in BFCL.items()} for side in (0, 1))
    about = {"description": "Area.", "name": "geo.area"}
    (tool,) = tools_of([about | {"parameters": {"type": "dict", "required": ["points"], "properties": theirs}}])
    parameters = {"type": "object", "required": ["points"], "properties": ours}
    assert tool == {"type": "function", "function": about | {"name": "geo_area", "parameters": parameters}}
    assert tools_of([TOOL]) == (TOOL,)


@given(
    st.text(max_size=20),
    st.lists(st.tuples(st.text(max_size=5), st.text(max_size=9) | st.just('{"a": 1}')), max_size=3),
)
def test_a_reply_in_a_record_gives_back_what_was_said(content: str, calls: list[tuple[str, str]]) -> None:
    said = parse_reply(reply_json(content, calls))
    assert (said.content, [name for name, _ in said.calls]) == (content, [name for name, _ in calls])
    forged = reply_json("", [("weather", "{}")])
    assert parse_reply(reply_json(forged, [])).calls == ()
