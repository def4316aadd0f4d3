"""Samples that all runs lost: against every exchange spelt out, and scipy's binomial."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from accgate.stats.betting import share_evidence
from accgate.stats.repeats import collapses_of
from tests.support.cases import each


def exchanged(both: np.ndarray, runs: int, count: int) -> tuple[float, float]:
    """The mean number of collapses, and the chance of so many, over every choice of the reference's runs by sample.

    Only samples with K right answers count, as the others cannot be collapses.
    """
    alike = [row for row in both if (row == 100.0).sum() == runs]
    ways = [*itertools.combinations(range(both.shape[1]), runs)]
    each_way = [[all(row[i] == 100.0 for i in way) for way in ways] for row in alike]
    sums = np.zeros(1, int)
    for own in each_way:
        sums = (sums[:, np.newaxis] + np.array(own, int)).ravel()
    return float(sums.mean()), float(np.mean(sums >= count))


@given(runs=st.integers(2, 3), own=st.integers(2, 3), n=st.integers(1, 5), seed=st.integers(0, 999))
def test_p_is_the_larger_of_all_exchanges_and_of_the_binomial(runs: int, own: int, n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    both = 100.0 * (rng.random((n, runs + own)) < rng.choice([0.2, 0.8], n)[:, np.newaxis])
    both[: n // 2, :runs], both[: n // 2, runs:] = 100.0, 0.0
    before, now = both[:, :runs], both[:, runs:]
    collapses = collapses_of(before, now)
    lost = [all(b == 100.0) and all(c == 0.0) for b, c in zip(before, now, strict=True)]
    pairs = [(set(b[: min(runs, own)]), set(c[: min(runs, own)])) for b, c in zip(before, now, strict=True)]
    worse, better = pairs.count(({100.0}, {0.0})), pairs.count(({0.0}, {100.0}))
    expected, within = exchanged(both, runs, sum(lost))
    across = binomtest(worse, worse + better, 0.5, "greater").pvalue if worse + better else 1.0
    assert collapses.lost.tolist() == lost
    assert np.allclose((collapses.expected, collapses.p_value), (expected, max(within, across)))


def rows(*patterns: tuple[str, str, int]) -> tuple[np.ndarray, np.ndarray]:
    """Answers of both sides, by samples of a pattern: 1 is right, 0 wrong, and ? has no answer."""
    points = {"1": 100.0, "0": 0.0, "?": np.nan}
    sides = [[[points[c] for c in row[side]] for row in patterns for _ in range(row[2])] for side in (0, 1)]
    return np.array(sides[0]), np.array(sides[1])


@each(
    ("patterns", "lost", "recovered", "p_value"),
    [
        ([("1111", "000", 6), ("1111", "111", 50)], 6, 0, 0.5**6),
        ([("1111", "000", 6), ("0000", "111", 6)], 6, 6, binomtest(6, 12, 0.5, "greater").pvalue),
        ([("0000", "111", 9)], 0, 9, 1.0),
        ([("11", "00", 3), ("10", "01", 15)], 3, 0, binomtest(3, 18, 1 / 6, "greater").pvalue),  # all of it is flicker
        # Across builds the first three of four runs count, which lose and recover as often.
        ([("1111", "000", 6), ("0001", "111", 6)], 6, 0, binomtest(6, 12, 0.5, "greater").pvalue),
        ([("1110", "000", 9), ("1111", "000", 1)], 1, 0, binomtest(1, 1, 1 / 35, "greater").pvalue),
        ([("1111", "0?0", 6), ("1111", "000", 1)], 1, 0, 0.5),  # what has no answer is no wrong answer
        ([("0000", "1?1", 6), ("1111", "000", 5)], 5, 0, 0.5**5),
    ],
)
def test_a_collapse_needs_every_answer(patterns, lost: int, recovered: int, p_value: float) -> None:
    collapses = collapses_of(*rows(*patterns))
    assert (int(collapses.lost.sum()), collapses.recovered) == (lost, recovered)
    assert np.isclose(collapses.p_value, p_value)


def test_a_run_that_stops_when_it_has_seen_enough_is_judged_by_evidence_that_holds_at_any_stop() -> None:
    collapses = collapses_of(*rows(("11", "00", 9), ("00", "11", 2), ("10", "01", 15)), any_stop=True)
    within, across = share_evidence(17, 9, 5.0 / 6.0), share_evidence(2, 9, 0.5)
    assert collapses.p_value == pytest.approx(1.0 / min(within, across))
