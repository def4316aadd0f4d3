"""Precision, recall and what is made of them: of what was matched, as counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import Literal, NamedTuple

Measure = Literal["f", "recall", "precision"]


class Matched(NamedTuple):
    """Counts of what answer and target share, what the answer has and what the target has."""

    shared: float
    answer: float
    target: float

    @property
    def precision(self) -> float:
        """Share of the answer that is matched; 0 for an empty answer."""
        return self.shared / self.answer if self.answer else 0.0

    @property
    def recall(self) -> float:
        """Share of the target that is matched; 0 for an empty target."""
        return self.shared / self.target if self.target else 0.0

    @property
    def f(self) -> float:
        """Harmonic mean of precision and recall; 0 where nothing is matched."""
        return harmonic_mean(self.precision, self.recall)

    def points(self, measure: Measure) -> float:
        """One of the three, in points."""
        return 100.0 * float(getattr(self, measure))


def harmonic_mean(precision: float, recall: float) -> float:
    """F1, 0 where both are 0, by the operations of rouge-score and SQuAD in their order: equal to the last bit."""
    return 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0


def in_common(answer: Iterable[Hashable], target: Iterable[Hashable]) -> int:
    """Size of the intersection of two multisets.

    >>> in_common("aab", "abbc")
    2
    """
    left = Counter(target)
    shared = 0
    for item in answer:
        count = left.get(item)
        if count:
            left[item] = count - 1
            shared += 1
    return shared


def n_grams(tokens: Sequence[str], n: int) -> Iterable[Hashable]:
    """Every run of n tokens.

    >>> list(n_grams(["a", "b", "c"], 2))
    [('a', 'b'), ('b', 'c')]
    """
    if n == 1:
        return tokens
    return zip(*[tokens[start:] for start in range(n)], strict=False) if n <= len(tokens) else ()
