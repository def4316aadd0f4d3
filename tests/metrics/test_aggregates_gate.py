"""Statistics over samples decided like a mean: healthy runs pass, worse ones regress, by each one's direction."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from accgate import compare_statistic, metrics
from accgate.metrics.registry import aggregate_builders
from accgate.stats.statistics import Unsigned, statistic_test
from accgate.verdict import Verdict
from benchmarks import tails
from tests.metrics.aggregate_records import columns, labelled
from tests.support.cases import each

Records = list[dict[str, Any]]


def decided(name: str, before: Records, after: Records, **options: Any) -> Verdict:
    statistic = metrics.aggregate(name, **options)
    reference, candidate = statistic.encode(before, after)
    return compare_statistic(reference, candidate, statistic.statistic, higher_is_better=statistic.higher_is_better)


def calibrated(rng: np.random.Generator, n: int, worse: float) -> tuple[Records, Records]:
    """Two runs of a model 12 points too sure of itself; the second by `worse` points more."""
    base, luck = rng.uniform(0.3, 0.98, n), rng.random(n)
    runs = []
    for gap in (0.12, 0.12 + worse / 100.0):
        confidence = np.clip(base + rng.normal(0.0, 0.03, n), 0.0, 1.0)
        again = np.where(rng.random(n) < 0.15, rng.random(n), luck)
        runs.append(columns(confidence=confidence.tolist(), score=(100.0 * (again < base - gap)).tolist()))
    return runs[0], runs[1]


def attacked(rng: np.random.Generator, n: int, worse: float) -> tuple[Records, Records]:
    """Two runs of a model right on 80%, whose answers an attack turns in 30%; the second in `worse` points more."""
    clean, luck = rng.random(n), rng.random(n)
    runs = []
    for extra in (0.0, worse / 100.0):
        right = np.where(rng.random(n) < 0.06, rng.random(n), clean) < 0.8
        holds = np.where(rng.random(n) < 0.2, rng.random(n), luck) < 0.7 - extra
        after = [100.0 * bool(h) if r else None for r, h in zip(right, holds, strict=True)]
        runs.append(columns(score=(100.0 * right).tolist(), attacked=after))
    return runs[0], runs[1]


PAIRS = {"ece": calibrated, "attack_success_rate": attacked}


@pytest.mark.parametrize("name", PAIRS)
def test_false_alarms_stay_under_alpha_and_real_losses_are_seen(name: str) -> None:
    """At 15 runs more than 4 false alarms come with a probability under 0.001 where alpha is 0.05."""
    healthy = [decided(name, *PAIRS[name](np.random.default_rng([1, s]), 200, 0.0)) for s in range(15)]
    pairs = [PAIRS[name](np.random.default_rng([2, s]), 200, 18.0) for s in range(6)]
    assert sum(v.verdict == "regression" for v in healthy) <= 4
    assert sum(decided(name, *pair).verdict == "regression" for pair in pairs) >= 5
    assert {decided(name, *pair[::-1]).verdict for pair in pairs[:2]} == {"pass"}


def calibrated_at(confidence: Sequence[float], rng: np.random.Generator) -> Records:
    """Answers that are right as often as their confidence says."""
    right = rng.random(len(confidence)) < np.array(confidence)
    return columns(confidence=list(confidence), score=(100.0 * right).tolist())


@each("name", ["ece", "ece_adaptive", "rmsce", "mce"])
def test_calibrated_confidences_that_spread_over_more_bins_are_no_regression(name: str) -> None:
    """Chance alone raises the error of every bin: 62% of such runs failed by `rmsce`, 40% by `ece` and `mce`."""
    failed = 0
    for seed in range(15):
        rng = np.random.default_rng([7, seed])
        constant, spread = calibrated_at([0.7] * 150, rng), calibrated_at(rng.uniform(0.0, 1.0, 150).tolist(), rng)
        failed += decided(name, constant, spread).verdict == "regression"
    assert failed <= 4  # more come with a probability under 0.001 where alpha is 0.05


@pytest.mark.slow
@each("cell", tails.CALIBRATION_CELLS[::9])
def test_calibrated_confidences_of_every_form_fail_at_most_at_alpha(cell: tails.CalibrationCell) -> None:
    runs = 100
    assert tails.calibration_rate(cell, runs, seed=6) <= 0.05 + 3.0 * (0.05 * 0.95 / runs) ** 0.5


def test_what_bins_make_of_the_difference_is_that_of_the_binomial_distribution() -> None:
    """The mean |right - expected| of n answers, each right with probability c, has a closed form by bins."""
    n, (low, high) = 200, (0.55, 0.9)

    def expected(count: int, c: float) -> float:
        right = np.arange(count + 1)
        return 100.0 / n * float(np.abs(right - c * count) @ binom.pmf(right, count, c))

    exact = expected(n // 2, low) + expected(n // 2, high) - expected(n, 0.7)
    ece = metrics.aggregate("ece").statistic
    assert isinstance(ece, Unsigned)
    leans = []
    for seed in range(20):
        rng = np.random.default_rng([8, seed])
        before, after = metrics.aggregate("ece").encode(
            calibrated_at([0.7] * n, rng), calibrated_at([low] * (n // 2) + [high] * (n // 2), rng)
        )
        plain, turned = (
            statistic_test(before, after, lambda r: -ece(r), alpha=0.05, beta=0.2, turn=turn)
            for turn in (None, ece.turn)
        )
        leans.append((plain.threshold or 0.0) - (turned.threshold or 0.0))
        assert turned.difference == plain.difference
        assert (turned.theta or 0.0) - (plain.theta or 0.0) == pytest.approx(leans[-1])
    assert np.mean(leans) == pytest.approx(exact, abs=0.15)


def test_a_spread_over_other_bins_is_said_and_names_a_statistic_without_bins() -> None:
    rng = np.random.default_rng(9)
    constant, spread = calibrated_at([0.7] * 200, rng), calibrated_at(rng.uniform(0.0, 1.0, 200).tolist(), rng)
    for sides in ((constant, spread), (spread, constant)):
        verdict = decided("ece", *sides)
        assert any("brier_score has no bins" in str(reason) for reason in verdict.reasons)
        assert decided("ece", *sides, bins=1).reasons == ()
    assert decided("ece", constant, calibrated_at([0.7] * 200, rng)).reasons == ()


@each("name", ["ece", "ece_adaptive", "rmsce", "mce"])
def test_a_turned_row_has_the_opposite_gap_and_the_same_place(name: str) -> None:
    rng = np.random.default_rng(10)
    sides = [
        columns(id=[i for i in range(40) for _ in range(k)], repeat=list(range(k)) * 40,
                confidence=rng.random(40 * k).round(1).tolist(), score=(100.0 * rng.integers(0, 2, 40 * k)).tolist())
        for k in (1, 3)
    ]  # fmt: skip
    statistic = metrics.aggregate(name).statistic
    assert isinstance(statistic, Unsigned)
    for rows in metrics.aggregate(name).encode(*sides):
        turned = statistic.turn(rows)
        assert statistic(turned) == pytest.approx(statistic(rows))
        np.testing.assert_array_equal(statistic.turn(turned), rows)
        np.testing.assert_array_equal(turned[:, 0], rows[:, 0])
        np.testing.assert_array_equal(turned[:, 1] - turned[:, 2], rows[:, 2] - rows[:, 1])


def spoilt(records: Records, group: str | None, rng: np.random.Generator, share: float) -> Records:
    """The records with this share of a group's (or all) answers drawn anew."""
    return [
        r | {"answer": str(rng.integers(0, 2))} if group in (None, r["group"]) and rng.random() < share else r
        for r in records
    ]


