"""The pooled test of several checks: exact where they stop early at times that depend on their signs."""

from collections import defaultdict
from itertools import combinations, product

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from accgate.stats.answers import repeats_of
from accgate.stats.pooled import Series, pooled_test
from accgate.stats.repeats import repeats_exact
from tests.stats.sequences import RATES, drawn
from tests.support.cases import each


def stopped(signs: tuple[int, ...], stop: int) -> tuple[int, ...]:
    """The beginning of a check's signs: it passes where `stop` more were gained than lost, and fails likewise."""
    balance = np.cumsum(signs)
    ends = np.flatnonzero(np.abs(balance) >= stop)
    return signs[: int(ends[0]) + 1] if len(ends) else signs


def single(
    differences: np.ndarray, codes: np.ndarray | None = None, n_max: int | None = None, *, stops: bool = False
) -> Series:
    """A check of one answer on either side with these differences."""
    before, now = 100.0 * (differences < 0.0), 100.0 * (differences > 0.0)
    return Series(repeats_of(before[:, None], now[:, None], codes, n_max=n_max), stops)


def test_at_a_fixed_n_it_is_mcnemars_exact_test_of_the_pooled_counts() -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        checks = [drawn(rng, int(rng.integers(50, 400)), 0.1, 2.0) for _ in range(3)]
        lost, gained = (int(sum(np.sum(side * each > 0.0) for each in checks)) for side in (-1.0, 1.0))
        result = pooled_test([single(each) for each in checks], alpha=0.01)
        assert result.p_value == pytest.approx(binomtest(lost, lost + gained, alternative="greater").pvalue)
        assert result.rejects == (result.p_value <= 0.01)
        assert result.difference == pytest.approx(np.concatenate(checks).mean())


def test_at_a_fixed_n_whole_clusters_flip_their_sign() -> None:
    clustered = single(np.array([-100.0, -100.0, -100.0, 100.0, 0.0]), np.array([0, 0, 1, 2, 3]))
    one = single(np.array([-100.0]))
    totals, signs = np.array([2, 1, 1, 1]), np.array(list(product((-1, 1), repeat=4)))
    exact = float(np.mean(signs @ totals <= -2 - 1 + 1 - 1))
    assert pooled_test([clustered, one], alpha=0.05).p_value == pytest.approx(exact)


@pytest.mark.slow
@each(("stops", "fixed"), [((2, 3), 0), ((2, 3), 3), ((1, 4), 2), ((2, 3, 2), 0)])
def test_over_all_patterns_of_signs_a_p_value_is_as_rare_as_it_says(stops: tuple[int, ...], fixed: int) -> None:
    changes, n_max = 3 if len(stops) > 2 else 4 if fixed > 2 else 5, 20
    chances: dict[tuple[tuple[int, ...], ...], float] = defaultdict(float)
    for signs in product(product((-1, 1), repeat=changes), repeat=len(stops)):
        used = tuple(stopped(each, stop) for each, stop in zip(signs, stops, strict=True))
        chances[used] += 0.5 ** (changes * len(stops))
    p_values, masses, rejected = [], [], 0.0
    for used, chance in chances.items():
        checks = [single(_spread(each, changes, n_max), n_max=n_max, stops=True) for each in used]
        for tail in range(fixed + 1):
            ends = [single(np.repeat([-100.0, 100.0], [tail, fixed - tail]))] if fixed else []
            result = pooled_test([*checks, *ends], alpha=0.1)
            mass = chance * (binom.pmf(tail, fixed, 0.5) if fixed else 1.0)
            p_values.append(result.p_value)
            masses.append(mass)
            rejected += mass * result.rejects
    assert sum(masses) == pytest.approx(1.0)
    order = np.argsort(p_values)
    total = np.cumsum(np.array(masses)[order])
    assert np.all(total <= np.array(p_values)[order] * (1.0 + 1e-6) + 1e-12)
    assert 0.0 < rejected <= 0.1


