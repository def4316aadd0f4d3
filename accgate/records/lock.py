"""Locks of folders.

A folder of results has one run at a time, and a folder of references one writer.
"""

import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from accgate.errors import BadInput, writing
from accgate.records.file import stamp_of

LOCK = ".lock"  # in a run's folder while it goes on


@contextlib.contextmanager
def holding(path: Path, flags: int, *, waits: bool) -> Iterator[int]:
    """Open a file or folder, and lock it.

    If it was removed or replaced meanwhile, the new one is opened and locked. Without `waits` the lock belongs to this
    process alone: a process that it starts, and that outlives it, does not hold the lock on. (`filelock` would pass it
    on, and leaves a file behind.)

    Raises
    ------
    BlockingIOError
        When another process has the lock, and this one does not wait.
    OSError, ModuleNotFoundError
        When the path cannot be opened, or the file system or the operating system has no locks.
    """
    import fcntl  # not on Windows

    lock, how = (fcntl.flock, fcntl.LOCK_EX) if waits else (fcntl.lockf, fcntl.LOCK_EX | fcntl.LOCK_NB)
    while True:
        file = os.open(path, flags, 0o666)
        try:
            try:
                lock(file, how)
            except PermissionError as error:  # POSIX lets `lockf` say so that the lock is taken
                raise BlockingIOError from error
            about, now = os.fstat(file), stamp_of(path)
            if now is not None and now[:2] == (about.st_dev, about.st_ino):
                yield file
                return
        finally:
            os.close(file)


@contextlib.contextmanager
def sole_run(out: Path) -> Iterator[None]:
    """Refuse a second run in a folder for results, on any machine.

    A killed run leaves no lock. Where the system or the file system has no locks, nothing is refused.

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
            file = stack.enter_context(holding(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, waits=False))
            stack.callback(_remove_unused, path, file)
        except BlockingIOError as error:
            raise BadInput(f"{out}: another run writes into it; wait until it ends, or name another --out") from error
        except (ModuleNotFoundError, OSError):  # the system has no locks
            pass
        yield


@contextlib.contextmanager
def sole_writer(folder: Path) -> Iterator[None]:
    """Wait until no other process writes into a folder, and keep others waiting.

    A missing folder is made, and removed again if nothing was written. Where the system or the file system has no locks
    on folders, nobody waits.

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
                stack.enter_context(holding(folder, os.O_RDONLY, waits=True))
            except FileNotFoundError:  # another writer wrote nothing, and removed the folder
                continue
            except (ModuleNotFoundError, OSError):  # the system has no locks
                pass
            break
        stack.callback(_remove_empty, new)
        yield


def _remove_empty(folders: Iterable[Path]) -> None:
    """Remove folders, each within the next, as far as they are empty."""
    with contextlib.suppress(OSError):
        for each in folders:
            each.rmdir()


def _remove_unused(path: Path, file: int) -> None:
    """Remove the file of a lock, unless the file has content.

    A file with content is somebody else's, since a lock writes nothing into its file.
    """
    with contextlib.suppress(OSError):
        if not os.fstat(file).st_size:
            path.unlink()
