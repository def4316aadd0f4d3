"""Figures and texts in messages."""

from hypothesis import given
from hypothesis import strategies as st

from accgate.text import number, p_text, signed_number, visible
from tests.cases import each


@each(
    ("value", "plain", "with_sign"),
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
def test_numbers_have_two_digits_and_no_sign_on_zero(value: float | None, plain: str, with_sign: str) -> None:
    assert (number(value), signed_number(value)) == (plain, with_sign)


@each(
    ("value", "text"),
    [(0.03123, "0.0312"), (0.0001, "0.0001"), (0.00009, "<0.0001"), (0.0, "<0.0001"), (1.0, "1.0000")],
)
def test_a_p_value_has_four_digits_or_a_bound(value: float, text: str) -> None:
    assert p_text(value) == text


@given(st.text())
def test_visible_text_is_one_printable_line(text: str) -> None:
    line = visible(text)
    assert all(c.isprintable() or c.isspace() for c in line)
    assert len(line.splitlines()) <= 1
    assert visible(line) == line
