"""What a checkout has in place of a file, and its commit.

In place of a file there may be a pointer, an encrypted file, an unresolved merge, or nothing.
"""

import os
import re
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

from accgate.errors import BadInput

START = 128  # bytes that tell a stand-in
UTF16 = (b"\xff\xfe", b"\xfe\xff")
LFS = "a Git LFS pointer and not the file itself", "run `git lfs pull`, or check out with `lfs: true`"
ANNEXED = "a git-annex pointer and not the file itself", "run `git annex get` for it"
# How a file begins whose content is elsewhere or encrypted, what it is, and what brings the content.
STAND_INS = {
    b"version https://git-lfs.github.com/spec/": LFS,
    b"version https://hawser.github.com/spec/": LFS,  # Git LFS before its first release
    b"/annex/objects/": ANNEXED,
    b"\0GITCRYPT\0": ("encrypted by git-crypt", "run `git-crypt unlock`"),
    b"U2FsdGVkX1": ("encrypted by transcrypt", "run `transcrypt` with the repository's password"),
}
TEXT_LINK = "a link that this checkout holds as text", "set core.symlinks to true, and check the file out again"
MARKER = "<<<<<<<"  # how a merge begins that is not resolved
MERGE = "begins an unresolved merge conflict; resolve it, and commit the file"
CONFLICT = re.compile(rb"^<{7,} .*?^={7,}\s.*?^>{7,} ", re.MULTILINE | re.DOTALL)
MODULE = re.compile(r"^\s*path\s*=\s*(.*?)/?\s*$", re.MULTILINE)
EXTENDED, SKIPPED = 1 << 30, 1 << 30 | 1 << 14  # of an entry's flags: it has more of them, and is not checked out
LINK = 0o120000  # mode of a link


def stand_in_of(path: Path) -> tuple[str, str] | None:
    """Say what stands in place of a file's content, and what to do.

    Return None where it is the content itself.
    """
    try:
        if path.is_symlink() and not path.exists() and "/annex/objects/" in str(path.readlink()):
            return ANNEXED
        if not stat.S_ISREG((about := path.stat()).st_mode):
            return None
        with path.open("rb") as file:
            start = file.read(START)
        if stand_in := next((each for begin, each in STAND_INS.items() if start.startswith(begin)), None):
            return stand_in
        if about.st_size != len(start) or not start or not (path.parent / os.fsdecode(start)).exists():
            return None
        place = Path(os.path.abspath(path))  # noqa: PTH100 (a link is a name like any)
        root = next(root for root in place.parents if os.path.lexists(root / ".git"))
        mode, _ = _entries_of(root)[place.relative_to(root).as_posix()]
        return TEXT_LINK if mode == LINK else None
    except (OSError, ValueError, LookupError, StopIteration):
        return None


def refuse_conflict(path: Path, content: bytes) -> None:
    """Refuse a text with markers of a merge.

    They would cause an error that says nothing of them, or change what the text means.

    Raises
    ------
    BadInput
        With the line where the first one begins.
    """
    if conflict := CONFLICT.search(content):
        line = content.count(b"\n", 0, conflict.start()) + 1
        raise BadInput(f"{path}:{line}: {MERGE}")


def refuse_no_text(path: Path, content: bytes) -> None:
    """Refuse a file that holds an unresolved merge or is in UTF-16."""
    refuse_conflict(path, content)
    if content[:2] in UTF16:
        raise BadInput(f"{path}: is UTF-16 and not UTF-8; save the file as UTF-8 text")


def absence_of(path: Path) -> str | None:
    """Say why a checkout lacks a file of the repository, and what to do.

    Return None where nothing shows why.
    """
    place = Path(os.path.abspath(path))  # noqa: PTH100 (a link is a name like any)
    for root in () if os.path.lexists(place) else place.parents:
        try:
            listed = root / ".gitmodules"
            for module in MODULE.findall(listed.read_text(encoding="utf-8")) if listed.is_file() else ():
                if place.is_relative_to(root / module) and not os.path.lexists(root / module / ".git"):
                    fix = f"run `git submodule update --init {module}`, or check out with `submodules: true`"
                    return f"lies in the submodule {module}, which is not checked out; {fix}"
            if os.path.lexists(root / ".git"):
                return _sparse_absence(root, place.relative_to(root)) or _dvc_absence(root, place)
        except (OSError, ValueError):
            return None
    return None


