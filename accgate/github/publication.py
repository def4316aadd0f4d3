"""`accgate publish`: what came of an evaluation, told on GitHub."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from accgate.errors import PASSED, AccgateError, BadInput
from accgate.github.annotations import in_repository, remarks_on
from accgate.github.api import CannotPublish, CannotRead, Client
from accgate.github.approvals import Approval, find_approval
from accgate.github.check_runs import Annotation, finish_check_run
from accgate.github.commands import append_summary, command, inert, write_outputs
from accgate.github.comments import State, When, comment_key, put_comment
from accgate.github.event import Event, check_run_name, find_pull_request
from accgate.github.outcome import FAIL_ON, Outcome, conclusion, final_exit_code, read_outcome
from accgate.github.rules_in_force import by_rules_in_force
from accgate.github.summary import json_of, title_of
from accgate.github.trees import Trees, guard_of, template_of
from accgate.guard import Guard
from accgate.report import About, flips_of_result, render_comment

UNSURE = Guard("unreadable", reason="the base commit has rules, but they did not judge; run the gate with --base")
CONTRADICTED = Guard("unreadable", reason="rules of a base judged, but the files of the base commit hold none")


@dataclass(frozen=True)
class Options:
    """What is published, and how; `trees.base` is None where no rules of a base judge, as after a push."""

    result: Path
    trees: Trees
    check_name: str = "accgate"
    comment: When = "always"
    fail_on: frozenset[str] = frozenset(FAIL_ON)
    exit_code: int | None = None
    log: Path | None = None
    check_run_id: int | None = None
    cancelled: bool = False
    untrusted: bool = False
    dry_run: bool = False


def publish(
    options: Options, environ: Mapping[str, str], *, connect: Callable[[Event], Client], say: Callable[[str], None]
) -> int:
    """Comment, check run, annotations, job summary and outputs of a run; the job's exit code.

    What GitHub does not take becomes a warning, and so does a fault of accgate's own: a failure to publish never
    changes the verdict. What the guard cannot read does: it then does not hold.

    Parameters
    ----------
    options : Options
        The files that the evaluation left, and how to publish.
    environ : mapping
        The variables of GitHub Actions.
    connect : callable
        Makes the API client of an event; raises CannotPublish where there is no token.
    say : callable
        Prints a line to the job's log.

    Raises
    ------
    BadInput
        When this is no job of GitHub Actions.
    """
    event, client, troubles = _connected(options, environ, connect)
    outcome = read_outcome(
        options.result, exit_code=options.exit_code, log=options.log,
        cancelled=options.cancelled, untrusted=options.untrusted,
    )  # fmt: skip
    guard = _guard(options, event, client, outcome)
    with _noted("the rules that were approved did not judge", troubles):
        outcome = by_rules_in_force(outcome, guard, options.trees)
    title = body = _plainly(outcome, guard)
    with _noted("the comment could not be put together", troubles):
        title = title_of(outcome, guard, advisory=options.untrusted)
        body = _body(options, event, outcome, guard, troubles)
    if options.dry_run:
        say(inert(body))
    elif client is not None:
        _tell(options, event, client, outcome, guard, title, body, troubles)
    passed = outcome.exit_code == PASSED and not outcome.is_bootstrap and (guard is None or guard.holds)
    with _noted("job summary and outputs cannot be written", troubles):
        append_summary(environ.get("GITHUB_STEP_SUMMARY"), body)
        outputs = {
            "verdict": outcome.verdict,
            "passed": "true" if passed and not options.untrusted else "false",
            "summary-markdown": body,
            "json": json.dumps(json_of(outcome, guard)),
        }
        write_outputs(environ.get("GITHUB_OUTPUT"), outputs)
    for text in troubles:
        say(trouble(text))
    ended = conclusion(outcome, guard, advisory=options.untrusted)
    say(command("notice" if ended in ("success", "neutral") else "error", title, title=options.check_name))
    return final_exit_code(outcome, guard, options.fail_on)


@contextmanager
def _noted(what: str, troubles: list[str]) -> Iterator[None]:
    """Go on after whatever fails here, and note it."""
    try:
        yield
    except (CannotPublish, OSError, AccgateError) as error:
        troubles.append(f"{what}: {error}")
    except Exception as error:
        troubles.append(f"{what}: {_internal(error)}")


def _internal(error: Exception) -> str:
    return f"internal error: {type(error).__name__}: {error}; please report it"


def _plainly(outcome: Outcome, guard: Guard | None) -> str:
    """What came of the run, where nothing better can be said."""
    return f"Verdict: {outcome.verdict}; guard: {'none' if guard is None else guard.state}."


def _connected(
    options: Options, environ: Mapping[str, str], connect: Callable[[Event], Client]
) -> tuple[Event, Client | None, list[str]]:
    """The event, with the pull request of a `workflow_run`; the client, where one can be had; and what went wrong."""
    from accgate.github.event import read_event

    event = read_event(environ)
    try:
        client = connect(event)
    except CannotPublish as error:
        return event, None, [str(error)]
    if event.name != "workflow_run" or options.cancelled:
        return event, client, []
    try:
        found = find_pull_request(client, event)
    except CannotPublish as error:
        return event, client, [f"the pull request of {event.head_sha} cannot be looked for: {error}"]
    if found is None:
        return event, client, [f"no open pull request has {event.head_sha} as its head: there is nothing to comment on"]
    return found, client, []


def _guard(options: Options, event: Event, client: Client | None, outcome: Outcome) -> Guard | None:
    """The guard of a pull request; None for other events. What a merge queue holds was guarded as a pull request."""
    if not event.name.startswith("pull_request") or options.untrusted or outcome.cancelled:
        return None

    def approval() -> Approval | None:
        if client is None:
            raise CannotRead("there is no token to ask with")
        return find_approval(client, event, options.check_name)

    try:
        guard = guard_of(options.trees, approval)
    except Exception as error:
        return Guard("unreadable", reason=_internal(error))
    if outcome.result is None or guard.state == "unreadable":
        return guard
    judged_by_base = outcome.result.rules == "base"
    if guard.state == "bootstrap":
        return CONTRADICTED if judged_by_base else guard
    return guard if judged_by_base else UNSURE


def _body(options: Options, event: Event, outcome: Outcome, guard: Guard | None, troubles: list[str]) -> str:
    """The Markdown of the comment, which the job summary shows too."""
    about = About(
        title=options.check_name, config=options.trees.config, head_sha=event.head_sha, report_url=event.run_url,
        advisory=options.untrusted,
    )  # fmt: skip
    flips, template = None, None
    try:
        if not options.untrusted:
            template = template_of(options.trees)
            flips = None if outcome.result is None else flips_of_result(outcome.result, options.result.parent)
    except BadInput as error:
        troubles.append(f"the comment lacks a part: {error}")
    failure = outcome.failure and replace(outcome.failure, log=in_repository(outcome.failure.log, options.trees))
    return render_comment(outcome.result, about, guard=guard, flips=flips, failure=failure, template=template)


def _tell(
    options: Options,
    event: Event,
    client: Client,
    outcome: Outcome,
    guard: Guard | None,
    title: str,
    body: str,
    troubles: list[str],
) -> None:
    """The comment and the check run; each that fails is noted, and the other is tried all the same."""
    ended = conclusion(outcome, guard, advisory=options.untrusted)
    state = State(outcome.verdict, "none" if guard is None else guard.state, passed=ended == "success")
    remarks: tuple[Annotation, ...] = ()
    with _noted("the check run has no annotations", troubles):
        remarks = () if options.untrusted else remarks_on(outcome, guard, options.trees)
    name = check_run_name(event, options.check_name, advisory=options.untrusted)
    url = None
    with _noted("the comment was not written", troubles):
        if not outcome.cancelled:
            key = comment_key(options.trees.config, options.check_name)
            url = put_comment(client, event, key=key, state=state, body=body, when=options.comment)
    summary = f"{body}\n\n[The comment on the pull request]({url})\n" if url else body
    with _noted("the check run was not written", troubles):
        finish_check_run(
            client, event, name=name, conclusion=ended, title=title, summary=summary, annotations=remarks,
            check_run_id=options.check_run_id,
        )  # fmt: skip


def trouble(text: str) -> str:
    """The warning that something could not be published."""
    return command("warning", text, title="accgate could not publish everything")


def state_of(path: Path | None) -> int | None:
    """The id of the check run that `publish --start` opened; None where none was."""
    try:
        state = json.loads(path.read_text(encoding="utf-8")) if path is not None else {}
        number = state.get("check_run_id") if isinstance(state, dict) else None
    except (OSError, ValueError):
        return None
    return number if isinstance(number, int) else None


def write_state(path: Path | None, check_run_id: int | None) -> None:
    """Keep the id of the check run for `publish`."""
    if path is not None:
        path.write_text(json.dumps({"check_run_id": check_run_id}) + os.linesep, encoding="utf-8")
