"""ROUGE: n-grams and subsequences that an answer shares with the target text, 0 to 100 points.

Source: C.-Y. Lin, ROUGE: a package for automatic evaluation of summaries, ACL workshop 2004. With the default options
`rouge_1`, `rouge_2`, `rouge_n`, `rouge_l` and `rouge_lsum` are rouge-score's F-measures to the last bit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from accgate.metrics.lcs import lcs_length, lcs_positions
from accgate.metrics.metric import Entry, Metric
from accgate.metrics.rouge_skip import skip_bigrams
from accgate.metrics.rouge_weighted import weighted_lcs
from accgate.metrics.shares import Matched, Measure, in_common, n_grams
from accgate.metrics.tokens import Tokenize, Tokenizer, tokenizer

Rule = Callable[[Sequence[str], Sequence[str]], Matched]


def shared_n_grams(answer: Sequence[str], target: Sequence[str], n: int) -> Matched:
    """ROUGE-N's counts of two lists of tokens.

    >>> shared_n_grams("the cat sat".split(), "the cat ran away".split(), 2)
    Matched(shared=1, answer=2, target=3)
    """
    shared = in_common(n_grams(answer, n), n_grams(target, n))
    return Matched(shared, max(len(answer) - n + 1, 0), max(len(target) - n + 1, 0))


def shared_subsequence(answer: Sequence[str], target: Sequence[str]) -> Matched:
    """ROUGE-L's counts: length of the longest common subsequence, and both lengths."""
    return Matched(lcs_length(answer, target), len(answer), len(target))


def shared_union(answer: Sequence[Sequence[str]], target: Sequence[Sequence[str]]) -> Matched:
    """ROUGE-Lsum's counts over sentences: the union of each target sentence's subsequences, no token counted twice."""
    left = Counter(token for sentence in answer for token in sentence)
    shared = 0
    for sentence in target:
        positions = set[int]().union(*(lcs_positions(sentence, other) for other in answer))
        for token in (sentence[position] for position in sorted(positions)):
            if left[token] > 0:
                left[token] -= 1
                shared += 1
    return Matched(shared, sum(map(len, answer)), sum(map(len, target)))


def _metric(name: str, rule: Rule, split: Tokenize, measure: Measure) -> Metric:
    return Metric(name, lambda answer, target: rule(split(answer), split(target)).points(measure))


def _n_gram_metric(name: str, n: int, split: Tokenize, measure: Measure) -> Metric:
    if n < 1:
        raise ValueError("n must be 1 or more")

    def points(answer: str, target: str) -> float:
        return shared_n_grams(split(answer), split(target), n).points(measure)

    def pooled(answer: str, targets: Sequence[str]) -> float:
        tokens = split(answer)
        counts = [shared_n_grams(tokens, split(target), n) for target in targets]
        return Matched(*(sum(column) for column in zip(*counts, strict=True))).points(measure)

    return Metric(name, points, many=pooled if measure == "recall" else None)


def _rouge_n(*, n: int = 1, measure: Measure = "f", tokenizer: Tokenizer = "rouge", stem: bool = False) -> Metric:
    return _n_gram_metric("rouge_n", n, _split(tokenizer, stem), measure)


def _fixed(name: str, n: int, measure: Measure, summary: str) -> Entry:
    """ROUGE-N with its n and measure in the name."""

    def build(*, tokenizer: Tokenizer = "rouge", stem: bool = False) -> Metric:
        return _n_gram_metric(name, n, _split(tokenizer, stem), measure)

    return Entry(name, build, summary)


def _rouge_l(*, tokenizer: Tokenizer = "rouge", stem: bool = False) -> Metric:
    return _metric("rouge_l", shared_subsequence, _split(tokenizer, stem), "f")


def _rouge_l_recall(*, tokenizer: Tokenizer = "rouge", stem: bool = False) -> Metric:
    return _metric("rouge_l_recall", shared_subsequence, _split(tokenizer, stem), "recall")


def _rouge_lsum(*, tokenizer: Tokenizer = "rouge", stem: bool = False) -> Metric:
    split = _split(tokenizer, stem)

    def sentences(text: str) -> list[list[str]]:
        return [split(line) for line in text.split("\n")]

    return Metric("rouge_lsum", lambda answer, target: shared_union(sentences(answer), sentences(target)).points("f"))


def _rouge_w(
    *, weight: float = 1.2, measure: Measure = "f", tokenizer: Tokenizer = "rouge", stem: bool = False
) -> Metric:
    if not 1 <= weight <= 10:
        raise ValueError("weight must be 1 to 10; 1 is ROUGE-L, more favours words in a row")
    return _metric("rouge_w", lambda ours, theirs: weighted_lcs(ours, theirs, weight), _split(tokenizer, stem), measure)


def _rouge_s(
    *,
    skip: int = -1,
    unigrams: bool = False,
    measure: Measure = "f",
    tokenizer: Tokenizer = "rouge",
    stem: bool = False,
) -> Metric:
    if skip < -1:
        raise ValueError("skip must be 0 or more words between the two, or -1 for any number")

    def rule(answer: Sequence[str], target: Sequence[str]) -> Matched:
        return skip_bigrams(answer, target, None if skip < 0 else skip, unigrams=unigrams)

    return _metric("rouge_s", rule, _split(tokenizer, stem), measure)


def _split(name: Tokenizer, stem: bool) -> Tokenize:
    return tokenizer(name, stem=stem)


ENTRIES = (
    Entry("rouge_n", _rouge_n, "ROUGE-N of any n: F-measure, recall or precision over n-grams"),
    _fixed("rouge_1", 1, "f", "ROUGE-1: F-measure over words"),
    _fixed("rouge_2", 2, "f", "ROUGE-2: F-measure over pairs of words"),
    _fixed("rouge_1_recall", 1, "recall", "ROUGE-1 recall: matched words over all references' words"),
    _fixed("rouge_2_recall", 2, "recall", "ROUGE-2 recall: matched pairs over all references' pairs"),
    Entry("rouge_l", _rouge_l, "ROUGE-L: F-measure over the longest common subsequence"),
    Entry("rouge_l_recall", _rouge_l_recall, "ROUGE-L recall: longest common subsequence over the reference's length"),
    Entry("rouge_lsum", _rouge_lsum, "ROUGE-Lsum: ROUGE-L by lines"),
    Entry("rouge_w", _rouge_w, "ROUGE-W: ROUGE-L that favours words in a row"),
    Entry("rouge_s", _rouge_s, "ROUGE-S: pairs of words in order, with others between; ROUGE-SU with single words"),
)
