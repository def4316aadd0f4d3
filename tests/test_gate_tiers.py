"""Advisory checks are decided and shown, and fail no run."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from accgate.cli.main import main
from tests.support.gates import Project, right_but, said

BAD, SAME = right_but(60), right_but(20)


def project_of(folder: Path, **advisory: str) -> Project:
    """A project with two tasks recorded at 90%, of which those named with `tier` have it."""
    project = Project(folder, tasks=("sums", "more"))
    for name, tier in advisory.items():
        project.tasks[name]["tier"] = tier
    project.write(overall=False)
    return project.recorded(SAME, SAME)


@pytest.mark.parametrize(("tier", "code", "verdict"), [("advisory", 0, "pass"), ("required", 1, "regression")])
def test_only_a_required_check_fails_the_run(tmp_path: Path, tier: str, code: int, verdict: str) -> None:
    project = project_of(tmp_path, more=tier)
    assert project.run(SAME, BAD) == code
    verdicts = {check["task"]: (check["verdict"], check["tier"]) for check in project.result["checks"]}
    assert (project.result["verdict"], verdicts["more"]) == (verdict, ("regression", tier))
    assert main(["verify", str(project.out), "--config", str(project.config)]) == code


def test_an_advisory_check_takes_no_alpha_and_is_in_no_overall_check(tmp_path: Path) -> None:
    project = project_of(tmp_path, more="advisory")
    project.run(SAME, BAD)
    sums, more = project.result["checks"]
    assert (sums["alpha_applied"], more["alpha_applied"], project.result["allowed"]["checks"]) == (0.05, 0.05, 0.05)
    assert project.run(BAD, SAME) == 1  # a required one still fails
    project.write(overall=True)
    project.run(SAME, BAD)
    assert project.result["overall"] == []
    assert project.run(args=["--tasks", "more"]) == 1  # alone it decides
    assert project.check["task"] == "more"


def test_a_file_whose_checks_are_all_advisory_is_refused(tmp_path: Path, capsys) -> None:
    project = project_of(tmp_path, more="advisory")
    project.tasks["sums"]["tier"] = "advisory"
    project.write()
    assert project.run(SAME, SAME) == 2
    assert "tasks: are all advisory" in said(capsys)


def test_a_result_that_hides_a_required_regression_as_advisory_is_not_believed(tmp_path: Path) -> None:
    project = project_of(tmp_path, more="required")
    assert project.run(SAME, BAD) == 1
    path = project.out / "accgate.json"
    result = json.loads(path.read_text(encoding="utf-8"))
    result |= {"verdict": "pass", "exit_code": 0}
    result["checks"][1]["tier"] = "advisory"
    path.write_text(json.dumps(result), encoding="utf-8")
    assert main(["verify", str(project.out), "--config", str(project.config)]) == 2


def test_reports_of_a_passing_run_say_what_an_advisory_check_lost(tmp_path: Path, capsys) -> None:
    project = project_of(tmp_path, more="advisory")
    assert project.run(SAME, BAD) == 0
    printed = " ".join(capsys.readouterr().out.split())
    lost = "Advisory, so it fails nothing: more fell 20.0 points, 90.0 to 70.0."
    assert "✓ Passed: sums stayed at 90.0" in printed
    assert lost in printed
    report = (project.out / "report.md").read_text(encoding="utf-8")
    assert lost in report
    assert "advisory" in report.split("| Check |")[1].splitlines()[2]
    junit, ctrf = tmp_path / "j.xml", tmp_path / "c.json"
    assert main(["report", str(project.out), "--junit", str(junit), "--ctrf", str(ctrf)]) == 0
    suite = ElementTree.parse(junit).getroot()
    assert [suite.get(name) for name in ("failures", "errors", "skipped")] == ["0", "0", "1"]
    summary = json.loads(ctrf.read_text(encoding="utf-8"))["results"]["summary"]
    assert [summary[name] for name in ("passed", "failed", "other")] == [1, 0, 1]
