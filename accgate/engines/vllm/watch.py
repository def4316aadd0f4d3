"""A process that outlives accgate by a moment: it kills what vLLM started where accgate was killed and could not.

`python watch.py PID`, started by PID, notes the descendants of PID until a line comes on standard input. When PID
or the input ends, it kills what is left of them, unless the last line was `done`.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
from pathlib import Path

PERIOD = 0.2  # seconds between looks
Started = dict[int, str]  # process number to the time it started, since numbers are used again


def main() -> None:
    """Watch."""
    parent, seen, lines = int(sys.argv[1]), Started(), ""
    while os.getppid() == parent:  # the end of input alone tells little: what vLLM forks holds the other end too
        if "\n" not in lines:
            seen |= descendants(parent)
        if select.select([0], [], [], PERIOD)[0]:
            lines += (words := os.read(0, 100).decode())
            if not words:
                break
    if lines.endswith("done\n"):
        return
    now = processes()
    for process, started in seen.items():
        if now.get(process, ("", 0))[0] == started and not tracks_resources(process):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)


def tracks_resources(process: int) -> bool:
    """Whether it is Python's own tracker of shared memory, which frees that and ends when the others have ended."""
    try:
        return b"multiprocessing.resource_tracker" in Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return False


def processes() -> dict[int, tuple[str, int]]:
    """(time of start, parent) of each process."""
    entries = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text(errors="replace").rpartition(")")[2].split()
        except OSError:  # it ended meanwhile
            continue
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
