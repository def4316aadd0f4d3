"""A run in words: headlines, figures that read alike in every report, and the check of a name."""

import itertools
import re
from datetime import datetime

from syrupy.assertion import SnapshotAssertion

from accgate.errors import SEVERITY
from accgate.history.file import history_of
from accgate.history.page import html_page
from accgate.history.run import run_of
from accgate.report.ending import print_result
from accgate.report.html.page import html_report
from accgate.report.markdown import render_markdown
from accgate.report.result_file import junit_xml
from accgate.report.story import headline_of
from accgate.report.words import find_check, savings
from accgate.result import Result
from accgate.verdict.points import points_text, theta_text
from tests.report.kinds import kinds, result_named
from tests.report.runs import printed, result_of, verdict_of
from tests.support.cases import each, refusal


def test_a_headline_says_the_worst_and_names_the_check_it_is_about() -> None:
    order = ("regression", "error", "no-reference", "inconclusive", "pass")
    starts = dict(zip(order, ("Regression: ", "Error: ", "No reference: ", "Inconclusive: ", "Passed: "), strict=True))
    for names in (c for n in (1, 2, 3) for c in itertools.combinations_with_replacement(SEVERITY, n)):
        text = headline_of(result_of(*(verdict_of(name, task=f"t{i}") for i, name in enumerate(names)))).text
        about = next(name for name in order if name in names)
        assert text.startswith(starts[about])
        if about == "pass":
            continue
        assert f"t{names.index(about)}" in text
        more = names.count(about) - 1
        assert (f"and {more} more of {len(names)} checks" in text) == (more > 0)


def test_nothing_checked_is_no_pass() -> None:
    assert headline_of(Result("error", 3, ())) == ("!", "No verdict: nothing was checked")


@each("kind", ["failed", "healthy", "inconclusive"])
def test_a_figure_of_a_check_reads_alike_in_every_report(kind: str) -> None:
    result = result_named(kind)
    (check,) = result.checks
    run = run_of(result, b"", commit="", config=None, now=datetime.now)
    reports = {
        "comment": kinds()[kind].comment(),
        "report": render_markdown(result),
        "page": html_report(result),
        "terminal": printed(lambda console: print_result(console, result), 80),
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
    for name in ("comment", "report", "page", "terminal", "explanation"):
        assert theta_text(check) in reports[name], name
    assert check.verdict == "pass" or theta_text(check) in reports["junit"]


def several() -> Result:
    checks = verdict_of(task="gsm8k"), verdict_of(task="mmlu"), verdict_of(model="n", task="mmlu")
    return Result("pass", 0, checks)


@each(("name", "full"), [("m / mmlu", "m/mmlu"), ("gsm8k", "m/gsm8k"), ("n", "n/mmlu"), ("n/mmlu", "n/mmlu")])
def test_a_check_is_named_in_full_or_by_the_part_that_tells_it(name: str, full: str) -> None:
    verdict = find_check(several(), name)
    assert f"{verdict.model}/{verdict.task}" == full


def test_other_names_are_refused_with_what_there_is(messages: SnapshotAssertion) -> None:
    names = (several(), "gsmk8"), (several(), "mmlu"), (Result("error", 3, ()), "gsm8k")
    assert [refusal(find_check, *each) for each in names] == messages


@each(("n_max", "used", "percent"), [(1198, 402, 46), (1198, 508, 32), (1198, 1198, None), (600, 402, 33)])
def test_what_early_stopping_saved_counts_from_the_fixed_test(n_max: int, used: int, percent: int | None) -> None:
    """At q 5% and theta 2 that takes 745 samples, or all where there are fewer; 1,198 are the most that gsprt takes."""
    keys = {"test": "gsprt", "theta_target": 2.0, "discordance_planned": 0.05, "alpha_applied": 0.05}
    stopped = verdict_of(n=used, n_max=n_max, stop="futility" if used < n_max else "end", **keys)
    idle = verdict_of("error", test=None, n=100)  # could not be evaluated, so it saved and used nothing
    assert savings(result_of(stopped, idle)) == (percent and f"stopping early saved {percent}%")
