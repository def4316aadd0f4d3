"""`accgate publish`, `respond` and `propose` from their arguments and the variables of GitHub Actions."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping
from pathlib import Path

from accgate.errors import CANNOT_EVALUATE, PASSED, BadInput
from accgate.github import FAIL_ON, CannotPublish, Client, Event, Trees, command, mask, read_event
from accgate.github import publication as publishing
from accgate.github import start as started
from accgate.text import nearest

TOKENS = ("ACCGATE_TOKEN", "GITHUB_TOKEN")


def publish(arguments: argparse.Namespace, environ: Mapping[str, str]) -> int:
    """Publish a run; the job's exit code.

    Raises
    ------
    BadInput
        For arguments that cannot be used, or outside GitHub Actions.
    """
    if arguments.result is None:
        raise BadInput("give the accgate.json to publish, or --start before the run")
    options = publishing.Options(
        result=arguments.result,
        trees=Trees(arguments.head, arguments.base, _path_in_repository(arguments.config)),
        check_name=_check_name(arguments.check_name),
        comment=arguments.comment,
        fail_on=fail_on(arguments.fail_on),
        exit_code=arguments.exit_code,
        log=arguments.log,
        check_run_id=publishing.state_of(arguments.state),
        cancelled=arguments.cancelled,
        untrusted=arguments.untrusted,
        dry_run=arguments.dry_run,
    )
    mask_tokens(environ)
    return publishing.publish(options, environ, connect=lambda event: connected(event, environ), say=_say)


def start(arguments: argparse.Namespace, environ: Mapping[str, str]) -> int:
    """Refuse what must not run, and open the check run.

    Raises
    ------
    BadInput
        For an event that must not be evaluated, or outside GitHub Actions.
    """
    mask_tokens(environ)
    event = read_event(environ)
    client = None
    try:
        client = connected(event, environ)
    except CannotPublish as error:
        _say(publishing.trouble(str(error)))
    number = started(event, client, check_name=_check_name(arguments.check_name), say=_say)
    publishing.write_state(arguments.state, number)
    return PASSED


def respond(arguments: argparse.Namespace, environ: Mapping[str, str]) -> int:
    """Do what a comment asks for, or leave it to the jobs that follow; the job's exit code.

    Raises
    ------
    BadInput
        For arguments that cannot be used, or an event that is no comment.
    """
    from accgate.github import respond as responded

    name = _check_name(arguments.check_name)
    mask_tokens(environ)
    try:
        return responded(environ, check_name=name, connect=lambda event: connected(event, environ), say=_say)
    except CannotPublish as error:
        return _failed("respond", error, CANNOT_EVALUATE)


def propose(arguments: argparse.Namespace, environ: Mapping[str, str]) -> int:
    """Propose references as a pull request or commit; the job's exit code."""
    from accgate.github import proposal as proposing

    mask_tokens(environ)
    try:
        options = proposing.Options(
            arguments.folder, _sha(arguments.head_sha), _folder_in_repository(arguments.references), arguments.how
        )
        return proposing.propose(options, environ, connect=lambda event: connected(event, environ), say=_say)
    except CannotPublish as error:
        return _failed("propose", error, CANNOT_EVALUATE)
    except BadInput as error:  # it can quote the references, in which the runner must find no command
        return _failed("propose", error, error.exit_code)


def _failed(what: str, error: Exception, code: int) -> int:
    _say(command("error", str(error), title=f"accgate {what}"))
    return code


def _sha(text: str) -> str:
    if not re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", text):
        raise BadInput(f"--head-sha: {text!r} is not a commit; give the output head-sha of accgate respond")
    return text


def _folder_in_repository(text: str) -> str:
    path = Path(text)
    if path.is_absolute() or not path.parts or any(part.startswith(".") for part in path.parts):
        raise BadInput(f"--references: {text!r}: give a folder's path in the repository, without hidden parts or ..")
    return path.as_posix()


def connected(event: Event, environ: Mapping[str, str]) -> Client:
    """The client of an event.

    Raises
    ------
    CannotPublish
        When there is no token.
    """
    token = next((environ[name] for name in TOKENS if environ.get(name)), "")
    if not token:
        raise CannotPublish(f"there is no token in {' or '.join(TOKENS)}; pass the job's github.token")
    return Client(event.api_url, token, graphql_url=event.graphql_url)


def fail_on(text: str) -> frozenset[str]:
    """What fails the job, from a comma-separated list; `never` is nothing.

    >>> sorted(fail_on("regression, guard")), fail_on("never")
    (['guard', 'regression'], frozenset())
    """
    names = [name.strip() for name in text.split(",") if name.strip()]
    if names == ["never"]:
        return frozenset()
    known = (*FAIL_ON, "never")
    if not names or "never" in names:
        raise BadInput(f"--fail-on: {text!r}: give never alone, or some of {', '.join(FAIL_ON)}")
    if unknown := [name for name in names if name not in known]:
        raise BadInput(f"--fail-on: {unknown[0]!r}: {nearest(unknown[0], known)}")
    return frozenset(names)


def _path_in_repository(text: str) -> str:
    path = Path(text)
    if path.is_absolute() or ".." in path.parts:
        raise BadInput(f"--config: {text!r}: give the path of accuracy.toml in the repository, without ..")
    return path.as_posix()


def _check_name(text: str) -> str:
    if not text.strip() or not text.isprintable() or len(text) > 100:
        raise BadInput(f"--check-name: {text!r}: give up to 100 printable characters")
    return text.strip()


def mask_tokens(environ: Mapping[str, str]) -> None:
    """Have the runner hide the token, where there is a runner."""
    if environ.get("GITHUB_ACTIONS") == "true":
        for name in TOKENS:
            if line := mask(environ.get(name, "")):
                _say(line)


def _say(line: str) -> None:
    print(line, flush=True)
