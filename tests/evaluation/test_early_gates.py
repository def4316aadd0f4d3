"""Whole gates that stop early, by the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from accgate.engines import Reply, Request
from accgate.engines.recording import RecordedEngine
from tests.support.decisions import compare_in_order as compare
from tests.support.gates import RIGHT, WRONG, Project, right_but


def gated(folder: Path, n: int = 400, **keys: Any) -> Project:
    project = Project(folder, n=n, **{"theta": 10.0, "num_samples": n} | keys)
    project.write(early_stopping=True)
    assert project.record(right_but(0, n)) == 0
    return project


def spread(wrong: int, n: int = 400) -> list[float]:
    """Scores of n samples of which so many, evenly spread, are wrong."""
    return [WRONG if i * wrong % n < wrong and wrong else RIGHT for i in range(n)]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The ids that recorded engines were asked for."""
    ids: list[str] = []
    complete = RecordedEngine.complete

    async def noted(self: RecordedEngine, request: Request) -> Reply:
        ids.append(request.id)
        return await complete(self, request)

    monkeypatch.setattr(RecordedEngine, "complete", noted)
    return ids


@pytest.mark.parametrize(("wrong", "code", "verdict"), [(0, 0, "pass"), (8, 0, "pass"), (120, 1, "regression")])
def test_a_gate_stops_early_and_decides_as_compare_does(
    tmp_path: Path, asked: list[str], wrong: int, code: int, verdict: str
) -> None:
    project = gated(tmp_path)
    asked.clear()
    assert project.run(spread(wrong)) == code
    found = project.check
    whole = compare([RIGHT] * 400, spread(wrong), theta=10.0, early_stopping=True)
    assert (found["test"], found["verdict"], found["n"], found["n_max"]) == ("gsprt", verdict, whole.n, 400)
    assert (found["stop"], found["p_value"]) == (whole.stop, pytest.approx(whole.p_value))
    assert found["flips"] == [project.ids()[int(i)] for i in whole.flips]
    assert whole.n < 200
    assert whole.n <= len(asked) <= whole.n + 1 + whole.n // 50
    assert asked == project.ids()[: len(asked)]
    assert project.result["samples"] == len(asked)


@pytest.mark.parametrize(("theta", "early"), [(10.0, False), (None, True)])
def test_without_a_theta_or_leave_to_stop_early_every_sample_is_asked(
    tmp_path: Path, asked: list[str], theta: float | None, early: bool
) -> None:
    project = gated(tmp_path)
    project.tasks["sums"] = {"file": "sums.toml"} if theta is None else project.tasks["sums"]
    project.write(early_stopping=early)
    asked.clear()
    assert project.run(spread(120)) == 1
    assert len(asked) == 400
    figures = {key: project.check[key] for key in ("test", "n", "n_max", "stop")}
    assert figures == {"test": "unconditional", "n": 400, "n_max": None, "stop": None}


@pytest.mark.parametrize("test", ["gsprt", "group-sequential", "e-process"])
def test_a_sequential_test_named_for_a_task_stops_early(tmp_path: Path, asked: list[str], test: str) -> None:
    project = gated(tmp_path, test=test)
    asked.clear()
    assert project.run(spread(160)) == 1
    assert (project.check["test"], project.check["stop"]) == (test, "regression")
    assert len(asked) < 200


def test_a_run_to_the_end_is_decided_too(tmp_path: Path, asked: list[str]) -> None:
    """40 samples are too few for theta, and say so where nothing is decided before."""
    project = gated(tmp_path, n=40, theta=5.0)
    scores = [WRONG if i in {5, 20, 33} else RIGHT for i in range(40)]
    asked.clear()
    assert project.run(scores) == 4
    assert len(asked) == 40
    assert (project.check["verdict"], project.check["stop"], project.check["n"]) == ("inconclusive", "end", 40)
    assert project.check["theta"] > 5.0
    assert project.run(args=["--resume"]) == 4
    assert len(asked) == 40


def test_several_checks_stop_at_their_share_of_alpha(tmp_path: Path) -> None:
    project = Project(tmp_path, tasks=("one", "two"), n=400, theta=10.0, num_samples=400)
    project.write(early_stopping=True, correction="holm")
    assert project.record(right_but(0, 400), right_but(0, 400)) == 0
    assert project.run(spread(50), spread(0)) == 1
    for found, wrong in zip(project.result["checks"], (50, 0), strict=True):
        whole = compare([RIGHT] * 400, spread(wrong), theta=10.0, early_stopping=True, alpha=0.02)
        assert (found["n"], found["verdict"]) == (whole.n, whole.verdict)
        assert (found["alpha"], found["alpha_applied"]) == (0.05, pytest.approx(0.02))
