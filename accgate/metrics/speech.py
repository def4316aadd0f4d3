"""Error rates of transcripts, by jiwer: points, lower is better, above 100 where the answer is much too long."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from accgate.metrics import tokens
from accgate.metrics.metric import Entry, Metric

Words = Literal["spaces", tokens.Tokenizer]  # "spaces" is jiwer's own way


def _word_error_rate(*, tokenizer: Words = "spaces") -> Metric:
    jiwer = _jiwer()
    if tokenizer == "spaces":
        return _rate("word_error_rate", lambda answer, target: float(jiwer.wer(target, answer)))
    split = tokens.tokenizer(tokenizer)

    def rate(answer: str, target: str) -> float:
        return float(jiwer.wer(" ".join(split(target)), " ".join(split(answer))))

    return _rate("word_error_rate", rate)


def _character_error_rate() -> Metric:
    jiwer = _jiwer()
    return _rate("character_error_rate", lambda answer, target: float(jiwer.cer(target, answer)))


def _rate(name: str, rate: Callable[[str, str], float]) -> Metric:
    return Metric(
        name,
        lambda answer, target: 100.0 * rate(answer, target),
        lowest=0.0,
        highest=None,
        higher_is_better=False,
    )


def _jiwer() -> Any:
    try:
        import jiwer
    except ImportError as error:
        raise ImportError("error rates need jiwer; pip install 'accgate[metrics]'") from error
    return jiwer


ENTRIES = (
    Entry("word_error_rate", _word_error_rate, "wrong, missing and extra words over the target's words, by jiwer"),
    Entry(
        "character_error_rate", _character_error_rate, "wrong, missing and extra characters over the target's, by jiwer"
    ),
)
