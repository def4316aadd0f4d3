"""A pull request as the API has it now."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from accgate.github.api import Client, Unreadable
from accgate.github.event import Event


@dataclass(frozen=True)
class Head:
    """A pull request's head; `repository` is None where a fork is gone."""

    sha: str
    ref: str
    repository: str | None
    is_open: bool
    author: str | None

    def is_in(self, repository: str) -> bool:
        """Whether it is a branch of this repository, and not of a fork."""
        return self.repository is not None and self.repository.lower() == repository.lower()


def read_head(client: Client, event: Event) -> Head:
    """The head of the event's pull request; to be asked in `promised`."""
    pull = client.get(f"/repos/{event.repository}/pulls/{event.number}", needs="pull-requests: read")
    head = pull["head"]
    if not re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", head["sha"]):
        raise ValueError("the head is no commit")
    repository = (head["repo"] or {}).get("full_name")
    return Head(head["sha"], head["ref"], repository, pull["state"] == "open", (pull["user"] or {}).get("login"))


@contextmanager
def promised(what: str) -> Iterator[None]:
    """Turns an answer that lacks what GitHub's API promises into Unreadable."""
    try:
        yield
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise Unreadable(f"{what}: the answer lacks what GitHub's API promises") from error
