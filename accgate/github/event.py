"""The event of a run on GitHub: its kind, its commit, and its pull request."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accgate.errors import BadInput
from accgate.github.api.answers import number_at, text_at

if TYPE_CHECKING:
    from accgate.github.api.client import Client


LOCAL = "local"  # the name of what is no event: a dry run on a machine of one's own


@dataclass(frozen=True)
class Event:
    """The event of a run and the commit it is about.

    `repository` and `head_repository` are "owner/name", the latter None for a deleted fork. `head_sha` is the pull
    request's own commit, never GitHub's merge of it. `number` and `author` are of the pull request, None where there is
    none or, with `workflow_run`, none was looked for. `base_branch` is where the pull request or merge queue leads to.
    `run_id` and `run_attempt` are of this run, `source_run_id` and
    `source_run_attempt` of the run that evaluated: another one with `workflow_run` only.
    """

    name: str
    action: str | None
    repository: str
    head_sha: str
    base_sha: str | None
    number: int | None
    author: str | None
    is_fork: bool
    head_repository: str | None
    head_branch: str | None
    base_branch: str | None
    default_branch: str | None
    run_id: int
    run_attempt: int
    source_run_id: int
    source_run_attempt: int
    api_url: str
    graphql_url: str
    server_url: str

    @property
    def run_url(self) -> str | None:
        """The page of this run; None on a machine of one's own."""
        if self.name == LOCAL:
            return None
        if not self.run_id:
            return f"{self.server_url}/{self.repository}/actions"
        return f"{self.server_url}/{self.repository}/actions/runs/{self.run_id}/attempts/{self.run_attempt}"


def local_event(head_sha: str) -> Event:
    """What stands for an event where a comment is only shown, on a machine without GitHub's variables."""
    return Event(
        name=LOCAL,
        action=None,
        repository="",
        head_sha=head_sha,
        base_sha=None,
        number=None,
        author=None,
        is_fork=False,
        head_repository=None,
        head_branch=None,
        base_branch=None,
        default_branch=None,
        run_id=0,
        run_attempt=1,
        source_run_id=0,
        source_run_attempt=1,
        api_url="",
        graphql_url="",
        server_url="",
    )


