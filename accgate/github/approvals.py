"""Approvals that count.

They are by somebody else with write permission, for this very commit.
"""

from datetime import datetime
from urllib.parse import quote

from accgate.github.api.answers import NotFound, as_promised
from accgate.github.api.client import Client
from accgate.github.api.objects import IssueEvent, Review, User, WorkflowRun, object_of
from accgate.github.check_runs import CheckRuns, Origin
from accgate.github.event import Event, name_for_branch

_WRITERS = ("write", "maintain", "admin")
_READERS = ("read", "triage", "none")
# After one of these the branch or its base may have been elsewhere in between.
MOVES = ("head_ref_force_pushed", "head_ref_restored", "base_ref_changed", "automatic_base_change_succeeded")


def find_approval(client: Client, event: Event) -> str | None:
    """Find who approved `event.head_sha`.

    The person must have write permission and not be the pull request's author. A review counts if it approves this
    commit and is its writer's last one. Labels do not count: GitHub ties them to no commit, so one that was meant for a
    commit could count for the next.

    Raises
    ------
    CannotPublish
        When anything that the decision needs cannot be read.
    """
    if event.number is None:
        return None
    path, last = f"/repos/{event.repository}/pulls/{event.number}/reviews", dict[str, tuple[User, Review]]()
    with as_promised(path):
        reviews = [object_of(Review, row, path) for row in client.pages(path, needs="pull-requests: read")]
        for review in sorted(reviews, key=lambda review: (review.submitted_at or "", review.id)):
            if review.user is not None and review.state not in ("COMMENTED", "PENDING"):
                last[review.user.login.lower()] = review.user, review
        last.pop((event.author or "").lower(), None)
        for user, review in last.values():
            if (review.state, review.commit_id) == ("APPROVED", event.head_sha) and is_writer(client, event, user):
                return user.login
    return None


def fork_is_allowed(client: Client, event: Event, environment: str) -> str | None:
    """Find who let this run, of this commit, into the environment.

    The person must have write permission. Other environments do not count: who approves a preview of the documentation
    has not looked at the code that would run here.

    Raises
    ------
    CannotPublish
        When that cannot be read.
    """
    if not environment:
        return None
    path = f"/repos/{event.repository}/actions/runs/{event.run_id}"
    with as_promised(path):
        if object_of(WorkflowRun, client.get(path, needs="actions: read"), path).head_sha != event.head_sha:
            return None
        rows = client.get(f"{path}/approvals", needs="actions: read")
        rows = [row for row in rows if environment.lower() in (place["name"].lower() for place in row["environments"])]
        users = [object_of(User, row["user"], path) for row in rows if row["state"] == "approved"]
        return next((user.login for user in users if is_writer(client, event, user)), None)


def looks_of(client: Client, event: Event, check_name: str, base_branch: str) -> list[tuple[datetime, Origin]]:
    """Find when, and in which runs, the gate started on the head commit.

    Only check runs of this very pull request count. The same commit may be the head of another one: whoever looked at
    it there did not see it here.
    """
    names = (check_name, name_for_branch(check_name, base_branch))
    looks = [(run.started_at, origin) for name in names for run, origin in CheckRuns(client, event, name).rows()]
    return [(at, origin) for at, origin in looks if at and origin.number == event.number]


def moved_since(client: Client, event: Event, since: datetime) -> bool:
    """Tell whether the pull request's branch or base moved at or after that moment."""
    path = f"/repos/{event.repository}/issues/{event.number}/events"
    rows = [object_of(IssueEvent, row, path) for row in client.pages(path, needs="issues: read")]
    return any(row.event in MOVES and row.created_at >= since for row in rows)


def is_writer(client: Client, event: Event, user: User) -> bool:
    """Tell whether a user is a person who may write to the repository."""
    if not user.is_person:
        return False
    path = f"/repos/{event.repository}/collaborators/{quote(user.login, safe='')}/permission"
    try:
        granted = client.get(path, needs="metadata: read")
    except NotFound:  # GitHub knows no such user here
        return False
    # A role of an organisation's own has any name; `permission` is then what it grants.
    permission, role = granted.get("permission"), granted.get("role_name")
    return (permission or role) in _WRITERS and role not in _READERS