def _spread(signs: tuple[int, ...], changes: int, n_max: int) -> np.ndarray:
    """Differences with a change at every third sample; a check that did not stop has all its samples."""
    differences = np.zeros(n_max)
    differences[2 : 2 + 3 * len(signs) : 3] = 100.0 * np.array(signs)
    return differences if len(signs) == changes else differences[: 3 * len(signs)]


def test_where_no_outcome_could_reject_it_says_so() -> None:
    few = [single(np.zeros(3)), single(np.zeros(3))]
    assert not pooled_test(few, alpha=0.01).can_reject  # 2 ** -6
    assert pooled_test([*few, single(np.zeros(1))], alpha=0.01).can_reject
    assert pooled_test([single(np.zeros(90), n_max=1319, stops=True)] * 2, alpha=0.01).can_reject


def test_answers_of_several_runs_are_drawn_of_all_answers_to_their_sample_or_whole_sides_exchanged() -> None:
    """At a fixed n: by every draw of checks of one, three and two answers, and by the exact test of one check."""
    rng = np.random.default_rng(5)
    sides = [(rng.integers(0, 2, (n, k)), rng.integers(0, 2, (n, r))) for n, k, r in ((3, 1, 1), (2, 3, 1), (2, 1, 2))]
    series = [Series(repeats_of(100.0 * before, 100.0 * now)) for before, now in sides]
    draws, signs = [], []
    for before, now in sides:
        for row in np.concatenate([before, now], axis=1):
            k, right = before.shape[1], int(row.sum())
            picks = [sum(pick) for pick in combinations(row.tolist(), len(row) - k)]
            draws.append([pick / (len(row) - k) - (right - pick) / k for pick in picks])
            signs.append([side * (row[k:].mean() - row[:k].mean()) for side in (-1.0, 1.0)])
    seen = sum(float(each.answers.totals.sum()) for each in series) / 100.0
    exact = max(np.mean([sum(way) <= seen + 1e-9 for way in product(*ways)]) for ways in (draws, signs))
    assert pooled_test(series, alpha=0.05).p_value == pytest.approx(float(exact))
    one = repeats_of(*(100.0 * rng.integers(0, 2, (40, k)) for k in (4, 2)))
    assert pooled_test([Series(one)], alpha=0.05).p_value == pytest.approx(repeats_exact(one, **RATES).p_value)


@pytest.mark.slow
def test_checks_of_several_runs_that_stop_at_will_hold_every_level() -> None:
    """Every draw of two checks, of which one ends where it looks healthy, and of one at a fixed n."""
    rights = np.array([3, 3, 2, 3])  # in all four answers to each sample
    p_values, masses = [], []
    for nows in product((0, 1), repeat=8):
        mass, checks = 1.0, []
        for half in (np.array(nows[:4]), np.array(nows[4:])):
            mass *= float(np.prod(np.where(half == 1, rights, 4 - rights) / 4.0))
            rows = np.array([[1] * (t - now) + [0] * (3 - t + now) for t, now in zip(rights, half, strict=True)])
            ends = np.flatnonzero(half)  # it ends with the first right answer
            last = int(ends[0]) + 1 if len(ends) else 4
            checks.append(Series(repeats_of(100.0 * rows[:last], 100.0 * half[:last, None], n_max=4), stops=True))
        for lost in range(4):
            tail = single(np.repeat([-100.0, 100.0], [lost, 3 - lost]))
            p_values.append(pooled_test([*checks, tail], alpha=0.2).p_value)
            masses.append(mass * float(binom.pmf(lost, 3, 0.5)))
    assert sum(masses) == pytest.approx(1.0)
    for level in np.unique(p_values):
        assert sum(m for m, p in zip(masses, p_values, strict=True) if p <= level) <= level * (1.0 + 1e-6) + 1e-12
    assert min(p_values) < 0.2
