"""A repository, its pull requests one after the other, and each job with two checkouts side by side: base and head."""

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from accgate.cli.main import main
from tests.github.server import GitHub
from tests.support.gates import Project, right_but
from tests.support.pull_requests import NUMBER, Job
from tests.support.runner import commit, git
from tests.support.trees import Trees

Change = Callable[[Project], object]


@dataclass(frozen=True)
class Ended:
    """How the job of a pull request ended."""

    run: int  # the evaluation's exit code
    job: int
    conclusion: str
    guard: dict[str, Any]
    said: str

    @property
    def is_green(self) -> bool:
        return self.conclusion in ("success", "neutral") or self.job == 0

    @property
    def rules(self) -> dict[str, str]:
        """The rules that the guard lists, each with its effect."""
        return {change["rule"]: change["effect"] for change in self.guard["changes"]}


class Chain:
    """A project with a recorded reference on main, and pull requests that are opened and merged one by one."""

    def __init__(
        self, hub: GitHub, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        hub.store.add_pull(NUMBER)
        self.hub, self.folder, self.monkeypatch, self.capsys = hub, folder, monkeypatch, capsys
        self.repository, self.jobs = folder / "repository", 0
        self.repository.mkdir()
        self.project = Project(self.repository, n=60)
        (folder / "empty").mkdir()
        monkeypatch.chdir(folder / "empty")

    def begin(self, change: Change = lambda _: None, *, wrong: int = 0) -> None:
        """Main as it is before the first pull request, with a reference of so many wrong answers."""
        change(self.project)
        self.project.recorded(*(right_but(wrong, 60) for _ in self.project.tasks))
        commit(self.repository)

    def checkout(self, name: str) -> Project:
        """A fresh clone of main in the folder of this name, side by side with the others."""
        folder = self.folder / name
        shutil.rmtree(folder, ignore_errors=True)
        git(self.folder, "clone", "--quiet", "--shared", "--template=", str(self.repository), str(folder))
        return Trees._of(folder, self.project)

    def pull(self, change: Change, *, wrong: int = 0) -> Ended:
        """A pull request with this change, whose model has so many wrong answers, and its job's end."""
        base, head = self.checkout("base"), self.checkout("head")
        head.answer(*(right_but(wrong, 60) for _ in head.tasks))
        change(head)
        commit(head.folder)
        self.jobs += 1
        job = Job(self.hub, self.folder / f"job{self.jobs}", self.monkeypatch, run=100 + self.jobs)
        out = self.folder / f"out{self.jobs}"
        assert job.start() == 0
        self.capsys.readouterr()
        code = main(["run", str(head.config), "--base", str(base.config), "--out", str(out), "--quiet"])
        said = self.capsys.readouterr().err
        trees = ("--head", str(head.folder), "--base", str(base.folder))
        ended = job.publish(out / "accgate.json", *trees, "--exit-code", str(code))
        conclusion = list(self.hub.store.check_runs.values())[-1]["conclusion"]
        return Ended(code, ended, conclusion, json.loads(job.outputs["json"])["guard"], said)

    def merge(self) -> None:
        """Main becomes what the last pull request was, as somebody who may merge could do whatever its check says."""
        git(self.repository, "pull", "--quiet", "--ff-only", str(self.folder / "head"), "HEAD")

    def main(self) -> int:
        """The exit code of the gate's run on main, as the action runs it after a push."""
        project = self.checkout("main")
        out = str(self.folder / "out-main")
        return main(["run", str(project.config), "--tree", str(project.folder), "--out", out, "--quiet"])


def link(path: Path, target: str) -> None:
    """Put a link in the place of a file or folder."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    elif os.path.lexists(path):
        path.unlink()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)
