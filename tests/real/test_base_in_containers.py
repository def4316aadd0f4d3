"""A pull request whose event is stale and whose tree would bend the base's files, whole on a real engine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.github.server import GitHub
from tests.github.store import BOT
from tests.real.docker import LABEL, machine
from tests.support.gates import recorded_project, right_but
from tests.support.pull_requests import NUMBER, event_of
from tests.support.runner import TOKEN, Runner, commit, git

pytestmark = pytest.mark.container
FIRST, SECOND = 0.05, 0.02  # alpha of main when the event came, and of the commit that was merged with


@dataclass(frozen=True)
class Stale:
    """A runner that has the merge of a head and a newer base than its event names."""

    runner: Runner
    hub: GitHub


@pytest.fixture
def stale(image: str) -> Iterator[Stale]:
    with machine() as runner, GitHub(tokens={TOKEN: BOT}) as hub:
        server = runner.folder / "server/octo/models"
        server.mkdir(parents=True)
        project = recorded_project(server, 200)
        project.write(alpha=FIRST)
        base = commit(server, "first")
        for key in ("allowAnySHA1InWant", "allowFilter"):
            git(server, "config", f"uploadpack.{key}", "true")
        git(server, "checkout", "--quiet", "-b", "change")
        project.answer(right_but(12))
        # What an export of the base by the head's attributes would leave out, or change.
        (server / ".gitattributes").write_text("references/** export-ignore\naccuracy.toml filter=bend\n")
        head = commit(server, "head")
        git(server, "checkout", "--quiet", "main")
        project.write(alpha=SECOND)
        project.answer(right_but(10))
        commit(server, "second")
        git(server, "checkout", "--quiet", "--detach", "main")
        git(server, "merge", "--quiet", "--no-ff", "-X", "theirs", "-m", "merge", "change")
        merge = git(server, "rev-parse", "HEAD")
        git(server, "update-ref", "refs/pull/7/merge", merge)
        git(server, "checkout", "--quiet", "main")
        space = runner.workspace
        git(space, "init", "--quiet", "--initial-branch=main")
        git(space, "remote", "add", "origin", f"file://{server}")
        git(space, "fetch", "--quiet", "--depth=1", "origin", merge)
        git(space, "checkout", "--quiet", "--detach", merge)
        git(space, "config", "filter.bend.smudge", "sed s/0.02/0.9/")
        hub.store.add_pull(NUMBER, sha=head)["base"] |= {"sha": base}
        (runner.folder / "event.json").write_text(json.dumps(event_of(hub)))
        runner.variables |= {
            "GITHUB_API_URL": hub.url, "GITHUB_ACTIONS": "true", "GITHUB_SHA": merge, "ACCGATE_BASE_REF": "main",
            "GITHUB_SERVER_URL": f"file://{runner.folder / 'server'}", "ACCGATE_BASE_SHA": base,
            "ACCGATE_HEAD_SHA": head, "ACCGATE_CHECK_NAME": "accgate",
        }  # fmt: skip
        runner.own()
        yield Stale(runner, hub)


def test_the_merged_base_decides_and_what_a_container_forged_is_refused(stale: Stale) -> None:
    runner, store = stale.runner, stale.hub.store
    prepared = runner.prepare()
    assert prepared.code == 0, prepared.text
    assert "older than the one merged with" in prepared.text
    assert f"alpha = {SECOND}" in (runner.work / "base/accuracy.toml").read_text()
    assert (runner.work / "base/references/m/sums.scores.csv").exists()
    assert runner.step("start.sh", ACCGATE_TOKEN=TOKEN).code == 0
    evaluated = runner.evaluate(ACCGATE_DOCKER_OPTIONS=f"--network none --label {LABEL}")
    assert runner.exit_code == 0, evaluated.text
    path = runner.work / "out/accgate.json"
    true = path.read_text()
    (check,) = json.loads(true)["checks"]
    assert check["alpha"] == SECOND

    forged = check | {"candidate": check["candidate"] | {"mean": 99}}
    path.write_text(json.dumps(json.loads(true) | {"checks": [forged]}))
    refused = runner.publish()
    (run,) = store.check_runs.values()
    assert (refused.code, run["conclusion"]) == (3, "failure"), refused.text
    assert run["output"]["title"] == "Result refused: it does not follow from the run's records"
    assert "mean: is 99, but the records give" in refused.text

    path.write_text(true)
    published = runner.publish()
    (run,) = store.check_runs.values()
    assert (published.code, run["conclusion"]) == (0, "success"), published.text
    (comment,) = stale.hub.comments(NUMBER)
    assert "Passed: " in comment["body"]
