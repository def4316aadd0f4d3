"""`accgate publish`: report the outcome of an evaluation on GitHub."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from accgate.errors import PASSED, AccgateError, BadInput
from accgate.github.annotations import annotations_of, in_repository
from accgate.github.api.answers import CannotPublish, CannotRead
from accgate.github.api.client import Client
from accgate.github.approvals import find_approval
from accgate.github.check_runs import (
    SAME_NAME,
    Annotation,
    Conclusion,
    allowed_conclusion,
    finish_check_run,
    settle_rivals,
)
from accgate.github.comments import State, When, comment_key, put_comment
from accgate.github.event import LOCAL, Event, check_run_name, find_pull_request, read_event
from accgate.github.outcome import (
    FAIL_ON,
    TITLE,
    UNFOLLOWED,
    Outcome,
    conclusion,
    final_exit_code,
    json_of,
    read_outcome,
    refuse_result,
    title_of,
)
from accgate.github.picture import push_pictures
from accgate.github.rules import Trees, by_rules_in_force, guard_of, has_commands, template_of, verify_result
from accgate.github.runner import append_summary, command, inert, write_outputs
from accgate.github.troubles import collect_troubles, internal_error, trouble
from accgate.guard.base import Selection
from accgate.guard.state import Guard
from accgate.references.commit import commit_of
from accgate.report.cause import CauseView, cause_view
from accgate.report.cause_file import CauseFile, read_cause
from accgate.report.comment import About, render_comment
from accgate.report.ending import guard_ending
from accgate.report.flips import flips_of_result
from accgate.result import CAUSE
from accgate.text import clip

UNSURE = Guard("unreadable", reason="the base commit has rules, but they were not used; run the gate with --base")
CONTRADICTED = Guard(
    "unreadable", reason="the result was decided by rules of a base, but the files of the base commit hold none"
)


@dataclass(frozen=True)
class Options:
    """What is published, and how; `trees.base` is None where no base's rules decide, as after a push."""

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
    selection: Selection = field(default_factory=Selection)
    branches: tuple[str, ...] = ()
    picture_branch: str = ""

    @property
    def part(self) -> str:
        """A short name of which checks this job is for, the same in each attempt."""
        text = "\0".join((self.trees.config, *self.selection.models, "\0", *self.selection.tasks))
        return hashlib.sha256(text.encode()).hexdigest()[:8]


def publish(
    options: Options, environ: Mapping[str, str], *, connect: Callable[[Event], Client], say: Callable[[str], None]
) -> int:
    """Write the comment, check run, annotations, job summary and outputs of a run; the job's exit code.

    A failure to publish becomes a warning, and never changes the verdict. A guard that cannot be read does not hold.

    Parameters
    ----------
    options : Options
        The evaluation's files, and how to publish.
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
    event, client, troubles = _connect(options, environ, connect)
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
    title = body = f"Verdict: {outcome.verdict}; guard: {'none' if guard is None else guard.state}."
    with collect_troubles("the comment could not be written", troubles):
        title = title_of(outcome, guard, advisory=options.untrusted)
        body = _body(options, event, outcome, guard, _pictures(options, event, client, outcome, troubles), troubles)
    if options.dry_run:
        say(body if event.name == LOCAL else inert(body))
    elif client is not None:
        _tell(options, event, client, outcome, guard, title, body, troubles)
    passed = outcome.exit_code == PASSED and not outcome.is_bootstrap and (guard is None or guard.holds)
    with collect_troubles("the job summary and outputs could not be written", troubles):
        append_summary(environ.get("GITHUB_STEP_SUMMARY"), body)
        outputs = {
            "verdict": outcome.verdict,
            "passed": "true" if passed and not options.untrusted else "false",
            "summary-markdown": body,
            "json": json.dumps(json_of(outcome, guard)),
        }
        write_outputs(environ.get("GITHUB_OUTPUT"), outputs)
    for text in troubles:
        say(text if event.name == LOCAL else trouble(text))
    if event.name == LOCAL:
        return final_exit_code(outcome, guard, options.fail_on)
    ended = conclusion(outcome, guard, advisory=options.untrusted)
    message = "\n".join([title, *_reasons(outcome, guard)])
    say(command("notice" if ended in ("success", "neutral") else "error", message, title=options.check_name))
    code = final_exit_code(outcome, guard, options.fail_on)
    if guard is not None and guard.state == "loosened":
        lines = guard_ending(outcome.result, guard, event.head_sha, code, commands=has_commands(options.trees))
        if lines:
            say(inert("\n".join(lines)))
    return code


def _reasons(outcome: Outcome, guard: Guard | None) -> list[str]:
    """What only the comment would say otherwise, which may not have been written: one line each."""
    refusal = outcome.failure.log.splitlines() if outcome.failure is not None and outcome.failure.refusal else []
    return refusal + ([guard.reason] if guard is not None and guard.reason and not guard.holds else [])


def _connect(
    options: Options, environ: Mapping[str, str], connect: Callable[[Event], Client]
) -> tuple[Event, Client | None, list[str]]:
    """The event, with the pull request of a `workflow_run`; the client, if any; and what went wrong."""
    if options.dry_run and "GITHUB_EVENT_NAME" not in environ:
        for path, fix in (
            (options.result, "run `accgate run` first, or name a run's accgate.json"),
            (options.trees.head_config, "name the repository's folder with --head, and --config in it"),
        ):
            if not path.is_file():
                raise BadInput(f"{path}: there is no such file; {fix}")
        return Event(LOCAL, commit_of(options.trees.head)), None, []
    event = read_event(environ)
    try:
        client = connect(event)
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
    """The outcome as the records give it by the rules in force; one that does not follow from them is a failure.

    From a fork only the small result is used, and it is advisory. A cancelled run has none.
    """
    if outcome.result is None or options.untrusted:
        return outcome
    try:
        return Outcome(verify_result(options.trees, options.selection, options.result.parent))
    except AccgateError as error:
        return refuse_result(UNFOLLOWED, str(error), options.result.parent)


def _guard(options: Options, event: Event, client: Client | None, outcome: Outcome) -> Guard | None:
    """The guard of a pull request; None for other events. A merge queue's changes passed it as pull requests."""
    is_shown = event.name == LOCAL and options.trees.base is not None
    if not (event.name.startswith("pull_request") or is_shown) or options.untrusted or outcome.cancelled:
        return None

    def approval() -> str | None:
        if client is None:
            raise CannotRead("there is no token to read approvals with")
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


