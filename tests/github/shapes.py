"""GitHub's objects with all fields that its OpenAPI description requires."""

from __future__ import annotations

import re
from typing import Any

Row = dict[str, Any]


def words(text: str) -> list[str]:
    return text.split()


REPOSITORY_URLS = words("""
    archive assignees blobs branches collaborators comments commits compare contents contributors deployments
    downloads events forks git_commits git_refs git_tags hooks issue_comment issue_events issues keys labels
    languages merges milestones notifications pulls releases stargazers statuses subscribers subscription tags teams
    trees clone git ssh svn
""")
USER_URLS = words("""
    avatar events followers following gists html organizations received_events repos starred subscriptions
""")


def number_of(text: str) -> int:
    """A number that stays the same for a name."""
    return int.from_bytes(text.encode()[-6:], "big")


def thing(kind: str, id_: int, url: str, html: str) -> Row:
    """Return what every object has, its ids and its addresses."""
    return {"id": id_, "node_id": f"{kind}_{id_}", "url": url, "html_url": html}


def born(now: str) -> Row:
    return {"created_at": now, "updated_at": now}


def user(web: str, login: str) -> Row:
    kind = "Bot" if login.endswith("[bot]") else "User"
    urls = {f"{name}_url": f"{web}/users/{re.sub(r'[^a-z0-9-]', '-', login.lower())}/{name}" for name in USER_URLS}
    facts = {"login": login, "id": number_of(login), "node_id": f"U_{number_of(login)}", "gravatar_id": ""}
    return facts | {"type": kind, "site_admin": False, "url": f"{web}/users/{number_of(login)}"} | urls


def repository(web: str, full_name: str, now: str) -> Row:
    owner, name = full_name.split("/")
    url = f"{web}/repos/{full_name}"
    flags = words("fork private has_downloads has_issues has_projects has_wiki has_pages archived disabled")
    counts = words("forks forks_count open_issues open_issues_count size stargazers_count watchers watchers_count")
    nothing = ["description", "homepage", "language", "mirror_url", "license"]
    return (
        {"id": number_of(full_name), "node_id": "R_1", "name": name, "full_name": full_name, "url": url}
        | {"html_url": f"{web}/{full_name}", "owner": user(web, owner), "default_branch": "main"}
        | {f"{key}_url": f"{url}/{key}" for key in REPOSITORY_URLS}
        | dict.fromkeys(flags, False)
        | dict.fromkeys(counts, 0)
        | dict.fromkeys(nothing)
        | {"pushed_at": now, "created_at": now, "updated_at": now}
    )


def comment(web: str, repo: str, number: int, id_: int, login: str | None, body: str, now: str) -> Row:
    api, html = f"{web}/repos/{repo}/issues", f"{web}/{repo}/pull/{number}#issuecomment-{id_}"
    by = {"user": user(web, login) if login else None, "author_association": "NONE"}
    facts = {"issue_url": f"{api}/{number}", "body": body}
    return thing("IC", id_, f"{api}/comments/{id_}", html) | born(now) | by | facts


def app(web: str, now: str) -> Row:
    row = {"id": 15368, "node_id": "A_1", "html_url": f"{web}/apps/github-actions"} | born(now)
    names = {"slug": "github-actions", "name": "GitHub Actions", "description": "", "external_url": f"{web}/actions"}
    return row | names | {"owner": user(web, "github"), "permissions": {"checks": "write"}, "events": []}


def check_run(web: str, repo: str, id_: int, body: Row, now: str) -> Row:
    url = f"{web}/repos/{repo}/check-runs/{id_}"
    output = {"title": None, "summary": None, "text": None, "annotations_count": 0}
    return (
        thing("CR", id_, url, f"{web}/{repo}/runs/{id_}")
        | {"head_sha": body["head_sha"], "name": body["name"], "external_id": body.get("external_id", "")}
        | {"details_url": body.get("details_url"), "status": body.get("status", "queued"), "conclusion": None}
        | {"started_at": body.get("started_at", now), "completed_at": None, "pull_requests": []}
        | {"output": output | {"annotations_url": f"{url}/annotations"}, "check_suite": {"id": 5}, "app": app(web, now)}
    )


def label(web: str, repo: str, name: str) -> Row:
    facts = {"id": number_of(name), "node_id": "LA_1", "url": f"{web}/repos/{repo}/labels/x", "name": name}
    return facts | {"description": None, "color": "ededed", "default": False}


