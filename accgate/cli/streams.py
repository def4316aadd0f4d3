"""Output and messages that a command cannot write as they are, or at all.

Progress and messages are for people: once their terminal, pipe or log is gone, the command goes on without them.
Standard output holds what was asked for: where it cannot be written, the command ends as one that could not finish. In
a job of GitHub Actions neither stream gives the runner a command, whoever wrote the text.
"""

from __future__ import annotations

import codecs
import contextlib
import errno
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TextIO, cast

from accgate.errors import DISK_FULL, CannotEvaluate

UNWRITABLE = (*DISK_FULL, errno.EIO)  # EIO: of a terminal that is gone


# What actions/runner looks for (src/Runner.Common/ActionCommand.cs): `::` at a line's start, which a carriage return
# begins too, and `##[` anywhere. Each pair is parted, because text comes in pieces, and may be wrapped.
_COMMAND = re.compile(r"(?<=:)(?=:)|(?<=##)(?=\[)")
_BETWEEN = "\u200b"

# Signs for a terminal or a log that has no UTF-8.
PLAIN = {
    "✕": "x", "✓": "v", "○": "o", "▽": "v", "△": "^", "◆": "#", "●": "o", "─": "-", "├": "|", "┤": "|", "┊": ":",
    "┼": "+", "■": "#", "▕": "=", "→": "->", "−": "-", "–": "-", "…": "~", "≥": ">=",
}  # fmt: skip


def plain_signs(error: UnicodeError) -> tuple[str | bytes, int]:
    r"""Replace signs that the output's encoding lacks by plain ones.

    Other characters become escapes.

    >>> print(broken("::x: −2.0 → 中").encode("ascii", "plain_signs").decode())  # noqa: RUF002
    :\u200b:x: -2.0 -> \u4e2d
    """
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    return "".join(PLAIN.get(c, c.encode("ascii", "backslashreplace").decode()) for c in text), error.end


codecs.register_error(plain_signs.__name__, plain_signs)


def broken(text: str, before: str = "") -> str:
    """Break up what GitHub's runner would take for a command.

    A command may begin in what was printed `before` the text.

    >>> broken("##[set-output name=x]v ::add-mask::w").replace("\u200b", "-")
    '##-[set-output name=x]v :-:add-mask:-:w'
    """
    return _COMMAND.sub(_BETWEEN, before + text)[len(_COMMAND.sub(_BETWEEN, before)) :]


class Watched:
    """A standard stream that handles failed writes in its own way."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._is_read = os.environ.get("GITHUB_ACTIONS") == "true"  # by a runner that looks for commands
        self._tail = ""  # the last two characters, with which the next may be a command

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def _try(self, call: Callable[..., Any], *arguments: Any) -> None:
        try:
            call(*arguments)
        except OSError as error:
            self._lose(error)

    def _lose(self, error: OSError, /) -> None:
        raise error

    def write(self, text: Any) -> int:
        """Write a text, or bytes to the stream beneath.

        In a job of GitHub Actions, what its runner would take for a command is broken up.
        """
        safe = text
        if self._is_read:
            plain = text if isinstance(text, str) else bytes(text).decode("utf-8", "surrogateescape")
            safe, self._tail = broken(plain, self._tail), (self._tail + plain)[-2:]
            safe = safe if isinstance(text, str) else safe.encode("utf-8", "surrogateescape")
        self._try(self._stream.write, safe)
        return len(text)

    def writelines(self, lines: Iterable[Any]) -> None:
        """Write each of several texts."""
        for line in lines:
            self.write(line)

    def command(self, line: str) -> None:
        """Write a command of accgate's own to GitHub's runner, unchanged."""
        self.write("" if self._tail[-1:] in ("", "\n") else "\n")
        self._tail = "\n"
        if isinstance(self._stream, Watched):
            self._stream.command(line)
            return
        self._try(self._stream.write, f"{line}\n")

    @property
    def buffer(self) -> Watched:
        """The stream of bytes beneath."""
        return type(self)(self._stream.buffer)

    def flush(self) -> None:
        """Write what is not written yet."""
        self._try(self._stream.flush)


class Messages(Watched):
    """Standard error, which discards everything after the first failed write."""

    def _lose(self, _error: OSError, /) -> None:
        discard(self._stream)


class OutputLost(OSError):
    """A write to standard output failed, and not one to another file."""


class Output(Watched):
    """Standard output or its buffer, whose failed writes raise OutputLost."""

    def _lose(self, error: OSError, /) -> None:
        if error.errno in UNWRITABLE:
            raise OutputLost(error.errno, error.strerror) from error
        raise error  # a broken pipe stays one


def print_command(line: str) -> None:
    """Print a command of accgate's own to GitHub's runner on standard output."""
    if isinstance(sys.stdout, Watched):
        sys.stdout.command(line)
    else:
        print(line)
    sys.stdout.flush()


def discard(stream: TextIO) -> None:
    """Discard a broken stream's output.

    Otherwise Python would fail again at its exit.
    """
    with contextlib.suppress(OSError, ValueError):  # ValueError: closed, or none of the system's
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


@contextlib.contextmanager
def messages_may_be_lost() -> Iterator[None]:
    """Go on without messages that cannot be written, with the same exit code."""
    with contextlib.ExitStack() as stack:
        stream: TextIO | None = sys.stderr
        if stream is None:  # closed when the command was started
            stream = stack.enter_context(open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123
        stack.enter_context(contextlib.redirect_stderr(cast(TextIO, Messages(stream))))
        yield


def require_output() -> None:
    """Refuse to begin where nobody could see the outcome.

    Raises
    ------
    CannotEvaluate
        When standard output is closed.
    """
    if sys.stdout is None:
        raise CannotEvaluate("standard output is closed; send it to a file, or to /dev/null")


@contextlib.contextmanager
def writing_output(consequence: str = "free some space, or send standard output elsewhere") -> Iterator[None]:
    """Say that output cannot be written, and what follows from it.

    Raises
    ------
    CannotEvaluate
        When a disk is full, or a terminal is gone.
    """
    if sys.stdout is None:
        yield
        return
    try:
        with contextlib.redirect_stdout(cast(TextIO, Output(sys.stdout))):
            try:
                yield
            except SystemExit:  # after what --help printed
                sys.stdout.flush()
                raise
            sys.stdout.flush()
    except OutputLost as error:
        discard(sys.stdout)
        raise CannotEvaluate(f"output cannot be written: {error.strerror}; {consequence}") from error
