"""What the tests' GitHub answers at each path, and what it remembers of it."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.github import shapes
from tests.github.shapes import Row
from tests.github.store import Store

CONCLUSIONS = ["action_required", "cancelled", "failure", "neutral", "success", "skipped", "stale", "timed_out"]


@dataclass(frozen=True)
class Asked:
    """One request as it came; `login` is whose token it bears."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any
    login: str | None


class Refusal(Exception):
    def __init__(self, status: int, body: Row, headers: dict[str, str] | None = None) -> None:
        self.status, self.body, self.headers = status, body, headers or {}


def not_found() -> Refusal:
    return Refusal(404, {"message": "Not Found"})


def held(rows: dict[Any, Any], key: Any) -> Any:
    """Return what stands under a key, or refuse with 404."""
    if key not in rows:
        raise not_found()
    return rows[key]


def invalid(message: str, /, **error: str) -> Refusal:
    errors = [{"resource": "Issue", "field": "body", "code": "custom"} | error]
    return Refusal(422, {"message": message, "errors": errors})


Handler = Callable[..., Any]
ROUTES: list[tuple[str, str, Handler]] = []


def route(method: str, pattern: str) -> Callable[[Handler], Handler]:
    def add(handler: Handler) -> Handler:
        ROUTES.append((method, pattern, handler))
        return handler

    return add


def perform(store: Store, asked: Asked, inside: str) -> Any:
    """What is answered at a path inside the repository."""
    for method, pattern, handler in ROUTES:
        found = re.fullmatch(pattern, inside)
        if found and method == asked.method:
            groups = [int(group) if group.isdecimal() and len(group) < 20 else group for group in found.groups()]
            return handler(store, asked, *groups)
    raise not_found()


@route("GET", r"")
def repository(store: Store, asked: Asked) -> Row:
    return shapes.repository(store.repository)


@route("GET", r"/issues/(\d+)/comments")
def list_comments(store: Store, asked: Asked, number: int) -> list[Row]:
    return store.comments(number)


@route("POST", r"/issues/(\d+)/comments")
def add_comment(store: Store, asked: Asked, number: int) -> Row:
    if store.is_locked(number):
        raise Refusal(403, {"message": "Unable to create comment because issue is locked."})
    return store.add_comment(number, asked.login, body(asked))


@route("PATCH", r"/issues/comments/(\d+)")
def edit_comment(store: Store, asked: Asked, id_: int) -> Row:
    comment(store, id_)
    return store.edit_comment(id_, body(asked))


@route("DELETE", r"/issues/comments/(\d+)")
def delete_comment(store: Store, asked: Asked, id_: int) -> None:
    comment(store, id_)
    store.delete_comment(id_)


def comment(store: Store, id_: int) -> Row:
    return held({row["id"]: row for _, row in store.comment_rows}, id_)


def body(asked: Asked) -> str:
    body = asked.body.get("body") if isinstance(asked.body, dict) else None
    if not isinstance(body, str) or not body.strip():
        raise invalid("Validation Failed", message="Body cannot be blank")
    if len(body) > 65536:
        raise invalid("Validation Failed", message="Body is too long (maximum is 65536 characters)")
    return body


@route("POST", r"/issues/comments/(\d+)/reactions")
def react(store: Store, asked: Asked, id_: int) -> Row:
    comment(store, id_)
    store.reactions.append((id_, asked.body["content"]))
    return {"id": store.id(), "content": asked.body["content"], "user": shapes.user(asked.login)}


@route("POST", r"/check-runs")
def add_check_run(store: Store, asked: Asked) -> Row:
    check(asked.body, need=("name", "head_sha"))
    return store.add_check_run(asked.body)


@route("PATCH", r"/check-runs/(\d+)")
def change_check_run(store: Store, asked: Asked, id_: int) -> Row:
    check_run(store, asked, id_)
    check(asked.body, need=())
    return store.change_check_run(id_, asked.body)


@route("GET", r"/check-runs/(\d+)")
def check_run(store: Store, asked: Asked, id_: int) -> Row:
    return held(store.check_runs, id_)


