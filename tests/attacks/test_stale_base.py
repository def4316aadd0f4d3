"""Whose rules decide where the event's base is not the one that was merged with, in real git repositories."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.attacks.runner_jobs import poison, runner_with
from tests.support.runner import Runner, commit, git, posix_tools

pytestmark = posix_tools


class Server:
    """A repository that a runner checks out as GitHub's runner does: the merge of head and base, at depth 1."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.repository = folder / "server/octo/models"
        self.repository.mkdir(parents=True)
        self.main("first")
        git(self.repository, "config", "uploadpack.allowAnySHA1InWant", "true")
        git(self.repository, "config", "uploadpack.allowFilter", "true")
        self.event_base = self.tip
        git(self.repository, "checkout", "--quiet", "-b", "change")
        (self.repository / "model.txt").write_text("head\n")
        self.head = commit(self.repository, "head")
        git(self.repository, "checkout", "--quiet", "main")

    @property
    def tip(self) -> str:
        return git(self.repository, "rev-parse", "main")

    def main(self, text: str) -> str:
        """A commit on main that writes its rules."""
        (self.repository / "accuracy.toml").write_text(f"{text}\n")
        return commit(self.repository, text)

    def merge(self, *, into: str = "main", head: str | None = None) -> str:
        """GitHub's merge of the head and a commit; it is on no branch."""
        git(self.repository, "checkout", "--quiet", "--detach", into)
        git(self.repository, "merge", "--quiet", "--no-ff", "-m", "merge", head or self.head)
        sha = git(self.repository, "rev-parse", "HEAD")
        git(self.repository, "update-ref", "refs/pull/7/merge", sha)
        git(self.repository, "checkout", "--quiet", "main")
        return sha

    def checked_out(self, sha: str) -> Runner:
        """A runner that has this commit checked out."""
        return runner_with(self.folder / "runner", self.repository, sha)

    def prepared(self, sha: str, *, runner: Runner | None = None, **variables: str) -> str:
        """The rules that decide on a runner that has this commit checked out."""
        runner = runner or self.checked_out(sha)
        facts = {
            "GITHUB_SHA": sha, "GITHUB_SERVER_URL": f"file://{self.folder / 'server'}",
            "ACCGATE_BASE_SHA": self.event_base, "ACCGATE_BASE_REF": "main", "ACCGATE_HEAD_SHA": self.head,
        }  # fmt: skip
        assert runner.prepare(**facts | variables).code == 0
        return (runner.work / "base/accuracy.toml").read_text().strip()


@pytest.fixture
def server(tmp_path: Path) -> Server:
    return Server(tmp_path)


def test_a_pull_request_is_not_blamed_for_what_main_got_since_its_event(server: Server) -> None:
    server.main("second")
    merge = server.merge()
    server.main("third")  # after the merge was made
    assert server.prepared(merge) == "second"


def test_a_merge_with_the_branch_of_before_is_not_believed_once_the_pull_request_was_retargeted(server: Server) -> None:
    git(server.repository, "checkout", "--quiet", "-b", "loose")
    server.main("loose")
    merge = server.merge(into="loose")
    git(server.repository, "checkout", "--quiet", "main")
    server.event_base = server.main("second")
    assert server.prepared(merge) == "second"


def test_a_loose_commit_inside_a_merged_branch_was_never_a_tip_of_main(server: Server) -> None:
    git(server.repository, "checkout", "--quiet", "-b", "loose")
    server.main("loose")
    loose = server.main("loose again")
    server.main("strict as before")
    git(server.repository, "checkout", "--quiet", "main")
    server.event_base = server.tip
    git(server.repository, "merge", "--quiet", "--no-ff", "-m", "merge loose", "loose")
    assert server.prepared(server.merge(into=loose)) == "first"


def test_a_merge_older_than_the_event_does_not_bring_the_older_rules_back(server: Server) -> None:
    merge = server.merge()
    server.event_base = server.main("stricter")
    assert server.prepared(merge) == "stricter"


@pytest.mark.parametrize("what", ["another head", "another commit checked out", "no server", "no such branch"])
def test_what_cannot_be_shown_leaves_the_events_base(server: Server, what: str, tmp_path: Path) -> None:
    server.main("second")
    merge = server.merge()
    variables = {
        "another head": {"ACCGATE_HEAD_SHA": "d" * 40},
        "another commit checked out": {"GITHUB_SHA": server.tip},
        "no server": {"GITHUB_SERVER_URL": f"file://{tmp_path / 'nowhere'}"},
        "no such branch": {"ACCGATE_BASE_REF": "mian"},
    }[what]
    assert server.prepared(merge, **variables) == "first"


def test_of_a_merge_whose_object_was_changed_in_the_workspace_the_servers_decides(server: Server) -> None:
    server.main("second")
    merge, evil = server.merge(), server.main("evil")
    runner = server.checked_out(merge)
    git(runner.workspace, "fetch", "--quiet", "--unshallow", "origin")
    tree, people = git(server.repository, "rev-parse", f"{merge}^{{tree}}"), "a <a> 1 +0000"
    forged = f"tree {tree}\nparent {evil}\nparent {server.head}\nauthor {people}\ncommitter {people}\n\nmerge\n"
    poison(runner.workspace, merge, forged.encode(), "commit")
    assert server.prepared(merge, runner=runner) == "second"
