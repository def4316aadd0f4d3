"""The exact tests that allow a drop: type I error by enumeration, power at the printed theta, looks by simulation."""

import math

import numpy as np
import pytest
from scipy.stats import binom

from accgate.stats.difference import exact_difference_interval
from accgate.stats.margin import LOOKS, _MarginTest, margin_looks, margin_test
from accgate.stats.sequential import units_of
from tests.stats.sequences import RATES, drawn, rejects, slack
from tests.support.cases import each


def rejections(n: int, margin: float, alpha: float) -> np.ndarray:
    """For each count of changed samples the least losses that are rejected."""
    return np.array([_MarginTest(n, m, margin, alpha).critical() for m in range(n + 1)])


def chance(least: np.ndarray, drop: float, q: float) -> float:
    """Probability of a rejection after a drop of so many points, with a share q of samples changed."""
    m = np.arange(len(least))
    return float(np.sum(binom.pmf(m, len(least) - 1, q) * binom.sf(least - 1, m, 0.5 * (1.0 + drop / 100.0 / q))))


@pytest.mark.parametrize(("n", "margin", "alpha"), [(16, 5.0, 0.05), (24, 10.0, 0.1), (20, 2.0, 0.2)])
def test_the_type_i_error_is_at_most_alpha_for_every_discordance(n: int, margin: float, alpha: float) -> None:
    least = rejections(n, margin, alpha)
    sizes = [chance(least, margin, q) for q in np.linspace(margin / 100.0, 1.0, 60)]
    assert 0.3 * alpha < max(sizes) <= alpha
    smaller = [chance(least, margin / 2.0, q) for q in np.linspace(margin / 200.0, 1.0, 60)]
    assert max(smaller) <= alpha


@each(("lost", "gained", "n", "margin"), [
    (60, 26, 1319, 1.0), (30, 10, 1000, 1.0), (5, 0, 50, 2.0), (4, 0, 20, 0.5), (10, 3, 20, 0.5),
])  # fmt: skip
def test_p_value_interval_and_gamma_agree(lost: int, gained: int, n: int, margin: float) -> None:
    result = margin_test(lost, gained, n, margin=margin, **RATES)
    assert (result.interval.one_sided < -margin) == (result.p_value <= 0.05) == rejects(result)
    limit = exact_difference_interval(lost, gained, n, alpha=0.05).one_sided
    assert result.interval.one_sided == pytest.approx(limit, abs=100.0 / n)  # moved by a sample at most


def test_without_a_margin_it_is_about_mcnemars_test_and_never_far_less_sharp() -> None:
    for lost, gained in ((20, 8), (15, 8), (40, 25)):
        ours = margin_test(lost, gained, 1319, margin=0.0, **RATES).p_value
        assert 0.3 < ours / binom.sf(lost - 1, lost + gained, 0.5) < 1.05


def test_the_power_at_the_printed_theta_is_that_of_beta() -> None:
    n, margin, q = 400, 1.0, 0.05
    theta = margin_test(14, 6, n, margin=margin, **RATES).theta
    rng = np.random.default_rng(0)
    drop, runs = margin + theta, 400
    share = max(q, drop / 100.0)
    changed = rng.binomial(n, share, runs)
    lost = rng.binomial(changed, min(0.5 * (1.0 + drop / 100.0 / share), 1.0))
    least = {m: _MarginTest(n, m, margin, 0.05).critical() for m in np.unique(changed).tolist()}
    rejected = np.sum(lost >= [least[m] for m in changed.tolist()])
    assert abs(rejected / runs - 0.8) <= slack(0.2, runs) + 0.02  # the region is that of the count seen


def looked(seed: int, runs: int, drop: float, *, certify: bool = False) -> list[str]:
    """How runs of 900 samples end, of which 1 point may be lost and 3 more matter."""
    rng = np.random.default_rng(seed)
    rates = {"margin": 1.0, "theta": 3.0, **RATES}
    units = [units_of(drawn(rng, 900, 0.1, drop)) for _ in range(runs)]
    return [margin_looks(each, certify=certify, figures=False, **rates).stop for each in units]


def test_with_looks_a_drop_of_the_margin_fails_no_more_often_than_alpha() -> None:
    stops = looked(1, 80, drop=1.0)
    assert stops.count("regression") / 80 <= 0.05 + slack(0.05, 80)


def test_with_looks_a_drop_beyond_it_is_seen_and_passes_early_no_more_often_than_beta() -> None:
    stops = looked(2, 40, drop=4.0)
    assert stops.count("regression") / 40 >= 0.8 - slack(0.2, 40)
    assert stops.count("futility") / 40 <= 0.15 + slack(0.15, 40)


def test_a_proof_is_given_to_a_drop_of_margin_and_theta_no_more_often_than_alpha() -> None:
    stops = looked(3, 50, drop=4.0, certify=True)
    assert stops.count("futility") / 50 <= 0.05 + slack(0.05, 50)
    assert looked(4, 20, drop=0.0, certify=True).count("futility") > 6


def test_between_looks_a_run_is_open() -> None:
    rates = {"margin": 1.0, "theta": 3.0, **RATES}
    n = math.ceil(LOOKS[0] * 900)
    before = margin_looks(units_of(np.zeros(n - 1), n_max=900), **rates)
    assert (before.open, before.n) == (True, n - 1)
    early = margin_looks(units_of(np.zeros(n), n_max=900), **rates)
    assert (early.open, early.stop, early.n) == (False, "futility", n)


def test_a_run_that_stopped_at_a_later_look_is_estimated_by_how_it_came_there() -> None:
    rates = {"margin": 1.0, "theta": 5.0, **RATES}
    run, first, second = np.zeros(300), math.ceil(LOOKS[0] * 300), math.ceil(LOOKS[1] * 300)
    run[:12:2], run[1:12:2] = -100.0, 100.0
    run[first : first + 4] = 100.0
    late = margin_looks(units_of(run), **rates)
    assert (late.stop, late.n) == ("futility", second)
    assert late.estimate < late.difference  # the better ones passed before
    at_once = margin_looks(units_of(np.zeros(300)), **rates)
    assert (at_once.n, at_once.estimate) == (first, 0.0)
    lost = margin_looks(units_of(np.repeat([-100.0, 0.0], [60, 240])), **rates)
    assert lost.stop == "regression"
    assert lost.estimate == pytest.approx(lost.difference * 0.5 ** (1 / 60))  # all 60 are losses as often as not
    run[:] = 0.0
    run[5::16], run[9::40] = -100.0, 100.0
    last = margin_looks(units_of(run), **rates)
    assert (last.stop, last.open, last.n, last.estimate) == ("end", False, 300, None)


def test_the_interval_of_a_clear_loss_is_the_exact_one() -> None:
    for lost, gained in ((60, 0), (80, 10)):
        result = margin_test(lost, gained, 1000, margin=1.0, **RATES)
        exact = exact_difference_interval(lost, gained, 1000, alpha=0.05)
        assert result.interval.two_sided == exact.two_sided
        assert result.interval.one_sided == exact.two_sided[1] < -1.0
