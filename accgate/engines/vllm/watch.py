"""A process that outlives accgate by a moment: it kills what vLLM started where accgate was killed and could not.

`python watch.py PID`, started by PID, notes the descendants of PID until a line comes on standard input. When PID
or the input ends, it kills what is left of them, unless the last line was `done`, and removes the shared memory that
they had and nobody has any more: where all were killed at once, Python's own tracker of it was too.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time
from collections.abc import Iterable
from pathlib import Path

PERIOD = 0.2  # seconds between looks
PATIENCE = 10.0  # seconds for what was killed to be gone
MEMORY = Path("/dev/shm")
NAMES = ("psm_", "sem.mp-")  # Python's for shared memory and semaphores
Started = dict[int, str]  # process number to the time it started, since numbers are used again


def main() -> None:
    """Watch."""
    parent, seen, memory, lines = int(sys.argv[1]), Started(), set[str](), ""
    looks = True
    while os.getppid() == parent:  # the end of input alone tells little: what vLLM forks holds the other end too
        if looks:
            seen |= descendants(parent)
            memory |= mapped(seen)
        looks = "\n" not in lines  # once more after the line
        if select.select([0], [], [], PERIOD)[0]:
            lines += (words := os.read(0, 100).decode())
            if not words:
                break
    if lines.endswith("done\n"):
        return
    for process in living(seen):
        if not tracks_resources(process):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
    deadline = time.monotonic() + PATIENCE
    while living(seen) and time.monotonic() < deadline:
        time.sleep(PERIOD)
    remove(memory)


def living(seen: Started) -> list[int]:
    """Those that are still there."""
    now = processes()
    return [process for process, started in seen.items() if now.get(process, ("", 0))[0] == started]


def mapped(numbers: Iterable[int]) -> set[str]:
    """The inodes of the shared memory that processes map; a semaphore's file has its name only later."""
    inodes = set()
    for process in numbers:
        with contextlib.suppress(OSError):  # it ended meanwhile, or is another user's
            lines = Path(f"/proc/{process}/maps").read_text(errors="replace").splitlines()
            inodes |= {line.split()[4] for line in lines if f" {MEMORY}/" in line}
    return inodes


def remove(memory: set[str]) -> None:
    """Remove the files of shared memory with these inodes that no process maps."""
    memory -= mapped(processes())
    for path in MEMORY.glob("*"):
        with contextlib.suppress(OSError):  # the tracker was first
            if path.name.startswith(NAMES) and str(path.lstat().st_ino) in memory:
                path.unlink()


def tracks_resources(process: int) -> bool:
    """Whether it is Python's own tracker of shared memory, which frees that and ends when the others have ended."""
    try:
        return b"multiprocessing.resource_tracker" in Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return False


def processes() -> dict[int, tuple[str, int]]:
    """(time of start, parent) of each process that has not ended."""
    entries = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text(errors="replace").rpartition(")")[2].split()
        except OSError:  # it ended meanwhile
            continue
        if fields[0] != "Z":
            entries[int(path.parent.name)] = (fields[19], int(fields[1]))
    return entries


def descendants(parent: int) -> Started:
    """The descendants of a process, without this one."""
    everyone = processes()
    started, generation = Started(), {parent}
    while generation:
        generation = {p for p, (_, above) in everyone.items() if above in generation and p != os.getpid()}
        started |= {process: everyone[process][0] for process in generation}
    return started


if __name__ == "__main__":
    main()
