"""The scores of an arm: those that a reference has for the same answers."""

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from accgate.records.file import Record
from accgate.records.scores import Scores
from accgate.trials.arm import mean_scores


@pytest.mark.parametrize(("repeats", "runs"), [(1, 1), (1, 3), (3, 1), (6, 4)])
def test_the_same_answers_have_the_score_that_the_reference_has(repeats: int, runs: int) -> None:
    points = [100.0 / 3.0, 200.0 / 3.0, 14.3, 28.6, 57.1, 33.333]
    ids = tuple(map(str, range(len(points))))
    check = cast(Any, SimpleNamespace(repeats=repeats, design=SimpleNamespace(higher_is_better=True)))
    records = [
        Record(id_, repeat, score, "", "", "", "stop", 1, 1, 0.1, None)
        for id_, score in zip(ids, points, strict=True)
        for repeat in range(repeats)
    ]
    reference = Scores(ids, np.repeat(np.array(points)[:, None], runs, axis=1))
    assert mean_scores(check, records) == dict(zip(ids, reference.means().tolist(), strict=True))
