"""Influence values, against what leaving a unit out changes."""

import math

import numpy as np
import numpy.typing as npt
import pytest

from accgate.stats.statistics import StatisticUndefined, influence_values

Floats = npt.NDArray[np.float64]


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