def event(web: str, repo: str, id_: int, kind: str, login: str, now: str, **more: Any) -> Row:
    facts = {"id": id_, "node_id": f"E_{id_}", "url": f"{web}/repos/{repo}/issues/events/{id_}", "event": kind}
    nothing = dict.fromkeys(["commit_id", "commit_url", "performed_via_github_app"])
    return facts | nothing | {"actor": user(web, login), "created_at": now} | more


def review(web: str, repo: str, number: int, id_: int, login: str, state: str, sha: str, now: str) -> Row:
    url, html = f"{web}/repos/{repo}/pulls/{number}", f"{web}/{repo}/pull/{number}#pullrequestreview-{id_}"
    return (
        {"id": id_, "node_id": f"PRR_{id_}", "html_url": html, "pull_request_url": url, "body": "", "state": state}
        | {"user": user(web, login), "author_association": "MEMBER", "submitted_at": now, "commit_id": sha}
        | {"_links": {"html": {"href": html}, "pull_request": {"href": url}}}
    )


def pull(web: str, repo: str, number: int, head: Row, base: Row, author: str, now: str, **more: Any) -> Row:
    url, html = f"{web}/repos/{repo}/pulls/{number}", f"{web}/{repo}/pull/{number}"
    names = ["comments", "commits", "statuses", "html", "issue", "review_comments", "review_comment", "self"]
    counts = words("additions changed_files comments commits deletions review_comments")
    nothing = ["assignee", "body", "closed_at", "merge_commit_sha", "merged_at", "milestone", "auto_merge", "merged_by"]
    return (
        {"id": 1000 + number, "node_id": f"PR_{number}", "number": number, "url": url, "html_url": html}
        | {f"{name}_url": f"{url}/{name}" for name in ["diff", "patch", "issue", *names[:3], *names[5:7]]}
        | {"state": "open", "locked": False, "title": "A change", "labels": [], "draft": False}
        | {"user": user(web, author), "created_at": now, "updated_at": now, "author_association": "NONE"}
        | {"head": head, "base": base, "_links": {name: {"href": f"{url}/{name}"} for name in names}}
        | dict.fromkeys(counts, 0)
        | dict.fromkeys(nothing)
        | {"mergeable": True, "mergeable_state": "clean", "merged": False, "maintainer_can_modify": False}
        | more
    )


def side(web: str, full_name: str | None, ref: str, sha: str, now: str) -> Row:
    """The head or base of a pull request; a repository that is gone is null."""
    owner = (full_name or "ghost/x").split("/")[0]
    repo = repository(web, full_name, now) if full_name else None
    return {"label": f"{owner}:{ref}", "ref": ref, "sha": sha, "user": user(web, owner), "repo": repo}


def workflow_run(web: str, repo: str, id_: int, sha: str, now: str) -> Row:
    url = f"{web}/repos/{repo}/actions/runs/{id_}"
    return (
        thing("WR", id_, url, f"{web}/{repo}/actions/runs/{id_}")
        | born(now)
        | {"head_branch": "change", "run_number": 1, "display_title": "gate", "workflow_id": 3, "pull_requests": []}
        | {"event": "pull_request", "status": "in_progress", "conclusion": None, "head_sha": sha, "run_attempt": 1}
        | {f"{name}_url": f"{url}/{name}" for name in words("jobs logs check_suite cancel rerun artifacts workflow")}
        | {"path": ".github/workflows/gate.yml", "head_commit": None}
        | {"repository": repository(web, repo, now), "head_repository": repository(web, repo, now)}
    )


def environment_approval(web: str, login: str, state: str, now: str, name: str) -> Row:
    place = thing("EN", 1, f"{web}/environments/{name}", f"{web}/environments") | born(now) | {"name": name}
    return {"environments": [place], "state": state, "user": user(web, login), "comment": ""}


def git_commit(web: str, repo: str, sha: str, tree: str, parents: list[str], message: str, now: str) -> Row:
    url = f"{web}/repos/{repo}/git"
    by = {"name": "accgate", "email": "accgate@example.org", "date": now}
    verification = {"verified": False, "reason": "unsigned"} | dict.fromkeys(["signature", "payload", "verified_at"])

    def at(commit: str) -> Row:
        return {"sha": commit, "url": f"{url}/commits/{commit}", "html_url": f"{web}/{repo}/commit/{commit}"}

    return at(sha) | {
        "node_id": "C_1", "author": by, "committer": by, "message": message, "verification": verification,
        "tree": {"sha": tree, "url": f"{url}/trees/{tree}"}, "parents": [at(parent) for parent in parents],
    }  # fmt: skip
