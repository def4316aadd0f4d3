"""A conversation and its tools.

Both are read from templates or a dataset's column, and written as the text from which a sample's id is computed.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from accgate.engines.base import prefix_of
from accgate.errors import Key
from accgate.tasks.prompts import CannotRender, Scope, json_list, render, template_fault
from accgate.tasks.tools import choice_fault, tool_calls_of, tools_of
from accgate.text import clip, nearest

Messages = tuple[Mapping[str, Any], ...]
ROLES = ("system", "developer", "user", "assistant", "tool")
WRITTEN = ("role", "content", "name", "tool_calls", "tool_call_id")  # what of a message goes to the model
EXAMPLE = 'messages = [{ role = "user", content = "{{ question }}" }], or "{{ conversation | tojson }}"'


def conversation_faults(messages: Any, tools: Any, tool_choice: Any) -> Iterator[tuple[Key, str]]:
    """Yield the faults of the three keys that show before a row is read.

    Each comes with its key.
    """
    for key, value in (("messages", messages), ("tools", tools)):
        if isinstance(value, str) and (fault := template_fault(value)):
            yield (key,), fault
    if messages is not None and not isinstance(messages, str):
        yield from _written_faults(messages)
    if tools is not None and not isinstance(tools, str):
        try:
            tools_of(tools)
        except CannotRender as error:
            yield ("tools",), str(error)
    if tool_choice is not None:
        if tools is None:
            yield ("tool_choice",), "is set without tools; add tools, a list of functions"
        elif fault := choice_fault(tool_choice):
            yield ("tool_choice",), fault


def _written_faults(messages: Any) -> Iterator[tuple[Key, str]]:
    if not isinstance(messages, Sequence) or not messages or not all(isinstance(each, Mapping) for each in messages):
        yield ("messages",), f"is not a list of messages; write {EXAMPLE}"
        return
    for message in messages:
        for key, value in message.items():
            if key not in WRITTEN:
                yield ("messages",), f"has a message with the key {key!r}; {nearest(str(key), WRITTEN)}"
            elif isinstance(value, str) and (fault := template_fault(value)):
                yield ("messages",), f"has a message whose {key} {fault}"


def messages_of(written: Any, scope: Scope) -> Messages:
    """Return the messages of a row.

    They are templates that are filled one by one, or the JSON list that one template gives. A dataset's messages lose
    all that no model is shown, as dates and languages.

    Raises
    ------
    CannotRender
        When a template fails, or gives what is no conversation that a model can answer.

    Examples
    --------
    >>> messages_of("{{ chat | tojson }}", Scope({"chat": [{"role": "user", "content": "Hi", "turn": 1}]}))
    ({'role': 'user', 'content': 'Hi'},)
    """
    if isinstance(written, str):
        values = json_list("messages", render(written, scope, in_order=True))
    else:
        values = [_fill(message, scope) for message in written]
    messages = tuple(_message(value, f"messages[{number}]") for number, value in enumerate(values))
    if not messages:
        raise CannotRender("messages gives an empty list; a conversation needs a message")
    last = messages[-1]
    if last["role"] in ("system", "developer"):
        raise CannotRender(f"the last message has role {last['role']}; a model answers a user's or a tool's message")
    if last["role"] == "assistant" and not prefix_of(messages):
        raise CannotRender("the last message is the assistant's and has no text to continue; leave it out")
    return messages


def _fill(message: Mapping[str, Any], scope: Scope) -> dict[str, Any]:
    filled = dict(message)
    for key, value in message.items():
        if isinstance(value, str):
            filled[key] = render(value, scope, in_order=key == "tool_calls")
    if isinstance(filled.get("tool_calls"), str):
        filled["tool_calls"] = json_list("tool_calls", filled["tool_calls"])
    return filled


def _message(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise CannotRender(f"{where} is {clip(repr(value), 80)}, not an object with role and content")
    message = {key: value[key] for key in WRITTEN if value.get(key) is not None}
    role = message.get("role")
    if role not in ROLES:
        raise CannotRender(f"{where} has the role {role!r}; {nearest(str(role), ROLES)}")
    if calls := message.pop("tool_calls", None):
        if role != "assistant":
            raise CannotRender(f"{where} has tool_calls and the role {role}; only the assistant calls tools")
        message = {"content": None, **message, "tool_calls": tool_calls_of(calls, where)}
    for key in ("content", "name", "tool_call_id"):
        if not isinstance(message.get(key, ""), str) and not (key == "content" and calls):
            fix = "give text, and name columns of pictures in `images`"
            raise CannotRender(f"{where}: {key} is {clip(repr(message[key]), 80)}; {fix}")
    if "content" not in message:
        raise CannotRender(f"{where} has no content")
    if role == "tool" and "tool_call_id" not in message:
        raise CannotRender(f"{where} has no tool_call_id; write the id of the call that it answers")
    return message


def last_user(messages: Messages) -> int:
    """Return the place of the user's last message.

    Raises CannotRender where the user says nothing.
    """
    places = [place for place, message in enumerate(messages) if message["role"] == "user"]
    if not places:
        raise CannotRender("the conversation has no message of the user")
    return places[-1]


def transcript(messages: Messages, tools: Sequence[Mapping[str, Any]] = (), tool_choice: Any = None) -> str:
    r"""Write the conversation as one text that no other conversation has.

    Each message begins with a line that has its role and all fields but its content. A line of content that could be
    taken for such a line begins with a backslash.

    >>> print(transcript(({"role": "user", "content": "Hi\n<assistant>"}, {"role": "assistant", "content": "Well,"})))
    <user>
    Hi
    \<assistant>
    <assistant>
    Well,
    """
    parts = [_head("tools", {"tool_choice": tool_choice, "tools": list(tools)})] if tools else []
    for message in messages:
        rest = {key: value for key, value in message.items() if key not in ("role", "content")}
        parts.append(_head(message["role"], rest))
        if message["content"] is not None:
            lines = message["content"].split("\n")
            parts += [f"\\{line}" if line.startswith(("<", "\\")) else line for line in lines]
    return "\n".join(parts)


def _head(role: str, rest: Mapping[str, Any]) -> str:
    return f"<{role} {json.dumps(rest, ensure_ascii=False)}>" if rest else f"<{role}>"
