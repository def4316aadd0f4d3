"""The empty folder in which commands that evaluate work.

`datasets.load_dataset("allenai/ai2_arc")` and `evaluate.load("exact_match")` take a folder of that name in the working
folder before they look anywhere else, and run the code that they find in it. In an empty folder no name of a dataset or
metric means a file of a tree.
"""

import argparse
import contextlib
import os
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from accgate.cli.common import CONFIG, print_note
from accgate.errors import BadInput, CannotEvaluate

_start: list[Path] = []  # where the command was started, while it works elsewhere
_alone = threading.RLock()  # a process has one working folder: commands in threads wait for each other


@contextlib.contextmanager
def in_an_empty_folder(arguments: argparse.Namespace) -> Iterator[None]:
    """Work in an empty folder, a new one where this is none.

    Paths among the arguments become absolute, from where the command was started.

    Raises
    ------
    BadInput
        When the folder that the command was started in is gone.
    CannotEvaluate
        When no folder can be made.
    """
    with contextlib.ExitStack() as stack:
        stack.enter_context(_alone)
        start = _here()
        folder = start if _is_empty_for_good(start) else Path(stack.enter_context(_new_folder()))
        for name, value in vars(arguments).items():
            setattr(arguments, name, _absolute(value, start))
        os.chdir(folder)
        _start.append(start)
        try:
            yield
        finally:
            _start.pop()
            os.chdir(start)


def _here() -> Path:
    try:
        return Path.cwd()
    except OSError as error:
        raise BadInput(f"the working folder cannot be used: {error.strerror}; change into one that exists") from error


def _is_empty_for_good(folder: Path) -> bool:
    """Tell whether a folder is empty and stays so.

    It does in the action's containers, where a model's own code cannot write there.
    """
    try:
        return not os.access(folder, os.W_OK) and not any(folder.iterdir())
    except OSError:
        return False


def _new_folder() -> tempfile.TemporaryDirectory[str]:
    try:
        return tempfile.TemporaryDirectory(prefix="accgate-", ignore_cleanup_errors=True)
    except OSError as error:
        raise CannotEvaluate(f"no temporary folder can be made: {error.strerror}; set TMPDIR to one") from error


def nearest_config() -> Path:
    """Return the path of accuracy.toml here, or in the nearest folder above.

    It looks no further up than the top of the repository.
    """
    folders = [here := _here(), *here.parents]
    root = next((place for place, folder in enumerate(folders) if (folder / ".git").exists()), 0)
    path = next((path for folder in folders[: root + 1] if (path := folder / CONFIG).is_file()), here / CONFIG)
    if path.parent == here:
        return CONFIG
    print_note(f"there is no {CONFIG} in this folder; {path} is used")
    return path


def from_start(name: str | Path) -> Path:
    """Resolve a path from where the command was started, as the user means it.

    >>> from_start("b").as_posix()
    'b'
    """
    return _start[-1] / name if _start else Path(name)


def as_typed(text: str | Path) -> str:
    """Shorten paths in a text to those that the user would type.

    The folder where the command was started is cut from them.

    >>> as_typed("http://localhost")
    'http://localhost'
    """
    if not _start or _start[-1] == Path(_start[-1].anchor):
        return str(text)
    return str(text).replace(f"{_start[-1]}{os.sep}", "")


def _absolute(value: Any, start: Path) -> Any:
    if isinstance(value, Path):
        return start / value
    return [_absolute(item, start) for item in value] if isinstance(value, list) else value
