"""Scores of translations and transcripts, in points.

BLEU, chrF and TER are computed by sacrebleu, error rates by jiwer. Of error rates lower is better; they exceed 100
where an answer is much too long.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any, Literal

from accgate.metrics import tokens
from accgate.metrics.metric import Builders, Metric, required

BleuTokens = Literal["13a", "intl", "char", "zh", "ja-mecab", "none"]
Smoothing = Literal["exp", "floor", "add-k", "none"]
Words = Literal["spaces", tokens.Tokenizer]  # "spaces" is jiwer's own way


def _bleu(
    *, tokenize: BleuTokens = "13a", smooth: Smoothing = "exp", max_order: int = 4, lowercase: bool = False
) -> Metric:
    if max_order < 1:
        raise ValueError("max_order must be 1 or more")
    # As sacrebleu's sentence_bleu: orders longer than the sentence do not count.
    order = {"max_ngram_order": max_order, "effective_order": True}
    return _metric("bleu", lowercase=lowercase, tokenize=tokenize, smooth_method=smooth, **order)


def _chrf(
    *, char_order: int = 6, word_order: int = 0, beta: int = 2, lowercase: bool = False, whitespace: bool = False
) -> Metric:
    if char_order < 1:
        raise ValueError("char_order must be 1 or more")
    if word_order < 0:
        raise ValueError("word_order must be 0 or more; 2 is chrF++")
    if not 1 <= beta <= 1000:
        raise ValueError("beta must be 1 to 1000")
    own = {"char_order": char_order, "word_order": word_order, "beta": beta}
    return _metric("chrf", lowercase=lowercase, whitespace=whitespace, **own)


def _metric(name: str, most: float = 100.0, **options: Any) -> Metric:
    @cache
    def scorer() -> Any:
        kinds = required("sacrebleu", "BLEU, chrF and TER need sacrebleu").metrics
        try:
            return getattr(kinds, name.upper())(**options)
        except RuntimeError as error:  # sacrebleu's word for a missing MeCab
            raise ImportError("the tokenizer ja-mecab needs MeCab; pip install 'accgate[metrics]'") from error

    def points(answer: str, targets: Sequence[str]) -> float:
        # sacrebleu's BLEU of an exact answer is 100.00000000000004
        return min(float(scorer().sentence_score(answer, list(targets)).score), most)

    return Metric(name, lambda answer, target: points(answer, [target]), many=points, prepare=scorer)


def _ter(
    *, normalized: bool = False, no_punctuation: bool = False, asian_support: bool = False, case_sensitive: bool = False
) -> Metric:
    own = {"no_punct": no_punctuation, "asian_support": asian_support, "case_sensitive": case_sensitive}
    return replace(_metric("ter", math.inf, normalized=normalized, **own), highest=None, higher_is_better=False)


def _word_error_rate(*, tokenizer: Words = "spaces") -> Metric:
    if tokenizer == "spaces":
        return _rate("word_error_rate", "wer", str)
    split = tokens.tokenizer(tokenizer)
    return _rate("word_error_rate", "wer", lambda text: " ".join(split(text)))


def _rate(name: str, rate: Literal["wer", "cer"], form: Callable[[str], str]) -> Metric:
    def points(answer: str, target: str) -> float:
        jiwer = required("jiwer", "error rates need jiwer")
        return 100.0 * float(getattr(jiwer, rate)(form(target), form(answer)))

    own = None if form is str else form
    return Metric(name, points, highest=None, higher_is_better=False, form=own, prepare=partial(points, "a", "a"))


METRICS: Builders = {
    "bleu": _bleu,
    "chrf": _chrf,
    "ter": _ter,
    "word_error_rate": _word_error_rate,
    "character_error_rate": lambda: _rate("character_error_rate", "cer", str),
}
