"""Scores and checks of the tests of decide.py."""

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import cache
from typing import Any

import numpy as np
from hypothesis import strategies as st
from scipy.stats import binom

from accgate.decision.comparison import compare
from accgate.decision.evidence import Evidence
from accgate.decision.progress import limits_of
from accgate.decision.stopping import are_decided, sequential_cases
from accgate.evaluation.assignment import Limits
from accgate.records.scores import Scores
from accgate.verdict import Verdict


def is_decided(evidence: Evidence, alpha: float) -> bool:
    return are_decided(sequential_cases(evidence, alpha))


binary = st.sampled_from([0.0, 100.0])
points = st.integers(0, 1000).map(lambda x: x / 10.0)
pairs = st.lists(st.tuples(binary, binary), min_size=1, max_size=60) | st.lists(
    st.tuples(points, points), min_size=1, max_size=25
)
rates = st.floats(0.001, 0.45)


def one_each(values: Sequence[Any] | np.ndarray) -> Scores:
    """Scores of samples 0, 1, ..., of which each has one, or a row of several."""
    return Scores(tuple(map(str, range(len(values)))), np.array(values, dtype=float).reshape(len(values), -1))


def failing(found: Evidence, failed: Any) -> Evidence:
    """The evidence after these of the candidate's samples failed."""
    values = found.candidate.values.copy()
    values[failed] = np.nan
    return replace(found, candidate=replace(found.candidate, values=values))


def sides(rows: list[tuple[float, float]]) -> tuple[list[float], list[float]]:
    """Reference and candidate; the first sample keeps them from looking like fractions."""
    rows = [(100.0, 100.0), *rows]
    return [r for r, _ in rows], [c for _, c in rows]


def flips(lost: int, gained: int, n: int) -> tuple[Scores, Scores]:
    """0/100 scores of reference and candidate with so many samples lost and gained."""
    reference = np.repeat([100.0, 0.0, 100.0], [lost, gained, n - lost - gained])
    candidate = np.repeat([0.0, 100.0, 100.0], [lost, gained, n - lost - gained])
    return one_each(reference.tolist()), one_each(candidate.tolist())


@cache
def unconditional_p(lost: int, gained: int, n: int) -> float:
    """The largest probability under H0, over the share that changes, of an outcome as early in the mid-p's order."""
    masses, place, changed = outcomes_of(n)
    early = place <= place[lost, lost + gained] * (1.0 + 1e-9)
    return float(np.max(changed @ np.where(early, masses, 0.0).sum(axis=0)))


@cache
def outcomes_of(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mass and place in the order of so many lost (rows) of those that changed (columns); masses of the latter."""
    m, lost = np.arange(n + 1), np.arange(n + 1)[:, None]
    masses, tail = binom.pmf(lost, m, 0.5), binom.sf(lost - 1, m, 0.5)
    place = np.where(lost <= m, np.where(2 * m <= n, tail - 0.5 * masses, tail), np.inf)
    return masses, place, binom.pmf(m, n, np.linspace(0.0, 1.0, 801)[:, None])


def on_the_edge(verdict: Verdict) -> bool:
    """Whether a continuous p-value is alpha to the last bits: the t test of 2 samples has p = 1/4 exactly."""
    assert verdict.p_adjusted is not None
    return verdict.p_mid is None and abs(verdict.p_adjusted - verdict.alpha) < 1e-12


def assert_sound(verdict: Verdict) -> None:
    """No NaN anywhere, and mean, p, interval and verdict say the same."""
    json.dumps(asdict(verdict), allow_nan=False)
    assert verdict.p_adjusted is not None
    rejected = verdict.verdict == "regression"
    assert on_the_edge(verdict) or rejected == (verdict.p_adjusted <= verdict.alpha)
    sign = 1.0 if verdict.higher_is_better else -1.0
    assert verdict.candidate.mean is not None
    if verdict.gamma is not None and abs(verdict.candidate.mean - verdict.gamma) > 1e-9:
        assert rejected == (sign * verdict.candidate.mean < sign * verdict.gamma)
    if verdict.interval is not None:
        low, high = verdict.interval.two_sided
        assert low <= high
        assert verdict.interval.one_sided == (high if verdict.higher_is_better else low)


def compare_in_order(reference: Any, candidate: Any, **rules: Any) -> Verdict:
    """`compare` that takes arrays as they stand, so that a test knows which samples a run used."""
    return compare(reference, candidate, order="random" if isinstance(candidate, dict) else "given", **rules)


def limits_after(evidence: Evidence, alpha: float) -> Limits | None:
    """How near the beginning of a run is to a decision at this alpha."""
    return limits_of(evidence, sequential_cases(evidence, alpha)[0])
