"""Every workflow of .github/examples run whole by act, with the settings that docs/action.md names.

CI runs one of each kind; the others, which are marked long, differ from one of these in a few lines.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.github import shapes
from tests.github.server import GitHub
from tests.github.store import REPOSITORY
from tests.real import docker
from tests.real.examples import Example
from tests.support.pull_requests import NUMBER, event_of
from tests.support.runner import ROOT, git

pytestmark = [pytest.mark.container, pytest.mark.real]
FORK = "eve/models"
PASSED, FAILED = ("accgate", "success"), ("accgate", "failure")


@pytest.fixture
def hub() -> Iterator[GitHub]:
    with GitHub() as hub:
        yield hub


@pytest.fixture
def example(image: str, tmp_path: Path, hub: GitHub) -> Iterator[Example]:
    yield Example(tmp_path, hub)
    docker.remove_labelled()


def test_every_example_is_run_here() -> None:
    text = Path(__file__).read_text()
    names = [path.stem for path in (ROOT / ".github/examples").glob("*.yml")]
    assert [name for name in names if f'"{name}"' not in text] == []


def test_the_usual_one_publishes_a_comment_a_check_and_the_results(example: Example) -> None:
    example.push(12)
    code, text = example.run("pull-request", "pull_request", event_of(example.hub))
    assert code == 0, text
    assert example.checks == [PASSED]
    assert "Passed: " in next(example.comments())
    assert (example.artifacts / "accuracy/accgate.json").exists()


@pytest.mark.long
def test_a_required_workflow_does_the_same(example: Example) -> None:
    example.push(60)
    code, text = example.run("required-workflow", "pull_request", event_of(example.hub))
    assert code == 1, text
    assert example.checks == [FAILED]


@pytest.mark.long
def test_a_new_base_starts_the_gate_and_a_new_title_does_not(example: Example) -> None:
    example.push(12)
    edited = event_of(example.hub, action="edited")
    code, text = example.run("base-change", "pull_request", edited | {"changes": {"title": {"from": "x"}}})
    assert (code, example.checks) == (0, []), text
    code, text = example.run("base-change", "pull_request", edited | {"changes": {"base": {"ref": {"from": "dev"}}}})
    assert (code, example.checks) == (0, [PASSED]), text


@pytest.mark.long
def test_of_a_matrix_each_model_has_a_check_and_a_comment(image: str, tmp_path: Path, hub: GitHub) -> None:
    example = Example(tmp_path, hub, ("llama-8b", "qwen-14b"))
    example.push(10, 60)
    code, text = example.run("matrix", "pull_request", event_of(hub))
    assert code == 1, text
    assert example.checks == [("accgate llama-8b", "success"), ("accgate qwen-14b", "failure")]
    assert len(list(example.comments())) == 2


# Neither compiler nor installer are in the image for CPU, which stands for the one with vLLM.
NO_BUILD = {
    "RUN python3 -m pip wheel --no-deps --wheel-dir /wheels /src": "RUN mkdir /wheels && touch /wheels/own.whl",
    "RUN uv pip install --system --no-cache --no-deps /wheels/*.whl": "RUN test -e /wheels/own.whl",
}


@pytest.mark.long
def test_an_own_engine_evaluates_and_accgates_image_publishes(example: Example) -> None:
    sha = example.push(12)
    name = f"accgate-own:{sha}"
    try:
        code, text = example.run("own-engine", "pull_request", event_of(example.hub), NO_BUILD)
    finally:
        docker.docker("rmi", "--force", name)
    assert code == 0, text
    assert example.checks == [PASSED]


def test_shards_are_merged_and_published_once(example: Example) -> None:
    example.push(60)
    two = {"[1, 2, 3, 4]": "[1, 2]", "}}/4": "}}/2"}
    code, text = example.run("shards", "pull_request", event_of(example.hub), two)
    assert code == 1, text
    assert example.checks == [FAILED]
    assert "Regression: " in next(example.comments())


@pytest.mark.long
def test_a_split_run_of_the_repository_is_published_by_its_second_job(example: Example) -> None:
    example.push(60)
    code, text = example.run("split-same-repo", "pull_request", event_of(example.hub))
    assert code == 1, text
    assert example.checks == [FAILED]
    (comment,) = example.hub.comments(NUMBER)
    assert "What is" in comment["body"]  # a changed answer, from the records


def ended(sha: str, conclusion: str) -> dict[str, Any]:
    """The event of a fork's run that has ended."""
    run = {
        "id": 1, "run_attempt": 1, "event": "pull_request", "conclusion": conclusion, "head_sha": sha,
        "head_branch": "change", "head_repository": {"full_name": FORK},
    }  # fmt: skip
    return {"action": "completed", "workflow_run": run, "repository": {"full_name": REPOSITORY}}


def test_a_forks_run_is_let_in_by_its_environment_and_reported_as_advice(example: Example) -> None:
    sha, store = example.push(12, head_repository=FORK, author="eve"), example.hub.store
    store.add_run(1, sha)
    refused, text = example.run("split-forks-evaluate", "pull_request", event_of(example.hub))
    assert (refused, "this pull request comes from a fork" in text) == (1, True), text
    assert "stop-commands" not in text  # no model ran
    store.check_runs.clear()  # a fork's own token could not write it
    store.approve_run(1, "will", environment="accuracy-forks")
    code, text = example.run("split-forks-evaluate", "pull_request", event_of(example.hub))
    assert code == 0, text
    assert example.checks == []
    code, text = example.run("split-forks-report", "workflow_run", ended(sha, "success"))
    assert code == 0, text
    assert example.checks == [("accgate (advisory)", "neutral")]
    assert "Advisory only" in next(example.comments())


