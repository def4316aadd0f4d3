"""Tables of a TOML file as frozen dataclasses.

Types are strict, and every fault is in words.
"""

import dataclasses
import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Annotated, Any, TypeVar, get_args, get_type_hints

from pydantic import AllowInfNan, ConfigDict, Field, Strict, TypeAdapter, ValidationError

from accgate.errors import Key, KeyFaults, key_text
from accgate.inputs.toml import TomlFile, tomllib
from accgate.text import clip, closest, nearest

T = TypeVar("T")

# TOML has types, so nothing is coerced: "0.05" is text, true is not 1.
CLOSED = ConfigDict(extra="forbid", defer_build=True)  # most runs read few of the tables
Text = Annotated[str, Strict()]
Number = Annotated[float, Strict(), AllowInfNan(False)]
Whole = Annotated[int, Strict()]
Flag = Annotated[bool, Strict()]
Count = Annotated[int, Strict(), Field(ge=1)]
Texts = tuple[Text, ...]


def setting(default: Any, description: str, **limits: Any) -> Any:
    """Return the field of a table that may be left out.

    `limits` are those of pydantic's Field.
    """
    return Field(default=default, description=description, **limits)


# What pydantic calls a fault, and what to write instead.
LIMITS = {
    "greater_than": "above {gt:g}",
    "greater_than_equal": "from {ge:g}",
    "less_than": "below {lt:g}",
    "less_than_equal": "up to {le:g}",
    "finite_number": "that is finite",
}
WANTED = {
    "float_type": "a number",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "string_type": "text in quotes",
    "bool_type": "true or false",
    "dict_type": "a table",
    "dataclass_type": "a table",
    "tuple_type": "an array",
    "list_type": "an array",
}


def parse_table_of(file: TomlFile, shape: type[T]) -> T:
    """Read a whole file as a dataclass of type `shape`.

    Raises
    ------
    BadInput
        With one message for each fault, all at once.
    """
    with file.locating():
        return parse_table(file.data, shape)


def setting_text(name: str, value: Any, shape: type[Any] | None = None) -> str:
    """Write a key and its value as TOML, for people to write.

    The text is empty where no file, or no table of this `shape`, can have the value.

    >>> setting_text("files", ["a.csv"]), setting_text("limit", None)
    ('files = ["a.csv"]', '')
    """
    text = f"{name} = {_inline(value)}"
    try:
        table = tomllib.loads(text)
        if shape is not None:
            parse_table(table, shape)
    except (ValueError, KeyFaults):  # tomllib's own fault is a ValueError
        return ""
    return text


def _inline(value: Any) -> str:
    if isinstance(value, Mapping):
        pairs = (f"{key_text((name,))} = {_inline(each)}" for name, each in value.items())
        return f"{{ {', '.join(pairs)} }}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_inline, value))}]"
    return json.dumps(value, ensure_ascii=False)


def parse_table(table: Mapping[str, Any], shape: type[T], key: Key = ()) -> T:
    """Read a table as a dataclass of type `shape`.

    Raises
    ------
    KeyFaults
        With one fault for each value that cannot be used, all at once; their keys begin with `key`.
    """
    try:
        return adapter_of(shape).validate_python(dict(table))
    except ValidationError as error:
        faults = _causes([dict(f) for f in error.errors(include_url=False, include_context=True)], shape)
        raise KeyFaults(*((key + tuple(f["loc"]), _fault_text(f, shape)) for f in faults)) from error


def first_fault(error: ValidationError) -> str:
    """Return the place of the first fault that pydantic found, and its message."""
    first = error.errors(include_url=False)[0]
    return f"{'.'.join(map(str, first['loc'])) or 'the whole'}: {first['msg']}"


def adapter_of(shape: type[T]) -> TypeAdapter[T]:
    """Return what reads a dataclass of this type, made once.

    Making it takes longer than reading with it.
    """
    return _adapter(shape)  # type: ignore[arg-type] # which mypy does not see to be hashable


@cache
def _adapter(shape: Any) -> TypeAdapter[Any]:
    return TypeAdapter(shape)


def _causes(faults: Sequence[Mapping[str, Any]], shape: Any) -> list[Mapping[str, Any]]:
    """Leave out missing keys that are only misspelt.

    One mistake has one message.
    """
    unknown = [fault["loc"] for fault in faults if fault["type"] == "unexpected_keyword_argument"]
    meant = {(*loc[:-1], closest(str(loc[-1]), _known_keys(shape, loc[:-1]))) for loc in unknown}
    return [fault for fault in faults if fault["type"] != "missing" or tuple(fault["loc"]) not in meant]


def _fault_text(fault: Mapping[str, Any], shape: Any) -> str:
    """Write one fault in words, with the fix."""
    kind, value, context = fault["type"], fault["input"], fault.get("ctx", {})
    if kind == "unexpected_keyword_argument":
        return f"unknown key; {nearest(str(fault['loc'][-1]), _known_keys(shape, fault['loc'][:-1]))}"
    if kind == "missing":
        return f"is missing; {_description(shape, fault['loc'], 'add it: {}') or 'add it'}"
    if kind == "literal_error":
        words = re.findall(r"'([^']*)'", str(context["expected"]))
        hint = nearest(value, words) if isinstance(value, str) else ""
        listed = "" if hint.startswith("known") else hint
        return f"is {value!r}; write one of {', '.join(words)}{'; ' + listed if listed else ''}"
    if kind in LIMITS:
        limits = _description(shape, fault["loc"], " ({})")  # both ends belong in the message
        return f"is {value}; write a number {LIMITS[kind].format(**context)}{limits}"
    if kind in WANTED:
        return f"is {clip(repr(value), 60)}, {_toml_kind(value)}; write {WANTED[kind]}"
    message = str(fault["msg"]).removeprefix("Value error, ")
    return message if kind == "value_error" else f"is {clip(repr(value), 60)}: {message}"


def _toml_kind(value: Any) -> str:
    kinds = {
        bool: "a boolean",
        int: "a whole number",
        float: "a number",
        str: "text",
        dict: "a table",
        list: "an array",
    }
    return kinds.get(type(value), "a date or time")


def _field_type(shape: Any, loc: Sequence[str | int]) -> Any:
    """Return the dataclass at `loc`, through tables of tables, if any."""
    for part in loc:
        if dataclasses.is_dataclass(shape):
            hints = get_type_hints(shape)
            shape = hints.get(str(part))
        else:
            shape = next((a for a in reversed(get_args(shape)) if a is not type(None) and a is not Ellipsis), None)
        options = [a for a in get_args(shape) if dataclasses.is_dataclass(a)]
        if not dataclasses.is_dataclass(shape) and len(options) == 1 and type(None) in get_args(shape):
            shape = options[0]
    return shape


def _known_keys(shape: Any, loc: Sequence[str | int]) -> list[str]:
    table = _field_type(shape, loc)
    return [field.name for field in dataclasses.fields(table)] if dataclasses.is_dataclass(table) else []


def _description(shape: Any, loc: Sequence[str | int], form: str) -> str:
    """Put the description of the field at `loc`, if any, into `form`."""
    info = getattr(_field_type(shape, loc[:-1]), "__pydantic_fields__", {}).get(str(loc[-1]))
    return form.format(info.description) if info is not None and info.description else ""
