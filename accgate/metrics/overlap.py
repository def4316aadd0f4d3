"""Tokens that answer and target share, whatever their order.

The scores are precision, recall, F, SQuAD's scores, and EM_h.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import partial
from typing import Literal, NamedTuple

from accgate.metrics.forms import label_form, squad_form
from accgate.metrics.metric import Builder, Builders, Metric, builders_of
from accgate.metrics.tokens import Tokenizer, tokenizer

Measure = Literal["f", "recall", "precision"]
Mean = Callable[[float, float, float], float]  # of precision and recall, with a weight


class Matched(NamedTuple):
    """How many tokens answer and target share, and how many each has."""

    shared: float
    answer: float
    target: float

    @property
    def precision(self) -> float:
        """Share of the answer that is matched.

        An empty answer has 0.
        """
        return self.shared / self.answer if self.answer else 0.0

    @property
    def recall(self) -> float:
        """Share of the target that is matched.

        An empty target has 0.
        """
        return self.shared / self.target if self.target else 0.0

    @property
    def f(self) -> float:
        """Harmonic mean of precision and recall."""
        return harmonic_mean(self.precision, self.recall)

    def points(self, measure: Measure) -> float:
        """Return one of the three, in points."""
        return 100.0 * float(getattr(self, measure))


def harmonic_mean(precision: float, recall: float) -> float:
    """Compute F1, 0 where both are 0.

    Operations are in the order of rouge-score and SQuAD, so that results are equal to the last bit.
    """
    return 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0


def in_common(answer: Iterable[Hashable], target: Iterable[Hashable]) -> int:
    """Return the size of the intersection of two multisets.

    >>> in_common("aab", "abbc")
    2
    """
    return (Counter(answer) & Counter(target)).total()


def n_grams(tokens: Sequence[str], n: int) -> Iterable[Hashable]:
    """Yield every run of n tokens.

    >>> list(n_grams(["a", "b", "c"], 2))
    [('a', 'b'), ('b', 'c')]
    """
    if n == 1:
        return tokens
    return zip(*[tokens[start:] for start in range(n)], strict=False) if n <= len(tokens) else ()


LEAST, MOST = 0.001, 1000.0  # of a and beta, so that their squares stay finite


def f_a(precision: float, recall: float, a: float) -> float:
    """Compute F_a = (1 + a^2) P R / (a^2 (P + R)).

    Hu and Zhou print it so (arXiv 2404.09135). Where P and R are 0 it is 0. With a below 1 it may be above 1: its
    largest value is (1 + a^2) / (2 a^2).

    >>> round(f_a(0.5, 1.0, 1.0), 4), round(f_a(0.5, 1.0, 2.0), 4)
    (0.6667, 0.4167)
    """
    total = precision + recall
    return (1 + a * a) * precision * recall / (a * a * total) if total > 0 else 0.0


def f_beta(precision: float, recall: float, beta: float) -> float:
    """Compute van Rijsbergen's F_beta of precision and recall.

    The formula is (1 + beta^2) P R / (beta^2 P + R). Where P and R are 0, the result is 0.

    >>> round(f_beta(0.5, 1.0, 1.0), 4), round(f_beta(0.5, 1.0, 2.0), 4)
    (0.6667, 0.8333)
    """
    total = beta * beta * precision + recall
    return (1 + beta * beta) * precision * recall / total if total > 0 else 0.0


def squad_exact_match(answer: str, target: str) -> float:
    """Score 100 where both are the same as SQuAD normalises them.

    >>> squad_exact_match("The Eiffel  tower.", "eiffel tower")
    100.0
    """
    return 100.0 if squad_form(answer) == squad_form(target) else 0.0


def squad_f1(answer: str, target: str, *, version: Literal["1.1", "2.0"] = "1.1") -> float:
    """Compute SQuAD's F1, 0 to 100 points.

    The versions differ where nothing is left of a text: 1.1 gives 0, 2.0 gives 100 where nothing is left of both.

    >>> squad_f1("in Paris, France", "Paris"), squad_f1("the", "a"), squad_f1("the", "a", version="2.0")
    (50.0, 0.0, 100.0)
    """
    ours, theirs = squad_form(answer).split(), squad_form(target).split()
    if version == "2.0" and not (ours and theirs):
        return 100.0 if ours == theirs else 0.0
    return Matched(in_common(ours, theirs), len(ours), len(theirs)).points("f")


def _counting(
    name: str, points: Callable[[Matched], float], split_by: Tokenizer, stem: bool, highest: float = 100.0
) -> Metric:
    """Build a metric from a function of how many tokens two texts share.

    Two blank texts match wholly. A text without a token counts as a label, so that `A` is not `the`.
    """
    split = tokenizer(split_by, stem=stem)

    def score(answer: str, target: str) -> float:
        ours, theirs = (split(text) or label_form(text).split() for text in (answer, target))
        blank = not ours and not theirs
        return points(Matched(1, 1, 1) if blank else Matched(in_common(ours, theirs), len(ours), len(theirs)))

    return Metric(name, score, highest=highest, form=lambda text: " ".join(split(text)), prepare=partial(split, ""))


def _token_builder(name: str, measure: Measure) -> Builder:
    def build(*, tokenizer: Tokenizer = "squad", stem: bool = False) -> Metric:
        return _counting(name, lambda matched: matched.points(measure), tokenizer, stem)

    return build


def _f_a(*, a: float = 1.0, tokenizer: Tokenizer = "squad", stem: bool = False) -> Metric:
    return _weighted_f("a", f_a, a, tokenizer, stem)


def _f_beta(*, beta: float = 1.0, tokenizer: Tokenizer = "squad", stem: bool = False) -> Metric:
    return _weighted_f("beta", f_beta, beta, tokenizer, stem)


def _weighted_f(option: str, mean: Mean, weight: float, split_by: Tokenizer, stem: bool) -> Metric:
    if not LEAST <= weight <= MOST:
        raise ValueError(f"{option} must be {LEAST:g} to {MOST:g}")

    def points(matched: Matched) -> float:
        return 100.0 * mean(matched.precision, matched.recall, weight)

    return _counting(f"f_{option}", points, split_by, stem, points(Matched(1, 1, 1)))


def _em_h(*, h: float = 1.0, tokenizer: Tokenizer = "squad", stem: bool = False) -> Metric:
    if not 0 < h <= 1:
        raise ValueError("h must be above 0 and at most 1: the share of the target's tokens to be matched")
    return _counting("em_h", lambda matched: 100.0 if matched.recall >= h else 0.0, tokenizer, stem)


METRICS: Builders = {
    "token_precision": _token_builder("token_precision", "precision"),
    "token_recall": _token_builder("token_recall", "recall"),
    "token_f1": _token_builder("token_f1", "f"),
    "f_a": _f_a,
    "f_beta": _f_beta,
    "em_h": _em_h,
    **builders_of(squad_exact_match, squad_f1, form=squad_form),
}