def check(body: Row, need: tuple[str, ...]) -> None:
    output = body.get("output", {})
    if any(key not in body for key in need) or (output and not {"title", "summary"} <= set(output)):
        raise invalid("Invalid request.", message="a required key is missing")
    if any(len(output.get(key) or "") > 65535 for key in ("summary", "text")):
        raise invalid("Invalid request.", message="summary is too long (maximum is 65535 characters)")
    rows = output.get("annotations", [])
    if len(rows) > 50 or any(len(row["message"].encode()) > 65536 or len(row.get("title", "")) > 255 for row in rows):
        raise invalid("Invalid request.", message="No more than 50 items, or an item too long, in `annotations`")
    if body.get("conclusion", "success") not in CONCLUSIONS or (body.get("status") == "completed") > (
        "conclusion" in body
    ):
        raise invalid("Invalid request.", message="conclusion")


@route("GET", r"/commits/([^/]+)/check-runs")
def list_check_runs(store: Store, asked: Asked, ref: str) -> Row:
    name = asked.query.get("check_name")
    rows = [row for row in store.check_runs.values() if row["head_sha"] == ref and name in (None, row["name"])]
    if asked.query.get("filter", "latest") == "latest":
        rows = list({row["name"]: row for row in rows}.values())
    return {"total_count": len(rows), "check_runs": rows[::-1]}


@route("GET", r"/pulls")
def list_pulls(store: Store, asked: Asked) -> list[Row]:
    state, head = asked.query.get("state", "open"), asked.query.get("head")
    return [
        pull
        for pull in store.pulls.values()
        if state in ("all", pull["state"]) and head in (None, pull["head"]["label"])
    ]


@route("GET", r"/pulls/(\d+)")
def pull(store: Store, asked: Asked, number: int) -> Row:
    return held(store.pulls, number)


@route("POST", r"/pulls")
def add_pull(store: Store, asked: Asked) -> Row:
    body = asked.body
    sha = store.resolve(body["head"])
    if sha is None or store.resolve(body["base"]) is None:
        raise invalid("Validation Failed", field="head", code="invalid")
    own = [row for row in store.pulls.values() if (row["head"]["repo"] or {}).get("full_name") == store.repository]
    for row in own:
        if (row["head"]["ref"], row["base"]["ref"], row["state"]) == (body["head"], body["base"], "open"):
            raise invalid("Validation Failed", message="A pull request already exists for these branches.")
    texts = {key: body[key] for key in ("title", "body") if key in body}
    row = store.add_pull(store.id(), sha=sha, author=asked.login, branch=body["head"], **texts)
    row["base"]["ref"] = body["base"]
    return row


@route("GET", r"/pulls/(\d+)/reviews")
def list_reviews(store: Store, asked: Asked, number: int) -> list[Row]:
    pull(store, asked, number)
    return store.reviews.get(number, [])


@route("GET", r"/issues/(\d+)/events")
def list_events(store: Store, asked: Asked, number: int) -> list[Row]:
    return store.events.get(number, [])


@route("GET", r"/collaborators/([^/]+)/permission")
def permission(store: Store, asked: Asked, of: str) -> Row:
    granted = store.permissions.get(of)
    if granted is None:
        raise not_found()
    legacy = {"maintain": "write", "triage": "read"}.get(granted, granted)
    role = store.roles.get(of, granted)
    user = shapes.user(of) | {"role_name": role}
    return {"permission": legacy, "role_name": role, "user": user}


@route("GET", r"/actions/runs/(\d+)")
def run(store: Store, asked: Asked, id_: int) -> Row:
    return held(store.runs, id_)


@route("GET", r"/actions/runs/(\d+)/approvals")
def run_approvals(store: Store, asked: Asked, id_: int) -> list[Row]:
    run(store, asked, id_)
    return store.run_approvals.get(id_, [])


