"""The task library: definitions that come with accgate."""

from functools import cache
from pathlib import Path

FOLDER = Path(__file__).with_name("library")
FORMER = {"gsm8k": "gsm8k_cot"}  # a name that got another definition, and the name that its own one has now


def former_task(file: Path) -> str | None:
    """The library's name for what a definition of the library asked before it was written anew; None for all others."""
    return FORMER.get(file.stem) if file.parent == FOLDER else None


@cache
def library_names() -> tuple[str, ...]:
    """Names of the library's tasks, sorted."""
    return tuple(sorted(file.stem for file in FOLDER.glob("*.toml")))


def library_file(name: str) -> Path:
    """The definition's file."""
    return FOLDER / f"{name}.toml"
