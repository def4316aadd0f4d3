"""What changed between a reference and a run: refused with what, since when, and how many samples still overlap."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from accgate.references.store import find_reference, mismatch
from tests.support.gates import Project, questions, recorded_project, right_but, said, write_task
from tests.support.loading import load_task

N = 40


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return recorded_project(tmp_path, N)


CHANGES: dict[str, tuple[dict[str, Any], str, int]] = {
    "prompt": ({"prompt": "Please: {{ q }}"}, "the prompt changed", 0),
    "mode": ({"mode": "completion"}, "the prompt changed", N),
    "dataset": ({"rows": questions(N - 5) + questions(5, start=90)}, "the dataset changed", N - 5),
    "extraction": ({"extract__regex": "[0-9.]+"}, "target or extraction changed", N),
    "metric": ({"metric": "exact_match"}, "the metric changed", N),
    "max_tokens": ({"max_tokens": 8}, "stop strings or max_tokens changed", N),
}


@pytest.mark.parametrize(("change", "message", "overlap"), CHANGES.values(), ids=CHANGES)
def test_a_task_changed_since_its_reference_is_refused(
    project: Project, capsys, change: dict[str, Any], message: str, overlap: int
) -> None:
    write_task(project.folder, **{"rows": questions(N)} | change)
    capsys.readouterr()
    assert project.run() == 2
    error = said(capsys)
    assert f"{message} since the reference was recorded on 20" in error
    assert f"{overlap} of {N} samples are in the reference" in error
    assert "record the reference again (`accgate record --reason ...`)" in error
    assert not project.out.exists()


def test_a_smaller_plan_pairs_with_the_first_of_the_reference(project: Project) -> None:
    project.tasks["sums"]["num_samples"] = 15
    project.write()
    assert project.run(right_but(10, N)) == 4  # 15 samples of which 5 are right show no drop that they have room for
    check = project.check
    assert (check["n"], check["reference"]["n"]) == (15, 15)
    assert check["reference"]["mean"] == check["candidate"]["mean"] == pytest.approx(100 / 3)


def test_a_larger_plan_than_the_reference_is_refused(project: Project, capsys) -> None:
    project.tasks["sums"]["num_samples"] = 15
    project.write()
    assert project.record(args=["--reason", "smaller"]) == 0
    project.tasks["sums"]["num_samples"] = 20
    project.write()
    capsys.readouterr()
    assert project.run() == 2
    error = said(capsys)
    assert re.search(r"accuracy\.toml:\d+: tasks\.sums\.num_samples: is 20, but the reference has 15 samples", error)


def test_a_mean_alone_knows_no_samples_to_compare(project: Project) -> None:
    reference = find_reference(project.store, "m", "sums")
    assert reference is not None
    write_task(project.folder, rows=questions(N, start=500))
    task = load_task("sums", file=project.folder / "sums.toml")
    assert "0 of 40 samples are in the reference" in str(mismatch(reference, task))
    assert mismatch(replace(reference, scores=None), task) is None
