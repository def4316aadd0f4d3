"""A check decided on a statistic that is no mean: recorded, planned, run, and what is refused."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path
from typing import Any

import pytest

from accgate import metrics
from accgate.cli.main import main
from accgate.records.file import read_records
from tests.cases import each
from tests.gates import Project, questions, said, write_lines, write_task

N = 400


def project_of(folder: Path, **keys: Any) -> Project:
    project = Project(folder, n=N)
    write_task(folder, rows=questions(N), **keys)
    return project


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
ASR = {"aggregate": "attack_success_rate", "attack": [{"kind": "distractor", "text": "Birds sing."}]}


@pytest.mark.parametrize(
    ("right", "confidence", "code", "verdict"),
    [(301, 0.75, 0, "pass"), (300, 0.95, 1, "regression"), (250, 0.62, 0, "pass")],
)
def test_a_worse_calibration_fails_whatever_the_mean(
    tmp_path: Path, right: int, confidence: float, code: int, verdict: str
) -> None:
    project = project_of(tmp_path, **ECE)
    answered(project, **sure(300, 0.75))
    assert project.record() == 0
    answered(project, **sure(right, confidence))
    assert project.run() == code
    check = project.check
    assert (check["verdict"], check["test"], check["higher_is_better"]) == (verdict, "influence", False)
    records = read_records(project.out / "m" / "sums.jsonl")
    assert check["candidate"]["mean"] == pytest.approx(metrics.aggregate("ece", bins=10)(records))
    assert (check["candidate"]["mean"] > check["gamma"]) == (verdict == "regression")


@each("test", ["auto", "bootstrap"])
def test_the_plan_names_the_test_that_decides_a_statistic(
    test: str, tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    project = project_of(tmp_path_factory.mktemp("gate"), **ECE)
    answered(project, **sure(300, 0.75))
    assert project.record() == 0
    project.tasks["sums"]["test"] = test
    project.write()
    capsys.readouterr()
    assert main(["plan", str(project.config), "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    project.run()
    assert row["test"] == project.check["test"]


def test_the_reference_keeps_what_the_statistic_needs(tmp_path: Path) -> None:
    project = project_of(tmp_path, **ECE)
    answered(project, **sure(300, 0.75))
    assert project.record() == 0
    with (project.store / "m" / "sums.scores.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["id", "repeat", "score", "confidence"]
    assert all(0.7 < float(row["confidence"]) < 0.8 for row in rows)


def test_an_attack_that_succeeds_more_often_is_a_regression(tmp_path: Path) -> None:
    project = project_of(tmp_path, **ASR)
    before, after = [0.0] * 30 + [100.0] * 270 + [None] * 100, [0.0] * 80 + [100.0] * 220 + [None] * 100
    answered(project, score=scores_of(300), attacked=before)
    assert project.record() == 0
    assert project.run() == 0
    assert project.check["reference"]["mean"] == pytest.approx(10.0)
    answered(project, score=scores_of(300), attacked=after)
    assert project.run() == 1
    assert project.check["candidate"]["mean"] == pytest.approx(100 * 80 / 300)
    assert "| 26.7 |" in (project.out / "report.md").read_text()


def test_precision_and_recall_count_answers_so_that_the_reference_keeps_them(tmp_path: Path) -> None:
    rows = [{"q": f"Is {i} even?", "a": "yes" if i % 2 == 0 else "no"} for i in range(N)]
    project = Project(tmp_path, n=N)
    plain = {"metric": "exact_match", "aggregate": "classification_f1"}
    write_task(tmp_path, rows=rows, **plain)
    targets = dict(zip(project.ids(), _targets(project), strict=True))
    replies = dict(targets)
    write_lines(project.scores, [{"id": id_, "reply": reply} for id_, reply in replies.items()])
    assert project.record() == 0
    assert "answer" in (project.store / "m" / "sums.scores.csv").read_text().splitlines()[0]
    for id_ in [id_ for id_, target in targets.items() if target == "yes"][:60]:
        replies[id_] = "no"
    write_lines(project.scores, [{"id": id_, "reply": reply} for id_, reply in replies.items()])
    assert project.run() == 1
    assert (project.check["reference"]["mean"], project.check["lost"]) == (100.0, 60)


def _targets(project: Project) -> list[str]:
    from tests.loading import load_task

    return [sample.target for sample in load_task("sums", file=project.folder / "sums.toml").samples]


def test_records_without_what_the_statistic_needs_are_an_error_and_no_pass(tmp_path: Path) -> None:
    project = project_of(tmp_path, **ECE)
    answered(project, **sure(300, 0.75))
    assert project.record() == 0
    rows = sure(300, 0.75)
    rows["confidence"][7:9] = [None, None]  # type: ignore[list-item]
    answered(project, **rows)
    assert project.run() == 3
    assert "confidence" in project.check["reasons"][0]
    assert "2 of 400" in project.check["reasons"][0]


def test_a_failed_sample_leaves_a_statistic_undecided(tmp_path: Path) -> None:
    project = project_of(tmp_path, **ECE)
    answered(project, **sure(300, 0.75))
    assert project.record() == 0
    rows = sure(300, 0.75)
    lines = [{"id": i, "score": s, "confidence": c} for i, s, c in zip(project.ids(), *rows.values(), strict=True)]
    lines[3] = {"id": lines[3]["id"], "error": "time-out"}
    write_lines(project.scores, lines)
    assert project.run() == 3
    assert "1 of 400 samples failed" in project.check["reasons"][0]


def test_a_theta_that_so_few_samples_cannot_see_is_inconclusive(tmp_path: Path) -> None:
    project = project_of(tmp_path, **ECE)
    project.tasks["sums"]["theta"] = 0.5
    project.write()
    answered(project, **sure(300, 0.75))
    assert project.record() == 0
    answered(project, **sure(299, 0.75))
    assert project.run() == 4
    assert project.check["verdict"] == "inconclusive"
    assert project.check["theta"] > 0.5


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"target": 80.0}, "target: is a mean, but ece needs recorded samples"),
        ({"reference": 80.0, "reference_num_samples": 400}, "reference: is a mean"),
        ({"test": "gsprt"}, "test: is 'gsprt'; ece is not a mean of scores: use auto or bootstrap"),
    ],
)
def test_settings_that_speak_of_means_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], keys: dict[str, Any], message: str
) -> None:
    project = project_of(tmp_path, **ECE)
    project.tasks["sums"] |= keys
    project.write()
    assert main(["plan", str(project.config)]) == 2
    assert message in said(capsys)


@each(
    ("keys", "message"),
    [
        ({"aggregate": "ece"}, "aggregate: is 'ece', which needs a table [confidence]"),
        ({"aggregate": "attack_success_rate"}, "aggregate: is 'attack_success_rate', which needs a table [[attack]]"),
        ({"aggregate": "ecee"}, "did you mean 'ece'?"),
        ({**ECE, "aggregate_options": {"bin": 3}}, "did you mean 'bins'?"),
        ({"aggregate_options": {"bins": 3}}, "aggregate_options: needs aggregate beside it"),
        ({"aggregate": "demographic_parity_difference_largest"}, "needs columns.group"),
    ],
)
def test_a_definition_that_lacks_what_its_statistic_needs_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], keys: dict[str, Any], message: str
) -> None:
    project = project_of(tmp_path, **keys)
    write_lines(project.scores, [{"id": "a", "score": 100}])
    assert main(["validate", str(project.config)]) == 2
    assert message in said(capsys)
