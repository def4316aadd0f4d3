"""A verdict in words: its sentence, and how it came about, with the figures of accgate.json."""

import io
import re
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console

from accgate import compare
from accgate.report.terminal import print_explanation
from accgate.report.words import explanation_of
from accgate.result import result_of_verdict
from accgate.stats.names import TESTS
from accgate.stats.result import Interval
from accgate.verdict import Allowed, CandidateSummary, Drift, Verdict
from accgate.verdict.advice import ALONE, advice
from accgate.verdict.sentences import sentence
from tests.report.runs import result_of, verdict_of
from tests.support.cases import each
from tests.support.gates import RIGHT, right_but

LOST = replace(compare([RIGHT] * 100, right_but(20, 100), theta=5.0), model="m", task="t")
SAME = replace(compare([RIGHT, 0.0] * 50, [RIGHT, 0.0] * 50, theta=8.0), model="m", task="t")


def parts(verdict: Verdict, *others: Verdict, **keys: Any) -> dict[str, str]:
    """The paragraphs by their heading; the first is "verdict"."""
    (title, meaning), *rest = explanation_of(replace(result_of(verdict, *others), **keys), verdict)
    return {"verdict": f"{title}. {meaning}", **dict(rest)}


@each(
    ("verdict", "words"),
    [
        (LOST, {
            "verdict": "m / t: regression. The drop is larger than chance explains.",
            "Means": "is 100.0 on 100 samples, the candidate's 80.0 on 100: a difference of −20.0 points",
            "Samples": "20 samples got worse, 0 better (20.0% changed).",
            "p": "p < 0.0001, which is rare enough to be a regression (alpha 0.05)",
            "Gamma": f"The gate fails when the mean is below {LOST.gamma:.1f}. At 80.0 it is.",
            "Theta": "You asked for 5.0; this run resolves only ", "Failed": "None of 100 samples failed.",
            "Next": "accgate record --reason",
        }),
        (SAME, {
            "verdict": "m / t: pass. No drop was found, and the run could have seen one.",
            "Samples": "Nothing changed", "p": "p = 1.0000, which is not rare enough to be a regression",
            "Gamma": "below 47.0. At 50.0 it is not.", "Theta": "You asked for 8.0; this is enough.",
        }),
        (compare([RIGHT, 0.0] * 20, [RIGHT, 0.0] * 20, theta=2.0), {
            "verdict": "inconclusive. ", "Theta": "You asked for 2.0; this run resolves only ",
        }),
        (compare([0.0] * 40 + [RIGHT] * 60, [RIGHT] * 100, theta=3.0), {
            "verdict": ": pass.", "Theta": "The interval rules out 3.0: the candidate is better.",
        }),
        (verdict_of("regression", higher_is_better=False, gamma=78.0, candidate=CandidateSummary(80.0, 100)), {
            "Test": "mean higher?", "Gamma": "is above 78.0. At 80.0 it is.", "p": "as high as this",
            "Theta": "sees a rise of",
        }),
        (verdict_of(drift=Drift("2026-01-02", 5, -3.0, 0.004, 0.05, detected=True), reasons=("a note",)), {
            "Drift": "p = 0.0040 at alpha 0.05", "Notes": "a note.",
        }),
    ],
)  # fmt: skip
def test_a_verdict_is_explained_by_its_figures(verdict: Verdict, words: dict[str, str]) -> None:
    told = parts(verdict)
    assert [heading for heading, text in words.items() if text not in told[heading]] == [], told


@pytest.mark.parametrize("verdict", ["no-reference", "error"])
def test_a_check_without_figures_says_its_reasons_and_the_fix(verdict: Any) -> None:
    check = verdict_of(
        verdict, p_value=None, gamma=None, theta=None, difference=None, reasons=("the server is down",),
        candidate=CandidateSummary(None, 9, 4),
    )  # fmt: skip
    told = parts(check)
    assert list(told) == ["verdict", "Why", "Failed", "Rules", "Next"]
    assert told["Why"] == "the server is down."
    assert told["Failed"].startswith("4 of 9 samples have no score.")
    assert told["Next"] == advice(check, ALONE)


def test_alpha_names_the_correction_and_what_it_left() -> None:
    one, other = verdict_of(alpha_applied=0.025, p_adjusted=0.04), verdict_of(task="u")
    told = parts(one, other, correction="holm")
    assert "2 checks: alpha is shared among them by Holm's procedure (holm), 0.025 here." in told["Alpha"]
    assert "Corrected for the other checks, p = 0.0400, against 0.05." in told["p"]
    assert "2 checks" not in parts(one)["Alpha"]
    assert "2 checks" not in parts(one, other, correction="none")["Alpha"]
    told = parts(one, other, correction="holm", allowed=Allowed(0.03, 0.01, 0.01, new=0.05))
    assert "fail: 500 by the base's checks, 500 more by" in told["Alpha"]
    assert "The overall checks and the limits on costs have a fifth of alpha each." in told["Alpha"]
    assert "the rest is shared" in told["Alpha"]
    assert "The run has" not in parts(replace(one, is_new=True), other, correction="holm")["Alpha"]


