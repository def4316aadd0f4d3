"""A verdict in words: its sentence, and how it came about, with the figures of accgate.json."""

import io
import re
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console
from syrupy.assertion import SnapshotAssertion

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


EXPLAINED: dict[str, Verdict] = {
    "lost": LOST, "same": SAME, "inconclusive": compare([RIGHT, 0.0] * 20, [RIGHT, 0.0] * 20, theta=2.0),
    "better": compare([0.0] * 40 + [RIGHT] * 60, [RIGHT] * 100, theta=3.0),
    "higher": verdict_of("regression", higher_is_better=False, gamma=78.0, candidate=CandidateSummary(80.0, 100)),
    "drift": verdict_of(drift=Drift("2026-01-02", 5, -3.0, 0.004, 0.05, detected=True), reasons=("a note",)),
}  # fmt: skip


def test_a_verdict_is_explained_by_its_figures(messages: SnapshotAssertion) -> None:
    assert {name: parts(verdict) for name, verdict in EXPLAINED.items()} == messages


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


def test_alpha_names_the_correction_and_what_it_left(messages: SnapshotAssertion) -> None:
    one, other = verdict_of(alpha_applied=0.025, p_adjusted=0.04), verdict_of(task="u")
    shared = {"correction": "holm", "allowed": Allowed(0.03, 0.01, 0.01, new=0.05)}
    told = [parts(one, other, correction="holm"), parts(one, other, **shared)]
    assert [{key: each[key] for key in ("Alpha", "p")} for each in told] == messages
    assert "2 checks" not in parts(one)["Alpha"] + parts(one, other, correction="none")["Alpha"]
    assert "The run has" not in parts(replace(one, is_new=True), other, correction="holm")["Alpha"]


STOPS: list[dict[str, Any]] = [
    {"stop": "regression"}, {"stop": "end"},
    *({"stop": "futility", "interval": interval} for interval in (
        Interval(0.0, (-2.9, 0.0)), Interval(0.0, (-3.1, 0.0)), None)),
]  # fmt: skip


def test_stopping_says_how_many_of_how_many_and_why(messages: SnapshotAssertion) -> None:
    told = {str(keys): parts(verdict_of(n_max=601, test="gsprt", **keys))["Stopping"] for keys in STOPS}
    assert told == messages
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


BARE = {"name": "error", "p_value": None}
SAID: list[dict[str, Any]] = [
    {}, {"higher_is_better": False, "gamma": 60.0}, {"test": "target"}, {"test": None}, {"gamma": None},
    {"theta": None}, BARE | {"reasons": ("no reference", "record one")}, BARE | {"reasons": ()},
]  # fmt: skip


def test_a_sentence_names_the_test_and_says_what_is_missing(messages: SnapshotAssertion) -> None:
    assert {str(keys): sentence(verdict_of(**keys)) for keys in SAID} == messages


# A verdict by itself, in Python and in a notebook


def test_changes_are_counted_for_paired_scores_only() -> None:
    verdict = replace(compare([RIGHT] * 200, right_but(3, 200)), lost_unread=0)
    assert parts(verdict)["Samples"] == "3 samples got worse, 0 better (1.5% changed)."
    assert parts(replace(verdict, lost_unread=2))["Samples"].endswith(" 2 could no longer be read.")
    assert "Samples" not in parts(verdict_of(discordance=None))


PRINTED: list[dict[str, Any]] = [
    {"name": "regression"}, {}, {"difference": 0.0, "candidate": CandidateSummary(75.0, 100)},
    {"name": "inconclusive", "higher_is_better": False, "difference": 5.0, "theta_target": 2.0},
    {"name": "inconclusive"}, {"name": "inconclusive", "theta": None},
    {"name": "regression", "model": None, "task": None, "n": 40, "n_max": 100, "statistic": "ece"},
    {"name": "no-reference", "p_value": None, "reasons": ("record one",)}, {"name": "error", "reasons": ("a\nb", "c")},
    {"name": "inconclusive", "p_value": None, "reasons": ("no",)},
]  # fmt: skip


def test_a_verdict_prints_as_one_sentence(messages: SnapshotAssertion) -> None:
    assert {str(keys): str(verdict_of(**keys)) for keys in PRINTED} == messages


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
