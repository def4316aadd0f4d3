"""What one program may use, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass

MEBIBYTE = 1 << 20


@dataclass(frozen=True)
class Limits:
    """Limits of one program; past any of them it is killed and has failed.

    `seconds` is processor time over all its threads, so that a busy machine fails nobody; `wall_seconds` ends what
    sleeps or waits (ten times `seconds` where it is None). `memory` is address space in MB; `file_size` (one file, and
    all of standard output and error) and `disk` (all files) are MB; `entries` is the number of files and folders.

    >>> Limits(seconds=3.0).wall
    30.0
    """

    seconds: float = 3.0
    wall_seconds: float | None = None
    memory: int = 1024
    file_size: int = 16
    disk: int = 64
    entries: int = 1000
    open_files: int = 64
    threads: int = 64

    def __post_init__(self) -> None:
        for name in ("seconds", "wall", "memory", "file_size", "disk", "entries", "threads"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name.replace('wall', 'wall_seconds')} must be above 0")
        if self.open_files < 16:
            raise ValueError("open_files must be 16 or more: Python itself needs some")

    @property
    def wall(self) -> float:
        """Seconds on the clock."""
        return 10 * self.seconds if self.wall_seconds is None else self.wall_seconds


@dataclass(frozen=True)
class Outcome:
    """Whether a program ran to its last line; `reason` says in one line why not, `seconds` are on the clock."""

    passed: bool
    reason: str
    seconds: float
