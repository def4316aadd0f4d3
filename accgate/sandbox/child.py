"""A process that answers messages, started and ended by its parent."""

import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from accgate.sandbox.messages import packed, receive


def code_of_room(room: str, call: str) -> str:
    """Return code with which a bare process calls a module of this package.

    That process has Python without accgate.
    """
    rooms = f"rooms = type(sys)('sandbox'); rooms.__path__ = [{str(Path(__file__).parent)!r}]"
    return f"import sys; {rooms}; sys.modules['sandbox'] = rooms; from sandbox import {room}; {room}.{call}"


class Child:
    """A process that gives one message for each that it gets.

    `options` are those of `subprocess.Popen`.
    """

    def __init__(self, command: Sequence[str], **options: Any) -> None:
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is for the run, which ends this
            **options,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._calls, self._replies = self.process.stdin, self.process.stdout

    def ask(self, message: Any) -> dict[str, Any] | None:
        """Return the answer to a message, None where the process has ended."""
        try:
            self._calls.write(packed(message))
            self._calls.flush()
            answer: dict[str, Any] | None = receive(self._replies)
        except (OSError, ValueError):  # a closed pipe, or half a message
            return None
        return answer

    def end(self, patience: float) -> int:
        """Let the process leave within so many seconds, or kill it.

        Return its exit code. To end it twice is harmless.
        """
        with suppress(OSError):
            self._calls.close()
        try:
            self.process.wait(patience)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._replies.close()
        return self.process.returncode
