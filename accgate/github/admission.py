"""`accgate publish --start`: which events may be evaluated, and the check run that is open until the verdict."""

from __future__ import annotations

import json
import os
from pathlib import Path

from accgate.errors import BadInput
from accgate.github.api.answers import CannotPublish
from accgate.github.api.client import Client
from accgate.github.approvals import fork_is_allowed
from accgate.github.check_runs import finish_check_run, open_check_run
from accgate.github.event import Event, check_run_name, read_event
from accgate.github.runner import Job, append_summary, collect_troubles, command, trouble, write_outputs

PRIVILEGED = {  # events by whose name nothing is evaluated
    "pull_request_target": "pull_request_target runs with the repository's token and secrets, and the gate runs the "
    "pull request's models, options and code. Use pull_request",
    "workflow_run": "workflow_run runs with the repository's token and secrets, whatever commit it was started for. "
    "Evaluate on pull_request, and publish from workflow_run with the action's report/ part",
}
FORK = (
    "this pull request comes from a fork, whose models and code would run on your machine. Somebody with write "
    "permission can look at this very commit and either push it to a branch of this repository and open a pull request "
    "from there, whose check counts for this one too, or let the run into the environment that the input "
    "fork-environment names, for advice (docs/action.md, Forks)"
)


def state_of(path: Path | None) -> int | None:
    """The id of the check run that `publish --start` opened; None where it opened none."""
    try:
        state = json.loads(path.read_text(encoding="utf-8")) if path is not None else {}
        number = state.get("check_run_id") if isinstance(state, dict) else None
    except (OSError, ValueError):
        return None
    return number if isinstance(number, int) else None


def start(job: Job, state: Path | None, *, check_name: str, branches: tuple[str, ...], fork_environment: str) -> None:
    """Open the check run on the head commit, and keep its id in the file `state` for `publish`.

    Without that file only the event is looked at: another job publishes.

    Raises
    ------
    BadInput
        For an event that must not be evaluated: why, and what to do instead. The check run, the job summary and the
        outputs say so too.
    """
    event, client, number = read_event(job.environ), None, None
    try:
        client = job.connect(event)
    except CannotPublish as error:
        job.say(trouble(str(error)))
    name = check_run_name(event, check_name, branches=branches)
    try:
        refuse(event, client, fork_environment)
    except BadInput as error:
        _tell_refusal(job, event, client, name, str(error))
        raise
    if state is None:
        return
    summary = "The models are being evaluated; this check ends with the verdict."
    try:
        if client is not None:
            number = open_check_run(client, event, name=name, title="Evaluating", summary=summary)
    except CannotPublish as error:
        job.say(trouble(f"the check run was not opened: {error}"))
    state.write_text(json.dumps({"check_run_id": number}) + os.linesep, encoding="utf-8")


def _tell_refusal(job: Job, event: Event, client: Client | None, name: str, reason: str) -> None:
    """Say that nothing was evaluated, and why, wherever people look; the check run never satisfies a required one."""
    title, troubles = "Refused: nothing was evaluated", list[str]()
    job.say(command("error", reason, title=name))
    body = f"## {title}\n\n{reason[:1].upper()}{reason[1:]}.\n"
    with collect_troubles("the job summary and outputs could not be written", troubles):
        append_summary(job.environ.get("GITHUB_STEP_SUMMARY"), body)
        outputs = {"verdict": "error", "passed": "false", "summary-markdown": body}
        write_outputs(job.environ.get("GITHUB_OUTPUT"), outputs)
    if client is not None and event.name != "workflow_run":
        with collect_troubles("the check run was not written (the token of a fork's job can only read)", troubles):
            finish_check_run(client, event, name=name, conclusion="action_required", title=title, summary=body)
    for text in troubles:
        job.say(trouble(text))


def refuse(event: Event, client: Client | None, fork_environment: str = "") -> None:
    """Refuse an event whose code must not run here: a fork's, unless its run was let into the environment.

    Raises
    ------
    BadInput
        Why, and what to do instead.
    """
    if (why := PRIVILEGED.get(event.name)) is not None:
        raise BadInput(why)
    if not event.is_fork:
        return
    try:
        allowed = None if client is None else fork_is_allowed(client, event, fork_environment)
    except CannotPublish as error:
        raise BadInput(f"{FORK}. Whether somebody approved it cannot be read: {error}") from error
    if allowed is None:
        raise BadInput(FORK)
