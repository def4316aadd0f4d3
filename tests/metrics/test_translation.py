"""BLEU, chrF and TER are sacrebleu's sentence scores, with its settings under our names."""

from functools import partial
from typing import Any

import jiwer
import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st

from accgate.metrics import translation
from tests.metrics.texts import TEXTS, metric
from tests.support.cases import each

BLEU, CHRF, TER = (metric(translation, name) for name in ("bleu", "chrf", "ter"))

WORDS, CHARACTERS = (metric(translation, name) for name in ("word_error_rate", "character_error_rate"))


@given(answer=TEXTS, targets=st.lists(TEXTS, min_size=1, max_size=3))
def test_defaults_are_those_of_sacrebleus_sentence_functions_and_of_jiwer(answer: str, targets: list[str]) -> None:
    assert BLEU.against(answer, targets) == min(sacrebleu.sentence_bleu(answer, targets).score, 100)
    assert CHRF.against(answer, targets) == min(sacrebleu.sentence_chrf(answer, targets).score, 100)
    assert TER.against(answer, targets) == sacrebleu.TER().sentence_score(answer, targets).score
    for metric_of_several in (BLEU, CHRF, TER):
        assert metric_of_several(answer, targets[0]) == metric_of_several.against(answer, targets[:1])
    assert WORDS(answer, targets[0]) == 100 * jiwer.wer(targets[0], answer)
    assert CHARACTERS(answer, targets[0]) == 100 * jiwer.cer(targets[0], answer)


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


def test_ter_counts_a_moved_run_as_one_edit_and_lower_is_better() -> None:
    assert TER("on the mat the cat sat", "the cat sat on the mat") == pytest.approx(100 / 6)
    assert (TER("the cat", "the cat"), TER("", "the cat"), TER("a b c d e f", "x")) == (0.0, 100.0, 600.0)
    assert (TER.lowest, TER.highest, TER.higher_is_better) == (0.0, None, False)


@each(
    ("answer", "target", "points"),
    [
        ("the bat sat", "the cat sat", 100 / 3),
        ("a", "a b c d", 75),
        ("a b c d e f", "a b", 200),  # four words too many: a rate has no upper bound
        ("two words", "", 200),  # jiwer's rule for an empty target: 100 points for each word
        ("a\tb", "a b", 100),  # as in jiwer, only spaces separate words
    ],
)
def test_the_word_error_rate_by_hand(answer: str, target: str, points: float) -> None:
    assert WORDS(answer, target) == pytest.approx(points)


@each(
    ("tokenizer", "answer", "target", "points", "by_spaces"),
    [
        ("words", "It's the Cat,\nyes!", "it's the cat yes", 0, 75),
        ("words", "...", "!", 0, 100),
        ("zh", "我住在北京", "我住在南京", 20, 100),
        ("ja", "今日は東京に", "今日は京都に", 25, 100),
    ],
)
def test_words_are_those_of_a_tokenizer(tokenizer: str, answer: str, target: str, points: float, by_spaces) -> None:
    assert metric(translation, "word_error_rate", tokenizer=tokenizer)(answer, target) == points
    assert WORDS(answer, target) == by_spaces
