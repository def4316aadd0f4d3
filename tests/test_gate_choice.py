"""Whole gates: the plan names the test that the run then decides by, and says where only the scores will tell."""

import itertools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from accgate.cli.main import main
from tests.support.cases import each
from tests.support.gates import Project, questions, right_but, write_lines, write_task

GRADED = [float(i % 97) for i in range(200)]
DESIGNS: Sequence[Mapping[str, Any]] = [
    {}, {"theta": 8.0}, {"theta": 4.0}, {"theta": 8.0, "allowed_drop": 1.0}, {"theta": 8.0, "certify": True},
    {"test": "paired"}, {"test": "permutation"}, {"test": "bootstrap"}, {"test": "two-sample", "sigma": 50.0},
    {"test": "gsprt", "theta": 8.0}, {"test": "gsprt"}, {"test": "group-sequential", "theta": 8.0},
    {"test": "e-process", "theta": 8.0}, {"target": 50.0},
    {"reference": 90.0, "reference_num_samples": 400, "sigma": 50.0},
]  # fmt: skip
SCORES = {"0/100": right_but(10), "graded": GRADED, "few, graded": GRADED[:40], "few, 0/100": right_but(4, 40)}
SMALL = {4.0: 20.0, 8.0: 20.0}  # a theta that 40 samples can see
CLUSTERS = (4, None, 20, None)  # samples of each
CASES = list(itertools.product(DESIGNS, (False, True), SCORES, CLUSTERS))[::29]  # of each design one and more


def planned(project: Project, capsys) -> dict[str, Any]:
    capsys.readouterr()
    assert main(["plan", str(project.config), "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    return row


def project_of(folder: Path, n: int, size: int | None, *, early: bool) -> Project:
    project = Project(folder, n=n)
    if size is not None:
        rows = [{**row, "page": f"p{i // size}"} for i, row in enumerate(questions(n))]
        write_task(folder, rows=rows, columns__cluster="page")
    project.write(early_stopping=early)
    return project


@each("case", CASES)
def test_plan_and_run_name_the_same_test(case: Any, tmp_path: Path, capsys) -> None:
    keys, early, kind, size = case
    scores = SCORES[kind]
    project = project_of(tmp_path, len(scores), size, early=early).recorded(scores)
    theta = keys.get("theta")
    small = {} if theta is None or len(scores) > 40 else {"theta": SMALL[theta]}
    project.tasks["sums"] |= {**keys, **small}
    project.write()
    row = planned(project, capsys)
    assert project.run(scores) in (0, 1, 4)
    assert row["test"] == project.check["test"]


@each("n", [7, 8])
def test_plan_and_run_name_the_same_test_of_samples_too_few_for_an_early_stop(n: int, tmp_path: Path, capsys) -> None:
    project = project_of(tmp_path, n, None, early=False)
    assert project.record(right_but(1, n)) == 0
    project.tasks["sums"]["test"] = "gsprt"
    project.write()
    row = planned(project, capsys)
    project.run(right_but(1, n))
    assert row["test"] == project.check["test"] == ("unconditional" if n < 8 else "gsprt")


def test_without_a_reference_the_plan_names_the_tests_that_the_scores_may_ask_for(tmp_path: Path, capsys) -> None:
    project = Project(tmp_path)
    assert planned(project, capsys)["test"] == "unconditional or bootstrap, by the scores"
    project.tasks["sums"]["theta"] = 8.0
    project.write(early_stopping=True)
    assert planned(project, capsys)["test"] == "gsprt or group-sequential, by the scores"
    project.tasks["sums"]["test"] = "paired"
    project.write()
    assert planned(project, capsys)["test"] == "paired"


@each(
    ("keys", "named"),
    [({}, "paired"), ({"theta": 8.0}, "gsprt"), ({"test": "group-sequential", "theta": 8.0}, "group-sequential")],
)
def test_plan_and_run_name_the_same_test_of_several_answers(keys: Any, named: str, tmp_path: Path, capsys) -> None:
    project = project_of(tmp_path, 200, None, early=True)
    rows = [{"id": id_, "repeat": r, "score": score} for id_ in project.ids() for r, score in enumerate((100.0, 0.0))]
    write_lines(project.scores, rows)
    assert project.record(args=["--runs", "2"]) == 0
    project.tasks["sums"] |= {**keys, "repeats": 2}
    project.write()
    row = planned(project, capsys)
    project.run()
    assert row["test"] == project.check["test"] == named
