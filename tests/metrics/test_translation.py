"""BLEU, chrF and TER are sacrebleu's sentence scores, with its settings under our names."""

import subprocess
import sys
from functools import partial
from typing import Any

import jiwer
import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st

from accgate.metrics import translation
from tests.metrics.texts import AWKWARD, TEXTS, metric
from tests.support.cases import each

BLEU, CHRF, TER = (metric(translation, name) for name in ("bleu", "chrf", "ter"))
RATES = ("word_error_rate", "character_error_rate")
WORDS, CHARACTERS = (metric(translation, name) for name in RATES)


@given(answer=TEXTS, targets=st.lists(TEXTS, min_size=1, max_size=3))
def test_defaults_are_those_of_sacrebleus_sentence_functions(answer: str, targets: list[str]) -> None:
    assert BLEU.against(answer, targets) == min(sacrebleu.sentence_bleu(answer, targets).score, 100)
    assert CHRF.against(answer, targets) == min(sacrebleu.sentence_chrf(answer, targets).score, 100)
    assert BLEU(answer, targets[0]) == BLEU.against(answer, targets[:1])
    assert CHRF(answer, targets[0]) == CHRF.against(answer, targets[:1])


@each(("answer", "target"), AWKWARD)
def test_awkward_texts_score_as_in_their_libraries(answer: str, target: str) -> None:
    assert BLEU(answer, target) == min(sacrebleu.sentence_bleu(answer, [target]).score, 100)
    assert 0 <= CHRF(answer, target) <= 100
    assert WORDS(answer, target) == 100 * jiwer.wer(target, answer)
    assert CHARACTERS(answer, target) >= 0


def test_the_target_itself_is_exactly_100_and_not_a_rounding_more() -> None:
    text = "the cat sat on the mat"
    assert sacrebleu.sentence_bleu(text, [text]).score > 100
    assert BLEU(text, text) == CHRF(text, text) == 100


def test_bleu_of_several_references_matches_n_grams_of_any_of_them() -> None:
    answer, targets = "the cat sat down", ["the cat ran off", "it sat down here"]
    assert BLEU.against(answer, targets) > max(BLEU(answer, target) for target in targets)


NAMES = {"smooth": "smooth_method", "max_order": "max_ngram_order", "no_punctuation": "no_punct"}
OPTIONS: dict[str, list[dict[str, Any]]] = {
    "bleu": [
        *({"tokenize": name} for name in ("char", "zh", "ja-mecab")),
        {"lowercase": True}, {"smooth": "add-k"}, {"smooth": "floor"}, {"max_order": 2},
    ],
    "chrf": [{"char_order": 2}, {"word_order": 2}, {"beta": 1}, {"lowercase": True}, {"whitespace": True}],
    "ter": [
        {"normalized": True}, {"no_punctuation": True}, {"case_sensitive": True},
        {"normalized": True, "asian_support": True},
    ],
}  # fmt: skip


@each(("name", "options"), [(name, options) for name, several in OPTIONS.items() for options in several])
def test_options_reach_sacrebleu(name: str, options: dict[str, Any]) -> None:
    answer, target = "The Cat, it saß auf 东京 Matten.", "the cat it sat on 东京的 Matten ."
    scorers: dict[str, Any] = {
        "bleu": partial(sacrebleu.BLEU, effective_order=True),
        "chrf": sacrebleu.CHRF,
        "ter": sacrebleu.TER,
    }
    scorer = scorers[name](**{NAMES.get(key, key): value for key, value in options.items()})
    score = metric(translation, name, **options)(answer, target)
    assert score == scorer.sentence_score(answer, [target]).score
    assert score != metric(translation, name)(answer, target)


@each(
    ("name", "options", "message"),
    [
        ("bleu", {"max_order": 0}, "max_order must be 1 or more"),
        ("chrf", {"char_order": 0}, "char_order must be 1 or more"),
        ("chrf", {"word_order": -1}, "word_order must be 0 or more"),
        ("chrf", {"beta": 0}, "beta must be 1 to 1000"),
    ],
)
def test_options_out_of_range_are_refused(name: str, options: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        metric(translation, name, **options)


@given(answer=TEXTS, targets=st.lists(TEXTS, min_size=1, max_size=3))
def test_ter_is_sacrebleus_of_the_sentence(answer: str, targets: list[str]) -> None:
    assert TER.against(answer, targets) == sacrebleu.TER().sentence_score(answer, targets).score
    assert TER(answer, targets[0]) == TER.against(answer, targets[:1])


def test_ter_counts_a_moved_run_as_one_edit_and_lower_is_better() -> None:
    assert TER("on the mat the cat sat", "the cat sat on the mat") == pytest.approx(100 / 6)
    assert (TER("the cat", "the cat"), TER("", "the cat"), TER("a b c d e f", "x")) == (0.0, 100.0, 600.0)
    assert (TER.lowest, TER.highest, TER.higher_is_better) == (0.0, None, False)


@each(
    ("package", "name"),
    [*(("sacrebleu", name) for name in ("bleu", "chrf", "ter")), *(("jiwer", name) for name in RATES)],
)
def test_a_missing_package_is_named_with_the_mend(package: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=r"pip install 'accgate\[metrics\]'"):
        metric(translation, name).prepare()


def test_a_missing_mecab_is_named_with_the_mend() -> None:
    # In a process of its own: sacrebleu looks for MeCab once, when it is imported, and never again.
    code = (
        "import sys; sys.modules['MeCab'] = None\n"
        "from accgate.metrics import get\n"
        "try:\n    get('bleu', tokenize='ja-mecab')\nexcept ImportError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "ja-mecab needs MeCab; pip install 'accgate[metrics]'" in done.stdout


@given(answer=TEXTS, target=TEXTS)
def test_rates_are_those_of_jiwer(answer: str, target: str) -> None:
    assert WORDS(answer, target) == 100 * jiwer.wer(target, answer)
    assert CHARACTERS(answer, target) == 100 * jiwer.cer(target, answer)


@each(
    ("answer", "target", "points"),
    [
        ("the bat sat", "the cat sat", 100 / 3),
        ("a b c d e f", "a b", 200),  # four words too many: a rate has no upper bound
        ("two words", "", 200),  # jiwer's rule for an empty target: 100 points for each word
        ("a\tb", "a b", 100),  # as in jiwer, only spaces separate words
    ],
)
def test_the_word_error_rate_by_hand(answer: str, target: str, points: float) -> None:
    assert WORDS(answer, target) == pytest.approx(points)


def test_the_roles_of_answer_and_target_are_not_swapped() -> None:
    assert (WORDS("a", "a b c d"), WORDS("a b c d", "a")) == (75, 300)
    assert (CHARACTERS("a", "abcd"), CHARACTERS("abcd", "a")) == (75, 300)


def test_words_of_a_tokenizer_are_compared_without_case_and_punctuation() -> None:
    assert WORDS("It's the Cat,\nyes!", "it's the cat yes") == 75
    assert metric(translation, "word_error_rate", tokenizer="words")("It's the Cat,\nyes!", "it's the cat yes") == 0
    assert metric(translation, "word_error_rate", tokenizer="words")("...", "!") == 0


def test_words_of_chinese_and_japanese_are_told_apart() -> None:
    assert metric(translation, "word_error_rate", tokenizer="zh")("我住在北京", "我住在南京") == 20
    assert metric(translation, "word_error_rate", tokenizer="ja")("今日は東京に", "今日は京都に") == 25
    assert WORDS("我住在北京", "我住在南京") == 100
