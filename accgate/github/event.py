"""The event of a run on GitHub, with its commit and pull request."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import AliasPath, Field, ValidationError
from pydantic.dataclasses import dataclass as checked_dataclass

from accgate.errors import BadInput
from accgate.github.api.objects import SHA, PullRequest, Sha, WorkflowRun, object_of
from accgate.inputs.typed import Text, Whole, adapter_of, first_fault

if TYPE_CHECKING:
    from accgate.github.api.client import Client

T = TypeVar("T")
LOCAL = "local"  # the name of a dry run on a machine of one's own, which has no event


@dataclass(frozen=True)
class Event:
    """The event of a run and the commit it is about.

    `repository` and `head_repository` are "owner/name", the latter None for a deleted fork. `head_sha` is the pull
    request's own commit, never GitHub's merge of it. `number` and `author` are the pull request's, if any; for
    `workflow_run` `find_pull_request` adds them. `base_branch` is where the pull request or merge queue leads to.
    `source_run_id` and `source_run_attempt` are of the run that evaluated: with `workflow_run` another one than this.
    """

    name: str
    head_sha: str = ""
    repository: str = ""
    number: int | None = None
    author: str | None = None
    is_fork: bool = False
    head_repository: str | None = None
    head_branch: str | None = None
    base_branch: str | None = None
    default_branch: str | None = None
    run_id: int = 0
    run_attempt: int = 1
    source_run_id: int = 0
    source_run_attempt: int = 1
    api_url: str = ""
    server_url: str = ""

    @property
    def run_url(self) -> str | None:
        """The page of this run.

        A machine of one's own has none.
        """
        if self.name == LOCAL:
            return None
        if not self.run_id:
            return f"{self.server_url}/{self.repository}/actions"
        return f"{self.server_url}/{self.repository}/actions/runs/{self.run_id}/attempts/{self.run_attempt}"


@checked_dataclass(frozen=True)
class Issue:
    """The issue or pull request of a comment."""

    number: Whole
    state: Text | None = None
    pull_request: dict[str, Any] | None = None


@checked_dataclass(frozen=True)
class MergeGroup:
    """The commits that a merge queue tries."""

    head_sha: Sha
    base_ref: Text = ""


@checked_dataclass(frozen=True)
class Payload:
    """The part of an event that counts here, whatever its kind."""

    default_branch: Text | None = Field(default=None, validation_alias=AliasPath("repository", "default_branch"))
    pull_request: PullRequest | None = None
    workflow_run: WorkflowRun | None = None
    merge_group: MergeGroup | None = None
    issue: Issue | None = None


def check_run_name(event: Event, name: str, *, branches: Collection[str], advisory: bool = False) -> str:
    """Return the name of the event's check run.

    Only where the rules of a required branch decided, this is `name` itself. A check stands on a commit, and one commit
    may be the head of several pull requests: where another branch's rules decided, the name says so. After a push or by
    hand a commit's own rules decide, and anybody may have written the result of a fork: such a check must not satisfy
    one that is required of pull requests.

    Parameters
    ----------
    branches : collection of str
        The branches whose pull requests get `name` itself; without any the repository's default branch alone.
    """
    if advisory:
        return f"{name} (advisory)"
    if event.name == LOCAL:
        return name
    if not event.name.startswith("pull_request") and event.name != "merge_group":
        return f"{name} ({event.name})"
    required = branches or ([event.default_branch] if event.default_branch else [])
    return name if event.base_branch in required else name_for_branch(name, event.base_branch)


def name_for_branch(name: str, branch: str | None) -> str:
    """Return the check's name on a pull request to this branch.

    The branch does not require the check.

    >>> name_for_branch("accgate", "release/1.x")
    'accgate (to release/1.x)'
    """
    return f"{name} (to {branch or 'an unknown branch'})"


def read_event(environ: Mapping[str, str]) -> Event:
    """Read the event from the variables of GitHub Actions and the file of GITHUB_EVENT_PATH.

    Raises
    ------
    BadInput
        When a variable or key is missing or is not what GitHub writes: which one.
    """
    name = _variable(environ, "GITHUB_EVENT_NAME")
    payload = read_payload(environ, Payload)
    repository = _variable(environ, "GITHUB_REPOSITORY")
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", repository):
        raise BadInput(f"GITHUB_REPOSITORY: {repository!r} is not owner/name")
    run_id, attempt = _count(environ, "GITHUB_RUN_ID", 0), _count(environ, "GITHUB_RUN_ATTEMPT", 1)
    event = Event(
        name,
        repository=repository,
        head_repository=repository,
        head_branch=environ.get("GITHUB_REF_NAME") or None,
        default_branch=payload.default_branch,
        run_id=run_id,
        run_attempt=attempt,
        source_run_id=run_id,
        source_run_attempt=attempt,
        api_url=(environ.get("GITHUB_API_URL") or "https://api.github.com").rstrip("/"),
        server_url=(environ.get("GITHUB_SERVER_URL") or "https://github.com").rstrip("/"),
    )
    if name.startswith("pull_request"):
        return _of_pull_request(event, _required(payload.pull_request, "pull_request"))
    if name == "workflow_run":
        run = _required(payload.workflow_run, "workflow_run")
        return replace(
            event,
            head_sha=run.head_sha,
            is_fork=run.head_repository is None or run.head_repository.lower() != event.repository.lower(),
            head_repository=run.head_repository,
            head_branch=run.head_branch,
            source_run_id=run.id,
            source_run_attempt=run.run_attempt,
        )
    if name == "merge_group":
        group = _required(payload.merge_group, "merge_group")
        base_branch = group.base_ref.removeprefix("refs/heads/") or None
        return replace(event, head_sha=group.head_sha, head_branch=None, base_branch=base_branch)
    sha = _variable(environ, "GITHUB_SHA")
    if not re.fullmatch(SHA, sha):
        raise BadInput(f"GITHUB_SHA: {sha!r} is not a commit")
    issue = payload.issue
    return replace(event, head_sha=sha, number=issue.number if issue and issue.pull_request is not None else None)


def find_pull_request(client: Client, event: Event) -> Event | None:
    """Return the event with the open pull request of its head.

    Repository, branch and commit must fit, else the result is None. The number in the artifact of the evaluating run is
    not used, because a fork can write any number there.
    """
    if not event.head_repository or not event.head_branch:
        return None
    owner = event.head_repository.split("/")[0]
    for pull in open_pull_requests(client, event, head=f"{owner}:{event.head_branch}"):
        same = (pull.head.ref, pull.head.sha) == (event.head_branch, event.head_sha)
        if same and pull.head.is_in(event.head_repository):
            return _with_pull_request(event, pull)
    return None


def open_pull_requests(client: Client, event: Event, **query: str) -> Iterator[PullRequest]:
    """Yield the repository's open pull requests that fit a query.

    Check them again: not every server filters by all of the query.
    """
    path = f"/repos/{event.repository}/pulls"
    for row in client.pages(path, params={"state": "open", **query}, needs="pull-requests: read"):
        yield object_of(PullRequest, row, path)


def read_pull_request(client: Client, event: Event) -> PullRequest:
    """Read the event's pull request as it is now."""
    path = f"/repos/{event.repository}/pulls/{event.number}"
    return object_of(PullRequest, client.get(path, needs="pull-requests: read"), path)


