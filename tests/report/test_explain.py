"""`accgate explain`: in words, with the figures of accgate.json, for every verdict."""

import io
import re
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console

from accgate import compare
from accgate.errors import SEVERITY, BadInput
from accgate.report.explain import NEXT, check_named, explanation, print_explanation
from accgate.result import Result
from accgate.stats.names import TESTS
from accgate.verdict import CandidateSummary, Drift, Verdict
from tests.gates import RIGHT, right_but
from tests.report.runs import result_of, verdict_of

LOST = replace(compare([RIGHT] * 100, right_but(20, 100), theta=5.0), model="m", task="t")
SAME = replace(compare([RIGHT, 0.0] * 50, [RIGHT, 0.0] * 50, theta=8.0), model="m", task="t")


def parts(verdict: Verdict, *others: Verdict, **keys: Any) -> dict[str, str]:
    """The paragraphs by their heading; the first is "verdict"."""
    (title, meaning), *rest = explanation(replace(result_of(verdict, *others), **keys), verdict)
    return {"verdict": f"{title}. {meaning}", **dict(rest)}


def printed(verdict: Verdict, width: int = 100, **keys: Any) -> str:
    console = Console(file=io.StringIO(), width=width, **keys)
    print_explanation(console, explanation(result_of(verdict), verdict))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_a_regression_says_difference_p_gamma_theta_and_what_changed() -> None:
    told = parts(LOST)
    assert told["verdict"] == "m / t: regression. The drop is larger than chance explains."
    assert "is 100.00 on 100 samples, the candidate's 80.00 on 100: a difference of -20.00 points" in told["Means"]
    assert told["Samples"].startswith("20 samples got worse, 0 better (20.0% changed).")
    assert "p < 0.0001, which is rare enough to be a regression (alpha 0.05)" in told["p"]
    assert LOST.gamma is not None
    assert told["Gamma"] == f"The gate fails where the mean is below {LOST.gamma:.2f}. At 80.00 it is."
    assert "A theta of 5.00 is asked for, which is too coarse." in told["Theta"]
    assert told["Failed"] == "None of 100 samples failed."
    assert "accgate record --reason" in told["Next"]


def test_a_pass_is_explained_too() -> None:
    told = parts(SAME)
    assert told["verdict"] == "m / t: pass. No drop was found, and the run could have seen one."
    assert "p = 1.0000, which is not rare enough to be a regression" in told["p"]
    assert told["Gamma"].startswith("There is none: so few samples changed")
    assert "A theta of 8.00 is asked for, which is enough." in told["Theta"]
    assert "Nothing changed" in told["Samples"]


def test_an_inconclusive_check_says_what_it_could_not_see() -> None:
    verdict = compare([RIGHT, 0.0] * 20, [RIGHT, 0.0] * 20, theta=2.0)
    told = parts(verdict)
    assert verdict.verdict == "inconclusive"
    assert "could not have seen one of the size that matters" in told["verdict"]
    assert "A theta of 2.00 is asked for, which is too coarse." in told["Theta"]


def test_a_better_candidate_passes_though_theta_is_coarse_and_it_says_why() -> None:
    verdict = compare([0.0] * 40 + [RIGHT] * 60, [RIGHT] * 100, theta=3.0)
    assert verdict.verdict == "pass"
    assert verdict.theta is not None
    assert verdict.theta > 3.0
    assert "the interval rules that out, since the candidate is better" in parts(verdict)["Theta"]


@pytest.mark.parametrize("verdict", ["no-reference", "error"])
def test_a_check_without_figures_says_its_reasons_and_the_mend(verdict: Any) -> None:
    check = verdict_of(
        verdict, p_value=None, gamma=None, theta=None, difference=None, reasons=("the server is down",),
        candidate=CandidateSummary(None, 9, 4),
    )  # fmt: skip
    told = parts(check)
    assert list(told) == ["verdict", "Why", "Failed", "Rules", "Next"]
    assert told["Why"] == "the server is down."
    assert told["Failed"].startswith("4 of 9 samples have no score.")
    assert told["Next"] == NEXT[verdict]


def test_alpha_names_the_correction_and_what_it_left() -> None:
    one = verdict_of(alpha_applied=0.025, p_adjusted=0.04)
    told = parts(one, verdict_of(task="u"), correction="holm")
    assert "may fail in 5% of runs (alpha 0.05)" in told["Alpha"]
    assert "The run has 2 checks: alpha is shared by Holm's steps" in told["Alpha"]
    assert "(holm), 0.025 here." in told["Alpha"]
    assert "With the other checks p = 0.0400, against 0.05." in told["p"]
    assert "2 checks" not in parts(one)["Alpha"]
    assert "2 checks" not in parts(one, verdict_of(task="u"), correction="none")["Alpha"]


