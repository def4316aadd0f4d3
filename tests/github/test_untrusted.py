"""What `publish --untrusted` makes of an artifact that anybody may have written."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.github.server import GitHub
from tests.github.store import HEAD, REPOSITORY
from tests.support.gates import Project, right_but
from tests.support.pull_requests import NUMBER, Job

FORK = "ann/models"


@pytest.fixture
def result(tmp_path: Path) -> Path:
    """A healthy run's accgate.json."""
    (tmp_path / "run").mkdir()
    project = Project(tmp_path / "run").recorded(right_but(0))
    assert project.run(right_but(1)) == 0
    return project.out / "accgate.json"


@pytest.fixture
def job(hub: GitHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Job:
    """The job that publishes what a fork's run of the head commit left."""
    hub.store.add_pull(NUMBER, head_repository=FORK)
    job = Job(hub, tmp_path / "job", monkeypatch, name="workflow_run", run=900)
    run: dict[str, Any] = {"id": 100, "run_attempt": 1, "head_sha": HEAD, "head_branch": "change"}
    job.write({"action": "completed", "workflow_run": run | {"head_repository": {"full_name": FORK}}})
    return job


def change(path: Path, **keys: Any) -> Path:
    path.write_text(json.dumps(json.loads(path.read_text()) | keys))
    return path


def test_a_pass_of_a_fork_is_advisory_and_never_the_required_check(hub: GitHub, result: Path, job: Job) -> None:
    for path in result.parent.rglob("*.jsonl"):
        path.write_text("no JSON at all")  # replies of the artifact are not read
    assert job.publish(result, "--untrusted") == 0
    (comment,) = hub.comments(NUMBER)
    assert "Advisory" in comment["body"]
    (check_run,) = hub.store.check_runs.values()
    assert (check_run["name"], check_run["conclusion"]) == ("accgate (advisory)", "neutral")
    assert job.outputs["passed"] == "false"


def test_the_pull_request_is_found_by_repository_branch_and_commit(
    hub: GitHub, result: Path, job: Job, capsys: pytest.CaptureFixture[str]
) -> None:
    hub.store.pulls.clear()
    hub.store.add_pull(1, head_repository=REPOSITORY)
    hub.store.add_pull(2, head_repository=FORK, sha="e" * 40)
    change(result, number=NUMBER, pull_request=1)
    assert job.publish(result, "--untrusted") == 3
    assert hub.comments(1) == hub.comments(2) == []
    assert "no open pull request has" in capsys.readouterr().out


@pytest.mark.parametrize(
    "break_it",
    [
        lambda path: change(path, surprise="<script>"),
        lambda path: path.write_text("[" * 100_000),
        lambda path: path.write_text(" " * 2_000_001),
        lambda path: change(path, accgate="x" * 2_001),
        lambda path: change(path, checks=[json.loads(path.read_text())["checks"][0] | {"extra": 1}]),
        lambda path: change(path, checks=json.loads(path.read_text())["checks"] * 1_001),
        lambda path: path.rename(path.with_name("moved")) and path.symlink_to("moved"),
    ],
    ids=["key", "depth", "size", "text", "nested key", "count", "link"],
)
def test_what_is_no_plain_result_is_no_result_and_nothing_of_it_is_shown(
    hub: GitHub, result: Path, job: Job, tmp_path: Path, break_it: Any
) -> None:
    (tmp_path / "log").write_text("surprise")
    for spoil, code in ((break_it, "0"), (Path.unlink, "3")):
        spoil(result)
        assert job.publish(result, "--untrusted", "--exit-code", code, "--log", str(tmp_path / "log")) == 3
        (comment,) = hub.comments(NUMBER)
        shown = comment["body"] + job.summary + job.outputs["json"]
        assert not [words for words in ("surprise", "holds more than") if words in shown], "nor what is wrong with it"
