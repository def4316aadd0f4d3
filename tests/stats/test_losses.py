"""Whole losses that few samples may not show: theta, limits and plans that allow for them, simulated."""

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import beta as beta_law
from scipy.stats import binom, ttest_1samp

from accgate.decision.comparison import compare, decide
from accgate.decision.evidence import Evidence
from accgate.design import Design
from accgate.planning.samples import plan
from accgate.stats.bootstrap import drop_score
from accgate.stats.graded import graded_test
from accgate.stats.losses import (
    Margins,
    Spread,
    flip_margins,
    lower_limit,
    normal_spread,
    spread_of_units,
    t_margins,
    visible_drop,
    weighted_margins,
)
from accgate.stats.power import quantile
from accgate.stats.resampling import sign_flip
from accgate.stats.sequential import units_of
from accgate.stats.walk import Floats
from tests.stats.sequences import RATES, assert_limits_hold, slack
from tests.support.cases import each
from tests.support.decisions import one_each

ALPHA, BETA = 0.05, 0.2
MARGINS: dict[str, Margins] = {
    "paired": t_margins(ALPHA), "bootstrap": weighted_margins(-quantile(ALPHA)), "permutation": flip_margins(ALPHA),
}  # fmt: skip


def test_samples_that_are_lost_together_take_what_one_of_all_their_points_takes() -> None:
    totals, sizes = np.random.default_rng(5).normal(0.0, 20.0, 50), np.full(50, 4.0)
    pairs, single = (spread_of_units(totals, sizes, loss=loss, block=block) for loss, block in ((60.0, 2), (120.0, 1)))
    assert pairs.step == 120.0
    assert pairs.error(np.arange(9.0)) == pytest.approx(single.error(np.arange(9.0)))


def power_at_least(rejected: Floats, runs: int) -> bool:
    return float(np.mean(rejected)) >= 1.0 - BETA - slack(BETA, runs)


def jitter(rng: np.random.Generator, shape: tuple[int, int], sd: float, ties: float) -> Floats:
    return np.where(rng.random(shape) < ties, 0.0, sd * rng.standard_normal(shape))


def rejections(test: str, d: Floats) -> Floats:
    """Whether each row is a regression."""
    if test == "paired":
        return np.asarray(ttest_1samp(d, 0.0, axis=1, alternative="less").pvalue <= ALPHA)
    if test == "bootstrap":
        return np.asarray(drop_score(d, np.ones(d.shape[1])) >= -quantile(ALPHA))
    return np.array([sign_flip(row, len(row), resamples=999, **RATES).p_value <= ALPHA for row in d])


def printed_theta(test: Any, changes: Floats) -> float:
    """The mean theta of healthy runs with these changes, one a row."""
    reference = np.full(changes.shape[1], 50.0)
    thetas = [compare(reference, reference + np.clip(row, -50.0, 50.0), test=test).theta for row in changes]
    return float(np.mean([theta for theta in thetas if theta is not None]))


@each(("test", "runs"), [("paired", 1_000), ("bootstrap", 400), ("permutation", 100)])
@each(("n", "sd", "ties"), [
    (30, 1.0, 0.0), (100, 1.0, 0.0), (100, 1.0, 0.9), (300, 3.0, 0.0), (300, 12.0, 0.5), (1_000, 3.0, 0.95),
])  # fmt: skip
@pytest.mark.slow
def test_drops_of_the_printed_theta_are_seen_whatever_losses_make_them(n, sd, ties, test: str, runs: int) -> None:
    """Losses of the scale, of half and of a fifth of it, in every sample, and the half of it whole beside the rest."""
    rng = np.random.default_rng([n, int(sd), int(100 * ties)])
    if test == "permutation" and n > 300:
        return
    theta = printed_theta(test, jitter(rng, (8, n), sd, ties))
    for share, size in ((1.0, 100.0), (1.0, 50.0), (1.0, 20.0), (0.0, 100.0), (0.5, 100.0)):
        lost = rng.random((runs, n)) < share * theta / size
        d = jitter(rng, (runs, n), sd, ties) - size * lost - (1.0 - share) * theta
        assert power_at_least(rejections(test, d), runs), (share, size, theta)


