"""What comes from GitHub and goes to it: events, answers of the API, artifacts of a run, and the comment's template."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

from tests.fuzz.gates import LOST, N, project
from tests.fuzz.target import Ended, Target, command
from tests.github import shapes
from tests.github.asking import job
from tests.github.server import Failing, GitHub
from tests.github.store import REPOSITORY, Store
from tests.support.gates import right_but
from tests.support.pull_requests import NUMBER, event_of, variables_of
from tests.support.servers import Fault


class Told(GitHub):
    """A GitHub that gives these answers in the place of its own, and remembers its own, by the name of a file."""

    def begin(self, told: Mapping[str, bytes]) -> None:
        """A new repository with one pull request."""
        self.store, self.told, self.heard = Store(), told, {}
        self.store.add_pull(NUMBER)

    def _fault(self, asked: Any) -> Failing | None:
        content = self.told.get(name_of(asked))
        if content is None:
            return None
        return Failing(Fault(201 if asked.method == "POST" else 200, content), performed=True)

    def _perform(self, asked: Any) -> tuple[int, Any, dict[str, str]]:
        status, answer, more = super()._perform(asked)
        self.heard[name_of(asked)] = json.dumps(answer, indent=1).encode()
        return status, answer, more


def name_of(asked: Any) -> str:
    """The file of an answer."""
    return f"{asked.method}{asked.path.removeprefix(f'/repos/{REPOSITORY}').replace('/', '-')}.json"


@cache
def hub() -> Told:
    """The server of this process."""
    return Told().__enter__()


def in_job(folder: Path, name: str, event: Path, *arguments: object) -> Ended:
    """Run a command as a step; no request is waited for."""
    with mock.patch("accgate.cli.github._client_of", return_value=hub().client()):
        ended = command(*arguments, env=variables_of(hub(), folder, name, event))
    return Ended(ended.code, ended.said, False, ended.shown)


TEMPLATE = "{% extends 'comment.md.j2' %}{% block headline %}{{ super() }} {{ result.verdict }}{% endblock %}"


def with_template(folder: Path) -> None:
    two_trees(folder, '[report]\ntemplate = "comment.j2"\n')


def two_trees(folder: Path, more: str = "") -> None:
    (folder / "base").mkdir()
    made = project(folder / "base")
    made.config.write_text(made.config.read_text() + more)
    if more:
        (folder / "base/comment.j2").write_text(TEMPLATE)
    shutil.copytree(folder / "base", folder / "head")
    made.answer(right_but(LOST, N), path=folder / "head/m.jsonl")
    command("run", folder / "head/accuracy.toml", "--base", folder / "base/accuracy.toml", "--out", folder / "out")
    hub().begin({})
    (folder / "event.json").write_text(json.dumps(event_of(hub())))


def published(folder: Path, told: Mapping[str, bytes] | None = None) -> Ended:
    """Open the check and publish; a pass is a job or check that did not fail."""
    hub().begin(told or {})
    event, state = folder / "event.json", folder / "state.json"
    first = in_job(folder, "pull_request", event, "publish", "--start", "--state", state)
    trees = ("--head", folder / "head", "--base", folder / "base", "--exit-code", 1)
    ended = in_job(folder, "pull_request", event, "publish", folder / "out/accgate.json", "--state", state, *trees)
    ends = [run["conclusion"] for run in hub().store.check_runs.values()]
    passed = ended.code == 0 or "success" in ends or "neutral" in ends
    return Ended(ended.code, first.said + ended.said, passed, shown=True)


def answers(folder: Path) -> None:
    two_trees(folder)
    assert published(folder).code == 1
    (folder / "api").mkdir()
    for name, content in hub().heard.items():
        (folder / "api" / name).write_bytes(content)
    for name in ("state.json", "output", "summary"):
        (folder / name).unlink()


def answered(folder: Path) -> Ended:
    """Publish, with the answers of a folder where they are not GitHub's own."""
    clean = {path.name: path.read_bytes() for path in (folder.parent / "clean/api").iterdir()}
    told = {path.name: path.read_bytes() for path in (folder / "api").iterdir()}
    return published(folder, {name: content for name, content in told.items() if clean.get(name) != content})


def events(folder: Path) -> None:
    hub().begin({})
    (folder / "pull_request.json").write_text(json.dumps(event_of(hub()), indent=1))
    hub().begin({})
    job(folder, hub(), "/accgate accept the new tokenizer", by="will")
    (folder / "event.json").rename(folder / "issue_comment.json")
    review = {"id": 5, "state": "approved", "user": shapes.user("maria"), "commit_id": "a" * 40}
    payload = event_of(hub(), action="submitted") | {"review": review}
    (folder / "pull_request_review.json").write_text(json.dumps(payload, indent=1))
    run = {
        "id": 90, "run_attempt": 1, "head_sha": "a" * 40, "head_branch": "change", "event": "pull_request",
        "head_repository": {"full_name": REPOSITORY}, "pull_requests": [{"number": NUMBER}], "conclusion": "success",
    }  # fmt: skip
    workflow = {"action": "completed", "workflow_run": run, "repository": {"full_name": REPOSITORY}}
    (folder / "workflow_run.json").write_text(json.dumps(workflow, indent=1))
    for name in ("output", "event.json"):
        (folder / name).unlink(missing_ok=True)


COMMANDS = {"pull_request": ("publish", "--start"), "workflow_run": ("publish", "none.json", "--untrusted")}


def heard(folder: Path) -> Ended:
    """What each event starts."""
    said, codes = "", []
    for path in sorted(folder.glob("*.json")):
        arguments = COMMANDS.get(path.stem, ("respond",))
        hub().begin({})
        job(folder.parent, hub(), "/accgate accept the new tokenizer", by="will")
        ended = in_job(folder, path.stem, path, *arguments)
        said, codes = said + ended.said, [*codes, ended.code]
    return Ended(max(codes), said, shown=True)


HUB = (
    Target("events", ("*.json",), events, heard),
    Target("artifacts", ("out/m/*", "out/accgate.json"), two_trees, published),
    Target("comments", ("base/comment.j2",), with_template, published),
    Target("answers", ("api/*.json",), answers, answered),
)
