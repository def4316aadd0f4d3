"""The start of a run, where some events are refused and others repeated.

GitHub reports a job that its `if:` skipped as successful. Where the job or its workflow is required, an event that
changes nothing, such as an edited title, would turn a red one green. `accgate publish --standing` ends such a run with
the verdict that stands.
"""

from pathlib import Path

from accgate.errors import NO_VERDICT, PASSED, BadInput
from accgate.github.api.answers import CannotPublish
from accgate.github.api.client import Client
from accgate.github.approvals import fork_is_allowed
from accgate.github.check_runs import PASSING, UNFINISHED, CheckRuns
from accgate.github.event import Event, check_run_name, read_event
from accgate.github.runner import Job, collect_troubles, command, end_step, trouble
from accgate.text import with_capital

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
    """Return the id of the check run that `publish --start` opened, if any."""
    try:
        return None if path is None else int(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def start(job: Job, state: Path | None, *, check_name: str, branches: tuple[str, ...], fork_environment: str) -> None:
    """Open the check run on the head commit.

    Its id goes into the file `state`, for `publish`. Without that file only the event is checked, because another job
    publishes.

    Raises
    ------
    BadInput
        For an event that must not be evaluated: why, and what to do instead. The check run, the job summary and the
        outputs say so too.
    """
    event, client = read_event(job.environ), None
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
    summary, number = "The models are being evaluated; this check ends with the verdict.", ""
    try:
        if client is not None:
            number = str(CheckRuns(client, event, name).open("Evaluating", summary))
    except CannotPublish as error:
        job.say(trouble(f"the check run was not opened: {error}"))
    state.write_text(number, encoding="utf-8")  # an empty one in place of another run's


def _tell_refusal(job: Job, event: Event, client: Client | None, name: str, reason: str) -> None:
    """Say wherever people look that nothing was evaluated, and why.

    The check run requires an action, so that it satisfies no required check.
    """
    title, troubles = "Refused: nothing was evaluated", list[str]()
    job.say(command("error", reason, title=name))
    body = f"## {title}\n\n{with_capital(reason)}.\n"
    if client is not None and event.name != "workflow_run":
        with collect_troubles("the check run was not written (the token of a fork's job can only read)", troubles):
            CheckRuns(client, event, name).finish("action_required", title, body)
    end_step(job, body, {"verdict": "error", "passed": "false", "summary-markdown": body}, troubles)


def refuse(event: Event, client: Client | None, fork_environment: str) -> None:
    """Refuse an event whose code must not run here.

    The code of a fork may run where somebody let its run into the environment.

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
        raise BadInput(f"{FORK}. Its approval could not be checked: {error}") from error
    if allowed is None:
        raise BadInput(FORK)


FIX = "start the gate's own run of this commit again, and this job once that has ended"


def repeat(job: Job, *, check_name: str, branches: tuple[str, ...], fail_on: frozenset[str]) -> int:
    """End as the check run of this commit and base branch did.

    Return the exit code. A check run that is missing, still going on or unreadable gives no verdict (exit code 4).

    Raises
    ------
    BadInput
        When the event is not one of a pull request: only these have a check that another run has written.
    """
    event = read_event(job.environ)
    if event.name != "pull_request":
        raise BadInput(f"GITHUB_EVENT_NAME: is {event.name!r}; --standing is for pull_request")
    name = check_run_name(event, check_name, branches=branches)
    try:
        ended = CheckRuns(job.connect(event), event, name).standing()
        fact = f"the check {name} of commit {event.head_sha[:12]} " + {
            None: f"is missing, or was for another base: {FIX}",
            UNFINISHED: f"has not ended: {FIX}",
        }.get(ended, f"ended with {ended}, which stands")
    except CannotPublish as error:
        ended, fact = None, f"the check {name} cannot be read: {error}"
    passed = ended in PASSING
    title = "The verdict stands" if passed else "The verdict that stands is not a pass"
    message = f"Nothing was evaluated, because this event changes neither commit nor base; {fact}"
    job.say(command("notice" if passed else "error", message, title=name))
    end_step(job, f"## {title}\n\n{message}.\n", {"passed": "true" if ended == "success" else "false"}, [])
    return PASSED if passed or not fail_on else NO_VERDICT
