"""The metrics by name, with their options, bounds and direction."""

from __future__ import annotations

import math
import typing
from collections.abc import Mapping
from functools import cache
from typing import Any, Literal, get_args, get_origin

from accgate.metrics.metric import BadOption, Entry, Metric, UnknownMetric
from accgate.text import nearest


@cache
def entries() -> Mapping[str, Entry]:
    """Every metric of accgate's own."""
    from accgate.metrics.families import FAMILIES

    return {entry.name: entry for family in FAMILIES for entry in family}


def names() -> tuple[str, ...]:
    """Names of all metrics, sorted."""
    return tuple(sorted(entries()))


def get(name: str, **options: Any) -> Metric:
    """The metric of this name, with these options.

    Raises
    ------
    UnknownMetric
        When there is none.
    BadOption
        When an option is not the metric's, or not in its range.

    Examples
    --------
    >>> get("numeric_match")("1,234.0", "1234")
    100.0
    """
    known = entries()
    if name not in known:
        raise UnknownMetric(f"no metric {name!r}; {nearest(name, known)}")
    entry = known[name]
    checked = {option: checked_option(entry, option, value) for option, value in options.items()}
    try:
        return entry.build(**checked)
    except ValueError as error:
        raise BadOption(f"{name}: {error}") from error


def checked_option(entry: Entry, option: str, value: Any) -> Any:
    """The option's value, of the type its parameter declares.

    Raises
    ------
    BadOption
        For an option that the entry does not have, and for a value of another type.
    """
    if option not in entry.options:
        hint = nearest(option, entry.options) if entry.options else "it has none"
        raise BadOption(f"is no option of {entry.name}; {hint}", option)
    kind = typing.get_type_hints(entry.build)[option]
    if get_origin(kind) is Literal:
        if value not in get_args(kind):
            raise BadOption(f"is {value!r}; give one of {', '.join(map(repr, get_args(kind)))}", option)
    elif kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    elif not _is_a(value, kind):
        raise BadOption(f"is {value!r}; give {_WORDS.get(kind, str(kind))}", option)
    if isinstance(value, float) and not math.isfinite(value):
        raise BadOption(f"is {value!r}; give a finite number", option)
    return value


_WORDS = {int: "a whole number", float: "a number", str: "text", bool: "true or false"}


def _is_a(value: Any, kind: Any) -> bool:
    choices = get_args(kind) or (kind,)  # of `float | None` any of the two
    return any(
        isinstance(value, choice) and (choice is bool or not isinstance(value, bool))
        for choice in choices
        if isinstance(choice, type)
    )
