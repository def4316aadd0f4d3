"""A run that evaluates nothing ends as the check of its commit did, and never better."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from accgate.cli.main import main
from accgate.github.check_runs import CheckRuns
from tests.github.server import GitHub
from tests.github.store import HEAD
from tests.support.gates import right_but
from tests.support.pull_requests import NUMBER, Gate, Job, event_of
from tests.support.servers import Fault

Patch = pytest.MonkeyPatch

NAME = "accgate"


def edited(job: Job, hub: GitHub) -> Job:
    """The job, of an event by which a title was edited."""
    job.write(event_of(hub, action="edited") | {"changes": {"title": {"from": "x"}}})
    return job


@pytest.fixture
def job(hub: GitHub, tmp_path: Path, monkeypatch: Patch) -> Job:
    return edited(Job(hub, tmp_path / "edited", monkeypatch, run=900), hub)


def repeat(*words: str) -> int:
    return main(["publish", "--standing", *words])


def write(hub: GitHub, conclusion: Any, *, name: str = NAME, part: str = "", **facts: Any) -> int:
    """A check run that the gate ended so, or with None has only opened."""
    event = hub.event(**facts)
    if conclusion is None:
        return CheckRuns(hub.client(), event, name).open("t", "s")
    return CheckRuns(hub.client(), event, name, part).finish(conclusion, "t", "s")


@pytest.mark.parametrize(
    ("conclusion", "code"),
    [("success", 0), ("neutral", 0), ("failure", 4), ("skipped", 4), (None, 4)],
)
def test_it_ends_as_the_check_did(hub: GitHub, job: Job, conclusion: Any, code: int) -> None:
    write(hub, conclusion)
    before = [dict(row) for row in hub.store.check_runs.values()]
    assert repeat() == code
    assert job.outputs["passed"] == ("true" if conclusion == "success" else "false")
    assert "Nothing was evaluated" in job.summary
    assert list(hub.store.check_runs.values()) == before
    assert hub.comments(NUMBER) == []
    assert hub.count("POST") + hub.count("PATCH") == 1, "the one that wrote the check"


def test_without_a_check_it_fails(job: Job, capsys: pytest.CaptureFixture[str]) -> None:
    assert repeat() == 4
    assert capsys.readouterr().out.splitlines()[-1].startswith("::error title=accgate::Nothing was evaluated")


@pytest.mark.parametrize(
    "other",
    [
        {"head_sha": "d" * 40}, {"base_branch": "release"}, {"base_branch": None}, {"run": "accgate (advisory)"},
    ],
)  # fmt: skip
def test_a_check_of_another_commit_base_or_name_does_not_count(hub: GitHub, job: Job, other: dict[str, Any]) -> None:
    """As after the base was changed, whose own run waits for its runner still."""
    name = other.pop("run", NAME)
    write(hub, "success", name=name, **other)
    assert repeat("--required-branches", "main,release") == 4


@pytest.mark.parametrize("external_id", ["", "11.1.7", "11.1.7~" + "0" * 16])
def test_a_check_that_does_not_say_which_base_decided_does_not_count(hub: GitHub, job: Job, external_id: str) -> None:
    row = {"name": NAME, "head_sha": HEAD, "external_id": external_id, "conclusion": "success", "status": "completed"}
    hub.store.add_check_run(row)
    assert repeat() == 4


@pytest.mark.parametrize(
    ("rows", "code"),
    [
        # conclusion, run, attempt, part
        ([("success", 1, 1, "a"), ("failure", 2, 1, "a")], 4),
        ([("failure", 1, 1, "a"), ("success", 2, 1, "a")], 0),
        ([("failure", 2, 1, "a"), ("success", 1, 1, "a")], 4),  # the earlier run ended last
        ([("success", 1, 1, "a"), ("failure", 1, 1, "b")], 4),
        ([("failure", 1, 1, "a"), ("success", 1, 2, "b")], 4),  # a job that was not started again
        ([("success", 1, 1, "a"), (None, 2, 1, "")], 4),
        ([("success", 1, 1, "a"), (None, 1, 2, "")], 4),
        ([(None, 1, 1, ""), ("success", 1, 2, "a")], 0),  # what a runner that died left open
        ([(None, 1, 1, ""), ("success", 1, 1, "a")], 4),
        ([("success", 10, 1, "a"), ("failure", 9, 1, "a")], 0),
    ],
)
def test_of_several_the_newest_runs_worst_stands(hub: GitHub, job: Job, rows: list[Any], code: int) -> None:
    for conclusion, run, attempt, part in rows:
        write(hub, conclusion, part=part * 8, run_id=run, run_attempt=attempt)
    assert repeat() == code


@pytest.mark.parametrize(
    "lose",
    [
        lambda hub, _: hub.fail(Fault(403), path="check-runs", times=100),
        lambda _, monkeypatch: monkeypatch.delenv("GITHUB_TOKEN"),
    ],
)
def test_what_cannot_be_read_is_no_pass(hub: GitHub, job: Job, monkeypatch: Patch, lose: Any) -> None:
    write(hub, "success")
    lose(hub, monkeypatch)
    assert repeat() == 4


def test_a_gate_that_only_reports_goes_on_to(hub: GitHub, job: Job) -> None:
    write(hub, "failure")
    assert repeat("--fail-on", "never") == 0
    assert job.outputs["passed"] == "false"


@pytest.mark.parametrize("event", ["push", "pull_request_target"])
def test_other_events_have_no_verdict_to_repeat(hub: GitHub, job: Job, monkeypatch: Patch, event: str) -> None:
    write(hub, "success")
    monkeypatch.setenv("GITHUB_EVENT_NAME", event)
    assert repeat() == 2


def test_an_edited_title_after_a_whole_run_keeps_its_verdict(hub: GitHub, tmp_path: Path, monkeypatch: Patch) -> None:
    gate = Gate(hub, tmp_path, monkeypatch)
    gate.head.answer(right_but(0))
    assert gate.run() == 0
    edited(gate.job, hub)
    monkeypatch.setenv("GITHUB_RUN_ID", "901")
    assert repeat() == 0
    hub.store.pulls[NUMBER]["base"]["ref"] = "release"
    edited(gate.job, hub)
    assert repeat("--required-branches", "main,release") == 4
