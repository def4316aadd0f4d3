"""Limits for a paired difference, against full enumeration of the outcomes."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq, minimize_scalar
from scipy.special import gammaln, xlogy
from scipy.stats import binom, binomtest, norm

from accgate.stats.difference import exact_difference_interval
from accgate.stats.paired import mcnemar_exact
from tests.support.cases import each


def outcomes(n: int) -> list[tuple[int, int]]:
    return [(lost, gained) for lost in range(n + 1) for gained in range(n + 1 - lost)]


def chances(pairs: list[tuple[int, int]], n: int, d: float, q: np.ndarray) -> np.ndarray:
    """Probability of each outcome (columns) at difference d and each discordance q (rows); shares, not points."""
    counts = np.array([(lost, gained, n - lost - gained) for lost, gained in pairs])
    shares = np.clip(np.column_stack([(q - d) / 2.0, (q + d) / 2.0, 1.0 - q]), 1e-300, 1.0)
    ways = gammaln(n + 1.0) - gammaln(counts + 1.0).sum(axis=1)
    return np.exp(ways + np.log(shares) @ counts.T)


def constrained(lost: int, gained: int, n: int, d: float) -> tuple[float, float]:
    """Likeliest share lost where the difference is d, by a general maximiser, and minus its log likelihood."""

    def cost(share: float) -> float:
        return -float(xlogy(lost, share) + xlogy(gained, share + d) + xlogy(n - lost - gained, 1.0 - d - 2.0 * share))

    least, most = max(0.0, -d), (1.0 - d) / 2.0
    inside = minimize_scalar(cost, bounds=(least, most), options={"xatol": 1e-12}).x
    share = min([least, inside, most], key=cost)
    return share, cost(share)


def signed_root(lost: int, gained: int, n: int, d: float) -> float:
    deviance = 2.0 * (constrained(lost, gained, n, d)[1] - constrained(lost, gained, n, (gained - lost) / n)[1])
    return math.copysign(math.sqrt(max(deviance, 0.0)), gained - lost - n * d)


@pytest.mark.slow
@each("alpha", [0.01, 0.05, 0.2])
@each("n", [1, 5, 10, 20, 30])
def test_each_limit_covers_for_every_share_of_samples_lost_and_gained(n: int, alpha: float) -> None:
    pairs = outcomes(n)
    upper = np.array([exact_difference_interval(*pair, n, alpha=alpha).one_sided for pair in pairs]) / 100.0
    q = np.sin(np.linspace(0.0, math.pi / 2.0, 12 if n == 30 else 40)) ** 2
    # A limit covers least often just above one of its own values.
    values = np.unique(upper)[:: 1 + n // 20 * 6]
    for d in [*np.linspace(-0.95, 0.95, 5), *(values[values < 1.0 - 1e-9] + 1e-9)]:
        inside = np.append(q[q > abs(d)], max(abs(d), 1e-12))
        covered = chances(pairs, n, d, inside)[:, upper >= d].sum(axis=1)
        assert covered.min() >= 1.0 - alpha - 1e-9


@given(counts=st.tuples(*[st.integers(0, 60)] * 3), alpha=st.floats(0.001, 0.45))
def test_the_limit_is_below_zero_exactly_where_mcnemars_test_rejects(counts, alpha: float) -> None:
    lost, gained, same = counts
    n = lost + gained + same + 1
    interval = exact_difference_interval(lost, gained, n, alpha=alpha)
    low, high = interval.two_sided
    assert (interval.one_sided < 0.0) == (mcnemar_exact(lost, gained, n, alpha=alpha, beta=0.2).p_value <= alpha)
    assert (low > 0.0) == (mcnemar_exact(gained, lost, n, alpha=alpha, beta=0.2).p_value <= alpha)
    assert -100.0 <= low <= 100.0 * (gained - lost) / n <= high <= 100.0
    assert interval.one_sided == high


@pytest.mark.parametrize("pairs", [(5, 0, 5), (5, 0, 500)])
def test_a_tie_of_p_and_alpha_rejects_in_the_interval_too(pairs: tuple[int, int, int]) -> None:
    assert exact_difference_interval(*pairs, alpha=2.0**-5).one_sided < 0.0
    assert exact_difference_interval(*pairs, alpha=2.0**-5 * (1.0 - 1e-9)).one_sided >= 0.0


@each("n", [1, 2, 7, 100, 1319])
@each("alpha", [0.01, 0.05, 0.2])
def test_no_flips_have_the_exact_bound_of_an_event_never_seen(n: int, alpha: float) -> None:
    unseen = 100.0 * binomtest(0, n).proportion_ci(1.0 - 2.0 * alpha).high
    interval = exact_difference_interval(0, 0, n, alpha=alpha)
    assert unseen <= interval.one_sided <= unseen * (1.0 + 2e-3)
    assert interval.two_sided == (-interval.one_sided, interval.one_sided)


@each("n", [1, 2, 7, 100, 1319])
def test_every_sample_lost_has_the_limit_of_all_being_lost(n: int) -> None:
    # (lost, gained) = (n, 0) has probability at most ((1 - d) / 2) ** n at difference d.
    exact = 100.0 * (1.0 - 2.0 * 0.05 ** (1.0 / n))
    low, high = exact_difference_interval(n, 0, n, alpha=0.05).two_sided
    assert low == -100.0
    assert exact <= high <= exact + 0.1
    assert exact_difference_interval(0, n, n, alpha=0.05).two_sided == (-high, 100.0)


def order(n: int, alpha: float) -> dict[tuple[int, int], tuple[bool, float]]:
    """Where each outcome stands: McNemar's rejections first, then by the likelihood ratio's limit."""

    def limit(lost: int, gained: int) -> float:
        def excess(d: float) -> float:
            return signed_root(lost, gained, n, d) - norm.ppf(alpha)

        return 1.0 if gained == n else brentq(excess, (gained - lost) / n + 1e-9, 1.0 - 1e-9)

    return {pair: (bool(binom.sf(pair[0] - 1, sum(pair), 0.5) > alpha), limit(*pair)) for pair in outcomes(n)}


@pytest.mark.parametrize("alpha", [0.02, 0.1])
def test_the_limit_is_the_least_that_the_order_of_the_outcomes_allows(alpha: float) -> None:
    n, places = 6, order(6, alpha)
    for (lost, gained), (kept, place) in places.items():
        earlier = [pair for pair, (k, p) in places.items() if (k, p) <= (kept, place + 1e-6)]
        limit = exact_difference_interval(lost, gained, n, alpha=alpha).one_sided / 100.0
        plausible = binomtest(lost + gained, n).proportion_ci(1.0 - 1e-6 * alpha)
        for d, is_excluded in ((limit + 1e-6, True), (limit - 2e-3, False)):
            if abs(d) < plausible.high and (d > 0.0) == kept:  # elsewhere McNemar's test has the say
                q = np.linspace(max(plausible.low, abs(d)), plausible.high, 300)
                assert (chances(earlier, n, d, q).sum(axis=1).max() <= alpha) == is_excluded
