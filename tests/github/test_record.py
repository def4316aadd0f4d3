"""`/accgate record` on a pull request: only what has no reference is recorded and committed to its branch."""

from __future__ import annotations

import html
import shutil
from pathlib import Path

import pytest

from accgate.errors import BadInput
from accgate.github.proposal import Options, propose
from accgate.github.response import respond
from accgate.github.runner import Job
from tests.github.asking import job, outputs, replies
from tests.github.server import GitHub
from tests.support.gates import Project, contents, questions, right_but, write_task

ASKED = "/accgate record"


class PullRequest:
    """A pull request that adds the task `terms` to a repository in which `sums` has a reference."""

    def __init__(self, hub: GitHub, folder: Path) -> None:
        self.hub, self.folder = hub, folder
        (folder / "head").mkdir()
        self.project = Project(folder / "head", n=20).recorded(right_but(2, 20))
        for name, keys in {"terms": {}, "fixed": {"target": 50.0}}.items():  # a target needs no reference
            write_task(self.project.folder, name, questions(20))
            self.project.tasks[name] = {"file": f"{name}.toml", **keys}
        self.project.write()
        self.project.answer(*[right_but(2, 20)] * 3)
        self.begun = contents(self.project.store)
        store = hub.store
        files = {f"references/{path.as_posix()}": content for path, content in self.begun.items()}
        tree = store.add_tree([{"path": p, "sha": store.add_blob(c), "mode": "100644"} for p, c in files.items()], None)
        self.head = store.refs["refs/heads/change"] = store.add_commit(tree, [], "a new task")
        store.add_pull(7, sha=self.head)
        store.add_check_run({"name": "accgate", "head_sha": self.head, "external_id": "11.1.7"})
        store.add_run(11)["status"] = "completed"

    def respond(self, **how: str) -> dict[str, str]:
        """The first job's outputs."""
        self.environ = job(self.folder, self.hub, ASKED, **how)
        assert respond(Job(self.environ, lambda _: self.hub.client(), lambda _: None), "accgate") == 0
        return outputs(self.environ)

    def propose(self) -> dict[str, str]:
        """The last job's outputs, with the files that the recording job left."""
        Path(self.environ["GITHUB_OUTPUT"]).write_text("")
        options = Options(self.project.store, self.head, how="commit")
        assert propose(options, Job(self.environ, lambda _: self.hub.client(), lambda _: None)) == 0
        return outputs(self.environ)

    def files(self) -> dict[str, bytes]:
        return self.hub.store.contents("change")


@pytest.fixture
def pull(hub: GitHub, tmp_path: Path) -> PullRequest:
    return PullRequest(hub, tmp_path)


def test_the_missing_references_become_a_commit_and_a_second_request_finds_none(pull: PullRequest) -> None:
    assert pull.respond() | {"number": "", "head-ref": "", "head-repository": ""} == {
        "command": "record", "number": "", "head-sha": pull.head, "head-ref": "", "head-repository": "", "reason": "",
        "requested-by": "will",
    }  # fmt: skip
    assert pull.project.record(args=["--missing", "--no-replies"]) == 0
    assert pull.begun.items() < contents(pull.project.store).items()
    assert pull.propose()["url"].endswith(pull.hub.store.refs["refs/heads/change"])
    old = {f"references/{path.as_posix()}": content for path, content in pull.begun.items()}
    assert old.items() < pull.files().items()
    assert pull.files().keys() - old == {"references/m/terms.scores.csv", "references/m/terms.toml"}
    assert "These checks had no reference" in replies(pull.hub)[0]
    pull.head = pull.hub.store.refs["refs/heads/change"]
    pull.hub.store.push(7, pull.head)
    pull.hub.store.add_check_run({"name": "accgate", "head_sha": pull.head, "external_id": "11.1.7"})
    assert pull.respond()["command"] == "record"
    before = contents(pull.project.store)
    assert pull.project.record(args=["--missing"]) == 0
    assert contents(pull.project.store) == before
    assert pull.propose() == {"url": ""}
    assert "Every check has a reference; /accgate accept REASON" in html.unescape(replies(pull.hub)[-1])


@pytest.mark.parametrize("name", ["sums.toml", "sums.anchor.toml", "sums.replies.jsonl.gz"])
def test_a_recording_job_that_touches_another_reference_is_refused(pull: PullRequest, name: str) -> None:
    pull.respond()
    assert pull.project.record(args=["--missing", "--no-replies"]) == 0
    if name == "sums.toml":
        shutil.rmtree(pull.project.store / "m")
        assert pull.project.record(*[right_but(9, 20)] * 3, args=["--no-replies"]) == 0
    else:
        (pull.project.store / "m" / name).write_bytes(b"x")
    before = pull.files()
    with pytest.raises(BadInput, match="sums"):
        pull.propose()
    assert pull.files() == before
