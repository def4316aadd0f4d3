"""A metric: its function, bounds, direction and options, and the errors of naming one."""

from __future__ import annotations

import inspect
import math
import typing
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin

from accgate.text import nearest

Kind = Literal["text", "likelihood", "code", "judge", "harness"]


@dataclass(frozen=True)
class Metric:
    """A score per sample, in points.

    `lowest` and `highest` bound the score, None where it has no bound. `many` is the metric's own rule for several
    reference texts. Of a `kind` other than text the score needs more than answer and target: the model's
    log-probabilities, a sandbox that runs code, a second model, or another tool's scorer. One that `waits` (for a
    process of its own) is called in a thread, so that requests go on meanwhile.
    """

    name: str
    function: Callable[[str, str], float]
    lowest: float | None = 0.0
    highest: float | None = 100.0
    higher_is_better: bool = True
    many: Callable[[str, Sequence[str]], float] | None = None
    kind: Kind = "text"
    waits: bool = False

    def __call__(self, answer: str, target: str) -> float:
        """The score of an answer, in points."""
        return self.function(answer, target)

    def against(self, answer: str, targets: Sequence[str]) -> float:
        """The score of an answer against several reference texts: by the metric's own rule, else the best, in points.

        Raises
        ------
        ValueError
            When there is no reference text.

        Examples
        --------
        >>> from accgate.metrics import get
        >>> get("exact_match").against("Paris", ["paris", "Paris"])
        100.0
        """
        if not targets:
            raise ValueError("there is no reference text to score against")
        if self.many is not None:
            return self.many(answer, targets)
        best = max if self.higher_is_better else min
        return best(self.function(answer, target) for target in targets)

    @property
    def width(self) -> float | None:
        """Points from the worst score to the best; None where there is no bound."""
        return None if self.lowest is None or self.highest is None else self.highest - self.lowest

    @property
    def worst(self) -> float | None:
        """The worst score a sample can have."""
        return self.lowest if self.higher_is_better else self.highest

    @property
    def best(self) -> float | None:
        """The best score a sample can have."""
        return self.highest if self.higher_is_better else self.lowest


@dataclass(frozen=True)
class Entry:
    """A metric of the registry: `build` makes it from its options, which are `build`'s keyword-only parameters.

    `build` raises ValueError for an option out of range. `summary` says in one line what the score is.
    """

    name: str
    build: Callable[..., Metric]
    summary: str

    @property
    def options(self) -> dict[str, inspect.Parameter]:
        """The options by name, each with its default."""
        return {
            parameter.name: parameter
            for parameter in inspect.signature(self.build).parameters.values()
            if parameter.kind is inspect.Parameter.KEYWORD_ONLY
        }


class UnknownMetric(ValueError):
    """No metric has this name; the message says which one is near."""


class BadOption(ValueError):
    """A metric's option is unknown or out of range; `option` names it, None where it is not one alone."""

    def __init__(self, message: str, option: str | None = None) -> None:
        super().__init__(message)
        self.option = option


def check_option(entry: Entry, option: str, value: Any) -> Any:
    """The option's value, once it is of the type that its parameter declares.

    Raises
    ------
    BadOption
        For an option that the entry does not have, and for a value of another type.
    """
    if option not in entry.options:
        hint = nearest(option, entry.options) if entry.options else "it has none"
        raise BadOption(f"is not an option of {entry.name}; {hint}", option)
    kind = typing.get_type_hints(entry.build)[option]
    if get_origin(kind) is Literal:
        if value not in get_args(kind):
            raise BadOption(f"is {value!r}; give one of {', '.join(map(repr, get_args(kind)))}", option)
    elif get_origin(kind) is tuple:
        if not isinstance(value, (list, tuple)) or not all(isinstance(each, str) for each in value):
            raise BadOption(f"is {value!r}; give a list of texts", option)
        return tuple(value)
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
