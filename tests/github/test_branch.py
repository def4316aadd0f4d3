"""Files on a branch of their own: one commit a change, whoever else writes there at the same time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from accgate.cli.main import main
from accgate.errors import BadInput
from accgate.github.api.answers import Refused, Unreadable
from accgate.github.branch import UNMOVED, push_files
from accgate.history.file import NAME, Addition, add_to, history_of, read_content
from accgate.history.page import html_page
from accgate.history.run import Run
from accgate.result import to_json
from tests.github.routes import Asked
from tests.github.server import TOKEN, GitHub
from tests.github.store import REPOSITORY
from tests.history.made import run
from tests.report.runs import result_of, verdict_of
from tests.support.servers import Fault

Patch = pytest.MonkeyPatch

BRANCH = "accgate-history"
REF = f"refs/heads/{BRANCH}"


@pytest.fixture(autouse=True)
def main_branch(hub: GitHub) -> None:
    hub.store.commit("main", {"README.md": "hello"})


def push(hub: GitHub, made: Run, *, branch: str = BRANCH, page: bool = False, **how: Any) -> tuple[str, Addition]:
    def change_of(content: bytes) -> Addition:
        return add_to(content, made, name=f"{branch}:{NAME}", page=html_page if page else None)

    return push_files(hub.client(**how), REPOSITORY, branch, NAME, change_of)


def runs(hub: GitHub) -> list[str]:
    read = read_content(hub.store.files(BRANCH)["history.jsonl"].encode(), "h")
    assert not read.notes
    return [made.result for made in read.runs]


def chain(hub: GitHub) -> list[dict]:
    """The branch's commits, newest first."""
    found, sha = [], hub.store.refs[REF]
    while sha:
        found.append(hub.store.commits[sha])
        sha = next((parent["sha"] for parent in found[-1]["parents"]), None)
    return found


@pytest.mark.parametrize("branch", [BRANCH, "figures/accuracy"])
def test_the_first_run_makes_a_branch_without_ancestors_and_leaves_main_alone(hub: GitHub, branch: str) -> None:
    main_before = hub.store.refs["refs/heads/main"]
    sha, addition = push(hub, run(1), branch=branch)
    assert addition.files.keys() == {"history.jsonl"}
    assert hub.store.refs == {"refs/heads/main": main_before, f"refs/heads/{branch}": sha}
    assert hub.store.commits[sha]["parents"] == []
    assert {name: text.encode() for name, text in hub.store.files(branch).items()} == {
        "history.jsonl": history_of([run(1)]).content
    }


def test_a_run_that_is_there_makes_no_commit(hub: GitHub) -> None:
    first, _ = push(hub, run(1))
    written = hub.count("POST")
    again, addition = push(hub, run(1))
    assert again == first
    assert not addition.files
    assert hub.count("POST") == written
    assert len(chain(hub)) == 1


def interrupting(hub: GitHub, monkeypatch: Patch, method: str, inside: str, *others: Run) -> list[Run]:
    """Let other jobs push first, each time that this request is about to be performed."""
    waiting, route = list(others), hub._route

    def between(asked: Asked, path: str) -> Any:
        if waiting and asked.method == method and inside in asked.path:
            other = waiting.pop(0)
            present = hub.store.files(BRANCH)["history.jsonl"] if REF in hub.store.refs else ""
            hub.store.commit(BRANCH, {"history.jsonl": present + history_of([other]).content.decode()})
        return route(asked, path)

    monkeypatch.setattr(hub, "_route", between)
    return waiting


@pytest.mark.parametrize(
    ("begun", "method", "others"), [([], "POST", [1]), ([1], "PATCH", [2, 3, 4, 5, 6, 7])], ids=["new", "again"]
)
def test_other_jobs_that_make_the_branch_or_push_first_again_and_again_lose_nothing(
    hub: GitHub, monkeypatch: Patch, begun: list[int], method: str, others: list[int]
) -> None:
    for day in begun:
        push(hub, run(day))
    waiting = interrupting(hub, monkeypatch, method, "/git/refs", *map(run, others))
    push(hub, run(9))
    assert not waiting
    assert runs(hub) == [run(day).result for day in (*begun, *others, 9)]
    assert len(chain(hub)) == len([*begun, *others, 9])
    assert all(not asked.body["force"] for asked in hub.asked if asked.method == "PATCH")


def test_a_protected_branch_is_refused_with_github_s_reason_and_soon(hub: GitHub) -> None:
    push(hub, run(1))
    before = hub.store.refs[REF]
    hub.fail(Fault(status=422, body={"message": "Protected branch update failed"}), method="PATCH", times=99)
    with pytest.raises(Refused, match="Protected branch"):
        push(hub, run(2))
    assert hub.count("PATCH") == UNMOVED
    assert hub.store.refs[REF] == before


