"""Krippendorff's alpha, against another implementation."""

import math
from typing import Any, get_args

import krippendorff
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from accgate.stats.agreement import Level, krippendorff_alpha

NONE = math.nan
LEVELS: tuple[Level, ...] = get_args(Level)
tables = st.tuples(st.integers(1, 6), st.integers(1, 12)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=st.sampled_from([1.0, 2.0, 3.0, 4.0, 5.0, NONE]))
)


@given(tables, st.sampled_from(LEVELS))
@example(np.full((2, 2), 3.0), "interval")
@example(np.array([[1.0, NONE], [NONE, 2.0]]), "ordinal")
def test_any_table_gives_what_another_implementation_gives(table: Any, level: Level) -> None:
    own = krippendorff_alpha(table, level)
    rated = table[:, (~np.isnan(table)).sum(axis=0) >= 2]
    if len(np.unique(rated[~np.isnan(rated)])) < 2:
        assert math.isnan(own)
        return
    expected = krippendorff.alpha(rated, level_of_measurement=level)
    assert own == pytest.approx(expected, abs=1e-9)
