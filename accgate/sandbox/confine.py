"""The walls around a program.

This module has how the program's process puts them up, and how the worker watches it until it ends. The forked child
confines itself before it runs the program; no step can be undone, no helper is needed. Order matters: the uid needs
capabilities, the parent-death signal is lost with a change of uid, Landlock and seccomp need no_new_privs, and once the
filter is there the calls that set all this are gone.
"""

import math
import os
import resource
import select
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from . import erase, kernel, landlock, seccomp

TICK = 0.05  # seconds between two looks
_MOST_DESCRIPTORS = 4096  # the worker never has more open


class Walls(NamedTuple):
    """What all programs of a worker share.

    `ruleset` is Landlock's descriptor, `uid` the user they become. The process sets the kernel's limits itself; the
    worker looks after `wall`, `disk`, `entries` and `threads`.
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


def confine(walls: Walls, parent: int, streams: Sequence[int], trouble: int) -> int:
    """Confine the calling process to `walls`.

    It keeps no descriptor but its streams and `trouble`. Streams are what it may read, where it prints, its errors, and
    its report, whose descriptor is returned. Raises OSError where a step fails: the program must not run then.
    """
    *standard, report = streams
    os.setsid()
    for number, descriptor in enumerate(standard):
        os.dup2(descriptor, number)
    close_all_but({report, trouble, *(() if walls.ruleset is None else (walls.ruleset,))})
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
    return report


def close_all_but(keep: set[int]) -> None:
    """Close all descriptors from 3 on but these."""
    first = 3
    for descriptor in sorted(keep):
        os.closerange(first, descriptor)
        first = descriptor + 1
    os.closerange(first, _MOST_DESCRIPTORS)


def limit(walls: Walls) -> None:
    """Set resource limits, hard ones.

    Processor time has a second limit for programs that ignore the signal of the first one.
    """
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
        most = hard if ceiling == resource.RLIM_INFINITY else min(hard, ceiling)
        resource.setrlimit(what, (min(soft, most), most))


class End(NamedTuple):
    """How a process ended.

    `status` is its wait status, `cpu` its processor seconds. `why` says why the worker killed it, if it did.
    """

    status: int
    cpu: float
    why: str | None


class AskedToLeave(Exception):
    """Nobody waits for the answer any more."""


def wait(pid: int, walls: Walls, control: int) -> End:
    """Wait for the child.

    SIGCHLD must be blocked. Raises AskedToLeave, the child dead, once `control` is closed.
    """
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
    """List the process ids of this process's children."""
    return [int(word) for word in Path("/proc/thread-self/children").read_text(encoding="ascii").split()]


def excess(pid: int, walls: Walls, elapsed: float) -> str | None:
    """Say which limit the process is past, if any."""
    if elapsed >= walls.wall:
        return f"timed out after {walls.wall:g} s"
    if processor_seconds(pid) >= walls.seconds:
        return f"timed out after {walls.seconds:g} s of processor time"
    if threads(pid) > walls.threads:
        return f"was killed: more than {walls.threads} threads"
    if erase.is_overfull(walls.folder, walls.disk, walls.entries):
        most = f"{walls.disk >> 20} MB of files, {walls.entries} entries or {erase.DEEPEST} levels"
        return f"was killed: more than {most}"
    return None


def processor_seconds(pid: int) -> float:
    """Return the processor time of all of a process's threads, from its clock.

    The id is Linux's, see clock_getcpuclockid.
    """
    try:
        return time.clock_gettime((~pid << 3) | 2)
    except OSError:
        return 0.0  # it has just ended


def threads(pid: int) -> int:
    """Count a process's threads, 0 where that cannot be told."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[17])
    except (OSError, IndexError, ValueError):
        return 0
