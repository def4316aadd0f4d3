"""How near a decision is: the limits that a run shows are those that its test decides by."""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from accgate import load_config
from accgate.decision.check import decide_check
from accgate.decision.evidence import Evidence
from accgate.decision.progress import early_stop, expecting
from accgate.design import Design, Mean
from accgate.evaluation.assignment import Comparison, Limits
from accgate.gate import run
from accgate.planning.checks import plan_checks
from accgate.planning.cost import Speed
from accgate.records.file import Record
from accgate.records.scores import Scores
from accgate.stats.gsprt import gsprt_test, unseen_n
from accgate.stats.names import TestName
from accgate.stats.sequential import SequentialResult, units_of
from tests.cases import each
from tests.decisions import limits_after
from tests.gates import RIGHT, Project, right_but
from tests.stats.sequences import drawn

N, ALPHA = 1200, 0.05


def decided(differences: np.ndarray) -> SequentialResult:
    return gsprt_test(units_of(differences, n_max=N), theta=4.0, alpha=ALPHA, beta=0.2)


def limits(differences: np.ndarray, *, turned: bool = False) -> Limits | None:
    """The limits after these differences, of scores where higher is better, or turned round."""
    ids = tuple(map(str, range(N)))
    base = np.full(N, 100.0 if not turned else 0.0)
    base[: len(differences)][differences > 0] = 0.0 if not turned else 100.0
    now = base[: len(differences)] + (-differences if turned else differences)
    design = Design(theta=4.0, early_stopping=True, higher_is_better=not turned)
    candidate = Scores(ids[: len(now)], now[:, None])
    return limits_after(Evidence(candidate, Scores(ids, base[:, None]).take(candidate.ids), design, n_max=N), ALPHA)


@each("drop", [0.0, 4.0, 12.0])
@each("seed", range(8))
def test_a_run_is_within_its_limits_until_the_test_decides_and_beyond_one_then(drop: float, seed: int) -> None:
    run = drawn(np.random.default_rng(seed), N, 0.15, drop)
    result = decided(run)
    assert result.stop in ("regression", "futility")
    before, then = limits(run[: result.n - 1]), limits(run[: result.n])
    assert before is not None
    assert then is not None
    assert before.p_value > before.allowed
    assert before.passes is None or before.difference < before.passes
    if result.stop == "regression":
        assert 0.0 < then.p_value <= then.allowed < ALPHA
        assert then.p_value == result.p_value
        assert then.share < 0.5
    else:
        assert then.p_value > then.allowed
        assert then.passes is not None
        assert then.difference >= then.passes
        assert then.share == 1.0
    assert then.difference == pytest.approx(result.difference)


def test_where_lower_is_better_the_limits_are_turned_round() -> None:
    run = drawn(np.random.default_rng(3), N, 0.15, 4.0)[:150]
    plain, turned = limits(run), limits(run, turned=True)
    assert plain is not None
    assert turned is not None
    assert plain.passes is not None
    assert (turned.difference, turned.passes) == (-plain.difference, -plain.passes)
    assert (turned.p_value, turned.allowed, turned.share) == (plain.p_value, plain.allowed, plain.share)
    assert not turned.higher_is_better


