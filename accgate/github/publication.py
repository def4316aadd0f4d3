"""The command `accgate publish`, which reports an evaluation's outcome on GitHub."""

import json

from accgate.errors import PASSED, AccgateError, BadInput
from accgate.github.announcement import Announcement, Options
from accgate.github.api.answers import CannotPublish
from accgate.github.api.client import Client
from accgate.github.approvals import find_approval
from accgate.github.event import LOCAL, Event, find_pull_request, read_event
from accgate.github.outcome import UNFOLLOWED, Outcome, final_exit_code, json_of, read_outcome, refuse_result, title_of
from accgate.github.rules import by_rules_in_force, guard_of, has_commands, verify_result
from accgate.github.runner import Job, collect_troubles, command, end_step, internal_error
from accgate.guard.state import Guard
from accgate.inputs.checkout import commit_of
from accgate.inputs.parquet import without_native_readers
from accgate.report.ending import guard_ending

UNSURE = Guard("unreadable", reason="the base commit has rules, but they were not used; run the gate with --base")
CONTRADICTED = Guard("unreadable", reason="the result used a base's rules, but the files of the base commit have none")


@without_native_readers()
def publish(options: Options, job: Job) -> int:
    """Write a run's comment, check run, annotations, summary and outputs.

    Return the job's exit code. A failure to publish becomes a warning, and never changes the verdict. A guard that
    cannot be read does not hold.

    Raises
    ------
    BadInput
        When this is no job of GitHub Actions.
    """
    event, client, troubles = _connect(options, job)
    outcome = read_outcome(
        options.result,
        exit_code=options.exit_code,
        log=options.log,
        cancelled=options.cancelled,
        untrusted=options.untrusted,
    )
    guard = _guard(options, event, client, outcome)
    if guard is None or guard.state != "unreadable":  # which fails in any case, and says what is missing
        outcome = _verify(options, outcome)
    with collect_troubles("the approved rules could not be used", troubles):
        outcome = by_rules_in_force(outcome, guard, options.trees)
    announcement = Announcement(options, event, client, outcome, guard, troubles)
    title = body = f"Verdict: {outcome.verdict}; guard: {'none' if guard is None else guard.state}."
    with collect_troubles("the comment could not be written", troubles):
        title = title_of(outcome, guard, advisory=options.untrusted)
        body = announcement.body()
    if options.dry_run:
        job.say(body)
    else:
        announcement.write(title, body)
    passed = outcome.exit_code == PASSED and not outcome.is_bootstrap and (guard is None or guard.holds)
    outputs = {
        "verdict": outcome.verdict,
        "passed": "true" if passed and not options.untrusted else "false",
        "summary-markdown": body,
    }
    with collect_troubles("the output json could not be written", troubles):
        outputs["json"] = json.dumps(json_of(outcome, guard))
    end_step(job, body, outputs, troubles)
    code, ended = final_exit_code(outcome, guard, options.fail_on), announcement.ended
    if event.name == LOCAL:
        return code
    # What else only the comment says, which may not have been written.
    refusal = outcome.failure.log if outcome.failure is not None and outcome.failure.refusal else ""
    reason = guard.reason if guard is not None and not guard.holds else ""
    message = "\n".join(filter(None, (title, refusal, reason)))
    job.say(command("notice" if ended in ("success", "neutral") else "error", message, title=options.check_name))
    if guard is not None and guard.state == "loosened":
        lines = guard_ending(outcome.result, guard, event.head_sha, code, commands=has_commands(options.trees))
        if lines:
            job.say("\n".join(lines))
    return code


def _connect(options: Options, job: Job) -> tuple[Event, Client | None, list[str]]:
    """Read the event, and connect to GitHub.

    Return the event, the client, if any, and what went wrong. The event of a `workflow_run` gets its pull request.
    """
    if options.dry_run and "GITHUB_EVENT_NAME" not in job.environ:
        for path, fix in (
            (options.result, "run `accgate run` first, or name a run's accgate.json"),
            (options.trees.head_config, "name the repository's folder with --head, and --config in it"),
        ):
            if not path.is_file():
                raise BadInput(f"{path}: there is no such file; {fix}")
        return Event(LOCAL, commit_of(options.trees.head)), None, []
    event = read_event(job.environ)
    try:
        client = job.connect(event)
    except CannotPublish as error:
        return event, None, [str(error)]
    if event.name != "workflow_run" or options.cancelled:
        return event, client, []
    try:
        with_pull_request = find_pull_request(client, event)
    except CannotPublish as error:
        return event, client, [f"the pull request of {event.head_sha} cannot be read: {error}"]
    if with_pull_request is None:
        return event, client, [f"no open pull request has the head {event.head_sha}: there is nothing to comment on"]
    return with_pull_request, client, []


def _verify(options: Options, outcome: Outcome) -> Outcome:
    """Decide the outcome again from the records by the rules in force.

    A result that does not follow from them is a failure. A fork's records are not used, and its result is advisory.
    """
    if outcome.result is None or options.untrusted:
        return outcome
    try:
        return Outcome(verify_result(options.trees, options.selection, options.result.parent))
    except AccgateError as error:
        return refuse_result(UNFOLLOWED, str(error), options.result.parent)


def _guard(options: Options, event: Event, client: Client | None, outcome: Outcome) -> Guard | None:
    """Return the guard of a pull request.

    Other events have none: the changes in a merge queue passed it as pull requests.
    """
    is_shown = event.name == LOCAL and options.trees.base is not None
    if not (event.name.startswith("pull_request") or is_shown) or options.untrusted or outcome.cancelled:
        return None

    def approval() -> str | None:
        if client is None:
            raise CannotPublish("there is no token to read approvals with")
        return find_approval(client, event)

    try:
        guard = guard_of(options.trees, approval)
    except Exception as error:
        return Guard("unreadable", reason=internal_error(error))
    if outcome.result is None or guard.state == "unreadable":
        return guard
    by_base = outcome.result.rules == "base"
    if guard.state == "bootstrap":
        return CONTRADICTED if by_base else guard
    return guard if by_base else UNSURE
