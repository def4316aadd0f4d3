"""A run in words: headlines, figures that read alike in every report, and the check of a name."""

import io
import itertools
import re
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest
from rich.console import Console

from accgate.errors import SEVERITY, BadInput, exit_code, worst
from accgate.history.file import history_of
from accgate.history.page import html_page
from accgate.history.run import run_of
from accgate.report.ending import print_result
from accgate.report.html.page import html_report
from accgate.report.markdown import render_markdown
from accgate.report.result_file import junit_xml
from accgate.report.story import headline_of
from accgate.report.words import find_check, samples_used, savings
from accgate.result import Result
from accgate.verdict import CandidateSummary, ReferenceSummary, Verdict
from accgate.verdict.points import points_text, theta_text
from tests.cases import each
from tests.report.kinds import kinds


def verdict_of(name: Any = "pass", **keys: Any) -> Verdict:
    plain = Verdict(
        "m", "t", name, "paired", 100, ReferenceSummary(75.0, 100), CandidateSummary(70.0, 100), 0.05, 0.2,
        difference=-5.0, alpha_applied=0.025, theta=3.0, gamma=72.5, p_value=0.01,
    )  # fmt: skip
    return replace(plain, **keys)


def result_of(*names: str) -> Result:
    checks = tuple(verdict_of(name, task=f"t{i}") for i, name in enumerate(names))
    return Result(worst(names), exit_code(names), checks)


def test_a_headline_says_the_worst_and_names_the_check_it_is_about() -> None:
    order = ("regression", "error", "no-reference", "inconclusive")
    starts = dict(zip(order, ("Regression: ", "Error: ", "No reference: ", "Inconclusive: "), strict=True))
    for names in (c for n in (1, 2, 3) for c in itertools.combinations_with_replacement(SEVERITY, n)):
        text = headline_of(result_of(*names)).text
        if set(names) == {"pass"}:
            assert text.startswith("Passed: ")
            continue
        about = next(name for name in order if name in names)
        assert text.startswith(starts[about])
        assert f"t{names.index(about)}" in text
        more = names.count(about) - 1
        assert (f"and {more} more of {len(names)} checks" in text) == (more > 0)


def test_nothing_checked_is_no_pass() -> None:
    assert headline_of(Result("error", 3, ())) == ("!", "No verdict: nothing was checked")


@each("kind", ["failed", "healthy", "inconclusive"])
def test_a_figure_of_a_check_reads_alike_in_every_report(kind: str) -> None:
    made = kinds()[kind]
    assert made.result is not None
    check = made.result.checks[0]
    result = replace(made.result, checks=(check,))
    console = Console(file=io.StringIO(), width=80)
    print_result(console, result)
    assert isinstance(console.file, io.StringIO)
    run = run_of(result, b"", commit="", config=None, now=datetime.now)
    reports = {
        "comment": replace(made, result=result).comment(),
        "report": render_markdown(result),
        "page": html_report(result),
        "terminal": console.file.getvalue(),
        "explanation": check.explain(),
        "sentence": str(check),
        "junit": junit_xml(result),
        "history": html_page(history_of([run])),
    }
    figures = [check.reference.mean, check.candidate.mean, check.gamma, check.theta]
    for name, text in reports.items():
        plain = re.sub(r"<[^>]*>", " ", text)
        assert not [value for value in figures if value is not None and f"{value:.2f}" in plain], name
    means = [points_text(check, side.mean) for side in (check.reference, check.candidate)]
    for name in ("comment", "report", "page", "terminal", "explanation", "sentence", "history"):
        assert all(mean in reports[name] for mean in means), name
    for name in (
        "comment",
        "report",
        "page",
        "terminal",
        "explanation",
        *(["junit"] if check.verdict != "pass" else []),
    ):
        assert theta_text(check) in reports[name], name


def several() -> Result:
    checks = verdict_of(task="gsm8k"), verdict_of(task="mmlu"), verdict_of(model="n", task="mmlu")
    return Result("pass", 0, checks)


@each(
    ("name", "full"),
    [("m/gsm8k", "m/gsm8k"), ("m / mmlu", "m/mmlu"), ("gsm8k", "m/gsm8k"), ("n", "n/mmlu"), ("n/mmlu", "n/mmlu")],
)
def test_a_check_is_named_in_full_or_by_the_part_that_tells_it(name: str, full: str) -> None:
    verdict = find_check(several(), name)
    assert f"{verdict.model}/{verdict.task}" == full


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("gsmk8", "no check 'gsmk8'; did you mean 'gsm8k'?"),
        ("mmlu", "'mmlu' is the name of 2 checks; name one of m/mmlu, n/mmlu"),
    ],
)
def test_other_names_are_refused_with_what_there_is(name: str, message: str) -> None:
    with pytest.raises(BadInput) as refused:
        find_check(several(), name)
    assert str(refused.value) == message


def test_a_result_without_checks_is_refused() -> None:
    with pytest.raises(BadInput, match="no checks"):
        find_check(Result("error", 3, ()), "gsm8k")


def test_a_check_that_could_not_be_evaluated_saved_and_used_nothing() -> None:
    stopped = verdict_of(n=50, n_max=100, stop="futility")
    lost = verdict_of("error", test=None, n=100)
    for checks in ((stopped,), (stopped, lost)):
        result = Result("error", 3, checks)
        assert samples_used(result) == (50, 100)
        assert savings(result) == "stopping early saved 50%"


@pytest.mark.parametrize(
    ("theta", "n_max", "used", "words"),
    [
        (2.0, 1198, 402, "stopping early saved 46%"),
        (2.0, 1198, 508, "stopping early saved 32%"),
        (2.0, 1198, 1198, None),
        (2.0, 600, 402, "stopping early saved 33%"),
    ],
)
def test_what_early_stopping_saved_counts_from_the_fixed_test(
    theta: float, n_max: int, used: int, words: str | None
) -> None:
    """At q 5% and theta 2 that takes 745 samples, or all where there are fewer; 1,198 are the most that gsprt takes."""
    keys = {"test": "gsprt", "theta_target": theta, "discordance_planned": 0.05, "alpha_applied": 0.05}
    stopped = verdict_of(n=used, n_max=n_max, stop="futility" if used < n_max else "end", **keys)
    assert savings(Result("pass", 0, (stopped,))) == words
