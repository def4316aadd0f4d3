"""What the action's host scripts do with what was evaluated: references, shards, a fork's artifact, publishing."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.support.runner import TOKEN, FakeDocker, Runner, after, commit, evaluated, posix_tools

pytestmark = posix_tools


def test_stale_containers_are_looked_for_by_runner_and_place(runner: Runner, docker: FakeDocker) -> None:
    (runner.bin / "stale").write_text("abc123\ndef456\n")
    assert "removing 2 container(s)" in runner.prepare().text
    argvs = [argv for argv, _ in docker.calls]
    (listed, *_) = [argv for argv in argvs if argv[0] == "ps"]
    assert [word.split("=")[1] for word in after(listed, "--filter")] == ["org.accgate.runner", "org.accgate.place"]
    assert ["rm", "--force", "abc123", "def456"] in argvs


def test_recorded_references_come_back_and_nothing_else(runner: Runner, docker: FakeDocker) -> None:
    files = {"/accgate/head/references/m/t.toml": "new", "/accgate/head/accuracy.toml": "hacked"}
    done_files = json.dumps(files)
    argv = evaluated(runner, docker, ACCGATE_COMMAND="record", ACCGATE_REASON="better\nkernel", FAKE_FILES=done_files)
    assert argv[argv.index("record") :] == [
        "record", "/accgate/head/accuracy.toml", "--out", "/accgate/out", "--workspace", "/accgate/workspace",
        "--reason=better kernel",
    ]  # fmt: skip
    assert (runner.workspace / "references/m/t.toml").read_text() == "new"
    assert (runner.workspace / "accuracy.toml").read_text() == "head\n"
    assert runner.publish(ACCGATE_COMMAND="record").code == 0
    assert len(docker.runs) == 1
    assert runner.outputs["passed"] == "false"  # there is no verdict


def test_replies_that_record_removed_are_removed_and_the_commit_is_that_of_the_tree(
    runner: Runner, docker: FakeDocker
) -> None:
    folder = runner.workspace / "references/m"
    folder.mkdir(parents=True)
    for name in ("t.toml", "t.scores.csv", "t.replies.jsonl.gz", "u.replies.jsonl.gz"):
        (folder / name).write_text("old")
    head = commit(runner.workspace, "references")
    made = {"references/m/t.toml": "new", "references/m/t.scores.csv": "new", "references/m/t.replies.jsonl.gz": None}
    files = json.dumps({f"/accgate/head/{name}": text for name, text in made.items()})
    argv = evaluated(runner, docker, ACCGATE_COMMAND="record", GITHUB_SHA="d" * 40, FAKE_FILES=files)
    assert f"GITHUB_SHA={head}" in after(argv, "--env")
    assert sorted(path.name for path in folder.iterdir()) == ["t.scores.csv", "t.toml", "u.replies.jsonl.gz"]


def test_merge_decides_over_the_shards_that_were_downloaded(runner: Runner, docker: FakeDocker) -> None:
    shards = runner.folder / "shards"
    for name in ("shard-1", "shard-2"):
        (shards / name).mkdir(parents=True)
        (shards / name / "accgate.json").write_text("{}")
    argv = evaluated(runner, docker, ACCGATE_COMMAND="merge", ACCGATE_SHARDS=str(shards))
    assert argv[argv.index("merge") :] == [
        "merge", "/accgate/shards/shard-1", "/accgate/shards/shard-2",
        "--config", "/accgate/head/accuracy.toml", "--out", "/accgate/out",
        "--base", "/accgate/base/accuracy.toml",
    ]  # fmt: skip
    assert any(mount.endswith("target=/accgate/shards,readonly") for mount in after(argv, "--mount"))


@pytest.mark.parametrize(("code", "step"), [(0, 0), (1, 0), (4, 0), (2, 2), (3, 3)])
def test_without_publishing_a_verdict_passes_on_and_an_error_fails(
    machine: tuple[Runner, FakeDocker], code: int, step: int
) -> None:
    runner, docker = machine
    runner.evaluate(FAKE_CODE=str(code))
    assert runner.publish(ACCGATE_PUBLISH="false").code == step
    assert len(docker.runs) == 1
    assert runner.outputs["passed"] == "false"
    assert (runner.work / "out/accgate.exit-code").read_text() == str(code)


def test_only_a_fork_is_asked_about_where_nothing_is_published(runner: Runner, docker: FakeDocker) -> None:
    assert runner.prepare().code == 0
    mine = {"ACCGATE_TOKEN": TOKEN, "ACCGATE_CHECK_NAME": "accgate", "ACCGATE_PUBLISH": "false"}
    for repository in ("", "octo/models"):
        assert runner.step("start.sh", **mine, ACCGATE_HEAD_REPOSITORY=repository).code == 0
    assert docker.runs == []
    for repository in ("eve/models", "deleted"):
        assert runner.step("start.sh", **mine, ACCGATE_HEAD_REPOSITORY=repository, FAKE_CODE="2").code == 2
        assert "--state" not in docker.runs[-1]  # so that no check run is opened, which nobody would end
    assert len(docker.runs) == 2
    assert runner.step("start.sh", **mine | {"ACCGATE_PUBLISH": "true"}).code == 0
    assert after(docker.runs[-1], "--state") == ["/accgate/publish/state.json"]


def test_a_cancelled_job_is_published_as_cancelled(runner: Runner, docker: FakeDocker) -> None:
    assert runner.prepare().code == 0
    (runner.work / "cancelled").touch()
    assert runner.publish().code == 0
    assert "--cancelled" in docker.runs[-1]
    assert after(docker.runs[-1], "--exit-code") == ["130"]


def test_links_and_pipes_of_the_results_are_not_published(runner: Runner, docker: FakeDocker) -> None:
    assert runner.prepare().code == 0
    out = runner.work / "out"
    (out / "shut").mkdir(mode=0)
    (out / "accgate.json").symlink_to("/proc/self/environ")
    os.mkfifo(out / "pipe")
    (out / "accgate.exit-code").mkdir()
    assert runner.publish().code == 0
    assert sorted(path.name for path in out.iterdir()) == ["accgate.exit-code", "accgate.log", "shut"]
    assert os.access(out / "shut", os.X_OK)


def artifact(runner: Runner, **contents: str) -> Path:
    """A folder of results that another job left."""
    folder = runner.folder / "artifact"
    (folder / "m").mkdir(parents=True)
    for name, text in contents.items():
        (folder / name.replace("__", ".").replace("_", "-")).write_text(text)
    return folder


def test_report_takes_another_jobs_results(runner: Runner, docker: FakeDocker) -> None:
    results = artifact(runner, accgate__json="{}", accgate__exit_code="1", accgate__log="what it said")
    (results / "m/t.jsonl").write_text("{}\n")
    assert runner.prepare(ACCGATE_RESULTS=str(results)).code == 0
    assert runner.publish().code == 0
    (argv,) = docker.runs
    assert after(argv, "--exit-code") == ["1"]
    assert "--untrusted" not in argv
    assert (runner.work / "log.txt").read_text() == "what it said"
    assert (runner.work / "out/m/t.jsonl").exists()


def test_of_a_forks_artifact_only_a_small_result_goes_on(runner: Runner, docker: FakeDocker) -> None:
    results = artifact(
        runner,
        accgate__json="{}",
        accgate__exit_code="0; rm -rf /",
        accgate__log="![x](http://evil)",
        report__html="<b>",
    )
    runner.variables |= {"GITHUB_EVENT_NAME": "workflow_run", "ACCGATE_BASE_SHA": ""}
    fork = {"ACCGATE_RESULTS": str(results), "ACCGATE_UNTRUSTED": "true"}
    assert runner.prepare(**fork).code == 0
    assert runner.publish(ACCGATE_UNTRUSTED="true").code == 0
    assert "--untrusted" in docker.runs[-1]
    assert after(docker.runs[-1], "--exit-code") == ["3"]
    left = sorted(path.name for path in (runner.work / "out").iterdir())
    assert left == ["accgate.exit-code", "accgate.json", "accgate.log"]
    assert (runner.work / "log.txt").read_text() == ""
    assert list((runner.work / "head").iterdir()) == []
    (results / "accgate.json").write_text(" " * 10_000_001)
    assert "more than 10 MB" in runner.prepare(**fork).text
    (results / "accgate.json").unlink()
    (results / "accgate.json").symlink_to("/etc/passwd")
    assert "holds no accgate.json" in runner.prepare(**fork).text
    assert "is not a folder" in runner.prepare(ACCGATE_RESULTS="/nowhere").text