@pytest.mark.parametrize(
    ("stop", "words"),
    [
        ("regression", "by then so much was lost that the rest could not matter"),
        ("futility", "a drop of 3.00 points would have shown by then in 80% of runs"),
        ("end", "the evidence left it open until the end"),
    ],
)
def test_stopping_says_how_many_of_how_many_and_why(stop: Any, words: str) -> None:
    told = parts(verdict_of(stop=stop, n_max=601, test="gsprt"))
    assert told["Stopping"].startswith(f"100 of 601 samples were used; {words}")
    assert "Stopping" not in parts(verdict_of())


def test_drift_rules_and_notes_are_told() -> None:
    drift = Drift("2026-01-02", 5, -3.0, 0.004, 0.05, detected=True)
    told = parts(verdict_of(drift=drift, reasons=("a note",), is_new=True), rules="base")
    assert "a slow decline that no single run shows" in told["Drift"]
    assert "p = 0.0040 at alpha 0.05" in told["Drift"]
    assert "Judged by the rules of the base commit" in told["Rules"]
    assert "The check is new in this pull request." in told["Rules"]
    assert "the guard's to say" in told["Rules"]
    assert told["Notes"] == "a note."


def test_the_other_rules_verdict_stands_beside() -> None:
    one = verdict_of()
    told = parts(one, rules="base", beside=(verdict_of("regression"), verdict_of("regression", task="u")))
    assert "What this pull request's own rules say: regression." in told["Rules"]
    assert told["Rules"].count("own rules say") == 1


def test_lower_is_better_turns_the_words_round() -> None:
    verdict = verdict_of("regression", higher_is_better=False, gamma=78.0, candidate=CandidateSummary(80.0, 100))
    told = parts(verdict)
    assert "mean higher?" in told["Test"]
    assert "is above 78.00. At 80.00 it is." in told["Gamma"]
    assert "as high as this" in told["p"]
    assert "A rise of" in told["Theta"]


@pytest.mark.parametrize("test", [*(test for test in TESTS if test != "auto"), "influence"])
def test_every_test_is_named_and_says_why_it_fits(test: str) -> None:
    told = parts(verdict_of(test=test))["Test"]
    assert f"({test})" in told
    assert len(told.partition(f"({test}). ")[2]) > 20


@pytest.mark.parametrize("verdict", SEVERITY)
@pytest.mark.parametrize("width", [40, 60, 120])
def test_it_fits_the_terminal_and_ends_with_what_to_do(verdict: Any, width: int) -> None:
    text = printed(verdict_of(verdict, drift=Drift("2026-01-02", 5, -3.0, 0.4, 0.05, detected=False)), width)
    assert max(map(len, text.splitlines())) <= width
    assert all(line == line.rstrip() for line in text.splitlines())
    assert " ".join(text.split()).endswith(NEXT[verdict])


def test_control_characters_and_markup_of_reasons_are_text() -> None:
    text = printed(verdict_of(reasons=("[red]x\x1b[2J ::error::",), model="[b]m"))
    assert "[red]x\ufffd[2J" in text
    assert "[b]m / t: pass" in text
    assert "::error::" not in text


def test_the_title_has_the_verdicts_colour_in_a_terminal() -> None:
    text = printed(verdict_of("regression"), force_terminal=True, color_system="standard")
    assert re.match("\x1b\\[1;31m", text)


def several() -> Result:
    return result_of(verdict_of(task="gsm8k"), verdict_of(task="mmlu"), verdict_of(model="n", task="mmlu"))


@pytest.mark.parametrize(
    ("name", "found"),
    [("m/gsm8k", "m/gsm8k"), ("m / mmlu", "m/mmlu"), ("gsm8k", "m/gsm8k"), ("n", "n/mmlu"), ("n/mmlu", "n/mmlu")],
)
def test_a_check_is_named_in_full_or_by_the_part_that_tells_it(name: str, found: str) -> None:
    verdict = check_named(several(), name)
    assert f"{verdict.model}/{verdict.task}" == found


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("gsmk8", "no check 'gsmk8'; did you mean 'gsm8k'?"),
        ("mmlu", "'mmlu' is the name of 2 checks; name one of m/mmlu, n/mmlu"),
        (None, "the result has 3 checks; name one of m/gsm8k, m/mmlu, n/mmlu"),
    ],
)
def test_other_names_are_refused_with_what_there_is(name: str | None, message: str) -> None:
    with pytest.raises(BadInput) as refused:
        check_named(several(), name)
    assert str(refused.value) == message


def test_the_only_check_needs_no_name() -> None:
    assert check_named(result_of(SAME), None) is not None
    with pytest.raises(BadInput, match="no checks"):
        check_named(Result("error", 3, ()), None)
