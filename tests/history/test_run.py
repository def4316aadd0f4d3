"""From real gates to lines of a history: figures, variants, references that changed, drift since the anchor."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from pathlib import Path

import pytest

from accgate.cli.main import main
from accgate.decision.comparison import compare_scores
from accgate.design import Design
from accgate.errors import BadInput
from accgate.history.file import read_history
from accgate.history.run import Run, run_of
from accgate.history.series import series_of
from accgate.result import Result, result_of_verdict
from tests.support.decisions import one_each
from tests.support.gates import Project, recorded_project, right_but

NOON = datetime(2026, 5, 1, 12, tzinfo=timezone.utc)


def line(result: Result, **keys: object) -> Run:
    return run_of(result, b"x", commit="c0ffee", config=None, now=lambda: NOON)


def add(project: Project, *args: str) -> None:
    result = project.out / "accgate.json"
    at = ["--file", str(project.folder / "h.jsonl"), "--config", str(project.config), "--commit", "c0ffee"]
    assert main(["history", "add", str(result), *at, *args]) == 0


def only(project: Project) -> Run:
    """The run of a history of one."""
    (made,) = read_history(project.folder / "h.jsonl").runs
    return made


def started(project: Project, day: int) -> None:
    """Date the last run: these take less than the second that a time is exact to."""
    path = project.out / "accgate.json"
    path.write_text(json.dumps(project.result | {"started": f"2026-03-{day:02d}T03:00:00+00:00"}))


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return recorded_project(tmp_path, 200)


def test_a_line_has_the_figures_of_accgate_json_and_is_shown_as_json(project: Project, capsys) -> None:
    assert project.run(right_but(40)) == 1
    add(project)
    made, result, own = only(project), project.result, project.check
    (check,) = made.checks
    assert (made.commit, made.started, made.verdict) == ("c0ffee", result["started"], "regression")
    assert made.accgate == result["accgate"]
    for key in ("model", "task", "verdict", "test", "n", "difference", "sigma", "gamma", "theta", "higher_is_better"):
        assert getattr(check, key) == own[key]
    assert (check.reference.mean, check.reference.n) == (own["reference"]["mean"], own["reference"]["n"])
    assert check.candidate.mean == own["candidate"]["mean"]
    assert check.drift is None
    capsys.readouterr()
    assert main(["history", "show", str(project.folder / "h.jsonl"), "--json"]) == 0
    (one,) = json.loads(capsys.readouterr().out)
    (shown,) = one["runs"]
    assert (one["model"], one["task"], shown["commit"], shown["reference_changed"]) == ("m", "sums", "c0ffee", False)
    assert shown["candidate"]["mean"] == check.candidate.mean


def test_the_variant_is_part_of_the_model_s_name(project: Project) -> None:
    project.models["m"] |= {"variant": {"quant": "fp8", "gpu": "H200"}, "baseline": "m"}
    project.write()
    assert project.run(right_but(10)) == 0
    add(project)
    (check,) = only(project).checks
    assert check.model == "m@gpu=H200,quant=fp8"
    assert check.reference.digest  # of the baseline


def test_a_replaced_reference_is_marked_and_drift_is_counted_since_its_anchor(project: Project, capsys) -> None:
    project.run(right_but(12))
    started(project, 1)
    add(project)
    assert project.record(right_but(30), args=["--reason", "a faster kernel"]) == 0
    assert project.run(right_but(31)) == 0
    started(project, 2)
    add(project)
    (one,) = series_of(read_history(project.folder / "h.jsonl").runs)
    assert [step.changed for step in one.steps] == [False, True]
    first, drift = one.steps[0].point, one.last.point.drift
    assert first.drift is None
    assert drift is not None
    assert drift.detected
    assert drift.since == first.reference.date
    assert drift.difference == pytest.approx(-10.5)  # from 190 right to 169, of 200
    assert len(first.reference.digest) == 16
    add(project, "--commit", "another")  # the same file again
    assert "has this run already; 2 runs" in capsys.readouterr().out
    assert (project.folder / "h.jsonl").read_bytes().count(b"\n") == 2


def test_without_a_config_the_run_is_kept_and_the_lack_is_said(
    project: Project, capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.run(right_but(10))
    (project.folder / "elsewhere").mkdir()
    monkeypatch.chdir(project.folder / "elsewhere")
    assert main(["history", "add", str(project.out / "accgate.json")]) == 0
    assert "there is no accuracy.toml here" in capsys.readouterr().err
    (made,) = read_history(Path("history.jsonl")).runs
    assert (made.checks[0].model, made.checks[0].reference.digest) == ("m", "")
    assert main(["history", "add", str(project.out / "accgate.json"), "--config", "none.toml", "--file", "h"]) == 2
    assert "none.toml" in capsys.readouterr().err
    assert not Path("h").exists()


def test_a_reference_that_was_damaged_or_removed_since_keeps_the_run(project: Project) -> None:
    project.run(right_but(10))
    (reference,) = project.store.rglob("sums.toml")
    reference.write_text("mean = = 3")
    add(project)
    (check,) = only(project).checks
    assert (check.reference.digest, check.reference.mean) == ("", 95.0)
    (project.folder / "h.jsonl").unlink()
    for path in project.store.rglob("sums.*"):
        path.unlink()
    add(project)
    (check,) = only(project).checks
    assert (check.reference.digest, check.reference.n) == ("", 200)


def test_times_are_utc_so_that_they_sort() -> None:
    for started, utc in (
        ("2026-11-21T01:30:00+02:00", "2026-11-20T23:30:00+00:00"), (None, "2026-05-01T12:00:00+00:00"),
        ("2026-11-20T23:30:00Z", "2026-11-20T23:30:00+00:00"), ("2026-11-20T23:30:00", "2026-11-20T23:30:00+00:00"),
    ):  # fmt: skip
        assert line(Result("pass", 0, (), started=started)).started == utc
    with pytest.raises(BadInput, match="which is not a time"):
        line(Result("pass", 0, (), started="yesterday"))


def test_a_verdict_of_compare_is_a_run_too() -> None:
    verdict = compare_scores(*[one_each([100.0] * 40 + [0.0] * 10)] * 2, Design("paired", theta=20.0))
    made = line(result_of_verdict(verdict))
    assert (made.verdict, made.checks[0].model, made.checks[0].task) == (verdict.verdict, "", "")
    assert series_of([made])[0].name == "candidate against reference"
