"""One run at a time in a folder for results, and one writer at a time in a folder of references."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from accgate.errors import BadInput, writing
from accgate.records.file import stamp_of

LOCK = ".lock"  # in a run's folder while it goes on


@contextlib.contextmanager
def sole_run(out: Path) -> Iterator[None]:
    """Refuse a second run in a folder for results, on any machine, while one goes on; a killed run leaves no lock.

    Where the system or the file system has no locks, it goes without. Locks are the process's own.

    Raises
    ------
    BadInput
        When another process has the folder.
    """
    path, is_new = out / LOCK, not out.exists()
    with writing(out, "name another folder with --out, or make this one writable"):
        out.mkdir(parents=True, exist_ok=True)
    try:
        file = _locked(path)
    except BlockingIOError as error:
        raise BadInput(f"{out}: another run writes into it; wait for its end, or name another --out") from error
    try:
        yield
    finally:
        if file is not None:
            with contextlib.suppress(OSError):
                if not os.fstat(file.fileno()).st_size:  # a file with content was there before
                    path.unlink()
            file.close()
        if is_new:
            with contextlib.suppress(OSError):
                out.rmdir()  # where nothing was written


@contextlib.contextmanager
def sole_writer(folder: Path) -> Iterator[None]:
    """Wait until no other process writes into a folder, and keep others waiting; it leaves no file behind.

    A folder is made where there is none, and removed again where nothing is written. Where the system or the file
    system has no locks on folders, it goes without.

    Raises
    ------
    CannotEvaluate
        When the folder cannot be made.
    """
    with contextlib.ExitStack() as stack:
        while True:
            new = [each for each in (folder, *folder.parents) if not each.exists()]
            with writing(folder):
                folder.mkdir(parents=True, exist_ok=True)
            if _lock_folder(folder, stack):
                break
        try:
            yield
        finally:
            with contextlib.suppress(OSError):  # where something was written
                for each in new:
                    each.rmdir()


def _lock_folder(folder: Path, stack: contextlib.ExitStack) -> bool:
    """Hold the lock of a folder, if there is one, until the stack ends; False where the folder is gone by then."""
    try:
        import fcntl

        number = os.open(folder, os.O_RDONLY)
    except FileNotFoundError:
        return False
    except (ModuleNotFoundError, OSError):
        return True
    stack.callback(os.close, number)
    with contextlib.suppress(OSError):
        fcntl.flock(number, fcntl.LOCK_EX)
    about, now = os.fstat(number), stamp_of(folder)
    return now is not None and now[:2] == (about.st_dev, about.st_ino)


def _locked(path: Path) -> BinaryIO | None:
    """The file of a lock, held until it is closed; None where there are no locks; BlockingIOError where it is taken."""
    try:
        import fcntl
    except ModuleNotFoundError:  # not on Windows
        return None
    while True:
        try:
            file = path.open("ab")
        except OSError:
            return None
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # no child has it, unlike flock's: it ends with its run
        except OSError as error:
            file.close()
            if error.errno in (errno.EACCES, errno.EAGAIN):
                raise BlockingIOError from error
            return None
        about = os.fstat(file.fileno())
        if stamp_of(path) == (about.st_dev, about.st_ino, about.st_size):
            return file
        file.close()  # whoever had it removed it in between
