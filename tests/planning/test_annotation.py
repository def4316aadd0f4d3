"""annotation_plan(): how many test cases to annotate when there is no dataset yet."""

import math
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from accgate.errors import BadInput
from accgate.planning.annotation import annotation_plan
from tests.support.cases import each

margins = st.floats(1e-4, 0.9)
confidences = st.floats(0.5, 0.9999)
populations = st.none() | st.integers(1, 20_000)


@each(("margin", "n"), [(0.01, 18_445), (0.001, 1_844_440)])
def test_the_answer_is_the_published_one_in_any_unit(margin: float, n: int) -> None:
    assert annotation_plan(margin).n == n
    assert annotation_plan(100 * margin, low=0.0, high=100.0).n == n
    assert annotation_plan(2 * margin, low=-1.0, high=1.0).n == n


@given(margin=margins, confidence=confidences, population=populations)
def test_the_approximation_is_scipy_s_normal_with_the_finite_population_s_correction(
    margin, confidence, population
) -> None:
    needed = (norm.isf((1 - confidence) / 2) * 0.5 / margin) ** 2
    if population is not None:
        needed = max(needed / (1 + (needed - 1) / population), min(needed, 1.0))
    plan = annotation_plan(margin, confidence=confidence, population=population)
    assert plan.n_approximate == pytest.approx(max(1, math.ceil(needed)), rel=1e-6)
    assert plan.n_approximate <= plan.n


@given(margin=margins, confidence=confidences, population=populations)
def test_the_curve_s_first_row_that_reaches_margin_and_confidence_is_the_answer(margin, confidence, population) -> None:
    plan = annotation_plan(margin, confidence=confidence, population=population)
    numbers = [row.n for row in plan.curve]
    assert numbers == sorted(set(numbers))
    assert plan.n in numbers
    for row in plan.curve:
        reached = row.n >= plan.n
        assert (row.margin <= margin * (1 + 1e-9)) == reached
        assert (row.confidence >= confidence - 1e-9) == reached
        assert 0.0 <= min(row.margin, row.confidence) <= max(row.margin, row.confidence) <= 1.0
    for fewer, more in zip(plan.curve, plan.curve[1:], strict=False):
        assert fewer.margin >= more.margin
        assert fewer.confidence <= more.confidence


def test_the_curve_runs_over_round_numbers_to_beyond_the_answer() -> None:
    assert [row.n for row in annotation_plan(0.05).curve] == [50, 100, 200, 500, 738, 1000, 2000]
    assert [row.n for row in annotation_plan(0.3).curve] == [10, 20, 21, 50]
    assert [row.n for row in annotation_plan(0.05, population=1319).curve] == [50, 100, 200, 474, 500, 1000, 1319]


def test_of_a_small_population_fewer_are_needed_and_all_of_it_is_certain() -> None:
    plan = annotation_plan(0.01, population=10_000)
    assert (plan.curve[-1].n, plan.curve[-1].margin, plan.curve[-1].confidence) == (10_000, 0.0, 1.0)
    assert annotation_plan(0.01, population=50).n == 50
    assert annotation_plan(0.01, population=1).n == 1


@each(
    ("keys", "words"),
    [
        (
            {},
            ["18,445 test cases", "than 0.01", "95% confidence", "from 0 to 1 are", "9,604", "standard deviation, 0.5"],
        ),
        (
            {"margin": 5.0, "high": 100.0, "population": 1319, "confidence": 0.999},
            ["707 of the 1,319", "mean of all", "99.9% confidence", "from 0 to 100 are"],
        ),
        ({"population": 20}, ["all 20 test cases", "less than 0.01"]),
    ],
)
def test_the_sentence_gives_the_answer_and_what_it_assumes(keys: dict[str, Any], words: list[str]) -> None:
    sentence = annotation_plan(**{"margin": 0.01} | keys).sentence()
    assert [word for word in words if word not in sentence] == []


def test_rows_round_margins_up_and_confidences_down() -> None:
    plan = annotation_plan(0.05)
    assert len(plan.header()) == 3
    assert plan.header()[1] == "margin at 95% confidence"
    rows = dict(zip((row.n for row in plan.curve), plan.rows(), strict=True))
    assert rows[738] == ("738", "0.05", "95.0055%")
    assert rows[50] == ("50", "0.1921", "0%")
    for row, (_, margin, confidence) in zip(plan.curve, plan.rows(), strict=True):
        assert row.margin <= float(margin) * (1 + 1e-9) <= row.margin * 1.002
        assert row.confidence - 1e-6 <= float(confidence.rstrip("%")) / 100 <= row.confidence + 1e-12
    whole = annotation_plan(0.05, population=100).rows()[-1]
    assert whole == ("100", "0", "100%")


@each(
    ("keys", "message"),
    [
        ({"margin": math.nan}, "margin is nan; give a number from 1e-05 to below 1"),
        ({"margin": 9e-6}, "margin is 9e-06; give"),
        ({"confidence": 0.0}, "confidence is 0; give a share"),
        ({"low": 1.0, "high": 1.0}, "range is 1 to 1; give the lowest and the highest"),
        ({"high": math.inf}, "range is 0 to inf; give"),
        ({"population": 0}, "population is 0; give 1 or more"),
        (
            {"confidence": 95.0, "population": -3},
            "confidence is 95; give a share above 0 and below 1, such as 0.95\npopu",
        ),
    ],
)
def test_an_argument_out_of_range_is_named_with_the_mend(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput) as refused:
        annotation_plan(**{"margin": 0.05, **keys})
    assert str(refused.value).startswith(message)


def test_a_plan_loads_no_numpy() -> None:
    code = (
        "import sys; from accgate.planning.annotation import annotation_plan; annotation_plan(0.01, population=500);"
        "print('numpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
