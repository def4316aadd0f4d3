"""The text gauge: it never contradicts the verdict, whatever the figures."""
# ruff: noqa: RUF001 (the marks are what is tested)

import math

from hypothesis import given
from hypothesis import strategies as st

from accgate.report.views import WIDTH, gauge
from tests.cases import each

points = st.floats(-1e6, 1e6)


def mirrored(reference: float, gamma: float | None, mean: float) -> str:
    """The gauge of the same check, counted the other way round."""
    return gauge(-reference, None if gamma is None else -gamma, -mean, higher_is_better=False)


@given(reference=points, room=st.floats(0.0, 1e4), mean=points)
def test_the_mean_stands_left_of_gamma_exactly_where_the_gate_fails(reference: float, room: float, mean: float) -> None:
    gamma = reference - room
    line = gauge(reference, gamma, mean)
    assert len(line) == WIDTH
    assert (line.index("●") < line.index("γ")) == (mean < gamma)
    assert line == mirrored(reference, gamma, mean)


@given(reference=points, mean=points, theta=st.none() | st.floats(0.0, 1e4))
def test_without_gamma_there_is_no_mark_of_it(reference: float, mean: float, theta: float | None) -> None:
    line = gauge(reference, None, mean, theta=theta)
    assert len(line) == WIDTH
    assert "γ" not in line
    assert line.count("●") == 1
    assert "R" in line or line.index("●") == gauge(0.0, None, 1e9).index("R")


def test_gamma_and_reference_stand_at_the_same_places_in_every_gauge() -> None:
    lines = [gauge(80.0, 78.0, 70.0), gauge(3.0, 2.9, 2.0), gauge(3.0, 3.5, 9.0, higher_is_better=False)]
    assert len({(line.index("γ"), line.index("R")) for line in lines}) == 1


@each(("mean", "ends"), [(75.0, "├┤"), (72.5, "├┤"), (69.9, "├┤"), (69.0, "«┤"), (77.5, "├»")])
def test_an_arrow_stands_at_the_end_that_the_mean_is_beyond(mean: float, ends: str) -> None:
    line = gauge(75.0, 72.5, mean)
    assert line[0] + line[-1] == ends


def test_a_mean_on_the_reference_covers_its_mark() -> None:
    line = gauge(75.0, 72.5, 75.0)
    assert "R" not in line
    assert line.index("●") == gauge(75.0, 72.5, 70.0).index("R")


def test_where_all_are_equal_nothing_fails() -> None:
    line = gauge(50.0, 50.0, 50.0)
    assert line.index("γ") < line.index("●")
    assert gauge(50.0, 50.0, 49.0).index("●") < gauge(50.0, 50.0, 49.0).index("γ")


@each(
    "figures",
    [(None, 1.0, 2.0), (1.0, 2.0, None), (math.nan, 1.0, 2.0), (1.0, math.inf, 2.0), (1.0, None, math.nan)],
)
def test_without_figures_there_is_no_gauge(figures: tuple[float | None, float | None, float | None]) -> None:
    assert gauge(*figures) == ""
