"""One run at a time in a folder for results, and one writer at a time in a folder of references."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from accgate.errors import BadInput, writing
from accgate.records.file import stamp_of

LOCK = ".lock"  # in a run's folder while it goes on


@contextlib.contextmanager
def holding(path: Path, flags: int, lock: Callable[[int], object]) -> Iterator[int]:
    """Open a file or folder and lock it; one that was removed or replaced meanwhile is opened anew.

    `filelock` would need a file of its own beside it, which it leaves there, and whose lock the processes that a run
    started go on to hold after its end.

    Raises
    ------
    OSError
        As opening it and `lock` do.
    """
    while True:
        file = os.open(path, flags, 0o666)
        try:
            lock(file)
            about, now = os.fstat(file), stamp_of(path)
            if now is not None and now[:2] == (about.st_dev, about.st_ino):
                yield file
                return
        finally:
            os.close(file)


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
    with contextlib.ExitStack() as stack:
        if is_new:
            stack.callback(_remove_empty, [out])
        try:
            file = stack.enter_context(holding(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, _lock_now))
            stack.callback(_remove_unused, path, file)
        except BlockingIOError as error:
            raise BadInput(f"{out}: another run writes into it; wait for its end, or name another --out") from error
        except (ModuleNotFoundError, OSError):  # there are no locks
            pass
        yield


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
            try:
                stack.enter_context(holding(folder, os.O_RDONLY, wait_for))
            except FileNotFoundError:  # who had it wrote nothing, and removed it
                continue
            except (ModuleNotFoundError, OSError):  # there are no locks
                pass
            break
        stack.callback(_remove_empty, new)
        yield


def _remove_empty(folders: Iterable[Path]) -> None:
    """Remove folders, each within the next, unless something was written there."""
    with contextlib.suppress(OSError):
        for each in folders:
            each.rmdir()


def _remove_unused(path: Path, file: int) -> None:
    """Remove the file of a lock, unless it has content: that was there before."""
    with contextlib.suppress(OSError):
        if not os.fstat(file).st_size:
            path.unlink()


def wait_for(file: int) -> None:
    """Take the lock of an open file or folder, once no other has it."""
    import fcntl  # not on Windows

    fcntl.flock(file, fcntl.LOCK_EX)


def _lock_now(file: int) -> None:
    """Take a lock that no child has, unlike flock's: it ends with its run; BlockingIOError where it is taken."""
    import fcntl

    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EAGAIN):
            raise BlockingIOError from error
        raise
