"""Files that a table names.

Their paths start from the folder of the file that holds the table.
"""

import hashlib
import json
import os
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from accgate.errors import BadInput, KeyFaults, reading
from accgate.inputs.checkout import fault_of, refuse_no_text, refuse_stand_in
from accgate.text import closest

IN_COMMIT = "is it in the commit?"

DIGESTED = 100_000_000_000  # bytes of a file, weights of a judge among them
BLOCK = 1 << 20  # bytes; as many tell whether a file is text


def path_in(folder: Path, name: str) -> Path:
    """Resolve a path relative to a folder, `~` for the home folder."""
    return folder / os.path.expanduser(name)  # noqa: PTH111 (Path's own raises on an unknown user)


def has_file(folder: Path, name: str) -> bool:
    """Tell whether `path_in(folder, name)` is a file."""
    return os.path.isfile(path_in(folder, name))  # noqa: PTH113 (Path's own raises on an over-long name)


def no_file(folder: Path, name: str, fix: str = "write the path relative to this file") -> str:
    """Say that a file which a table names is not there, and why.

    Where the reason is not known, the fix is said.
    """
    path = path_in(folder, name)
    names = [each.name for each in path.parent.glob("*") if each.is_file()]
    fix += f"; there is {other!r}" if (other := closest(path.name, names)) else ""
    return f"there is no file {name!r} in {folder}; {f'it {why}' if (why := fault_of(path)) else fix}"


def model_file_in(folder: Path, name: str, kind: str) -> Path:
    """Return the path of the file of this kind that a model's table names.

    Raises
    ------
    KeyFaults
        When there is none.
    """
    path = path_in(folder, name)
    if not has_file(folder, name):
        raise KeyFaults((("model",), no_file(folder, name, f"give the path of {kind}, relative to that folder")))
    if fault := fault_of(path):
        raise KeyFaults((("model",), f"{name!r} {fault}"))
    return path


def plain_size(path: Path, most: int, fix: str = IN_COMMIT) -> int:
    """Return the bytes of a plain file, links followed.

    Files of /proc have a size of 0. `fix` says what to do where the file is missing.

    Raises
    ------
    BadInput
        When it is missing, a folder, a pipe, a device or a pointer of Git LFS, or has more than `most` bytes.
    """
    refuse_stand_in(path)
    try:
        with reading(path, fix):
            about = path.stat()
    except ValueError as error:  # a NUL in the name
        raise BadInput(f"{path!r}: is not a path ({error}); correct the name") from error
    if not stat.S_ISREG(about.st_mode):
        raise BadInput(f"{path}: is a folder, pipe or device; name a plain file")
    if about.st_size > most:
        raise BadInput(f"{path}: has {about.st_size:,} bytes, more than {most:,}; is it the right file?")
    return about.st_size


def read_plain(path: Path, most: int, fix: str = IN_COMMIT) -> bytes:
    """Read all bytes of a plain file, never more than its size says.

    Raises as `plain_size` does.
    """
    size = plain_size(path, most, fix)
    with reading(path, fix), path.open("rb") as file:
        return file.read(size) if size else b""  # a read of what has no size could wait for ever, or never end


def read_json(path: Path, most: int, fix: str) -> Any:
    """Read what a plain file holds as JSON.

    Raises
    ------
    BadInput
        When it is no JSON, and as `plain_size` does.
    """
    content = read_plain(path, most)
    try:
        return json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        refuse_no_text(path, content)
        raise BadInput(f"{path}: cannot be read as JSON: {error if content else 'it is empty'}; {fix}") from error


def json_table(path: Path) -> dict[str, Any]:
    """Read a JSON object that its reader can do without.

    Return an empty one where the file is missing or damaged.
    """
    try:
        table = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return table if isinstance(table, dict) else {}


def table_in(table: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """Return a table within a table, an empty one if there is none."""
    return inner if isinstance(inner := table.get(key), Mapping) else {}


def has_crlf(start: bytes) -> bool:
    """Tell whether a file that starts so is text with CRLF.

    git may check text out so. The first line decides.

    >>> has_crlf(b"id,score\\r\\n"), has_crlf(b"id,score\\na,1\\r\\n"), has_crlf(b"\\x89PNG\\r\\n\\x1a\\n\\0")
    (True, False, False)
    """
    end = start.find(b"\n", 0, BLOCK)
    return start[end - 1 : end] == b"\r" and b"\0" not in start[:BLOCK]


def with_lf(content: bytes) -> bytes:
    """Put LF for each CRLF in the content of a file that `has_crlf`."""
    return content.replace(b"\r\n", b"\n") if has_crlf(content) else content


def content_digest(blocks: Iterable[bytes]) -> str:
    """Return SHA-256 of a file's content `with_lf`, from its blocks.

    Line ends that git changed in a checkout do not change it.

    >>> len({content_digest(blocks) for blocks in ([b"a\\nb\\n"], [b"a\\r\\nb\\r\\n"], [b"a\\r\\nb\\r", b"\\n"])})
    1
    """
    digest, held, converts = hashlib.sha256(), b"", None
    for block in blocks:
        converts = has_crlf(block) if converts is None else converts
        text = held + block
        held = b"\r" if converts and text.endswith(b"\r") else b""  # the next block may begin with its LF
        text = text[: len(text) - len(held)]
        digest.update(text.replace(b"\r\n", b"\n") if converts else text)
    digest.update(held)
    return digest.hexdigest()


def file_digest(path: Path, most: int = DIGESTED) -> str:
    """Return the `content_digest` of a file.

    Raises
    ------
    BadInput
        When the file cannot be read, is no plain one, or has more than `most` bytes.
    """
    size = plain_size(path, most)
    with reading(path, IN_COMMIT), path.open("rb") as file:
        return content_digest(file.read(min(BLOCK, size - start)) for start in range(0, size, BLOCK))