def _dvc_absence(root: Path, place: Path) -> str | None:
    """Say that DVC keeps a file, or a folder above it."""
    pointers = (Path(f"{each}.dvc") for each in (place, *place.parents) if each.is_relative_to(root))
    pointer = next((each for each in pointers if each.is_file()), None)
    return f"is kept by DVC; run `dvc pull {pointer.relative_to(root).as_posix()}`" if pointer else None


def fault_of(path: Path) -> str | None:
    """Say why a checkout does not have a file's content, and what to do.

    Return None where it has. See `stand_in_of` and `absence_of`.

    >>> fault_of(Path(__file__))
    """
    stand_in = stand_in_of(path)
    return f"is {'; '.join(stand_in)}" if stand_in else absence_of(path)


def refuse_stand_in(path: Path) -> None:
    """Refuse a file whose content the checkout does not have.

    Raises
    ------
    BadInput
        With the reason, and what to do.
    """
    if fault := fault_of(path):
        raise BadInput(f"{path}: {fault}")


def _sparse_absence(root: Path, name: Path) -> str | None:
    """Say that a sparse checkout leaves a file out.

    git's index marks such files as skipped.
    """
    if not (_git_of(root) / "info/sparse-checkout").is_file():
        return None
    entries = _entries_of(root)
    names = (name.as_posix(), *(f"{folder.as_posix()}/" for folder in name.parents))
    if not any(entries.get(each, (0, False))[1] for each in names):
        return None
    fix = f"run `git sparse-checkout add {name.parent.as_posix()}`, or add it to `sparse-checkout:` of actions/checkout"
    return f"is left out of this sparse checkout; {fix}"


def _git_of(root: Path) -> Path:
    """Return the folder of git's own files.

    A worktree and a submodule have it elsewhere.
    """
    git = root / ".git"
    return root / git.read_text(encoding="utf-8").partition(":")[2].strip() if git.is_file() else git


def _entries_of(root: Path) -> dict[str, tuple[int, bool]]:
    """Return the mode of each name in git's index, and whether it is skipped.

    See gitformat-index(5).
    """
    index = (_git_of(root) / "index").read_bytes()
    try:
        return dict(_entries(index, 20))
    except IndexError:  # a repository with SHA-256
        return dict(_entries(index, 32))


def _entries(index: bytes, size: int) -> Iterator[tuple[str, tuple[int, bool]]]:
    """Yield names, modes and whether they are skipped, from git's index.

    Its ids have `size` bytes. Raises IndexError where they have another size.
    """
    at, name = 12, b""
    for _ in range(int.from_bytes(index[8:12], "big")):
        start = at + 40 + size
        flags = int.from_bytes(index[start : start + 4], "big")
        start, kept = start + (4 if flags & EXTENDED else 2), 0
        if index[7] == 4:  # the name begins as the one before it, but for so many of its last bytes
            dropped = index[start] & 0x7F
            while index[start] & 0x80:
                start += 1
                dropped = dropped + 1 << 7 | index[start] & 0x7F
            start, kept = start + 1, len(name) - dropped
        end = index.find(b"\0", start)
        name = name[:kept] + index[start:end]
        if end < 0 or kept < 0 or flags >> 16 & 0xFFF != min(len(name), 0xFFF):
            raise IndexError
        yield os.fsdecode(name), (int.from_bytes(index[at + 24 : at + 28], "big"), flags & SKIPPED == SKIPPED)
        at = end + 1 if index[7] == 4 else at + (end - at + 8) // 8 * 8


def commit_of(folder: Path) -> str:
    """Return the folder's git commit.

    It has `+changes` where files differ from it. Without git it is GITHUB_SHA or "".
    """
    try:
        commit = _git(folder, "rev-parse", "HEAD")
        return f"{commit}+changes" if _git(folder, "status", "--porcelain", "--untracked-files=no") else commit
    except (OSError, subprocess.SubprocessError):
        return os.environ.get("GITHUB_SHA", "")


def _git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments], capture_output=True, text=True, timeout=30, check=True
    )
    return done.stdout.strip()
