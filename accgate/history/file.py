"""The file of a history, and functions to read, merge and extend it.

Damaged lines are kept and reported. The same runs always give the same bytes. Several processes may add to one file at
once.
"""

import contextlib
import errno
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from accgate.errors import BadInput, reading, writing
from accgate.history.run import START, Line, Run, line_of, read_line
from accgate.records.lock import holding
from accgate.records.replacement import write_atomically

NAME = "history.jsonl"
PATTERN = "**/history*.jsonl"  # of a folder of artifacts, in which run records end in .jsonl too


@dataclass(frozen=True)
class History:
    """The lines of a history, each once, in order of (started, id).

    After them come the damaged ones in order of their bytes. `notes` say where what was damaged, and are not written.
    """

    lines: tuple[Line, ...] = ()
    damaged: tuple[bytes, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def runs(self) -> tuple[Run, ...]:
        """The runs, oldest first, with each result only once.

        Two jobs may have added one result with different commits.
        """
        runs = [line.run for line in self.lines if line.run is not None]
        return tuple({run.result or str(number): run for number, run in enumerate(runs)}.values())

    def has(self, run: Run) -> bool:
        """Tell whether the history has this run, or another line of the same result."""
        id_ = line_of(run).id
        return any(
            line.id == id_ or (line.run is not None and line.run.result == run.result != "") for line in self.lines
        )

    @property
    def content(self) -> bytes:
        """The bytes to write to the file."""
        return b"".join(text + b"\n" for text in (*(line.text for line in self.lines), *self.damaged))


def history_of(runs: Iterable[Run]) -> History:
    """Build a history from runs."""
    return _tidy(map(line_of, runs), ())


def read_content(content: bytes, name: str) -> History:
    """Read the history in the bytes of a file.

    It has a note for each damaged line, and for each of another version.

    Raises
    ------
    BadInput
        When nothing in the bytes can have been a line of a history.

    Examples
    --------
    >>> cut = history_of([Run("2026-11-21T11:16:44+00:00", "c0ffee", "pass", ())]).content[:40]
    >>> read_content(cut, "history.jsonl").notes
    ('history.jsonl:1: is damaged: it was cut or changed; the line is kept, but not shown',)
    """
    lines: list[Line] = []
    damaged: list[bytes] = []
    notes: list[str] = []
    for number, raw in enumerate(content.split(b"\n"), 1):
        for part in _parts(raw.strip()):
            fault = "is damaged: it was cut or changed"
            if (line := read_line(part)) is None:
                damaged.append(part)
            else:
                lines.append(line)
                fault = "is from another version of accgate"
            if line is None or line.run is None:
                notes.append(f"{name}:{number}: {fault}; the line is kept, but not shown")
    if not lines and not all(START.startswith(text[: len(START)]) for text in damaged):
        raise BadInput(f"{name}: is not a history of accgate; name a file that `accgate history add` wrote")
    return _tidy(lines, damaged, notes)


def merge_histories(*histories: History) -> History:
    """Merge histories, in any order and however often each is given.

    >>> one, two = (history_of([Run(f"2026-11-2{day}T11:16:44+00:00", "", "pass", ())]) for day in (1, 2))
    >>> merge_histories(one, two).content == merge_histories(two, one, two).content
    True
    """
    return _tidy(
        (line for history in histories for line in history.lines),
        (text for history in histories for text in history.damaged),
        (note for history in histories for note in history.notes),
    )


def _parts(text: bytes) -> Iterator[bytes]:
    """Split a text into a torn line and a whole one behind it.

    Such a text lacks the line break between the two. Any other text stays in one piece, and an empty one has none.
    """
    at = text.rfind(START)
    if at > 0 and read_line(text) is None and read_line(text[at:]) is not None:
        yield text[:at]
        yield text[at:]
    elif text:
        yield text


def _tidy(lines: Iterable[Line], damaged: Iterable[bytes], notes: Iterable[str] = ()) -> History:
    by_id = {line.id: line for line in lines}
    ordered = tuple(sorted(by_id.values(), key=lambda line: (line.started, line.id)))
    # A torn text that is the beginning of a whole line is lost nowhere.
    torn = {text for text in damaged if not any(line.text.startswith(text) for line in ordered)}
    return History(ordered, tuple(sorted(torn)), tuple(dict.fromkeys(notes)))


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
    """Append a run to a history, and tell whether it was new.

    The second result is the history with the run. Several processes may add runs at once: each holds the file's lock
    while it reads and writes one line. A line that another writer left torn stays, and the new one begins after it.

    Raises
    ------
    BadInput
        When the file is not a history, or cannot be written.
    CannotEvaluate
        When the disk is full; the file is as before.
    """
    with _held(path) as (file, content):
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

    Runs that another process adds to that file meanwhile are kept.

    Raises
    ------
    BadInput, CannotEvaluate
        As `add_run`.
    """
    histories = [read_history(path) for path in paths]
    with _held(out) as (_, content):
        if content and out.resolve() not in {path.resolve() for path in paths}:
            raise BadInput(f"{out}: exists; name it among the histories to join, or write to another file")
        history = merge_histories(*histories, read_content(content, str(out)))
        write_atomically(out, history.content)
    return history


@dataclass(frozen=True)
class Addition:
    """The commit that adds a run to a history on GitHub.

    There are no files where the history has the run already.
    """

    history: History
    files: Mapping[str, bytes]
    message: str


def add_to(content: bytes, run: Run, *, name: str, page: Callable[[History], str] | None = None) -> Addition:
    """Add a run to the content of a history.

    The `page` function adds an index.html to the files.

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
    if page is not None:
        files["index.html"] = page(history).encode("utf-8", "replace")
    return Addition(history, files, message)


@contextlib.contextmanager
def _held(path: Path) -> Iterator[tuple[int, bytes]]:
    """Open a file to append, lock it, and yield its descriptor and content."""
    with writing(path, "name another file", kind=BadInput):
        path.parent.mkdir(parents=True, exist_ok=True)
        with holding(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, waits=True) as file:
            yield file, os.pread(file, os.fstat(file).st_size, 0)
