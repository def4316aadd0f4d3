"""BLEU, chrF and TER are sacrebleu's sentence scores, with its settings under our names."""

import subprocess
import sys

import jiwer
import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st

from accgate.metrics import translation
from tests.cases import each
from tests.metrics.texts import AWKWARD, TEXTS, metric

BLEU, CHRF, TER = (metric(translation, name) for name in ("bleu", "chrf", "ter"))


@given(answer=TEXTS, targets=st.lists(TEXTS, min_size=1, max_size=3))
def test_defaults_are_those_of_sacrebleus_sentence_functions(answer: str, targets: list[str]) -> None:
    assert BLEU.against(answer, targets) == min(sacrebleu.sentence_bleu(answer, targets).score, 100)
    assert CHRF.against(answer, targets) == min(sacrebleu.sentence_chrf(answer, targets).score, 100)
    assert BLEU(answer, targets[0]) == BLEU.against(answer, targets[:1])
    assert CHRF(answer, targets[0]) == CHRF.against(answer, targets[:1])


@each(("answer", "target"), AWKWARD)
def test_awkward_texts_score_within_bounds(answer: str, target: str) -> None:
    assert BLEU(answer, target) == min(sacrebleu.sentence_bleu(answer, [target]).score, 100)
    assert 0 <= BLEU(answer, target) <= 100
    assert 0 <= CHRF(answer, target) <= 100


def test_the_target_itself_is_exactly_100_and_not_a_rounding_more() -> None:
    text = "the cat sat on the mat"
    assert sacrebleu.sentence_bleu(text, [text]).score > 100
    assert BLEU(text, text) == CHRF(text, text) == 100


def test_bleu_of_several_references_matches_n_grams_of_any_of_them() -> None:
    answer, targets = "the cat sat down", ["the cat ran off", "it sat down here"]
    assert BLEU.against(answer, targets) > max(BLEU(answer, target) for target in targets)


@each(
    ("options", "theirs"),
    [
        ({"tokenize": "char"}, {"tokenize": "char"}),
        ({"tokenize": "zh"}, {"tokenize": "zh"}),
        ({"tokenize": "ja-mecab"}, {"tokenize": "ja-mecab"}),
        ({"lowercase": True}, {"lowercase": True}),
        ({"smooth": "add-k"}, {"smooth_method": "add-k"}),
        ({"smooth": "floor"}, {"smooth_method": "floor"}),
        ({"max_order": 2}, {"max_ngram_order": 2}),
    ],
)
def test_options_of_bleu_reach_sacrebleu(options: dict[str, object], theirs: dict[str, object]) -> None:
    answer, target = "The Cat saß auf 东京 Matten", "the cat sat on 东京的 Matten"
    scorer = sacrebleu.BLEU(effective_order=True, **theirs)  # type: ignore[arg-type]
    score = metric(translation, "bleu", **options)(answer, target)
    assert score == scorer.sentence_score(answer, [target]).score
    assert score != BLEU(answer, target)


@each("options", [{"char_order": 2}, {"word_order": 2}, {"beta": 1}, {"lowercase": True}, {"whitespace": True}])
def test_options_of_chrf_reach_sacrebleu(options: dict[str, int]) -> None:
    answer, target = "The Cat sat on a mat", "the cat sat on the mat today"
    score = metric(translation, "chrf", **options)(answer, target)
    assert score == sacrebleu.CHRF(**options).sentence_score(answer, [target]).score
    assert score != CHRF(answer, target)


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
    ("options", "theirs"),
    [
        ({"normalized": True}, {"normalized": True}),
        ({"no_punctuation": True}, {"no_punct": True}),
        ({"normalized": True, "asian_support": True}, {"normalized": True, "asian_support": True}),
        ({"case_sensitive": True}, {"case_sensitive": True}),
    ],
)
def test_options_of_ter_reach_sacrebleu(options: dict[str, bool], theirs: dict[str, bool]) -> None:
    answer, target = "The cat, it saß auf 东京 matten.", "the Cat it sat on 东京的 matten ."
    score = metric(translation, "ter", **options)(answer, target)
    assert score == sacrebleu.TER(**theirs).sentence_score(answer, [target]).score
    assert score != TER(answer, target)


@pytest.mark.parametrize("name", ["bleu", "chrf", "ter"])
def test_a_missing_sacrebleu_is_named_with_the_mend(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sacrebleu", None)
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


WORDS, CHARACTERS = (metric(translation, name) for name in ("word_error_rate", "character_error_rate"))


@given(answer=TEXTS, target=TEXTS)
def test_rates_are_those_of_jiwer(answer: str, target: str) -> None:
    assert WORDS(answer, target) == 100 * jiwer.wer(target, answer)
    assert CHARACTERS(answer, target) == 100 * jiwer.cer(target, answer)


@each(("answer", "target"), AWKWARD)
def test_awkward_texts_have_a_rate(answer: str, target: str) -> None:
    assert WORDS(answer, target) == 100 * jiwer.wer(target, answer)
    assert CHARACTERS(answer, target) >= 0


@each(
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
    assert metric(translation, "word_error_rate", tokenizer="words")("It's the Cat,\nyes!", "it's the cat yes") == 0
    assert metric(translation, "word_error_rate", tokenizer="words")("...", "!") == 0


def test_words_of_chinese_and_japanese_are_told_apart() -> None:
    assert metric(translation, "word_error_rate", tokenizer="zh")("我住在北京", "我住在南京") == 20
    assert metric(translation, "word_error_rate", tokenizer="ja")("今日は東京に", "今日は京都に") == 25
    assert WORDS("我住在北京", "我住在南京") == 100


@pytest.mark.parametrize("name", ["word_error_rate", "character_error_rate"])
def test_a_missing_jiwer_is_named_with_the_mend(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jiwer", None)
    with pytest.raises(ImportError, match=r"pip install 'accgate\[metrics\]'"):
        metric(translation, name).prepare()
