"""The other shards of a run in a shared folder.

Their records are read while they are written.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from accgate.errors import BadInput
from accgate.evaluation.assignment import Assignment
from accgate.evaluation.files import changed_content
from accgate.evaluation.resume import Servers, changed_settings, settings_of
from accgate.evaluation.shards.shard import Shard
from accgate.records.file import NOT_COMPARED, PLAN, Record, RecordPaths, new_records, paths_of, settings_of_run
from accgate.tasks import Task

OWN = {"records", "shard", *NOT_COMPARED} - {PLAN}
EVERY = 1.0  # seconds between two looks at the folder, which may be on a network


def place_in(folder: Path, shard: Shard) -> Path:
    """Return where a shard's records lie in the shared folder.

    >>> place_in(Path("all"), Shard(2, 4)).as_posix()
    'all/shard-2-of-4'
    """
    return folder / f"shard-{shard.index}-of-{shard.count}"


@dataclass
class _Sibling:
    """One other shard's records of a check, as far as they were read.

    A new `inode` shows that the file was begun anew. A new `stamp` (inode, time of change) shows that the settings were
    written again.
    """

    folder: Path
    inode: int = 0
    offset: int = 0
    stamp: tuple[int, int] | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    records: dict[tuple[str, int], Record] = field(default_factory=dict)


class Siblings:
    """The finished records of a check that the other shards have.

    `whole` is the task of all shards together. Only shards with the same samples, settings, engine, servers and content
    of files count. Records that cannot be read count as not finished: the run goes on, and `merge` says what is wrong.
    """

    def __init__(self, folder: Path, shard: Shard, whole: Task, assignment: Assignment, servers: Servers) -> None:
        self.whole = whole
        self._pair, self._settings = (assignment.model, whole.name), settings_of(assignment)
        others = (Shard(i, shard.count) for i in range(1, shard.count + 1) if i != shard.index)
        self._others = [_Sibling(place_in(folder, other)) for other in others]
        self._servers, self._served = servers, servers.settings()
        self._due = time.monotonic()

    def record(self, key: tuple[str, int]) -> Record | None:
        """Return the record of an (id, repeat), None while no other shard has it."""
        return next((other.records[key] for other in self._others if key in other.records), None)

    def refresh(self) -> None:
        """Read what the others have written, at most once a second.

        When this shard's servers have just said who they are, the others are compared at once.
        """
        served = self._servers.settings()
        if time.monotonic() < self._due and served == self._served:
            return
        self._served = served
        for other in self._others:
            try:
                self._read(other)
            except (BadInput, OSError):
                other.records.clear()
                other.inode, other.stamp = 0, None
        self._due = time.monotonic() + EVERY

    def _read(self, other: _Sibling) -> None:
        paths = paths_of(other.folder, *self._pair)
        now = paths.records.stat()
        self._compare(other, paths)
        if (now.st_ino, now.st_size) == (other.inode, other.offset):
            return
        if now.st_ino != other.inode or now.st_size < other.offset:
            other.records.clear()
            other.inode, other.offset = now.st_ino, 0
        records, other.offset = new_records(paths.records, other.offset)
        other.records.update((record.key, record) for record in records)

    def _compare(self, other: _Sibling, paths: RecordPaths) -> None:
        """Refuse a shard of another run or with other servers.

        Either shard may learn its servers at any time, so these are compared every time.
        """
        now = paths.settings.stat()
        if (stamp := (now.st_ino, now.st_mtime_ns)) != other.stamp:
            settings = settings_of_run(paths)
            if changed_settings(settings, self._settings, OWN) or changed_content(settings, self._settings):
                raise BadInput("of another run")
            other.stamp, other.settings = stamp, settings
        self._servers.compare(other.settings, str(paths.settings))
