"""Events, other pull requests, other runs and other people's words: none makes a required check green."""

from __future__ import annotations

import html
from pathlib import Path
from typing import Any

import pytest

from accgate.cli.main import main
from accgate.github import runner
from accgate.github.check_runs import CheckRuns
from accgate.github.comments import State, put_comment
from accgate.github.response import respond
from tests.github.asking import job, outputs, replies
from tests.github.server import GitHub
from tests.github.store import BOT, HEAD
from tests.support.gates import right_but
from tests.support.pull_requests import NUMBER, Gate, Job, event_of
from tests.support.servers import Fault

OTHER = 8  # another pull request
NEXT = "d" * 40


@pytest.fixture
def gate(hub: GitHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Gate:
    gate = Gate(hub, tmp_path, monkeypatch)
    gate.head.answer(right_but(0))
    return gate


def checks(hub: GitHub, name: str = "accgate") -> list[str | None]:
    """The conclusions of the check runs of this name, the oldest first."""
    return [row["conclusion"] for row in hub.store.check_runs.values() if row["name"] == name]


def another_job(gate: Gate, run: int, attempt: int = 1) -> Job:
    """A job of another run, or of another attempt, on the same commit."""
    gate.job = Job(gate.hub, gate.folder / f"job-{run}-{attempt}", gate.monkeypatch, run=run)
    gate.attempts = attempt - 1
    return gate.job


def fall(gate: Gate) -> None:
    """A job that ends with a regression. The next one is to be healthy."""
    gate.head.answer(right_but(20))
    assert gate.run() == 1
    gate.head.answer(right_but(0))


# --- one commit, several pull requests ---


@pytest.mark.parametrize("branch", ["release/1.x", "mainx", "MAIN"])
def test_a_pull_request_to_another_branch_never_sets_the_required_check(gate: Gate, branch: str) -> None:
    gate.hub.store.add_pull(OTHER, base=branch)
    gate.job.write(event_of(gate.hub, OTHER))
    assert gate.run() == 0
    assert [(row["name"], row["conclusion"]) for row in gate.hub.store.check_runs.values()] == [
        (f"accgate (to {branch})", "success")
    ]


def test_a_list_of_branches_takes_the_place_of_the_default_branch(gate: Gate) -> None:
    gate.hub.store.add_pull(OTHER, base="release/1.x")
    listed = ("--required-branches", "release/1.x, release/2.x")
    for number, name in ((NUMBER, "accgate (to main)"), (OTHER, "accgate")):
        gate.job.write(event_of(gate.hub, number))
        assert gate.job.start(*listed) == 0
        assert gate.pull.run() == 0
        assert gate.publish("--exit-code", "0", *listed) == 0
        assert gate.check_run["name"] == name


@pytest.mark.parametrize("payload", [{"base_ref": "refs/heads/release/1.x"}, {}])
def test_a_merge_queue_of_another_branch_never_sets_the_required_check(gate: Gate, payload: dict[str, str]) -> None:
    assert gate.head.run() == 0
    queue = Job(gate.hub, gate.folder / "queue", gate.monkeypatch, name="merge_group")
    group = {"head_sha": HEAD, "base_sha": "b" * 40} | payload
    queue.write({"merge_group": group, "repository": {"default_branch": "main"}})
    assert queue.publish(gate.result, "--head", str(gate.head.folder)) == 0
    assert checks(gate.hub) == []


def test_an_event_that_does_not_say_the_default_branch_sets_no_required_check(gate: Gate) -> None:
    payload = event_of(gate.hub)
    del payload["pull_request"]["base"]["repo"]["default_branch"]
    gate.job.write(payload)
    assert gate.run() == 0
    assert checks(gate.hub) == []


# --- several runs and jobs, one name ---


def test_an_earlier_run_that_is_started_again_does_not_pass_over_a_later_one(gate: Gate) -> None:
    another_job(gate, 101)
    fall(gate)
    another_job(gate, 100, attempt=9)
    assert gate.run() == 0
    assert checks(gate.hub) == ["failure", "failure"]


def test_an_earlier_run_does_not_pass_while_a_later_one_goes_on(gate: Gate) -> None:
    another_job(gate, 101)
    assert gate.job.start() == 0
    another_job(gate, 100)
    assert gate.run() == 0
    assert checks(gate.hub) == [None, "cancelled"]


@pytest.mark.parametrize("order", [(20, 0), (0, 20)])
def test_of_two_jobs_of_one_run_with_one_name_the_worse_stands(
    gate: Gate, order: tuple[int, int], capsys: pytest.CaptureFixture[str]
) -> None:
    for wrong in order:
        gate.head.answer(right_but(wrong))
        gate.attempts = 0
        gate.run()
    assert checks(gate.hub) == ["failure", "failure"]
    assert "its own check-name" in capsys.readouterr().out


def test_two_jobs_that_end_at_once_both_end_as_the_worse(hub: GitHub) -> None:
    """Each listed the checks before the other had ended."""
    event = hub.event()
    rows = [
        hub.store.add_check_run({"name": "accgate", "head_sha": HEAD, "external_id": f"11.1.7.{part}", "conclusion": c})
        for part, c in (("a" * 8, "success"), ("b" * 8, "failure"))
    ]
    for row, part in zip(rows, ("a" * 8, "b" * 8), strict=True):
        CheckRuns(hub.client(), event, "accgate", part).settle(row["conclusion"], row["id"])
    assert checks(hub) == ["failure", "failure"]


def test_a_job_that_is_started_again_alone_does_not_hide_the_other_that_failed(gate: Gate) -> None:
    event = {"name": "accgate", "head_sha": HEAD, "external_id": "100.1.7.0123abcd", "conclusion": "failure"}
    gate.hub.store.add_check_run(event)
    another_job(gate, 100, attempt=2)
    assert gate.run() == 0
    assert checks(gate.hub) == ["failure", "failure"]


def test_a_failed_job_that_is_started_again_can_pass(gate: Gate) -> None:
    fall(gate)
    assert gate.run() == 0
    assert checks(gate.hub) == ["failure", "success"]


def test_where_other_checks_cannot_be_listed_the_check_does_not_end_green(gate: Gate) -> None:
    assert gate.job.start() == 0
    assert gate.pull.run() == 0
    gate.hub.fail(Fault(404, {}), method="GET", path="check-runs", times=99)
    assert gate.publish("--exit-code", "0") == 0
    assert checks(gate.hub) == [None]


# --- approvals ---


def test_nothing_but_a_review_of_this_pull_request_approves(gate: Gate) -> None:
    """Neither a label, nor a review in another pull request of the same commit."""
    gate.head.write(alpha=0.0001)
    gate.hub.store.add_pull(OTHER)
    assert gate.run() == 4
    gate.hub.store.add_label(NUMBER, "accgate-approved", "will")
    gate.hub.store.add_review(OTHER, "will", "APPROVED")
    assert gate.run() == 4
    assert set(checks(gate.hub)) == {"failure"}


def test_a_commit_that_was_looked_at_in_another_pull_request_only_is_not_accepted(hub: GitHub, tmp_path: Path) -> None:
    hub.store.add_pull(NUMBER)
    hub.store.add_check_run({"name": "accgate", "head_sha": HEAD, "external_id": f"11.1.{OTHER}"})
    environ = job(tmp_path, hub, "/accgate accept it is fine")
    assert respond(runner.Job(environ, lambda _: hub.client(), print), "accgate") == 0
    assert outputs(environ)["command"] == "none"
    assert "of this pull request" in replies(hub)[0]


def reruns(gate: Gate, by: str, sha: str = HEAD) -> list[int]:
    """The runs that start again once somebody has approved."""
    gate.hub.store.add_run(100)["status"] = "completed"
    gate.hub.store.add_review(NUMBER, by, "APPROVED", sha)
    asked = Job(gate.hub, gate.folder / "review", gate.monkeypatch, name="pull_request_review", run=300)
    asked.write(event_of(gate.hub, action="submitted"))
    assert main(["respond"]) == 0
    return gate.hub.store.reruns


@pytest.mark.parametrize(
    ("by", "sha", "started"), [("will", HEAD, [100]), ("rita", HEAD, []), ("ann", HEAD, []), ("will", NEXT, [])]
)
def test_only_an_approval_that_counts_starts_the_failed_jobs_again(
    gate: Gate, by: str, sha: str, started: list[int]
) -> None:
    gate.head.write(alpha=0.0001)
    assert gate.run() == 4
    assert reruns(gate, by, sha) == started


def test_an_approval_gives_a_regression_no_second_chance(gate: Gate) -> None:
    fall(gate)
    assert reruns(gate, "will") == []


# --- head, base or records change between the evaluation and its publishing ---


def conclusions(gate: Gate, sha: str) -> list[str]:
    return [row["conclusion"] for row in gate.hub.store.check_runs.values() if row["head_sha"] == sha]


def evaluated(gate: Gate, wrong: int = 0) -> int:
    """The check is open and the models have answered; nothing is published yet."""
    gate.head.answer(right_but(wrong))
    assert gate.job.start() == 0
    return gate.pull.run()


def test_a_head_that_is_forced_before_publishing_has_no_check_of_the_old_one(gate: Gate) -> None:
    assert evaluated(gate) == 0
    gate.hub.store.push(NUMBER, NEXT, force=True)
    assert gate.publish("--exit-code", "0") == 0
    assert conclusions(gate, HEAD) == ["success"]
    assert conclusions(gate, NEXT) == []
    assert f"head={HEAD}" in gate.comment  # and says of which commit it speaks


def test_a_review_of_the_forced_head_approves_nothing_of_the_old_one_nor_the_other_way_round(gate: Gate) -> None:
    gate.head.write(alpha=0.0001)
    assert evaluated(gate) == 0
    gate.hub.store.push(NUMBER, NEXT, force=True)
    gate.hub.store.add_review(NUMBER, "will", "APPROVED", NEXT)
    assert gate.publish("--exit-code", "0") == 4
    assert conclusions(gate, HEAD) == ["failure"]
    gate.hub.store.push(NUMBER, HEAD, force=True)  # and back
    gate.job = Job(gate.hub, gate.folder / "job2", gate.monkeypatch, run=101)
    assert gate.run() == 4


def test_a_pull_request_that_is_given_another_base_meanwhile_sets_the_check_of_the_first(gate: Gate) -> None:
    """Its event was for release/1.x, whose rules decided; the required name is that of main's."""
    gate.hub.store.pulls[NUMBER]["base"]["ref"] = "release/1.x"
    gate.job = Job(gate.hub, gate.folder / "job2", gate.monkeypatch)
    assert evaluated(gate) == 0
    gate.hub.store.pulls[NUMBER]["base"]["ref"] = "main"
    assert gate.publish("--exit-code", "0") == 0
    assert {row["name"] for row in gate.hub.store.check_runs.values()} == {"accgate (to release/1.x)"}


def test_rules_of_the_base_that_became_stricter_meanwhile_refuse_the_result(gate: Gate) -> None:
    """The evaluating and the publishing job each lay out a base of their own, in the split workflow."""
    assert evaluated(gate, wrong=7) == 1
    gate.base.write(alpha=0.0001)  # under which 7 lost answers are none too many
    gate.head.write(alpha=0.0001)
    assert gate.publish("--exit-code", "1") == 3
    assert gate.check_run["output"]["title"].startswith("Result refused")


def test_a_pull_request_that_was_closed_or_merged_meanwhile_changes_nothing_of_the_verdict(gate: Gate) -> None:
    code = evaluated(gate, wrong=20)
    gate.hub.store.pulls[NUMBER] |= {"state": "closed", "merged": True}
    assert gate.publish("--exit-code", str(code)) == 1
    assert conclusions(gate, HEAD) == ["failure"]


# --- forks ---


def test_a_fork_that_was_let_into_another_environment_is_refused_where_everybody_sees_it(
    gate: Gate, capsys: pytest.CaptureFixture[str]
) -> None:
    gate.hub.store.add_pull(NUMBER, head_repository="eve/models", author="eve")
    gate.hub.store.add_run(100)
    gate.hub.store.approve_run(100, "will", environment="accuracy-forks")
    job = another_job(gate, 100)
    assert job.start("--fork-environment", "accuracy") == 2
    assert "::error title=accgate::" in capsys.readouterr().out
    assert checks(gate.hub) == ["action_required"]
    assert "Refused" in job.summary
    assert "branch of this repository" in job.summary
    assert (job.outputs["verdict"], job.outputs["passed"]) == ("error", "false")


def test_a_refusal_is_said_in_the_log_and_summary_where_the_token_can_only_read(
    gate: Gate, capsys: pytest.CaptureFixture[str]
) -> None:
    gate.hub.store.add_pull(NUMBER, head_repository=None, author="eve")
    gate.hub.forbid("POST", "check-runs")
    job = another_job(gate, 100)
    assert job.start() == 2
    assert "can only read" in capsys.readouterr().out
    assert "Refused" in job.summary


# --- commands ---


def ask(hub: GitHub, folder: Path, body: str, **how: Any) -> str:
    environ = job(folder, hub, body, **how)
    assert respond(runner.Job(environ, lambda _: hub.client(), print), "accgate") == 0
    assert outputs(environ)["command"] == "none"
    return html.unescape(replies(hub)[-1])


def test_a_run_that_is_too_old_or_started_already_is_said_as_that(hub: GitHub, tmp_path: Path) -> None:
    hub.store.add_pull(NUMBER)
    hub.store.add_check_run({"name": "accgate", "head_sha": HEAD, "external_id": "11.1.7", "conclusion": "failure"})
    hub.store.add_run(11)["status"] = "completed"
    hub.store.old_runs.add(11)
    assert "older than 30 days: push a commit" in ask(hub, tmp_path, "/accgate rerun")
    hub.fail(Fault(403, {"message": "This workflow is already running"}), path="rerun")
    assert "was started again already" in ask(hub, tmp_path, "/accgate rerun")
    assert not any("permissions:" in text for text in replies(hub))


def test_a_locked_pull_request_is_said_as_that(gate: Gate, capsys: pytest.CaptureFixture[str]) -> None:
    gate.hub.store.pulls[NUMBER]["locked"] = True
    assert gate.run() == 0
    warning = next(line for line in capsys.readouterr().out.splitlines() if "comment was not written" in line)
    assert "the conversation is locked" in warning
    assert "permissions:" not in warning
    assert checks(gate.hub) == ["success"]


@pytest.mark.parametrize(
    ("recorded", "permissions", "reason"),
    [
        ("skipped", {"will": "write"}, "ended with skipped"),
        ("success", {"will": "read"}, "no write permission"),
        ("success", {}, "no write permission"),
    ],
)
def test_nothing_is_proposed_where_recording_failed_or_the_permission_is_gone(
    hub: GitHub,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    recorded: str,
    permissions: dict[str, str],
    reason: str,
) -> None:
    hub.store.add_pull(NUMBER)
    for key, value in job(tmp_path, hub, "/accgate accept the new tokenizer").items():
        monkeypatch.setenv(key, value)
    hub.store.permissions = permissions
    assert main(["propose", str(tmp_path / "nothing"), "--head-sha", HEAD, "--recorded", recorded]) == 3
    assert reason in html.unescape(replies(hub)[0])
    assert not [asked for asked in hub.asked if asked.method != "GET" and "/git/" in asked.path]


# --- comments ---


@pytest.mark.parametrize("runs", [(11, 12), (12, 11)])
def test_two_first_publishes_at_once_leave_one_comment_of_the_later_run(hub: GitHub, runs: tuple[int, int]) -> None:
    """Both list no comment; then both write one."""
    hub.store.add_pull(NUMBER)
    first, second = (hub.event(run_id=run) for run in runs)
    state, client = State("pass", "none", passed=True), hub.client()
    post = client.post

    def post_after_the_first(*args: Any, **how: Any) -> Any:
        client.post = post  # type: ignore[method-assign]
        put_comment(hub.client(), first, key="0" * 16, state=state, body=f"of {first.run_id}")
        return post(*args, **how)

    client.post = post_after_the_first  # type: ignore[method-assign]
    put_comment(client, second, key="0" * 16, state=state, body=f"of {second.run_id}")
    (comment,) = hub.comments(NUMBER)
    assert comment["user"]["login"] == BOT
    assert comment["body"].endswith("of 12")


def test_the_history_is_not_written_to_the_default_branch(gate: Gate, capsys: pytest.CaptureFixture[str]) -> None:
    assert gate.head.run() == 0
    Job(gate.hub, gate.folder / "push", gate.monkeypatch, name="push")
    gate.monkeypatch.setenv("GITHUB_REF", "refs/heads/main")
    config = ("--config", str(gate.head.config))
    for branch in ("main", "refs/heads/main"):
        assert main(["history", "push", str(gate.result), *config, "--branch", branch]) == 2
        assert "is the default branch" in capsys.readouterr().err
    assert gate.hub.store.refs == {}
