"""An event that changes neither commit nor base: nothing is evaluated, and the verdict stands."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.runner import ROOT, FakeDocker, Runner, after, load_yaml, posix_tools

pytestmark = posix_tools
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


@pytest.mark.parametrize(
    "variables", [{"ACCGATE_STANDING": "false"}, {"ACCGATE_STANDING": "true", "ACCGATE_COMMAND": "record"}]
)
def test_any_other_event_is_evaluated_and_record_goes_on(
    runner: Runner, docker: FakeDocker, variables: dict[str, str]
) -> None:
    assert runner.prepare(**variables).code == 0
    assert "standing" not in runner.outputs
    assert (runner.work / "head/accuracy.toml").exists()


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
