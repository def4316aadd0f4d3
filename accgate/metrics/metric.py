"""A metric: its function, bounds, direction and options, and the faults of naming one."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

Kind = Literal["text", "likelihood", "code", "judge", "foreign"]


@dataclass(frozen=True)
class Metric:
    """A score per sample, in points.

    `lowest` and `highest` bound the score, None where it has no bound. `many` is the metric's own rule for several
    reference texts. Of a `kind` other than text the score needs more than answer and target: the model's
    log-probabilities, a sandbox that runs code, a second model, or another tool's scorer.
    """

    name: str
    function: Callable[[str, str], float]
    lowest: float | None = 0.0
    highest: float | None = 100.0
    higher_is_better: bool = True
    many: Callable[[str, Sequence[str]], float] | None = None
    kind: Kind = "text"

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
