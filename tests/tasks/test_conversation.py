"""Tasks that are conversations, with tools or without: what goes to the model, and what a sample's id is of."""

import json
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from accgate.errors import BadInput, KeyFaults
from accgate.tasks.conversation import ROLES, messages_of, transcript
from accgate.tasks.prompts import CannotRender, Scope
from accgate.tasks.task import Task
from accgate.tasks.tools import parse_reply, reply_json, tools_of
from tests.support.cases import refused
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
    return [message.replace(f"{folder}/", "") for message in refused(BadInput, task_of, folder, **keys).messages]


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


NO_CONVERSATION: list[Any] = [
    [], {"role": "user"}, ["Hi"], *([{"role": role, "content": "Hi"}] for role in ("human", "system", "tool")),
    *([{"role": "user", "content": content}] for content in (None, 5)),
    [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": ""}],
    *([{"role": role, "content": "Hi", "tool_calls": [CALL]}] for role in ("assistant", "user")),
    *([{"role": "assistant", "tool_calls": calls}] for calls in (
        [{"name": "f"}], "f", [{"function": {}}], [{"function": 5}])),
]  # fmt: skip


def test_a_row_without_a_conversation_is_an_error(messages: SnapshotAssertion) -> None:
    scopes = [Scope({"m": conversation}) for conversation in NO_CONVERSATION]
    assert [str(refused(CannotRender, messages_of, "{{ m | tojson }}", scope)) for scope in scopes] == messages


USER: dict[str, Any] = {"messages": [{"role": "user", "content": "{{ q }}"}]}
FAULTS: list[dict[str, Any]] = [
    {}, *(USER | more for more in (
        {"prompt": "{{ q }}"}, {"system": "Hi"}, {"mode": "completion"}, {"tool_choice": "auto"},
        {"tools": [TOOL], "tool_choice": "any"}, {"tools": [{"type": "function"}]}, {"tools": [TOOL, TOOL]},
        {"tools": []}, {"metric": "tool_calls"}, {"tools": [TOOL], "metric": "perplexity"},
        {"images": ["q"], "mode": "completion"})),
    {"messages": []}, {"messages": [{"role": "user", "contnet": "x"}]},
    {"prompt": "{{ q }}", "extract": {"with_prefix": True}},
]  # fmt: skip


def test_a_fault_of_the_file_names_its_key(tmp_path: Path, messages: SnapshotAssertion) -> None:
    assert [faults(tmp_path, **keys) for keys in FAULTS] == messages
    for written in ("{{ q", [{"role": "user", "content": "{{ q"}]):
        assert "is not a Jinja template" in faults(tmp_path, messages=written)[0]
    path = write_task(tmp_path, "tools", [ROW], prompt="{{ q }}", tools=[TOOL])
    assert str(refused(KeyFaults, load_task, "tools", file=path, mode="completion")).startswith("mode: is 'completion'")


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