@pytest.mark.parametrize(("test", "needed"), [("paired", 3), ("bootstrap", 4), ("permutation", 5)])
@pytest.mark.parametrize("n", [100, 1_000])
def test_beside_no_spread_theta_is_that_of_the_fewest_losses_that_reject(test: str, needed: int, n: int) -> None:
    for count in (needed - 1, needed):
        d = np.zeros((1, n))
        d[0, :count] = -100.0
        assert rejections(test, d)[0] == (count == needed)
    theta = visible_drop(Spread(n, n, 0.0), MARGINS[test], beta=BETA)
    assert binom.sf(needed - 1, n, theta / 100.0) == pytest.approx(1.0 - BETA, abs=1e-5)


def test_theta_of_half_the_scale_is_half_and_of_spread_alone_where_nothing_bounds_the_scores() -> None:
    for margins in MARGINS.values():
        whole, half = (
            visible_drop(normal_spread(300, 0.02 * loss, loss=loss), margins, beta=BETA) for loss in (100.0, 50.0)
        )
        assert half == pytest.approx(0.5 * whole)
    before = np.full(300, 50.0)
    now = one_each(list(before + np.random.default_rng(0).normal(0.0, 1.0, 300)))
    ends = ((0.0, 100.0), (None, None))
    both = [Evidence(now, one_each(list(before)), Design(), worst=worst, best=best) for worst, best in ends]
    bounded, free = (verdict.theta for verdict in decide(both, correction="none"))
    assert free == pytest.approx(2.4865 * np.std(now.values, ddof=1) / math.sqrt(300), rel=0.05)
    assert bounded > 1.0


def test_so_few_samples_that_not_even_their_loss_is_seen_have_no_theta() -> None:
    for margins, n in ((MARGINS["permutation"], 4), (MARGINS["bootstrap"], 3)):
        assert visible_drop(normal_spread(n, 0.0, loss=100.0), margins, beta=BETA) is None
        assert visible_drop(normal_spread(n + 1, 0.0, loss=100.0), margins, beta=BETA) is not None


