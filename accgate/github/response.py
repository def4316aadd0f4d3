"""`accgate respond`: check that a command in a comment may be carried out, and give its commit to the next jobs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from accgate.errors import PASSED
from accgate.github.api import CannotPublish, Client, NotFound, Uncertain, promised
from accgate.github.approvals import first_look, is_writer, moment, moved_since
from accgate.github.check_runs import check_runs
from accgate.github.event import Event, Head, read_event, read_head
from accgate.github.runner import inert, write_outputs
from accgate.github.slash import IssueComment, plain, react, read_issue_comment, reply, try_reply

OUTPUTS = ("command", "number", "head-sha", "head-ref", "head-repository", "reason", "requested-by")


class Declined(Exception):
    """The command is not carried out; the message says why, and the fix."""


def respond(
    environ: Mapping[str, str],
    *,
    check_name: str,
    connect: Callable[[Event], Client],
    say: Callable[[str], None],
) -> int:
    """Carry out a comment's command as far as this job can, and write outputs for the next jobs; the exit code.

    The output `command` is `accept` or `rerun` where somebody with write permission wrote it and it can be carried out,
    else `none`: neither a comment without a command nor a declined one fails the job.

    Raises
    ------
    BadInput
        When this is not an `issue_comment` event.
    CannotPublish
        When GitHub could not be reached, or refused; there are no outputs then.
    """
    event, request = read_event(environ), read_issue_comment(environ)
    outputs = dict.fromkeys(OUTPUTS, "") | {"command": "none"}
    user = request.comment.user
    if request.command is None or user.type != "User" or user.login.endswith("[bot]"):
        say("the comment has no command for accgate, or is not on an open pull request, or was not written by a person")
    else:
        event = replace(event, number=request.issue.number)
        client = connect(event)
        try:
            with promised(f"{event.repository}#{event.number}"):
                outputs |= _outputs(client, event, request, check_name)
        except Declined as error:
            say(inert(str(error)))
            reply(client, event, request.comment.id, plain(f"Not done: {error}."))
        except CannotPublish as error:
            try_reply(
                client, event, request.comment.id, plain(f"Not done, because a request to GitHub failed: {error}")
            )
            raise
    write_outputs(environ.get("GITHUB_OUTPUT"), outputs)
    return PASSED


def _outputs(client: Client, event: Event, request: IssueComment, check_name: str) -> dict[str, str]:
    """The outputs of a command that may be carried out."""
    command, comment = request.command, request.comment
    assert command is not None
    if not is_writer(client, event, {"login": comment.user.login, "type": comment.user.type}):
        raise Declined(f"{comment.user.login} has no write permission here")
    react(client, event, comment.id, "eyes")
    if command.fault:
        raise Declined(command.fault)
    head = read_head(client, event)
    if not head.is_open:
        raise Declined("the pull request is closed")
    event = replace(event, head_sha=head.sha, author=head.author)
    if command.name == "rerun":
        _rerun(client, event, check_name)
        react(client, event, comment.id, "rocket")
    else:
        _check_acceptable(client, event, head, request, check_name)
    return {
        "command": command.name,
        "number": str(event.number),
        "head-sha": head.sha,
        "head-ref": head.ref,
        "head-repository": head.repository or "",
        "reason": command.reason,
        "requested-by": comment.user.login,
    }


def _check_acceptable(client: Client, event: Event, head: Head, request: IssueComment, check_name: str) -> None:
    """Decline a head that cannot be recorded, or is not the commit that was there when the comment was written."""
    if not head.is_in(event.repository):
        raise Declined(
            "a fork's code would run with more rights than its pull request has, and its branch is not ours to write "
            "to; push the branch to this repository, or have its author record the reference"
        )
    looked = first_look(client, event, check_name)
    if looked is None:
        raise Declined(
            f"the check {check_name} has not started on the head commit yet; write the command again once it has"
        )
    rows = list(client.pages(f"/repos/{event.repository}/issues/{event.number}/events", needs="issues: read"))
    written = request.comment.created_at
    if looked >= written or moved_since(rows, written):
        raise Declined(
            "the branch has moved since the comment was written; look at its new head, then write the command again"
        )


def _rerun(client: Client, event: Event, check_name: str) -> None:
    """Start the run again that wrote the head commit's check run."""
    runs = [run for run in check_runs(client, event, check_name) if run["started_at"]]
    if not runs:
        raise Declined(f"the head commit has no check {check_name}, so there is no run to start again; push a commit")
    newest = max(runs, key=lambda run: (moment(run["started_at"]), run["id"]))
    written_by = re.fullmatch(r"(\d{1,18})\.\d{1,9}", newest["external_id"] or "", re.ASCII)
    if not written_by:
        raise Declined(f"the check {check_name} does not say which run wrote it; start that one on the Actions page")
    path = f"/repos/{event.repository}/actions/runs/{written_by[1]}"
    try:
        before = client.get(path, needs="actions: read")
    except NotFound:
        raise Declined("the run that wrote the check is gone; push a commit") from None
    # Anybody with checks: write can name any run; and the report of a fork's run is another run, of another commit.
    if before["head_sha"] != event.head_sha:
        raise Declined("the run that wrote the check is not of the head commit; start the gate on the Actions page")
    if before["status"] != "completed":
        raise Declined("the run is not finished; write the command again once it is, or cancel the run first")
    try:
        client.post(f"{path}/rerun", {}, needs="actions: write")
    except Uncertain:
        if not _is_started(client.get(path, needs="actions: read"), before):
            raise


def _is_started(now: Mapping[str, Any], before: Mapping[str, Any]) -> bool:
    return bool(now["run_attempt"] > before["run_attempt"] or now["status"] != "completed")
