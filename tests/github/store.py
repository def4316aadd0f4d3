"""What the tests' GitHub remembers of one repository, and how a test changes it."""

from __future__ import annotations

import hashlib
import json
from datetime import datetime, timedelta, timezone
from typing import Any

from tests.github import shapes
from tests.github.shapes import Row

REPOSITORY = "octo/models"
BOT = "github-actions[bot]"
HEAD = "a" * 40
BASE = "b" * 40


class Store:
    """One repository; every change takes a second of its own time."""

    def __init__(self) -> None:
        self.web = "https://github.example"
        self.repository = REPOSITORY
        self.permissions: dict[str, str] = {"maria": "admin", "rita": "read", "tom": "triage", "will": "write"}
        self.roles: dict[str, str] = {}  # role_name where it is not the permission
        self.comment_rows: list[tuple[int, Row]] = []
        self.check_runs: dict[int, Row] = {}
        self.annotations: dict[int, list[Row]] = {}
        self.reviews: dict[int, list[Row]] = {}
        self.events: dict[int, list[Row]] = {}
        self.pulls: dict[int, Row] = {}
        self.runs: dict[int, Row] = {}
        self.run_approvals: dict[int, list[Row]] = {}
        self.reruns: list[int] = []
        self.old_runs: set[int] = set()  # created over a month ago
        self.reactions: list[tuple[int, str]] = []  # id of the comment, content
        self.refs: dict[str, str] = {}
        self.blobs: dict[str, bytes] = {}
        self.trees: dict[str, dict[str, tuple[str, str]]] = {}  # path -> mode, sha of the blob
        self.commits: dict[str, Row] = {}
        self._ids = 100
        self._now = datetime(2026, 1, 1, tzinfo=timezone.utc)

    def id(self) -> int:
        self._ids += 1
        return self._ids

    def tick(self, seconds: float = 1) -> str:
        """The next moment, as GitHub writes it."""
        self._now += timedelta(seconds=seconds)
        return self._now.strftime("%Y-%m-%dT%H:%M:%SZ")

    # Comments

    def is_locked(self, number: int) -> bool:
        return bool(self.pulls.get(number, {}).get("locked"))

    def comments(self, number: int) -> list[Row]:
        return [row for at, row in self.comment_rows if at == number]

    def add_comment(self, number: int, login: str | None, body: str) -> Row:
        row = shapes.comment(self.web, self.repository, number, self.id(), login, body, self.tick())
        self.comment_rows.append((number, row))
        return row

    def edit_comment(self, id_: int, body: str) -> Row:
        row = next(row for _, row in self.comment_rows if row["id"] == id_)
        row |= {"body": body, "updated_at": self.tick()}
        return row

    def delete_comment(self, id_: int) -> None:
        self.comment_rows = [(at, row) for at, row in self.comment_rows if row["id"] != id_]

    # Check runs

    def add_check_run(self, body: Row) -> Row:
        row = shapes.check_run(self.web, self.repository, self.id(), body, self.tick())
        self.check_runs[row["id"]] = row
        self.annotations[row["id"]] = []
        return self.change_check_run(row["id"], body)

    def change_check_run(self, id_: int, body: Row) -> Row:
        row, now = self.check_runs[id_], self.tick()
        row |= {key: body[key] for key in ("status", "conclusion", "details_url", "external_id") if key in body}
        if "conclusion" in body:
            row |= {"status": "completed", "completed_at": now}
        output = dict(body.get("output", {}))
        self.annotations[id_] += output.pop("annotations", [])
        row["output"] |= output | {"annotations_count": len(self.annotations[id_])}
        return row

    # Pull requests

    def add_pull(
        self,
        number: int,
        *,
        sha: str = HEAD,
        author: str = "ann",
        head_repository: str | None = REPOSITORY,
        branch: str = "change",
        state: str = "open",
        base: str = "main",
        **more: Any,
    ) -> Row:
        now = self.tick()
        head = shapes.side(head_repository, branch, sha)
        base = shapes.side(self.repository, base, BASE)
        more |= {"state": state}
        self.pulls[number] = shapes.pull(self.web, self.repository, number, head, base, author, now, **more)
        return self.pulls[number]

    def push(self, number: int, sha: str, *, force: bool = False, by: str = "ann") -> None:
        self.pulls[number]["head"]["sha"] = sha
        now = self.tick()
        if force:
            self.add_event(number, "head_ref_force_pushed", by, now=now)

    def add_event(self, number: int, kind: str, by: str, *, now: str | None = None, **more: Any) -> Row:
        row = shapes.event(self.id(), kind, by, now or self.tick(), **more)
        self.events.setdefault(number, []).append(row)
        return row

    def add_label(self, number: int, name: str, by: str) -> None:
        self.pulls[number]["labels"].append(shapes.label(name))
        self.add_event(number, "labeled", by, label={"name": name, "color": "ededed"})

    def add_review(self, number: int, by: str, state: str, sha: str = HEAD) -> Row:
        row = shapes.review(self.id(), by, state, sha, self.tick())
        self.reviews.setdefault(number, []).append(row)
        return row

    def add_run(self, id_: int, sha: str = HEAD) -> Row:
        self.runs[id_] = shapes.workflow_run(self.web, self.repository, id_, sha, self.tick())
        return self.runs[id_]

    def approve_run(self, id_: int, by: str, state: str = "approved", environment: str = "gpu") -> None:
        row = shapes.environment_approval(by, state, environment)
        self.run_approvals.setdefault(id_, []).append(row)

    # Git

    def add_blob(self, content: bytes) -> str:
        sha = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
        self.blobs[sha] = content
        return sha

    def add_tree(self, entries: list[Row], base: str | None = None) -> str:
        files = dict(self.trees[base]) if base else {}
        for entry in entries:
            sha = self.add_blob(entry["content"].encode()) if "content" in entry else entry["sha"]
            if sha is None:
                files.pop(entry["path"], None)
            else:
                files[entry["path"]] = entry.get("mode", "100644"), sha
        return self._keep_tree(files)

    def _keep_tree(self, files: dict[str, tuple[str, str]]) -> str:
        sha = hashlib.sha1(b"tree" + json.dumps(sorted(files.items())).encode()).hexdigest()
        self.trees[sha] = files
        return sha

    def entries(self, tree: str, *, recursive: bool) -> dict[str, tuple[str, str]]:
        """What a tree lists: its own files and folders, or with those in them."""
        files, listed = self.trees[tree], {}
        for path, entry in files.items():
            parts = path.split("/")
            for depth in range(1, len(parts) if recursive else min(len(parts), 2)):
                folder = "/".join(parts[:depth])
                inside = {p.removeprefix(f"{folder}/"): e for p, e in files.items() if p.startswith(f"{folder}/")}
                listed[folder] = ("040000", self._keep_tree(inside))
            if recursive or len(parts) == 1:
                listed[path] = entry
        return dict(sorted(listed.items()))

    def add_commit(self, tree: str, parents: list[str], message: str) -> str:
        now = self.tick()
        sha = hashlib.sha1(json.dumps([tree, parents, message, now]).encode()).hexdigest()
        self.commits[sha] = shapes.git_commit(sha, tree, parents, message, now)
        return sha

    def commit(self, branch: str, files: dict[str, str | None], message: str = "change") -> str:
        """A commit on a branch, of a test's own making; a file of None is deleted."""
        parent = self.refs.get(f"refs/heads/{branch}")
        entries = [
            {"path": path, "sha": None} if text is None else {"path": path, "content": text}
            for path, text in files.items()
        ]
        tree = self.add_tree(entries, self.commits[parent]["tree"]["sha"] if parent else None)
        sha = self.add_commit(tree, [parent] if parent else [], message)
        self.refs[f"refs/heads/{branch}"] = sha
        return sha

    def resolve(self, ref: str) -> str | None:
        """The commit that a branch, a full ref or a SHA names."""
        for name in (ref, f"refs/{ref}", f"refs/heads/{ref}"):
            if name in self.refs:
                return self.refs[name]
        return ref if ref in self.commits else None

    def contents(self, ref: str) -> dict[str, bytes]:
        """Every file at a branch or commit."""
        sha = self.resolve(ref)
        assert sha is not None
        tree = self.trees[self.commits[sha]["tree"]["sha"]]
        return {path: self.blobs[blob] for path, (_, blob) in tree.items()}

    def files(self, ref: str) -> dict[str, str]:
        """The text of every file at a branch or commit."""
        return {path: content.decode() for path, content in self.contents(ref).items()}
