"""The task library: definitions that come with accgate."""

from __future__ import annotations

from functools import cache
from pathlib import Path

FOLDER = Path(__file__).with_name("library")


@cache
def library_names() -> tuple[str, ...]:
    """Names of the library's tasks, sorted."""
    return tuple(sorted(file.stem for file in FOLDER.glob("*.toml")))


def library_file(name: str) -> Path:
    """The definition's file."""
    return FOLDER / f"{name}.toml"
