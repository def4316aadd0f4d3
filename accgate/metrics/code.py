"""The files that code of a rule consists of: its folder, and what its table declares with `files`."""

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from accgate.errors import BadInput, reading
from accgate.inputs.checkout import fault_of, refuse_conflict
from accgate.inputs.paths import BLOCK, IN_COMMIT, file_digest, path_in, read_plain

COMPILED = "__pycache__"  # nothing ties what is in it to its source


def code_files(file: Path, folder: Path, declared: Sequence[str] = ()) -> tuple[Path, ...]:
    """A file of code, then all others that it consists of, in a fixed order.

    These are the files of its folder at any depth, and those that `declared` names from `folder`, that of the table
    which names the code. Where the code's folder has rules in it as well, a TOML file or that table, the file stands
    alone: who changes a rule does not change the code.

    Raises
    ------
    BadInput
        When a folder cannot be read, or a declared name leads to nothing.
    """
    around = code_folder(file, folder)
    own = {path: None for path in (() if around is None else files_below(around)) if path != file}
    return (file, *sorted(own | dict.fromkeys(path for path in declared_files(folder, declared) if path != file)))


def code_folder(file: Path, folder: Path) -> Path | None:
    """The folder of a file of code, which counts whole; None where rules lie in it too, or the table in `folder`."""
    around = Path(os.path.abspath(file)).parent  # noqa: PTH100 (a link is a name like any)
    has_rules = Path(os.path.abspath(folder)).is_relative_to(around) or any(around.glob("*.toml"))  # noqa: PTH100
    return None if has_rules else file.parent


def declared_files(folder: Path, declared: Sequence[str]) -> Iterator[Path]:
    """The files and, at any depth, the files of folders that names lead to; raises as `code_files`."""
    for name in declared:
        path = Path(os.path.normpath(path_in(folder, name)))
        if path.is_dir():
            yield from files_below(path)
        elif path.is_file():
            yield path
        else:
            why = fault_of(path) or IN_COMMIT
            raise BadInput(f"{path}: is named by files, but there is no such file or folder; {why}")


def files_below(folder: Path, seen: frozenset[str] = frozenset()) -> Iterator[Path]:
    """The files of a folder at any depth, but for compiled ones of Python and those whose name begins with a dot."""
    if (real := os.path.realpath(folder)) in seen:  # a link in a circle
        return
    with reading(folder, IN_COMMIT):
        entries = sorted(folder.iterdir())
    for path in entries:
        if path.name == COMPILED or path.name.startswith("."):
            continue
        if path.is_dir():
            yield from files_below(path, seen | {real})
        elif path.is_file():
            yield path


def files_digest(files: Iterable[Path], folder: Path) -> str | None:
    """SHA-256 over names (from a folder) and contents of files; None where there are none.

    Raises
    ------
    BadInput
        When one cannot be read.
    """
    digests = sorted((os.path.relpath(file, folder), file_digest(file)) for file in files)
    for file in (folder / name for name, _ in digests):
        if file.suffix != ".py" and file.stat().st_size < BLOCK:  # code says it where it cannot be loaded
            refuse_conflict(file, read_plain(file, BLOCK))
    return hashlib.sha256(repr(digests).encode()).hexdigest() if digests else None
