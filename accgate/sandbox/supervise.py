"""Waits for a program's process to end, and ends it where it goes past a limit."""

from __future__ import annotations

import os
import select
import signal
import time
from pathlib import Path
from typing import NamedTuple

from . import erase
from .confine import Walls

TICK = 0.05  # seconds between two looks


class End(NamedTuple):
    """How a process ended: its wait status, its processor seconds, and why it was killed where the worker did it."""

    status: int
    cpu: float
    why: str | None


class AskedToLeave(Exception):
    """Nobody waits for the answer any more."""


def wait(pid: int, walls: Walls, control: int) -> End:
    """Wait for the child; SIGCHLD must be blocked. Raises AskedToLeave, the child dead, once `control` is closed."""
    began, why, left = time.monotonic(), None, False
    while True:
        done, status, usage = os.wait4(pid, os.WNOHANG)
        if done:
            end_orphans()
            if left:
                raise AskedToLeave
            return End(status, usage.ru_utime + usage.ru_stime, why)
        if why is None:
            left = bool(select.select([control], [], [], 0)[0])
            why = "nobody waits" if left else excess(pid, walls, time.monotonic() - began)
            if why is not None:
                os.kill(pid, signal.SIGKILL)
        remaining = began + walls.wall - time.monotonic()
        signal.sigtimedwait([signal.SIGCHLD], TICK if why else max(0.0, min(TICK, remaining)))


def end_orphans() -> None:
    """Kill what the program may have left behind. The filter lets it start no process, so there should be none."""
    while True:
        try:
            done, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if not done:
            for child in children():
                os.kill(child, signal.SIGKILL)


def children() -> list[int]:
    """Process ids of this process's children."""
    return [int(word) for word in Path("/proc/thread-self/children").read_text(encoding="ascii").split()]


def excess(pid: int, walls: Walls, elapsed: float) -> str | None:
    """Which limit the process is past, in words; None where it is past none."""
    if elapsed >= walls.wall:
        return f"timed out after {walls.wall:g} s"
    if processor_seconds(pid) >= walls.seconds:
        return f"timed out after {walls.seconds:g} s of processor time"
    if threads(pid) > walls.threads:
        return f"was killed: more than {walls.threads} threads"
    if erase.is_overfull(walls.folder, walls.disk, walls.entries):
        return (
            f"was killed: files of more than {walls.disk >> 20} MB, {walls.entries} entries or {erase.DEEPEST} levels"
        )
    return None


def processor_seconds(pid: int) -> float:
    """Processor time of all of a process's threads, from its clock (the id is Linux's: see clock_getcpuclockid)."""
    try:
        return time.clock_gettime((~pid << 3) | 2)
    except OSError:
        return 0.0  # it has just ended


def threads(pid: int) -> int:
    """Number of a process's threads; 0 where it cannot be told."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[17])
    except (OSError, IndexError, ValueError):
        return 0
