"""Files on a branch of their own on GitHub.

A job that changes them loses no other job's change.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeVar

from accgate.errors import BadInput
from accgate.github.api.answers import Refused, as_promised
from accgate.github.api.client import Client
from accgate.github.api.git_data import Commit, Git
from accgate.github.event import Event

ATTEMPTS = 12  # jobs of a matrix that end together all write to one branch
UNMOVED = 3  # refusals in a row while the branch does not move: then no other job is the cause


class Change(Protocol):
    """The files of a commit, by path, and its message.

    Without files there is nothing to do.
    """

    @property
    def files(self) -> Mapping[str, bytes]: ...  # noqa: D102

    @property
    def message(self) -> str: ...  # noqa: D102


C = TypeVar("C", bound=Change)


@dataclass(frozen=True)
class NewFiles:
    """A change with nothing but its files and message."""

    files: Mapping[str, bytes]
    message: str


def refuse_other_branch(event: Event, ref: str, branch: str = "") -> None:
    """Refuse runs of any branch but the default one.

    The others are of code that nobody merged, such as a pull request's.

    Raises
    ------
    BadInput
        For any other branch, for an event that anybody can cause, and where the `branch` to write to is the default
        one: it would get commits that nobody looked at.
    """
    if event.name.startswith("pull_request") or event.name in ("merge_group", "workflow_run", "issue_comment"):
        raise BadInput(f"the event {event.name} is not one of the default branch; do this after push or schedule")
    # The event of a schedule does not name the default branch, and has no other.
    default = ref.removeprefix("refs/heads/") if event.name == "schedule" else event.default_branch
    if not default or ref != f"refs/heads/{default}":
        raise BadInput(f"{ref or 'the run'} is not the default branch {default or 'of the repository'}")
    if branch.removeprefix("refs/heads/") == default:
        raise BadInput(f"--branch: {branch} is the default branch; name one for the history alone")


def push_files(
    client: Client, repository: str, branch: str, path: str, change_of: Callable[[bytes], C]
) -> tuple[str, C]:
    """Commit to a branch what `change_of` makes of a file's content.

    A new branch begins without ancestors. GitHub moves a branch only forward: where another job was first, the file is
    read and changed again.

    Parameters
    ----------
    path : str
        The file that is read; `change_of` gets its content, empty where there is none.

    Returns
    -------
    str
        The branch's commit; the one that was read where there was nothing to do.
    Change
        What `change_of` gave last.

    Raises
    ------
    BadInput
        When the path is not a file.
    CannotPublish
        When GitHub could not be reached, or refused.
    """
    git = Git(client, repository)

    def change_at(parent: Commit | None) -> C:
        with as_promised(f"{repository}: {branch}"):
            content = b"" if parent is None else git.file(parent, path)
        return change_of(content)

    return commit_to(client, git, branch, change_at)


def commit_to(
    client: Client, git: Git, branch: str, change_at: Callable[[Commit | None], C], *, start: Commit | None = None
) -> tuple[str, C]:
    """Commit what `change_at` makes of a branch's last commit.

    A new branch begins at `start`. Results and exceptions are those of `push_files`.
    """
    unmoved = 0
    for attempt in range(1, ATTEMPTS + 1):
        tip = git.tip(branch)
        with as_promised(branch):
            parent = start if tip is None else git.commit(tip)
        change = change_at(parent)
        if tip is not None and not change.files:
            return tip, change
        sha = git.write_commit(parent, change.files, change.message)
        try:
            git.move_branch(branch, tip, sha)
        except Refused:
            unmoved = unmoved + 1 if git.tip(branch) == tip else 0
            if attempt == ATTEMPTS or unmoved == UNMOVED:
                raise
            client.rest(attempt)
        else:
            return sha, change
    raise AssertionError("the last attempt returns or raises")
