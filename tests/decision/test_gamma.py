"""Gamma: the mean is past it exactly where the check fails, and it is missing only where no outcome could fail."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from accgate.decision.comparison import compare, compare_scores, compare_statistic
from accgate.design import Design
from accgate.verdict import Verdict
from tests.support.cases import each
from tests.support.decisions import one_each, unconditional_p

RIGHT, WRONG = 100.0, 0.0
EARLY = [{"test": test, "theta": 8.0} for test in ("gsprt", "group-sequential", "e-process")]
LOOKS = [
    {"theta": 4.0, "allowed_drop": 2.0, "early_stopping": True},
    {"theta": 5.0, "certify": True, "early_stopping": True},
]
FIXED: list[dict[str, Any]] = [
    {}, {"alpha": 0.005}, {"test": "paired"}, {"test": "permutation"}, {"allowed_drop": 2.0},
    {"test": "two-sample"},
]  # fmt: skip
SHAPES = ["same", "gained", "flips", "worse", "hard", "better at hard"]


def shape_of(name: str, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Reference and candidate of a run of 0/100 scores."""
    right = rng.random(n) < (0.08 if "hard" in name else 0.7)
    lost, gained = {
        "same": (0.0, 0.0), "gained": (0.0, 1.0), "flips": (0.06, 0.14), "worse": (0.3, 0.05), "hard": (0.3, 0.03),
        "better at hard": (0.1, 0.25),
    }[name]  # fmt: skip
    change = rng.random(n)
    now = np.where(right, change >= lost, change < gained)
    return RIGHT * right, RIGHT * now


def assert_exact(verdict: Verdict, could_fail: bool) -> None:
    """The mean is past gamma exactly where the check fails, and gamma is missing only where nothing could."""
    assert verdict.verdict in ("pass", "regression", "inconclusive")
    if verdict.gamma is None:
        assert verdict.verdict != "regression"
        assert not could_fail
        return
    side = 1.0 if verdict.higher_is_better else -1.0
    assert (verdict.verdict == "regression") == (side * verdict.candidate.mean < side * verdict.gamma)


def worst_fails(before: np.ndarray, verdict: Verdict, **rules: Any) -> bool:
    """Whether the loss of all that can be lost fails a check of the samples that the run used."""
    higher = rules.get("higher_is_better", True)
    worst, used = np.full(verdict.n, WRONG if higher else RIGHT), before[: verdict.n]
    if "clusters" in rules:
        rules = {**rules, "clusters": rules["clusters"][: verdict.n]}
    return compare(used, worst, order="given", **rules).verdict == "regression"


