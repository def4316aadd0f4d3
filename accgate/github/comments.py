"""The one comment of a check on a pull request.

It is found again by its author and marker.
"""

import hashlib
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from pydantic import AliasPath, Field
from pydantic.dataclasses import dataclass as checked_dataclass

from accgate.github.api.answers import CannotPublish, CannotReach, NotFound, Uncertain, Unreadable
from accgate.github.api.client import Client
from accgate.github.api.objects import User, object_of
from accgate.github.event import Event
from accgate.inputs.typed import Text, Whole

When = Literal["always", "on-change", "on-failure", "never"]

NEEDS = "pull-requests: write"
ACTIONS_LOGIN = "github-actions[bot]"
# The first line of a comment of ours: its key, and what the run that wrote it said.
_MARKER = re.compile(r"<!-- accgate ([0-9a-f]{16}) verdict=(\S+) guard=(\S+) head=(\S+) run=(\d{1,18})\.(\d{1,9}) -->")


@dataclass(frozen=True)
class State:
    """The verdict, the guard's state and whether the run passed, on which `when` depends."""

    verdict: str
    guard: str
    passed: bool


@checked_dataclass(frozen=True)
class Comment:
    """A comment of the API."""

    id: Whole
    author: Text = Field(default="", validation_alias=AliasPath("user", "login"))
    body: Text | None = None
    html_url: Text | None = None

    @cached_property
    def marker(self) -> re.Match[str] | None:
        """The marker, if accgate wrote the comment."""
        return _MARKER.match(self.body or "")

    @property
    def run(self) -> tuple[int, int]:
        """The run that wrote it and its attempt, zeros without a marker."""
        return (int(self.marker[5]), int(self.marker[6])) if self.marker else (0, 0)


def comment_key(config: str, check_name: str) -> str:
    """Return the key of the comments of one check on a pull request.

    >>> comment_key("accuracy.toml", "accgate") == comment_key("accuracy.toml", "accgate (fp8)")
    False
    """
    return hashlib.sha256(f"{config}\0{check_name}".encode()).hexdigest()[:16]


def put_comment(
    client: Client, event: Event, *, key: str, state: State, body: str, when: When = "always"
) -> str | None:
    """Write, update or leave the comment with this key.

    Return its address, if any. `on-change` writes only where verdict or guard differ from the comment's. `on-failure`
    begins no comment for a run that passed. A comment of a later run stays as it is.

    Raises
    ------
    CannotPublish
        When GitHub could not be reached, or refused.
    """
    if when == "never" or event.number is None:
        return None
    text = f"{_marker(event, key, state)}\n{body}"
    me, run = own_login(client), (event.source_run_id, event.source_run_attempt)
    ours = list(_ours(client, event, key, me))
    if not _is_due(ours, event, state, when):
        return ours[0].html_url if ours else None
    if ours:
        with suppress(NotFound):  # deleted since we listed it
            return _update(client, event, ours, text)
    created = client.once(
        lambda: _create(client, event, text),
        lambda: next((comment for comment in _ours(client, event, key, me) if comment.run == run), None),
        f"the comment on {event.repository}#{event.number} could not be written",
    )
    with suppress(CannotPublish):  # ours is written, and one that is listed may be gone; the next run removes doubles
        return _leave_one(client, event, key, me, created, text)
    return created.html_url


def _create(client: Client, event: Event, text: str) -> Comment:
    """Write a comment.

    Uncertain is raised where GitHub's answer is none.
    """
    path = f"/repos/{event.repository}/issues/{event.number}/comments"
    try:
        return object_of(Comment, client.post(path, {"body": text}, needs=NEEDS), path)
    except Unreadable as error:
        raise Uncertain(f"POST {path}: the answer is not a comment") from error


def _leave_one(client: Client, event: Event, key: str, me: str, created: Comment, text: str) -> str | None:
    """Leave one comment, and return its address.

    Another job may have written one just before `created`: then the older one stays.
    """
    ours = list(_ours(client, event, key, me))
    if not ours or ours[0].id >= created.id:
        return created.html_url
    if (event.source_run_id, event.source_run_attempt) >= ours[0].run:
        return _update(client, event, ours, text)
    client.delete(f"/repos/{event.repository}/issues/comments/{created.id}", needs=NEEDS)
    return ours[0].html_url


def own_login(client: Client) -> str:
    """Return the login of this token's user or app.

    A token that may not ask is taken for a job's.
    """
    try:
        # REST's /user knows no app.
        viewer = client.graphql("query { viewer { login } }").get("viewer")
        return object_of(User, viewer, client.graphql_url).login
    except CannotReach:
        raise
    except CannotPublish:
        return ACTIONS_LOGIN


def _ours(client: Client, event: Event, key: str, me: str) -> Iterator[Comment]:
    """Yield our comments with this key, the oldest first.

    Others can copy the marker, but not write under our name.
    """
    path = f"/repos/{event.repository}/issues/{event.number}/comments"
    comments = [object_of(Comment, row, path) for row in client.pages(path, needs=NEEDS)]
    for comment in sorted(comments, key=lambda comment: comment.id):
        if comment.author.lower() == me.lower() and comment.marker and comment.marker[1] == key:
            yield comment


def _is_due(ours: list[Comment], event: Event, state: State, when: When) -> bool:
    if not ours:
        return when != "on-failure" or not state.passed
    newest = max(ours, key=lambda comment: comment.run)
    if newest.run > (event.source_run_id, event.source_run_attempt):
        return False
    before = newest.marker and newest.marker.group(2, 3)
    return when != "on-change" or len(ours) > 1 or before != (state.verdict, state.guard)


def _update(client: Client, event: Event, ours: list[Comment], text: str) -> str | None:
    path = f"/repos/{event.repository}/issues/comments"
    answer = client.patch(f"{path}/{ours[0].id}", {"body": text}, needs=NEEDS)
    for double in ours[1:]:
        with suppress(NotFound):
            client.delete(f"{path}/{double.id}", needs=NEEDS)
    return object_of(Comment, answer, f"PATCH {path}/{ours[0].id}").html_url or ours[0].html_url


def _marker(event: Event, key: str, state: State) -> str:
    """Return the first line of a comment.

    Its values must not end the HTML comment.
    """
    values = f"verdict={state.verdict} guard={state.guard} head={event.head_sha}"
    line = f"<!-- accgate {key} {values} run={event.source_run_id}.{event.source_run_attempt} -->"
    if not _MARKER.fullmatch(line) or re.search(r"[<>]|--", values):
        raise ValueError(f"not a marker: {line}")
    return line
