"""Error rates are jiwer's in points, and lower is better."""

import sys

import jiwer
import pytest
from hypothesis import given

from accgate.metrics import speech
from tests.metrics.texts import AWKWARD, TEXTS, metric

WORDS, CHARACTERS = (metric(speech, name) for name in ("word_error_rate", "character_error_rate"))


@given(answer=TEXTS, target=TEXTS)
def test_rates_are_those_of_jiwer(answer: str, target: str) -> None:
    assert WORDS(answer, target) == 100 * jiwer.wer(target, answer)
    assert CHARACTERS(answer, target) == 100 * jiwer.cer(target, answer)


@pytest.mark.parametrize(("answer", "target"), AWKWARD, ids=range(len(AWKWARD)))
def test_awkward_texts_have_a_rate(answer: str, target: str) -> None:
    assert WORDS(answer, target) == 100 * jiwer.wer(target, answer)
    assert CHARACTERS(answer, target) >= 0


@pytest.mark.parametrize(
    ("answer", "target", "points"),
    [
        ("the cat sat", "the cat sat", 0),
        ("the bat sat", "the cat sat", 100 / 3),
        ("", "the cat sat", 100),
        ("a b c d e f", "a b", 200),  # four words too many: a rate has no upper bound
        ("", "", 0),
        ("two words", "", 200),  # jiwer's rule for an empty target: 100 points for each word
        ("a\tb", "a b", 100),  # as in jiwer, only spaces separate words
    ],
)
def test_the_word_error_rate_by_hand(answer: str, target: str, points: float) -> None:
    assert WORDS(answer, target) == pytest.approx(points)


def test_the_roles_of_answer_and_target_are_not_swapped() -> None:
    assert (WORDS("a", "a b c d"), WORDS("a b c d", "a")) == (75, 300)
    assert (CHARACTERS("a", "abcd"), CHARACTERS("abcd", "a")) == (75, 300)


@pytest.mark.parametrize("rate", [WORDS, CHARACTERS], ids=lambda rate: rate.name)
def test_lower_is_better_and_there_is_no_worst(rate: object) -> None:
    assert (rate.lowest, rate.highest, rate.higher_is_better) == (0, None, False)  # type: ignore[attr-defined]
    assert (rate.best, rate.worst) == (0, None)  # type: ignore[attr-defined]


def test_of_several_references_the_lowest_rate_counts() -> None:
    assert WORDS.against("the cat", ["a dog sat", "the cat", "cat"]) == 0


def test_words_of_a_tokenizer_are_compared_without_case_and_punctuation() -> None:
    assert WORDS("It's the Cat,\nyes!", "it's the cat yes") == 75
    assert metric(speech, "word_error_rate", tokenizer="words")("It's the Cat,\nyes!", "it's the cat yes") == 0
    assert metric(speech, "word_error_rate", tokenizer="words")("...", "!") == 0


def test_words_of_chinese_and_japanese_are_told_apart() -> None:
    assert metric(speech, "word_error_rate", tokenizer="zh")("我住在北京", "我住在南京") == 20
    assert metric(speech, "word_error_rate", tokenizer="ja")("今日は東京に", "今日は京都に") == 25
    assert WORDS("我住在北京", "我住在南京") == 100


@pytest.mark.parametrize("name", ["word_error_rate", "character_error_rate"])
def test_a_missing_jiwer_is_named_with_the_mend(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jiwer", None)
    with pytest.raises(ImportError, match=r"pip install 'accgate\[metrics\]'"):
        metric(speech, name)
