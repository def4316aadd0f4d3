"""GitHub's own description of its API judges every request of the operations, and every answer of the tests' GitHub."""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from accgate.github.api.answers import CannotReach, Refused
from accgate.github.api.client import Client
from accgate.github.approvals import find_approval, fork_is_allowed
from accgate.github.branch import push_files
from accgate.github.check_runs import Annotation, CheckRuns
from accgate.github.comments import State, comment_key, put_comment
from accgate.github.event import find_pull_request
from accgate.github.proposal import Options, propose
from accgate.github.response import respond
from accgate.github.runner import Job
from accgate.history.file import NAME, add_to
from accgate.history.page import html_page
from tests.github.asking import job, outputs
from tests.github.recorded import recorded_stores
from tests.github.routes import Asked
from tests.github.server import TOKEN, GitHub
from tests.github.store import HEAD, REPOSITORY
from tests.github.test_proposal import World
from tests.history.made import run
from tests.support.runner import KEPT
from tests.support.servers import Fault

pytestmark = pytest.mark.interop

PACKAGES = ["@octokit/openapi@23.0.2", "@stoplight/prism-cli@5.14.2"]
FOLDER = KEPT / "openapi"
INSTALL_SECONDS = 1800
START_SECONDS = 900

ANSWERED: set[str] = set()  # names of fields
REPO = "/repos/{owner}/{repo}"
PATHS = [  # the whole description takes Prism half a minute to load
    REPO,
    f"{REPO}/issues/{{issue_number}}/comments",
    f"{REPO}/issues/comments/{{comment_id}}",
    f"{REPO}/issues/{{issue_number}}/events",
    f"{REPO}/check-runs",
    f"{REPO}/check-runs/{{check_run_id}}",
    f"{REPO}/commits/{{ref}}/check-runs",
    f"{REPO}/pulls",
    f"{REPO}/pulls/{{pull_number}}",
    f"{REPO}/pulls/{{pull_number}}/reviews",
    f"{REPO}/collaborators/{{username}}/permission",
    f"{REPO}/actions/runs/{{run_id}}",
    f"{REPO}/actions/runs/{{run_id}}/approvals",
    f"{REPO}/actions/runs/{{run_id}}/rerun",
    f"{REPO}/issues/comments/{{comment_id}}/reactions",
    f"{REPO}/git/blobs",
    f"{REPO}/git/blobs/{{file_sha}}",
    f"{REPO}/git/trees",
    f"{REPO}/git/trees/{{tree_sha}}",
    f"{REPO}/git/commits",
    f"{REPO}/git/commits/{{commit_sha}}",
    f"{REPO}/git/refs",
    f"{REPO}/git/refs/{{ref}}",
    f"{REPO}/git/ref/{{ref}}",
]


def inner(value: Any) -> Iterator[dict[str, Any]]:
    """Every object in a value, the outer ones first."""
    if isinstance(value, dict):
        yield value
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from inner(each)


def only(paths: list[str], description: dict[str, Any]) -> dict[str, Any]:
    """The description with these paths and what they refer to; an answer may lack fields that nothing reads."""
    parts: dict[str, dict[str, Any]] = {}

    def follow(value: Any) -> None:
        if isinstance(value, list):
            for item in value:
                follow(item)
        elif isinstance(value, dict):
            found = re.fullmatch(r"#/components/([^/]+)/(.+)", str(value.get("$ref")))
            if found and found[2] not in parts.setdefault(found[1], {}):
                parts[found[1]][found[2]] = description["components"][found[1]][found[2]]
                follow(parts[found[1]][found[2]])
            for item in value.values():
                follow(item)

    kept = {path: description["paths"][path] for path in paths}
    follow(kept)
    operations = [operation for path in kept.values() for operation in path.values() if isinstance(operation, dict)]
    for schema in inner([parts, [operation["responses"] for operation in operations]]):
        if isinstance(schema.get("required"), list):
            del schema["required"]
    return {key: description[key] for key in ("openapi", "info")} | {"paths": kept, "components": parts}


