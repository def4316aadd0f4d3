"""Figures and texts in messages."""

import math

from hypothesis import given
from hypothesis import strategies as st

from accgate.text import (
    asked_figure,
    change_figure,
    digits_apart,
    digits_of_means,
    drop_figure,
    figure,
    visible,
)


@given(st.text())
def test_visible_text_is_one_printable_line(text: str) -> None:
    line = visible(text)
    assert all(c.isprintable() or c.isspace() for c in line)
    assert len(line.splitlines()) <= 1
    assert visible(line) == line


@given(st.floats(0.0, 1e9))
def test_a_figure_rounded_up_is_never_below_the_value_nor_a_step_above(value: float) -> None:
    text = drop_figure(value)
    step = 10.0 ** -len(text.partition(".")[2])
    assert value - 1e-5 <= float(text.replace(",", "")) <= value + step + 1e-5


def test_a_value_too_large_for_tenths_is_printed_all_the_same() -> None:
    assert drop_figure(math.inf) == "inf"
    assert drop_figure(1e308).endswith(".0")


def value_of(text: str) -> float:
    return float(text.replace("−", "-").replace(",", ""))


MEANS = st.floats(0.0, 100.0)
NEAR = st.sampled_from([0.0, 1e-6, 0.0004, 0.004, 0.03, 0.0499, 0.05, 0.07, 0.1, 0.14, 2.0])


@given(MEANS, MEANS | NEAR, MEANS | NEAR, st.sampled_from([-1.0, 1.0]))
def test_before_and_change_make_now_and_neither_a_change_nor_a_failure_disappears(before, by, under, sign) -> None:
    now = before + sign * by
    for gamma in (None, now + under, now - under):
        digits = digits_of_means(before, now, gamma)
        shown, change = value_of(figure(now, digits)), value_of(change_figure(before, now, digits))
        assert round(value_of(figure(before, digits)) + change, digits) == shown
        assert abs(change - (now - before)) <= 1.01 * 10.0**-digits
        if abs(now - before) >= 1e-4:
            assert change * (now - before) > 0.0
        if gamma is not None and abs(now - gamma) >= 1e-4:
            assert (shown < value_of(figure(gamma, digits))) == (now < gamma)


@given(st.floats(0.001, 50.0), st.integers(1, 5000), st.sampled_from([1, 2, 3]))
def test_a_theta_reads_larger_than_the_one_asked_for_only_where_it_is(theta: float, steps: int, written: int) -> None:
    asked = steps / 10**written
    if abs(theta - asked) > 1e-5:
        assert (value_of(drop_figure(theta, asked)) > value_of(asked_figure(asked))) == (theta > asked)


@given(st.floats(0.0, 100.0), st.floats(0.0, 100.0), st.floats(0.0, 100.0))
def test_figures_that_differ_read_differently(first: float, second: float, third: float) -> None:
    digits = digits_apart((first, second), (second, third))
    for one, other in ((first, second), (second, third)):
        if abs(one - other) >= 2e-4:
            assert figure(one, digits) != figure(other, digits)