@pytest.mark.parametrize("performed", [False, True])
def test_a_server_that_fails_in_between_gives_neither_loss_nor_a_second_line(hub: GitHub, performed: bool) -> None:
    push(hub, run(1))
    for path in ("/git/blobs", "/git/trees", "/git/commits", "/git/refs"):
        hub.fail(Fault(status=502), method="POST|PATCH", path=path, performed=performed)
    push(hub, run(2))
    assert runs(hub) == [run(1).result, run(2).result]


@pytest.mark.parametrize(
    ("name", "fault"),
    [("history.jsonl", f"{BRANCH}:history.jsonl: is not a history"), ("history.jsonl/x", "a plain file")],
)
def test_what_is_no_history_is_not_written_over_and_other_files_stay(hub: GitHub, name: str, fault: str) -> None:
    hub.store.commit(BRANCH, {name: "my diary\n"})
    with pytest.raises(BadInput, match=fault):
        push(hub, run(1))
    assert hub.store.files(BRANCH) == {name: "my diary\n"}
    hub.store.commit(BRANCH, {name: None, "CNAME": "accuracy.example.org", "index.html": "old"})
    push(hub, run(1), page=True)
    files = hub.store.files(BRANCH)
    assert files["CNAME"] == "accuracy.example.org"
    assert files["index.html"].startswith("<!DOCTYPE html>")


def test_an_answer_that_is_not_as_promised_is_no_traceback(hub: GitHub, monkeypatch: Patch) -> None:
    push(hub, run(1))
    route = hub._route
    monkeypatch.setattr(hub, "_route", lambda asked, path: {} if "/git/blobs" in path else route(asked, path))
    with pytest.raises(Unreadable):
        push(hub, run(2))


class TestCommand:
    @pytest.fixture(autouse=True)
    def job(self, hub: GitHub, tmp_path: Path, monkeypatch: Patch) -> Path:
        (tmp_path / "event.json").write_text('{"repository": {"default_branch": "main"}}')
        (tmp_path / "accgate.json").write_text(to_json(result_of(verdict_of("regression"))))
        variables = {
            "GITHUB_EVENT_NAME": "push", "GITHUB_EVENT_PATH": str(tmp_path / "event.json"), "GITHUB_SHA": "c" * 40,
            "GITHUB_REPOSITORY": REPOSITORY, "GITHUB_REF": "refs/heads/main", "GITHUB_REF_NAME": "main",
            "GITHUB_API_URL": hub.url, "ACCGATE_TOKEN": TOKEN, "GITHUB_ACTIONS": "true", "GITHUB_RUN_ID": "1",
        }  # fmt: skip
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        monkeypatch.chdir(tmp_path)
        return tmp_path

    def test_puts_the_run_of_a_push_to_main_on_the_branch(self, hub: GitHub, capsys) -> None:
        assert main(["history", "push", "accgate.json"]) == 0
        (made,) = read_content(hub.store.files(BRANCH)["history.jsonl"].encode(), "h").runs
        assert (made.commit, made.verdict) == ("c" * 40, "regression")
        said = capsys.readouterr().out
        assert "added the run; 1 run" in said
        assert f"::add-mask::{TOKEN}" in said
        assert TOKEN not in said.replace(f"::add-mask::{TOKEN}", "")

    @pytest.mark.parametrize(
        ("variable", "value", "fault"),
        [
            ("GITHUB_REF", "refs/tags/main", "not the default branch main"),
            ("GITHUB_REF", "", "the run is not the default branch main"),
            ("GITHUB_EVENT_NAME", "workflow_run", "not one of the default branch"),
            ("GITHUB_EVENT_NAME", "pull_request", "not one of the default branch"),
        ],
    )
    def test_refuses_what_is_not_of_the_default_branch(
        self, hub: GitHub, job: Path, monkeypatch, capsys, variable: str, value: str, fault: str
    ) -> None:
        monkeypatch.setenv(variable, value)
        workflow_run = {"id": 1, "head_sha": "a" * 40}
        payload = json.loads((job / "event.json").read_text())
        payload |= {"pull_request": hub.store.add_pull(7), "workflow_run": workflow_run}
        (job / "event.json").write_text(json.dumps(payload))
        assert main(["history", "push", "accgate.json"]) == 2
        assert fault in capsys.readouterr().err
        assert REF not in hub.store.refs

    def test_a_schedule_names_no_default_branch_and_has_no_other(self, hub: GitHub, job: Path, monkeypatch) -> None:
        (job / "event.json").write_text("{}")
        assert main(["history", "push", "accgate.json"]) == 2
        monkeypatch.setenv("GITHUB_EVENT_NAME", "schedule")
        assert main(["history", "push", "accgate.json", "--branch", "main"]) == 2
        assert main(["history", "push", "accgate.json"]) == 0
        assert REF in hub.store.refs

    def test_without_a_token_it_fails(self, hub: GitHub, monkeypatch, capsys) -> None:
        monkeypatch.delenv("ACCGATE_TOKEN")
        monkeypatch.delenv("GITHUB_TOKEN", raising=False)
        assert main(["history", "push", "accgate.json"]) == 3
        assert "::error title=accgate history::there is no token" in capsys.readouterr().out
        assert REF not in hub.store.refs
