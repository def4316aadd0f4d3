"""Files that a table names: their paths start from the folder of the file that the table stands in."""

from __future__ import annotations

import os
from pathlib import Path


def path_in(folder: Path, name: str) -> Path:
    """A path relative to a folder, `~` for the home folder."""
    return folder / os.path.expanduser(name)  # noqa: PTH111 (Path's own raises on an unknown user)


def has_file(folder: Path, name: str) -> bool:
    """Whether `path_in(folder, name)` is a file."""
    return os.path.isfile(path_in(folder, name))  # noqa: PTH113 (Path's own raises on an over-long name)


def missing_file(folder: Path, name: str, kind: str) -> str:
    """A message for a name that should be a file of this kind, with the fix."""
    return f"there is no file {name!r} in {folder}; give the path of {kind}, relative to that folder"
