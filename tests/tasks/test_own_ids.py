"""The ids that a dataset gives its samples: kept beside the digest, and shown in its place."""

import json
from pathlib import Path
from typing import Any

import pytest

from accgate.cli.main import main
from accgate.records.file import read_records
from accgate.tasks import Samples
from tests.support.cases import refusal
from tests.support.gates import Project, questions, right_but, write_task
from tests.support.loading import load_task


def own_ids(folder: Path, rows: list[dict[str, Any]], **keys: Any) -> list[str | None]:
    """The own ids of a task's samples, in the order of their rows."""
    task = load_task("sums", file=write_task(folder, rows=rows, **keys))
    return [sample.own_id for sample in sorted(Samples(task.samples), key=lambda sample: sample.prompt)]


@pytest.mark.parametrize(
    ("columns", "key", "expected"),
    [
        ([{"id": "q1"}, {"id": "q2"}], None, ["q1", "q2"]),
        ([{"question_id": 7}, {"question_id": 8}], None, ["7", "8"]),
        ([{"id": 7, "task_id": "t"}, {"id": 8, "task_id": "t"}], None, ["7", "8"]),
        ([{"nummer": "Ä 1"}, {"nummer": "問2"}], "nummer", ["Ä 1", "問2"]),
        ([{"id": "q1"}, {"id": "q1"}, {"id": " q1 "}], None, ["q1", "q1 (row 2)", "q1 (row 3)"]),
        ([{"id": None}, {"id": ""}, {"id": True}, {"id": [1]}], None, [None] * 4),
        ([{}, {"id": 0}], None, [None, "0"]),
    ],
)
def test_the_own_id_is_of_the_named_or_a_usual_column(tmp_path: Path, columns, key: str | None, expected) -> None:
    rows = [{"q": f"{number}?", "a": 1, **own} for number, own in enumerate(columns)]
    assert own_ids(tmp_path, rows, **({} if key is None else {"columns.id": key})) == expected


def test_ids_of_samples_and_fingerprints_do_not_depend_on_own_ids(tmp_path: Path) -> None:
    rows = questions(9)
    with_column, other = ([{**row, "name": f"{kind}{row['a']}"} for row in rows] for kind in "xy")
    plain = load_task("sums", file=write_task(tmp_path, rows=with_column))
    named = load_task("sums", file=write_task(tmp_path, rows=with_column, columns__id="name"))
    assert plain.samples.ids == named.samples.ids
    assert plain.fingerprint == named.fingerprint
    assert named.samples.ids == load_task("sums", file=write_task(tmp_path, rows=other)).samples.ids


def test_a_missing_column_and_a_row_that_fails_are_named_by_their_own_id(tmp_path: Path) -> None:
    for rows, keys, message in (
        ([{"q": "x", "a": 1}], {"columns.id": "no"}, "row 1 of the dataset: has no column 'no'"),
        ([{"id": "q7", "q": "x"}], {}, "row 1 of the dataset (q7): 'a' is undefined"),
    ):
        assert message in refusal(load_task, "sums", file=write_task(tmp_path, rows=rows, **keys))


def test_reports_show_own_ids_and_a_sample_is_found_by_its_own(tmp_path: Path, capsys) -> None:
    project = Project(tmp_path)
    write_task(tmp_path, rows=[{**row, "id": f"sum {row['a']}"} for row in questions()])
    project.recorded(right_but(0))
    assert project.run(right_but(60)) == 1
    (lost, *_) = project.check["flips"]
    (record,) = [each for each in read_records(project.out / "m" / "sums.jsonl") if each.id == lost]
    assert record.shown_id == record.own_id == f"sum {record.target}"
    assert record.own_id in (project.out / "report.md").read_text()
    capsys.readouterr()
    for name in (lost, record.own_id):
        assert main(["rerun", str(project.out), "--sample", name]) == 0
        assert f"m / sums, sample {record.own_id}" in capsys.readouterr().out
    assert json.loads((project.out / "accgate.json").read_text())["checks"][0]["flips"][0] == lost
