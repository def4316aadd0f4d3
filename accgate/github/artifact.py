"""References in an artifact of another job.

They are hostile data, of which only the files of a reference store are taken.
"""

import hashlib
import os
import re
import stat
from collections.abc import Collection, Iterator
from pathlib import Path
from urllib.parse import unquote

from accgate.errors import BadInput, reading
from accgate.guard.reference_rules import are_close
from accgate.records.file import file_name, read_gzip_lines
from accgate.references.anchor import anchor_beside
from accgate.references.store import Reference, find_reference, reference_path
from accgate.references.writer import figures_of

MOST_FILES = 2_000
FILE_LIMIT = 25_000_000  # bytes
TOTAL_LIMIT = 100_000_000  # bytes
UNPACKED_LIMIT = 250_000_000  # bytes of replies
_FIX = "upload the references folder of `record` and nothing else"
_KINDS = (".anchor.scores.csv", ".scores.csv", ".replies.jsonl.gz", ".anchor.toml", ".toml")  # the longer ones first


def stored_files(folder: Path) -> dict[str, bytes]:
    """Read the files of a reference store in a folder, by MODEL/FILE.

    Other plain files are ignored.

    Raises
    ------
    BadInput
        For anything but plain files and folders, for more or larger files than references have, and for a folder
        without a reference.
    """
    files: dict[str, bytes] = {}
    total = 0
    for number, path in enumerate(_plain_files(folder), 1):
        if number > MOST_FILES:
            raise BadInput(f"{folder}: holds more than {MOST_FILES:,} files; {_FIX}")
        name = path.relative_to(folder).as_posix()
        if not is_stored(name):
            continue
        size = path.stat().st_size
        total += size
        if size > FILE_LIMIT or total > TOTAL_LIMIT:
            raise BadInput(
                f"{path}: is too large; a file may have {FILE_LIMIT // 10**6} MB, all together "
                f"{TOTAL_LIMIT // 10**6} MB; record with --no-replies"
            )
        files[name] = path.read_bytes()
    if not any(name.endswith(".toml") for name in files):
        raise BadInput(f"{folder}: holds no reference; {_FIX}")
    return files


def is_stored(name: str) -> bool:
    """Tell whether a path is one that a reference store has.

    >>> is_stored("m@quant=fp8/sums.toml"), is_stored("m/.git.toml"), is_stored("m/../sums.toml"), is_stored("m/a.md")
    (True, False, False, False)
    """
    parts = name.split("/")
    if len(parts) != 2 or not parts[1].endswith(_KINDS):
        return False
    # Names that `file_name` writes: none is hidden, leads elsewhere or holds a control character.
    return all(re.fullmatch(r"[ -~]+", part) and file_name(unquote(part)) == part for part in (parts[0], _stem(name)))


def check_references(folder: Path, changed: Collection[str], *, reason: str) -> None:
    """Refuse references that `record` would not have written.

    They are in other places, or have another reason, or other scores. `changed` are paths from `stored_files`; the
    references to which they belong are read.

    Raises
    ------
    BadInput
        Which file, and what is wrong with it.
    """
    for model, task in sorted({(name.split("/")[0], _stem(name)) for name in changed}):
        path = folder / model / f"{task}.toml"
        reference = find_reference(folder, unquote(model), unquote(task))
        if reference is None or reference.path != path:
            raise BadInput(f"{path}: is missing, but files beside it changed; {_FIX}")
        about = reference.about
        if reference_path(folder, about.model, about.variant, about.task) != path:
            raise BadInput(f"{path}: is not the place of a reference of {about.model} for task {about.task}; {_FIX}")
        if reference.scores is None:
            raise BadInput(f"{path}: has no scores, which `record` writes; {_FIX}")
        anchor = anchor_beside(path)
        if anchor is not None and (anchor.about.model, anchor.about.task) != (about.model, about.task):
            raise BadInput(f"{anchor.path}: belongs to another model or task than {path.name}; {_FIX}")
        if f"{model}/{task}.toml" not in changed:
            raise BadInput(f"{path}: is unchanged, but files beside it changed; {_FIX}")
        if about.reason != reason:
            raise BadInput(f"{path}: was recorded for another reason than the one in the comment; record it again")
        for key, value in figures_of(reference.scores).items():
            if not are_close(getattr(about, key), value):
                raise BadInput(f"{path}: {key}: does not follow from the scores; record it again")
        _check_replies(reference)


def git_sha(content: bytes) -> str:
    """Return the name that git gives a file with this content.

    >>> git_sha(b"")
    'e69de29bb2d1d6434b8b29ae775ad8c2e48c5391'
    """
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def stem_of(name: str) -> str:
    """The path of a reference in the store, without its ending, from that of any of its files.

    >>> stem_of("m@quant=fp8/sums.anchor.scores.csv")
    'm@quant=fp8/sums'
    """
    return f"{name.partition('/')[0]}/{_stem(name)}" if name.endswith(_KINDS) else name


def _stem(name: str) -> str:
    """Return the task's name in a path, as a file's name spells it."""
    file = name.rsplit("/", maxsplit=1)[-1]
    return file.removesuffix(next(kind for kind in _KINDS if file.endswith(kind)))


def _plain_files(folder: Path) -> Iterator[Path]:
    """List all files in a folder, at any depth.

    No link is followed.
    """
    with reading(folder, "give the folder of the references"):
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    for entry in entries:
        mode = entry.stat(follow_symlinks=False).st_mode
        if stat.S_ISDIR(mode):
            yield from _plain_files(Path(entry.path))
        elif stat.S_ISREG(mode):
            yield Path(entry.path)
        else:
            raise BadInput(f"{entry.path}: is a link or another special file; {_FIX}")


def _check_replies(reference: Reference) -> None:
    """Refuse replies that the report could not read.

    So are those that unpack to more than the limit, which are never held.
    """
    for row in read_gzip_lines(reference.replies_path, "reply", UNPACKED_LIMIT):
        if "repeat" not in row:
            raise BadInput(f"{reference.replies_path}: holds a row without repeat; record it again")
