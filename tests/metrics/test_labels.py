"""Which answers name a choice or a class."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accgate.metrics.labels import choice, classification, multiple_choice
from tests.metrics.texts import AWKWARD, TEXTS

BARE = [
    "B",
    "(B)",
    "B.",
    "B)",
    " b ",
    "[B]",
    "**B**",
    "**B.**",
    "(b).",
    "B:",
    "\uff08\uff22\uff09",
    "\uff22",
    "{B}",
    "`B`",
    "_B_",
]
WITH_TEXT = ["B. Paris", "B) Paris, France.", "(B) Paris", "**B.** Paris", "B: 12", "[B] x", "B.\nBecause it is so."]
OTHER = ["", "A", "(A)", "Paris", "B or C", "AB", "B, C", "A. B", "Because", "B Paris", "not B", "B.C", "b-cell", "()"]


@pytest.mark.parametrize("answer", BARE + WITH_TEXT)
def test_the_letter_counts_with_what_usually_stands_around_it(answer: str) -> None:
    for target in ("B", "(B)", "b"):
        assert multiple_choice(answer, target) == 100
    assert multiple_choice(answer, "A") == 0


@pytest.mark.parametrize("answer", [*OTHER, "B" * 9, ".", "\ud800", "(A) B", "8"])
def test_other_answers_do_not_name_the_choice(answer: str) -> None:
    assert multiple_choice(answer, "B") == 0


@pytest.mark.parametrize(
    ("answer", "target"), [("3", "3"), ("(10)", "10"), ("2. Paris", "2"), ("д", "Д"), ("ア", "ア")]
)
def test_labels_may_be_numbers_and_letters_of_any_script(answer: str, target: str) -> None:
    assert multiple_choice(answer, target) == 100


@given(
    st.sampled_from(string.ascii_uppercase), st.sampled_from(string.ascii_uppercase), st.sampled_from(["{}", "({})"])
)
def test_only_the_targets_own_letter_is_right(answer: str, target: str, form: str) -> None:
    assert multiple_choice(form.format(answer), target) == 100 * (answer == target)


def test_a_target_that_names_no_choice_is_matched_by_nothing() -> None:
    assert choice("") is None
    assert multiple_choice("", "") == multiple_choice("Paris", "Paris") == 0


def test_a_very_long_answer_is_read_in_one_pass() -> None:
    for filling in ("!", " ", ").", "_", "B. "):
        assert multiple_choice("A" + filling * 200_000 + "x", "B") == 0


@pytest.mark.parametrize(
    ("answer", "target", "points"),
    [
        ("positive", "positive", 100),
        (" Positive.\n", "positive", 100),
        ('"Not  entailment"', "not entailment", 100),
        ("**neutral**", "Neutral", 100),
        ("STRASSE", "straße", 100),
        ("\uff4e\uff4f", "no", 100),
        ("not-entailment", "not entailment", 0),
        ("not positive", "positive", 0),
        ("", "positive", 0),
        ("", "", 100),
        ("?", "!", 0),
        ("?", "?", 100),
        ("-1", "1", 100),  # signs go with the punctuation: numbers are numeric_match's
    ],
)
def test_a_class_by_its_name(answer: str, target: str, points: float) -> None:
    assert classification(answer, target) == points


@given(TEXTS)
def test_every_label_is_its_own_class_whatever_stands_around(label: str) -> None:
    assert classification(label, label) == 100
    assert classification(f' "{label}".', label) == 100 or not any(map(str.isalnum, label))


@pytest.mark.parametrize(("answer", "target"), AWKWARD, ids=range(len(AWKWARD)))
def test_awkward_texts_are_right_or_wrong(answer: str, target: str) -> None:
    assert {multiple_choice(answer, target), classification(answer, target)} <= {0, 100}
