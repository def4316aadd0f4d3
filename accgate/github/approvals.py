"""Who approved a change of the rules: somebody else with write permission, for this very commit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any
from urllib.parse import quote

from accgate.github.api.answers import CannotPublish, CannotRead, NotFound, as_promised
from accgate.github.api.client import Client
from accgate.github.check_runs import check_runs, origin_of
from accgate.github.event import Event, name_for_branch

_WRITERS = ("write", "maintain", "admin")
_READERS = ("read", "triage", "none")
# After one of these the branch or its base may have been elsewhere in between.
MOVES = (
    "head_ref_force_pushed",
    "head_ref_restored",
    "base_ref_changed",
    "automatic_base_change_succeeded",
)


def find_approval(client: Client, event: Event) -> str | None:
    """Who approved `event.head_sha`: somebody with write permission who is not the pull request's author.

    A review counts if it approves this commit and is its writer's last one. Labels do not: GitHub ties them to no
    commit, so one that was meant for a commit could count for the next.

    Raises
    ------
    CannotRead
        When anything that the decision needs cannot be read.
    """
    if event.number is None:
        return None
    with _reading(f"the approvals of {event.repository}#{event.number}"):
        return _by_review(client, event)


def fork_is_allowed(client: Client, event: Event, environment: str) -> str | None:
    """Who with write permission let this run, of this commit, into the environment of that name.

    Other environments do not count: who approves a preview of the documentation has not looked at what would run here.

    Raises
    ------
    CannotRead
        When that cannot be read.
    """
    if not environment:
        return None
    path = f"/repos/{event.repository}/actions/runs/{event.run_id}"
    with _reading(f"the approvals of run {event.run_id}"):
        if client.get(path, needs="actions: read")["head_sha"] != event.head_sha:
            return None
        rows = client.get(f"{path}/approvals", needs="actions: read")
        rows = [row for row in rows if environment.lower() in (place["name"].lower() for place in row["environments"])]
        users = [row["user"] for row in rows if row["state"] == "approved"]
        return next((user["login"] for user in users if is_writer(client, event, user)), None)


@contextmanager
def _reading(what: str) -> Iterator[None]:
    try:
        with as_promised(what):
            yield
    except CannotPublish as error:
        raise CannotRead(f"{what} cannot be read: {error}") from error


def _by_review(client: Client, event: Event) -> str | None:
    path = f"/repos/{event.repository}/pulls/{event.number}/reviews"
    reviews = [review for review in client.pages(path, needs="pull-requests: read") if review["user"]]
    last = {}
    for review in sorted(reviews, key=lambda review: (review.get("submitted_at") or "", review["id"])):
        if review["state"] not in ("COMMENTED", "PENDING"):
            last[review["user"]["login"].lower()] = review
    for review in last.values():
        if (
            review["state"] == "APPROVED"
            and review["commit_id"] == event.head_sha
            and _may(client, event, review["user"])
        ):
            return str(review["user"]["login"])
    return None


def looks_of(client: Client, event: Event, check_name: str, base_branch: str | None) -> list[dict[str, Any]]:
    """The check runs that the gate started on the head commit for this very pull request.

    The same commit may be the head of another pull request, too: whoever looked at it there did not see it here.
    """
    names = (check_name, name_for_branch(check_name, base_branch))
    runs = [run for name in names for run in check_runs(client, event, name)]
    origins = [(run, origin_of(run)) for run in runs if run["started_at"]]
    return [run for run, origin in origins if origin is not None and origin.number == event.number]


def moved_since(events: Iterable[Mapping[str, Any]], since: datetime) -> bool:
    """Whether events of a pull request moved its branch or changed its base at or after that moment."""
    return any(row["event"] in MOVES and moment(row["created_at"]) >= since for row in events)


def _may(client: Client, event: Event, user: dict[str, Any]) -> bool:
    return user["login"].lower() != (event.author or "").lower() and is_writer(client, event, user)


def is_writer(client: Client, event: Event, user: Mapping[str, Any]) -> bool:
    """Whether a user of the API is a person who may write to the repository."""
    login = user["login"]
    if user.get("type", "User") != "User" or login.endswith("[bot]"):
        return False
    path = f"/repos/{event.repository}/collaborators/{quote(login, safe='')}/permission"
    try:
        granted = client.get(path, needs="metadata: read")
    except NotFound:  # GitHub knows no such user here
        return False
    # A role of an organisation's own has any name; `permission` is then what it grants.
    permission, role = granted.get("permission"), granted.get("role_name")
    return (permission or role) in _WRITERS and role not in _READERS


def moment(text: str) -> datetime:
    """A time of the API, with its zone."""
    time = datetime.fromisoformat(text.replace("Z", "+00:00"))
    if time.tzinfo is None:
        raise ValueError(f"{text}: a time without its zone")
    return time