def check_run_name(event: Event, name: str, *, branches: Collection[str], advisory: bool = False) -> str:
    """The name of the event's check run: `name` itself only where the rules of a required branch's commit decided.

    A check stands on a commit, and one commit may be the head of several pull requests: where another branch's rules
    decided, its name says so. After a push or by hand a commit's own rules decide, and anybody may have written the
    result of a fork: such a check must not satisfy one that is required of pull requests.

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
    """The name of a check of a pull request to another branch than the required ones.

    >>> name_for_branch("accgate", "release/1.x")
    'accgate (to release/1.x)'
    """
    return f"{name} (to {branch or 'an unknown branch'})"


def read_event(environ: Mapping[str, str]) -> Event:
    """The event that the variables of GitHub Actions and the file of GITHUB_EVENT_PATH describe.

    Raises
    ------
    BadInput
        When a variable or key is missing or is not what GitHub writes: which one.
    """
    name = _variable(environ, "GITHUB_EVENT_NAME")
    payload = _payload(_variable(environ, "GITHUB_EVENT_PATH"))
    repository = _variable(environ, "GITHUB_REPOSITORY")
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", repository):
        raise BadInput(f"GITHUB_REPOSITORY: {repository!r} is not owner/name")
    server_url = environ.get("GITHUB_SERVER_URL") or "https://github.com"
    api_url = (environ.get("GITHUB_API_URL") or "https://api.github.com").rstrip("/")
    run_id, attempt = _count(environ, "GITHUB_RUN_ID", 0), _count(environ, "GITHUB_RUN_ATTEMPT", 1)
    event = Event(
        name=name,
        action=text_at(payload, "action"),
        repository=repository,
        head_sha="",
        base_sha=None,
        number=None,
        author=None,
        is_fork=False,
        head_repository=repository,
        head_branch=environ.get("GITHUB_REF_NAME") or None,
        base_branch=None,
        default_branch=text_at(payload, "repository", "default_branch"),
        run_id=run_id,
        run_attempt=attempt,
        source_run_id=run_id,
        source_run_attempt=attempt,
        api_url=api_url,
        graphql_url=environ.get("GITHUB_GRAPHQL_URL") or re.sub(r"/api/v3$", "/api", api_url) + "/graphql",
        server_url=server_url.rstrip("/"),
    )
    if name.startswith("pull_request"):
        return _of_pull_request(event, payload)
    if name == "workflow_run":
        return _of_workflow_run(event, payload)
    if name == "merge_group":
        group = "merge_group"
        return replace(
            event,
            head_sha=_sha(payload, group, "head_sha"),
            base_sha=_sha(payload, group, "base_sha"),
            head_branch=None,
            base_branch=(text_at(payload, group, "base_ref") or "").removeprefix("refs/heads/") or None,
        )
    sha = _variable(environ, "GITHUB_SHA")
    if not _is_sha(sha):
        raise BadInput(f"GITHUB_SHA: {sha!r} is not a commit")
    return replace(event, head_sha=sha, number=_commented_pull_request(payload))


def find_pull_request(client: Client, event: Event) -> Event | None:
    """The event with the open pull request of its head repository, branch and commit; None where there is none.

    The number in the artifact of the evaluating run is not used: a fork can write any number there.
    """
    if not event.head_repository or not event.head_branch:
        return None
    owner = event.head_repository.split("/")[0]
    query = {"state": "open", "head": f"{owner}:{event.head_branch}"}
    for pull in client.pages(f"/repos/{event.repository}/pulls", params=query, needs="pull-requests: read"):
        repository, number = text_at(pull, "head", "repo", "full_name") or "", number_at(pull, "number")
        if (
            repository.lower() == event.head_repository.lower()
            and text_at(pull, "head", "ref") == event.head_branch
            and text_at(pull, "head", "sha") == event.head_sha
            and number is not None
        ):
            author, base_sha = text_at(pull, "user", "login"), text_at(pull, "base", "sha")
            base_branch = text_at(pull, "base", "ref")
            return replace(event, number=number, author=author, base_sha=base_sha, base_branch=base_branch)
    return None


def _of_pull_request(event: Event, payload: dict[str, Any]) -> Event:
    pull, _ = _object(payload, "pull_request"), _object(payload, "pull_request", "head")
    _at(payload, "pull_request", "base", "repo")
    number = number_at(pull, "number") or 0
    if number < 1:
        raise BadInput(
            f"GITHUB_EVENT_PATH: pull_request.number: {pull.get('number')!r} is not the number of a pull request"
        )
    head_repository = text_at(pull, "head", "repo", "full_name")
    base_repository = text_at(pull, "base", "repo", "full_name")
    if base_repository is None:
        raise BadInput("GITHUB_EVENT_PATH: pull_request.base.repo.full_name is missing")
    return replace(
        event,
        head_sha=_sha(payload, "pull_request", "head", "sha"),
        base_sha=_sha(payload, "pull_request", "base", "sha"),
        number=number,
        author=text_at(pull, "user", "login"),
        is_fork=_other(head_repository, base_repository),
        head_repository=head_repository,
        head_branch=text_at(pull, "head", "ref"),
        base_branch=text_at(pull, "base", "ref"),
        default_branch=event.default_branch or text_at(pull, "base", "repo", "default_branch"),
    )


def _of_workflow_run(event: Event, payload: dict[str, Any]) -> Event:
    run = _object(payload, "workflow_run")
    head_repository = text_at(run, "head_repository", "full_name")
    source_id, source_attempt = number_at(run, "id"), number_at({"run_attempt": 1} | run, "run_attempt")
    if source_id is None or source_attempt is None:
        raise BadInput("GITHUB_EVENT_PATH: workflow_run.id or workflow_run.run_attempt is not a number")
    return replace(
        event,
        head_sha=_sha(payload, "workflow_run", "head_sha"),
        is_fork=_other(head_repository, event.repository),
        head_repository=head_repository,
        head_branch=text_at(run, "head_branch"),
        source_run_id=source_id,
        source_run_attempt=source_attempt,
    )


def _commented_pull_request(payload: dict[str, Any]) -> int | None:
    """The number of the pull request of an `issue_comment`."""
    issue = payload.get("issue")
    return number_at(issue, "number") if isinstance(issue, dict) and "pull_request" in issue else None


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


def _payload(path: str) -> dict[str, Any]:
    try:
        payload = json.loads(Path(path).read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        cause = error.strerror if isinstance(error, OSError) else "not JSON"
        raise BadInput(f"GITHUB_EVENT_PATH: {path} cannot be read ({cause})") from error
    if not isinstance(payload, dict):
        raise BadInput(f"GITHUB_EVENT_PATH: {path} holds no event")
    return payload


def _at(payload: dict[str, Any], *keys: str) -> Any:
    value: Any = payload
    for number, key in enumerate(keys):
        value = value.get(key) if isinstance(value, dict) else None
        if value is None or (number < len(keys) - 1 and not isinstance(value, dict)):
            raise BadInput(f"GITHUB_EVENT_PATH: the event has no {'.'.join(keys[: number + 1])}")
    return value


def _object(payload: dict[str, Any], *keys: str) -> dict[str, Any]:
    value = _at(payload, *keys)
    if not isinstance(value, dict):
        raise BadInput(f"GITHUB_EVENT_PATH: the event's {'.'.join(keys)} is not an object")
    return value


def _sha(payload: dict[str, Any], *keys: str) -> str:
    value = _at(payload, *keys)
    if not _is_sha(value):
        raise BadInput(f"GITHUB_EVENT_PATH: {'.'.join(keys)}: {value!r} is not a commit")
    return str(value)


def _is_sha(value: object) -> bool:
    return isinstance(value, str) and re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", value) is not None


def _other(head_repository: str | None, base_repository: str) -> bool:
    return head_repository is None or head_repository.lower() != base_repository.lower()


@dataclass(frozen=True)
class Head:
    """A pull request's head; `repository` is None for a deleted fork."""

    sha: str
    ref: str
    repository: str | None
    is_open: bool
    author: str | None
    base_branch: str | None = None

    def is_in(self, repository: str) -> bool:
        """Whether it is a branch of this repository, and not of a fork."""
        return self.repository is not None and self.repository.lower() == repository.lower()


def read_head(client: Client, event: Event) -> Head:
    """The head of the event's pull request as it is now; call it inside `as_promised`."""
    pull = client.get(f"/repos/{event.repository}/pulls/{event.number}", needs="pull-requests: read")
    head = pull["head"]
    if not re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", head["sha"]):
        raise ValueError("the head is not a commit")
    repository = (head["repo"] or {}).get("full_name")
    author, base_branch = text_at(pull, "user", "login"), text_at(pull, "base", "ref")
    return Head(head["sha"], head["ref"], repository, pull["state"] == "open", author, base_branch)
