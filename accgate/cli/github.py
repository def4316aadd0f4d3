"""The commands of GitHub's workflows, `publish`, `respond` and `propose`."""

from __future__ import annotations

import argparse
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from accgate.cli.common import RESULT, names_of
from accgate.cli.parser import result_file
from accgate.cli.streams import print_command
from accgate.errors import CANNOT_EVALUATE, PASSED, BadInput
from accgate.text import nearest

if TYPE_CHECKING:
    from accgate.github.api.client import Client
    from accgate.github.event import Event
    from accgate.github.runner import Job

TOKENS = ("ACCGATE_TOKEN", "GITHUB_TOKEN")


def publish_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `publish`."""
    command.add_argument("result", nargs="?", type=result_file, metavar="accgate.json", help="a result; may be missing")
    command.add_argument("--start", action="store_true", help="before the run: refuse unsafe events, open the check")
    what = "for an event that changes neither commit nor base: end as the check of the commit did"
    command.add_argument("--standing", action="store_true", help=what)
    command.add_argument("--state", type=Path, metavar="FILE", help="file that passes the check run on from --start")
    _check_name_option(command)
    what = "only pull requests to these branches set the check with exactly this name (the default branch)"
    command.add_argument("--required-branches", default="", metavar="NAMES", help=what)
    what = "branch for the picture of all checks that a comment shows, in a public repository (none: as text)"
    command.add_argument("--picture-branch", default="", metavar="NAME", help=what)
    what = "with --start: whose approved runs of forks may go on (none)"
    command.add_argument("--fork-environment", default="", metavar="NAME", help=what)
    command.add_argument("--config", default="accuracy.toml", metavar="PATH", help="the repository's (accuracy.toml)")
    command.add_argument("--head", type=Path, default=Path(), metavar="DIR", help="files of the head commit (.)")
    command.add_argument("--base", type=Path, metavar="DIR", help="files of the base commit, for the guard")
    for option, what in (("--models", "models"), ("--tasks", "tasks, by name or tag")):
        command.add_argument(option, default="", metavar="NAMES", help=f"the run was for these {what} alone (all)")
    command.add_argument("--exit-code", type=int, metavar="N", help="exit code of the run; the result must agree")
    command.add_argument("--log", type=Path, metavar="FILE", help="output of the run, shown if there is no result")
    what = "when to write the comment (always)"
    times = ["always", "on-change", "on-failure", "never"]
    command.add_argument("--comment", default="always", choices=times, help=what)
    what = "what fails the job, or never (%(default)s)"
    command.add_argument("--fail-on", default="regression,inconclusive,no-reference,guard", metavar="LIST", help=what)
    command.add_argument("--cancelled", action="store_true", help="the job was cancelled: close its check run")
    command.add_argument("--untrusted", action="store_true", help="anybody may have written the result: advisory only")
    command.add_argument("--dry-run", action="store_true", help="print the comment, publish nothing; needs no GitHub")


def respond_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `respond`."""
    _check_name_option(command)


