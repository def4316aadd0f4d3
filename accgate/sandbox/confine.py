"""What the forked child does to itself before it runs a program: no step can be undone, no helper is needed.

Order matters: the uid needs capabilities, the parent-death signal is lost with a change of uid, Landlock and seccomp
need no_new_privs, and once the filter is there the calls that set all this are gone.
"""

from __future__ import annotations

import math
import os
import resource
import signal
from typing import NamedTuple

from . import kernel, landlock, seccomp

_MOST_DESCRIPTORS = 4096  # the worker never has more open


class Walls(NamedTuple):
    """What all programs of a worker share; `ruleset` is Landlock's descriptor, `uid` the user they become.

    The process sets the kernel's limits itself; the worker looks after `wall`, `disk`, `entries` and `threads`.
    """

    folder: str
    ruleset: int | None
    uid: int | None
    filtered: seccomp.Filter
    seconds: float
    wall: float
    memory: int
    file_size: int
    disk: int
    entries: int
    open_files: int
    threads: int


class Streams(NamedTuple):
    """Descriptors that the program gets: what it may read and where it prints, and where its report goes."""

    input: int
    output: int
    errors: int
    report: int


def confine(walls: Walls, parent: int, streams: Streams, trouble: int) -> int:
    """Confine the calling process to `walls`, with no descriptor left but its streams and `trouble`.

    Gives the descriptor of its report. Raises OSError where a step fails: the program must not run then.
    """
    os.setsid()
    for descriptor, number in zip(streams[:3], (0, 1, 2), strict=True):
        os.dup2(descriptor, number)
    close_all_but({streams.report, trouble, *(() if walls.ruleset is None else (walls.ruleset,))})
    os.chdir(walls.folder)
    os.environ.clear()
    os.environ.update(HOME=walls.folder, TMPDIR=walls.folder, PATH="", LANG="C.UTF-8")
    if walls.uid is not None:
        os.setgroups([])
        os.setresgid(walls.uid, walls.uid, walls.uid)
        os.setresuid(walls.uid, walls.uid, walls.uid)
    kernel.prctl(kernel.PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        raise OSError("the worker has ended")
    kernel.prctl(kernel.DUMPABLE, 0)  # no core dump, no tracing, no /proc for others of the same user
    limit(walls)
    kernel.prctl(kernel.NO_NEW_PRIVS, 1)
    kernel.drop_capabilities()
    if walls.ruleset is not None:
        landlock.restrict(walls.ruleset)
        os.close(walls.ruleset)
    kernel.filter_calls(walls.filtered.of(os.getpid()))
    return streams.report


def close_all_but(keep: set[int]) -> None:
    """Close all descriptors from 3 on but these."""
    first = 3
    for descriptor in sorted(keep):
        os.closerange(first, descriptor)
        first = descriptor + 1
    os.closerange(first, _MOST_DESCRIPTORS)


def limit(walls: Walls) -> None:
    """Resource limits, hard ones: the second on processor time is for who ignores the first one's signal."""
    seconds = math.ceil(walls.seconds)
    for what, soft, hard in (
        (resource.RLIMIT_CPU, seconds + 1, seconds + 2),
        (resource.RLIMIT_AS, walls.memory, walls.memory),
        (resource.RLIMIT_FSIZE, walls.file_size, walls.file_size),
        (resource.RLIMIT_NOFILE, walls.open_files, walls.open_files),
        (resource.RLIMIT_CORE, 0, 0),
        (resource.RLIMIT_MEMLOCK, 0, 0),
        (resource.RLIMIT_MSGQUEUE, 0, 0),
        (resource.RLIMIT_STACK, 8 << 20, 8 << 20),
    ):
        ceiling = resource.getrlimit(what)[1]
        if ceiling != resource.RLIM_INFINITY:
            resource.setrlimit(what, (min(soft, ceiling), min(hard, ceiling)))
        else:
            resource.setrlimit(what, (soft, hard))
