"""The history on a branch of its own on GitHub: a run becomes one commit, and nobody else's is lost."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from accgate.errors import BadInput
from accgate.github.api import Client, Commit, Git, Refused, text_at
from accgate.github.event import Event
from accgate.github.pulls import promised
from accgate.history import NAME, History, Run, badge_of, history_of, html_page, merge_histories, read_content, svg

BRANCH = "accgate-history"
ATTEMPTS = 12
UNMOVED = 3  # refusals in a row while the branch stands still: then no other job is to blame
LONGEST = 4  # as many failures as the pause grows with
_READ = "contents: read"


@dataclass(frozen=True)
class Place:
    """The branch that holds the history; with `page` an index.html stands beside it."""

    branch: str = BRANCH
    page: bool = False


@dataclass(frozen=True)
class Pushed:
    """What came of it: the branch's commit, whether the run was new, and the whole history."""

    sha: str
    is_new: bool
    history: History


class Tree(Git):
    """Git with what a branch without ancestors needs."""

    def file(self, commit: Commit, path: str) -> bytes:
        """The content of a file of a commit; empty where there is none.

        Raises
        ------
        BadInput
            When something else than a file stands there.
        """
        entry = self._entries(commit.tree).get(path)
        if entry is None:
            return b""
        if not entry.is_file:
            raise BadInput(f"{path}: what the branch has there is no plain file; name another branch")
        return base64.b64decode(self._client.get(f"{self._path}/blobs/{entry.sha}", needs=_READ)["content"])

    def commit_files(self, parent: Commit | None, files: Mapping[str, bytes], message: str) -> str:
        """A commit of these files over its parent, or over nothing, on no branch yet."""
        if parent is not None:
            return self.write_commit(parent, files, message)
        rows: list[dict[str, Any]] = [
            {"path": path, "mode": "100644", "type": "blob", "sha": self._write_blob(content)}
            for path, content in sorted(files.items())
        ]
        return self._write("commits", {"message": message, "tree": self._write("trees", {"tree": rows}), "parents": []})


def refuse_other_branch(client: Client, event: Event, ref: str) -> None:
    """Only the default branch's own runs are history: those of a pull request are of code that nobody merged.

    Raises
    ------
    BadInput
        For any other branch, and for an event that anybody can cause.
    """
    if event.name.startswith("pull_request") or event.name in ("merge_group", "workflow_run", "issue_comment"):
        raise BadInput(f"the event {event.name} is none of the default branch; push the history after push or schedule")
    with promised(event.repository):
        default = text_at(client.get(f"/repos/{event.repository}", needs="metadata: read"), "default_branch")
    if default is None or ref != f"refs/heads/{default}":
        raise BadInput(f"{ref or 'the run'} is not the default branch {default}; the history is of that one alone")


def push(client: Client, repository: str, run: Run, place: Place, *, say: Callable[[str], None]) -> Pushed:
    """Put a run into the branch's history, in one commit with its badge.

    The commit's parent is the tip that was read, and GitHub moves a branch only forward: where another job was first,
    the history is read and joined again.

    Raises
    ------
    BadInput
        When the branch has something else in the file's place.
    CannotPublish
        When GitHub could not be asked or told.
    """
    git = Tree(client, repository)
    unmoved, name = 0, f"{place.branch}:{NAME}"
    for attempt in range(1, ATTEMPTS + 1):
        tip = git.tip(place.branch)
        with promised(f"{repository}: {place.branch}"):
            parent = None if tip is None else git.commit(tip)
            content = b"" if parent is None else git.file(parent, NAME)
        present = read_content(content, name)
        for note in present.notes if attempt == 1 else ():
            say(note)
        if tip is not None and present.has(run):
            return Pushed(tip, is_new=False, history=present)
        whole = merge_histories(present, history_of([run]))
        sha = git.commit_files(parent, _files(whole, place), _message(run))
        try:
            if tip is None:
                git.create_branch(place.branch, sha)
            else:
                git.advance_branch(place.branch, sha)
        except Refused:
            unmoved = unmoved + 1 if git.tip(place.branch) == tip else 0
            if attempt == ATTEMPTS or unmoved == UNMOVED:
                raise
            client.rest(min(attempt, LONGEST))
        else:
            return Pushed(sha, is_new=True, history=whole)
    raise AssertionError("the last attempt returns or raises")


def _files(history: History, place: Place) -> dict[str, bytes]:
    badge = badge_of(history.runs)
    files = {
        NAME: history.content,
        "badge.svg": svg(badge).encode(),
        "badge.json": json.dumps(badge.endpoint()).encode() + b"\n",
    }
    if place.page:
        files["index.html"] = html_page(history).encode("utf-8", "replace")
    return files


def _message(run: Run) -> str:
    return f"Accuracy of {run.commit[:12] or 'an unknown commit'}: {run.verdict}\n"
