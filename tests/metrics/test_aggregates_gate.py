"""Statistics over samples decided like a mean: healthy runs pass, worse ones regress, by each one's direction."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from accgate import compare_statistic, metrics
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


def answered(name: str) -> tuple[Records, Records]:
    """Labels, most of which the second run draws anew: of one group where `name` is one, else of all."""
    rng = np.random.default_rng(4)
    before = labelled(rng, 300, 2)
    return before, [
        r | {"answer": str(rng.integers(0, 2))} if name in ("", r["group"]) and rng.random() < 0.9 else r
        for r in before
    ]


def turned() -> tuple[Records, Records]:
    """A run that is surest where it is right, and one that is surest where it is wrong."""
    before, _ = calibrated(np.random.default_rng(3), 300, 0.0)
    return before, [r | {"confidence": 1.0 - r["confidence"]} for r in before]


def repeated() -> tuple[Records, Records]:
    rng = np.random.default_rng(5)
    before, after = (
        [{"id": i, "repeat": r, "score": 100.0 * (rng.random() < p)} for i in range(200) for r in range(6)]
        for p in (0.4, 0.25)
    )
    return before, after


@each(
    ("name", "options", "pair"),
    [
        ("ece", {}, calibrated(np.random.default_rng(1), 200, 25.0)),
        ("attack_success_rate", {}, attacked(np.random.default_rng(9), 200, 25.0)),
        *((name, {}, turned()) for name in ("accuracy_coverage_auc", "brier_score")),
        ("selective_accuracy", {"coverage": 0.3}, turned()),
        ("pass_at_k", {"k": 3}, repeated()),
        *((name, {}, answered("")) for name in ("classification_f1", "matthews_correlation")),
        *(
            (name, {}, answered(group))
            for name in ("demographic_parity_difference", "equalised_odds_difference_fairlearn")
            for group in ("g0", "g1")
        ),
    ],
)
def test_a_worse_run_regresses_and_a_better_one_passes(name: str, options: dict[str, Any], pair) -> None:
    worse, better = decided(name, *pair, **options), decided(name, *pair[::-1], **options)
    assert (worse.verdict, better.verdict) == ("regression", "pass")
    value = metrics.aggregate(name, **options)
    assert abs(value(pair[0]) or 0.0) == pytest.approx(worse.reference.mean)
    assert abs(value(pair[1]) or 0.0) == pytest.approx(worse.candidate.mean)


@pytest.mark.slow
@pytest.mark.parametrize("runs_of", [calibrated, attacked])
def test_false_alarms_stay_under_alpha_and_real_losses_are_seen(runs_of: Any) -> None:
    """At 15 runs more than 4 false alarms come with a probability under 0.001 where alpha is 0.05."""
    name = {"calibrated": "ece", "attacked": "attack_success_rate"}[runs_of.__name__]
    healthy = [decided(name, *runs_of(np.random.default_rng([1, s]), 200, 0.0)) for s in range(15)]
    worse = [decided(name, *runs_of(np.random.default_rng([2, s]), 200, 18.0)) for s in range(6)]
    assert sum(v.verdict == "regression" for v in healthy) <= 4
    assert sum(v.verdict == "regression" for v in worse) >= 5


def calibrated_at(confidence: Sequence[float], rng: np.random.Generator) -> Records:
    """Answers that are right as often as their confidence says."""
    right = rng.random(len(confidence)) < np.array(confidence)
    return columns(confidence=list(confidence), score=(100.0 * right).tolist())


@pytest.mark.slow
@each("cell", tails.CALIBRATION_CELLS[18::9])
def test_calibrated_confidences_of_other_forms_fail_at_most_at_alpha(cell: tails.CalibrationCell) -> None:
    """Without `turn` 8 and 4 of these 30 runs fail."""
    assert tails.calibration_rate(cell, 30, seed=6) <= 0.07


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
    for seed in range(10):
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
def test_a_turned_row_has_each_answers_opposite_gap_and_the_same_place(name: str) -> None:
    once, thrice = (
        columns(id=[i for i in range(40) for _ in range(k)], repeat=list(range(k)) * 40,
                confidence=(np.arange(40 * k) % 11 / 10).tolist(), score=([0.0, 100.0, 30.0] * 40 * k)[: 40 * k])
        for k in (1, 3)
    )  # fmt: skip
    statistic = metrics.aggregate(name).statistic
    assert isinstance(statistic, Unsigned)
    for rows in metrics.aggregate(name).encode(once, thrice):
        answers = rows.reshape(-1, 3)
        np.testing.assert_array_equal(statistic.turn(rows).reshape(-1, 3), answers[:, [0, 2, 1]])
        assert statistic(statistic.turn(rows)) == pytest.approx(statistic(rows))
