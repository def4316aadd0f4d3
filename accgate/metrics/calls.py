"""Calls of functions, by name and arguments.

The rules are those of `ast_checker` of the Berkeley Function Calling Leaderboard (package bfcl-eval, Python
categories); docs/metrics.md lists the differences. Patil et al. 2025, "The Berkeley Function Calling Leaderboard
(BFCL)", ICML.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from accgate.metrics.match import RIGHT, WRONG, same
from accgate.metrics.metric import builders_of
from accgate.metrics.questions import best_pairs

CALLS = "tool_calls"
CALLING = 2  # raise it where calls are compared otherwise than before; part of such a task's fingerprint
Strings = Literal["loose", "exact"]
Text = Callable[[str], str]
OMITTED = ""  # among an argument's allowed values: it may be left out
PUNCTUATION = re.compile(r"[ \,\.\/\-\_\*\^]")
TYPES: Mapping[str, type] = {
    "string": str, "integer": int, "number": float, "boolean": bool, "array": list, "object": dict,
}  # fmt: skip
FORM = 'write {"function": {"argument": [allowed values]}}, a list of such, or [] where no call is right'


@dataclass(frozen=True)
class Call:
    """A call that is expected.

    `allowed` has the allowed values of each argument of the function.
    """

    name: str
    allowed: Mapping[str, Sequence[Any]]


def loose(text: str) -> str:
    """Strip a text of what BFCL does not compare.

    Case, spaces and some punctuation go, and one kind of quote stands for both.

    >>> loose("April 1, 2024") == loose("april 1 2024"), loose("it's")
    (True, 'it"s')
    """
    return PUNCTUATION.sub("", text).lower().replace("'", '"')


def with_tools(target: str, tools: Sequence[Mapping[str, Any]]) -> str:
    """Add to a target the schemas of the functions it may be checked by.

    A target that has its own schemas stays as it is.
    """
    value = json.loads(target)
    if _has_tools(value):
        return target
    return json.dumps({"calls": value if isinstance(value, list) else [value], "tools": list(tools)})


def _has_tools(value: Any) -> bool:
    return isinstance(value, dict) and set(value) == {"calls", "tools"} and isinstance(value["calls"], list)


def expected_calls(target: str) -> tuple[list[Call], Mapping[str, Mapping[str, Any]]]:
    """Return the expected calls of a target, and its tools' parameters by name.

    Raises
    ------
    ValueError
        When the target says no calls: why, and the fix.

    Examples
    --------
    >>> expected_calls('[{"weather": {"city": ["Rome"]}}]')
    ([Call(name='weather', allowed={'city': ['Rome']})], {})
    """
    try:
        value = json.loads(target)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"is {target[:80]!r}, which is not JSON; {FORM}") from error
    tools: Any = []
    if _has_tools(value):
        value, tools = value["calls"], value["tools"]
    calls = []
    for each in value if isinstance(value, list) else [value]:
        if not isinstance(each, dict) or not each:
            raise ValueError(f"is {target[:80]!r}, which names no calls; {FORM}")
        calls += [_exact_call(each)] if isinstance(each.get("name"), str) else [_call(*item) for item in each.items()]
    functions = (tool.get("function", tool) for tool in tools)
    return calls, {function_name(function["name"]): function.get("parameters") or {} for function in functions}


def _call(name: str, allowed: Any) -> Call:
    if not isinstance(allowed, dict) or not all(isinstance(values, list) for values in allowed.values()):
        raise ValueError(f"gives {name!r} no lists of allowed values; {FORM}")
    return Call(function_name(name), allowed)


def _exact_call(call: Mapping[str, Any]) -> Call:
    """Return the expected call of one that was made.

    Each argument may have the value of that call alone.
    """
    arguments = arguments_of(call.get("arguments"))
    if isinstance(arguments, str):
        arguments = json.loads(arguments)
    if not isinstance(arguments, dict):
        raise ValueError(f"gives {call['name']!r} arguments that are not an object; {FORM}")
    return Call(function_name(call["name"]), {key: [_as_allowed(value)] for key, value in arguments.items()})


def _as_allowed(value: Any) -> Any:
    """Put a value into the form of allowed ones.

    In that form an object has a list of values for each of its keys.
    """
    if isinstance(value, dict):
        return {key: [each] for key, each in value.items()}
    if isinstance(value, list):
        return [_as_allowed(each) for each in value]
    return value


def function_name(name: str) -> str:
    """Write a function's name as servers take it, without dots.

    BFCL sends names to servers in this form.

    >>> function_name("math.gcd")
    'math_gcd'
    """
    return name.replace(".", "_")


def arguments_of(value: Any) -> Any:
    """Read the arguments of a call.

    None, "" and "null" are what servers write for a call without arguments.

    >>> [arguments_of(value) for value in (None, "", " ", "null", {"city": "Rome"})]
    [{}, {}, {}, {}, {'city': 'Rome'}]
    """
    is_none = value is None or (isinstance(value, str) and value.strip() in ("", "null"))
    return {} if is_none else value


def tool_calls(answer: str, target: str, *, strings: Strings = "loose") -> float:
    """Score 100 where the answer makes the target's calls, and no other.

    Calls may come in any order.

    >>> wanted = '[{"weather": {"city": ["Rome", "Roma"], "unit": ["C", ""]}}]'
    >>> tool_calls('[{"name": "weather", "arguments": {"city": "rome"}}]', wanted)
    100.0
    >>> tool_calls('[{"name": "weather", "arguments": {"city": "Oslo"}}]', wanted), tool_calls("[]", wanted)
    (0.0, 0.0)
    """
    expected, schemas = expected_calls(target)
    made = _calls_made(answer)
    if made is None or len(made) != len(expected):
        return WRONG
    text: Text = loose if strings == "loose" else str
    fits = [[float(_fits(call, *each, schemas.get(call.name), text)) for each in made] for call in expected]
    return RIGHT if not fits or best_pairs(fits) == len(fits) else WRONG


def _calls_made(answer: str) -> list[tuple[str, Any]] | None:
    """Return the calls of an answer as (name, arguments).

    An answer in another form gives None.
    """
    try:
        value = json.loads(answer)
        calls = value if isinstance(value, list) else None
        return calls and [(function_name(call["name"]), arguments_of(call.get("arguments"))) for call in calls]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def _fits(call: Call, name: str, arguments: Any, schema: Mapping[str, Any] | None, text: Text) -> bool:
    """Tell whether a call has the function's name and allowed values.

    The call must also have every argument that the function requires.
    """
    if name != call.name or not isinstance(arguments, dict):
        return False
    properties = None if schema is None else schema.get("properties") or {}
    required = [] if schema is None else schema.get("required") or []
    missing = [key for key, allowed in call.allowed.items() if key not in arguments and OMITTED not in allowed]
    if missing or any(key not in arguments for key in required):
        return False
    for key, value in arguments.items():
        if key not in call.allowed or (properties is not None and key not in properties):
            return False
        described = (properties or {}).get(key)
        if not _is_allowed(value, call.allowed[key], described if isinstance(described, dict) else {}, text):
            return False
    return True


def _is_allowed(value: Any, allowed: Sequence[Any], described: Mapping[str, Any], text: Text) -> bool:
    """Tell whether one value is of the described type and allowed.

    Where the allowed values are of another type than the description, they stand for a variable and are compared as
    they are.
    """
    of_allowed = next((type(each) for each in allowed if each != OMITTED), None)
    wanted = _type(described) or (float if of_allowed is int and type(value) is float else of_allowed) or type(value)
    if wanted is float and type(value) is int:
        value = float(value)
    if type(value) is not wanted:
        return type(value) is of_allowed and _among(value, allowed)
    items = described.get("items")
    inner = _type(items) if wanted is list and isinstance(items, dict) else None
    if inner is not None and isinstance(value, list) and not _has_inner_types(value, allowed, inner):
        return False
    if of_allowed is not None and of_allowed is not wanted:
        return _among(value, allowed)
    return _same_value(value, allowed, text)


def _type(described: Any) -> type | None:
    kind = described.get("type") if isinstance(described, dict) else None
    return TYPES.get(kind) if isinstance(kind, str) else None


def _has_inner_types(value: Sequence[Any], allowed: Sequence[Any], inner: type) -> bool:
    """Tell whether every item is of the described type.

    Items may also have the type with which one of the allowed lists begins.
    """
    for each in allowed:
        first = next((type(item) for item in each if item != OMITTED), None) if isinstance(each, list) else None
        if not isinstance(each, list) or all(type(item) in (inner, first) for item in value):
            return True
    return False


def _same_value(value: Any, allowed: Sequence[Any], text: Text) -> bool:
    if isinstance(value, str):
        return text(value) in [text(each) for each in allowed if isinstance(each, str)]
    if isinstance(value, dict):
        return any(_same_object(value, each, text) for each in allowed if isinstance(each, dict))
    if isinstance(value, list):
        lists = [[] if each == OMITTED else each for each in allowed if isinstance(each, (list, str))]
        return any(_same_list(value, each, text) for each in lists)
    return _among(value, allowed)


def _same_object(value: Mapping[str, Any], allowed: Mapping[str, Any], text: Text) -> bool:
    """Tell whether an object has allowed values, a list of them for each key."""
    if any(key not in value and OMITTED not in options for key, options in allowed.items()):
        return False
    simple = partial(_simple, text=text)
    return all(key in allowed and _among(simple(each), map(simple, allowed[key])) for key, each in value.items())


def _same_list(value: Sequence[Any], allowed: Sequence[Any], text: Text) -> bool:
    if len(value) != len(allowed):
        return False
    if value and all(isinstance(each, dict) for each in value):
        pairs = zip(value, allowed, strict=True)
        return all(isinstance(other, dict) and _same_object(each, other, text) for each, other in pairs)
    return all(same(_simple(each, text), _simple(other, text)) for each, other in zip(value, allowed, strict=True))


def _simple(value: Any, text: Text) -> Any:
    return text(value) if isinstance(value, str) else value


def _among(value: Any, allowed: Iterable[Any]) -> bool:
    return any(same(value, each) for each in allowed)


METRICS = builders_of(tool_calls)