def prism_installed() -> Path:
    """The folder where npm has put Prism and the description; skips where it cannot."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if not node or not npm:
        pytest.skip("needs node and npm")
    mark = FOLDER / "installed.json"
    if not mark.exists() or json.loads(mark.read_text()) != PACKAGES:
        FOLDER.mkdir(parents=True, exist_ok=True)
        command = [npm, "install", "--prefix", str(FOLDER), "--no-audit", "--no-fund", "--ignore-scripts", *PACKAGES]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False)
        except subprocess.TimeoutExpired:
            pytest.skip(f"npm did not install {PACKAGES} in {INSTALL_SECONDS} s")
        if done.returncode:
            pytest.skip(f"npm cannot install {PACKAGES}: {done.stderr[-300:]}")
        mark.write_text(json.dumps(PACKAGES))
    return FOLDER / "node_modules"


@pytest.fixture(scope="module")
def hub() -> Iterator[GitHub]:
    """The tests' GitHub, which notes the names of the fields of all that it answers."""
    with GitHub() as hub:
        route = hub._route

        def noting(asked: Asked, path: str) -> Any:
            answer = route(asked, path)
            ANSWERED.update(name for row in inner(answer) for name in row)
            return answer

        hub._route = noting  # type: ignore[method-assign]
        yield hub