@each("name", [n for n in sorted(aggregate_builders()) if "odds" in n or "parity" in n])
@each("group", ["g0", "g1"])
def test_a_group_that_fares_worse_regresses_whichever_it_is(name: str, group: str) -> None:
    rng = np.random.default_rng(4)
    before = labelled(rng, 400, 2)
    after = spoilt(before, group, rng, 0.9)
    if name == "demographic_parity_difference_selection_rate":
        after = [r | {"answer": "1"} if r["group"] == group and rng.random() < 0.6 else r for r in before]
    assert decided(name, before, after).verdict == "regression"
    assert group == "g1" or decided(name, before, before).verdict == "pass"


@each("name", [n for n in sorted(aggregate_builders()) if n.startswith(("class", "matth"))])
def test_labels_answered_worse_regress(name: str) -> None:
    rng = np.random.default_rng(4)
    before = labelled(rng, 200, 1)
    after = spoilt(before, None, rng, 0.6)
    assert (decided(name, before, after).verdict, decided(name, after, before).verdict) == ("regression", "pass")


def test_a_candidate_that_is_surest_where_it_is_wrong_regresses() -> None:
    before, _ = calibrated(np.random.default_rng(3), 300, 0.0)
    turned = [r | {"confidence": 1.0 - r["confidence"]} for r in before]
    assert decided("accuracy_coverage_auc", before, turned).verdict == "regression"
    assert decided("selective_accuracy", before, turned, coverage=0.3).verdict == "regression"
    assert decided("brier_score", before, turned).verdict == "regression"
    assert decided("brier_score", turned, before).verdict == "pass"


def test_pass_at_k_of_fewer_right_answers_regresses() -> None:
    rng = np.random.default_rng(5)
    sides = [
        [{"id": i, "repeat": r, "score": 100.0 * (rng.random() < p)} for i in range(200) for r in range(6)]
        for p in (0.4, 0.25)
    ]
    assert decided("pass_at_k", *sides, k=3).verdict == "regression"
    assert decided("pass_at_k", *sides[::-1], k=3).verdict == "pass"


def test_a_verdict_tells_both_values_in_points() -> None:
    before, after = attacked(np.random.default_rng(9), 300, 20.0)
    verdict = decided("attack_success_rate", before, after)
    rate = metrics.aggregate("attack_success_rate")
    assert verdict.reference.mean == pytest.approx(rate(before))
    assert verdict.candidate.mean == pytest.approx(rate(after))
    assert verdict.gamma is not None
    assert verdict.gamma > verdict.reference.mean