def propose_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `propose`."""
    command.add_argument("folder", type=Path, metavar="DIR", help="the references that record wrote, from its job")
    command.add_argument("--head-sha", required=True, metavar="SHA", help="the commit that they were recorded at")
    command.add_argument("--references", default="references", metavar="PATH", help="their folder there (references)")
    what = "how to propose them (pull-request)"
    command.add_argument("--as", dest="how", default="pull-request", choices=["pull-request", "commit"], help=what)
    what = "how the recording job ended; the comment gets an answer where it did not succeed (success)"
    command.add_argument("--recorded", default="success", metavar="RESULT", help=what)


def _check_name_option(command: argparse.ArgumentParser) -> None:
    command.add_argument("--check-name", default="accgate", metavar="NAME", help="name of the check run (accgate)")


def publish(arguments: argparse.Namespace) -> int:
    """Publish a run, or with --start open its check run."""
    from accgate.github import admission, publication
    from accgate.github.announcement import Options
    from accgate.github.rules import Trees
    from accgate.guard.base import Selection

    name, branches = _check_name(arguments.check_name), names_of(arguments.required_branches)
    if arguments.start:
        environment = arguments.fork_environment.strip()
        admission.start(job_here(), arguments.state, check_name=name, branches=branches, fork_environment=environment)
        return PASSED
    if arguments.standing:
        failing = fail_on(arguments.fail_on)
        return admission.repeat(job_here(), check_name=name, branches=branches, fail_on=failing)
    result = arguments.result or (RESULT if arguments.dry_run else None)
    if result is None:
        raise BadInput("give the accgate.json to publish, or --start before the run")
    options = Options(
        result=result,
        trees=Trees(arguments.head, arguments.base, _path_in_repository(arguments.config)),
        check_name=name,
        comment=arguments.comment,
        fail_on=fail_on(arguments.fail_on),
        exit_code=arguments.exit_code,
        log=arguments.log,
        check_run_id=admission.state_of(arguments.state),
        cancelled=arguments.cancelled,
        untrusted=arguments.untrusted,
        dry_run=arguments.dry_run,
        picture_branch=arguments.picture_branch,
        selection=Selection(names_of(arguments.models), names_of(arguments.tasks)),
        branches=branches,
    )
    return publication.publish(options, job_here())


def respond(arguments: argparse.Namespace) -> int:
    """Carry out the command of a comment, or leave it to the next jobs."""
    from accgate.github.api.answers import CannotPublish
    from accgate.github.response import respond

    try:
        return respond(job_here(), _check_name(arguments.check_name))
    except CannotPublish as error:
        return fail_job("respond", error)


def propose(arguments: argparse.Namespace) -> int:
    """Propose references as a pull request or commit."""
    from accgate.github import proposal
    from accgate.github.api.answers import CannotPublish

    job = job_here()
    try:
        sha, references = _sha(arguments.head_sha), _folder_in_repository(arguments.references)
        options = proposal.Options(arguments.folder, sha, references, arguments.how, arguments.recorded)
        return proposal.propose(options, job)
    except CannotPublish as error:
        return fail_job("propose", error)
    except BadInput as error:  # it can quote the references, in which the runner must find no command
        return fail_job("propose", error, error.exit_code)


def job_here() -> Job:
    """Return the job that this command runs in, whose runner hides the token."""
    from accgate.github.runner import Job, mask

    if os.environ.get("GITHUB_ACTIONS") == "true":
        for name in TOKENS:
            if line := mask(os.environ.get(name, "")):
                _say(line)
    return Job(os.environ, _client_of, _say)


def _client_of(event: Event) -> Client:
    """Return the client of an event.

    CannotPublish is raised without a token.
    """
    from accgate.github.api.answers import CannotPublish
    from accgate.github.api.client import Client

    token = next((os.environ[name] for name in TOKENS if os.environ.get(name)), "")
    if not token:
        raise CannotPublish(f"there is no token in {' or '.join(TOKENS)}; pass the job's github.token")
    return Client(event.api_url, token)


def fail_job(name: str, error: Exception, code: int = CANNOT_EVALUATE) -> int:
    """Show an error of `accgate NAME` in the job's log.

    Return the exit code.
    """
    from accgate.github.runner import command

    _say(command("error", str(error), title=f"accgate {name}"))
    return code


def _say(line: str) -> None:
    from accgate.github.runner import Command

    if isinstance(line, Command):
        print_command(line)
    else:
        print(line, flush=True)


def fail_on(text: str) -> frozenset[str]:
    """Read the verdicts that fail the job from a comma-separated list.

    `never` gives none.

    >>> sorted(fail_on("regression, guard")), fail_on("never")
    (['guard', 'regression'], frozenset())
    """
    from accgate.github.outcome import FAIL_ON

    names = names_of(text)
    if names == ("never",):
        return frozenset()
    if not names or "never" in names:
        raise BadInput(f"--fail-on: {text!r}: give never alone, or some of {', '.join(FAIL_ON)}")
    if unknown := [name for name in names if name not in FAIL_ON]:
        raise BadInput(f"--fail-on: {unknown[0]!r}: {nearest(unknown[0], (*FAIL_ON, 'never'))}")
    return frozenset(names)


def _sha(text: str) -> str:
    if not re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", text):
        raise BadInput(f"--head-sha: {text!r} is not a commit; give the output head-sha of accgate respond")
    return text


def _folder_in_repository(text: str) -> str:
    path = Path(text)
    if path.is_absolute() or not path.parts or any(part.startswith(".") for part in path.parts):
        raise BadInput(f"--references: {text!r}: give a folder's path in the repository, without hidden parts or ..")
    return path.as_posix()


def _path_in_repository(text: str) -> str:
    path = Path(text)
    if path.is_absolute() or ".." in path.parts:
        raise BadInput(f"--config: {text!r}: give the path of accuracy.toml in the repository, without ..")
    return path.as_posix()


def _check_name(text: str) -> str:
    if not text.strip() or not text.isprintable() or len(text) > 100:
        raise BadInput(f"--check-name: {text!r}: give up to 100 printable characters")
    return text.strip()
