"""What the action's host scripts lay out for evaluating: the base's tree and the head's."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

import pytest

from tests.support.runner import TOKEN, FakeDocker, Runner, after, commit, evaluated, git, posix_tools

pytestmark = posix_tools


def test_the_base_is_exported_whole_and_by_its_own_attributes(runner: Runner, docker: FakeDocker) -> None:
    space = runner.workspace
    (space / ".gitattributes").write_text("hidden.csv export-ignore filter=mine\nlines.txt text eol=crlf\n")
    (runner.folder / "home/.gitconfig").write_text('[filter "mine"]\n\tsmudge = echo mine\n')
    (space / "hidden.csv").write_text("id,score\n")
    (space / "lines.txt").write_text("a\nb\n")
    (space / "sub").mkdir()
    (space / "sub/task.toml").write_text("old\n")
    (space / "link").symlink_to("sub/task.toml")
    base = commit(space, "base")
    (space / ".gitattributes").write_text("* text eol=crlf\nlines.txt -text\n")
    (space / "sub/task.toml").write_text("new\n")
    (space / "hidden.csv").unlink()
    commit(space, "head")
    assert runner.prepare(ACCGATE_BASE_SHA=base).code == 0
    exported = runner.work / "base"
    names = {str(path.relative_to(exported)) for path in exported.rglob("*") if not path.is_dir()}
    assert names == {".gitattributes", "accuracy.toml", "hidden.csv", "lines.txt", "link", "sub/task.toml"}
    assert (exported / "sub/task.toml").read_text() == "old\n"
    assert (exported / "hidden.csv").read_text() == "id,score\n", "a filter of the machine does not run"
    assert (exported / "lines.txt").read_bytes() == b"a\r\nb\r\n"
    assert (exported / "link").is_symlink()
    assert git(space, "status", "--porcelain") == ""
    assert git(space, "rev-parse", "--is-shallow-repository") == "false"


def test_what_models_may_use_is_copied_without_what_holds_logins(runner: Runner, docker: FakeDocker) -> None:
    space = runner.workspace
    git(space, "config", "http.https://github.com/.extraheader", f"AUTHORIZATION: basic {TOKEN}")
    for name in ("module/.git", "deep/er/.git-credentials", ".netrc", "x/_netrc"):
        (space / name).parent.mkdir(parents=True, exist_ok=True)
        (space / name).write_text(TOKEN)
    (space / ".github").mkdir()
    (space / ".github/kept.yml").write_text("kept")
    (space / ".gitignore").write_text("kept")
    outside = runner.folder / "outside"
    outside.mkdir()
    (outside / "secret").write_text(TOKEN)
    (space / "out").symlink_to(outside)
    assert runner.prepare().code == 0
    copied = runner.work / "workspace"
    assert (copied / ".github/kept.yml").exists()
    assert (copied / ".gitignore").exists()
    assert (copied / "out").is_symlink()
    assert {path.name for path in (runner.work / "head").iterdir()} == {"accuracy.toml"}  # what is in no commit
    assert subprocess.run(["grep", "-rl", TOKEN, str(runner.work)], check=False).returncode == 1
    assert git(space, "config", "http.https://github.com/.extraheader")  # the workspace stays as it was


def test_a_base_that_cannot_be_had_is_an_error_that_publishing_reports(runner: Runner, docker: FakeDocker) -> None:
    done = runner.prepare(ACCGATE_BASE_SHA="0" * 40)
    assert done.code == 0
    assert "contents: read" in done.text
    assert TOKEN not in done.text
    assert runner.evaluate().code == 0
    assert docker.runs == []
    assert runner.publish().code == 0
    (argv,) = docker.runs
    assert after(argv, "--exit-code") == ["3"]
    assert after(argv, "--base") == ["/accgate/base"]  # not there, so that it is no bootstrap
    assert not [mount for mount in after(argv, "--mount") if "target=/accgate/base" in mount]


def test_a_shallow_clone_has_its_base_from_where_it_was_cloned(runner: Runner, docker: FakeDocker) -> None:
    origin = runner.folder / "origin"
    runner.workspace.rename(origin)
    base = git(origin, "rev-parse", "HEAD")
    (origin / "accuracy.toml").write_text("# the head\n")
    commit(origin, "head")
    git(runner.folder, "clone", "--quiet", "--depth=1", f"file://{origin}", str(runner.workspace))
    assert runner.prepare(ACCGATE_BASE_SHA=base, GITHUB_SERVER_URL="http://127.0.0.1:9").code == 0
    assert (runner.work / "head/accuracy.toml").read_text() == "# the head\n"
    assert (runner.work / "base/accuracy.toml").read_text() != "# the head\n"
    assert git(runner.workspace, "rev-list", "--count", "--all") == "1"


def test_a_workspace_is_copied_with_whatever_a_build_left_there(
    runner: Runner, docker: FakeDocker, monkeypatch: pytest.MonkeyPatch
) -> None:
    space = runner.workspace
    os.mkfifo(space / "fifo")
    (space / "closed").mkdir()
    (space / "closed/file").touch()
    (space / "closed").chmod(0o555)
    with (space / "sparse").open("wb") as file:
        file.truncate(2**40)
    with socket.socket(socket.AF_UNIX) as listening:
        monkeypatch.chdir(space)  # a socket has a short path
        listening.bind("socket")
        done = runner.prepare()
    copied = runner.work / "workspace"
    assert "::" not in done.text
    assert {path.name for path in copied.iterdir()} == {"accuracy.toml", "fifo", "closed", "sparse"}
    assert (copied / "sparse").stat().st_blocks == 0
    assert (copied / "closed").stat().st_mode & 0o700 == 0o700  # who made the copy can remove it


@pytest.mark.parametrize("sha", ["", "--upload-pack=id"])
def test_a_pull_request_without_a_base_commit_is_an_error(runner: Runner, docker: FakeDocker, sha: str) -> None:
    assert runner.prepare(ACCGATE_BASE_SHA=sha).code == 0
    assert runner.exit_code == 3


@pytest.mark.parametrize("side", ["head", "base"])
def test_a_link_out_of_a_commit_stays_a_link_that_leads_out_of_it(
    runner: Runner, docker: FakeDocker, side: str
) -> None:
    links = {
        "deep/er/task.toml": "/etc/passwd", "references": str(runner.workspace), "hop": "-f",
        "other.toml": "accuracy.toml", "-f": "../../..", "a\nb": "/proc/self/environ", "round": "round",
    }  # fmt: skip
    (runner.workspace / "deep/er").mkdir(parents=True)
    for name, target in links.items():
        (runner.workspace / name).symlink_to(target)
    sha = commit(runner.workspace, "links")
    done = runner.prepare(**({"ACCGATE_BASE_SHA": sha} if side == "base" else {}))
    tree = runner.work / side
    assert (tree / "other.toml").readlink() == Path("accuracy.toml")
    assert not (runner.work / "outside-of-the-repository").exists()
    for name in links.keys() - {"other.toml", "round"}:
        way = "../" * (name.count("/") + 1)
        assert (tree / name).readlink() == Path(f"{way}outside-of-the-repository"), name
    assert f"5 link(s) of the {side} commit {sha[:12]} lead out of it" in done.text


@pytest.mark.parametrize(
    ("event", "facts", "checked_out", "read"),
    [
        ("pull_request", ("merge", "head"), "head", "head"), ("pull_request", ("merge", "head"), "other", "merge"),
        ("merge_group", ("merge", ""), "other", "merge"),
        ("push", ("merge", ""), "other", "other"), ("issue_comment", ("merge", ""), "head", "head"),
    ],
)  # fmt: skip
def test_the_heads_rules_are_of_a_commit_of_the_event(
    runner: Runner, docker: FakeDocker, event: str, facts: tuple[str, str], checked_out: str, read: str
) -> None:
    """Where an event names none, as that of a comment, they are of the commit that is checked out."""
    shas = {"": ""}
    for name in ("merge", "head", "other"):
        (runner.workspace / "accuracy.toml").write_text(name)
        shas[name] = commit(runner.workspace, name)
    git(runner.workspace, "checkout", "--quiet", "--detach", shas[checked_out])
    (runner.workspace / "accuracy.toml").write_text("rewritten")
    merge, head = (shas[name] for name in facts)
    is_pull = event == "pull_request"
    base = {} if is_pull else {"ACCGATE_BASE_SHA": ""}
    done = runner.prepare(GITHUB_EVENT_NAME=event, GITHUB_SHA=merge, ACCGATE_HEAD_SHA=head, **base)
    assert done.code == 0
    assert (runner.work / "head/accuracy.toml").read_text() == read
    assert (runner.work / "workspace/accuracy.toml").read_text() == "rewritten"
    assert (runner.work / "commit").read_text() == shas[read]


def test_a_config_that_no_commit_holds_is_said_before_the_run(runner: Runner, docker: FakeDocker) -> None:
    (runner.workspace / "mine.toml").touch()
    done = runner.prepare(ACCGATE_CONFIG="mine.toml")
    assert "has no mine.toml; rules are read from commits alone: commit the file" in done.text


def test_a_push_has_no_base(runner: Runner, docker: FakeDocker) -> None:
    runner.variables |= {"GITHUB_EVENT_NAME": "push", "ACCGATE_BASE_SHA": ""}
    argv = evaluated(runner, docker)
    assert "--base" not in argv
    assert after(argv, "--tree") == ["/accgate/head"]


def test_an_empty_workspace_asks_for_a_checkout(tmp_path: Path) -> None:
    runner = Runner(tmp_path)
    FakeDocker(runner)
    assert "run actions/checkout" in runner.prepare(ACCGATE_BASE_SHA="").text
    assert runner.exit_code == 3
