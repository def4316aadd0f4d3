"""What the sentences of a verdict claim, simulated and counted; standard error of a share of 0.2 of 60 runs: 0.05."""

import math
from typing import Any

import numpy as np
import pytest

from accgate.decision.comparison import compare
from accgate.verdict import Verdict
from accgate.verdict.paragraphs import explanation
from accgate.verdict.points import theta_text
from accgate.verdict.sentences import sentence
from tests.support.cases import each

RUNS = 60
NO_OUTCOME = "no outcome of these samples would have failed the gate"
Sides = tuple[np.ndarray, np.ndarray]


def at_most(rate: float, runs: int = RUNS) -> float:
    """The rate and three standard errors of its share."""
    return rate + 3.0 * math.sqrt(rate * (1.0 - rate) / runs)


def binary(random: np.random.Generator, n: int, q: float, drop: float) -> Sides:
    """0/100 scores of which a share q changes, so that the mean falls by `drop` points."""
    lost, draw = (q + drop / 100.0) / 2.0, random.random(n)
    reference = np.where(draw < lost, 100.0, np.where(draw < q, 0.0, 100.0 * (random.random(n) < 0.7)))
    return reference, np.where(draw < lost, 0.0, np.where(draw < q, 100.0, reference))


def other(random: np.random.Generator, n: int, q: float, drop: float) -> Sides:
    """Scores from 20 to 80 of which a share q changes by 10 points on average, either way, and all mean `drop` less."""
    reference = random.uniform(20.0, 80.0, n)
    noise = np.where(random.random(n) < q, random.normal(0.0, 10.0, n), 0.0)
    return reference, np.clip(reference + noise - drop, 0.0, 100.0)


@each(("test", "draw", "n", "q", "theta"), [
    ("gsprt", binary, 200, 0.2, 8.0), ("gsprt", binary, 200, 0.2, None),
    ("group-sequential", binary, 300, 0.1, 6.0), ("e-process", binary, 250, 0.15, 10.0),
    ("gsprt", other, 300, 0.6, 2.0),
])  # fmt: skip
@pytest.mark.slow
def test_of_runs_with_the_drop_that_an_early_pass_names_so_few_pass(
    test: Any, draw: Any, n: int, q: float, theta: float | None
) -> None:
    """Without a target only early passes are that few: a run that went to the end passes where it does not fail.

    Of the same runs at most alpha say that the drop was ruled out, and each of them by its interval.
    """
    random = np.random.default_rng(n)
    rules: dict[str, Any] = {"test": test, "theta": theta, "order": "given"}
    runs = (compare(*draw(random, n, q, 0.0), **rules) for _ in range(50))
    healthy = next(verdict for verdict in runs if verdict.verdict == "pass" and verdict.is_early)
    how = "pass early" if theta is None else "pass"
    assert f". Of runs with a real drop of {theta_text(healthy)} points, at most 20% {how}." in sentence(healthy)
    passed = ruled_out = early = 0
    for _ in range(RUNS):
        verdict = compare(*draw(random, n, q, healthy.theta), **rules)
        early += verdict.is_early and verdict.verdict == "pass"
        passed += verdict.verdict == "pass"
        ruled_out += says_ruled_out(verdict)
    assert early / RUNS <= at_most(0.2)
    assert theta is None or passed / RUNS <= at_most(0.2)
    assert ruled_out / RUNS <= at_most(0.05)


def says_ruled_out(verdict: Verdict) -> bool:
    """Whether a verdict says that the drop was ruled out, which its interval must bear out."""
    text, told = sentence(verdict), dict(explanation(verdict)).get("Stopping", "")
    says = "was already ruled out" in text
    assert says == ("was already ruled out" in told)
    if verdict.stop != "futility" or not verdict.is_early:
        assert not says
        return False
    assert says == (verdict.interval.two_sided[0] > -verdict.theta)
    assert says != (" points was in sight" in text)
    return says


def test_most_early_passes_do_not_rule_the_drop_out_and_some_do() -> None:
    random = np.random.default_rng(1)
    verdicts = [compare(*binary(random, 500, 0.1, 0.0), theta=5.0, early_stopping=True) for _ in range(40)]
    said = [says_ruled_out(verdict) for verdict in verdicts if verdict.stop == "futility"]
    assert 0 < sum(said) < len(said) / 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("test", "n", "q"), [("auto", 80, 0.1), ("paired", 80, 0.1), ("auto", 300, 0.0), ("gsprt", 150, 0.1)]
)
def test_a_run_of_all_samples_sees_the_drop_it_names_as_often_as_it_says(test: Any, n: int, q: float) -> None:
    """Of runs with that drop and as many changes at least four in five fail."""
    random = np.random.default_rng(2)
    rules: dict[str, Any] = {"test": test, "theta": 2.0 if test == "gsprt" else None, "order": "given"}
    changed = np.zeros(n)
    changed[: int(n * q)] = np.resize([-100.0, 100.0], int(n * q))
    changed = random.permutation(changed)
    reference = np.where(changed > 0.0, 0.0, 100.0)
    verdict = compare(reference, reference + changed, **rules)
    assert not verdict.is_early
    assert f"This run sees a drop of {theta_text(verdict)} points or more with 80% probability" in sentence(verdict)
    share = max(q, verdict.theta / 100.0)
    verdicts = (compare(*binary(random, n, share, verdict.theta), **rules) for _ in range(RUNS))
    failed = sum(one.verdict == "regression" for one in verdicts)
    assert 1.0 - failed / RUNS <= at_most(0.2)


@each(("size", "rules"), [
    (100.0, {}), (10.0, {"test": "permutation"}), (100.0, {"clusters": [i % 12 for i in range(12)]}),
    (100.0, {"allowed_drop": 1.0, "theta": 30.0}), (100.0, {"test": "paired", "alpha": 0.2}),
])  # fmt: skip
def test_no_gamma_is_said_just_where_no_outcome_fails(size: float, rules: dict[str, Any]) -> None:
    said = 0
    sizes = (1, 3, 4, 5, 6, 7, 12)
    for n in sizes:
        sides = np.full(n, 100.0 if size == 100.0 else 50.0), np.zeros(n)
        rules = rules | ({"clusters": list(range(n))} if "clusters" in rules else {})
        fails = compare(*sides, **rules).verdict == "regression"
        text = sentence(compare(sides[0], sides[0], **rules))
        assert (NO_OUTCOME in text) == (not fails), n
        assert ("the gate fails below gamma" in text) == fails, n
        said += NO_OUTCOME in text
    assert 0 < said < len(sizes)


@pytest.mark.parametrize("reference", [[50.0], [50.0, 60.0, 70.0]])
def test_one_sample_that_is_compared_by_means_has_not_changed(reference: list[float]) -> None:
    text = sentence(compare(reference, [40.0], test="two-sample"))
    assert "on 1 sample, " in text
    assert NO_OUTCOME in text
    assert "changed" not in text
