"""Files, commits and branches by the Git Data API, without a checkout."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from accgate.errors import BadInput
from accgate.github.api.answers import NotFound, Uncertain, Unreadable
from accgate.github.api.client import Client

_READ, _WRITE = "contents: read", "contents: write"
_FILE_MODES = ("100644", "100755")


@dataclass(frozen=True)
class Entry:
    """The object at a path of a tree.

    Its `type` is `blob`, `tree` or `commit`.
    """

    type: str
    mode: str
    sha: str

    @property
    def is_file(self) -> bool:
        """Whether it is a plain file, and no folder, link or submodule."""
        return self.type == "blob" and self.mode in _FILE_MODES


@dataclass(frozen=True)
class Commit:
    """A commit and its tree."""

    sha: str
    tree: str


class Git:
    """The branches and files of a repository, "owner/name"."""

    def __init__(self, client: Client, repository: str) -> None:
        self._client = client
        self._path = f"/repos/{repository}/git"

    def commit(self, sha: str) -> Commit:
        """Read a commit."""
        row = self._client.get(f"{self._path}/commits/{sha}", needs=_READ)
        return Commit(row["sha"], row["tree"]["sha"])

    def tip(self, branch: str) -> str | None:
        """Return the commit that a branch is at.

        A branch that does not exist gives None.
        """
        try:
            row = self._client.get(f"{self._path}/ref/{_escape(branch)}", needs=_READ)
        except NotFound:
            return None
        return str(row["object"]["sha"])

    def folder(self, tree: str, path: str) -> dict[str, Entry]:
        """Return everything in a folder of a tree, by its path there.

        The result is empty without such a folder.

        Raises
        ------
        BadInput
            When the path, or a part of it, is not a folder.
        """
        for part in path.split("/"):
            entry = self._entries(tree).get(part)
            if entry is None:
                return {}
            if entry.type != "tree":
                raise BadInput(f"{path}: {part} is not a folder in the repository; name the folder itself")
            tree = entry.sha
        return self._entries(tree, recursive=True)

    def file(self, commit: Commit, path: str) -> bytes:
        """Return the content of a file in the root of a commit.

        The content is empty without such a file.

        Raises
        ------
        BadInput
            When the path is not a file.
        """
        entry = self._entries(commit.tree).get(path)
        if entry is None:
            return b""
        if not entry.is_file:
            raise BadInput(f"{path}: the branch has something other than a plain file there; name another branch")
        return base64.b64decode(self._client.get(f"{self._path}/blobs/{entry.sha}", needs=_READ)["content"])

    def write_commit(self, parent: Commit | None, files: Mapping[str, bytes], message: str) -> str:
        """Write a commit of these files over its parent, if any.

        `move_branch` brings it onto a branch.
        """
        rows = []
        for path, content in sorted(files.items()):
            blob = {"content": base64.b64encode(content).decode(), "encoding": "base64"}
            rows.append({"path": path, "mode": "100644", "type": "blob", "sha": self._write("blobs", blob)})
        base = {} if parent is None else {"base_tree": parent.tree}
        tree = self._write("trees", {**base, "tree": rows})
        parents = [] if parent is None else [parent.sha]
        # Without an author GitHub names the token's own, and signs the commit.
        return self._write("commits", {"message": message, "tree": tree, "parents": parents})

    def move_branch(self, branch: str, tip: str | None, sha: str) -> None:
        """Move a branch from its tip to a commit.

        A tip of None begins the branch.

        Raises
        ------
        Refused
            When the branch has another tip by now, or is protected.
        """
        if tip is not None:
            self._client.patch(f"{self._path}/refs/{_escape(branch)}", {"sha": sha, "force": False}, needs=_WRITE)
            return
        try:
            self._client.post(f"{self._path}/refs", {"ref": f"refs/heads/{branch}", "sha": sha}, needs=_WRITE)
        except Uncertain:
            if self.tip(branch) != sha:
                raise

    def _entries(self, tree: str, *, recursive: bool = False) -> dict[str, Entry]:
        params = {"recursive": "1"} if recursive else None
        answer = self._client.get(f"{self._path}/trees/{tree}", params=params, needs=_READ)
        if answer.get("truncated"):
            raise Unreadable(f"{self._path}/trees/{tree}: GitHub lists only a part of so large a folder")
        return {row["path"]: Entry(row["type"], row["mode"], row["sha"]) for row in answer["tree"]}

    def _write(self, kind: str, body: Mapping[str, Any]) -> str:
        """Write an object, and return its name.

        To write it twice does no harm, because nothing leads to it yet.
        """
        return str(self._client.post(f"{self._path}/{kind}", body, needs=_WRITE, again=True)["sha"])


def _escape(branch: str) -> str:
    """Write a branch as one part of a path.

    GitHub's OpenAPI description and Octokit do so too.
    """
    return quote(f"heads/{branch}", safe="")
