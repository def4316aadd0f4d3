"""ROUGE, by the n-grams and subsequences that an answer shares with the target.

Scores are 0 to 100 points. Source: C.-Y. Lin, ROUGE: a package for automatic evaluation of summaries, ACL workshop
2004. With the default options `rouge_1`, `rouge_2`, `rouge_n`, `rouge_l` and `rouge_lsum` are rouge-score's F-measures
to the last bit.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import accumulate, chain

import numpy as np
import numpy.typing as npt

from accgate.metrics import tokens
from accgate.metrics.metric import Builder, Builders, Metric
from accgate.metrics.overlap import Matched, Measure, in_common, n_grams
from accgate.metrics.tokens import Tokenize, Tokenizer

Rule = Callable[[Sequence[str], Sequence[str]], Matched]


def shared_n_grams(answer: Sequence[str], target: Sequence[str], n: int) -> Matched:
    """Return ROUGE-N's counts of two lists of tokens.

    >>> shared_n_grams("the cat sat".split(), "the cat ran away".split(), 2)
    Matched(shared=1, answer=2, target=3)
    """
    shared = in_common(n_grams(answer, n), n_grams(target, n))
    return Matched(shared, max(len(answer) - n + 1, 0), max(len(target) - n + 1, 0))


def shared_subsequence(answer: Sequence[str], target: Sequence[str]) -> Matched:
    """Return ROUGE-L's counts of two lists of tokens.

    Shared is the length of their longest common subsequence.
    """
    return Matched(lcs_length(answer, target), len(answer), len(target))


def shared_union(answer: Sequence[Sequence[str]], target: Sequence[Sequence[str]]) -> Matched:
    """Return ROUGE-Lsum's counts over sentences.

    Shared is the union of each target sentence's subsequences; no token counts twice.
    """
    union: list[str] = []
    for sentence in target:
        positions = set[int]().union(*(lcs_positions(sentence, other) for other in answer))
        union += [sentence[position] for position in positions]
    return Matched(in_common(union, chain(*answer)), sum(map(len, answer)), sum(map(len, target)))


def lcs_length(first: Sequence[str], second: Sequence[str]) -> int:
    """Return the length of the longest common subsequence of two lists.

    >>> lcs_length("police killed the gunman".split(), "the gunman killed police".split())
    2
    """
    full = (1 << len(second)) - 1
    row = full
    for row in _lcs_rows(first, second):  # noqa: B007 - the last one is wanted
        pass
    return len(second) - row.bit_count()


def lcs_positions(reference: Sequence[str], candidate: Sequence[str]) -> list[int]:
    """Find one longest common subsequence's positions in the reference.

    Of several subsequences this is the one that rouge-score takes.

    >>> lcs_positions("a b c d".split(), "b x d".split())
    [1, 3]
    """
    rows = [(1 << len(candidate)) - 1, *_lcs_rows(reference, candidate)]
    i, j = len(reference), len(candidate)
    length = j - rows[i].bit_count()
    positions: list[int] = []
    while i and j and length:
        if reference[i - 1] == candidate[j - 1]:
            i, j, length = i - 1, j - 1, length - 1
            positions.append(i)
        elif j - (rows[i - 1] & ((1 << j) - 1)).bit_count() < length:
            j -= 1
        else:
            i -= 1
    return positions[::-1]


def _lcs_rows(first: Sequence[str], second: Sequence[str]) -> Iterator[int]:
    """Yield the rows of the subsequences' table, one a token of the first list.

    A row is the bits of one integer: bit j is 0 where the length grows from column j to j + 1, so that a length is a
    count of zeros. Source: H. Hyyrö, Bit-parallel LCS-length computation revisited, AWOCA 2004.
    """
    where: dict[str, int] = {}
    for column, token in enumerate(second):
        where[token] = where.get(token, 0) | 1 << column
    full = row = (1 << len(second)) - 1
    for token in first:
        matches = where.get(token)
        if matches is not None:
            new = row & matches
            row = ((row + new) | (row - new)) & full
        yield row


def skip_bigrams(answer: Sequence[str], target: Sequence[str], skip: int | None, *, unigrams: bool = False) -> Matched:
    """Return ROUGE-S's counts of two lists of tokens.

    They are pairs with at most `skip` tokens between, of any distance for None. With `unigrams` ROUGE-SU's: every
    single token counts too.

    Source: Lin 2004, section 5.

    >>> skip_bigrams("police kill the gunman".split(), "police killed the gunman".split(), None)
    Matched(shared=3, answer=6, target=6)
    """
    common = {token: code for code, token in enumerate(sorted(set(answer) & set(target)))}
    ours, theirs = (np.array([common.get(token, -1) for token in side], int) for side in (answer, target))
    shared = 0
    for first in range(len(common)):  # a row of the pairs' table at a time, since all of it may not fit in memory
        shared += int(np.minimum(*(_seconds(side, first, len(common), skip) for side in (ours, theirs))).sum())
    sizes = [_pairs(len(side), skip) for side in (answer, target)]
    if unigrams:
        shared += in_common(answer, target)
        sizes = [pairs + len(side) for pairs, side in zip(sizes, (answer, target), strict=True)]
    return Matched(shared, *sizes)


def _seconds(codes: npt.NDArray[np.int64], first: int, kinds: int, skip: int | None) -> npt.NDArray[np.int64]:
    """Count how often each token comes after the first within the distance."""
    seen = np.concatenate(([0], np.cumsum(codes == first)))  # seen[i]: among the i tokens before position i
    before = seen[:-1].copy()
    if skip is not None:
        before[skip + 1 :] -= seen[: -skip - 2]
    is_common = codes >= 0
    return np.bincount(codes[is_common], weights=before[is_common], minlength=kinds).astype(np.int64)


def _pairs(length: int, skip: int | None) -> int:
    """Count the pairs of positions with at most `skip` others between."""
    widest = max(length - 1 if skip is None else min(skip + 1, length - 1), 0)
    return widest * length - widest * (widest + 1) // 2


def weighted_lcs(answer: Sequence[str], target: Sequence[str], weight: float) -> Matched:
    """Return ROUGE-W's shares of two lists of tokens.

    k words in a row count f(k) = k ** weight. `shared` is f^-1(WLCS / f(target)) of the target and so on: precision and
    recall are Lin's equations 14 and 13. Time grows with the product of both lengths.

    Source: Lin 2004, section 3.3; the table is the paper's, which is greedy where weight is above 1.

    >>> one = weighted_lcs(list("ABCDHIK"), list("ABCDEFG"), 2.0)
    >>> round(one.recall, 3)
    0.571
    """
    run_of = [float(k) ** weight for k in range(min(len(answer), len(target)) + 2)]
    inside = set(target)
    scores, runs = [0.0] * (len(target) + 1), [0] * (len(target) + 1)
    for token in answer:
        if token not in inside:
            scores, runs = list(accumulate(scores, max)), [0] * len(runs)
            continue
        before, ended = 0.0, 0  # the cells above to the left
        left = 0.0
        for column, other in enumerate(target, 1):
            above, run = scores[column], runs[column]
            if token == other:
                left = before + run_of[ended + 1] - run_of[ended]
                runs[column] = ended + 1
            else:
                left = max(above, left)
                runs[column] = 0
            scores[column] = left
            before, ended = above, run
    # a sum of differences is rounded at each; to 9 digits a text has all of itself
    shared = round(scores[-1] ** (1 / weight), 9)
    return Matched(shared, len(answer), len(target))


def _metric(name: str, rule: Rule, measure: Measure, split: Tokenize) -> Metric:
    def points(answer: str, target: str) -> float:
        return rule(split(answer), split(target)).points(measure)

    return Metric(name, points, finds=lambda answer, _: bool(split(answer)), prepare=partial(split, ""))


def _n_gram_metric(name: str, n: int, measure: Measure, split: Tokenize) -> Metric:
    if n < 1:
        raise ValueError("n must be 1 or more")

    def points_of(answer: str, targets: Sequence[str]) -> float:
        ours = split(answer)
        counts = [shared_n_grams(ours, split(target), n) for target in targets]
        return Matched(*(sum(column) for column in zip(*counts, strict=True))).points(measure)

    metric = _metric(name, lambda ours, theirs: shared_n_grams(ours, theirs, n), measure, split)
    return replace(metric, many=points_of) if measure == "recall" else metric


def _builder(make: Callable[[Tokenize], Metric]) -> Builder:
    """Return a builder whose only options are those of the tokens."""

    def build(*, tokenizer: Tokenizer = "rouge", stem: bool = False) -> Metric:
        return make(tokens.tokenizer(tokenizer, stem=stem))

    return build


def _rouge_n(*, n: int = 1, measure: Measure = "f", tokenizer: Tokenizer = "rouge", stem: bool = False) -> Metric:
    return _n_gram_metric("rouge_n", n, measure, tokens.tokenizer(tokenizer, stem=stem))


def _rouge_lsum(split: Tokenize) -> Metric:
    def sentences(text: str) -> list[list[str]]:
        return [split(line) for line in text.split("\n")]

    def points(answer: str, target: str) -> float:
        return shared_union(sentences(answer), sentences(target)).points("f")

    return replace(_metric("rouge_lsum", shared_subsequence, "f", split), function=points)


def _rouge_w(
    *, weight: float = 1.2, measure: Measure = "f", tokenizer: Tokenizer = "rouge", stem: bool = False
) -> Metric:
    if not 1 <= weight <= 10:
        raise ValueError("weight must be 1 to 10; 1 is ROUGE-L, more favours words in a row")
    split = tokens.tokenizer(tokenizer, stem=stem)
    return _metric("rouge_w", lambda ours, theirs: weighted_lcs(ours, theirs, weight), measure, split)


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

    return _metric("rouge_s", rule, measure, tokens.tokenizer(tokenizer, stem=stem))


METRICS: Builders = {
    "rouge_n": _rouge_n,
    "rouge_1": _builder(partial(_n_gram_metric, "rouge_1", 1, "f")),
    "rouge_2": _builder(partial(_n_gram_metric, "rouge_2", 2, "f")),
    "rouge_1_recall": _builder(partial(_n_gram_metric, "rouge_1_recall", 1, "recall")),
    "rouge_2_recall": _builder(partial(_n_gram_metric, "rouge_2_recall", 2, "recall")),
    "rouge_l": _builder(partial(_metric, "rouge_l", shared_subsequence, "f")),
    "rouge_l_recall": _builder(partial(_metric, "rouge_l_recall", shared_subsequence, "recall")),
    "rouge_lsum": _builder(_rouge_lsum),
    "rouge_w": _rouge_w,
    "rouge_s": _rouge_s,
}
