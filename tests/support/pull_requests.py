"""Pull requests in two folders, the base's tree and the head's, and a GitHub that hears of them."""

import atexit
import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from accgate.cli.main import main
from tests.github.asking import outputs_of
from tests.github.server import TOKEN, GitHub
from tests.github.store import BASE, HEAD, REPOSITORY
from tests.support.gates import N, Project, right_but

NUMBER = 7


@cache
def recorded(keys: str) -> Path:
    """A project of these keys with a recorded reference of perfect scores, which nobody changes: copy it."""
    folder = tempfile.TemporaryDirectory(prefix="accgate-recorded-")
    atexit.register(folder.cleanup)
    options = json.loads(keys)
    project = Project(Path(folder.name), **options)
    assert project.record(*(right_but(0, options.get("n", N)) for _ in project.tasks)) == 0
    return project.folder


class PullRequest:
    """A base with a recorded reference of perfect scores, and a head that starts as its copy."""

    def __init__(self, folder: Path, **keys: Any) -> None:
        for name in ("base", "head"):
            shutil.copytree(recorded(json.dumps(keys)), folder / name)
        self.base = Project(folder / "base", **keys)
        self.head = Project(folder / "head", **keys)

    def run(self, *args: str) -> int:
        base = str(self.base.config)
        return main(
            ["run", str(self.head.config), "--base", base, "--out", str(self.head.out), "--quiet", *args],
        )


def event_of(hub: GitHub, number: int = NUMBER, action: str = "synchronize") -> dict[str, Any]:
    """The payload of a `pull_request` event, from what GitHub holds."""
    pull = hub.store.pulls[number]
    return {"action": action, "number": number, "pull_request": pull, "repository": {"full_name": REPOSITORY}}


def variables_of(hub: GitHub, folder: Path, name: str, event: Path) -> dict[str, str]:
    """What a step of a job has in its environment; its files are in the folder."""
    return {
        "GITHUB_ACTIONS": "true", "GITHUB_API_URL": hub.url, "GITHUB_EVENT_NAME": name, "GITHUB_EVENT_PATH": str(event),
        "GITHUB_OUTPUT": str(folder / "output"), "GITHUB_REPOSITORY": REPOSITORY, "GITHUB_RUN_ATTEMPT": "1",
        "GITHUB_RUN_ID": "100", "GITHUB_SERVER_URL": hub.store.web, "GITHUB_SHA": "c" * 40,
        "GITHUB_STEP_SUMMARY": str(folder / "summary"), "GITHUB_TOKEN": TOKEN,
    }  # fmt: skip


class Job:
    """A job of GitHub Actions: its variables and files, in a folder."""

    def __init__(
        self, hub: GitHub, folder: Path, monkeypatch: pytest.MonkeyPatch, *, name: str = "pull_request", run: int = 100
    ) -> None:
        folder.mkdir(exist_ok=True)
        self.folder, self.event = folder, folder / "event.json"
        self.outputs_file, self.summary_file = folder / "output", folder / "summary"
        self.state = folder / "state.json"
        self.variables = variables_of(hub, folder, name, self.event) | {"GITHUB_RUN_ID": str(run)}
        for key in [key for key in os.environ if key.startswith("GITHUB_")]:
            monkeypatch.delenv(key)
        for key, value in self.variables.items():
            monkeypatch.setenv(key, value)
        self.write(event_of(hub) if name.startswith("pull_request") else {"repository": {"default_branch": "main"}})

    def write(self, payload: Mapping[str, Any]) -> None:
        self.event.write_text(json.dumps(payload), encoding="utf-8")

    def start(self, *args: str) -> int:
        return main(["publish", "--start", "--state", str(self.state), *args])

    def publish(self, result: Path, *args: str) -> int:
        return main(["publish", str(result), "--state", str(self.state), *args])

    @property
    def outputs(self) -> dict[str, str]:
        """The step's outputs."""
        return outputs_of(self.outputs_file)

    @property
    def summary(self) -> str:
        return self.summary_file.read_text(encoding="utf-8")


class Gate:
    """A pull request, its GitHub, and the job that gates it, in a new attempt for each run."""

    attempts = 0

    def __init__(self, hub: GitHub, folder: Path, monkeypatch: pytest.MonkeyPatch, **keys: Any) -> None:
        self.hub, self.monkeypatch, self.folder = hub, monkeypatch, folder
        hub.store.add_pull(NUMBER)
        self.pull = PullRequest(folder, **keys)
        self.head, self.base = self.pull.head, self.pull.base
        self.job = Job(hub, folder / "job", monkeypatch)

    @property
    def result(self) -> Path:
        return self.head.out / "accgate.json"

    def run(self, *args: str) -> int:
        """Open the check, evaluate, publish; the job's exit code."""
        self.job.outputs_file.unlink(missing_ok=True)
        self.attempts += 1
        self.monkeypatch.setenv("GITHUB_RUN_ATTEMPT", str(self.attempts))
        assert self.job.start() == 0
        code = self.pull.run()
        return self.publish("--exit-code", str(code), *args)

    def publish(self, *args: str) -> int:
        trees = ("--head", str(self.head.folder), "--base", str(self.base.folder))
        return self.job.publish(self.result, *trees, *args)

    @property
    def comment(self) -> str:
        (comment,) = self.hub.comments(NUMBER)
        return comment["body"]

    @property
    def check_run(self) -> dict[str, Any]:
        return list(self.hub.store.check_runs.values())[-1]

    @property
    def annotations(self) -> list[dict[str, Any]]:
        return self.hub.store.annotations[self.check_run["id"]]


__all__ = ["BASE", "HEAD", "NUMBER", "Gate", "Job", "PullRequest", "event_of"]
