"""A result that does not follow from its records by the rules is refused, each with its reason."""

from __future__ import annotations

import html
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from accgate.cli.main import main
from tests.github.server import GitHub
from tests.support.gates import Project, right_but, said, write_lines, write_task
from tests.support.pull_requests import Gate

RECORDS = Path("m/sums.jsonl")


@pytest.fixture(scope="module")
def lost(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A run that lost 20 of 200 answers, and its rules."""
    project = Project(tmp_path_factory.mktemp("lost"))
    assert project.record(right_but(0)) == 0
    assert project.run(right_but(20)) == 1
    return project


@pytest.fixture
def project(lost: Project, tmp_path: Path) -> Project:
    shutil.copytree(lost.folder, tmp_path / "run")
    copy = Project(tmp_path / "run")
    copy.write()
    return copy


def verify(project: Project, *args: str) -> int:
    return main(["verify", str(project.out), "--config", str(project.config), *args])


def change_result(project: Project, change: Callable[[dict[str, Any]], object]) -> None:
    result = project.result
    change(result)
    (project.out / "accgate.json").write_text(json.dumps(result))


def pass_it(result: dict[str, Any]) -> None:
    result["checks"][0]["verdict"] = result["verdict"] = "pass"
    result["exit_code"] = 0


def change_records(project: Project, change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]) -> None:
    path = project.out / RECORDS
    write_lines(path, change([json.loads(line) for line in path.read_text().splitlines()]))


def change_settings(project: Project, **keys: Any) -> None:
    path = project.out / "m" / "sums.settings.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | keys))


def right(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row | {"score": 100.0} for row in rows]


TAMPERING: dict[str, tuple[Callable[[Project], object], str]] = {
    "a verdict turned into a pass": (lambda p: change_result(p, pass_it), "verdict: is 'pass', but the records give"),
    "a p-value": (lambda p: change_result(p, lambda r: r["checks"][0].update(p_value=0.5)), "p_value: is 0.5, but"),
    "a mean in the sixth digit": (
        lambda p: change_result(p, lambda r: r["checks"][0]["candidate"].update(mean=90.001)),
        "candidate: mean: is 90.001, but the records give 90",
    ),
    "a check that is left out": (
        lambda p: change_result(p, lambda r: (r["checks"].clear(), r.update(verdict="pass", exit_code=0))),
        "its 0 verdicts give error",
    ),
    "a check that the rules do not make": (
        lambda p: change_result(p, lambda r: r["checks"].append(r["checks"][0] | {"task": "more"})),
        "m / more: is in the result, but the rules make no such check",
    ),
    "a check twice": (lambda p: change_result(p, lambda r: r["checks"].append(r["checks"][0])), "twice"),
    "rules that do not decide here": (lambda p: change_result(p, lambda r: r.update(rules="approved")), "rules: is"),
    "a check of another task": (
        lambda p: change_result(p, lambda r: r["checks"][0].update(task="trivial")),
        "m / sums: is missing in the result",
    ),
    "right records beside the old result": (lambda p: change_records(p, right), "but the records give 'pass'"),
    "wrong answers left out": (
        lambda p: change_records(p, lambda rows: [row for row in rows if row["score"]]),
        "but the records give 'error'",
    ),
    "records of other samples": (
        lambda p: change_records(p, lambda rows: [rows[0] | {"id": "0" * 16}, *rows[1:]]),
        "holds 1 id that this check lacks",
    ),
    "a record twice": (lambda p: change_records(p, lambda rows: [*rows, rows[0]]), "comes twice"),
    "a score past the scale": (
        lambda p: change_records(p, lambda rows: [rows[0] | {"score": 1e6}, *rows[1:]]),
        "1 of 200",
    ),
    "a line that is no record": (lambda p: (p.out / RECORDS).write_text("[]\n"), "is not a run record"),
    "records of another model": (lambda p: change_settings(p, model="better.jsonl"), "made with other settings"),
    "records of no engine": (lambda p: change_settings(p, engine="vllm"), "names no engine"),
    "settings that are gone": (lambda p: (p.out / "m" / "sums.settings.json").unlink(), "is missing"),
    "a metric changed after the run": (lambda p: write_task(p.folder, metric="exact_match"), "the metric"),
    "a reference changed after the run": (
        lambda p: p.record(right_but(20), args=["--reason", "another"]) == 0 and p.answer(right_but(20)),
        "reference: mean",
    ),
    "another alpha": (lambda p: p.write(alpha=0.2), "alpha: is 0.05, but the records give 0.2"),
}


@pytest.mark.parametrize("what", TAMPERING)
def test_a_result_that_was_tampered_with_is_refused_with_the_reason(
    project: Project, capsys: pytest.CaptureFixture[str], what: str
) -> None:
    tamper, reason = TAMPERING[what]
    tamper(project)
    capsys.readouterr()
    assert verify(project) == 2
    assert reason in said(capsys)


def test_an_untouched_run_is_verified_with_its_own_exit_code(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    assert verify(project) == 1
    assert "give the same verdict" in capsys.readouterr().out


def test_what_is_missing_of_samples_asked_twice_is_counted_in_records(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = Project(tmp_path, repeats=2)
    write_lines(project.scores, [{"id": i, "repeat": r, "score": 100.0} for i in project.ids() for r in (0, 1)])
    assert project.record() == 0
    assert project.run() == 0
    lost = json.loads((project.out / RECORDS).read_text().splitlines()[-1])
    change_records(project, lambda rows: rows[:-1])
    capsys.readouterr()
    assert verify(project) == 2
    assert f"lacks 1 of 400 records ({lost['id']}), and" in said(capsys)


def test_a_statement_names_commit_models_figures_and_files(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    sha = "5d" * 20
    assert verify(project, "--statement", "-", "--commit", sha) == 1
    statement = json.loads(capsys.readouterr().out)
    assert statement["_type"] == "https://in-toto.io/Statement/v1"
    assert statement["subject"][0] == {"name": "commit", "digest": {"gitCommit": sha}}
    assert statement["subject"][1]["name"] == "model m"
    assert {file["name"] for file in statement["predicate"]["files"]} == {"accgate.json", str(RECORDS)}
    assert (statement["predicate"]["verdict"], statement["predicate"]["checks"][0]["n"]) == ("regression", 200)
    assert verify(project, "--statement", "-", "--commit", "main") == 2
    assert "write the whole name" in said(capsys)
    assert verify(project, "--commit", sha) == 2


def test_no_code_of_the_tree_runs_while_a_run_is_verified(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def points(answer, target):\n    return 100.0 if answer == target else 0.0\n")
    project = Project(tmp_path)
    write_task(tmp_path, metric="mine.py:points")
    assert project.record(right_but(0)) == 0
    assert project.run(right_but(0)) == 0
    (tmp_path / "mine.py").write_text(
        f"open({str(tmp_path / 'ran')!r}, 'w')\ndef points(answer, target):\n    return 100.0\n"
    )
    assert verify(project) == 2  # it is another metric now
    assert not (tmp_path / "ran").exists()


KINDS: dict[str, dict[str, Any]] = {
    "with a theta": {"theta": 5.0},
    "with an allowed drop": {"theta": 8.0, "allowed_drop": 1.0, "certify": True},
    "of some samples": {"num_samples": 120},
    "by a target": {"target": 50.0, "sigma": 50.0},
    "by a mean": {"reference": 90.0, "reference_num_samples": 1000, "sigma": 50.0},
    "by bootstrap": {"test": "bootstrap"},
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("early", [True, False])
def test_a_run_of_any_kind_is_verified(tmp_path: Path, kind: str, early: bool) -> None:
    project = Project(tmp_path, tasks=("sums", "more"), **KINDS[kind])
    project.write(early_stopping=early)
    assert project.record(right_but(0), right_but(9)) == 0
    for wrong in (1, 40):
        code = project.run(right_but(wrong), right_but(9))
        assert verify(project) == code


def test_a_result_that_the_evaluating_container_forged_is_published_as_a_failure(gate: Gate) -> None:
    gate.head.answer(right_but(20))
    assert gate.job.start() == 0
    assert gate.pull.run() == 1
    change_result(gate.head, pass_it)
    assert gate.publish("--exit-code", "0") == 3
    (check_run,) = gate.hub.store.check_runs.values()
    assert check_run["conclusion"] == "failure"
    assert check_run["output"]["title"].startswith("Result refused")
    for text in (gate.comment, check_run["output"]["summary"]):
        body = html.unescape(text)
        assert "### ! Result refused" in body
        assert "accgate.json: m / sums: verdict: is 'pass', but the records give 'regression'" in body
        assert "**Next:** run the job again" in body
        assert "could not finish" not in body


def test_a_result_without_a_check_of_the_base_is_published_as_a_failure_unless_the_job_is_for_another_part(
    hub: GitHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(hub, tmp_path, monkeypatch, tasks=("sums", "more"))
    gate.head.answer(right_but(0), right_but(0))
    assert gate.job.start() == 0
    assert gate.pull.run("--tasks", "more") == 0
    assert gate.publish("--exit-code", "0") == 3
    assert gate.publish("--exit-code", "0", "--tasks", "more") == 0
