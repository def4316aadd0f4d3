"""Checks of 0/100 scores with several answers a sample: the exact test, its walk, and what is drawn of it."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from accgate.decision.comparison import compare_scores, decide
from accgate.decision.evidence import Evidence
from accgate.decision.path import path_of
from accgate.design import Design
from accgate.records.scores import Scores, read_scores
from accgate.stats.answers import repeats_of
from accgate.stats.early_repeats import repeats_sequential
from accgate.stats.repeats import repeats_exact
from tests.support.cases import each
from tests.support.decisions import assert_sound, is_decided, limits_after, one_each

SEQUENTIAL = Design(theta=4.0, early_stopping=True)


def sides(n: int, repeats: int, runs: int, *, accuracy: float = 0.8, lost: int = 0, seed: int = 0) -> list[Scores]:
    rng = np.random.default_rng(seed)
    right = np.where(rng.random(n) < 0.2, rng.random(n), (rng.random(n) < accuracy))
    both = 100.0 * (rng.random((n, repeats + runs)) < right[:, np.newaxis])
    both[rng.permutation(np.flatnonzero(both[:, 0] > 0.0))[:lost], repeats:] = 0.0
    return [one_each(both[:, :repeats]), one_each(both[:, repeats:])]


def beginning_of(evidence: Evidence, n: int) -> Evidence:
    """The first samples of a whole run."""
    ids = evidence.candidate.ids[:n]
    sides = evidence.candidate.take(ids), evidence.reference.take(ids)
    return replace(evidence, candidate=sides[0], reference=sides[1], n_max=evidence.candidate.n)


@each(
    ("repeats", "runs", "higher", "size"),
    [(4, 1, True, 1), (1, 4, True, 1), (3, 3, True, 1), (4, 1, False, 1), (4, 1, True, 4)],
)
def test_several_answers_are_compared_exactly(repeats: int, runs: int, higher: bool, size: int) -> None:
    before, now = sides(300, repeats, runs, lost=12)
    codes = None if size == 1 else np.arange(300) // size
    oracle = repeats_exact(repeats_of(before.values, now.values, codes), alpha=0.05, beta=0.2)
    if not higher:
        before, now = (one_each(100.0 - side.values) for side in (before, now))
    clusters = None if codes is None else codes.tolist()
    verdict = compare_scores(before, now, Design(higher_is_better=higher), clusters=clusters)
    assert_sound(verdict)
    assert (verdict.test, verdict.p_value, verdict.theta) == ("paired", pytest.approx(oracle.p_value), oracle.theta)
    assert verdict.difference == pytest.approx(oracle.difference if higher else -oracle.difference)
    assert verdict.clusters == (None if codes is None else 75)


@each(("lost", "verdict", "stop"), [(0, "pass", "futility"), (90, "regression", "regression")])
def test_a_check_of_several_answers_stops_early(lost: int, verdict: str, stop: str) -> None:
    before, now = sides(1000, 4, 1, lost=lost, seed=3)
    evidence = Evidence(now, before, SEQUENTIAL)
    (result,) = decide([evidence])
    assert (result.test, result.verdict, result.stop) == ("gsprt", verdict, stop)
    assert result.n < 600
    assert_sound(result)
    beginning = beginning_of(evidence, result.n)
    assert is_decided(beginning, 0.05)
    assert not is_decided(beginning_of(evidence, result.n - 1), 0.05)
    path = path_of(beginning, result)
    assert path.is_whole
    assert path.sums[-1] == pytest.approx(result.difference_raw * result.n)
    if stop == "futility":
        assert path.sums[-1] >= path.passes[-1][1] - 1e-9
    else:
        assert path.sums[-1] <= path.fails[-1][1] + 1e-9


def test_a_running_check_says_how_near_it_is_at_the_discordance_that_was_planned() -> None:
    before, now = sides(1000, 4, 1, lost=8, seed=3)
    evidence = Evidence(now, before, replace(SEQUENTIAL, discordance=0.6))
    for n in (20, 40, 60):
        limits = limits_after(beginning_of(evidence, n), 0.05)
        assert (limits.n, limits.n_max) == (n, 1000)
        assert 0.0 <= limits.share <= 1.0
        share = (limits.difference + 2.0) / (limits.passes + 2.0)  # at half a drop nothing speaks for either side
        assert limits.share == pytest.approx(min(max(share, 0.0), 1.0))
        answers = repeats_of(before.values[:n], now.values[:n], n_max=1000)
        own = repeats_sequential(answers, theta=4.0, alpha=0.05, beta=0.2, discordance=0.6)
        assert limits.p_value == own.p_value


def test_other_scores_may_still_come() -> None:
    before, now = sides(200, 4, 1)
    evidence = Evidence(now, before, Design(), binary=False)
    assert decide([evidence])[0].p_value != decide([replace(evidence, binary=True)])[0].p_value


@pytest.mark.parametrize(("runs", "repeats"), [(3, 1), (1, 6), (6, 4)])
@each("early", [False, True])
def test_rounding_of_the_means_of_different_numbers_of_answers_is_no_change(
    early: bool, runs: int, repeats: int
) -> None:
    """The same model answers the same each time: np.mean of three times 14.3 is 14.300000000000002."""
    points = np.random.default_rng(0).choice([14.3, 57.1, 28.6, 33.333], 200)
    before, now = (one_each(np.repeat(points[:, None], count, axis=1)) for count in (runs, repeats))
    verdict = compare_scores(before, now, Design(theta=5.0, early_stopping=early))
    assert (verdict.verdict, verdict.lost, verdict.gained, verdict.difference) == ("pass", 0, 0, 0.0)
    moved = compare_scores(before, one_each(now.values + 1e-13), Design(higher_is_better=False))
    assert (moved.verdict, moved.lost, moved.p_value) == ("pass", 0, 1.0)


def test_files_keep_their_repeats(tmp_path: Path) -> None:
    before, now = sides(60, 4, 2, lost=10)
    read = []
    for name, side in (("before", before), ("now", now)):
        rows = [(i, k, score) for i, row in zip(side.ids, side.values, strict=True) for k, score in enumerate(row)]
        path = tmp_path / f"{name}.csv"
        path.write_text("id,repeat,score\n" + "\n".join(f"{i},{k},{score:.0f}" for i, k, score in rows))
        read.append(read_scores(path, name))
    assert compare_scores(*read, Design()).p_value == compare_scores(before, now, Design()).p_value
