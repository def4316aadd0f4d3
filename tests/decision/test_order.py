"""The order in which a test that stops early takes its samples: random, or as given."""

import hashlib
import math
from typing import Any

import numpy as np
import pytest

from accgate.decision.comparison import compare
from accgate.errors import BadInput
from tests.support.cases import each


def healthy(random: np.random.Generator, n: int, q: float, right: float = 0.75) -> tuple[np.ndarray, np.ndarray]:
    """0/100 scores of two runs of one model, easiest sample first: those right in the reference, then the others."""
    reference = np.where(np.arange(n) < round(right * n), 100.0, 0.0)
    share = np.where(reference > 0.0, q / (2.0 * right), q / (2.0 - 2.0 * right))  # as many lost as gained, on average
    changed = random.random(n) < share
    return reference, np.where(changed, 100.0 - reference, reference)


def rank_of(n: int, seed: int, clusters: list[str] | None = None) -> list[int]:
    """The documented order: by SHA-256 of "seed:cluster" first, and then of "seed:id", where an id is a place."""

    def sha(text: str) -> str:
        return hashlib.sha256(text.encode()).hexdigest()

    return sorted(
        range(n), key=lambda i: ("" if clusters is None else sha(f"{seed}:{clusters[i]}"), sha(f"{seed}:{i}"))
    )


@pytest.mark.slow
@each("test", ["gsprt", "group-sequential", "e-process"])
def test_a_sorted_array_of_healthy_runs_fails_no_more_often_than_alpha(test: Any) -> None:
    """Taken as given, losses come first: most runs would fail."""
    random, alpha = np.random.default_rng(5), 0.05
    share: dict[str, float] = {}
    for order, runs in (("random", 40), ("given", 6)):
        rules: dict[str, Any] = {"test": test, "theta": 5.0, "alpha": alpha, "order": order}
        verdicts = [compare(*healthy(random, 400, 0.2), seed=run, **rules).verdict for run in range(runs)]
        share[order] = verdicts.count("regression") / runs
    assert share["random"] <= alpha + 3.0 * math.sqrt(alpha * (1.0 - alpha) / 40)
    assert share["given"] > 0.5


@each(("test", "seed"), [("gsprt", 1), ("gsprt", 8), ("e-process", 1)])
def test_arrays_are_taken_in_the_order_of_their_places_by_default(test: Any, seed: int) -> None:
    reference, candidate = healthy(np.random.default_rng(seed), 500, 0.2)
    rules: dict[str, Any] = {"test": test, "theta": 5.0, "seed": seed}
    rank = rank_of(500, seed)
    random = compare(reference, candidate, **rules)
    given = compare(reference[rank], candidate[rank], order="given", **rules)
    assert (random.verdict, random.n, random.p_value) == (given.verdict, given.n, given.p_value)
    assert random.n < 500 or test == "e-process"
    by_id = compare(dict(enumerate(reference)), dict(enumerate(candidate)), **rules)
    assert by_id == random
    assert set(random.flips) <= {str(i) for i in rank[: random.n]}


def test_clusters_stay_whole_in_the_random_order() -> None:
    reference, candidate = healthy(np.random.default_rng(3), 600, 0.2)
    clusters = [f"page {i % 120}" for i in range(600)]
    rules: dict[str, Any] = {"theta": 6.0, "early_stopping": True, "seed": 2}
    rank = rank_of(600, 2, clusters)
    random = compare(reference, candidate, clusters=clusters, **rules)
    ordered = [clusters[i] for i in rank]
    given = compare(reference[rank], candidate[rank], clusters=ordered, order="given", **rules)
    same = ("verdict", "n", "clusters", "p_value")
    assert [getattr(random, key) for key in same] == [getattr(given, key) for key in same]
    assert random.n % 5 == 0
    by_id = {str(i): cluster for i, cluster in enumerate(clusters)}
    assert compare(dict(enumerate(reference)), dict(enumerate(candidate)), clusters=by_id, **rules) == random


def test_at_a_fixed_n_the_order_changes_nothing_and_another_order_is_refused() -> None:
    reference, candidate = healthy(np.random.default_rng(6), 200, 0.2)
    assert compare(reference, candidate, order="given") == compare(reference, candidate)
    with pytest.raises(BadInput, match="order is 'sorted'; give one of random, given"):
        compare([100.0], [100.0], order="sorted")  # type: ignore[arg-type]


@pytest.mark.parametrize(("count", "stops"), [(29, False), (30, True)])
def test_30_clusters_are_enough_to_stop_early_and_29_are_not(count: int, stops: bool) -> None:
    clusters, right = np.arange(count * 10) % count, [100.0] * (count * 10)
    for candidate in (right, [0.0] * (count * 10)):
        verdict = compare(right, candidate, clusters=clusters, theta=20.0, early_stopping=True)
        assert (verdict.n_max is not None) == stops
        assert ("no early stop: there are fewer than 30 clusters" in verdict.reasons) == (not stops)
        whole = compare(right, candidate, clusters=clusters, early_stopping=True)  # nothing to stop for without theta
        assert ("no early stop: there are fewer than 30 clusters" in whole.reasons) == (not stops)
