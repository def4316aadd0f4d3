"""Influence values, against closed forms, a textbook's jackknife and what leaving a unit out changes."""

import math

import numpy as np
import numpy.typing as npt
import pytest

from accgate.stats.statistics import StatisticUndefined, influence_values

Floats = npt.NDArray[np.float64]


def test_influence_values_give_the_textbook_jackknife_error_of_a_correlation() -> None:
    lsat = np.array([576, 635, 558, 578, 666, 580, 555, 661, 651, 605, 653, 575, 545, 572, 594])
    gpa = np.array([3.39, 3.30, 2.81, 3.03, 3.44, 3.07, 3.00, 3.43, 3.36, 3.13, 3.12, 2.74, 2.76, 2.88, 2.96])
    influence = influence_values(lambda i: np.corrcoef(lsat[i], gpa[i])[0, 1], 15)
    error = influence.std(ddof=1) / math.sqrt(15)
    assert error == pytest.approx(0.1425, abs=5e-5)  # Efron and Tibshirani 1993, law school data: 0.143


@pytest.mark.parametrize("clusters", [None, [2, 7, 7, 2, 5, 5, 5, 2, 0, 0]])
def test_the_influence_of_a_unit_is_what_leaving_it_out_changes(clusters: list[int] | None) -> None:
    values = np.random.default_rng(1).uniform(1.0, 9.0, (10, 2))
    labels = np.arange(10) if clusters is None else np.array(clusters)
    units = sorted(set(labels.tolist()))

    def ratio(rows: Floats) -> float:
        return float(rows[:, 0].mean() / rows[:, 1].mean() + rows[:, 0].mean())

    expected = [(len(units) - 1) * (ratio(values) - ratio(values[labels != u])) for u in units]
    assert influence_values(lambda i: ratio(values[i]), 10, clusters=clusters) == pytest.approx(expected)


def test_what_has_no_value_without_one_unit_names_that_unit() -> None:
    x = np.array([0.0, 3.0, 0.0])
    with pytest.raises(StatisticUndefined, match="without sample 1"):
        influence_values(lambda i: 1.0 / x[i].mean(), 3)
    with pytest.raises(StatisticUndefined, match="without cluster b"):
        influence_values(lambda i: 1.0 / x[i].mean(), 3, clusters=["a", "b", "a"])
    with pytest.raises(StatisticUndefined, match="all samples"):
        influence_values(lambda i: math.log(-len(i)), 3)
