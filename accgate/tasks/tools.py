"""Functions that a model may call.

This module reads their schemas and the calls in a reply, and writes both as a record has them.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from accgate.metrics.calls import arguments_of, function_name
from accgate.metrics.match import json_value
from accgate.tasks.prompts import CannotRender

CHOICES = ("auto", "none", "required")
EXAMPLE = (
    '[{"type": "function", "function": {"name": "...", "description": "...", "parameters": {"type": "object", ...}}}]'
)
# The types of BFCL's function descriptions, as its own `convert_to_tool` makes JSON schema's of them.
TYPES = {
    "integer": "integer", "byte": "integer", "short": "integer", "long": "integer", "Bigint": "integer",
    "number": "number", "float": "number", "double": "number",
    "string": "string", "any": "string", "Any": "string", "char": "string", "String": "string",
    "boolean": "boolean", "bool": "boolean",
    "array": "array", "list": "array", "tuple": "array", "ArrayList": "array", "Array": "array", "Queue": "array",
    "Stack": "array", "dict": "object", "object": "object", "HashMap": "object", "Hashtable": "object",
}  # fmt: skip
# How models write a call; a server that does not read it leaves it in the text.
UNREAD_CALL = re.compile(
    r"<[|｜]?(?:\w+[:｜])?(?:tool|function)[_▁]?(?:call|use)s?[_▁|｜>\s]|<start_function_call>|<function=|<invoke name="  # noqa: RUF001
    r"|<\|python_tag\|>|<\|START_ACTION\|>|<\|action_start\|>|\[TOOL_CALLS\]|✿FUNCTION✿|\bto=functions\.|\bfunctools\["
    r"|^```tool_code|^Action Input:",
    re.IGNORECASE | re.MULTILINE,
)


def tools_of(values: Any) -> tuple[Mapping[str, Any], ...]:
    """Return tools in the form of the OpenAI API.

    BFCL's function descriptions are turned into that form.

    Raises
    ------
    CannotRender
        When they are no list of functions with different names.

    Examples
    --------
    >>> tools_of([{"name": "math.gcd", "parameters": {"type": "dict", "properties": {"a": {"type": "integer"}}}}])[0]
    ... # doctest: +NORMALIZE_WHITESPACE
    {'type': 'function', 'function': {'name': 'math_gcd',
     'parameters': {'type': 'object', 'properties': {'a': {'type': 'integer'}}}}}
    """
    if not isinstance(values, Sequence) or isinstance(values, str) or not values:
        raise CannotRender(f"tools is not a list of functions; write {EXAMPLE}")
    tools = tuple(_tool(value, f"tools[{number}]") for number, value in enumerate(values))
    names = [tool["function"]["name"] for tool in tools]
    if twice := [name for name in names if names.count(name) > 1]:
        raise CannotRender(f"tools has the function {twice[0]!r} twice")
    return tools


def _tool(value: Any, where: str) -> Mapping[str, Any]:
    described = isinstance(value, Mapping) and "function" not in value
    function: Any = value if described else value.get("function") if isinstance(value, Mapping) else None
    if not isinstance(function, Mapping) or not isinstance(name := function.get("name"), str) or not name:
        raise CannotRender(f"{where} is not a function with a name; write {EXAMPLE}")
    parameters = function.get("parameters", {"type": "object", "properties": {}})
    if not isinstance(parameters, Mapping):
        raise CannotRender(f"{where}: the parameters of {name!r} are not a JSON schema")
    if not described:
        return dict(value)
    # Servers take names of letters, digits, _ and - alone; BFCL renames its functions in the same way.
    schema = _json_schema({**parameters, "type": "dict"})
    return {"type": "function", "function": {**function, "name": function_name(name), "parameters": schema}}


def _json_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Turn a schema with BFCL's types into one with JSON schema's."""
    result = {**schema, "type": TYPES.get(str(schema.get("type")), "string")}
    if isinstance(properties := schema.get("properties"), Mapping):
        result["properties"] = {name: _property(value) for name, value in properties.items()}
    if isinstance(items := schema.get("items"), Mapping):
        result["items"] = _json_schema(items)
    return result


def _property(value: Any) -> Any:
    if value is None:  # a loader that gives all rows one shape would show the model arguments of other functions
        raise CannotRender("tools has a property without a schema; upgrade the package datasets, or use a local file")
    if not isinstance(value, Mapping):
        return value
    result = _json_schema(value)
    if value.get("type") == "float":
        result |= {"format": "float", "description": f"{value.get('description', '')} This is a float type value."}
    return result


