"""How near a decision is: the limits that a run shows are those that its test decides by."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from accgate import load_config
from accgate.decision.check import decide_check
from accgate.decision.evidence import Evidence
from accgate.decision.progress import early_stop, expecting
from accgate.design import Design, Mean
from accgate.evaluation.assignment import Comparison, Limits, Observer
from accgate.gate import run
from accgate.planning.checks import plan_checks
from accgate.records.file import Record
from accgate.stats.gsprt import n_without_change
from accgate.stats.names import TestName
from tests.stats.sequences import drawn
from tests.support.cases import each
from tests.support.decisions import limits_after, one_each
from tests.support.gates import RIGHT, Project, right_but

N, ALPHA = 1200, 0.05


def evidence_after(
    differences: np.ndarray, test: TestName = "gsprt", clusters: np.ndarray | None = None, n_max: int = N, *,
    higher: bool = True,
) -> Evidence:  # fmt: skip
    """The evidence after these differences from scores of 50, or from 0 and 100."""
    whole = bool(np.isin(differences, (-100.0, 0.0, 100.0)).all())
    base = np.where(differences > 0.0, 0.0, 100.0) if whole else np.full(len(differences), 50.0)
    sides = (base + differences, base) if higher else (100.0 - base - differences, 100.0 - base)
    scores, reference = map(one_each, sides)
    design = Design(test=test, theta=4.0, higher_is_better=higher)
    return Evidence(scores, reference, design, n_max=n_max, clusters=clusters, binary=whole)


def test_where_lower_is_better_the_limits_are_turned_round() -> None:
    run = drawn(np.random.default_rng(3), N, 0.15, 4.0)[:150]
    plain, turned = (limits_after(evidence_after(run, higher=higher), ALPHA) for higher in (True, False))
    assert (turned.difference, turned.passes) == (-plain.difference, -plain.passes)
    assert (turned.p_value, turned.allowed, turned.share) == (plain.p_value, plain.allowed, plain.share)
    assert not turned.higher_is_better


def test_without_changes_the_way_to_a_pass_is_the_samples_that_rule_theta_out() -> None:
    needed = n_without_change(4.0, beta=0.2)
    half, all_but_one, whole = (
        limits_after(evidence_after(np.zeros(n)), ALPHA) for n in (needed // 2, needed - 1, needed)
    )
    assert (half.passes, half.share) == (None, pytest.approx((needed // 2) / needed))
    assert (half.p_value, half.allowed) == (1.0, 0.0)
    assert all_but_one.share < 1.0 == whole.share


@each("drop", [0.0, 12.0])
@each("kind", ["binary", "continuous", "clusters"])
@each("test", ["gsprt", "group-sequential", "e-process"])
def test_every_sequential_test_says_how_near_it_is(test: TestName, kind: str, drop: float) -> None:
    seen = []
    for seed in range(2):
        rng = np.random.default_rng(seed)
        run, codes = drawn(rng, 1500, 0.2, drop), None
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
        assert (then.n, then.difference) == (at, pytest.approx(verdict.difference_raw))
        looks = test == "group-sequential" or (test == "gsprt" and kind != "binary")
        assert (before.next_n is not None and at - step < before.next_n <= at) if looks else before.next_n is None
        if verdict.stop == "regression":
            assert then.p_value == verdict.p_value
            assert 0.0 < then.p_value <= then.allowed <= ALPHA
            assert then.share < 1.0
        else:
            assert then.share == 1.0
            assert then.passes is None if test == "e-process" else then.difference >= (then.passes or -math.inf)
        if not looks:
            assert before.p_value > before.allowed
            assert before.share < 1.0
            assert before.passes is None or before.difference < before.passes
        seen.append(verdict.stop)
    assert set(seen) == {"regression" if drop else "futility"}


def test_a_test_of_all_samples_failed_samples_and_a_reference_without_scores_have_no_limits() -> None:
    early = Design(theta=4.0, early_stopping=True)
    scores = one_each([100.0] * 50)
    failed = one_each([100.0] * 49 + [math.nan])
    for candidate, reference, design in (
        (scores, scores, Design(theta=4.0)), (scores, scores, Design(early_stopping=True)), (failed, scores, early),
        (scores, Mean(90.0, 50), early),
    ):  # fmt: skip
        assert limits_after(Evidence(candidate, reference, design, n_max=60), ALPHA) is None
    assert limits_after(Evidence(scores, scores, early, n_max=60), ALPHA) is not None


class Watching(Observer):
    """An observer that notes what it is told, and looks at the limits after every record."""

    def __init__(self) -> None:
        self.comparison: Comparison | None = None
        self.told: list[str] = []
        self.seen: list[Limits] = []

    def compares(self, comparison: Comparison) -> None:
        self.comparison = comparison
        self.told.append("compares")

    def started(self, model: str, task: str, total: int, kept: Sequence[Record]) -> None:
        self.told.append(f"started {model} / {task} of {total}, {len(kept)} kept")

    def finished(self, record: Record) -> None:
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
    reference = watching.comparison.reference
    assert isinstance(reference, Mapping)
    assert (len(reference), sum(reference.values())) == (416, 406 * RIGHT)
    first, last = watching.seen[0], watching.seen[-1]
    assert first.n < last.n <= check["n"]
    assert all(limits.p_value > limits.allowed for limits in watching.seen[:-1])
    assert last.share > 0.9 if verdict == "pass" else last.difference < -20.0


def test_a_check_that_takes_all_samples_has_a_reference_and_no_limits(tmp_path: Path) -> None:
    watching, check = watched(tmp_path, 12)
    assert (check["n"], watching.seen) == (600, [])
    assert isinstance(watching.comparison.reference, Mapping)


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
    assert expecting(check, stop) == check
    stop.least = 400  # as the limits of its reference say
    assert (expecting(check, stop).expected_n_healthy, expecting(check, None).expected_n_healthy) == (400, None)
    assert check.expected_n_healthy < 400
    ids, rest = check.task.samples.ids[:100], ("4", "4", "4", "stop", 9, 9, 0.1, None)
    records = [Record(id_, 0, RIGHT, *rest, reading="read") for id_ in ids]
    assert not stop(records)
    stop.least = 100
    assert stop(records)
