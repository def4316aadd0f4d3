"""A loss that is accepted, and a pass that must be proven: in `compare`, on the command line and in whole runs."""

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import ttest_1samp

from accgate import compare
from accgate.cli.main import main
from accgate.errors import BadInput
from accgate.verdict import Verdict
from accgate.verdict.sentences import sentence
from tests.support.cases import each
from tests.support.gates import RIGHT, Project, right_but, said, write_lines

REFERENCE = np.full(1000, 100.0)


def lost(count: int) -> np.ndarray:
    return np.where(np.arange(1000) < count, 0.0, 100.0)


@each("higher", [True, False])
def test_a_loss_within_what_is_allowed_passes_and_a_clearly_larger_one_fails(higher: bool) -> None:
    def found(count: int, **keys: Any) -> Verdict:
        sides = (REFERENCE, lost(count)) if higher else (100.0 - REFERENCE, 100.0 - lost(count))
        return compare(*sides, higher_is_better=higher, **keys)

    moved = "fell" if higher else "rose"
    assert found(10).verdict == "regression"
    within = found(10, allowed_drop=1.5)
    assert within.verdict == "pass"
    assert f"the mean {moved} 1.0, 1.5 is allowed" in sentence(within)
    beyond = found(40, allowed_drop=1.5)
    assert (beyond.verdict, beyond.allowed_drop, beyond.certify) == ("regression", 1.5, False)
    assert f"the mean {moved} 4.0, 1.5 is allowed" in sentence(beyond)
    assert beyond.interval.one_sided < -1.5 if higher else beyond.interval.one_sided > 1.5


def test_other_scores_are_tested_with_the_allowed_drop_added() -> None:
    rng = np.random.default_rng(0)
    reference = rng.uniform(40.0, 60.0, 300)
    candidate = reference - 3.0 + rng.normal(0.0, 5.0, 300)
    verdict = compare(reference, candidate, allowed_drop=2.0, test="paired")
    assert verdict.p_value == pytest.approx(ttest_1samp(candidate - reference, -2.0, alternative="less").pvalue)
    assert verdict.difference == pytest.approx(float(np.mean(candidate - reference)))
    assert (verdict.verdict == "regression") == (verdict.candidate.mean < verdict.gamma)
    low, high = ttest_1samp(candidate - reference, 0.0).confidence_interval(0.9)
    assert verdict.interval.two_sided[1] == pytest.approx(high)
    assert low - 1.0 <= verdict.interval.two_sided[0] < low  # a whole loss in 300 may not show


def test_a_proof_needs_the_bound_to_exclude_the_drop() -> None:
    few, same = REFERENCE[:100], lost(0)[:100]
    certain = compare(REFERENCE, lost(2), theta=2.0, certify=True)
    assert certain.verdict == "pass"
    assert certain.interval.two_sided[0] > -2.0
    doubtful = compare(few, same, theta=2.0, certify=True)
    assert doubtful.verdict == "inconclusive"
    assert "a drop of 2.95 points is possible" in doubtful.reasons[-1]
    assert compare(few, same, theta=2.0, allowed_drop=1.0, certify=True).verdict == "pass"
    coarse = compare(few, same, theta=5.0, certify=True)  # it detects 5.45 with power 0.8
    assert coarse.verdict == "pass"
    assert [cause.kind for cause in coarse.causes if cause.kind != "test"] == ["certified"]


def test_with_an_early_stop_the_exact_looks_decide_and_a_proof_goes_on() -> None:
    rules: dict[str, Any] = {"theta": 2.0, "early_stopping": True}
    verdict = compare(REFERENCE, lost(0), allowed_drop=0.5, **rules)
    assert (verdict.verdict, verdict.test, verdict.n) == ("pass", "group-sequential", 300)
    within, proven = (compare(REFERENCE, lost(15), allowed_drop=1.0, certify=proof, **rules) for proof in (False, True))
    assert (within.verdict, proven.verdict) == ("pass", "pass")
    assert within.interval.two_sided[0] < -3.0 < proven.interval.two_sided[0]


def test_what_cannot_be_done_is_refused() -> None:
    for fault, words in (
        ({"allowed_drop": -1.0}, "allowed_drop is -1.0; give points of 0 or more"),
        ({"allowed_drop": "much"}, "allowed_drop is 'much'"),
        ({"certify": True}, "certify needs theta"),
        ({"allowed_drop": 1.0, "test": "gsprt", "theta": 2.0}, "the gsprt test knows no allowed_drop"),
    ):
        with pytest.raises(BadInput, match=words):
            compare(REFERENCE, lost(1), **fault)  # type: ignore[arg-type]


def test_the_command_line_takes_both(tmp_path: Path, capsys) -> None:
    """A percentage is one of the reference's mean, here of 50."""
    paths = []
    for name, right in (("a", 500), ("b", 490)):
        rows = [{"id": str(i), "score": RIGHT * (i < right)} for i in range(1000)]
        paths.append(str(write_lines(tmp_path / f"{name}.jsonl", rows)))
    assert main(["compare", *paths, "--json"]) == 1
    capsys.readouterr()
    assert main(["compare", *paths, "--allowed-drop", "3%", "--theta", "2", "--certify", "--json"]) == 0
    verdict = json.loads(capsys.readouterr().out)
    assert (verdict["allowed_drop"], verdict["certify"], verdict["verdict"]) == (1.5, True, "pass")


def test_a_task_of_a_run_allows_a_drop(tmp_path: Path, capsys) -> None:
    project = Project(tmp_path, n=1000, allowed_drop="1.5%", theta=3.0, num_samples=1000).recorded([RIGHT] * 1000)
    assert project.run(right_but(10, 1000)) == 0
    assert (project.check["allowed_drop"], project.check["lost"]) == (1.5, 10)
    assert "fell 1.0, 1.5 is allowed" in (project.out / "report.md").read_text()
    assert project.run(right_but(45, 1000)) == 1
    capsys.readouterr()
    assert main(["validate", str(project.config)]) == 0
    assert "of which 1.5 are allowed" in " ".join(capsys.readouterr().out.split())
    project.tasks["sums"] = {"file": "sums.toml", "certify": True}
    project.write()
    assert main(["validate", str(project.config)]) == 2
    assert re.search(r"accuracy.toml:\d+: tasks.sums.certify: needs theta", said(capsys))


@each("kind", ["0/100", "graded"])
@each("early_stopping", [False, True])
@pytest.mark.slow
def test_certified_drops_are_as_rare_as_beta_where_alpha_is_above_it(kind: str, early_stopping: bool) -> None:
    """A fifth of the samples change either way. By the bound at confidence 1 - alpha alone a quarter would pass."""
    rng, n, runs, theta, beta = np.random.default_rng(3), 100, 80, 5.0, 0.05
    size = 100.0 if kind == "0/100" else 60.0
    rules: dict[str, Any] = {"theta": theta, "alpha": 0.3, "beta": beta, "certify": True}
    passed = 0
    for _ in range(runs):
        draw = rng.random(n)
        change = np.where(draw < 0.1 + theta / size / 2.0, -size, np.where(draw > 0.9 + theta / size / 2.0, size, 0.0))
        before = np.where(change < 0.0, size, np.where(change > 0.0, 0.0, size))
        verdict = compare(before, before + change, bounds=(0.0, 100.0), early_stopping=early_stopping, **rules)
        passed += verdict.verdict == "pass"
    assert passed / runs <= beta + 3.0 * math.sqrt(beta * (1.0 - beta) / runs)
