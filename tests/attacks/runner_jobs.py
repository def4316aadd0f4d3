"""Whole jobs of the action: its host scripts on a real checkout, and in the place of containers accgate itself."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha1
from pathlib import Path

import pytest

from accgate.cli.main import main
from tests.attacks.chain import Ended
from tests.github.server import GitHub
from tests.support.gates import Project, right_but, write_lines
from tests.support.pull_requests import NUMBER, Job
from tests.support.runner import GIT, FakeDocker, Runner, after, commit, git
from tests.support.trees import Trees

Change = Callable[[Project], object]
Step = Callable[[Path], object]


@dataclass(frozen=True)
class Checkout:
    """How a job checks out: into a folder of the workspace, the merge or the head's own commit; then other steps."""

    path: str = ""
    config: str = "accuracy.toml"
    of_head: bool = False
    step: Step = field(default=lambda _: None)


USUAL = Checkout()


class Jobs:
    """A repository on a server, and the jobs of its pull requests, each on a runner of its own."""

    def __init__(
        self, hub: GitHub, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        hub.store.add_pull(NUMBER)
        self.hub, self.folder, self.monkeypatch, self.capsys = hub, folder, monkeypatch, capsys
        self.server, self.count = folder / "server/octo/models", 0
        self.server.mkdir(parents=True)
        self.project = Project(self.server, n=60)
        self.ids = self.project.ids()
        (folder / "empty").mkdir()
        monkeypatch.chdir(folder / "empty")

    def begin(self, change: Change = lambda _: None) -> None:
        """Main as it is before the first pull request, with a reference of right answers."""
        self.project.recorded(right_but(0, 60))
        change(self.project)
        commit(self.server)
        git(self.server, "config", "uploadpack.allowAnySHA1InWant", "true")

    def pull(self, change: Change = lambda _: None, how: Checkout = USUAL, *, wrong: int = 0) -> Ended:
        """A pull request with this change, whose model has so many wrong answers, and the end of its job."""
        base = git(self.server, "rev-parse", "main")
        git(self.server, "checkout", "--quiet", "-B", "change", base)
        head_project = Trees._of(self.server, self.project)
        for path in self.server.rglob("m.jsonl"):
            self.answer(path, wrong)
        change(head_project)
        head = commit(self.server)
        git(self.server, "checkout", "--quiet", "--detach", base)
        git(self.server, "merge", "--quiet", "--no-ff", "-m", "merge", head)
        merge = git(self.server, "rev-parse", "HEAD")
        git(self.server, "update-ref", "refs/pull/7/merge", merge)
        git(self.server, "checkout", "--quiet", "main")
        runner = self.checked_out(head if how.of_head else merge, how)
        facts = {"GITHUB_SHA": merge, "ACCGATE_BASE_SHA": base, "ACCGATE_HEAD_SHA": head, "ACCGATE_BASE_REF": "main"}
        prepared = runner.prepare(**facts)
        assert prepared.code == 0, prepared.text
        job = Job(self.hub, self.folder / f"job{self.count}", self.monkeypatch, run=100 + self.count)
        assert main(["publish", "--start", "--state", str(runner.work / "publish/state.json")]) == 0
        code, said = self.evaluated(runner, ACCGATE_BASE_SHA=base)
        ended = self.in_place(runner, runner.publish, ACCGATE_BASE_SHA=base)
        conclusion = list(self.hub.store.check_runs.values())[-1]["conclusion"]
        guard = json.loads(job.outputs["json"])["guard"]
        return Ended(code, ended, conclusion, guard, prepared.text + said + self.capsys.readouterr().err)

    def merge(self) -> None:
        """Main becomes what the last pull request was merged to."""
        git(self.server, "merge", "--quiet", "--ff-only", "refs/pull/7/merge")

    def answer(self, path: Path, wrong: int) -> None:
        """Write answers of which so many are wrong."""
        rows = zip(self.ids, right_but(wrong, 60), strict=True)
        write_lines(path, [{"id": name, "score": score} for name, score in rows])

    def checked_out(self, sha: str, how: Checkout = USUAL) -> Runner:
        """A runner on which a job has checked this commit out, as actions/checkout does, and gone through its steps."""
        self.count += 1
        runner = runner_with(self.folder / f"runner{self.count}", self.server, sha, how.path)
        runner.variables |= {"GITHUB_SERVER_URL": f"file://{self.folder / 'server'}", "ACCGATE_CONFIG": how.config}
        how.step(runner.workspace / how.path)
        return runner

    def evaluated(self, runner: Runner, **variables: str) -> tuple[int, str]:
        """The exit code of the evaluating step, and what it said; a step that starts no container has written it."""
        self.capsys.readouterr()
        if (runner.work / "exit-code").exists():
            return runner.exit_code, ""
        code = self.in_place(runner, runner.evaluate, **variables)
        (runner.work / "exit-code").write_text(str(code))
        return code, self.capsys.readouterr().err

    def in_place(self, runner: Runner, step: Callable[..., object], **variables: str) -> int:
        """Run a step whose container is accgate in this process, on the files that it would have mounted."""
        docker = FakeDocker(runner)
        docker.forget()
        step(**variables)
        (argv,) = docker.runs
        mounts = {}
        for mount in after(argv, "--mount"):
            parts = dict(part.partition("=")[::2] for part in mount.split(","))
            mounts[parts["target"]] = parts["source"]

        def here(word: str) -> str:
            names = [name for name in mounts if word == name or word.startswith(f"{name}/")]
            return mounts[names[0]] + word[len(names[0]) :] if names else word

        words = [here(word) for word in argv[argv.index("accgate:test") + 1 :]]
        missing = [word for word in words if word.startswith("/accgate/")]  # what is not mounted is not there
        assert missing in ([], ["/accgate/base"]), missing
        return main([*words, *(["--quiet"] if words[0] in ("run", "record") else [])])


def runner_with(folder: Path, server: Path, sha: str, path: str = "") -> Runner:
    """A runner that has a commit checked out, as actions/checkout does it."""
    runner = Runner(folder)
    FakeDocker(runner)
    place = runner.workspace / path
    place.mkdir(parents=True, exist_ok=True)
    git(place, "init", "--quiet", "--initial-branch=main")
    git(place, "remote", "add", "origin", f"file://{server}")
    git(place, "fetch", "--quiet", "--depth=1", "origin", sha)
    git(place, "checkout", "--quiet", "--detach", sha)
    return runner


def move_to(project: Project, name: str) -> None:
    """Move all of a project into a folder of its repository."""
    folder = project.folder / name
    folder.mkdir()
    for path in [path for path in project.folder.iterdir() if path.name not in (".git", name)]:
        path.rename(folder / path.name)


def replace(path: Path, content: str | bytes | None) -> None:
    """Give a file another content, or remove it."""
    if os.path.lexists(path):
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    if content is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


def poison(place: Path, name: str, content: bytes, kind: str = "blob") -> None:
    """Put other content under the name of an object of a clone."""
    packs = place.parent / "packs"
    packs.mkdir()
    for path in (place / ".git/objects/pack").iterdir():
        path.rename(packs / path.name)
    for path in packs.glob("*.pack"):
        subprocess.run([*GIT, "-C", str(place), "unpack-objects", "-q"], input=path.read_bytes(), check=True)
    content = f"{kind} {len(content)}\0".encode() + content
    assert sha1(content).hexdigest() != name
    file = place / ".git/objects" / name[:2] / name[2:]
    file.chmod(0o644)
    file.write_bytes(zlib.compress(content))
