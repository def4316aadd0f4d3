"""One rule in the base and the head of a pull request.

This module tells whether it differs and which way, and shortens both values.
"""

import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from accgate.errors import BadInput, Key, key_text
from accgate.guard.state import Effect
from accgate.text import clip

WIDTH = 80  # characters of a value
NOT_PLAIN = "not plainly stricter"


@dataclass(frozen=True)
class Difference:
    """A rule that differs, by its key.

    `part` names a part of another file.
    """

    key: Key
    base: str | None
    head: str | None
    effect: Effect
    why: str
    part: str = ""

    @property
    def rule(self) -> str:
        """The rule's name, such as `gate.alpha`."""
        return f"{key_text(self.key)}: {self.part}" if self.part else key_text(self.key)

    def concerns(self, model: str, task: str) -> bool:
        """Tell whether the rule may decide the check of a model and a task."""
        table, name = self.key[0], self.key[1] if len(self.key) > 1 else None
        if table == "references":
            return f"/{task}" in self.part
        return table in ("gate", "judges") or (table, name) in (("tasks", task), ("models", model))


@dataclass(frozen=True)
class Direction:
    """The way in which a rule gets stricter.

    A stricter value has a higher `rank`, and a value without a rank has NaN.
    """

    rank: Callable[[Any], float]
    stricter: str
    looser: str


def up(value: float | str | None) -> float:
    """Rank a rule that is stricter the higher its value.

    A percentage has no rank, because it is a share of another number.
    """
    return math.nan if value is None or isinstance(value, str) else float(value)


def down(value: float | str | None) -> float:
    """Rank a rule that is stricter the lower its value."""
    return -up(value)


def along(*values: str) -> Callable[[str], float]:
    """Rank a rule with these values, the strictest last.

    >>> along("warn", "fail")("fail")
    1.0
    """
    return lambda value: float(values.index(value))


def exact(value: Any, *, in_order: bool = False) -> str:
    """Write a value so that only equal values have the same text.

    1, 1.0 and true are three values. The order of a table's keys counts only with `in_order`.

    >>> exact({"a": 1, "b": 2}) == exact({"b": 2, "a": 1}), exact(1) == exact(True), exact(1) == exact(1.0)
    (True, False, False)
    """
    return json.dumps(value, sort_keys=not in_order, default=repr)


def difference(
    key: Key, base: Any, head: Any, direction: Direction | None = None, *, why: str | None = None
) -> Iterator[Difference]:
    """Yield the difference of one rule, if any.

    Without a direction every change is a loosening, for the reason `why` or because it is not plainly stricter.
    """
    if exact(base) == exact(head):
        return
    yield Difference(key, *texts(base, head), *effect_of(base, head, direction, why))


def effect_of(base: Any, head: Any, direction: Direction | None, why: str | None) -> tuple[Effect, str]:
    """Return the effect of a change of one rule, and the reason.

    The reason is `why` where no direction gives one.
    """
    before, after = (math.nan, math.nan) if direction is None else (direction.rank(base), direction.rank(head))
    if direction is not None and after > before:
        return "tightening", direction.stricter
    return "loosening", direction.looser if direction is not None and after < before else why or NOT_PLAIN


def texts(base: Any, head: Any) -> tuple[str | None, str | None]:
    """Shorten two values, both from just before their first difference.

    None stays None.

    >>> texts([1, "a"], None)
    ('[1, "a"]', None)
    >>> texts("x" * 100 + "a", "x" * 100 + "b")[1]
    '…xxxxxxxxxxxxxxxxxxxb"'
    """
    before, after = toml_text(base), toml_text(head)
    if max(len(before), len(after)) <= WIDTH:
        start = 0
    else:
        pairs = enumerate(zip(before, after, strict=False))
        common = next((i for i, (left, right) in pairs if left != right), min(len(before), len(after)))
        start = 0 if common < WIDTH // 2 else common - 20
    return None if base is None else _cut(before, start), None if head is None else _cut(after, start)


def _cut(text: str, start: int) -> str:
    return clip("…" + text[start + 1 :] if start else text, WIDTH, "…")


def toml_text(value: Any) -> str:
    """Write a value about as TOML does, on one line.

    The unset keys of a table are left out.

    >>> toml_text({"quant": "fp8", "gpus": 2, "spec": True, "kv": None})
    '{quant = "fp8", gpus = 2, spec = true}'
    """
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        items = ((key, inner) for key, inner in value.items() if inner is not None)
        return "{" + ", ".join(f"{key_text((str(key),))} = {toml_text(inner)}" for key, inner in items) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(toml_text, value)) + "]"
    return str(value)


def unreadable(key: Key, what: str, error: BadInput, part: str = "") -> Difference:
    """Return the difference of a rule that cannot be read in the base.

    It counts as a loosening.
    """
    return Difference(key, None, None, "loosening", f"the base's {what} cannot be read: {error.messages[0]}", part)
