"""What confines programs on this machine, found by running programs that try to get out."""

from __future__ import annotations

import functools
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from accgate.errors import CannotEvaluate
from accgate.sandbox.limits import Limits
from accgate.sandbox.process import NOBODY, Confinement, Worker

# Each attempt must be refused by the system, not fail for another reason; the last lines must work.
_PROBE = """
import ctypes, os, signal, socket

def expect_refusal(name, attempt, *arguments):
    try:
        attempt(*arguments)
    except OSError as error:
        assert error.errno in {{1, 2, 13, 30, 38}}, f"{{name}}: {{error}}"
    else:
        raise AssertionError(f"{{name}} is possible")

expect_refusal("reading a file of others", open, {outside!r})
expect_refusal("writing a file of others", open, {outside!r}, "a")
expect_refusal("making a file elsewhere", open, {outside!r} + ".new", "w")
expect_refusal("listing a folder of others", os.listdir, os.path.dirname({outside!r}))
expect_refusal("changing a file's mode", os.chmod, {outside!r}, 0o600)
expect_refusal("a network socket", socket.socket, socket.AF_INET)
expect_refusal("a Unix socket", socket.socket, socket.AF_UNIX)
expect_refusal("another process", os.fork)
expect_refusal("another program", os.execv, {python!r}, ["python", "-c", ""])
expect_refusal("a signal to the parent", os.kill, os.getppid(), 0)
expect_refusal("a signal to all", os.kill, -1, 0)
libc = ctypes.CDLL(None, use_errno=True)
assert libc.unshare(0x10000000) == -1, "a user namespace is possible"
assert libc.ptrace(0, 0, 0, 0) == -1, "tracing is possible"
assert not [name for name in os.environ if name not in {{"HOME", "TMPDIR", "PATH", "LANG"}}], "the environment shows"

import colorsys, decimal, json, tempfile, threading
with tempfile.TemporaryFile() as file:
    file.write(b"own")
thread = threading.Thread(target=print)
thread.start()
thread.join()
"""
_FIX = (
    "Run accgate on Linux 5.13 or later with Landlock (CONFIG_LSM or lsm= names it, Docker's profile allows it),"
    " or install bubblewrap where user namespaces are allowed."
)


class CannotConfine(CannotEvaluate):
    """Nothing here confines a program, so none is run."""

    def __init__(self, *tried: str) -> None:
        super().__init__(f"generated code cannot be confined here, so it is not run: {'; '.join(tried)}.\n{_FIX}")


@functools.cache
def confinement() -> Confinement:
    """The strongest confinement that holds on this machine; raises CannotConfine where none does.

    Each candidate is started for real and runs a program that tries to get out and then does ordinary work. Takes about
    a fifth of a second, once in a process.
    """
    if not sys.platform.startswith("linux"):
        raise CannotConfine(f"{sys.platform} has neither Landlock nor seccomp")
    if not sys.executable:
        raise CannotConfine("this Python does not know its own executable")
    tried = []
    for candidate in candidates():
        trouble = hole(candidate)
        if trouble is None:
            return candidate
        tried.append(f"{candidate.files}{'' if candidate.uid is None else f' as user {candidate.uid}'}: {trouble}")
    raise CannotConfine(*tried)


def candidates() -> Iterator[Confinement]:
    """From the strongest: root's programs become nobody where nobody can read the Python installation."""
    if os.geteuid() == 0:
        yield Confinement("landlock", NOBODY)
    yield Confinement("landlock")
    yield Confinement("bubblewrap")


def hole(candidate: Confinement) -> str | None:
    """Why this does not confine, or does not work, in one line; None where it does both."""
    with tempfile.TemporaryDirectory(prefix="accgate-probe-") as folder:
        outside = Path(folder) / "outside"
        outside.write_text("of others")
        outside.chmod(0o666)
        Path(folder).chmod(0o777)
        worker = Worker(Limits(seconds=10.0), candidate)
        try:
            outcome = worker.run(_PROBE.format(outside=str(outside), python=sys.executable))
        except (CannotEvaluate, OSError) as error:
            return " ".join(str(error).split())
        finally:
            worker.stop()
    return None if outcome.passed else outcome.reason
