"""The metrics by name, with their bounds and direction."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass

from accgate.metrics.match import contains, exact_match, json_fields, json_match, normalized_match, numeric_match


@dataclass(frozen=True)
class Metric:
    """A score per sample, in points.

    `lowest` and `highest` bound the score, None where it has no bound.
    """

    name: str
    function: Callable[[str, str], float]
    lowest: float | None = 0.0
    highest: float | None = 100.0
    higher_is_better: bool = True

    def __call__(self, answer: str, target: str) -> float:
        """The score of an answer, in points."""
        return self.function(answer, target)

    @property
    def worst(self) -> float | None:
        """The worst score a sample can have."""
        return self.lowest if self.higher_is_better else self.highest

    @property
    def best(self) -> float | None:
        """The best score a sample can have."""
        return self.highest if self.higher_is_better else self.lowest


class UnknownMetric(ValueError):
    """No metric has this name; the message says which one is near."""


_METRICS = {
    metric.name: metric
    for metric in (
        Metric("exact_match", exact_match),
        Metric("normalized_match", normalized_match),
        Metric("contains", contains),
        Metric("numeric_match", numeric_match),
        Metric("json_match", json_match),
        Metric("json_fields", json_fields),
    )
}


def names() -> tuple[str, ...]:
    """Names of all metrics, sorted."""
    return tuple(sorted(_METRICS))


def get(name: str) -> Metric:
    """The metric of this name.

    Raises
    ------
    UnknownMetric
        When there is none.

    Examples
    --------
    >>> get("numeric_match")("1,234.0", "1234")
    100.0
    """
    if name not in _METRICS:
        close = difflib.get_close_matches(name, _METRICS, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"known are {', '.join(names())}"
        raise UnknownMetric(f"no metric {name!r}; {hint}")
    return _METRICS[name]
