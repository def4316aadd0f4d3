"""A process that runs a command, and ends it when its own input closes.

`python parent.py GRACE WORD...`: GRACE is the seconds between SIGTERM and SIGKILL. All descendants of the command are
ended too. The input also closes when accgate is killed. It prints `pid N`, or `errno N` where the command cannot be
started. The command writes to standard error. It imports only the standard library, because it runs with `python -I`.
"""

import contextlib
import ctypes
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

SUBREAPER = 36  # of prctl(2): orphans below this process become its children, so that none escapes
TICK = 0.2  # seconds between two looks at the command
AFTER_KILL = 5.0  # seconds for killed processes to be gone


def main() -> int:
    """Start the command, wait, and end it.

    The exit code is the command's, or 128 plus the signal that ended it.
    """
    grace, words = float(sys.argv[1]), sys.argv[2:]
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
    try:
        leader = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=sys.stderr, start_new_session=True).pid
    except (OSError, ValueError) as error:
        print(f"errno {getattr(error, 'errno', None) or 0}", flush=True)
        return 127
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: None)  # no SIG_IGN before the start: the command would inherit it
    print(f"pid {leader}", flush=True)
    family = Family(leader)
    while family.code is None:
        if select.select([0], [], [], TICK)[0]:
            break
        family.reap()
    family.end(grace)
    return 0 if family.code is None else family.code


class Family:
    """The command and whatever it started."""

    def __init__(self, leader: int) -> None:
        self.code: int | None = None
        self._leader = leader
        self._none_left = False

    def reap(self) -> None:
        """Collect the exit codes of ended children."""
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return
                if pid == self._leader:
                    code = os.waitstatus_to_exitcode(status)
                    self.code = code if code >= 0 else 128 - code
        self._none_left = True

    def end(self, grace: float) -> None:
        """Ask every process to end, and kill those that are left after `grace` seconds."""
        for number, seconds in ((signal.SIGTERM, grace), (signal.SIGKILL, AFTER_KILL)):
            signalled: set[int] = set()
            deadline = time.monotonic() + seconds
            while not self._gone() and time.monotonic() < deadline:
                for group in self._groups() - signalled:
                    with contextlib.suppress(ProcessLookupError, PermissionError):
                        os.killpg(group, number)
                    signalled.add(group)
                time.sleep(TICK / 10)

    def _gone(self) -> bool:
        self.reap()
        return self._none_left and not self._groups()

    def _groups(self) -> set[int]:
        """Return the process groups in which the command's processes live.

        Children may have left the command's own group.
        """
        groups = set[int]()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._leader, 0)
            groups.add(self._leader)
        listed = Path(f"/proc/self/task/{os.getpid()}/children")
        with contextlib.suppress(OSError):
            for pid in map(int, listed.read_text().split()):
                with contextlib.suppress(ProcessLookupError):
                    groups.add(os.getpgid(pid))
        return groups - {os.getpgrp()}


if __name__ == "__main__":
    sys.exit(main())
