"""The fields of GitHub's objects that something reads; tests/real/test_openapi.py looks for them in its description."""

from __future__ import annotations

from typing import Any

Row = dict[str, Any]


def number_of(text: str) -> int:
    """A number that stays the same for a name."""
    return int.from_bytes(text.encode()[-6:], "big")


def user(login: str) -> Row:
    kind = "Bot" if login.endswith("[bot]") else "User"
    return {"login": login, "id": number_of(login), "type": kind, "site_admin": False}


def repository(full_name: str) -> Row:
    owner, name = full_name.split("/")
    return {
        "id": number_of(full_name), "name": name, "full_name": full_name, "owner": user(owner), "private": False,
        "default_branch": "main",
    }  # fmt: skip


def comment(web: str, repo: str, number: int, id_: int, login: str | None, body: str, now: str) -> Row:
    by = {"user": user(login) if login else None, "author_association": "NONE"}
    html = f"{web}/{repo}/pull/{number}#issuecomment-{id_}"
    return {"id": id_, "html_url": html, "body": body, "created_at": now, "updated_at": now} | by


def check_run(web: str, repo: str, id_: int, body: Row, now: str) -> Row:
    return {
        "id": id_, "html_url": f"{web}/{repo}/runs/{id_}", "head_sha": body["head_sha"], "name": body["name"],
        "external_id": body.get("external_id", ""), "details_url": body.get("details_url"),
        "status": body.get("status", "queued"), "conclusion": None, "started_at": body.get("started_at", now),
        "completed_at": None, "output": {"title": None, "summary": None, "text": None, "annotations_count": 0},
    }  # fmt: skip


def label(name: str) -> Row:
    return {"id": number_of(name), "name": name, "color": "ededed", "default": False}


def event(id_: int, kind: str, login: str, now: str, **more: Any) -> Row:
    return {"id": id_, "event": kind, "commit_id": None, "actor": user(login), "created_at": now} | more


def review(id_: int, login: str, state: str, sha: str, now: str) -> Row:
    facts = {"id": id_, "body": "", "state": state, "commit_id": sha, "submitted_at": now}
    return facts | {"user": user(login), "author_association": "MEMBER"}


def pull(web: str, repo: str, number: int, head: Row, base: Row, author: str, now: str, **more: Any) -> Row:
    return {
        "id": 1000 + number, "number": number, "html_url": f"{web}/{repo}/pull/{number}", "state": "open",
        "locked": False, "title": "A change", "body": None, "labels": [], "draft": False, "user": user(author),
        "created_at": now, "updated_at": now, "head": head, "base": base, "merged": False,
    } | more  # fmt: skip


def side(full_name: str | None, ref: str, sha: str) -> Row:
    """The head or base of a pull request; a repository that is gone is null."""
    owner = (full_name or "ghost/x").split("/")[0]
    repo = repository(full_name) if full_name else None
    return {"label": f"{owner}:{ref}", "ref": ref, "sha": sha, "user": user(owner), "repo": repo}


def workflow_run(web: str, repo: str, id_: int, sha: str, now: str) -> Row:
    return {
        "id": id_, "html_url": f"{web}/{repo}/actions/runs/{id_}", "head_branch": "change", "head_sha": sha,
        "event": "pull_request", "status": "in_progress", "conclusion": None, "run_attempt": 1, "created_at": now,
        "repository": repository(repo), "head_repository": repository(repo),
    }  # fmt: skip


def environment_approval(login: str, state: str, name: str) -> Row:
    return {"environments": [{"id": 1, "name": name}], "state": state, "user": user(login), "comment": ""}


def git_commit(sha: str, tree: str, parents: list[str], message: str, now: str) -> Row:
    by = {"name": "accgate", "email": "accgate@example.org", "date": now}
    return {
        "sha": sha, "author": by, "committer": by, "message": message, "tree": {"sha": tree},
        "parents": [{"sha": parent} for parent in parents],
    }  # fmt: skip