@each(
    ("stop", "keys", "words"),
    [
        ("regression", {}, "the loss was clear"),
        ("futility", {"interval": Interval(0.0, (-2.9, 0.0))}, "a drop of 3.0 points was already ruled out"),
        ("futility", {"interval": Interval(0.0, (-3.1, 0.0))}, "no drop of 3.0 points was in sight"),
        ("futility", {"interval": None}, "no drop of 3.0 points was in sight"),
        ("end", {}, "the evidence allowed no earlier decision"),
    ],
)
def test_stopping_says_how_many_of_how_many_and_why(stop: Any, keys: dict[str, Any], words: str) -> None:
    told = parts(verdict_of(stop=stop, n_max=601, test="gsprt", **keys))
    assert told["Stopping"].startswith(f"100 of 601 samples were used: {words}")
    assert "Stopping" not in parts(verdict_of())


def test_the_rules_and_the_other_rules_verdict_stand_beside() -> None:
    beside = (verdict_of("regression"), verdict_of("regression", task="u"))
    told = parts(verdict_of(is_new=True), rules="base", beside=beside)["Rules"]
    assert told.count("own rules say") == told.count("own rules say: regression.") == 1
    assert all(words in told for words in ("rules of the base commit", "new in this pull request", "The guard says"))


@each("test", [*(test for test in TESTS if test != "auto"), "influence"])
def test_every_test_is_named_and_says_why_it_fits(test: str) -> None:
    told = parts(verdict_of(test=test))["Test"]
    assert len(told.partition(f"({test}). ")[2]) > 20


@each(
    ("keys", "part"),
    [
        (
            {},
            "lower than the reference's by a paired test of the same samples on 100 samples, at alpha 0.05: p = 0.0100",
        ),
        ({}, "fails below gamma = 72.5, the mean is 70.0. This run sees a drop of 3.0 points or more with 80%"),
        ({"higher_is_better": False, "gamma": 60.0}, "is higher than the reference's"),
        ({"higher_is_better": False, "gamma": 60.0}, "the gate fails above gamma = 60.0"),
        ({"test": "target"}, "lower than the target's by a test of the mean against the target"),
        ({"test": None}, "by a test on"),
        ({"gamma": None}, "no outcome of these samples would have failed the gate"),
        (
            {"name": "error", "p_value": None, "reasons": ("no reference", "record one")},
            "m / t: no reference; record one.",
        ),
        ({"name": "error", "p_value": None, "reasons": ()}, "m / t: error."),
    ],
)
def test_a_sentence_names_the_test_and_says_what_is_missing(keys: dict[str, Any], part: str) -> None:
    assert part in sentence(verdict_of(**keys))
    assert "sees" not in sentence(verdict_of(theta=None))


# A verdict by itself, in Python and in a notebook


def test_changes_are_counted_for_paired_scores_only() -> None:
    verdict = replace(compare([RIGHT] * 200, right_but(3, 200)), lost_unread=0)
    assert parts(verdict)["Samples"] == "3 samples got worse, 0 better (1.5% changed)."
    assert parts(replace(verdict, lost_unread=2))["Samples"].endswith(" 2 could no longer be read.")
    assert "Samples" not in parts(verdict_of(discordance=None))


FELL = "the mean fell by 5.0 points, from 75.0 to 70.0 on 100 samples (p = 0.0100)"


@each(
    ("keys", "text"),
    [
        ({"name": "regression"}, f"m / t regressed: {FELL}."),
        ({}, f"m / t passed: {FELL}, which is no loss beyond chance."),
        ({"difference": 0.0, "candidate": CandidateSummary(75.0, 100)}, "m / t passed: the mean stayed at 75.0 on"),
        ({"name": "inconclusive", "higher_is_better": False, "difference": 5.0, "theta_target": 2.0},
         "this run resolves only a rise of 3.0 points."),
        ({"name": "inconclusive"}, f"m / t is inconclusive: {FELL}; no drop can be seen"),
        ({"name": "inconclusive", "theta": None}, f"{FELL}; too little to tell a drop from chance."),
        ({"name": "regression", "model": None, "task": None, "n": 40, "n_max": 100, "statistic": "ece"},
         "The candidate regressed: the ece fell by 5.0, from 75.0 to 70.0 on the first 40 of 100 samples"),
        ({"name": "no-reference", "p_value": None, "reasons": ("record one",)}, "m / t has no reference: record one."),
        ({"name": "error", "reasons": ("a\nb", "c")}, "m / t could not be decided: a b; c."),
        ({"name": "inconclusive", "p_value": None, "reasons": ("no",)}, "m / t is inconclusive: no."),
    ],
)  # fmt: skip
def test_a_verdict_prints_as_one_sentence(keys: dict[str, Any], text: str) -> None:
    assert text in str(verdict_of(**keys))


@each("verdict", [LOST, SAME, compare([RIGHT] * 50, right_but(1, 50), theta=2.0)])
def test_explain_gives_what_the_command_prints(verdict: Verdict) -> None:
    printed = io.StringIO()
    print_explanation(Console(file=printed, width=1_000), explanation_of(result_of_verdict(verdict), verdict))
    assert verdict.explain() == printed.getvalue().rstrip("\n")


def test_a_notebook_shows_the_sentence_and_the_explanation_escaped() -> None:
    verdict = replace(LOST, model="<script>alert(1)</script>", reasons=("<b>note</b>",))
    page = verdict._repr_html_()
    assert "<script" not in page
    assert "<b>" not in page
    assert "&lt;b&gt;note&lt;/b&gt;." in page
    assert "regressed: the mean fell by 20.0 points" in page
    assert set(re.findall(r"<(\w+)", page)) == {"p", "strong", "table", "tr", "th", "td"}
    assert page.count("<tr ") == len(parts(verdict)) - 1
    assert repr(LOST).startswith("Verdict(model='m', task='t', verdict='regression', ")
