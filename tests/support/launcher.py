"""Commands as processes of their own, forked from one that has imported everything: in a tenth of the time.

Each is a real process: it is killed and interrupted, has its own output, folder and variables, and ends with a code.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NoReturn


class Launched:
    """A command of accgate that runs, as `subprocess.Popen` is one.

    `files` are its standard ones, by default nothing, nothing and a file; `told` is made when a signal asks it to stop.
    """

    def __init__(
        self,
        *arguments: str,
        cwd: Path | None = None,
        env: Mapping[str, str] = os.environ,
        files: Sequence[int] = (),
        told: Path | None = None,
    ) -> None:
        self.returncode: int | None = None
        self._said = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115
        self._told = told
        self._ended, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        order = {"arguments": arguments, "env": dict(env), "cwd": str(cwd or Path.cwd()), "told": told and str(told)}
        with theirs, Path(os.devnull).open("r+b") as nothing:
            files = files or (nothing.fileno(), nothing.fileno(), self._said.fileno())
            socket.send_fds(launcher(), [json.dumps(order).encode()], [theirs.fileno(), *files])
        self.pid = int(self._ended.recv(20))

    def __enter__(self) -> Launched:
        return self

    def __exit__(self, *_: object) -> None:
        self.wait()

    def poll(self) -> int | None:
        """The exit code, or less the signal that ended it; None while it runs."""
        return self._received(block=False)

    def wait(self, timeout: float = 120) -> int:
        """The same, at the end."""
        if self.returncode is None:
            self._ended.settimeout(timeout)
        code = self._received(block=True)
        assert code is not None
        return code

    def communicate(self, timeout: float = 120) -> tuple[str, str]:
        """Nothing, and what it wrote to standard error, at the end."""
        self.wait(timeout)
        return "", self._text

    def send_signal(self, number: int) -> None:
        """Until it is waited for, a process that has ended keeps its id: nobody else is met."""
        if self.returncode is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)

    def wait_until(self, condition: Callable[[], bool]) -> None:
        """Until something holds, while it runs."""
        deadline = time.monotonic() + 120
        while not condition():
            assert self.poll() is None, self.communicate()[1]
            assert time.monotonic() < deadline
            time.sleep(0.005)

    def wait_until_told(self) -> None:
        """Until a signal has arrived."""
        assert self._told is not None
        self.wait_until(self._told.exists)

    def _received(self, *, block: bool) -> int | None:
        if self.returncode is None:
            try:
                code = self._ended.recv(20, 0 if block else socket.MSG_DONTWAIT)
            except BlockingIOError:
                return None
            self.returncode = int(code)
            self._ended.close()  # and its keeper lets it go
            self._said.seek(0)
            self._text = self._said.read()
            self._said.close()
        return self.returncode


@cache
def launcher() -> socket.socket:
    """The line to the process that forks; it ends with this one."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    process = subprocess.Popen(
        [sys.executable, "-c", "from tests.support.launcher import serve; serve()", str(theirs.fileno())],
        pass_fds=[theirs.fileno()], cwd=Path(__file__).parents[2],
    )  # fmt: skip
    theirs.close()
    atexit.register(lambda: (ours.close(), process.wait(60)))
    return ours


def serve() -> None:
    """Fork a process for each order, and one that keeps its id, until there are no more."""
    import aiohttp  # noqa: F401
    import scipy.stats  # noqa: F401

    import accgate.cli.run
    import accgate.engines.openai
    import accgate.evaluation.interruption
    import accgate.gate
    import accgate.report.flips
    import accgate.report.markdown
    import accgate.report.terminal  # noqa: F401

    gc.freeze()
    line = socket.socket(fileno=int(sys.argv[1]))
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # keepers need nobody
    while True:
        order, fds, *_ = socket.recv_fds(line, 1_000_000, 4)
        if not order:
            return
        if os.fork():
            for fd in fds:
                os.close(fd)
            continue
        line.close()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        if pid := os.fork():
            for fd in fds[1:]:  # or whoever reads waits for this one too
                os.close(fd)
            keep(pid, socket.socket(fileno=fds[0]))
        os.close(fds[0])
        command(fds[1:], **json.loads(order))


def keep(pid: int, line: socket.socket) -> NoReturn:
    """Say the process's id, and how it ended; until that was read the id is nobody else's."""
    line.send(str(pid).encode())
    end: Any = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    line.send(str(end.si_status if end.si_code == os.CLD_EXITED else -end.si_status).encode())
    line.recv(1)
    os.waitpid(pid, 0)
    os._exit(0)


def command(files: list[int], arguments: list[str], env: dict[str, str], cwd: str, told: str | None) -> NoReturn:
    """Run a command as `python -m accgate` does."""
    from accgate.cli.main import main
    from accgate.evaluation import interruption

    for fd, (file, name) in enumerate(zip(files, ("stdin", "stdout", "stderr"), strict=True)):
        os.dup2(file, fd)
        os.close(file)
        buffering = 1 if fd == 2 or os.isatty(fd) else -1
        errors = "backslashreplace" if fd == 2 else "strict"
        setattr(sys, name, os.fdopen(fd, "w" if fd else "r", buffering, errors=errors, closefd=False))
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    tempfile.tempdir = None
    if told is not None:
        request = interruption.Stop.request

        def request_and_tell(stop: interruption.Stop) -> None:
            request(stop)
            Path(told).touch()

        # What is in flight is waited for as good as for ever, so that no clock decides a test.
        interruption.Stop.request, interruption.GRACE = request_and_tell, 600.0  # type: ignore[method-assign]
    sys.exit(main(arguments))