def choice_fault(choice: Any) -> str | None:
    """Say what is wrong with a tool_choice.

    A choice that servers take gives None.
    """
    named = isinstance(choice, Mapping) and isinstance(choice.get("function"), Mapping)
    function = '{ type = "function", function = { name = "..." } }'
    return None if choice in CHOICES or named else f"is {choice!r}; write one of {', '.join(CHOICES)}, or {function}"


def tool_calls_of(calls: Any, where: str) -> list[dict[str, Any]]:
    """Return the calls of an assistant's message as servers take them.

    Arguments become JSON text.
    """
    if not isinstance(calls, Sequence) or isinstance(calls, str):
        raise CannotRender(f"{where}: tool_calls is not a list")
    result = []
    for call in calls:
        function = call.get("function", call) if isinstance(call, Mapping) else {}
        if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
            raise CannotRender(f"{where}: a call has no function with a name")
        if not isinstance(call.get("id"), str):
            raise CannotRender(f"{where}: the call of {function['name']!r} has no id; a tool's message names it")
        arguments = arguments_of(function.get("arguments"))
        text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
        result.append({"id": call["id"], "type": "function", "function": {"name": function["name"], "arguments": text}})
    return result


@dataclass(frozen=True)
class ToolReply:
    """A reply of a model that has tools.

    `calls` are (name, arguments); arguments may be any value, where a model wrote no object.
    """

    content: str
    calls: tuple[tuple[str, Any], ...] = ()


def reply_json(content: str | None, calls: Sequence[tuple[str, str]]) -> str:
    """Write a reply with its calls, in the form of a record.

    `calls` has pairs of name and arguments, the latter as JSON text. Text stays text, even if it looks like a call: a
    call that a server did not read is none.

    >>> reply_json("", [("weather", '{"city": "Rome"}')])
    '{"content": "", "tool_calls": [{"name": "weather", "arguments": {"city": "Rome"}}]}'
    """
    listed = [{"name": name, "arguments": _arguments(text)} for name, text in calls]
    return json.dumps({"content": content or "", "tool_calls": listed}, ensure_ascii=False)


def _arguments(text: str) -> Any:
    """Return the object in a call's arguments.

    A call without arguments has an empty object. A text that is no JSON object stays text.
    """
    if isinstance(value := arguments_of(text), str):
        (value,) = json_value(text) or (None,)
    return value if isinstance(value, dict) else text


def parse_reply(reply: str) -> ToolReply:
    """Read what `reply_json` wrote.

    A text in another form is the content.

    >>> parse_reply(reply_json("", [("weather", '{"city": "Rome"')]))
    ToolReply(content='', calls=(('weather', '{"city": "Rome"'),))
    """
    try:
        value = json.loads(reply)
        calls = tuple((call["name"], arguments_of(call.get("arguments"))) for call in value["tool_calls"])
        content = value["content"] or ""
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return ToolReply(reply)
    texts = (content, *(name for name, _ in calls))
    is_ours = set(value) == {"content", "tool_calls"} and all(isinstance(text, str) for text in texts)
    return ToolReply(content, calls) if is_ours else ToolReply(reply)


def calls_answer(reply: ToolReply, tools: Sequence[Mapping[str, Any]] = ()) -> str | None:
    """Write the calls as the answer.

    It is a JSON list, empty where the model answers by text. None means that nothing was read: the reply is empty, or
    has a call in its text that the server did not read. Such a call shows by a mark of its own, or names one of `tools`
    as JSON or as a line of Python.

    >>> calls_answer(ToolReply("", (("weather", {"city": "Rome"}),)))
    '[{"name": "weather", "arguments": {"city": "Rome"}}]'
    >>> calls_answer(ToolReply("It is warm.")), calls_answer(ToolReply("")), calls_answer(ToolReply("<tool_call>{"))
    ('[]', None, None)
    """
    if not reply.calls and (not reply.content.strip() or _has_unread_call(reply.content, tools)):
        return None
    return json.dumps([{"name": name, "arguments": arguments} for name, arguments in reply.calls], ensure_ascii=False)


def _has_unread_call(text: str, tools: Sequence[Mapping[str, Any]]) -> bool:
    if UNREAD_CALL.search(text):
        return True
    names = "|".join(re.escape(tool["function"]["name"]).replace("_", "[._]") for tool in tools)
    as_json = rf'"(?:name|tool_name|tool|function)"\s*:\s*"(?:{names})"|"(?:{names})"\s*:\s*\{{'
    as_python = rf"(?m)^[\s\[`]*(?:{names})\(.*\)[\s\],`]*$"
    return bool(names and (re.search(as_json, text) or re.search(as_python, text)))
