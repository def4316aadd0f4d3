"""A process that ends what vLLM started when its engine ends.

It works even if accgate was killed. `python watch.py PID`, started by PID, notes the descendants of PID until a line
comes on standard input. At the line `end ROOT ...` it ends those that descend from these processes. If PID or the input
ends without that line, it kills all that are left. Then it removes the shared memory that only they had, because
Python's own tracker of it may have been killed too.
"""

import contextlib
import os
import select
import signal
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

PERIOD = 0.2  # seconds between looks
GRACE = 2.0  # seconds for what is left of an engine that was closed to end by itself
PATIENCE = 10.0  # seconds for what was killed to be gone
MEMORY = Path("/dev/shm")
NAMES = ("psm_", "sem.mp-")  # Python's for shared memory and semaphores


@dataclass(frozen=True)
class Process:
    """A process by the time of its start, since numbers are used again.

    `parent` is its first known parent.
    """

    started: str
    parent: int


Seen = dict[int, Process]
Memory = dict[int, set[str]]  # the inodes of the shared memory that each process had


def main() -> None:
    """Watch from a process that is no child of the watched one.

    Ray kills a process together with its children.
    """
    if os.fork():
        os._exit(0)  # the one that is watched takes this for the end of its child
    watch(int(sys.argv[1]))
    os.write(1, b"ended")


def watch(parent: int) -> None:
    """Note what a process starts, and end it when that is due."""
    if (itself := process_of(parent)) is None:
        return
    seen, memory, lines = Seen(), Memory(), ""
    looks = True
    while living({parent: itself}):  # the end of input alone tells little: what vLLM forks holds the other end too
        if looks:
            look(parent, seen, memory)
        looks = "\n" not in lines  # once more after the line
        if select.select([0], [], [], PERIOD)[0]:
            lines += (words := os.read(0, 4096).decode())
            if not words:
                break
            if (roots := roots_of(lines)) is not None:
                if looks:
                    look(parent, seen, memory)
                end(below(roots, seen), memory, GRACE)
                return
    end(seen if living({parent: itself}) else seen | {parent: itself}, memory, 0.0)


def look(parent: int, seen: Seen, memory: Memory) -> None:
    """Note the present descendants of a process, and their shared memory.

    The shared memory of the process itself counts too.
    """
    for number, process in descendants(parent).items():
        if number not in seen or seen[number].started != process.started:
            seen[number] = process
    for number in [parent, *living(seen)]:
        memory.setdefault(number, set()).update(mapped([number]))


def roots_of(lines: str) -> list[int] | None:
    """Return the processes that a line `end ROOT ...` names, once it has come."""
    *complete, _ = lines.split("\n")
    return next(([*map(int, words)] for command, *words in map(str.split, complete) if command == "end"), None)


def below(roots: Sequence[int], seen: Seen) -> Seen:
    """Return the roots and the processes that descend from them.

    The parent of a process is the one it had when first seen.
    """
    family, generation = Seen(), {*roots}
    while generation:
        family |= {number: seen[number] for number in generation & seen.keys()}
        generation = {number for number, process in seen.items() if process.parent in generation} - family.keys()
    return family


def end(seen: Seen, memory: Memory, grace: float) -> None:
    """Kill what is left after `grace` seconds, and remove unused shared memory."""
    await_end(seen, grace)
    for process in living(seen):
        if not tracks_resources(process):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
    await_end(seen, PATIENCE)
    remove({inode for number in seen for inode in memory.get(number, ())})


def await_end(seen: Seen, seconds: float) -> None:
    """Wait up to `seconds` until none is there."""
    deadline = time.monotonic() + seconds
    while living(seen) and time.monotonic() < deadline:
        time.sleep(PERIOD / 4)


def living(seen: Seen) -> list[int]:
    """Return those that are still there."""
    return [
        number
        for number, process in seen.items()
        if (now := process_of(number)) is not None and now.started == process.started
    ]


def mapped(numbers: Iterable[int]) -> set[str]:
    """Return the inodes of the shared memory that processes map.

    Inodes, because a semaphore's file gets its name only later.
    """
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
    """Tell whether a process is Python's own tracker of shared memory.

    It frees that memory and ends once the others have ended.
    """
    with contextlib.suppress(OSError):
        return b"multiprocessing.resource_tracker" in Path(f"/proc/{process}/cmdline").read_bytes()
    return False


def process_of(number: int) -> Process | None:
    """Return the process with this number, unless it has ended."""
    try:
        fields = Path(f"/proc/{number}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] == "Z" else Process(fields[19], int(fields[1]))


def processes() -> Seen:
    """List every process that has not ended."""
    numbers = (int(path.name) for path in Path("/proc").glob("[0-9]*"))
    return {number: process for number in numbers if (process := process_of(number)) is not None}


def descendants(parent: int) -> Seen:
    """List the descendants of a process, except this one."""
    everyone = below([parent], processes())
    return {number: process for number, process in everyone.items() if number not in (parent, os.getpid())}


if __name__ == "__main__":
    main()
