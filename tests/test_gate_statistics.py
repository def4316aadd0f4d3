"""A check decided on a statistic that is no mean: recorded, planned, run, and what is refused."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from accgate import metrics
from accgate.cli.main import main
from accgate.records.file import read_records
from tests.support.cases import each
from tests.support.gates import Project, questions, said, write_lines, write_task
from tests.support.loading import load_task

N = 400


def project_of(folder: Path, **keys: Any) -> Project:
    project = Project(folder, n=N)
    write_task(folder, rows=questions(N), **keys)
    return project


def calibrated(folder: Path) -> Project:
    """A project gated on calibration, whose reference is as often right as it is sure."""
    project = project_of(folder, **ECE)
    answered(project, **sure(300, 0.75))
    return project.recorded()


def answered(project: Project, **columns: Any) -> None:
    """What the recorded model answered: a value of each column for each sample."""
    rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    write_lines(project.scores, [{"id": id_, **row} for id_, row in zip(project.ids(), rows, strict=True)])


def scores_of(right: int) -> list[float]:
    return [100.0] * right + [0.0] * (N - right)


def sure(right: int, confidence: float) -> dict[str, list[float]]:
    """Scores in a seeded order, and confidences about a level."""
    draw = random.Random(right)
    scores = scores_of(right)
    draw.shuffle(scores)
    return {"score": scores, "confidence": [min(1.0, confidence + draw.uniform(-0.04, 0.04)) for _ in scores]}


ECE = {"aggregate": "ece", "aggregate_options": {"bins": 10}, "confidence": {"by": "reply"}}


@each(
    ("right", "confidence", "code", "verdict"),
    [(301, 0.75, 0, "pass"), (300, 0.95, 1, "regression"), (250, 0.62, 0, "pass")],
)
def test_a_worse_calibration_fails_whatever_the_mean(tmp_path: Path, right: int, confidence, code, verdict) -> None:
    project = calibrated(tmp_path)
    answered(project, **sure(right, confidence))
    assert project.run() == code
    check = project.check
    assert (check["verdict"], check["test"], check["higher_is_better"]) == (verdict, "influence", False)
    records = read_records(project.out / "m" / "sums.jsonl")
    assert check["candidate"]["mean"] == pytest.approx(metrics.aggregate("ece", bins=10)(records))
    assert (check["candidate"]["mean"] > check["gamma"]) == (verdict == "regression")


@each("test", ["auto", "bootstrap"])
def test_the_plan_names_the_test_that_decides_a_statistic(test: str, tmp_path: Path, capsys) -> None:
    project = calibrated(tmp_path)
    project.tasks["sums"]["test"] = test
    project.write()
    capsys.readouterr()
    assert main(["plan", str(project.config), "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    project.run()
    assert row["test"] == project.check["test"]


def test_precision_and_recall_count_answers_so_that_the_reference_keeps_them(tmp_path: Path) -> None:
    rows = [{"q": f"Is {i} even?", "a": "yes" if i % 2 == 0 else "no"} for i in range(N)]
    project = Project(tmp_path, n=N)
    path = write_task(tmp_path, rows=rows, metric="exact_match", aggregate="classification_f1")
    replies = {sample.id: sample.target for sample in load_task("sums", file=path).samples}
    write_lines(project.scores, [{"id": id_, "reply": reply} for id_, reply in replies.items()])
    assert project.record() == 0
    assert "answer" in (project.store / "m" / "sums.scores.csv").read_text().splitlines()[0]
    for id_ in [id_ for id_, target in replies.items() if target == "yes"][:60]:
        replies[id_] = "no"
    write_lines(project.scores, [{"id": id_, "reply": reply} for id_, reply in replies.items()])
    assert project.run() == 1
    assert (project.check["reference"]["mean"], project.check["lost"]) == (100.0, 60)


@each(
    ("broken", "reason"),
    [
        ({"score": 100.0}, "'confidence', which 1 of 400 records lack"),
        ({"error": "time-out"}, "1 of 400 samples failed"),
    ],
)
def test_a_sample_without_what_the_statistic_needs_is_an_error_and_no_pass(tmp_path: Path, broken, reason: str) -> None:
    project = calibrated(tmp_path)
    first, *others = map(json.loads, project.scores.read_text().splitlines())
    write_lines(project.scores, [{"id": first["id"], **broken}, *others])
    assert project.run() == 3
    assert reason in project.check["reasons"][0]


REFUSED: list[tuple[dict[str, Any], dict[str, Any]]] = [
    *((task, ECE) for task in ({"target": 80.0}, {"reference": 80.0, "reference_num_samples": 400}, {"test": "gsprt"})),
    *(({}, {"aggregate": name}) for name in (
        "ece", "attack_success_rate", "ecee", "demographic_parity_difference_largest")),
    *(({}, keys | {"aggregate_options": {"bin": 3}}) for keys in (ECE, {})),
]  # fmt: skip


def test_settings_that_a_statistic_cannot_be_decided_by_are_told(tmp_path, capsys, messages: SnapshotAssertion) -> None:
    faults = {}
    for task, keys in REFUSED:
        project = project_of(tmp_path, **keys)
        project.tasks["sums"] |= task
        project.write()
        write_lines(project.scores, [{"id": "a", "score": 100}])
        assert main(["validate", str(project.config)]) == 2
        faults[f"{task} {keys}"] = said(capsys).replace(str(tmp_path), "FOLDER")
    assert faults == messages
