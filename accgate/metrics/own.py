"""A metric of the user's own: a function of answer and target, named by module or by file."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from accgate.inputs.paths import file_digest, no_file
from accgate.metrics.code import code_files, declared_files, files_digest
from accgate.metrics.metric import BadOption, Metric

DESCRIBING = ("lowest", "highest", "higher_is_better")  # options that the function does not see
GROUP = "accgate.metrics"  # entry points of installed packages: a name, and the function behind it


def entry_point_of(name: str) -> str | None:
    """The `module:function` that an installed package registers under a name; None where none does."""
    from importlib.metadata import entry_points

    return next((point.value for point in entry_points(group=GROUP, name=name)), None)


def form_fault(name: str, folder: Path) -> str | None:
    """The fault of `module:function` or `file.py:function` as a name; None where it can be used. Runs no code."""
    place, _, function = name.rpartition(":")
    if place.endswith(".py") and function.isidentifier():
        return None if (folder / place).is_file() else no_file(folder, place)
    if not all(part.isidentifier() for part in (*place.split("."), function)):
        return f"is {name!r}; write package.module:function or file.py:function"
    return None


def unloaded_metric(name: str, **options: Any) -> Metric:
    """What the options say of a user's metric, its bounds and direction; it scores nothing, and no code is loaded.

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
    """The file of a user's metric; None for a metric of accgate's, and for a module, whose version is its package's.

    >>> own_file("scores/mine.py:polite"), own_file("mine.scores:polite"), own_file("exact_match")
    ('scores/mine.py', None, None)
    """
    place = name.rpartition(":")[0]
    return place if place.endswith(".py") else None


def code_digest(name: str, folder: Path) -> str | None:
    """SHA-256 of a user's metric file; None where there is none."""
    file = own_file(name)
    return None if file is None else file_digest(folder / file)


def helpers_digest(name: str, folder: Path, declared: Sequence[str] = ()) -> str | None:
    """SHA-256 over the other files that a user's metric consists of; None where there are none."""
    files = own_files(name, folder, declared)
    return files_digest(files[own_file(name) is not None :], folder)


def own_files(name: str, folder: Path, declared: Sequence[str] = ()) -> tuple[Path, ...]:
    """The files that a user's metric consists of, its own first; of a module those that are declared."""
    file = own_file(name)
    return tuple(declared_files(folder, declared)) if file is None else code_files(folder / file, folder, declared)
