"""The parts of GitHub's objects that are used here, typed.

Other keys are ignored. Nothing is converted: a number in quotes is not a number.
"""

from typing import Annotated, Any, TypeVar

from pydantic import AliasPath, AwareDatetime, Field
from pydantic.dataclasses import dataclass

from accgate.github.api.answers import as_promised
from accgate.inputs.typed import Count, Flag, Text, Whole, adapter_of

T = TypeVar("T")
SHA = "[0-9a-f]{40}|[0-9a-f]{64}"
Sha = Annotated[Text, Field(pattern=f"^({SHA})$")]


@dataclass(frozen=True)
class User:
    """A person or bot."""

    login: Text
    type: Text = "User"

    @property
    def is_person(self) -> bool:
        """Whether it is a person's account."""
        return self.type == "User" and not self.login.endswith("[bot]")


@dataclass(frozen=True)
class Repository:
    """A repository.

    `full_name` is "owner/name".
    """

    full_name: Text
    default_branch: Text | None = None
    private: Flag = True  # where the answer does not say


@dataclass(frozen=True)
class Side:
    """The head or base of a pull request.

    `repo` is None for a deleted fork.
    """

    sha: Sha
    repo: Repository | None
    ref: Text

    @property
    def repository(self) -> str | None:
        """The repository's "owner/name"."""
        return None if self.repo is None else self.repo.full_name

    def is_in(self, repository: str) -> bool:
        """Tell whether it is a branch of this repository.

        Upper and lower case are the same to GitHub.
        """
        return self.repository is not None and self.repository.lower() == repository.lower()


@dataclass(frozen=True)
class PullRequest:
    """A pull request.

    `author` is None for a deleted account.
    """

    number: Count
    head: Side
    base: Side
    author: Text | None = Field(default=None, validation_alias=AliasPath("user", "login"))
    state: Text | None = None
    html_url: Text | None = None

    @property
    def is_open(self) -> bool:
        """Whether it is neither merged nor closed."""
        return self.state == "open"


@dataclass(frozen=True)
class Review:
    """A review of a pull request."""

    id: Whole
    state: Text
    user: User | None
    commit_id: Text | None = None
    submitted_at: Text | None = None


@dataclass(frozen=True)
class WorkflowRun:
    """A run of a workflow.

    `head_repository` is "owner/name", None for a deleted fork.
    """

    id: Whole
    head_sha: Sha
    head_branch: Text | None = None
    head_repository: Text | None = Field(default=None, validation_alias=AliasPath("head_repository", "full_name"))
    run_attempt: Whole = 1
    status: Text | None = None


@dataclass(frozen=True)
class IssueEvent:
    """A line in the history of an issue or pull request."""

    event: Text
    created_at: AwareDatetime


def object_of(shape: type[T], answer: Any, what: str) -> T:
    """Read an answer as an object of this shape.

    `Unreadable`, which names `what`, is raised for any other answer.
    """
    with as_promised(what):
        return adapter_of(shape).validate_python(answer)
