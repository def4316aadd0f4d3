"""The command `accgate respond`.

It checks a comment's command, and gives its commit to the next jobs.
"""

from dataclasses import replace

from accgate.errors import PASSED
from accgate.github.api.answers import CannotPublish, NotFound, Refused, Uncertain, as_promised
from accgate.github.api.client import Client
from accgate.github.api.objects import PullRequest, WorkflowRun, object_of
from accgate.github.approvals import find_approval, is_writer, looks_of, moved_since
from accgate.github.event import Event, read_event, read_pull_request
from accgate.github.runner import Job, write_outputs
from accgate.github.slash import Command, IssueComment, plain, react, read_issue_comment, reply, try_reply

OUTPUTS = ("command", "number", "head-sha", "head-ref", "head-repository", "reason", "requested-by")


class Declined(Exception):
    """The command is not carried out.

    The message says why, and the fix.
    """


def respond(job: Job, check_name: str) -> int:
    """Carry out a comment's command as far as this job can.

    Return the exit code. The output `command` tells the next jobs `accept`, `record` or `rerun` where somebody with
    write permission wrote it and it can be carried out, else `none`: neither a comment without a command nor a declined
    one fails the job. After an approving review the jobs that failed for loosened rules are started again, and
    `command` is `none`.

    Raises
    ------
    BadInput
        When this is neither an `issue_comment` nor a `pull_request_review` event.
    CannotPublish
        When GitHub could not be reached, or refused; there are no outputs then.
    """
    event = read_event(job.environ)
    outputs = dict.fromkeys(OUTPUTS, "") | {"command": "none"}
    if event.name == "pull_request_review":
        job.say(_answer_review(job.connect(event), event, check_name))
        write_outputs(job.environ, outputs)
        return PASSED
    request = read_issue_comment(job.environ)
    if request.command is None or not request.comment.user.is_person:
        job.say("the comment has no command for accgate, is not on an open pull request, or is not by a person")
    else:
        client = job.connect(event)
        try:
            with as_promised(f"{event.repository}#{event.number}"):
                outputs |= _outputs(client, event, request, request.command, check_name)
        except Declined as error:
            job.say(str(error))
            reply(client, event, request.comment.id, plain(f"Not done: {error}."))
        except CannotPublish as error:
            why = plain(f"Not done, because a request to GitHub failed: {error}")
            try_reply(client, event, request.comment.id, why)
            raise
    write_outputs(job.environ, outputs)
    return PASSED


def _outputs(client: Client, event: Event, request: IssueComment, command: Command, check_name: str) -> dict[str, str]:
    """Return the outputs of a command that may be carried out."""
    comment = request.comment
    if not is_writer(client, event, comment.user):
        raise Declined(f"{comment.user.login} has no write permission here")
    react(client, event, comment.id, "eyes")
    if command.fault:
        raise Declined(command.fault)
    pull = read_pull_request(client, event)
    if not pull.is_open:
        raise Declined("the pull request is closed")
    event = replace(event, head_sha=pull.head.sha)
    if command.name == "rerun":
        _rerun(client, event, pull, check_name)
        react(client, event, comment.id, "rocket")
    else:
        _check_acceptable(client, event, pull, request, check_name)
    return {
        "command": command.name,
        "number": str(event.number),
        "head-sha": pull.head.sha,
        "head-ref": pull.head.ref,
        "head-repository": pull.head.repository or "",
        "reason": command.reason,
        "requested-by": comment.user.login,
    }


def _check_acceptable(client: Client, event: Event, pull: PullRequest, request: IssueComment, check_name: str) -> None:
    """Decline a fork's head, and one that came after the comment was written."""
    if not pull.head.is_in(event.repository):
        fix = "push the branch to this repository, or have its author record the reference"
        raise Declined(f"a fork's code would run with more rights than its pull request has; {fix}")
    looks = looks_of(client, event, check_name, pull.base.ref)
    if not looks:
        fault = f"the check {check_name} of this pull request has not started on the head commit"
        raise Declined(f"{fault}; write the command again once it has")
    written = request.comment.created_at
    if min(started for started, _ in looks) >= written or moved_since(client, event, written):
        raise Declined("the branch has moved since your comment; look at its new head, then write the command again")


def _rerun(client: Client, event: Event, pull: PullRequest, check_name: str, *, failed_jobs: bool = False) -> None:
    """Start the run again that wrote the head's newest check run.

    With `failed_jobs` only its failed jobs start.
    """
    runs = [origin.run for _, origin in looks_of(client, event, check_name, pull.base.ref)]
    if not runs:
        raise Declined(f"the head commit has no check {check_name} of this pull request to run again; push a commit")
    path = f"/repos/{event.repository}/actions/runs/{max(runs)}"
    try:
        before = _run_at(client, path)
    except NotFound:
        raise Declined("the run that wrote the check is gone; push a commit") from None
    # Anybody with checks: write can name any run; and the report of a fork's run is another run, of another commit.
    if before.head_sha != event.head_sha:
        raise Declined("the run that wrote the check is not of the head commit; start the gate on the Actions page")
    if before.status != "completed":
        raise Declined("the run is not finished; write the command again once it is, or cancel the run first")
    try:
        client.post(f"{path}/{'rerun-failed-jobs' if failed_jobs else 'rerun'}", {}, needs="actions: write")
    except Refused as error:  # too old, or somebody else was faster
        raise Declined(str(error)) from None
    except Uncertain:
        now = _run_at(client, path)
        if now.run_attempt <= before.run_attempt and now.status in (None, "completed"):
            raise


def _run_at(client: Client, path: str) -> WorkflowRun:
    return object_of(WorkflowRun, client.get(path, needs="actions: read"), path)


def _answer_review(client: Client, event: Event, check_name: str) -> str:
    """Start the failed jobs again where an approval may change their verdict.

    Return a sentence that says what was done.
    """
    with as_promised(f"{event.repository}#{event.number}"):
        pull = read_pull_request(client, event)
        if pull.head.sha != event.head_sha or find_approval(client, event) is None:
            return "the head commit has no approval that counts"
        origins = [origin for _, origin in looks_of(client, event, check_name, pull.base.ref)]
        newest = max(origins, key=lambda origin: (origin.run, origin.attempt), default=None)
        if newest is None or not newest.is_loosened:
            return "the gate did not fail for loosened rules, so an approval changes nothing"
        try:
            _rerun(client, event, pull, check_name, failed_jobs=True)
        except Declined as error:
            return str(error)
    return "the failed jobs of the gate's run were started again"
