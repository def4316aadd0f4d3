"""`compare_statistic`: aggregates that are not means of scores get the same kind of verdict."""

import numpy as np
import pytest

from accgate import compare, compare_statistic
from accgate.errors import BadInput


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


def test_a_group_that_fell_behind_is_a_regression_and_no_change_is_none() -> None:
    reference, worse = rows_of(1, 0.2)
    verdict = compare_statistic(reference, worse, parity, theta=5.0)
    assert verdict.verdict == "regression"
    assert verdict.reference.mean == pytest.approx(parity(reference))
    assert verdict.candidate.mean == pytest.approx(parity(worse))
    assert verdict.gamma is not None
    assert verdict.candidate.mean < verdict.gamma
    same = compare_statistic(reference, reference, parity, theta=5.0)
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
    assert found.sigma is not None
    assert found.theta == pytest.approx(2.48648 * found.sigma / 200**0.5, rel=1e-4)  # nothing bounds a statistic


def test_lower_is_better_turns_round() -> None:
    reference, worse = rows_of(1, 0.2)
    verdict = compare_statistic(reference, worse, lambda rows: -parity(rows), higher_is_better=False)
    assert verdict.verdict == "regression"
    assert verdict.difference is not None
    assert verdict.difference > 0.0


def test_too_few_samples_for_theta_are_inconclusive() -> None:
    reference, healthy = rows_of(2, 0.02, n=60)
    assert compare_statistic(reference, healthy, parity, theta=0.1).verdict == "inconclusive"


@pytest.mark.parametrize(
    ("reference", "candidate", "keys", "message"),
    [
        ([1.0, 2.0], [1.0], {}, "the sides have the shapes"),
        ([], [], {}, "the sides have the shapes"),
        ([1.0, 2.0], [1.0, 2.0], {"alpha": 0.7}, "alpha is 0.7"),
        ([1.0, 2.0], [1.0, 2.0], {"theta": 0.0}, "theta is 0.0"),
        ([1.0, 2.0], [1.0, 2.0], {"method": "guess"}, "method is 'guess'"),
    ],
)
def test_what_cannot_be_compared_is_refused(reference, candidate, keys, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        compare_statistic(reference, candidate, lambda rows: float(rows.mean()), **keys)


def test_a_statistic_without_a_value_is_refused() -> None:
    with pytest.raises(BadInput, match="cannot be compared"):
        compare_statistic([1.0, 2.0], [1.0, 2.0], lambda _: float("nan"))
