"""Files that are written whole before they replace others.

The folders that they need are made.
"""

import contextlib
import gzip
import io
import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from accgate.errors import BadInput

BLOCK = 2**16  # bytes


class Replacements:
    """Files that replace others together.

    They do so once all of them are whole and on the disk.
    """

    def __init__(self) -> None:
        self._written: list[Path] = []
        self._unwanted: list[Path] = []

    @contextlib.contextmanager
    def file(self, path: Path) -> Iterator[BinaryIO]:
        """Open a file to write for this path.

        Its folder is made if need be.
        """
        self._written.append(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        _part(path).unlink(missing_ok=True)  # of a command that was killed, or a link to elsewhere
        with _part(path).open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())

    def write(self, path: Path, content: bytes | Iterable[bytes]) -> None:
        """Write a file from its content, or from the parts of it."""
        with self.file(path) as file:
            file.writelines([content] if isinstance(content, bytes) else content)

    def write_gzip_lines(self, path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
        """Write rows as compressed JSON lines. The same rows give the same bytes."""
        with (
            self.file(path) as file,
            gzip.GzipFile("", "wb", compresslevel=6, fileobj=file, mtime=0) as packed,
            io.BufferedWriter(packed, BLOCK) as lines,  # each write of gzip waits for the interpreter's lock
        ):
            lines.writelines(map(json_line, rows))

    def remove(self, path: Path) -> None:
        """Remove the file at this path when the others take their places."""
        self._unwanted.append(path)

    def take_places(self) -> None:
        """Put the files in their places, in the order in which they were written.

        If one fails, all are undone.
        """
        places = [*self._unwanted, *self._written]
        with contextlib.ExitStack() as links, contextlib.ExitStack() as undoing:
            for path in places if len(places) > 1 else ():
                old = path.with_name(path.name + ".old")
                links.callback(_drop, old)
                try:
                    old.unlink(missing_ok=True)  # of a command that was killed
                    _keep(path, old)
                except FileNotFoundError:
                    undoing.callback(path.unlink, missing_ok=True)
                except OSError:
                    continue
                else:
                    undoing.callback(old.replace, path)
            for path in self._unwanted:
                path.unlink(missing_ok=True)
            for path in self._written:
                _part(path).replace(path)
            undoing.pop_all()


def _keep(path: Path, old: Path) -> None:
    """Keep the file at a path under another name too.

    It is a link, or a copy where links fail.
    """
    try:
        os.link(path, old)
    except OSError:
        shutil.copyfile(path, old)


def _part(path: Path) -> Path:
    return path.with_name(path.name + ".part")


def _drop(path: Path) -> None:
    """Remove a file of this module's own, and ignore errors.

    The caller's files are fine all the same.
    """
    with contextlib.suppress(OSError):
        path.unlink(missing_ok=True)


@contextlib.contextmanager
def replacing() -> Iterator[Replacements]:
    """Collect files to write, which take their places at the end.

    After an error none of them does.
    """
    files = Replacements()
    try:
        yield files
        files.take_places()
    except BaseException:
        for path in files._written:
            _drop(_part(path))
        raise


def write_atomically(path: Path, content: bytes | Iterable[bytes]) -> None:
    """Replace a file in one step.

    Readers see the old content or the new.
    """
    with replacing() as files:
        files.write(path, content)


def write_gzip_lines(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Replace a file by rows as compressed JSON lines, in one step. The same rows give the same bytes."""
    with replacing() as files:
        files.write_gzip_lines(path, rows)


def json_line(row: Mapping[str, Any]) -> bytes:
    """Write a JSON object as a line of UTF-8.

    Half surrogates, which UTF-8 cannot hold, are escaped.
    """
    try:
        return orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)
    except TypeError:
        return json.dumps(row, allow_nan=False, separators=(",", ":")).encode() + b"\n"


def refuse_unwritable(out: Path, naming: str = "with --out") -> None:
    """Refuse a folder for results that cannot be written, or made.

    `naming` says how the user names another folder.

    Raises
    ------
    BadInput
        What stands in the way.
    """
    folder = out
    try:
        folder = next(each for each in (out, *out.absolute().parents) if _is_there(each))
        if not folder.is_dir():
            what = "a file" if folder.exists() else "a symbolic link that leads nowhere"
            raise BadInput(f"{folder}: is {what}; name a folder {naming}")
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        fix = f"name another folder {naming}, or make this one writable"
        raise BadInput(f"{folder}: cannot be written: {error.strerror}; {fix}") from error


def _is_there(path: Path) -> bool:
    """Tell whether something has this name, even a link to nothing.

    Raises OSError for a name that the system does not take.
    """
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True
