"""Events: secrets are refused, a fork waits until it is let in, pushes and merge queues have checks of their own."""

from pathlib import Path

import pytest

from tests.github.server import GitHub
from tests.github.store import HEAD
from tests.support.gates import right_but
from tests.support.pull_requests import NUMBER, Gate, Job


@pytest.mark.parametrize(("name", "conclusions"), [("pull_request_target", ["action_required"]), ("workflow_run", [])])
def test_events_with_the_repositorys_secrets_are_refused(
    gate: Gate, name: str, conclusions: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    gate.monkeypatch.setenv("GITHUB_EVENT_NAME", name)
    if name == "workflow_run":
        gate.job.write({"workflow_run": {"id": 5, "head_sha": HEAD, "head_repository": {"full_name": "ann/models"}}})
    assert gate.job.start() == 2
    assert f"{name} runs with the repository's token" in capsys.readouterr().err
    assert [row["conclusion"] for row in gate.hub.store.check_runs.values()] == conclusions


def test_a_fork_is_refused_until_its_commit_is_let_in(
    hub: GitHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hub.store.add_pull(NUMBER, head_repository="ann/models")
    job = Job(hub, tmp_path / "job", monkeypatch)
    hub.store.add_run(100)
    accuracy = ("--fork-environment", "accuracy-forks")
    assert job.start(*accuracy) == 2
    assert "fork-environment" in capsys.readouterr().err
    for by, environment, code in (("rita", "accuracy-forks", 2), ("will", "docs", 2), ("will", "accuracy-forks", 0)):
        hub.store.approve_run(100, by, environment=environment)
        assert job.start(*accuracy) == code
    assert job.start() == 2
    hub.forbid("GET", "/approvals")
    assert job.start(*accuracy) == 2
    assert "actions: read" in capsys.readouterr().err


def test_a_push_has_no_pull_request_no_guard_and_a_check_run(gate: Gate) -> None:
    gate.head.answer(right_but(0))
    assert gate.head.run() == 0
    job = Job(gate.hub, gate.folder / "push", gate.monkeypatch, name="push")
    assert job.publish(gate.result, "--head", str(gate.head.folder)) == 0
    assert gate.hub.comments(NUMBER) == []
    assert (gate.check_run["head_sha"], gate.check_run["conclusion"]) == ("c" * 40, "success")
    assert gate.check_run["name"] == "accgate (push)"


def test_a_merge_queue_is_judged_by_its_own_rules_under_the_required_name(gate: Gate) -> None:
    gate.head.answer(right_but(20))
    assert gate.head.run() == 1
    job = Job(gate.hub, gate.folder / "queue", gate.monkeypatch, name="merge_group")
    group = {"head_sha": "f" * 40, "base_sha": "b" * 40, "base_ref": "refs/heads/main"}
    job.write({"merge_group": group, "repository": {"full_name": "octo/models", "default_branch": "main"}})
    assert job.start() == 0
    assert job.publish(gate.result, "--head", str(gate.head.folder)) == 1
    assert (gate.check_run["head_sha"], gate.check_run["conclusion"]) == ("f" * 40, "failure")
    assert gate.check_run["name"] == "accgate"
