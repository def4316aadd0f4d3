"""Exit codes: what each end of a run tells the shell."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accgate.errors import SEVERITY, AccgateError, BadInput, CannotEvaluate, VerdictName, exit_code, worst
from tests.cases import each

verdicts = st.sampled_from(SEVERITY)


@each(("verdict", "code"), [("pass", 0), ("regression", 1), ("error", 3), ("inconclusive", 4), ("no-reference", 4)])
def test_each_verdict_has_the_exit_code_of_the_design(verdict: VerdictName, code: int) -> None:
    assert exit_code([verdict]) == code
    assert exit_code(["pass", verdict]) == code


@each(
    ("verdicts", "code"),
    [
        (["inconclusive"], 0),
        (["pass", "inconclusive"], 0),
        (["inconclusive", "no-reference"], 4),
        (["inconclusive", "regression"], 1),
        (["inconclusive", "error"], 3),
    ],
)
def test_a_warning_lets_only_inconclusive_pass(verdicts: list[VerdictName], code: int) -> None:
    assert exit_code(verdicts, inconclusive_passes=True) == code


@pytest.mark.parametrize("inconclusive_passes", [False, True])
def test_nothing_checked_is_an_error_and_not_a_pass(inconclusive_passes: bool) -> None:
    assert worst([]) == "error"
    assert exit_code([], inconclusive_passes=inconclusive_passes) == 3


@pytest.mark.parametrize(
    ("better", "poorer"),
    [
        ("pass", "inconclusive"),
        ("inconclusive", "no-reference"),
        ("no-reference", "regression"),
        ("regression", "error"),
    ],
)
def test_the_worst_of_two_verdicts_is_the_poorer_in_either_order(better: VerdictName, poorer: VerdictName) -> None:
    assert worst([better, poorer]) == worst(iter([poorer, better])) == poorer


@given(st.lists(verdicts, min_size=1), st.booleans())
@settings(deadline=None)
def test_a_run_exits_with_zero_only_where_every_check_does(names: list[VerdictName], warn: bool) -> None:
    each = [exit_code([name], inconclusive_passes=warn) for name in names]
    assert (exit_code(names, inconclusive_passes=warn) == 0) == (not any(each))
    assert exit_code(names, inconclusive_passes=warn) in each


@pytest.mark.parametrize(
    ("error", "code"),
    [(AccgateError("no"), 3), (BadInput("no"), 2), (CannotEvaluate("no"), 3)],
)
def test_each_error_is_one_of_ours_with_its_exit_code(error: AccgateError, code: int) -> None:
    assert isinstance(error, AccgateError)
    assert error.exit_code == code
    assert str(error) == "no"


def test_bad_input_reports_every_fault_on_a_line_of_its_own() -> None:
    error = BadInput("alpha is 2", "theta is 0")
    assert error.messages == ("alpha is 2", "theta is 0")
    assert str(error) == "alpha is 2\ntheta is 0"
