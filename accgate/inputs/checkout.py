"""What a checkout has in place of a file: a pointer of Git LFS, an unresolved merge, an empty submodule, nothing."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from accgate.errors import BadInput

POINTER = b"version https://git-lfs.github.com/spec/"  # how a file begins that Git LFS keeps elsewhere
POINTER_BYTES = 1024  # the most that one has
LFS = "is a Git LFS pointer and not the file itself; run `git lfs pull`, or check out with `lfs: true`"
CONFLICT = re.compile(rb"^<<<<<<< .*?^=======\s.*?^>>>>>>> ", re.MULTILINE | re.DOTALL)
MODULE = re.compile(r"^\s*path\s*=\s*(.*?)/?\s*$", re.MULTILINE)
SKIPPED = 0x40  # the bit of an entry in git's index, and of its extended flags, that is set in a sparse checkout


def is_pointer(path: Path) -> bool:
    """Whether a file is a pointer of Git LFS, which has the content elsewhere."""
    try:
        about = path.stat()
        return stat.S_ISREG(about.st_mode) and about.st_size < POINTER_BYTES and path.read_bytes().startswith(POINTER)
    except (OSError, ValueError):
        return False


def refuse_conflict(path: Path, content: bytes) -> None:
    """Refuse a text with markers of a merge, which another fault or a changed meaning would else hide.

    Raises
    ------
    BadInput
        With the line where the first one begins.
    """
    if found := CONFLICT.search(content):
        line = content.count(b"\n", 0, found.start()) + 1
        raise BadInput(f"{path}:{line}: begins an unresolved merge conflict; resolve it, and commit the file")


def absence_of(path: Path) -> str | None:
    """Why a checkout lacks a file of the repository, and what to do; None where nothing shows it."""
    place = Path(os.path.abspath(path))  # noqa: PTH100 (a link is a name like any)
    for root in () if os.path.lexists(place) else place.parents:
        try:
            listed = root / ".gitmodules"
            for module in MODULE.findall(listed.read_text(encoding="utf-8")) if listed.is_file() else ():
                if place.is_relative_to(root / module) and not os.path.lexists(root / module / ".git"):
                    fix = f"run `git submodule update --init {module}`, or check out with `submodules: true`"
                    return f"lies in the submodule {module}, which is not checked out; {fix}"
            if os.path.lexists(root / ".git"):
                return _sparse_absence(root, place.relative_to(root))
        except (OSError, ValueError):
            return None
    return None


def refuse_stand_in(path: Path) -> None:
    """Refuse a file in whose place a checkout has nothing (`absence_of`), or a pointer of Git LFS.

    Raises
    ------
    BadInput
        Which of them, and what to do.
    """
    if fault := LFS if is_pointer(path) else absence_of(path):
        raise BadInput(f"{path}: {fault}")


def _sparse_absence(root: Path, name: Path) -> str | None:
    """That a sparse checkout leaves a file out, which git's index then has without its content."""
    git = root / ".git"
    if git.is_file():  # of a worktree, or of a submodule
        git = root / git.read_text(encoding="utf-8").partition(":")[2].strip()
    if not (git / "info/sparse-checkout").is_file():
        return None
    index = (git / "index").read_bytes()
    names = [name.as_posix(), *(f"{folder.as_posix()}/" for folder in name.parents)]
    if not any(_is_skipped(index, each.encode()) for each in names):
        return None
    fix = f"run `git sparse-checkout add {name.parent.as_posix()}`, or add it to `sparse-checkout:` of actions/checkout"
    return f"is left out of this sparse checkout; {fix}"


def _is_skipped(index: bytes, name: bytes) -> bool:
    """Whether an entry of git's index (gitformat-index(5)) has this name and is not checked out."""
    size = min(len(name), 0xFFF)
    return any(
        flags[0] & SKIPPED and (flags[0] & 0x0F) << 8 | flags[1] == size and flags[2] & SKIPPED
        for found in re.finditer(re.escape(name) + rb"\0", index)
        if len(flags := index[max(found.start() - 4, 0) : found.start()]) == 4
    )
