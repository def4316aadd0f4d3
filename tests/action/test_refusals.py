"""What is refused before anything is evaluated, and where people see it."""

from __future__ import annotations

from pathlib import Path

from tests.support.runner import FakeDocker, Runner, after, posix_tools

pytestmark = posix_tools


def test_pull_request_target_is_refused_in_annotation_summary_and_outputs(tmp_path: Path) -> None:
    runner = Runner(tmp_path)
    docker = FakeDocker(runner)
    done = runner.prepare(GITHUB_EVENT_NAME="pull_request_target")
    assert done.code == 2
    assert "::error title=accgate::pull_request_target" in done.text
    assert "fork's code" in done.text
    assert "Refused: nothing was evaluated" in (tmp_path / "summary").read_text()
    assert (runner.outputs["verdict"], runner.outputs["passed"]) == ("error", "false")
    assert docker.calls == []
    assert "work" not in runner.outputs


def test_the_container_that_refuses_a_fork_can_write_summary_and_outputs(tmp_path: Path) -> None:
    runner = Runner(tmp_path)
    docker = FakeDocker(runner)
    (runner.workspace / "accuracy.toml").write_text("head\n")
    assert runner.prepare(GITHUB_EVENT_NAME="push").code == 0
    variables = {
        "ACCGATE_TOKEN": "ghs_x",
        "ACCGATE_CHECK_NAME": "accgate",
        "ACCGATE_PUBLISH": "false",
        "ACCGATE_HEAD_REPOSITORY": "eve/models",
        "ACCGATE_FORK_ENVIRONMENT": "accuracy-forks",
        "ACCGATE_REQUIRED_BRANCHES": "main, release",
    }
    assert runner.step("start.sh", **variables).code == 0
    argv = docker.runs[-1]
    assert {"--fork-environment=accuracy-forks", "--required-branches=main, release"} <= set(argv)
    writable = {mount.split("target=")[1] for mount in after(argv, "--mount") if not mount.endswith("readonly")}
    assert writable == {"/accgate/publish", "/accgate/GITHUB_OUTPUT", "/accgate/GITHUB_STEP_SUMMARY"}
