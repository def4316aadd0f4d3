"""Histories where they are kept.

They are files that several processes add to at once, and the files of a branch.
"""

import contextlib
import errno
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from accgate.errors import BadInput, CannotEvaluate, reading
from accgate.history.file import History, history_of, merge_histories, read_content
from accgate.history.page import html_page
from accgate.history.run import Run, line_of
from accgate.records.lock import holding
from accgate.records.replacement import write_atomically

NAME = "history.jsonl"
PATTERN = "**/history*.jsonl"  # of a folder of artifacts, in which run records end in .jsonl too
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def read_history(path: Path) -> History:
    """Read the history of a file, or of all history*.jsonl in a folder.

    Raises
    ------
    BadInput
        When it cannot be read, or is not a history.
    """
    if path.is_dir():
        files = sorted(path.glob(PATTERN))
        if not files:
            raise BadInput(f"{path}: holds no history*.jsonl; name the folder of the artifacts, or a file")
        return merge_histories(*map(read_history, files))
    with reading(path, "begin one with `accgate history add`"):
        content = path.read_bytes()
    return read_content(content, str(path))


def add_run(path: Path, run: Run) -> tuple[bool, History]:
    """Append a run to a history.

    Return whether it was new, and the history with it. Several processes may do so at once: each holds the file's lock
    while it reads and writes one line. A line that another writer left torn stays, and the new one begins after it.

    Raises
    ------
    BadInput
        When the file is not a history, or cannot be written.
    CannotEvaluate
        When the disk is full; the file is as before.
    """
    with _held(path) as file:
        content = os.pread(file, os.fstat(file).st_size, 0)
        history, line = read_content(content, str(path)), line_of(run)
        if history.has(run):
            return False, history
        text = (b"\n" if content and not content.endswith(b"\n") else b"") + line.text + b"\n"
        if os.write(file, text) != len(text):
            os.ftruncate(file, len(content))  # a full disk can take part of a line
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        os.fsync(file)
        return True, merge_histories(history, History((line,)))


def write_merged(paths: Sequence[Path], out: Path) -> History:
    """Write the union of histories to a file, which may be one of them.

    Runs added meanwhile are kept.

    Raises
    ------
    BadInput, CannotEvaluate
        As `add_run`.
    """
    histories = [read_history(path) for path in paths]
    with _held(out) as file:
        content = os.pread(file, os.fstat(file).st_size, 0)
        if content and out.resolve() not in {path.resolve() for path in paths}:
            raise BadInput(f"{out}: exists; name it among the histories to join, or write to another file")
        history = merge_histories(*histories, read_content(content, str(out)))
        write_atomically(out, history.content)
    return history


@dataclass(frozen=True)
class Addition:
    """A run that was added to a history kept elsewhere.

    It has the whole history, and the files to write there. There are no files to write where the history has the run
    already.
    """

    history: History
    files: Mapping[str, bytes]
    message: str


def add_to(content: bytes, run: Run, *, name: str, page: bool = False) -> Addition:
    """Add a run to the content of a history.

    With `page` write an index.html beside it.

    Raises
    ------
    BadInput
        When the content is not a history; `name` says whose it is.
    """
    message = f"Accuracy of {run.commit[:12] or 'an unknown commit'}: {run.verdict}\n"
    present = read_content(content, name)
    if present.has(run):
        return Addition(present, {}, message)
    history = merge_histories(present, history_of([run]))
    files = {NAME: history.content}
    if page:
        files["index.html"] = html_page(history).encode("utf-8", "replace")
    return Addition(history, files, message)


@contextlib.contextmanager
def _held(path: Path) -> Iterator[int]:
    """Hold the file, open to append and locked."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with holding(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, waits=True) as file:
            yield file
    except OSError as error:
        fault = f"{path}: cannot be written: {error.strerror}"
        if error.errno in FULL:
            raise CannotEvaluate(f"{fault}; make room, then add the run again") from error
        raise BadInput(f"{fault}; name another file") from error