def test_in_pods_one_job_evaluates_in_the_image_and_another_publishes(example: Example) -> None:
    example.push(12)
    code, text = example.run("kubernetes", "pull_request", event_of(example.hub))
    assert code == 0, text
    assert example.checks == [PASSED]


@pytest.mark.parametrize(
    "name",
    ["pull-request", *(pytest.param(name, marks=pytest.mark.long) for name in ("split-same-repo", "kubernetes"))],
)
def test_the_merge_queue_is_gated_by_the_rules_of_its_commit(example: Example, name: str) -> None:
    sha = example.push(60)
    ref = f"refs/heads/gh-readonly-queue/main/pr-{NUMBER}-{example.base}"
    group = {"head_sha": sha, "head_ref": ref, "base_sha": example.base, "base_ref": "refs/heads/main"}
    payload = {"action": "checks_requested", "merge_group": group, "ref": ref}
    code, text = example.run(
        name, "merge_group", payload | {"repository": {"full_name": REPOSITORY, "default_branch": "main"}}
    )
    assert code == 1, text
    assert example.checks == [FAILED], text


def test_a_fork_runs_nothing_in_pods_and_no_job_passes(example: Example) -> None:
    example.push(12, head_repository=FORK, author="eve")
    code, text = example.run("kubernetes", "pull_request", event_of(example.hub))
    assert (code, example.checks, list(example.artifacts.iterdir())) == (1, [], []), text


def test_references_that_are_recorded_by_hand_come_as_a_pull_request(example: Example, hub: GitHub) -> None:
    example.answer(5)
    sha, remote = example.commit("better"), example.folder / "origin.git"
    git(example.folder, "clone", "--quiet", "--bare", str(example.space), str(remote))
    git(example.space, "config", f"url.file://{remote}.pushInsteadOf", f"https://github.com/{REPOSITORY}.git")
    hub.store.refs |= {f"refs/heads/{branch}": sha for branch in ("main", "accuracy-references-1")}
    inputs = {"models": "", "reason": "a faster kernel"}
    event = {"inputs": inputs, "ref": "refs/heads/main"}
    payload = event | {"repository": {"full_name": REPOSITORY, "default_branch": "main"}}
    code, text = example.run("record", "workflow_dispatch", payload)
    assert code == 0, text
    changed = git(remote, "diff", "--name-only", "main", "accuracy-references-1").split()
    assert {"references/m/sums.scores.csv", "references/m/sums.toml"} <= {*changed}
    assert all(path.startswith("references/m/") for path in changed)
    assert "a faster kernel" in git(remote, "show", "accuracy-references-1:references/m/sums.toml")
    (pull,) = hub.store.pulls.values()
    assert (pull["head"]["ref"], pull["body"]) == ("accuracy-references-1", "a faster kernel")


def test_each_run_of_main_goes_into_the_history(example: Example, hub: GitHub) -> None:
    hub.store.commit("main", {"README.md": "hello"})
    payload = {"ref": "refs/heads/main", "repository": {"full_name": REPOSITORY, "default_branch": "main"}}
    code, text = example.run("history", "push", payload)
    assert code == 0, text
    assert example.checks == [("accgate (push)", "success")]
    assert "index.html" in hub.store.files("accgate-history")


def git_objects(example: Example, sha: str) -> None:
    """GitHub's own copy of the head commit."""
    store = example.hub.store
    paths = git(example.space, "ls-tree", "-r", "--name-only", sha).splitlines()
    entries = [{"path": path, "sha": store.add_blob((example.space / path).read_bytes())} for path in paths]
    tree = store.add_tree(entries)
    store.commits[sha] = shapes.git_commit(sha, tree, [], "head", store.tick())
    store.refs["refs/heads/change"] = sha


def test_accept_in_a_comment_records_the_head_and_proposes_it(example: Example, hub: GitHub) -> None:
    sha, store = example.push(60), hub.store
    git_objects(example, sha)
    made = {"status": "completed", "conclusion": "failure", "external_id": "11.1.7"}
    store.add_check_run({"name": "accgate", "head_sha": sha} | made)
    comment = store.add_comment(NUMBER, "will", "/accgate accept a faster kernel")
    issue = {"number": NUMBER, "state": "open", "title": "t", "pull_request": {"url": "x"}}
    repository = {"full_name": REPOSITORY, "default_branch": "main"}
    event = {"action": "created", "issue": issue, "sender": comment["user"], "repository": repository}
    for association, pulls in (("NONE", 1), ("MEMBER", 2)):
        payload = event | {"comment": comment | {"author_association": association}}
        code, text = example.run("accgate-commands", "issue_comment", payload)
        assert code == 0, text
        assert len(store.pulls) == pulls, text  # a stranger's comment starts nothing
    (branch,) = [ref.removeprefix("refs/heads/") for ref in store.refs if f"accept-{NUMBER}-" in ref]
    proposed, head = (
        store.trees[store.commits[store.resolve(name) or ""]["tree"]["sha"]] for name in (branch, "change")
    )
    assert "a faster kernel" in store.blobs[proposed["references/m/sums.toml"][1]].decode()
    changed = {path for path in {*proposed, *head} if proposed.get(path) != head.get(path)}
    assert all(path.startswith("references/m/") for path in changed)
