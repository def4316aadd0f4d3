"""What people ask of accgate in a comment: `/accgate accept REASON` and `/accgate rerun`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import AwareDatetime, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass as checked_dataclass

from accgate.errors import BadInput

REASON_LIMIT = 300  # characters

Name = Literal["accept", "rerun"]


@dataclass(frozen=True)
class Command:
    """What a comment asks for; the reason is as it was written, empty where none was."""

    name: Name
    reason: str = ""

    @property
    def fault(self) -> str | None:
        """Why it cannot be done as it was written; None where it can."""
        if self.name == "accept":
            if not self.reason:
                return "say why the new accuracy is accepted: /accgate accept REASON"
            if len(self.reason) > REASON_LIMIT or not self.reason.isprintable():
                return f"give the reason in up to {REASON_LIMIT} printable characters"
        return None


@checked_dataclass(frozen=True)
class User:
    """Who wrote the comment."""

    login: str
    type: str = "User"


@checked_dataclass(frozen=True)
class Comment:
    """The comment as it was when it was created: what it is changed to later counts for nothing."""

    id: int
    user: User
    created_at: AwareDatetime
    body: str | None = None


@checked_dataclass(frozen=True)
class Issue:
    """What the comment stands under."""

    number: int
    state: str
    pull_request: dict[str, Any] | None = None


@checked_dataclass(frozen=True)
class IssueComment:
    """The part of an `issue_comment` event that counts here."""

    action: str
    comment: Comment
    issue: Issue

    @property
    def command(self) -> Command | None:
        """What it asks for; None where it asks for nothing, or stands where nothing can be asked."""
        if self.action != "created" or self.issue.pull_request is None or self.issue.state != "open":
            return None
        return command_of(self.comment.body or "")


def command_of(body: str) -> Command | None:
    """The command of a comment's first line; None where there is none.

    >>> command_of("/accgate accept new tokenizer\\nsecond line")
    Command(name='accept', reason='new tokenizer')
    >>> command_of("please /accgate rerun")
    """
    line = re.split(r"[\r\n]", body, maxsplit=1)[0]
    found = re.fullmatch(r"/accgate[ \t]+(?:(rerun)[ \t]*|(accept)(?:[ \t]+(.*?))?[ \t]*)", line, re.DOTALL)
    if not found:
        return None
    return Command("rerun") if found[1] else Command("accept", found[3] or "")


def read_issue_comment(environ: Mapping[str, str]) -> IssueComment:
    """The comment that the file of GITHUB_EVENT_PATH describes.

    Raises
    ------
    BadInput
        When the event is another one, or lacks what GitHub writes.
    """
    name = environ.get("GITHUB_EVENT_NAME", "")
    if name != "issue_comment":
        raise BadInput(f"GITHUB_EVENT_NAME: is {name!r}; commands come with `on: issue_comment` and `types: [created]`")
    path = environ.get("GITHUB_EVENT_PATH", "")
    try:
        return TypeAdapter(IssueComment).validate_json(Path(path).read_bytes())
    except OSError as error:
        raise BadInput(f"GITHUB_EVENT_PATH: {path} cannot be read ({error.strerror})") from error
    except ValidationError as error:
        where = ".".join(map(str, error.errors()[0]["loc"]))
        fault = f"the event has no {where} as GitHub writes it" if where else "is not JSON"
        raise BadInput(f"GITHUB_EVENT_PATH: {path}: {fault}") from error