@each(("block", "together"), [(1, 0.0), (5, 1.0)])
@pytest.mark.slow
def test_clusters_see_the_theta_that_is_printed_of_losses_as_their_changes_come(block: int, together: float) -> None:
    """Changes of single samples, or of whole clusters of five."""
    rng, groups, size, runs = np.random.default_rng(block), 80, 5, 800
    codes = np.repeat(np.arange(groups), size)

    def changes(count: int) -> Floats:
        shared = np.repeat(rng.standard_normal((count, groups)), size, axis=1)
        return 3.0 * (together * shared + (1.0 - together) * rng.standard_normal((count, groups * size)))

    reference = np.full(groups * size, 50.0)
    thetas = [compare(reference, reference + d, clusters=codes).theta for d in changes(8)]
    theta = float(np.mean([each for each in thetas if each is not None]))
    lost = np.repeat(rng.random((runs, groups * size // block)) < theta / 100.0, block, axis=1)
    totals = (changes(runs) - 100.0 * lost).reshape(runs, groups, size).sum(axis=2)
    assert power_at_least(drop_score(totals, np.full(groups, float(size))) >= -quantile(ALPHA), runs)


@pytest.mark.slow
def test_beside_an_allowed_drop_theta_is_what_whole_losses_must_exceed_it_by() -> None:
    rng, n, runs, allowed = np.random.default_rng(5), 300, 1_500, 1.0
    reference = np.full(n, 50.0)
    verdict = compare(reference, reference + rng.normal(0.0, 3.0, n), allowed_drop=allowed, test="bootstrap")
    for size in (100.0, 20.0):
        lost = rng.random((runs, n)) < (allowed + verdict.theta) / size
        d = rng.normal(0.0, 3.0, (runs, n)) - size * lost + allowed
        assert power_at_least(rejections("bootstrap", d), runs)


@each("test", ["paired", "bootstrap", "permutation"])
@each(("theta", "sd"), [(4.0, 0.5), (5.0, 8.0)])
@pytest.mark.slow
def test_a_plan_s_samples_see_the_drop_by_whole_losses(theta: float, sd: float, test: str) -> None:
    rng, planned, runs = (
        np.random.default_rng(7),
        plan(theta, sigma=sd, test=test),
        300 if test == "permutation" else 1_500,
    )
    assert planned.theta <= theta
    for size in (100.0, 50.0):
        d = jitter(rng, (runs, planned.n), sd, 0.0) - size * (rng.random((runs, planned.n)) < theta / size)
        assert power_at_least(rejections(test, d), runs)


@each(("lost", "n"), [(0, 50), (1, 100), (3, 300), (10, 300)])
def test_the_lower_limit_of_whole_losses_is_clopper_and_pearson_s(lost: int, n: int) -> None:
    d = np.repeat([-100.0, 0.0], [lost, n - lost])
    exact = 100.0 * beta_law.ppf(1.0 - ALPHA, lost + 1, n - lost)
    assert lower_limit(d, np.ones(n), -quantile(ALPHA), loss=100.0) == pytest.approx(-exact, rel=0.01)


@each(("ties", "sd"), [(0.0, 5.0), (0.9, 1.0)])
@pytest.mark.slow
def test_early_stops_miss_rarely_and_rule_out_no_drop_of_rare_whole_losses(ties: float, sd: float) -> None:
    """The limits on each side, and the drop that a run says was ruled out, which its lower limit bears out."""
    rng, n, theta, runs = np.random.default_rng(int(100 * ties)), 400, 2.0, 50
    for drop in (0.5 * theta, theta):
        d = jitter(rng, (runs, n), sd, ties) - 100.0 * (rng.random((runs, n)) < drop / 100.0)
        results = [graded_test(units_of(row, binary=False), theta=theta, **RATES) for row in d]
        assert_limits_hold(results, -drop)  # so that few that stopped rule out the drop that there is
        if drop == theta:
            assert np.mean([result.stop == "futility" for result in results]) <= BETA + slack(BETA, runs)


def test_the_spread_is_about_the_mean_and_counts_what_changed_before_an_allowed_drop_was_added() -> None:
    sizes = np.array([1.0, 2.0, 1.0])
    spread = spread_of_units(np.array([-3.0, 0.0, 1.0]) + 0.5 * sizes, sizes, loss=100.0, allowed=0.5)
    assert (spread.samples, spread.units, spread.changed) == (4, 3, 2)
    assert spread.squares == pytest.approx(2.5**2 + 1.0**2 + 1.5**2)
    assert spread.error(np.zeros(1))[0] == pytest.approx(math.sqrt(1.5 * spread.squares) / 4.0)


@each("losses", [2, 5, 12, 59])
def test_flipped_signs_reject_where_the_share_of_patterns_that_lost_as_much_is_alpha(losses: int) -> None:
    """Drawn: each whole loss turned or not, and a sum of the others beside them."""
    rng, sd = np.random.default_rng(losses), 60.0
    spread = Spread(400, 400, sd**2, changed=100)
    total = 400 * float(flip_margins(ALPHA)(spread, np.array([float(losses)]))[0])
    turned, others = rng.binomial(losses, 0.5, 200_000), rng.normal(0.0, sd, 200_000)
    assert np.mean(others <= total - 200.0 * turned) == pytest.approx(ALPHA, abs=0.003)


def test_degrees_of_freedom_are_those_of_a_normal_variance_whatever_the_scale() -> None:
    """Twice the samples over the kurtosis, which is 3 of a normal law and 1 of two values."""
    rng, sizes = np.random.default_rng(5), np.ones(4_000)
    normal, equal = rng.standard_normal(4_000), np.repeat([-1.0, 1.0], 2_000)
    for scale in (0.1, 1.0, 100.0):
        assert spread_of_units(scale * equal, sizes, loss=100.0).degrees == pytest.approx(8_000.0)
        assert spread_of_units(scale * normal, sizes, loss=100.0).degrees == pytest.approx(8_000.0 / 3.0, rel=0.1)
