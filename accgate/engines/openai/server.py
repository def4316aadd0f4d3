"""A server that accgate starts itself, and ends with everything it started."""

import asyncio
import contextlib
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from accgate.engines.base import Wall
from accgate.errors import CannotEvaluate, KeyFaults
from accgate.text import clip

PARENT = Path(__file__).with_name("parent.py")
GRACE = 10.0  # seconds between SIGTERM and SIGKILL, as `docker stop` has it
LAST_LINES, LINE_LENGTH = 5, 300  # of a log in a message
RAISED = re.compile(r"(?:^|[\s\]])((?:\w+\.)*\w*(?:Error|Exception): \S.*)$")
POLL = 0.25  # seconds between two looks at a server that starts


class Server:
    """The process of one server.

    It has the words of its command, the folder where it runs, and the file for its output. `wall` makes a barrier that
    keeps files from it, and `hide` removes secrets from its words.
    """

    def __init__(
        self,
        words: Sequence[str],
        *,
        folder: Path,
        log: Path | None = None,
        wall: Callable[[], Wall] | None = None,
        hide: Callable[[str], str] = str,
    ) -> None:
        self.words = tuple(words)
        self._hide = hide
        self._build = wall
        self._wall: Wall | None = None
        self._folder = folder
        self._log = log
        self._keep_log = log is not None
        self._parent: subprocess.Popen[bytes] | None = None
        self._leader = 0

    @property
    def command(self) -> str:
        """The command as a shell would take it, shortened."""
        return f"`{clip(self._hide(shlex.join(self.words)), LINE_LENGTH)}`"

    def launch(self) -> None:
        """Start the command, or start it again.

        It runs without a shell, with this environment, in the config's folder, and writes to the log.

        Raises
        ------
        KeyFaults
            When there is no such command, or the log cannot be written.
        """
        self._wall = None if self._build is None else self._build()
        before = () if self._wall is None else self._wall.words()
        try:
            if self._log is None:
                number, name = tempfile.mkstemp(prefix="accgate-serve-", suffix=".log")
                self._log = Path(name)
            else:
                anew = os.O_APPEND if self._leader else os.O_TRUNC
                number = os.open(self._log, os.O_WRONLY | os.O_CREAT | anew, 0o644)
        except OSError as error:
            raise KeyFaults((("options", "serve_log"), f"{self._log}: cannot be written: {error.strerror}")) from error
        try:
            self._parent = subprocess.Popen(
                [sys.executable, "-I", str(PARENT), str(GRACE), *before, *self.words],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=number,
                cwd=self._folder if self._wall is None else self._wall.inside(self._folder),
                start_new_session=True,  # Ctrl-C is accgate's to handle
            )
        finally:
            os.close(number)
        assert self._parent.stdout is not None
        word, _, value = self._parent.stdout.readline().decode().partition(" ")
        if word != "pid":
            cause = os.strerror(int(value)) if value.strip() not in ("", "0") else "cannot be started"
            fault = f"{self._hide(self.words[0])!r}: {cause}; is it installed, and on PATH?"
            raise KeyFaults((("options", "serve"), fault))
        self._leader = int(value)

    async def ready(
        self, is_up: Callable[[], Awaitable[bool]], timeout: float, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Wait until the server answers, for up to `timeout` seconds.

        Raises
        ------
        CannotEvaluate
            When it ends or stays silent, with the last lines of its log.
        BadInput
            When these say that it could not open a file which is not declared.
        """
        deadline = clock() + timeout
        while not await is_up():
            if end := self.ended():
                words = self.last_words()
                if self._wall is not None and (fault := self._wall.fault_in(words)):
                    raise fault
                hint = "; it can read only those files of the repository that its table names" if self._wall else ""
                raise CannotEvaluate(f"{end}, before it answered; {words}{hint}")
            if clock() > deadline:
                fix = "raise options.serve_timeout if it is only slow"
                raise CannotEvaluate(f"{self.command} does not answer after {timeout:g} s; {fix}; {self.last_words()}")
            await asyncio.sleep(POLL)
        if end := self.ended():  # another process answered in its place
            raise CannotEvaluate(f"{end}; {self.last_words()}")

    def ended(self) -> str | None:
        """Say how the command ended, or return None while it runs."""
        code = None if self._parent is None else self._parent.poll()
        if code is None:
            return None
        if code > 128:
            with contextlib.suppress(ValueError):
                return f"{self.command} was ended by {signal.Signals(code - 128).name}"
        return f"{self.command} ended with exit code {code}"

    def last_words(self) -> str:
        """Return the last lines of the log and its path.

        The log is kept from now on.
        """
        self._keep_log = True
        assert self._log is not None
        words = self._hide(" | ".join(last_lines(self._log))) or "nothing"
        return f"its last output: {words} (log: {self._log})"

    async def stop(self) -> None:
        """End the command with all its descendants.

        It may be called twice.
        """
        parent, self._parent = self._parent, None
        if parent is None:
            return
        for stream in (parent.stdin, parent.stdout):  # whatever happens here from now on, the parent ends the command
            assert stream is not None
            stream.close()
        deadline = time.monotonic() + GRACE + 8
        while parent.poll() is None and time.monotonic() < deadline:  # noqa: ASYNC110 (a process sets no event)
            await asyncio.sleep(0.02)
        if parent.poll() is None:
            for group in (self._leader, parent.pid):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(group, signal.SIGKILL)
            parent.wait()
        if not self._keep_log and self._log is not None:
            self._log.unlink(missing_ok=True)
        if self._wall is not None:
            self._wall.remove()


def free_port() -> int:
    """Find a port of 127.0.0.1 that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def last_lines(log: Path) -> list[str]:
    """Return the last telling lines of a log, without colours.

    If they lack the last cause, it goes before them: vLLM ends with "Engine core initialization failed. See root cause
    above", many lines later.
    """
    with log.open("rb") as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - 50_000))
        text = file.read().decode(errors="replace")
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)
    lines = [" ".join(line.split()) for line in re.split(r"[\r\n]+", plain)]
    lines = [line for line in lines if line.strip(" ^~")]  # no marks under a traceback
    causes = [match[1] for line in lines if (match := RAISED.search(line)) and "cause above" not in line]
    last = lines[-LAST_LINES:]
    if causes and not any(causes[-1] in line for line in last):
        last = [causes[-1], "...", *last[2:]]
    return [line[:LINE_LENGTH] for line in last]
