"""`accgate publish --start`: may this event be evaluated at all, and the check run that says so."""

from __future__ import annotations

from collections.abc import Callable

from accgate.errors import BadInput
from accgate.github.api import CannotPublish, Client
from accgate.github.approvals import fork_is_allowed
from accgate.github.check_runs import open_check_run
from accgate.github.commands import command
from accgate.github.event import Event, check_run_name

PULL_REQUEST_TARGET = (
    "pull_request_target runs with the repository's token and secrets, and the gate runs what the pull request brings: "
    "its models, options and code. Use pull_request"
)
WORKFLOW_RUN = (
    "workflow_run runs with the repository's token and secrets, whatever commit it was started for. Evaluate on "
    "pull_request, and publish from workflow_run with the action's report/ part"
)
FORK = (
    "this pull request is of a fork, whose models and code would run on your machine. To allow this very commit, put "
    "an environment with required reviewers on the job, have one with write permission approve the run, and grant "
    "`actions: read`"
)


def start(event: Event, client: Client | None, *, check_name: str, say: Callable[[str], None]) -> int | None:
    """Open the check run on the head commit; its id, None where GitHub does not take it.

    Raises
    ------
    BadInput
        For an event that must not be evaluated: why, and what to do instead.
    """
    refuse(event, client)
    if client is None:
        return None
    summary = "The models are being evaluated; this check ends with the verdict."
    try:
        name = check_run_name(event, check_name)
        return open_check_run(client, event, name=name, title="Evaluating", summary=summary)
    except CannotPublish as error:
        say(command("warning", f"the check run was not opened: {error}", title="accgate could not publish everything"))
        return None


def refuse(event: Event, client: Client | None) -> None:
    """Refuse an event whose code must not run here.

    Raises
    ------
    BadInput
        Why, and what to do instead.
    """
    if event.name == "pull_request_target":
        raise BadInput(PULL_REQUEST_TARGET)
    if event.name == "workflow_run":
        raise BadInput(WORKFLOW_RUN)
    if not event.is_fork:
        return
    try:
        allowed = None if client is None else fork_is_allowed(client, event)
    except CannotPublish as error:
        raise BadInput(f"{FORK}. Whether one did cannot be read: {error}") from error
    if allowed is None:
        raise BadInput(FORK)
