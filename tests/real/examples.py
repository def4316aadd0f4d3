"""A repository whose workflows are those of .github/examples, and act to run them."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from accgate._version import REPOSITORY as WHOSE
from tests.github.server import GitHub
from tests.github.store import REPOSITORY
from tests.real import docker
from tests.real.act import act
from tests.support.gates import Project, right_but
from tests.support.pull_requests import NUMBER
from tests.support.runner import ROOT, commit, git, load_yaml

STAND_INS = Path(__file__).parent / "stand_ins"
# act would download these; the scripts do the same with a folder of this machine.
DOWNLOADED = {"actions/upload-artifact": "upload", "actions/download-artifact": "download"}
OURS = {f"{WHOSE}@v1": "./.github/accgate", f"{WHOSE}/report@v1": "./.github/accgate/report"}
IMAGE = re.compile(rf"ghcr\.io/{re.escape(WHOSE)}:[\w.-]+")


class Example:
    """A repository with recorded references of 10 wrong answers in 200, and its GitHub."""

    def __init__(self, folder: Path, hub: GitHub, models: Sequence[str] = ("m",)) -> None:
        self.folder, self.hub, self.space, self.artifacts = folder, hub, folder / "space", folder / "artifacts"
        action = self.space / ".github/accgate"
        for made in (action, self.artifacts, folder / "bin", folder / "trees"):
            made.mkdir(parents=True)
        self.artifacts.chmod(0o777)  # jobs in containers have users of their own
        shutil.copy(STAND_INS / "gh", folder / "bin")
        for name in ("action", "report"):
            shutil.copytree(ROOT / name, action / name)
        shutil.copy(ROOT / "action.yml", action)
        for path in (action / "action.yml", action / "report/action.yml"):
            path.write_text(IMAGE.sub(docker.IMAGE, path.read_text()))
        self.project = Project(self.space)
        self.project.models = {name: {"engine": "recorded", "model": f"{name}.jsonl"} for name in models}
        self.project.write()
        self.answer(*(10 for _ in models))
        assert self.project.record() == 0
        for rest in self.space.glob("record-out-*"):
            shutil.rmtree(rest)
        self.base = self.commit("base")
        git(self.space, "remote", "add", "origin", f"https://github.com/{REPOSITORY}.git")

    def answer(self, *wrong: int) -> None:
        """Give each model so many wrong answers."""
        for name, number in zip(self.project.models, wrong, strict=True):
            self.project.answer(right_but(number), path=self.space / f"{name}.jsonl")

    def commit(self, message: str) -> str:
        sha = commit(self.space, message)
        subprocess.run(["git", "-C", str(self.space), "archive", f"--output={self.folder}/trees/{sha}.tar", sha],
                       check=True)  # fmt: skip
        return sha

    def push(self, *wrong: int, **pull: Any) -> str:
        """Commit models that have so many wrong answers, as the head of the pull request."""
        self.answer(*wrong)
        sha = self.commit("head")
        self.hub.store.add_pull(NUMBER, sha=sha, **pull)["base"] |= {"sha": self.base}
        return sha

    def run(
        self, name: str, event: str, payload: Mapping[str, Any], instead: Mapping[str, str] | None = None
    ) -> tuple[int, str]:
        """Run the example for this event; act's exit code, and what it printed.

        `instead` are texts of the example that this machine needs otherwise.
        """
        text = IMAGE.sub(docker.IMAGE, (ROOT / f".github/examples/{name}.yml").read_text())
        for old, new in {"/var/cache/accgate": f"{self.folder}/cache", **(instead or {})}.items():
            assert old in text or old.startswith("/var"), old
            text = text.replace(old, new)
        path = self.folder / f"{name}.yml"
        path.write_text(text)
        workflow = load_yaml(path)
        for job in workflow["jobs"].values():
            named = [step.get("uses", "") for step in job["steps"]]
            if {*OURS} & {*named} and not any(name.startswith("actions/checkout@") for name in named):
                job["steps"].insert(0, {"uses": "actions/checkout@v4"})  # the action lies in the repository here
            job["steps"] = [*map(self.step, job["steps"])]
            if "container" in job:
                job["container"]["options"] = f"{job['container'].get('options', '')} {self.mount}".strip()
        path.write_text(yaml.safe_dump(workflow, sort_keys=False))
        variables = {"ARTIFACTS": str(self.artifacts)}
        return act(self.folder, self.space, self.hub, event, payload, "--workflows", str(path), **variables)

    def step(self, step: dict[str, Any]) -> dict[str, Any]:
        """The step as act can run it."""
        uses, given = step.get("uses", ""), step.get("with", {})
        name = uses.partition("@")[0]
        script = "checkout" if name == "actions/checkout" and "ref" in given else DOWNLOADED.get(name)
        if script is None:
            return step | ({"uses": OURS[uses]} if uses in OURS else {})
        env = {
            f"WITH_{key.upper().replace('-', '_')}": str(value).replace("True", "true") for key, value in given.items()
        }
        rest = {key: value for key, value in step.items() if key not in ("uses", "with")}
        return rest | {"shell": "bash", "env": env, "run": (STAND_INS / f"{script}.sh").read_text()}

    @property
    def mount(self) -> str:
        """The options of a job's container that show it the artifacts and commits."""
        folders = self.artifacts, self.folder / "trees"
        return " ".join(f"--mount type=bind,source={each},target={each}" for each in folders)

    @property
    def checks(self) -> list[tuple[str, str]]:
        """Names and conclusions of the check runs, by name."""
        return sorted((row["name"], row["conclusion"]) for row in self.hub.store.check_runs.values())

    def comments(self) -> Iterator[str]:
        """The headlines of the comments on the pull request."""
        for row in self.hub.comments(NUMBER):
            yield row["body"].splitlines()[1]
