"""Krippendorff's alpha, against another implementation."""

import math
from typing import Any, get_args

import krippendorff
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from accgate.stats.agreement import Level, krippendorff_alpha

NONE = math.nan
LEVELS: tuple[Level, ...] = get_args(Level)
tables = st.tuples(st.integers(2, 6), st.integers(1, 12)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=st.sampled_from([1.0, 2.0, 3.0, 4.0, 5.0, NONE]))
)


@given(tables, st.sampled_from(LEVELS))
def test_any_table_gives_what_another_implementation_gives(table: Any, level: Level) -> None:
    own = krippendorff_alpha(table, level)
    rated = table[:, (~np.isnan(table)).sum(axis=0) >= 2]
    if len(np.unique(rated[~np.isnan(rated)])) < 2:
        assert math.isnan(own)
        return
    expected = krippendorff.alpha(rated, level_of_measurement=level)
    assert own == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    "table",
    [[[3, 3], [3, 3]], [[1, 2, 3]], [[1, NONE], [NONE, 2]], [[NONE], [NONE]], [[1, 5, NONE], [1, NONE, 4]]],
    ids=["one value", "one rater", "no unit twice", "nothing", "one unit"],
)
def test_where_there_is_nothing_to_compare_alpha_does_not_exist(table: Any) -> None:
    assert math.isnan(krippendorff_alpha(table))
