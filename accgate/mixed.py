"""What differs between runs that should be alike, in words: which key, which values, in which places."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from accgate.scores import shown

LONGEST = 80  # characters of a value that are shown
NOT_SET = object()


def mixed(about: str, sources: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """A message for every key whose value is not the same in all places, tables within taken apart.

    >>> mixed("m / sums", {"shard-1": {"sampling": {"temperature": 0.0}}, "shard-2": {"sampling": {}}})
    ['m / sums: sampling.temperature is 0.0 in shard-1, not set in shard-2; evaluate every shard alike']
    """
    places = list(sources)
    faults = []
    for key, values in differences(list(sources.values())):
        where: dict[str, list[str]] = {}
        for place, value in zip(places, values, strict=True):
            where.setdefault(_text(value), []).append(place)
        found = ", ".join(f"{_short(text)} in {shown(those)}" for text, those in where.items())
        faults.append(f"{about}: {key} is {found}; evaluate every shard alike")
    return faults


def said(value: Any) -> str:
    """A value for people, in as many characters as there is room for.

    >>> said("q4_0"), said(NOT_SET), said([1, True])
    ('q4_0', 'not set', '[1, true]')
    """
    return _short(value if isinstance(value, str) else _text(value))


def differences(values: Sequence[Any], key: str = "") -> Iterator[tuple[str, Sequence[Any]]]:
    """The keys whose values differ, tables within taken apart, with the value of each table."""
    if all(isinstance(value, Mapping) for value in values):
        for name in sorted({name for value in values for name in value}):
            inner = [value.get(name, NOT_SET) for value in values]
            yield from differences(inner, f"{key}.{name}" if key else name)
    elif len(set(map(_text, values))) > 1:
        yield key, values


def _text(value: Any) -> str:
    return "not set" if value is NOT_SET else json.dumps(value, sort_keys=True, default=str)


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 2] + " …"
