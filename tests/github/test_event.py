"""The event: which commit, which pull request, whose."""

from __future__ import annotations

import json

import pytest

from accgate.errors import BadInput
from accgate.github.api.client import Client
from accgate.github.event import find_pull_request, read_event
from tests.github.store import BASE, HEAD, REPOSITORY

MERGE = "e" * 40


def pull_request(**changes):
    repo = {"full_name": REPOSITORY}
    head, base = {"sha": HEAD, "ref": "change", "repo": repo}, {"sha": BASE, "ref": "main", "repo": repo}
    pull = {"number": 7, "user": {"login": "ann"}, "head": head, "base": base}
    return {"action": "opened", "pull_request": pull | changes}


@pytest.fixture
def environ(tmp_path):
    def make(payload, name="pull_request", **more):
        path = tmp_path / "event.json"
        path.write_text(payload if isinstance(payload, str) else json.dumps(payload))
        return {
            "GITHUB_EVENT_NAME": name, "GITHUB_EVENT_PATH": str(path), "GITHUB_REPOSITORY": REPOSITORY,
            "GITHUB_SHA": MERGE, "GITHUB_RUN_ID": "11", "GITHUB_RUN_ATTEMPT": "2", **more,
        }  # fmt: skip

    return make


class TestPullRequest:
    @pytest.mark.parametrize("name", ["pull_request", "pull_request_target"])
    def test_the_commit_is_the_head_not_githubs_merge(self, environ, name):
        event = read_event(environ(pull_request(), name))
        assert (event.head_sha, event.base_branch, event.number, event.author) == (HEAD, "main", 7, "ann")
        assert (event.name, event.head_branch) == (name, "change")
        assert not event.is_fork

    @pytest.mark.parametrize(("repository", "is_fork"), [("ann/models", True), (None, True), ("Octo/Models", False)])
    def test_a_fork_is_noticed_though_it_is_gone(self, environ, repository, is_fork):
        head = {"sha": HEAD, "ref": "main", "repo": repository and {"full_name": repository}}
        event = read_event(environ(pull_request(head=head, user=None)))
        assert (event.is_fork, event.head_repository, event.author) == (is_fork, repository, None)

    @pytest.mark.parametrize(
        ("changes", "said"),
        [
            ({"number": "7; rm"}, "pull_request.number: "),
            ({"head": {"sha": HEAD.upper(), "repo": None}}, "pull_request.head.sha: "),
            ({"base": {"sha": BASE, "repo": {}}}, "pull_request.base.repo.full_name: "),
        ],
    )
    def test_missing_fields_are_said(self, environ, changes, said):
        with pytest.raises(BadInput, match=f"is not what GitHub writes: {said}"):
            read_event(environ(pull_request(**changes)))
        with pytest.raises(BadInput, match="the event has no pull_request"):
            read_event(environ({}))


class TestOthers:
    @pytest.mark.parametrize("repository", ["ann/models", None])
    def test_a_workflow_run_is_about_the_run_that_evaluated(self, environ, repository):
        run = {"id": 5, "run_attempt": 3, "head_sha": HEAD, "head_branch": "change", "pull_requests": [{"number": 1}]}
        run["head_repository"] = repository and {"full_name": repository}
        event = read_event(environ({"action": "completed", "workflow_run": run}, "workflow_run"))
        assert (event.head_sha, event.number, event.author, event.is_fork) == (HEAD, None, None, True)
        assert (event.head_repository, event.head_branch) == (repository, "change")
        assert (event.run_id, event.run_attempt, event.source_run_id, event.source_run_attempt) == (11, 2, 5, 3)


class TestVariables:
    @pytest.mark.parametrize(
        ("event", "name", "value"),
        [
            ("push", "GITHUB_SHA", "main"),
            ("pull_request", "GITHUB_RUN_ID", "x"),
            ("pull_request", "GITHUB_EVENT_PATH", "/nowhere"),
            *(("pull_request", "GITHUB_REPOSITORY", value) for value in ("models", "a/b/c", "a/b?c")),
            *(("pull_request", f"GITHUB_{name}", "") for name in ("EVENT_NAME", "EVENT_PATH", "REPOSITORY")),
        ],
    )
    def test_one_that_cannot_be_used_is_named(self, environ, event, name, value):
        with pytest.raises(BadInput, match=name):
            read_event(environ(pull_request(), event, **{name: value}))

    @pytest.mark.parametrize("text", ["{", "[]", "[" * 100_000])
    def test_a_file_that_holds_no_event_is_named(self, environ, text):
        with pytest.raises(BadInput, match="GITHUB_EVENT_PATH"):
            read_event(environ(text))

    @pytest.mark.parametrize(
        ("variables", "graphql", "web"),
        [
            ({}, "https://api.github.com/graphql", "https://github.com"),
            (
                {"GITHUB_API_URL": "https://ghe.example/api/v3/", "GITHUB_SERVER_URL": "https://ghe.example"},
                "https://ghe.example/api/graphql",
                "https://ghe.example",
            ),
        ],
    )
    def test_addresses_are_githubs_unless_they_are_given(self, environ, variables, graphql, web):
        event = read_event(environ(pull_request(), **variables))
        assert Client(event.api_url, "token").graphql_url == graphql
        assert event.run_url == f"{web}/{REPOSITORY}/actions/runs/11/attempts/2"


class TestFindPullRequest:
    def found(self, hub, **changes):
        facts = {"name": "workflow_run", "number": None, "author": None, "is_fork": True}
        facts |= {"head_repository": "eve/models", "head_branch": "change"}
        return find_pull_request(hub.client(), hub.event(**facts | changes))

    def test_it_is_the_one_with_this_head(self, hub):
        hub.store.add_pull(1, author="ann", head_repository="ann/models")
        hub.store.add_pull(2, author="eve", head_repository="eve/models", branch="main")
        branch = "a&state=closed#ü/ä %2F"
        hub.store.add_pull(3, author="eve", head_repository="eve/models", branch=branch)
        event = self.found(hub, head_branch=branch)
        assert (event.number, event.author, event.base_branch, event.head_sha) == (3, "eve", "main", HEAD)

    @pytest.mark.parametrize(
        "pull",
        [
            {"head_repository": "eve/models", "sha": "c" * 40},
            {"head_repository": "eve/other"},
            {"head_repository": None},
            {"head_repository": "eve/models", "state": "closed"},
            {"head_repository": "eve/models", "branch": "other"},
        ],
    )
    def test_one_that_differs_is_not_taken(self, hub, pull):
        hub.store.add_pull(3, author="eve", **pull)
        for row in hub.store.pulls.values():  # even from a server that filters nothing
            row["head"]["label"] = "eve:change"
        assert self.found(hub) is None

    @pytest.mark.parametrize("changes", [{"head_repository": None}, {"head_branch": None}])
    def test_a_head_that_is_gone_has_none(self, hub, changes):
        assert self.found(hub, **changes) is None
        assert not hub.asked
