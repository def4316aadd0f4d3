"""The commits of a repository between two of them, and their working trees."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from accgate.decision.bisection import Commit
from accgate.errors import BadInput

MARK = ".git"  # of a working tree: a file that names the repository
LONGEST = 600.0  # seconds that git may take


class History:
    """A repository's commits from a good one to a bad one, oldest first.

    Merges are followed to their first parent. `path` is that of the file within the repository.

    Raises
    ------
    BadInput
        When a revision is unknown, the good one is no ancestor of the bad one, or `file` is in no repository.
    """

    def __init__(self, file: Path, good: str, bad: str) -> None:
        folder = file.resolve().parent
        if not folder.is_dir():
            raise BadInput(f"{file}: its folder does not exist; name accuracy.toml with --config")
        self._root = Path(_git(folder, "rev-parse", "--show-toplevel"))
        self.path = file.resolve().relative_to(self._root)
        command = ("rev-parse", "--verify", "--quiet")
        ends = [_git(self._root, *command, f"{name}^{{commit}}", of=name) for name in (good, bad)]
        if ends[0] == ends[1]:
            raise BadInput(f"{good} and {bad} are the same commit; name an older one with --good")
        if _git(self._root, "merge-base", *ends) != ends[0]:
            raise BadInput(f"{good} is not an ancestor of {bad}; name an ancestor with --good")
        between = _git(self._root, "rev-list", "--reverse", "--first-parent", f"{ends[0]}..{ends[1]}").splitlines()
        names = [ends[0], *between]
        subjects = _git(self._root, "log", "--no-walk=unsorted", "--format=%s", *names).splitlines()
        self.commits = tuple(Commit(sha, subject) for sha, subject in zip(names, subjects, strict=True))

    @contextmanager
    def tree(self, commit: Commit, folder: Path) -> Iterator[Path]:
        """Lay out the commit at `folder`, and return accuracy.toml's path there.

        The working tree is removed afterwards.
        """
        self._remove(folder)
        _git(self._root, "worktree", "add", "--quiet", "--detach", "--force", str(folder), commit.sha)
        try:
            yield folder / self.path
        finally:
            self._remove(folder)

    def _remove(self, folder: Path) -> None:
        if folder.is_symlink() or (folder.exists() and not _is_working_tree(folder)):
            raise BadInput(f"{folder}: is not a working tree that bisect made; move it away, or name another --out")
        if folder.exists():
            for path in folder.iterdir():  # the mark that bisect made it goes last, in case this is killed
                if path.name != MARK:
                    shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
            shutil.rmtree(folder)
        _git(self._root, "worktree", "prune")


def _is_working_tree(folder: Path) -> bool:
    """Tell whether `git worktree add` made a folder, or began to."""
    file = folder / MARK
    if not file.exists():
        return folder.is_dir() and not any(folder.iterdir())
    return file.is_file() and "/worktrees/" in file.read_text(encoding="utf-8", errors="replace")


def _git(folder: Path, *arguments: str, of: str | None = None) -> str:
    try:
        command = ["git", "-C", str(folder), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST, check=True)
    except FileNotFoundError as error:
        raise BadInput("git is not installed; bisect needs it") from error
    except subprocess.CalledProcessError as error:
        what = f"no commit {of!r}" if of is not None else error.stderr.strip() or "failed"
        raise BadInput(f"{folder}: git {arguments[0]}: {what}") from error
    except subprocess.TimeoutExpired as error:
        raise BadInput(f"{folder}: git {arguments[0]} took over {LONGEST:g} s") from error
    return done.stdout.strip()