@each("rules", [*FIXED, *EARLY, *LOOKS, {"clusters": 3}, {"clusters": 3, **EARLY[0]}])
def test_the_mean_is_past_gamma_exactly_where_a_check_fails(rules: dict[str, Any]) -> None:
    seen = set()
    for seed, (name, n) in enumerate((name, n) for name in SHAPES for n in (6, 80)):
        higher = seed % 3 > 0
        before, now = shape_of(name, n, np.random.default_rng(seed))
        own = dict(rules)
        if "clusters" in rules:
            own["clusters"] = (np.arange(n) // rules["clusters"]).tolist()
        sides = (before, now) if higher else (RIGHT - before, RIGHT - now)
        own = {"higher_is_better": higher, "scale": 1.0, **own}
        verdict = compare(*sides, order="given", **own)
        seen.add(verdict.verdict)
        assert_exact(verdict, verdict.gamma is None and worst_fails(sides[0], verdict, **own))
    assert {"regression", "inconclusive"} <= seen


@each("test", ["paired", "unconditional", "gsprt"])
def test_of_0_100_scores_it_is_that_of_the_gains_seen_and_the_least_losses_that_fail(test: Any) -> None:
    """By formulas of their own; a sequential test that goes to the end without a bound before is McNemar's there."""
    rng = np.random.default_rng(1)
    for n, lost, gained in [(30, 0, 0), (30, 3, 2), (60, 9, 1), (60, 0, 7), (200, 4, 4), (200, 30, 11)]:
        change = np.repeat([-1, 1, 0], [lost, gained, n - lost - gained])
        before, now = np.where(change > 0, WRONG, RIGHT), np.where(change < 0, WRONG, RIGHT)
        at = rng.permutation(n)
        verdict = compare(before[at], now[at], test=test, order="given", theta=40.0 if test == "gsprt" else None)
        if test == "gsprt":
            if verdict.stop == "regression" and verdict.is_early:  # its last loss was the one too many
                assert verdict.gamma == pytest.approx(verdict.candidate.mean + 100.0 / verdict.n)
            continue
        p = {"paired": lambda k, g=gained: binom.sf(k - 1, k + g, 0.5),
             "unconditional": lambda k, g=gained, n=n: unconditional_p(k, g, n)}[test]  # fmt: skip
        least = next(k for k in range(1, n - gained + 1) if p(k) <= 0.05)
        assert verdict.gamma == pytest.approx(before.mean() - 100.0 * (least - 1 - gained) / n)


def test_where_too_few_can_be_lost_gains_that_are_not_made_count_as_losses() -> None:
    """Of 100 samples 7 were right and 20 more are now: no number of losses fails beside so many gains."""
    before, now = np.repeat([RIGHT, WRONG], [7, 93]), np.repeat([RIGHT, WRONG], [27, 73])
    verdict = compare(before, now, test="paired")
    kept = next(gains for gains in range(20, -1, -1) if binom.sf(6, 7 + gains, 0.5) <= 0.05)  # beside 7 losses
    assert kept == 1
    assert verdict.gamma == pytest.approx(kept + 1)
    assert compare(before[:50], now[:50], test="paired", alpha=0.004).gamma is None  # 7 losses alone have p 0.0078


@each("rules", [{"test": "paired"}, {"test": "gsprt", "theta": 3.0}, {"test": "e-process", "theta": 3.0}])
def test_a_run_fails_with_the_losses_that_gamma_counts_and_not_with_one_less(rules: dict[str, Any]) -> None:
    rng, passed = np.random.default_rng(5), 0
    for _ in range(12):
        right = rng.random(300) < 0.8
        change = rng.random(300) < 0.01
        before, now = RIGHT * right, RIGHT * (right ^ change)
        verdict = compare(before, now, order="given", **rules)
        if verdict.verdict == "regression":
            continue
        passed += 1
        more = round((verdict.candidate.mean - verdict.gamma) * verdict.n / 100.0)
        can = np.flatnonzero(right[: verdict.n] & (now[: verdict.n] > 0.0))[::-1]
        for extra, fails in ((more, False), (more + 1, True)):
            worse = now.copy()
            worse[can[:extra]] = WRONG
            found = compare(before, worse, order="given", **rules)
            assert (found.verdict == "regression" and found.n <= verdict.n) == fails
    assert passed > 6


@each(("answers", "own"), [(1, 3), (4, 2), (3, 3)])
@each("early", [False, True])
def test_with_several_answers_too(answers: int, own: int, early: bool) -> None:
    failed = 0
    for seed, drop in enumerate((0.0, 0.0, 0.3, 1.0)):
        for n in (3, 120):
            rng = np.random.default_rng(seed)
            share = rng.beta(4.0, 1.0, n)[:, np.newaxis]
            sides = [RIGHT * (rng.random((n, k)) < share * (1.0 - d)) for k, d in ((answers, 0.0), (own, drop))]
            if seed == 0:
                sides = [np.full((n, answers), RIGHT), np.full((n, own), RIGHT)]
            design = Design(theta=5.0 if early else None, early_stopping=early)
            reference, candidate = map(one_each, sides)
            verdict = compare_scores(reference, candidate, design, order="given")
            worst = candidate.values.copy()
            worst[: verdict.n] = WRONG
            all_lost = compare_scores(reference, one_each(worst), design, order="given")
            assert_exact(verdict, all_lost.verdict == "regression" and all_lost.n <= verdict.n)
            failed += verdict.verdict == "regression"
    assert failed


GRADED = ["same", "jitter", "worse", "all worse", "skewed", "broken"]


@each("rules", [
    {}, {"test": "paired"}, {"test": "permutation"}, {"allowed_drop": 1.0}, {"theta": 3.0, "early_stopping": True},
    {"theta": 3.0, "test": "e-process"}, {"bounds": (-np.inf, np.inf)}, {"test": "two-sample"},
])  # fmt: skip
def test_other_scores_have_one_too(rules: dict[str, Any]) -> None:
    failed = 0
    for seed, name in enumerate(GRADED):
        for n, higher in ((9, seed % 2 == 0), (130, seed % 2 == 1)):
            rng = np.random.default_rng(seed)
            before, spread = rng.uniform(20.0, 90.0, n).round(1), rng.normal(0.0, 1.0, n)
            change = {
                "same": np.zeros(n), "jitter": spread, "worse": spread - 1.5, "all worse": np.full(n, -2.0),
                "skewed": np.where(rng.random(n) < 0.1, -15.0, 0.0), "broken": 0.1 - before,
            }[name]  # fmt: skip
            sides = (before, before + change) if higher else (100.0 - before, 100.0 - before - change)
            verdict = compare(*sides, higher_is_better=higher, scale=1.0, order="given", **rules)  # type: ignore[arg-type]
            unable = any("no outcome of" in reason for reason in verdict.reasons)
            assert_exact(verdict, could_fail=not unable)
            failed += verdict.verdict == "regression"
    assert failed


def test_without_any_change_of_other_scores_it_counts_whole_losses() -> None:
    before = np.linspace(20.0, 90.0, 200)
    verdict = compare(before, before, test="paired", order="given")
    # Of equal losses three are the least that a t test fails; the last two are the best answers.
    assert verdict.gamma == pytest.approx(before.mean() - before[-2:].sum() / 200)


def test_statistics_have_one_too() -> None:
    failed = 0
    for case, (n, worse) in enumerate(product((4, 30, 300), (0.0, 0.05, 1.0))):
        higher = case % 2 == 0
        rng = np.random.default_rng(n)
        before = rng.uniform(20.0, 80.0, n)
        after = before + np.where(rng.random(n) < worse, -10.0 if higher else 10.0, 0.0)
        verdict = compare_statistic(before, after, lambda rows: float(rows.mean()), higher_is_better=higher)
        assert_exact(verdict, could_fail=n > 4)
        failed += verdict.verdict == "regression"
    assert failed
