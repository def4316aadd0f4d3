"""Digests of files, each read once: remembered by path, size, times and inode."""

from __future__ import annotations

import hashlib
import json
import secrets
import time
from collections.abc import Callable
from pathlib import Path

CHUNK = 1 << 22  # bytes
FRESH = 2.0  # seconds: a file changed so lately could change again without its times showing it


class FileDigests:
    """SHA-256 of files' contents, with a file that remembers them."""

    def __init__(self, memory: Path, clock: Callable[[], float] = time.time) -> None:
        self._memory, self._clock = memory, clock
        self._digests = _read(memory)
        self._new = False

    def __call__(self, path: Path) -> str:
        """The digest of a file's content, in hexadecimal.

        Raises
        ------
        OSError
            When it cannot be read.
        """
        name, status = str(path.resolve()), path.stat()
        stamp = [status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_dev]
        remembered = self._digests.get(name)
        if isinstance(remembered, list) and remembered[:-1] == stamp and isinstance(remembered[-1], str):
            return remembered[-1]
        sha = hashlib.sha256()
        with path.open("rb") as file:
            while chunk := file.read(CHUNK):
                sha.update(chunk)
        digest = sha.hexdigest()
        if self._clock() - max(status.st_mtime, status.st_ctime) > FRESH:
            self._digests[name] = [*stamp, digest]
            self._new = True
        return digest

    def save(self) -> None:
        """Write the digests down; a folder that cannot be written only costs time later."""
        if not self._new:
            return
        temporary = self._memory.with_name(f"{secrets.token_hex(8)}.part")  # two runs may save at once
        try:
            self._memory.parent.mkdir(parents=True, exist_ok=True)
            temporary.write_text(json.dumps(self._digests), encoding="utf-8")
            temporary.replace(self._memory)
        except OSError:
            temporary.unlink(missing_ok=True)
            return
        self._new = False


def _read(memory: Path) -> dict[str, object]:
    try:
        digests = json.loads(memory.read_bytes())
    except (OSError, ValueError):
        return {}
    return digests if isinstance(digests, dict) else {}
