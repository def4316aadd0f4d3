"""BLEU and chrF of a sentence, by sacrebleu, 0 to 100 points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Protocol

from accgate.metrics.metric import Entry, Metric

BleuTokens = Literal["13a", "intl", "char", "zh", "ja-mecab", "none"]
Smoothing = Literal["exp", "floor", "add-k", "none"]


class _Scorer(Protocol):
    def sentence_score(self, hypothesis: str, references: Sequence[str]) -> Any: ...


def _bleu(
    *, tokenize: BleuTokens = "13a", smooth: Smoothing = "exp", max_order: int = 4, lowercase: bool = False
) -> Metric:
    if max_order < 1:
        raise ValueError("max_order must be 1 or more")
    metrics = _sacrebleu()
    try:
        scorer: _Scorer = metrics.BLEU(
            lowercase=lowercase,
            tokenize=tokenize,
            smooth_method=smooth,
            max_ngram_order=max_order,
            effective_order=True,  # as sacrebleu's sentence_bleu: orders longer than the sentence do not count
        )
    except RuntimeError as error:  # sacrebleu's word for a missing MeCab
        raise ImportError(f"the tokenizer {tokenize} needs MeCab; pip install 'accgate[metrics]'") from error
    return _metric("bleu", scorer)


def _chrf(
    *, char_order: int = 6, word_order: int = 0, beta: int = 2, lowercase: bool = False, whitespace: bool = False
) -> Metric:
    if char_order < 1:
        raise ValueError("char_order must be 1 or more")
    if word_order < 0:
        raise ValueError("word_order must be 0 or more; 2 is chrF++")
    if not 1 <= beta <= 1000:
        raise ValueError("beta must be 1 to 1000")
    scorer: _Scorer = _sacrebleu().CHRF(char_order, word_order, beta, lowercase, whitespace)
    return _metric("chrf", scorer)


def _metric(name: str, scorer: _Scorer) -> Metric:
    def points(answer: str, targets: Sequence[str]) -> float:
        # sacrebleu's BLEU of an exact answer is 100.00000000000004
        return min(float(scorer.sentence_score(answer, list(targets)).score), 100.0)

    return Metric(name, lambda answer, target: points(answer, [target]), many=points)


def _sacrebleu() -> Any:
    try:
        from sacrebleu import metrics
    except ImportError as error:
        raise ImportError("BLEU and chrF need sacrebleu; pip install 'accgate[metrics]'") from error
    return metrics


ENTRIES = (
    Entry("bleu", _bleu, "BLEU of the sentence, by sacrebleu"),
    Entry("chrf", _chrf, "chrF of the sentence, by sacrebleu"),
)
