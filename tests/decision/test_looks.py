"""Whether a run is decided at a look is answered without its figures, and exactly as the whole decision answers it."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from accgate.decision.comparison import decide
from accgate.decision.evidence import Evidence
from accgate.decision.stopping import sequential_test
from accgate.design import Design
from accgate.records.scores import Scores
from accgate.stats import graded
from accgate.stats.names import TestName
from accgate.stats.sequential import units_of
from tests.support.cases import each
from tests.support.decisions import is_decided

N = 300
WAYS: dict[str, tuple[TestName, dict[str, float | bool]]] = {  # name: the test, and what else the design has
    "walk": ("auto", {}),
    "gsprt": ("gsprt", {"discordance": 0.3}),
    "looks": ("group-sequential", {}),
    "bets": ("e-process", {}),
    "allowed drop": ("auto", {"allowed_drop": 2.0}),
    "certified": ("group-sequential", {"certify": True}),
}
CASES = [
    *(("one", way) for way in WAYS),
    *((kind, way) for kind in ("runs", "repeats", "graded", "clusters", "graded clusters") for way in ("walk", "bets")),
]


def history(rng: np.random.Generator, kind: str, drop: float) -> tuple[np.ndarray, np.ndarray]:
    """Scores of the reference and of the candidate, one row a sample."""
    runs = {"runs": (3, 1), "repeats": (3, 2)}.get(kind, (1, 1))
    base = np.where(rng.random((N, 1)) < 0.8, 100.0, 0.0)
    before, now = (np.where(rng.random((N, k)) < 0.06, 100.0 - base, base) for k in runs)
    now = np.where(rng.random((N, 1)) < drop / 100.0, 0.0, now)
    if kind.startswith("graded"):
        before = np.clip(before / 2.0 + rng.normal(25.0, 10.0, before.shape), 0.0, 100.0)
        now = np.clip(before + rng.normal(-0.5 * drop, 8.0, before.shape), 0.0, 100.0)
    return before, now


def beginnings(seed: int, kind: str, way: str, drop: float, failed: float) -> Iterator[Evidence]:
    """A run's evidence at some of its looks and at its end."""
    rng = np.random.default_rng(seed)
    ids, (before, now) = tuple(map(str, range(N))), history(rng, kind, drop)
    now[rng.random(N) < failed] = np.nan
    test, keys = WAYS[way]
    design = Design(test=test, theta=8.0, early_stopping=True, higher_is_better=bool(seed % 2), **keys)  # type: ignore[arg-type]
    worst, best = (0.0, 100.0) if seed % 2 else (100.0, 0.0)
    before, now = (before, now) if seed % 2 else (100.0 - before, 100.0 - now)
    codes = np.arange(N) // 3 if kind.endswith("clusters") else None
    for count in (3 * int(rng.integers(2, 30)), 3 * int(rng.integers(30, 99)), N):
        reference, candidate = (Scores(ids[:count], values[:count]) for values in (before, now))
        clusters, binary = None if codes is None else codes[:count], not kind.startswith("graded")
        yield Evidence(candidate, reference, design, None, None, worst, best, clusters, N, binary)


@pytest.mark.slow
@each(("kind", "way"), CASES)
def test_a_look_says_what_the_whole_decision_says(kind: str, way: str) -> None:
    answers = []
    for seed, (drop, failed) in enumerate([(0.0, 0.005), (8.0, 0.0), (40.0, 0.01)]):
        alpha = (0.05, 0.005, 0.05)[seed]  # whole, and as a correction leaves it
        for evidence in beginnings(seed, kind, way, drop, failed):
            ends = (evidence.worst, evidence.best)[: 2 if evidence.candidate.failed else 1]
            checks = [sequential_test(evidence.fill(end).by_cluster(), alpha) for end in ends]
            assert all(check is not None for check in checks)
            whole = [check.result() for check in checks if check is not None]
            decided = is_decided(evidence, alpha)
            assert decided == (not any(result.open for result in whole))
            for check, result in zip(checks, whole, strict=True):
                for key in ("p_value", "n", "n_max", "stop", "open"):
                    assert getattr(check.standing, key) == getattr(result, key), key
                assert check.standing.difference == pytest.approx(result.difference, abs=1e-9)
                assert check.standing.interval is None
            answers.append(decided)
        (verdict,) = decide([replace(evidence, design=replace(evidence.design, alpha=alpha))])
        assert verdict.n == max(result.n for result in whole) or len(whole) > 1
    assert set(answers) == {False, True}


def test_a_run_that_has_no_sequential_test_is_never_decided_early() -> None:
    for way in ("allowed drop", "certified"):
        for evidence in beginnings(1, "graded", way, 40.0, 0.0):
            assert not is_decided(evidence, 0.05)


def test_looks_that_are_remembered_say_what_they_said_and_what_changed_is_seen(monkeypatch: Any) -> None:
    rates = {"theta": 4.0, "alpha": 0.05, "beta": 0.2}
    rng = np.random.default_rng(5)
    healthy, worse = rng.normal(0.0, 10.0, 700), rng.normal(-3.0, 10.0, 700)
    changed = np.where(np.arange(700) == 20, -90.0, healthy)  # one answer, read again, before the first look
    runs = [(x, n_max, count) for x in (healthy, changed, worse) for n_max in (700, 900) for count in (40, 200, 700)]
    fresh = []
    for x, n_max, count in runs:
        graded._evidence.clear()
        fresh.append(graded.graded_test(units_of(x, n_max=n_max).first(count), **rates))
    monkeypatch.setattr(graded, "REMEMBERED", 60)  # so few that some are forgotten between
    for i in rng.permutation(np.tile(np.arange(len(runs)), 3)):
        x, n_max, count = runs[i]
        assert graded.graded_test(units_of(x, n_max=n_max).first(count), **rates) == fresh[i]
        assert len(graded._evidence) <= 60
    assert len(set(map(repr, fresh))) >= 12
