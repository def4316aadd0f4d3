"""Token scores against their formulas, SQuAD's against the rules and another implementation of them."""

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from accgate.metrics import overlap
from accgate.metrics.forms import squad_form
from accgate.metrics.overlap import squad_exact_match, squad_f1
from tests.metrics.texts import TEXTS, f1_of, metric, squad_words
from tests.support.cases import each

SHARES = st.floats(0, 1)
FACTORS = st.floats(0.001, 1000)


@given(answer=TEXTS, target=TEXTS)
@example(answer="The U.S.A.", target="usa")
@example(answer="“Paris” cat cat cat", target="Paris cat")  # punctuation outside ASCII stays, as officially
@example(answer="a, the", target="an")
def test_squad_scores_follow_the_rules_of_the_evaluation(answer: str, target: str) -> None:
    ours, theirs = squad_words(answer), squad_words(target)
    f1 = f1_of(ours, theirs)
    assert squad_f1(answer, target) == pytest.approx(f1)
    assert squad_exact_match(answer, target) == 100 * (ours == theirs)
    empty = not ours or not theirs
    assert squad_f1(answer, target, version="2.0") == (100 * (ours == theirs) if empty else pytest.approx(f1))


def test_of_several_references_the_best_counts() -> None:
    assert metric(overlap, "squad_f1").against("in Paris", ["Rome", "Paris", "in the Paris"]) == 100
    assert metric(overlap, "squad_exact_match").against("x", ["y", "z"]) == 0
    assert metric(overlap, "squad_f1", version="2.0").against("the", ["Paris", ""]) == 100


@given(answer=TEXTS, target=TEXTS)
def test_token_f1_is_squads_where_something_is_left(answer: str, target: str) -> None:
    assume(all(squad_form(text) or not text.strip() for text in (answer, target)))
    assert metric(overlap, "token_f1")(answer, target) == squad_f1(answer, target, version="2.0")


def test_token_scores_by_hand() -> None:
    answer, target = "red red blue sky", "red blue green"
    scores = {name: metric(overlap, name)(answer, target) for name in ("token_precision", "token_recall", "token_f1")}
    assert scores == pytest.approx({"token_precision": 50, "token_recall": 200 / 3, "token_f1": 400 / 7})
    assert metric(overlap, "f_a", a=2.0)(answer, target) == pytest.approx(100 * 5 * (1 / 3) / (4 * (7 / 6)))
    assert metric(overlap, "f_beta", beta=2.0)(answer, target) == pytest.approx(100 * 5 * (1 / 3) / (2 + 2 / 3))


@each("name", ["token_precision", "token_recall", "token_f1", "f_a", "f_beta", "em_h"])
def test_two_empty_texts_match_and_one_does_not(name: str) -> None:
    built = metric(overlap, name)
    assert (built("", ""), built("", "cat"), built("cat", ""), built("the", "a")) == (100, 0, 0, 0)
    assert (built("", "A"), built(".", "A"), built("B", "A"), built("a.", "A")) == (0, 0, 0, 100)  # only A is A


@given(SHARES, SHARES, FACTORS)
def test_f_a_and_f_beta_are_the_printed_formulas(precision: float, recall: float, factor: float) -> None:
    if precision + recall > 1e-100:
        printed = (1 + factor**2) * precision * recall / (factor**2 * (precision + recall))
        assert overlap.f_a(precision, recall, factor) == pytest.approx(printed)
        if precision * recall > 0:
            standard = (1 + factor**2) / (factor**2 / recall + 1 / precision)
            assert overlap.f_beta(precision, recall, factor) == pytest.approx(standard)
    assert overlap.f_a(precision, recall, 1) == pytest.approx(overlap.f_beta(precision, recall, 1))
    assert overlap.f_a(0, 0, factor) == overlap.f_beta(0, 0, factor) == 0


@given(answer=TEXTS, target=TEXTS, a=FACTORS)
def test_no_score_passes_the_bounds_of_its_metric(answer: str, target: str, a: float) -> None:
    for built in (metric(overlap, "f_a", a=a), metric(overlap, "f_beta", beta=a), metric(overlap, "token_f1")):
        assert built.highest is not None
        assert 0 <= built(answer, target) <= built.highest


def test_f_a_of_a_below_1_may_pass_100_and_says_so() -> None:
    half = metric(overlap, "f_a", a=0.5)
    assert half.highest == half("cat", "cat") == 250
    assert metric(overlap, "f_a", a=2.0).highest == 62.5


@given(answer=TEXTS, target=TEXTS, h=st.floats(0.01, 1))
def test_em_h_is_the_recall_held_against_h(answer: str, target: str, h: float) -> None:
    recall = metric(overlap, "token_recall")(answer, target)
    assert metric(overlap, "em_h", h=h)(answer, target) == 100 * (recall / 100 >= h)
    by_hand = metric(overlap, "em_h", h=0.6)  # 3 of 5 tokens are matched, in any order
    assert by_hand("five one three more words", "one two three four five") == 100


def test_tokens_may_be_stems_words_or_characters() -> None:
    assert metric(overlap, "token_f1", tokenizer="rouge", stem=True)("running cats", "run cat") == 100
    assert metric(overlap, "token_f1", tokenizer="rouge")("running cats", "run cat") == 0
    assert metric(overlap, "token_recall", tokenizer="characters")("北京大学", "北京") == 100
    assert metric(overlap, "token_recall")("北京大学", "北京") == 0
