"""GitHub's objects with all fields that its OpenAPI description requires."""

from __future__ import annotations

import re
from typing import Any

Row = dict[str, Any]

REPOSITORY_URLS = """
    archive assignees blobs branches collaborators comments commits compare contents contributors deployments
    downloads events forks git_commits git_refs git_tags hooks issue_comment issue_events issues keys labels
    languages merges milestones notifications pulls releases stargazers statuses subscribers subscription tags teams
    trees clone git ssh svn
""".split()
USER_URLS = """
    avatar events followers following gists html organizations received_events repos starred subscriptions
""".split()


def number_of(text: str) -> int:
    """A number that stays the same for a name."""
    return int.from_bytes(text.encode()[-6:], "big")


def user(web: str, login: str) -> Row:
    kind = "Bot" if login.endswith("[bot]") else "User"
    urls = {f"{name}_url": f"{web}/users/{re.sub(r'[^a-z0-9-]', '-', login.lower())}/{name}" for name in USER_URLS}
    facts = {"login": login, "id": number_of(login), "node_id": f"U_{number_of(login)}", "gravatar_id": ""}
    return facts | {"type": kind, "site_admin": False, "url": f"{web}/users/{number_of(login)}"} | urls


def private_user(web: str, login: str, now: str) -> Row:
    counts = """
        followers following public_gists public_repos collaborators disk_usage owned_private_repos private_gists
        total_private_repos
    """.split()
    texts = ["bio", "blog", "company", "email", "hireable", "location", "name"]
    facts = {"created_at": now, "updated_at": now, "two_factor_authentication": True}
    return user(web, login) | dict.fromkeys(counts, 0) | dict.fromkeys(texts) | facts


def repository(web: str, full_name: str, now: str) -> Row:
    owner, name = full_name.split("/")
    url = f"{web}/repos/{full_name}"
    flags = "fork private has_downloads has_issues has_projects has_wiki has_pages archived disabled".split()
    counts = "forks forks_count open_issues open_issues_count size stargazers_count watchers watchers_count".split()
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
    issue = f"{web}/repos/{repo}/issues/{number}"
    return {
        "id": id_,
        "node_id": f"IC_{id_}",
        "url": f"{web}/repos/{repo}/issues/comments/{id_}",
        "html_url": f"{web}/{repo}/pull/{number}#issuecomment-{id_}",
        "issue_url": issue,
        "user": user(web, login) if login else None,
        "created_at": now,
        "updated_at": now,
        "author_association": "NONE",
        "body": body,
    }


def app(web: str, now: str) -> Row:
    owner = user(web, "github")
    return {
        "id": 15368,
        "node_id": "A_1",
        "slug": "github-actions",
        "owner": owner,
        "name": "GitHub Actions",
        "description": "",
        "external_url": f"{web}/actions",
        "html_url": f"{web}/apps/github-actions",
        "created_at": now,
        "updated_at": now,
        "permissions": {"checks": "write"},
        "events": [],
    }


def check_run(web: str, repo: str, id_: int, body: Row, now: str) -> Row:
    url = f"{web}/repos/{repo}/check-runs/{id_}"
    output = {"title": None, "summary": None, "text": None, "annotations_count": 0}
    return {
        "id": id_,
        "node_id": f"CR_{id_}",
        "head_sha": body["head_sha"],
        "name": body["name"],
        "external_id": body.get("external_id", ""),
        "url": url,
        "html_url": f"{web}/{repo}/runs/{id_}",
        "details_url": body.get("details_url"),
        "status": body.get("status", "queued"),
        "conclusion": None,
        "started_at": body.get("started_at", now),
        "completed_at": None,
        "output": output | {"annotations_url": f"{url}/annotations"},
        "check_suite": {"id": 5},
        "app": app(web, now),
        "pull_requests": [],
    }


def label(web: str, repo: str, name: str) -> Row:
    facts = {"id": number_of(name), "node_id": "LA_1", "url": f"{web}/repos/{repo}/labels/x", "name": name}
    return facts | {"description": None, "color": "ededed", "default": False}


def event(web: str, repo: str, id_: int, kind: str, login: str, now: str, **more: Any) -> Row:
    return {
        "id": id_,
        "node_id": f"E_{id_}",
        "url": f"{web}/repos/{repo}/issues/events/{id_}",
        "actor": user(web, login),
        "event": kind,
        "commit_id": None,
        "commit_url": None,
        "created_at": now,
        "performed_via_github_app": None,
    } | more


def review(web: str, repo: str, number: int, id_: int, login: str, state: str, sha: str, now: str) -> Row:
    url = f"{web}/repos/{repo}/pulls/{number}"
    html = f"{web}/{repo}/pull/{number}#pullrequestreview-{id_}"
    return {
        "id": id_,
        "node_id": f"PRR_{id_}",
        "user": user(web, login),
        "body": "",
        "state": state,
        "html_url": html,
        "pull_request_url": url,
        "author_association": "MEMBER",
        "_links": {"html": {"href": html}, "pull_request": {"href": url}},
        "submitted_at": now,
        "commit_id": sha,
    }


def pull(web: str, repo: str, number: int, head: Row, base: Row, author: str, now: str, **more: Any) -> Row:
    url, html = f"{web}/repos/{repo}/pulls/{number}", f"{web}/{repo}/pull/{number}"
    names = ["comments", "commits", "statuses", "html", "issue", "review_comments", "review_comment", "self"]
    counts = ["additions", "changed_files", "comments", "commits", "deletions", "review_comments"]
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
    urls = ["jobs", "logs", "check_suite", "cancel", "rerun", "artifacts", "workflow"]
    return (
        {"id": id_, "node_id": "WR_1", "head_branch": "change", "run_number": 1, "display_title": "gate"}
        | {"event": "pull_request", "status": "in_progress", "conclusion": None, "head_sha": sha, "run_attempt": 1}
        | {
            "path": ".github/workflows/gate.yml",
            "workflow_id": 3,
            "url": url,
            "html_url": f"{web}/{repo}/actions/runs/{id_}",
        }
        | {f"{name}_url": f"{url}/{name}" for name in urls}
        | {"created_at": now, "updated_at": now, "head_commit": None, "pull_requests": []}
        | {"repository": repository(web, repo, now), "head_repository": repository(web, repo, now)}
    )


def environment_approval(web: str, login: str, state: str, now: str, name: str) -> Row:
    place = {
        "id": 1,
        "node_id": "EN_1",
        "name": name,
        "url": f"{web}/environments/{name}",
        "html_url": f"{web}/environments",
    }
    place |= {"created_at": now, "updated_at": now}
    return {"environments": [place], "state": state, "user": user(web, login), "comment": ""}


def git_commit(web: str, repo: str, sha: str, tree: str, parents: list[str], message: str, now: str) -> Row:
    url = f"{web}/repos/{repo}/git/commits"
    by = {"name": "accgate", "email": "accgate@example.org", "date": now}
    return {
        "sha": sha,
        "node_id": "C_1",
        "url": f"{url}/{sha}",
        "html_url": f"{web}/{repo}/commit/{sha}",
        "author": by,
        "committer": by,
        "message": message,
        "tree": {"sha": tree, "url": f"{web}/repos/{repo}/git/trees/{tree}"},
        "parents": [{"sha": p, "url": f"{url}/{p}", "html_url": f"{web}/{repo}/commit/{p}"} for p in parents],
        "verification": {
            "verified": False,
            "reason": "unsigned",
            "signature": None,
            "payload": None,
            "verified_at": None,
        },
    }