def _with_pull_request(event: Event, pull: PullRequest) -> Event:
    return replace(event, number=pull.number, author=pull.author, base_branch=pull.base.ref)


def _of_pull_request(event: Event, pull: PullRequest) -> Event:
    base = _required(pull.base.repo, "pull_request.base.repo")
    return replace(
        _with_pull_request(event, pull),
        head_sha=pull.head.sha,
        is_fork=not pull.head.is_in(base.full_name),
        head_repository=pull.head.repository,
        head_branch=pull.head.ref,
        default_branch=event.default_branch or base.default_branch,
    )


def _variable(environ: Mapping[str, str], name: str) -> str:
    value = environ.get(name, "").strip()
    if not value:
        raise BadInput(f"{name} is not set; this command runs in a job of GitHub Actions")
    return value


def _count(environ: Mapping[str, str], name: str, default: int) -> int:
    value = environ.get(name, "").strip() or str(default)
    if not value.isdecimal():
        raise BadInput(f"{name}: {value!r} is not a number")
    return int(value)


def _required(part: T | None, key: str) -> T:
    if part is None:
        raise BadInput(f"GITHUB_EVENT_PATH: the event has no {key}")
    return part


def read_payload(environ: Mapping[str, str], shape: type[T]) -> T:
    """Read the file of GITHUB_EVENT_PATH as an object of this shape.

    Raises
    ------
    BadInput
        When it cannot be read or is no such event: which key.
    """
    path = _variable(environ, "GITHUB_EVENT_PATH")
    try:
        return adapter_of(shape).validate_python(json.loads(Path(path).read_bytes()))
    except ValidationError as error:
        raise BadInput(f"GITHUB_EVENT_PATH: {path} is not what GitHub writes: {first_fault(error)}") from error
    except (OSError, ValueError, RecursionError) as error:
        cause = error.strerror if isinstance(error, OSError) else "not JSON"
        raise BadInput(f"GITHUB_EVENT_PATH: {path} cannot be read ({cause})") from error
