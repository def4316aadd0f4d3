"""Exit codes: what each end of a run tells the shell."""

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from accgate.errors import SEVERITY, AccgateError, BadInput, CannotEvaluate, VerdictName, exit_code, worst
from tests.support.cases import each

verdicts = st.sampled_from(SEVERITY)


@each(("verdict", "code"), [("pass", 0), ("regression", 1), ("error", 3), ("inconclusive", 4), ("no-reference", 4)])
def test_each_verdict_has_the_exit_code_of_the_design(verdict: VerdictName, code: int) -> None:
    assert exit_code([verdict]) == code
    assert exit_code(["pass", verdict]) == code


def test_a_warning_lets_only_inconclusive_pass() -> None:
    for verdict, code in (("pass", 0), ("no-reference", 4), ("regression", 1), ("error", 3)):
        assert exit_code(["inconclusive", verdict], inconclusive_passes=True) == code


def test_nothing_checked_is_an_error_and_not_a_pass() -> None:
    assert worst([]) == "error"
    assert exit_code([], inconclusive_passes=False) == exit_code([], inconclusive_passes=True) == 3


@each(("better", "poorer"), pairwise(("pass", "inconclusive", "no-reference", "regression", "error")))
def test_the_worst_of_two_verdicts_is_the_poorer_in_either_order(better: VerdictName, poorer: VerdictName) -> None:
    assert worst([better, poorer]) == worst(iter([poorer, better])) == poorer


@given(st.lists(verdicts, min_size=1), st.booleans())
@settings(deadline=None)
def test_a_run_exits_with_zero_only_where_every_check_does(names: list[VerdictName], warn: bool) -> None:
    each = [exit_code([name], inconclusive_passes=warn) for name in names]
    assert (exit_code(names, inconclusive_passes=warn) == 0) == (not any(each))
    assert exit_code(names, inconclusive_passes=warn) in each


def test_errors_have_exit_codes_and_report_every_fault_on_a_line_of_its_own() -> None:
    assert [error("no").exit_code for error in (AccgateError, BadInput, CannotEvaluate)] == [3, 2, 3]
    error = BadInput("alpha is 2", "theta is 0")
    assert error.messages == ("alpha is 2", "theta is 0")
    assert str(error) == "alpha is 2\ntheta is 0"
