"""Who approved a change of the rules: somebody else with write permission, for this very commit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from urllib.parse import quote

from accgate.github.api import CannotPublish, CannotRead, Client, NotFound, promised
from accgate.github.check_runs import check_runs
from accgate.github.event import Event

APPROVAL_LABEL = "accgate-approved"
_WRITERS = ("write", "maintain", "admin")
_READERS = ("read", "triage", "none")
# After one of these the branch or its base may have been elsewhere in between, and the label meant something else.
MOVES = (
    "head_ref_force_pushed",
    "head_ref_restored",
    "base_ref_changed",
    "automatic_base_change_succeeded",
)


@dataclass(frozen=True)
class Approval:
    """Who approved, and whether by a review or by the label."""

    by: str
    how: Literal["review", "label"]


def find_approval(client: Client, event: Event, check_name: str) -> Approval | None:
    """The approval of `event.head_sha` by somebody with write permission who is not the pull request's author.

    A review counts if it approves this commit and is its writer's last one. The label `accgate-approved` counts if it
    was set after the check run `check_name` first started on this commit, with no force push in between.

    Raises
    ------
    CannotRead
        When anything that the decision needs cannot be read.
    """
    if event.number is None:
        return None
    with _reading(f"the approvals of {event.repository}#{event.number}"):
        return _by_review(client, event) or _by_label(client, event, check_name)


def fork_is_allowed(client: Client, event: Event) -> str | None:
    """Who with write permission let this run, of this commit, into a protected environment.

    Raises
    ------
    CannotRead
        When that cannot be read.
    """
    path = f"/repos/{event.repository}/actions/runs/{event.run_id}"
    with _reading(f"the approvals of run {event.run_id}"):
        if client.get(path, needs="actions: read")["head_sha"] != event.head_sha:
            return None
        rows = client.get(f"{path}/approvals", needs="actions: read")
        users = [row["user"] for row in rows if row["state"] == "approved" and row["environments"]]
        return next((user["login"] for user in users if is_writer(client, event, user)), None)


@contextmanager
def _reading(what: str) -> Iterator[None]:
    try:
        with promised(what):
            yield
    except CannotPublish as error:
        raise CannotRead(f"{what} cannot be read: {error}") from error


def _by_review(client: Client, event: Event) -> Approval | None:
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
            return Approval(review["user"]["login"], "review")
    return None


def _by_label(client: Client, event: Event, check_name: str) -> Approval | None:
    pull = client.get(f"/repos/{event.repository}/pulls/{event.number}", needs="pull-requests: read")
    if not any(_is_ours(label) for label in pull["labels"]) or pull["head"]["sha"] != event.head_sha:
        return None
    looked = first_look(client, event, check_name)
    if looked is None:
        return None
    path = f"/repos/{event.repository}/issues/{event.number}/events"
    events = list(client.pages(path, needs="issues: read"))
    labelled = [row for row in events if row["event"] == "labeled" and _is_ours(row["label"])]
    if not labelled or moved_since(events, looked):
        return None
    row = max(labelled, key=lambda row: (moment(row["created_at"]), row["id"]))
    if moment(row["created_at"]) > looked and row["actor"] and _may(client, event, row["actor"]):
        return Approval(row["actor"]["login"], "label")
    return None


def first_look(client: Client, event: Event, check_name: str) -> datetime | None:
    """When the check first started on the head commit, which was there by then."""
    started = [run["started_at"] for run in check_runs(client, event, check_name) if run["started_at"]]
    return min(map(moment, started), default=None)


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


def _is_ours(label: dict[str, Any]) -> bool:
    return bool(label["name"].lower() == APPROVAL_LABEL)


def moment(text: str) -> datetime:
    """A time of the API, with its zone."""
    time = datetime.fromisoformat(text.replace("Z", "+00:00"))
    if time.tzinfo is None:
        raise ValueError(f"{text}: a time without its zone")
    return time
