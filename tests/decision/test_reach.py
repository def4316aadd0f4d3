"""No test that cannot fail passes: what outcomes of the same samples could do, and the room of a reference."""

import math
import re
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, norm

from accgate.decision.comparison import compare, compare_scores, compare_statistic, decide
from accgate.decision.evidence import Evidence, SampleStatistic
from accgate.design import Design, Mean, Target
from tests.support.cases import each
from tests.support.decisions import one_each, unconditional_p

RIGHT, WRONG = 100.0, 0.0


def some_right(right: int, n: int) -> list[float]:
    return [RIGHT] * right + [WRONG] * (n - right)


def test_four_samples_all_lost_are_no_pass_and_their_impossible_theta_is_no_figure() -> None:
    verdict = compare([RIGHT] * 4, [WRONG] * 4)
    assert (verdict.verdict, verdict.theta, verdict.gamma) == ("inconclusive", None, None)
    assert verdict.p_value == 0.0625
    assert [cause.kind for cause in verdict.causes] == ["no-outcome"]
    for text in (str(verdict), verdict.explain()):
        assert "too little to tell a drop from chance" in text.lower()
        assert "154" not in text


TESTS = ["auto", "paired", "permutation", "bootstrap", "gsprt", "group-sequential", "e-process"]


@each(("right", "alpha", "theta", "test"), [
    (right, alpha, theta, test)
    for right, alpha in ((1, 0.05), (4, 0.05), (5, 0.05), (7, 0.005), (8, 0.005))
    for theta in (None, 50.0) for test in TESTS
])  # fmt: skip
@pytest.mark.slow
def test_where_even_all_lost_is_not_rejected_nothing_passes(
    right: int, alpha: float, theta: float | None, test: Any
) -> None:
    """The p-value of all `right` samples lost that can be, by a formula of its own for each test, decides.

    2 ** -right by McNemar's test and the sign test; by the bootstrap the chance that three fifths of an exponential
    exceed the sum of `right` others.
    """
    least = {"unconditional": unconditional_p(right, 0, right + 2), "bootstrap": (1.0 + 1.0 / 0.6) ** -right}
    reference = some_right(right, right + 2)
    for lost in sorted({0, right // 2, right}):
        candidate = [WRONG] * lost + some_right(right - lost, right + 2 - lost)
        verdict = compare(reference, candidate, alpha=alpha, theta=theta, test=test)
        assert verdict.test is not None
        if lost == right and verdict.stop is None:
            assert (verdict.verdict == "regression") == (least.get(verdict.test, 0.5**right) <= alpha)
        if least.get(verdict.test, 0.5**right) > alpha:
            assert verdict.verdict == "inconclusive"
            assert verdict.theta is None
            assert any("no outcome of" in reason for reason in verdict.reasons)


@each(("reference", "candidate"), [
    ([50.5, 30.0, 22.0, 10.0], [0.0] * 4), ([50.5, 30.0, 22.0, 10.0], [50.5, 30.0, 22.0, 10.0]),
    ([33.0] * 4, [12.0] * 4), ([64.0, 31.0, 0.0, 0.0, 0.0, 0.0, 17.0, 3.5], [0.0] * 8),
])  # fmt: skip
def test_scores_in_between_that_are_too_few_are_no_pass(reference: list[float], candidate: list[float]) -> None:
    for test in ("auto", "permutation"):
        assert compare(reference, candidate, test=test).verdict == "inconclusive"
    assert compare(reference, candidate, test="bootstrap").verdict != "pass"


def test_a_t_test_of_few_samples_can_fail_where_falls_by_almost_the_same_would_be_rejected() -> None:
    """A fall of 100, 20 and 10 to 0 has p 0.14, and one of each by about 10 almost none: no pass, all the same."""
    reference = [100.0, 20.0, 10.0]
    assert compare(reference, [0.0] * 3, test="paired").p_value > 0.05
    assert compare(reference, [90.0, 10.1, 0.2], test="paired").verdict == "regression"
    verdict = compare(reference, [99.8, 19.9, 10.1], test="paired")
    assert verdict.verdict == "inconclusive"
    assert "43.33 points from the lowest score there is (0): a drop of 92.84" in verdict.reasons[-1]
    assert binom.sf(2, 3, 0.9283) == pytest.approx(0.8, abs=1e-3)


@each("early_stopping", [False, True])
@each("n", [5, 30, 79])
def test_small_changes_of_few_samples_are_no_proof_against_whole_losses(n: int, early_stopping: bool) -> None:
    """A drop of 2 points that is made of 2% of samples lost is not seen by 79 samples in one run of five."""
    rng = np.random.default_rng(n)
    reference = rng.uniform(20.0, 90.0, n)
    candidate = reference + rng.normal(0.0, 0.01, n)
    for test in ("auto",) if early_stopping else ("auto", "paired", "bootstrap", "two-sample"):
        verdict = compare(reference, candidate, theta=2.0, test=test, early_stopping=early_stopping)
        assert verdict.verdict == "inconclusive"
        assert verdict.theta is None or verdict.theta >= 100.0 * (1.0 - 0.2 ** (1.0 / n)) - 1e-9
    certified = compare(reference, candidate, theta=2.0, test="paired", certify=True)
    assert certified.verdict == "inconclusive"
    possible = re.search(r"not certified: a drop of ([\d.]+) points", certified.reasons[-1])
    assert float(possible[1]) == pytest.approx(100.0 * (1.0 - 0.05 ** (1.0 / n)), rel=0.01)


def test_small_changes_of_enough_samples_pass_and_what_is_better_hides_no_losses() -> None:
    rng = np.random.default_rng(0)
    reference = rng.uniform(20.0, 60.0, 300)
    few, nearly = reference[:30], reference + rng.normal(0.0, 0.01, 300)
    assert compare(reference, nearly, theta=2.0).verdict == "pass"
    assert compare(reference, nearly, theta=2.0, certify=True).verdict == "pass"
    assert compare(few, few + rng.normal(1.0, 0.01, 30), theta=2.0).verdict == "inconclusive"
    assert compare(few, few + rng.normal(9.0, 0.01, 30), theta=2.0).verdict == "pass"


def test_a_scale_that_is_wider_hides_rarer_losses() -> None:
    rng = np.random.default_rng(0)
    reference = rng.uniform(-50.0, 50.0, 600)
    candidate = reference + rng.normal(0.0, 0.01, 600)
    for count, name in ((150, "inconclusive"), (600, "pass")):
        for early_stopping in (False, True):
            sides, rules = (reference[:count], candidate[:count]), {"theta": 2.0, "early_stopping": early_stopping}
            verdict = compare(*sides, bounds=(-100.0, 100.0), **rules)
            assert verdict.verdict == name
            assert verdict.n >= min(count, 187)


def test_a_mean_or_target_is_not_held_by_few_samples_that_are_nearly_alike() -> None:
    scores = one_each([97.0, 97.01, 97.02])
    for reference in (Target(95.5), Mean(95.5, 1000), Mean(95.5, 1000, sigma=5.0)):
        (verdict,) = decide([Evidence(scores, reference, Design(theta=2.0))])
        assert verdict.verdict == "inconclusive"
    (verdict,) = decide([Evidence(scores, Target(95.5), Design(theta=2.0, sigma=0.5))])  # which the user knows
    assert verdict.verdict == "pass"


@each("count", [1, 2, 4])
@each("early_stopping", [False, True])
def test_few_clusters_all_lost_are_no_pass(count: int, early_stopping: bool) -> None:
    clusters = list(range(count)) * 60
    for theta in (None, 5.0):
        rules = {"clusters": clusters, "early_stopping": early_stopping, "theta": theta}
        verdict = compare([RIGHT] * len(clusters), [WRONG] * len(clusters), **rules)
        assert (verdict.verdict, verdict.theta) == ("inconclusive", None)
        assert any(f"no outcome of {count} cluster" in reason for reason in verdict.reasons)
    enough, right = list(range(40)) * 5, [RIGHT] * 200
    assert compare(right, right, clusters=enough).verdict == "pass"
    assert compare(right, [WRONG] * 200, clusters=enough).verdict == "regression"


def test_what_the_correction_leaves_counts_and_not_the_alpha_of_the_file() -> None:
    """8 samples can have p 2 ** -8 = 0.0039: enough at alpha 0.05, and not at a twentieth of it."""
    few = Evidence(one_each([RIGHT] * 8), one_each([RIGHT] * 8), Design())
    many = Evidence(one_each(some_right(90, 99)), one_each(some_right(90, 99)), Design())
    assert decide([few], correction="holm", checks=1)[0].verdict == "pass"
    at_worst, other = decide([few, many], correction="bonferroni", checks=20)
    assert (at_worst.verdict, at_worst.theta, other.verdict) == ("inconclusive", None, "pass")
    assert "alpha is 0.0025" in at_worst.reasons[-1]
    early = Evidence(one_each([RIGHT] * 8), one_each([RIGHT] * 8), Design(early_stopping=True, theta=60.0))
    assert decide([early], correction="holm", checks=20)[0].verdict == "inconclusive"


def test_resamples_too_few_for_alpha_cannot_fail() -> None:
    """The least p of 9,999 random patterns of signs is 0.0001."""
    rng = np.random.default_rng(1)
    reference = rng.uniform(20.0, 90.0, 300)
    candidate = reference + rng.normal(0.0, 1.0, 300)
    assert compare(reference, candidate, test="permutation", alpha=1e-3).verdict == "pass"
    assert compare(reference, candidate, test="permutation", alpha=1e-6).verdict == "inconclusive"
    assert compare(reference, candidate, test="bootstrap", alpha=1e-6).verdict == "pass"  # which draws nothing


def test_references_of_several_runs_that_are_wrong_nearly_always_cannot_fall() -> None:
    values = np.zeros((40, 4))
    values[:3, 0] = RIGHT
    for candidate in (values[:, :1], np.zeros((40, 1)), values):
        verdict = compare_scores(one_each(values), one_each(candidate), Design())
        assert verdict.verdict == "inconclusive"


@each(("right", "n", "theta", "verdict"), [
    (0, 1319, None, "inconclusive"), (5, 1319, None, "inconclusive"), (6, 1319, None, "pass"), (30, 1319, 2.0, "pass"),
    (20, 1319, 2.0, "inconclusive"), (20, 1319, None, "pass"), (900, 1319, 2.0, "pass"),
])  # fmt: skip
def test_a_reference_without_room_to_fall_is_no_pass(right: int, n: int, theta: float | None, verdict: str) -> None:
    """1.5% right cannot fall by 2 points, and 5 of 1,319 not by what no flips among so many leave open.

    Four lost and none gained is the least that rejects; 5 of 1,319 are lost so often in 0.78 of runs, 6 in 0.85.
    """
    assert unconditional_p(3, 0, 1319) > 0.05 >= unconditional_p(4, 0, 1319)
    assert binom.sf(3, 1319, 5 / 1319) < 0.8 < binom.sf(3, 1319, 6 / 1319)
    for early_stopping in (False, True) if theta else (False,):
        result = compare(some_right(right, n), some_right(right, n), theta=theta, early_stopping=early_stopping)
        assert result.verdict == verdict
        assert verdict == "pass" or {cause.kind for cause in result.causes} & {"no-room", "no-outcome"}


def test_the_room_ends_at_chance_level() -> None:
    scores, design = one_each(some_right(270, 1000)), Design(theta=4.0)
    (at_chance,) = decide([Evidence(scores, scores, design, chance=25.0)])
    (able,) = decide([Evidence(scores, scores, design, chance=20.0)])
    (unknown,) = decide([Evidence(scores, scores, design)])
    assert (at_chance.verdict, able.verdict, unknown.verdict) == ("inconclusive", "pass", "pass")
    assert "2.00 points from chance level (25): a drop of 4.0" in at_chance.reasons[-1]
    many = one_each(some_right(2700, 10_000))
    for reference, chance, name in ((Mean(27.0, 10**6, 50.0), 25.0, "inconclusive"), (Target(27.0), None, "pass"),
                                    (Target(27.0), 25.0, "inconclusive")):  # fmt: skip
        (verdict,) = decide([Evidence(many, reference, Design(theta=4.0, sigma=50.0), chance=chance)])
        assert verdict.verdict == name


def test_where_lower_is_better_the_room_is_up_to_the_highest_score() -> None:
    reference = some_right(990, 1000)  # 99% wrong, as an error rate
    result = compare(reference, reference, theta=2.0, higher_is_better=False)
    assert result.verdict == "inconclusive"
    assert "1.00 points from the highest score there is (100): a rise of 2.0 cannot show" in result.reasons[-1]
    assert compare(some_right(10, 1000), some_right(10, 1000), theta=2.0, higher_is_better=False).verdict == "pass"


def test_scores_without_bounds_have_room() -> None:
    rng = np.random.default_rng(2)
    reference = rng.lognormal(5.0, 0.5, 400) + 100.0
    candidate = reference + rng.normal(0.0, 1.0, 400)
    assert compare(reference, candidate, theta=300.0, higher_is_better=False).verdict == "pass"
    four = compare(reference[:4], candidate[:4], higher_is_better=False)
    assert four.verdict == "inconclusive"


@each(("n", "n_reference", "verdict"), [(2, 2, "inconclusive"), (60, 60, "pass")])
def test_two_samples_that_even_all_wrong_cannot_tell_apart_are_no_pass(n: int, n_reference: int, verdict: str) -> None:
    """At sigma 50 the z test of 2 and 2 needs a fall of 82 points, and from 50 there are 50."""
    assert norm.isf(0.05) * 50.0 * math.sqrt(1 / 2 + 1 / 2) == pytest.approx(82.2, abs=0.1)
    reference = some_right(n_reference // 2, n_reference)
    result = compare(reference, some_right(n // 2, n), test="two-sample", sigma=50.0)
    assert result.verdict == verdict


def test_a_better_candidate_is_no_loss_though_its_gains_raise_theta() -> None:
    reference, candidate = some_right(10, 100), some_right(60, 100)
    verdict = compare(reference, candidate)
    assert verdict.theta > 10.0
    assert verdict.verdict == "pass"
    for alpha, name in ((0.05, "pass"), (0.2, "pass"), (0.25, "inconclusive")):  # above beta an interval promises less
        assert compare(reference, candidate, theta=3.0, alpha=alpha).verdict == name


def test_a_run_that_would_go_on_after_the_worst_beginning_can_fail() -> None:
    """Of 50 samples five without a change rule out a drop of 60; had all been lost, the run would have gone on."""
    verdict = compare([RIGHT] * 50, [RIGHT] * 50, theta=60.0, early_stopping=True)
    assert (verdict.verdict, verdict.stop) == ("pass", "futility")
    assert verdict.n == 5
    design = Design(theta=60.0, early_stopping=True)
    healthy, lost = (
        Evidence(one_each([score] * 5), one_each([RIGHT] * 5), design, n_max=50) for score in (RIGHT, WRONG)
    )
    assert decide([healthy])[0].verdict == "pass"
    assert decide([lost])[0].verdict == "error"
    assert "too few to decide" in decide([lost])[0].reasons[0]


def rate(rows: np.ndarray) -> float:
    return 100.0 * float(rows.mean())


@each(("n", "verdict"), [(4, "inconclusive"), (400, "pass")])
def test_a_statistic_of_few_samples_is_no_pass(n: int, verdict: str) -> None:
    right = np.tile([1.0, 0.0, 1.0, 1.0], n // 4)
    scores = one_each(100.0 * right)
    for values, name in ((right, verdict), (0.0 * right, "inconclusive")):
        own = SampleStatistic(rate, values, values, lowest=0.0, highest=100.0)
        (result,) = decide([Evidence(scores, scores, Design(), statistic=own)])
        assert result.verdict == name
    assert compare_statistic(right, right, rate).verdict == verdict
    assert compare_statistic([1, 1, 1, 1], [0, 0, 0, 0], rate).verdict == "inconclusive"


@pytest.mark.parametrize("test", ["gsprt", "group-sequential", "e-process"])
def test_no_run_passes_before_enough_samples_could_have_been_lost(test: Any) -> None:
    """The first 60 samples are wrong in the reference: that none of them changed does not rule out a drop of 8."""
    reference = np.array([WRONG] * 60 + [RIGHT, WRONG] * 300)
    for higher in (True, False):
        sides = reference if higher else 100.0 - reference
        rules: dict[str, Any] = {"test": test, "theta": 8.0, "order": "given", "higher_is_better": higher}
        healthy = compare(sides, sides, **rules)
        assert (healthy.verdict, healthy.stop) == ("pass", "futility")
        assert healthy.n >= 60 + 2 * 5 - 1
        lost = compare(sides, np.full(len(sides), WRONG if higher else RIGHT), **rules)
        assert lost.verdict == "regression"
    whole = compare(RIGHT - 0.0 * reference, RIGHT - 0.0 * reference, test=test, theta=8.0, order="given")
    assert whole.n <= healthy.n


def test_healthy_runs_of_a_model_that_is_seldom_right_pass_all_the_same() -> None:
    random, runs, passes = np.random.default_rng(8), 10, 0
    for seed in range(runs):
        reference = np.where(random.random(600) < 0.12, RIGHT, WRONG)
        verdict = compare(reference, reference, theta=8.0, early_stopping=True, seed=seed)
        passes += verdict.verdict == "pass"
        assert verdict.n < 150
    assert passes == runs


@each("allowed", [60.0, 100.0, "500%"])
@each("early_stopping", [False, True])
@each("certify", [False, True])
@each("candidate", [[100.0] * 400, [0.0] * 400])
def test_where_more_is_allowed_than_the_reference_can_fall_nothing_passes(
    allowed: float | str, early_stopping: bool, certify: bool, candidate: list[float]
) -> None:
    """A drop of theta on top of what is allowed would leave the scale."""
    rules: dict[str, Any] = {"early_stopping": early_stopping, "certify": certify, "theta": 50.0}
    verdict = compare([100.0] * 400, candidate, allowed_drop=allowed, **rules)
    expected = "regression" if allowed == 60.0 and candidate[0] == 0.0 else "inconclusive"
    assert verdict.verdict == expected
