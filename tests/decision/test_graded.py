"""Scores other than 0/100: which test decides, and that many clear losses stay a regression."""

from typing import Any

import numpy as np
import pytest

from accgate.decision.comparison import compare
from tests.support.cases import each


def scores(lost: int, to: float, gains: list[float], n: int = 1000) -> tuple[np.ndarray, np.ndarray]:
    """A reference of 100, and of 50 where the candidate gains; the candidate falls in `lost` samples."""
    before = np.full(n, 100.0)
    before[lost : lost + len(gains)] = 50.0
    after = before.copy()
    after[:lost] = to
    after[lost : lost + len(gains)] += gains
    return before, after


@pytest.mark.slow
@each("early", [{}, {"early_stopping": True, "theta": 4.0}])
@each("gains", [[50.0], [12.34, -3.0, 7.5], [0.01] * 10])
@each(("lost", "to"), [(150, 0.0), (300, 33.3)])
def test_many_clear_losses_are_a_regression_whatever_a_few_gains_do(
    lost: int, to: float, gains: list[float], early: dict[str, Any]
) -> None:
    verdict = compare(*scores(lost, to, gains), **early)
    assert verdict.verdict == "regression"
    assert verdict.gamma is not None
    assert verdict.p_value < 1e-4
    assert verdict.test == ("group-sequential" if early else "bootstrap")


@each(("test", "n", "used"), [
    ("auto", 49, "permutation"), ("auto", 50, "bootstrap"), ("bootstrap", 20, "bootstrap"),
    ("permutation", 80, "permutation"), ("paired", 80, "paired"),
])  # fmt: skip
def test_under_50_samples_auto_flips_signs_and_a_test_that_is_named_decides(test: Any, n: int, used: str) -> None:
    before = np.random.default_rng(n).uniform(20.0, 80.0, n)
    assert compare(before, before + np.linspace(-3.0, 4.0, n), test=test).test == used


def test_clusters_of_other_scores_are_weighed_whole() -> None:
    rng = np.random.default_rng(1)
    before, codes = rng.uniform(20.0, 80.0, 300), np.repeat(np.arange(60), 5)
    after = before + np.repeat(rng.normal(-2.0, 5.0, 60), 5)
    verdict = compare(before, after, clusters=codes)
    assert (verdict.test, verdict.clusters) == ("bootstrap", 60)
    assert compare(before, after, clusters=codes // 2).test == "permutation"


@pytest.mark.parametrize("clusters", [None, 4])
def test_gsprt_leaves_other_scores_and_clusters_to_the_group_sequential_test(clusters: int | None) -> None:
    rng = np.random.default_rng(2)
    before = rng.choice([0.0, 100.0], 800) if clusters else rng.uniform(20.0, 80.0, 800)
    codes = None if clusters is None else np.arange(800) // clusters
    after = before.copy() if clusters else before + rng.normal(0.0, 3.0, 800)
    verdict = compare(before, after, test="gsprt", theta=4.0, clusters=codes)
    assert (verdict.test, verdict.verdict, verdict.stop) == ("group-sequential", "pass", "futility")
    assert verdict.n < 800
