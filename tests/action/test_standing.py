"""An event that changes neither commit nor base: nothing is evaluated, and no job that may be required is skipped.

GitHub's page "Control jobs with conditions" says that a skipped job reports success, even if it is a required check.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from accgate.cli.starter.files import workflow_text
from tests.runner import ROOT, FakeDocker, Runner, after, load_yaml, posix_tools

pytestmark = posix_tools
EXAMPLES = ROOT / ".github/examples"
USUAL, BASE_CHANGE = "pull-request", "base-change"
ADVICE = "split-forks-evaluate"  # no ruleset may require it
TITLE = "github.event.action == 'edited' && !github.event.changes.base"


@pytest.mark.parametrize("code", [0, 4])
def test_nothing_is_evaluated_and_the_step_ends_as_the_container_that_asks(
    runner: Runner, docker: FakeDocker, code: int
) -> None:
    assert runner.prepare(ACCGATE_STANDING="true").code == 0
    assert runner.outputs["standing"] == "true"
    assert Path(runner.outputs["results"]).is_dir()
    assert docker.runs == []
    done = runner.publish(ACCGATE_STANDING="true", ACCGATE_REQUIRED_BRANCHES="main", FAKE_CODE=str(code))
    assert done.code == code
    (argv,) = docker.runs
    assert argv[argv.index("publish") :] == [
        "publish", "--standing", "--config", "accuracy.toml", "--check-name", "accgate",
        "--fail-on", "regression,inconclusive,no-reference,guard", "--required-branches=main",
    ]  # fmt: skip
    mounted = {mount.split("target=")[1].split(",")[0] for mount in after(argv, "--mount")}
    assert "/accgate/head" not in mounted
    assert "/accgate/out" not in mounted


@pytest.mark.parametrize("standing", ["", "false"])
def test_any_other_event_is_evaluated(runner: Runner, docker: FakeDocker, standing: str) -> None:
    assert runner.prepare(ACCGATE_STANDING=standing).code == 0
    assert "standing" not in runner.outputs
    assert (runner.work / "head/accuracy.toml").exists()


def test_record_decides_nothing_and_goes_on(runner: Runner, docker: FakeDocker) -> None:
    assert runner.prepare(ACCGATE_STANDING="true", ACCGATE_COMMAND="record").code == 0
    assert "standing" not in runner.outputs


@pytest.mark.parametrize("variables", [{"ACCGATE_PUBLISH": "false"}, {"ACCGATE_SHARD": "1/4"}])
def test_a_job_that_publishes_nothing_says_nothing(
    runner: Runner, docker: FakeDocker, variables: dict[str, str]
) -> None:
    assert runner.prepare(ACCGATE_STANDING="true", **variables).code == 0
    assert runner.publish(ACCGATE_STANDING="true", **variables).code == 0
    assert docker.runs == []
    assert runner.outputs["passed"] == "false"


def test_the_actions_steps_are_left_out_by_that_output_alone() -> None:
    steps = {step.get("id"): step for step in load_yaml(ROOT / "action.yml")["runs"]["steps"]}
    event = steps["prepare"]["env"]["ACCGATE_STANDING"]
    assert event == f"${{{{ github.event_name == 'pull_request' && {TITLE} }}}}"
    for name in ("start", "evaluate"):
        assert steps[name]["if"] == "${{ steps.prepare.outputs.standing != 'true' }}"
    assert "standing" not in steps["publish"]["if"]


def workflows() -> dict[str, dict[str, Any]]:
    """Every workflow of the repository that an edited pull request starts."""
    paths = [*(ROOT / ".github/examples").glob("*.yml"), *(ROOT / ".github/workflows").glob("*.yml")]
    found = {path.stem: load_yaml(path) for path in paths}
    types = {
        name: (flow["on"].get("pull_request") or {}) for name, flow in found.items() if isinstance(flow["on"], dict)
    }
    return {name: found[name] for name, about in types.items() if "edited" in about.get("types", ())}


def test_the_usual_workflows_hold_where_a_ruleset_requires_them(tmp_path: Path) -> None:
    """GitHub starts a required workflow for the default types alone, and counts a skipped job as successful."""
    (tmp_path / "init.yml").write_text(workflow_text("accuracy.toml"))
    usual, required, change = (
        load_yaml(EXAMPLES / f"{name}.yml") for name in (USUAL, "required-workflow", BASE_CHANGE)
    )
    for workflow in (usual, required, load_yaml(tmp_path / "init.yml")):
        assert "types" not in (workflow["on"]["pull_request"] or {})
        assert "merge_group" in workflow["on"]
        assert [job for job in workflow["jobs"].values() if "if" in job] == []
    assert required["on"]["pull_request"] is None
    assert "concurrency" not in json.dumps(required)
    assert required["jobs"] == usual["jobs"]
    assert change["on"]["pull_request"] == usual["on"]["pull_request"] | {"types": ["edited"]}
    assert not set(change["jobs"]) & set(usual["jobs"])  # skipped after a new title, it has nobody's name
    (job,), (same,) = change["jobs"].values(), usual["jobs"].values()
    assert job == same | {"if": "github.event.changes.base"}


def test_no_job_that_gives_the_verdict_is_skipped() -> None:
    """A job may be skipped only where a later one, which always runs, then ends with the verdict that stands."""
    gates = workflows()
    assert {"matrix", "shards", "gate", "kubernetes"} <= set(gates)
    for name, workflow in gates.items():
        if name in (ADVICE, BASE_CHANGE):
            continue
        jobs = workflow["jobs"]
        needed = {
            other
            for job in jobs.values()
            for other in [job.get("needs", [])]
            for other in ([other] if isinstance(other, str) else other)
        }
        last = {key: job for key, job in jobs.items() if key not in needed}
        for key, job in last.items():
            assert job.get("if", "${{ !cancelled() }}") == "${{ !cancelled() }}", (name, key)
            (step,) = [step for step in job["steps"] if step.get("uses", "").split("@")[0] in USES]
            assert "if" not in step, (name, key)
            if step["uses"].startswith("org/accgate/report"):
                skipped = step["with"]["standing"].removeprefix("${{ needs.").removesuffix(".result == 'skipped' }}")
                assert skipped in jobs, name
                assert "edited" in jobs[skipped]["if"], name
                (download,) = [step for step in job["steps"] if "download-artifact" in step.get("uses", "")]
                assert download["if"] == f"needs.{skipped}.result != 'skipped'"
            assert json.dumps(job["steps"]).count("continue-on-error") == 0


USES = ("org/accgate", "org/accgate/report", "./")
