"""Measures and empties a folder that hostile programs wrote into.

Any depth and any mode may be in there, and links are never followed.
"""

import os
from contextlib import suppress

DEEPEST = 64  # levels of folders


def is_overfull(folder: str, most_bytes: int, most_entries: int) -> bool:
    """Tell whether the folder holds more than these.

    More than 64 levels are too many as well. At most `most_entries` entries are looked at.
    """
    size = entries = 0
    waiting = [(folder, 0)]
    while waiting:
        path, depth = waiting.pop()
        if depth > DEEPEST:
            return True
        with suppress(OSError), os.scandir(path) as listing:
            for entry in listing:
                entries += 1
                with suppress(OSError):
                    size += entry.stat(follow_symlinks=False).st_blocks * 512
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append((entry.path, depth + 1))
                if entries > most_entries or size > most_bytes:
                    return True
    return False


def empty(folder: str) -> None:
    """Remove all that is in the folder, not the folder.

    Nobody else may change it meanwhile. Walks by descriptors and `..`, one open at a time: a tree may be deeper than
    the longest path and Python's stack.
    """
    here = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        names: list[str] = []
        waiting = [_unlink_files(here)]
        while names or waiting[-1]:
            if waiting[-1]:
                name = waiting[-1].pop()
                os.chmod(name, 0o700, dir_fd=here)  # it may have had no rights at all
                here = _move(here, name)
                names.append(name)
                waiting.append(_unlink_files(here))
            else:
                here = _move(here, "..")
                waiting.pop()
                os.rmdir(names.pop(), dir_fd=here)
    finally:
        os.close(here)


def _move(here: int, name: str) -> int:
    """Return a descriptor of another folder, in place of this one."""
    there = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=here)
    os.close(here)
    return there


def _unlink_files(here: int) -> list[str]:
    """Remove what is no folder, and name the folders."""
    with os.scandir(here) as listing:
        entries = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in listing]
    for name, is_folder in entries:
        if not is_folder:
            os.unlink(name, dir_fd=here)
    return [name for name, is_folder in entries if is_folder]
