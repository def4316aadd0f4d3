"""BLEU and chrF are sacrebleu's sentence scores, with its settings under our names."""

import subprocess
import sys

import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st

from accgate.metrics import translation
from tests.metrics.texts import AWKWARD, TEXTS, metric

BLEU, CHRF = (metric(translation, name) for name in ("bleu", "chrf"))


@given(answer=TEXTS, targets=st.lists(TEXTS, min_size=1, max_size=3))
def test_defaults_are_those_of_sacrebleus_sentence_functions(answer: str, targets: list[str]) -> None:
    assert BLEU.against(answer, targets) == min(sacrebleu.sentence_bleu(answer, targets).score, 100)
    assert CHRF.against(answer, targets) == min(sacrebleu.sentence_chrf(answer, targets).score, 100)
    assert BLEU(answer, targets[0]) == BLEU.against(answer, targets[:1])
    assert CHRF(answer, targets[0]) == CHRF.against(answer, targets[:1])


@pytest.mark.parametrize(("answer", "target"), AWKWARD, ids=range(len(AWKWARD)))
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


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
    "options", [{"char_order": 2}, {"word_order": 2}, {"beta": 1}, {"lowercase": True}, {"whitespace": True}]
)
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


@pytest.mark.parametrize("name", ["bleu", "chrf"])
def test_a_missing_sacrebleu_is_named_with_the_mend(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sacrebleu", None)
    with pytest.raises(ImportError, match=r"pip install 'accgate\[metrics\]'"):
        metric(translation, name)


def test_a_missing_mecab_is_named_with_the_mend() -> None:
    # In a process of its own: sacrebleu looks for MeCab once, when it is imported, and never again.
    code = (
        "import sys; sys.modules['MeCab'] = None\n"
        "from accgate.metrics import get\n"
        "try:\n    get('bleu', tokenize='ja-mecab')\nexcept ImportError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "ja-mecab needs MeCab; pip install 'accgate[metrics]'" in done.stdout