def _pictures(
    options: Options, event: Event, client: Client | None, outcome: Outcome, troubles: list[str]
) -> tuple[str, str] | None:
    """Addresses of the picture of all checks; None where it cannot be shown, and the comment has it as text."""
    if client is None or outcome.result is None or not options.picture_branch or options.untrusted or options.dry_run:
        return None
    pictures: list[tuple[str, str] | None] = []
    with collect_troubles("the picture could not be written, so the comment has it as text", troubles):
        pictures.append(push_pictures(client, event, options.picture_branch, outcome.result))
    return pictures[0] if pictures else None


def _body(
    options: Options,
    event: Event,
    outcome: Outcome,
    guard: Guard | None,
    pictures: tuple[str, str] | None,
    troubles: list[str],
) -> str:
    """The Markdown of the comment, which the job summary shows too."""
    about = About(
        title=check_run_name(event, options.check_name, branches=options.branches, advisory=options.untrusted),
        config=options.trees.config,
        head_sha=event.head_sha,
        report_url=event.run_url,
        advisory=options.untrusted,
        commands=not options.untrusted and has_commands(options.trees),
        pictures=pictures,
    )
    flips, template, cause = None, None, None
    try:
        if not options.untrusted:
            cause = _cause(outcome, options.result.parent)
            template = template_of(options.trees)
            flips = None if outcome.result is None else flips_of_result(outcome.result, options.result.parent)
    except BadInput as error:
        troubles.append(f"the comment lacks a part: {error}")
    failure = outcome.failure and replace(outcome.failure, log=in_repository(outcome.failure.log, options.trees))
    return render_comment(
        outcome.result, about, guard=guard, flips=flips, failure=failure, cause=cause, template=template
    )


def _cause(outcome: Outcome, folder: Path) -> CauseView | None:
    """What the evaluating job says explains a regression; None where it says nothing, or nothing regressed."""
    if outcome.result is None or all(verdict.verdict != "regression" for verdict in outcome.result.checks):
        return None
    try:
        cause = read_cause(folder / CAUSE)
    except BadInput as error:
        cause = CauseFile(failure=str(error).replace(f"{folder.as_posix()}/", ""))
    return None if cause is None else cause_view(cause, outcome.result)


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
    """Write the comment and the check run; where one fails, that is noted and the other is still written."""
    ended = conclusion(outcome, guard, advisory=options.untrusted)
    state = State(outcome.verdict, "none" if guard is None else guard.state, passed=ended == "success")
    annotations: tuple[Annotation, ...] = ()
    with collect_troubles("the check run has no annotations", troubles):
        annotations = () if options.untrusted else annotations_of(outcome, guard, options.trees)
    url = None
    with collect_troubles("the comment was not written", troubles):
        if not outcome.cancelled:
            key = comment_key(options.trees.config, options.check_name)
            url = put_comment(client, event, key=key, state=state, body=body, when=options.comment)
    summary = f"{body}\n\n[The comment on the pull request]({url})\n" if url else body
    with collect_troubles("the check run was not written", troubles):
        loosened = guard is not None and guard.state == "loosened"
        _write_check(options, event, client, ended, title, summary, annotations, troubles, is_loosened=loosened)


def _write_check(
    options: Options,
    event: Event,
    client: Client,
    ended: Conclusion,
    title: str,
    summary: str,
    annotations: tuple[Annotation, ...],
    troubles: list[str],
    *,
    is_loosened: bool,
) -> None:
    """End the check run, never better than one of the same name that another job or a later run has ended."""
    name = check_run_name(event, options.check_name, branches=options.branches, advisory=options.untrusted)
    number, part = options.check_run_id, options.part
    allowed = allowed_conclusion(client, event, name=name, part=part, check_run_id=number, ended=ended)
    if allowed != ended:
        title = f"{clip(title, TITLE, '…')}. But another job or a later run of this check ended with {allowed}."
    number = finish_check_run(
        client,
        event,
        name=name,
        conclusion=allowed,
        title=title,
        summary=summary,
        annotations=annotations,
        check_run_id=number,
        part=part,
        is_loosened=is_loosened,
    )
    with collect_troubles("the check run was written, but other jobs of its name were not looked at", troubles):
        if settle_rivals(client, event, name=name, part=part, check_run_id=number, ended=allowed):
            troubles.append(SAME_NAME.format(name=name))
