"""The files of a user's code, and metrics that are functions in them.

Code consists of its own folder and of the files that its table declares with `files`.
"""

import hashlib
import math
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from accgate.errors import BadInput, reading
from accgate.inputs.checkout import fault_of, refuse_conflict
from accgate.inputs.paths import BLOCK, IN_COMMIT, file_digest, no_file, path_in, read_plain
from accgate.metrics.metric import BadOption, Metric

COMPILED = "__pycache__"  # nothing ties what is in it to its source
DESCRIBING = ("lowest", "highest", "higher_is_better")  # options that the function does not see
GROUP = "accgate.metrics"  # entry points of installed packages: a name, and the function behind it


def code_files(file: Path, folder: Path, declared: Sequence[str] = ()) -> tuple[Path, ...]:
    """List a file of code, then all others that it consists of.

    The order is fixed. The others are all files of the code's folder at any depth, and those that `declared` names,
    relative to `folder`, where the table lies that names the code. A folder that also holds rules (a TOML file or that
    table) does not count: who changes a rule does not change the code.

    Raises
    ------
    BadInput
        When a folder cannot be read, or a declared name leads to nothing.
    """
    around = code_folder(file, folder)
    own = {path: None for path in (() if around is None else files_below(around)) if path != file}
    return (file, *sorted(own | dict.fromkeys(path for path in declared_files(folder, declared) if path != file)))


def code_folder(file: Path, folder: Path) -> Path | None:
    """Return the folder whose files all belong to a file of code.

    This is None where rules lie in it too, or the table in `folder`.
    """
    around = Path(os.path.abspath(file)).parent  # noqa: PTH100 (a link is a name like any)
    has_rules = Path(os.path.abspath(folder)).is_relative_to(around) or any(around.glob("*.toml"))  # noqa: PTH100
    return None if has_rules else file.parent


def declared_files(folder: Path, declared: Sequence[str]) -> Iterator[Path]:
    """List the files that declared names lead to.

    A folder stands for its files at any depth. Raises as `code_files`.
    """
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
    """List the files of a folder at any depth.

    Python's compiled files, and names that begin with a dot, are left out.
    """
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
    """Return SHA-256 over names (from a folder) and contents of files.

    Names are relative to `folder`. Without files this is None.

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


def entry_point_of(name: str) -> str | None:
    """Return the `module:function` that a package registers under a name.

    Only installed packages are looked at. This is None where no package registers the name.
    """
    from importlib.metadata import entry_points

    return next((point.value for point in entry_points(group=GROUP, name=name)), None)


def form_fault(name: str, folder: Path) -> str | None:
    """Say why a text cannot name a metric of the user's own.

    A name is `module:function` or `file.py:function`. This is None for a usable name. No code is run.
    """
    place, _, function = name.rpartition(":")
    if place.endswith(".py") and function.isidentifier():
        return None if (folder / place).is_file() else no_file(folder, place)
    if not all(part.isidentifier() for part in (*place.split("."), function)):
        return f"is {name!r}; write package.module:function or file.py:function"
    return None


def unloaded_metric(name: str, **options: Any) -> Metric:
    """Build a user's metric from its options, without its function.

    It has its bounds and direction, and scores nothing.

    Raises
    ------
    BadOption
        When they say nothing that can be used.
    """
    low, high = options.get("lowest", 0.0), options.get("highest", 100.0)
    higher = options.get("higher_is_better", True)
    if not isinstance(higher, bool):
        raise BadOption(f"is {higher!r}; give true or false", "higher_is_better")
    for key, bound in (("lowest", low), ("highest", high)):
        if isinstance(bound, bool) or not isinstance(bound, (int, float)):
            raise BadOption(f"is {bound!r}; give a number of points", key)
    lowest, highest = None if low == -math.inf else float(low), None if high == math.inf else float(high)
    return Metric(name, lowest=lowest, highest=highest, higher_is_better=higher)


def own_file(name: str) -> str | None:
    """Return the file of a user's metric.

    A metric of accgate's has none. A module has none either: its version is its package's.

    >>> own_file("scores/mine.py:polite"), own_file("mine.scores:polite"), own_file("exact_match")
    ('scores/mine.py', None, None)
    """
    place = name.rpartition(":")[0]
    return place if place.endswith(".py") else None


def code_digest(name: str, folder: Path) -> str | None:
    """Return SHA-256 of a user's metric file.

    A metric without a file of its own has none.
    """
    file = own_file(name)
    return None if file is None else file_digest(folder / file)


def helpers_digest(name: str, folder: Path, declared: Sequence[str] = ()) -> str | None:
    """Return SHA-256 over the other files of a user's metric.

    This is None where there are no other files.
    """
    files = own_files(name, folder, declared)
    return files_digest(files[own_file(name) is not None :], folder)


def own_files(name: str, folder: Path, declared: Sequence[str] = ()) -> tuple[Path, ...]:
    """List the files that a user's metric consists of, its own first.

    A metric in a module has its declared files alone.
    """
    file = own_file(name)
    return tuple(declared_files(folder, declared)) if file is None else code_files(folder / file, folder, declared)