def test_without_changes_the_way_to_a_pass_is_the_samples_that_rule_theta_out() -> None:
    needed = unseen_n(4.0, beta=0.2)
    half, all_but_one = limits(np.zeros(needed // 2)), limits(np.zeros(needed - 1))
    assert half is not None
    assert all_but_one is not None
    assert (half.passes, half.share) == (None, pytest.approx((needed // 2) / needed))
    assert (half.p_value, half.allowed) == (1.0, 0.0)
    assert decided(np.zeros(needed - 1)).open
    assert all_but_one.share < 1.0
    assert not decided(np.zeros(needed)).open


def evidence_after(differences: np.ndarray, test: TestName, clusters: np.ndarray | None, n_max: int) -> Evidence:
    """The evidence after these differences from scores of 50, or of 0 and 100 where that is what differs."""
    ids = tuple(map(str, range(len(differences))))
    whole = bool(np.isin(differences, (-100.0, 0.0, 100.0)).all())
    base = np.where(differences > 0.0, 0.0, 100.0) if whole else np.full(len(differences), 50.0)
    scores, reference = (Scores(ids, values[:, None]) for values in (base + differences, base))
    design = Design(test=test, theta=4.0)
    return Evidence(scores, reference, design, n_max=n_max, clusters=clusters, binary=whole)


@each("drop", [0.0, 12.0])
@each("kind", ["binary", "continuous", "clusters"])
@each("test", ["gsprt", "group-sequential", "e-process"])
def test_every_sequential_test_says_how_near_it_is(test: TestName, kind: str, drop: float) -> None:
    seen = []
    for seed in range(2):
        rng = np.random.default_rng(seed)
        run, codes = drawn(rng, 2400, 0.2, drop), None
        if kind == "continuous":
            run = np.clip(run / 100.0 * rng.exponential(25.0, len(run)) - 0.3 * drop, -50.0, 50.0)
        elif kind == "clusters":
            codes = np.arange(len(run)) // 3
        verdict = decide_check(evidence_after(run, test, codes, len(run)), ALPHA)
        if verdict.stop not in ("regression", "futility"):
            continue
        at, step = verdict.n, 1 if codes is None else 3
        then, before = (
            limits_after(evidence_after(run[:n], test, None if codes is None else codes[:n], len(run)), ALPHA)
            for n in (at, at - step)
        )
        assert then is not None
        assert before is not None
        assert (then.n, then.difference) == (at, pytest.approx(verdict.difference_raw))
        looks = test == "group-sequential" or (test == "gsprt" and kind != "binary")
        assert (before.next_n is not None and at - step < before.next_n <= at) if looks else before.next_n is None
        if verdict.stop == "regression":
            assert then.p_value == verdict.p_value
            assert 0.0 < then.p_value <= then.allowed <= ALPHA
        else:
            assert then.share == 1.0
            assert then.passes is None if test == "e-process" else then.difference >= (then.passes or -math.inf)
        if not looks:
            assert before.p_value > before.allowed
            assert before.share < 1.0
            assert before.passes is None or before.difference < before.passes
        seen.append(verdict.stop)
    assert set(seen) == {"regression" if drop else "futility"}


def test_the_next_look_of_a_group_sequential_test_is_the_end_of_its_share() -> None:
    found = limits_after(evidence_after(np.zeros(130), "group-sequential", None, 1200), ALPHA)
    assert found is not None
    assert (found.n, found.next_n, found.allowed) == (130, 180, 0.0)
    assert 0.0 < found.share < 1.0


@pytest.mark.parametrize("design", [Design(theta=4.0), Design(early_stopping=True)])
def test_a_test_of_all_samples_has_no_limits(design: Design) -> None:
    scores = Scores(tuple(map(str, range(50))), np.full((50, 1), 100.0))
    assert limits_after(Evidence(scores, scores, design, n_max=50), ALPHA) is None


def test_failed_samples_and_a_reference_without_scores_have_none() -> None:
    design = Design(theta=4.0, early_stopping=True)
    values = np.full((50, 1), 100.0)
    scores = Scores(tuple(map(str, range(50))), values)
    failed = Scores(scores.ids, np.where(np.arange(50)[:, None] == 7, np.nan, values))
    assert limits_after(Evidence(failed, scores, design, n_max=60), ALPHA) is None
    assert limits_after(Evidence(scores, Mean(90.0, 50), design, n_max=60), ALPHA) is None


class Watching:
    """An observer that notes what it is told, and looks at the limits after every record."""

    def __init__(self) -> None:
        self.comparison: Comparison | None = None
        self.told: list[str] = []
        self.seen: list[Limits] = []

    def compares(self, comparison: Comparison) -> None:
        self.comparison = comparison
        self.told.append("compares")

    def measures(self, speed: Callable[[], Speed | None]) -> None: ...

    def started(self, model: str, task: str, total: int, kept: Sequence[Record]) -> None:
        self.told.append(f"started {model} / {task} of {total}, {len(kept)} kept")

    def finished(self, record: Record) -> None:
        assert self.comparison is not None
        assert record.score is not None
        limits = self.comparison.limits()
        self.seen += [] if limits is None else [limits]

    def ended(self) -> None:
        self.told.append("ended")


def watched(folder: Path, wrong: int, **keys: object) -> tuple[Watching, dict[str, object]]:
    """What an observer saw of a run with so many wrong answers, against a reference with 10 of 600."""
    project = Project(folder, n=600, **keys)
    assert project.record(right_but(10, 600)) == 0
    project.answer(right_but(wrong, 600))
    project.write(early_stopping=True)
    watching = Watching()
    run(load_config(project.config), out=project.out, observer=watching)
    return watching, project.check


@pytest.mark.parametrize(("wrong", "verdict"), [(10, "pass"), (200, "regression")])
def test_an_observer_is_told_the_reference_and_sees_the_limits_close_in(
    tmp_path: Path, wrong: int, verdict: str
) -> None:
    watching, check = watched(tmp_path, wrong, theta=4.0)
    assert check["verdict"] == verdict
    assert watching.told == ["compares", f"started m / sums of {check['n_max']}, 0 kept", "ended"]
    assert watching.comparison is not None
    reference = watching.comparison.reference
    assert isinstance(reference, Mapping)
    assert (len(reference), sum(reference.values())) == (416, 406 * RIGHT)
    first, last = watching.seen[0], watching.seen[-1]
    assert first.n < last.n <= check["n"]
    assert all(limits.p_value > limits.allowed for limits in watching.seen[:-1])
    assert last.share > 0.9 if verdict == "pass" else last.difference < -20.0


def test_a_check_that_takes_all_samples_has_a_reference_and_no_limits(tmp_path: Path) -> None:
    watching, check = watched(tmp_path, 12)
    assert check["n"] == 600
    assert watching.comparison is not None
    assert isinstance(watching.comparison.reference, Mapping)
    assert watching.seen == []


def test_a_reference_of_which_only_the_mean_is_known_is_that_mean(tmp_path: Path) -> None:
    keys = {"sigma": 50.0, "reference": 98.0, "reference_num_samples": 600}
    project = Project(tmp_path, n=60, **keys)
    project.answer(right_but(1, 60))
    watching = Watching()
    run(load_config(project.config), out=project.out, observer=watching)
    assert watching.comparison == Comparison(98.0, watching.comparison.limits if watching.comparison else lambda: None)


def test_limits_on_tokens_and_seconds_put_the_expected_end_off_and_no_early_stop_is_the_last_sample(
    tmp_path: Path,
) -> None:
    project = Project(tmp_path, n=600, theta=4.0, discordance=0.03).recorded(right_but(10, 600))
    project.write(early_stopping=True)
    (check,) = plan_checks(load_config(project.config))
    stop = early_stop(check)
    assert stop is not None
    assert check.expected_n_healthy is not None
    assert expecting(check, stop) == check
    stop.least = 400  # as the limits of its reference say
    assert (expecting(check, stop).expected_n_healthy, expecting(check, None).expected_n_healthy) == (400, None)
    assert check.expected_n_healthy < 400
