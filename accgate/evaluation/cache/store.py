"""Finished replies and log-probabilities, kept across runs.

Each model, build and machine has a folder of its own. Every run appends lines to files of its own, so that runs at the
same time need no lock, and a network folder will do. A line has a checksum over who answered, the request and the
reply: a torn or damaged one is asked again.
"""

import contextlib
import hashlib
import json
import os
import re
import secrets
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, BinaryIO

from accgate.engines import LogProbs, Reply
from accgate.evaluation.cache.identity import Identity
from accgate.inputs.paths import json_table
from accgate.records.file import count_lines

LINES, DAMAGED, ABOUT, FILES = ".lines", ".damaged", "about.json", "files.json"
FOLDER = re.compile(r"[0-9a-f]{64}")
REPLIED, SCORED = "reply", "logprobs"
# Fields of a reply that come from a recording or the cache, not from a model.
UNKEPT = frozenset({"cached", "score", "confidence", "attacked", "attacked_reading", "reading"})
Say = Callable[[str], None]
Answer = Reply | LogProbs


class Shelf:
    """The cached answers of one engine. A fault in the cache never stops a run, which then asks the engine."""

    def __init__(self, folder: Path, identity: Identity, say: Say) -> None:
        self._folder, self._identity, self._say = folder / identity.digest, identity, say
        self._places: dict[bytes, tuple[Path, int]] = {}
        self._open: dict[Path, BinaryIO] = {}
        self._own: BinaryIO | None = None
        self._broken = False
        for path in sorted(self._folder.glob(f"*{LINES}")):
            self._index(path)

    def _index(self, path: Path) -> None:
        """Note where each key's line begins."""
        try:
            with path.open("rb") as file:
                offset = 0
                for line in file:
                    if line.endswith(b"\n"):  # not the torn last line of a killed run
                        self._places[line[:64]] = (path, offset)
                    offset += len(line)
        except OSError as error:
            self._say(f"cache: {path} cannot be read: {error.strerror}")

    def get(self, key: str | None) -> Answer | None:
        """Return the answer to a request, if there is one.

        A request without a key has none, nor has one whose line is damaged.
        """
        if key is None or (place := self._places.get(key.encode())) is None:
            return None
        path, offset = place
        try:
            line = self._line_at(path, offset)
        except OSError as error:  # another command may have pruned it
            self._forget(path)
            self._say(f"cache: {path} cannot be read: {error.strerror}; what it held is asked again")
            return None
        answer = _answer(line, key, self._identity.digest)
        if answer is None:
            self._forget(path)
            self._say(f"cache: {path} is damaged and was set aside; what it held is asked again")
            with contextlib.suppress(OSError):
                path.replace(path.with_suffix(DAMAGED))
        return answer

    def _line_at(self, path: Path, offset: int) -> bytes:
        if path not in self._open:
            self._open[path] = path.open("rb")
            with contextlib.suppress(OSError):
                os.utime(path)  # its last use, for prune
        self._open[path].seek(offset)
        return self._open[path].readline()

    def _forget(self, path: Path) -> None:
        self._places = {key: place for key, place in self._places.items() if place[0] != path}

    def put(self, key: str | None, answer: Answer) -> None:
        """Keep a reply, or log-probabilities, unless the request has no key."""
        is_bare = isinstance(answer, Reply) and (answer.text is None or answer.score is not None)
        if key is None or self._broken or is_bare:
            return
        try:
            if self._own is None:
                self._own = self._begin()
            self._own.write(_line(key, answer, self._identity.digest))
        except OSError as error:
            self._broken = True
            self._say(f"cache: {self._folder} cannot be written: {error.strerror}; the run goes on without it")

    def _begin(self) -> BinaryIO:
        self._folder.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError), (self._folder / ABOUT).open("x", encoding="utf-8") as about:
            json.dump(self._identity.about, about, indent=1, default=str)
        return (self._folder / f"{int(time.time())}-{secrets.token_hex(4)}{LINES}").open("xb", buffering=0)

    def close(self) -> None:
        """Close the files."""
        for file in (*self._open.values(), *((self._own,) if self._own else ())):
            file.close()
        self._open, self._own = {}, None


def _line(key: str, answer: Answer, identity: str) -> bytes:
    kind = SCORED if isinstance(answer, LogProbs) else REPLIED
    row = [kind, {field.name: getattr(answer, field.name) for field in fields(answer) if field.name not in UNKEPT}]
    body = json.dumps(row).encode()
    return b"%s %s %s\n" % (key.encode(), _checksum(identity, key, body), body)


def _answer(line: bytes, key: str, identity: str) -> Answer | None:
    """Read the answer in a line.

    The result is None if the line is damaged or was written for another key.
    """
    written_for, _, rest = line.rstrip(b"\n").partition(b" ")
    checksum, _, body = rest.partition(b" ")
    if written_for != key.encode() or checksum != _checksum(identity, key, body):
        return None
    kind, row = json.loads(body)
    row = {name: _tuples(value) for name, value in row.items()}
    return LogProbs(**row, cached=True) if kind == SCORED else Reply(**row, cached=True)


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def _checksum(identity: str, key: str, body: bytes) -> bytes:
    return hashlib.sha256(f"{identity}\0{key}\0".encode() + body).hexdigest()[:32].encode()


@dataclass(frozen=True)
class CacheEntry:
    """What a cache folder holds of one engine.

    `used` is the time of the last use, in seconds since 1970.
    """

    digest: str
    about: dict[str, Any]
    replies: int
    bytes: int
    used: float


def contents(folder: Path) -> list[CacheEntry]:
    """List what a cache folder holds, the last used first."""
    entries = []
    for place in _places(folder):
        files = _files_in(place)
        lines = sum(count_lines(path) for path in files if path.suffix == LINES)
        stats = [path.stat() for path in files]
        size, used = sum(each.st_size for each in stats), max((each.st_mtime for each in stats), default=0.0)
        entries.append(CacheEntry(place.name, json_table(place / ABOUT), lines, size, used))
    return sorted(entries, key=lambda entry: -entry.used)


def prune(
    folder: Path, *, older_than: float | None = None, max_size: int | None = None, now: float | None = None
) -> tuple[int, int]:
    """Remove a cache's files that are old or exceed the allowed size.

    `older_than` counts the seconds since the last use, and `max_size` the bytes that may be left. The longest unused
    files are removed first. Only files of a cache are removed, whatever folder is given. Returns (files, bytes)
    removed.
    """
    clock = time.time() if now is None else now
    paths = [path for place in _places(folder) for path in _files_in(place)]
    files = sorted((path.stat().st_mtime, path.stat().st_size, path) for path in paths)
    left, removed, freed = sum(size for _, size, _ in files), 0, 0
    for used, size, path in files:
        too_old = older_than is not None and clock - used > older_than
        if too_old or (max_size is not None and left > max_size):
            path.unlink(missing_ok=True)
            left, removed, freed = left - size, removed + 1, freed + size
    for place in _places(folder):
        if [path.name for path in place.iterdir()] == [ABOUT]:
            (place / ABOUT).unlink()
            place.rmdir()
    return removed, freed


def _places(folder: Path) -> Iterator[Path]:
    yield from (path for path in sorted(folder.iterdir()) if FOLDER.fullmatch(path.name) and path.is_dir())


def _files_in(place: Path) -> list[Path]:
    return [path for path in place.iterdir() if path.suffix in (LINES, DAMAGED)]
