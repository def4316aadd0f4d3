"""Verdicts in words: headlines, sentences and numbers."""

import itertools
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accgate import compare
from accgate.errors import SEVERITY, exit_code, worst
from accgate.report import words
from accgate.result import Result
from accgate.verdict import CandidateSummary, ReferenceSummary, Verdict
from tests.gates import RIGHT, right_but


def verdict_of(name: Any = "pass", **keys: Any) -> Verdict:
    plain = Verdict(
        "m", "t", name, "paired", 100, ReferenceSummary(75.0, 100), CandidateSummary(70.0, 100), 0.05, 0.2,
        difference=-5.0, alpha_applied=0.025, theta=3.0, gamma=72.5, p_value=0.01,
    )  # fmt: skip
    return replace(plain, **keys)


def result_of(*names: str) -> Result:
    checks = tuple(verdict_of(name, task=f"t{i}") for i, name in enumerate(names))
    return Result(worst(names), exit_code(names), checks)


@pytest.mark.parametrize("names", [c for n in (1, 2, 3) for c in itertools.combinations_with_replacement(SEVERITY, n)])
def test_a_headline_says_the_worst_and_names_the_checks_it_is_about(names: tuple[str, ...]) -> None:
    headline = words.headline(result_of(*names))
    if set(names) == {"pass"}:
        assert headline == f"No accuracy regression found in {len(names)} check{'s' if len(names) > 1 else ''}."
        return
    assert "No accuracy regression" not in headline
    about = next(name for name in ("regression", "error", "no-reference", "inconclusive") if name in names)
    named = ", ".join(f"m / t{i}" for i, name in enumerate(names) if name == about)
    assert named in headline
    assert headline.startswith("Accuracy regressed: " if about == "regression" else "No verdict: ")
    further = sum(name in ("error", "no-reference", "inconclusive") for name in names)
    if about == "regression":
        assert (f"{further} further check{'s' if further > 1 else ''} gave no verdict." in headline) == (further > 0)


def test_a_headline_names_three_checks_and_counts_the_rest() -> None:
    assert words.headline(result_of(*["regression"] * 5)) == "Accuracy regressed: m / t0, m / t1, m / t2 and 2 more."


def test_nothing_checked_is_no_pass() -> None:
    assert words.headline(Result("error", 3, ())) == "No verdict: nothing was checked."


@pytest.mark.parametrize(
    ("value", "number", "signed"),
    [
        (44.5, "44.50", "+44.50"),
        (-2.25, "-2.25", "-2.25"),
        (0.0, "0.00", "0.00"),
        (-0.001, "0.00", "0.00"),
        (0.004, "0.00", "0.00"),
        (0.006, "0.01", "+0.01"),
        (12345.678, "12,345.68", "+12,345.68"),
        (-12345.678, "-12,345.68", "-12,345.68"),
        (None, "-", "-"),
    ],
)
def test_numbers_have_two_digits_and_no_sign_on_zero(value: float | None, number: str, signed: str) -> None:
    assert (words.number(value), words.signed(value)) == (number, signed)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.03123, "0.0312"), (0.0001, "0.0001"), (0.00009, "<0.0001"), (0.0, "<0.0001"), (1.0, "1.0000")],
)
def test_a_p_value_has_four_digits_or_a_bound(value: float, text: str) -> None:
    assert words.p_text(value) == text


@given(st.text())
def test_visible_text_is_one_printable_line(text: str) -> None:
    shown = words.visible(text)
    assert all(c.isprintable() or c.isspace() for c in shown)
    assert len(shown.splitlines()) <= 1
    assert words.visible(shown) == shown


def test_a_sentence_gives_test_alpha_p_gamma_and_what_could_be_seen() -> None:
    sentence = words.sentence(verdict_of())
    for part in (
        "candidate's mean is lower than the reference's by a paired test of the same samples on 100 samples",
        "at alpha 0.025: p = 0.0100",
        "the gate fails below gamma = 72.50, the mean is 70.00",
        "A drop of 3.00 points or more would have been seen with 80% probability.",
    ):
        assert part in sentence


def test_a_sentence_turns_round_for_lower_is_better() -> None:
    verdict = compare([10.0, 12.0] * 20, [11.0, 12.5] * 20, higher_is_better=False)
    sentence = words.sentence(verdict)
    assert "the candidate's mean is higher than the reference's" in sentence
    assert "the gate fails above gamma" in sentence
    assert "A rise of" in sentence


@pytest.mark.parametrize(
    ("keys", "part"),
    [
        ({"test": "target"}, "lower than the target's by a test of the mean against the target"),
        ({"test": "two-sample"}, "by a two-sample test of the means"),
        ({"test": None}, "by a test on"),
        ({"test": "permutation"}, "by a sign-flip permutation test of the same samples on"),
        ({"gamma": None}, "no split of them into losses and gains could fail the gate"),
    ],
)
def test_a_sentence_names_the_test_and_says_where_there_is_no_gamma(keys: dict[str, Any], part: str) -> None:
    assert part in words.sentence(verdict_of(**keys))


def test_a_sentence_without_theta_promises_nothing() -> None:
    assert "would have been seen" not in words.sentence(verdict_of(theta=None))


@pytest.mark.parametrize(
    ("reasons", "sentence"),
    [(("no reference", "record one"), "m / t: no reference; record one."), ((), "m / t: error.")],
)
def test_an_undecided_check_says_why(reasons: tuple[str, ...], sentence: str) -> None:
    assert words.sentence(verdict_of("error", p_value=None, reasons=reasons)) == sentence


def test_changes_are_counted_for_paired_scores_only() -> None:
    verdict = compare([RIGHT] * 200, right_but(3, 200))
    assert words.changed(verdict) == "3 samples got worse, 0 better (1.5% changed)"
    assert words.changed(verdict_of()) is None


def test_a_row_has_a_cell_for_each_heading_and_the_adjusted_p() -> None:
    row = dict(zip(words.HEADINGS, words.row(verdict_of(p_adjusted=0.04)), strict=True))
    assert (row["p"], row["Difference"], row["Verdict"]) == ("0.0400", "-5.00", "✅ pass")
    assert words.row(verdict_of(model=None, task=None))[:2] == ("-", "-")
    assert words.row(verdict_of())[8] == "0.0100"
