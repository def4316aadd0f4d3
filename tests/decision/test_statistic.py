"""`compare_statistic`: aggregates that are not means of scores get the same kind of verdict."""

from typing import Any

import numpy as np
import pytest

from accgate import compare, compare_statistic
from accgate.errors import BadInput
from tests.support.cases import each


def parity(rows: np.ndarray) -> float:
    """Share right in group 1 less that in group 0, points; columns are group and right."""
    group, right = rows[:, 0], rows[:, 1]
    return 100.0 * float(right[group == 1].mean() - right[group == 0].mean())


def rows_of(seed: int, drop: float, n: int = 800) -> tuple[np.ndarray, np.ndarray]:
    """A reference, and a candidate that loses a share `drop` of what group 1 had right."""
    draw = np.random.default_rng(seed)
    group = np.arange(n) % 2
    right = (draw.random(n) < 0.7).astype(float)
    lost = (group == 1) & (draw.random(n) < drop)
    return np.stack([group, right], axis=1), np.stack([group, np.where(lost, 0.0, right)], axis=1)


@each("sign", [1.0, -1.0])
def test_a_group_that_fell_behind_is_a_regression_and_no_change_is_none(sign: float) -> None:
    def statistic(rows: np.ndarray) -> float:
        return sign * parity(rows)

    reference, worse = rows_of(1, 0.2)
    rules: dict[str, Any] = {"theta": 5.0, "higher_is_better": sign > 0.0}
    verdict = compare_statistic(reference, worse, statistic, **rules)
    assert verdict.verdict == "regression"
    assert verdict.reference.mean == pytest.approx(sign * parity(reference))
    assert verdict.candidate.mean == pytest.approx(sign * parity(worse))
    assert sign * verdict.candidate.mean < sign * verdict.gamma
    same = compare_statistic(reference, reference, statistic, **rules)
    assert (same.verdict, same.p_value, same.difference) == ("pass", 1.0, 0.0)


def test_a_mean_gets_the_verdict_of_the_paired_t_test() -> None:
    draw = np.random.default_rng(3)
    reference = draw.normal(50.0, 10.0, 200)
    candidate = reference + draw.normal(-1.0, 5.0, 200)
    direct = compare(reference, candidate, test="paired", theta=1.0)
    found = compare_statistic(reference, candidate, lambda rows: float(rows.mean()), theta=1.0)
    assert (found.verdict, found.n) == (direct.verdict, direct.n)
    for name in ("difference", "p_value", "gamma", "sigma"):
        assert getattr(found, name) == pytest.approx(getattr(direct, name), rel=1e-6)
    assert found.theta == pytest.approx(2.48648 * found.sigma / 200**0.5, rel=1e-4)  # nothing bounds a statistic


def test_too_few_samples_for_theta_are_inconclusive() -> None:
    reference, healthy = rows_of(2, 0.02, n=60)
    assert compare_statistic(reference, healthy, parity, theta=0.1).verdict == "inconclusive"


def mean(rows: np.ndarray) -> float:
    return float(rows.mean())


@each(
    ("candidate", "statistic", "keys", "message"),
    [
        ([1.0], mean, {}, "the sides have the shapes"),
        ([], mean, {}, "the sides have the shapes"),
        ([1.0, 2.0], mean, {"alpha": 0.7}, "alpha is 0.7"),
        ([1.0, 2.0], mean, {"theta": 0.0}, "theta is 0.0"),
        ([1.0, 2.0], mean, {"method": "guess"}, "method is 'guess'"),
        ([1.0, 2.0], lambda _: float("nan"), {}, "cannot be compared"),
    ],
)
def test_what_cannot_be_compared_is_refused(candidate: Any, statistic: Any, keys: dict[str, Any], message: str) -> None:
    reference = [1.0, 2.0] if candidate else []
    with pytest.raises(BadInput, match=message):
        compare_statistic(reference, candidate, statistic, **keys)