@pytest.fixture(scope="module")
def proxy(hub: GitHub, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Prism in front of the server; what breaks the description is answered with an error."""
    folder, packages = tmp_path_factory.mktemp("prism"), prism_installed()
    whole = json.loads((packages / "@octokit/openapi/generated/api.github.com.json").read_bytes())
    description = only(PATHS, whole)
    (folder / "api.json").write_text(json.dumps(description))
    named = {
        name for row in inner(description) if isinstance(row.get("properties"), dict) for name in row["properties"]
    }
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    prism = str(packages / "@stoplight/prism-cli/dist/index.js")
    command = [
        "node",
        prism,
        "proxy",
        "--errors",
        "-h",
        "127.0.0.1",
        "-p",
        str(port),
        str(folder / "api.json"),
        hub.url,
    ]
    log = folder / "log"
    with log.open("wb") as file, subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT) as process:
        try:
            deadline = time.monotonic() + START_SECONDS
            while b"Prism is listening" not in log.read_bytes():
                assert process.poll() is None, log.read_text()
                assert time.monotonic() < deadline, f"Prism did not start in {START_SECONDS} s: {log.read_text()}"
                time.sleep(0.1)
            yield f"http://127.0.0.1:{port}"
            assert named >= ANSWERED
        finally:
            process.terminate()
            try:
                process.wait(120)
            except subprocess.TimeoutExpired:
                process.kill()
    print(log.read_text()[-5000:])


@pytest.fixture
def client(proxy: str) -> Client:
    return Client(proxy, TOKEN, sleep=lambda _: None)


@pytest.fixture(autouse=True)
def fresh(hub: GitHub, proxy: str) -> None:
    """Empty storage for each test; the server and Prism stay."""
    hub.store, hub.failing, hub.asked = GitHub().store, [], []
    hub.store.add_pull(7)


def test_a_request_that_breaks_the_description_is_refused_on_its_way(client, hub):
    body = {"name": "accgate", "head_sha": HEAD, "external_id": 7}
    with pytest.raises(Refused, match="422"):
        client.post(f"/repos/{REPOSITORY}/check-runs", body, needs="checks: write")
    assert not hub.asked


def test_an_answer_that_breaks_the_description_is_an_error(client, hub):
    hub.fail(Fault(200, [{"id": "x"}], {"content-type": "application/json"}), times=9)
    with pytest.raises(CannotReach, match="failed with 500"):
        list(client.pages(f"/repos/{REPOSITORY}/issues/7/comments"))


def test_comments_are_written_found_updated_and_deleted(client, hub):
    for number in range(120):
        hub.store.add_comment(7, "rita" if number else None, f"comment {number}")
    key, passed = comment_key("accuracy.toml", "accgate"), State("pass", "unchanged", passed=True)
    event = hub.event()
    url = put_comment(client, event, key=key, state=passed, body="one")
    hub.store.add_comment(7, "github-actions[bot]", hub.comments(7)[-1]["body"])
    assert put_comment(client, event, key=key, state=passed, body="two") == url
    assert len(hub.comments(7)) == 121
    assert hub.comments(7)[-1]["body"].endswith("\ntwo")
    assert [hub.count(method, "comments") for method in ("GET", "POST", "PATCH", "DELETE")] == [6, 1, 1, 1]


def test_check_runs_are_opened_finished_and_looked_for(client, hub):
    event = hub.event()
    hub.fail(Fault(502, {}), method="POST", performed=True)
    checks = CheckRuns(client, event, "accgate")
    id_ = checks.open("Running", "It runs.")
    notes = [Annotation("accuracy.toml", line, "warning", "drop", "A drop.") for line in range(1, 121)]
    hub.fail(Fault(502, {}), method="PATCH", performed=True)
    assert checks.finish("failure", "Failed", "A drop.", notes, number=id_) == id_
    assert checks.finish("cancelled", "Failed", "A drop.", notes) != id_
    assert len(hub.store.annotations[id_]) == 120
    assert len(list(checks.rows())) == 2


def test_approvals_by_review_are_read(client, hub):
    hub.store.add_review(7, "rita", "APPROVED")
    hub.store.add_review(7, "maria", "APPROVED")
    assert find_approval(client, hub.event()) == "maria"
    hub.store.add_review(7, "maria", "DISMISSED")
    hub.store.push(7, HEAD, force=True)
    assert find_approval(client, hub.event()) is None


def test_the_approval_of_a_run_is_read(client, hub):
    hub.store.add_run(11)
    hub.store.approve_run(11, "will")
    assert fork_is_allowed(client, hub.event(), "gpu") == "will"


def test_the_pull_request_of_a_fork_is_found(client, hub):
    hub.store.add_pull(8, author="eve", head_repository="eve/models")
    hub.store.add_pull(9, author="eve", head_repository=None)
    event = hub.event(number=None, head_repository="eve/models")
    found = find_pull_request(client, event)
    assert found is not None
    assert (found.number, found.author) == (8, "eve")


def test_commands_by_comment_are_answered(client: Client, hub: GitHub, tmp_path: Path) -> None:
    hub.store.add_check_run({"name": "accgate", "head_sha": HEAD, "external_id": "11.1.7", "conclusion": "failure"})
    hub.store.add_run(11)["status"] = "completed"
    for body, by in (("/accgate accept a reason", "will"), ("/accgate rerun", "will"), ("/accgate rerun", "rita")):
        environ = job(tmp_path, hub, body, by=by)
        assert respond(Job(environ, lambda _: client, print), "accgate") == 0
    assert hub.store.reruns == [11]
    assert [content for _, content in hub.store.reactions] == ["eyes", "eyes", "rocket"]


@pytest.mark.parametrize("how", ["pull-request", "commit"])
def test_references_are_proposed(client: Client, hub: GitHub, tmp_path: Path, how: Any) -> None:
    world = World(hub, tmp_path, *recorded_stores(tmp_path))
    environ = job(tmp_path, hub, "/accgate accept the new tokenizer")
    assert propose(Options(world.out, world.head, how=how), Job(environ, lambda _: client, print)) == 0
    assert outputs(environ)["url"]


def test_runs_are_put_into_a_history(client: Client, hub: GitHub) -> None:
    hub.store.commit("main", {"README.md": "hello"})
    for day in (1, 2, 2):
        add = partial(add_to, run=run(day), name=NAME, page=html_page)
        push_files(client, REPOSITORY, "accgate-history", NAME, add)
    assert hub.store.files("accgate-history")["history.jsonl"].count("\n") == 2