@route("POST", r"/actions/runs/(\d+)/(rerun|rerun-failed-jobs)")
def rerun(store: Store, asked: Asked, id_: int, *_: object) -> Row:
    row = run(store, asked, id_)
    if row["status"] != "completed":
        raise Refusal(403, {"message": "This workflow is already running"})
    if id_ in store.old_runs:
        raise Refusal(403, {"message": "Unable to retry this workflow run because it was created over a month ago"})
    row |= {"status": "queued", "conclusion": None, "run_attempt": row["run_attempt"] + 1}
    store.reruns.append(id_)
    return {}


@route("GET", r"/git/ref/(.+)")
def ref(store: Store, asked: Asked, ref: str) -> Row:
    return shown(store, f"refs/{ref}")


def shown(store: Store, ref: str) -> Row:
    return {"ref": ref, "object": {"type": "commit", "sha": held(store.refs, ref)}}


@route("POST", r"/git/refs")
def add_ref(store: Store, asked: Asked) -> Row:
    ref, sha = asked.body["ref"], asked.body["sha"]
    if ref in store.refs:
        raise invalid("Reference already exists", field="ref")
    if sha not in store.commits or not ref.startswith("refs/"):
        raise invalid("Object does not exist", field="sha")
    store.refs[ref] = sha
    return shown(store, ref)


@route("PATCH", r"/git/refs/(.+)")
def change_ref(store: Store, asked: Asked, ref: str) -> Row:
    ref, sha = f"refs/{ref}", asked.body["sha"]
    if ref not in store.refs:
        raise invalid("Reference does not exist", field="ref")
    if not asked.body.get("force") and not descends(store, sha, store.refs[ref]):
        raise invalid("Update is not a fast forward", field="sha")
    store.refs[ref] = sha
    return shown(store, ref)


def descends(store: Store, sha: str, ancestor: str) -> bool:
    parents = [parent["sha"] for parent in store.commits.get(sha, {}).get("parents", [])]
    return sha == ancestor or any(descends(store, parent, ancestor) for parent in parents)


@route("GET", r"/git/commits/([0-9a-f]+)")
def commit(store: Store, asked: Asked, sha: str) -> Row:
    return held(store.commits, sha)


@route("POST", r"/git/commits")
def add_commit(store: Store, asked: Asked) -> Row:
    body = asked.body
    if body["tree"] not in store.trees:
        raise invalid("Tree SHA does not exist", field="tree")
    return store.commits[store.add_commit(body["tree"], body.get("parents", []), body["message"])]


@route("GET", r"/git/blobs/([0-9a-f]+)")
def blob(store: Store, asked: Asked, sha: str) -> Row:
    raw = held(store.blobs, str(sha))
    return {"sha": sha, "size": len(raw), "content": base64.encodebytes(raw).decode(), "encoding": "base64"}


@route("POST", r"/git/blobs")
def add_blob(store: Store, asked: Asked) -> Row:
    content = asked.body["content"]
    raw = base64.b64decode(content) if asked.body.get("encoding") == "base64" else content.encode()
    return {"sha": store.add_blob(raw)}


@route("POST", r"/git/trees")
def add_tree(store: Store, asked: Asked) -> Row:
    base = asked.body.get("base_tree")
    if base is not None and base not in store.trees:
        base = store.commits[base]["tree"]["sha"] if base in store.commits else None
        if base is None:
            raise invalid("base_tree does not exist", field="base_tree")
    return tree(store, asked, store.add_tree(asked.body["tree"], base))


@route("GET", r"/git/trees/([^/]+)")
def tree(store: Store, asked: Asked, sha: str) -> Row:
    commit = store.resolve(sha)
    sha = store.commits[commit]["tree"]["sha"] if commit in store.commits else sha
    if sha not in store.trees:
        raise not_found()
    kinds = {"040000": "tree", "160000": "commit"}
    entries = [
        {"path": path, "mode": mode, "type": kinds.get(mode, "blob"), "sha": blob}
        for path, (mode, blob) in store.entries(sha, recursive="recursive" in asked.query).items()
    ]
    return {"sha": sha, "tree": entries, "truncated": False}
