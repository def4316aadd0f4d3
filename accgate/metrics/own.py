"""A metric of the user's own: a function of answer and target, named by module or by file."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from accgate.inputs.paths import file_digest, read_plain
from accgate.metrics.code import MOST, OwnCode, code_files, files_digest
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
        return None if (folder / place).is_file() else f"names no file {place!r} in {folder}"
    if not all(part.isidentifier() for part in (*place.split("."), function)):
        return f"is {name!r}; write package.module:function or file.py:function"
    return None


def own_metric(name: str, folder: Path, trees: Sequence[Path] = (), **options: Any) -> Metric:
    """The metric of a user's function `(answer, target, **options) -> points`, by place or by registered name.

    `lowest` and `highest` (points; 0 and 100) and `higher_is_better` among the options describe the score, and the
    function does not see them; infinite bounds are none. Of the files in `trees` the function's code may open only
    those that it consists of.

    Raises
    ------
    BadOption
        When there is no such function, its module fails, or it does not take the options.
    """
    described = unloaded_metric(name, **options)
    options = {key: value for key, value in options.items() if key not in DESCRIBING}
    file = own_file(name)
    code = OwnCode(() if file is None else code_files(folder / file), trees)
    function = _function(name, folder, code)
    try:
        inspect.signature(function).bind("answer", "target", **options)
    except (TypeError, ValueError) as error:
        raise BadOption(f"{name} cannot be called as function(answer, target, **metric_options): {error}") from error
    return replace(described, function=partial(_points, name, partial(function, **options), code))


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
    return None if file is None else file_digest(folder / file, MOST)


def helpers_digest(name: str, folder: Path) -> str | None:
    """SHA-256 over the files that the code of a user's metric file imports or names; None where there are none."""
    file = own_file(name)
    return None if file is None else files_digest(code_files(folder / file)[1:], (folder / file).parent)


def _points(name: str, function: Callable[[str, str], Any], code: OwnCode, answer: str, target: str) -> float:
    with code:
        score = function(answer, target)
    if isinstance(score, bool) or not isinstance(score, (int, float)):
        raise ValueError(f"{name} gave {score!r}, not a number of points")
    return float(score)


def _function(name: str, folder: Path, code: OwnCode) -> Callable[..., Any]:
    place, _, attribute = (name if ":" in name else entry_point_of(name) or name).rpartition(":")
    try:
        with code:
            module = _file_module(folder / place) if place.endswith(".py") else importlib.import_module(place)
            code.refuse_module(module)
        function = getattr(module, attribute)
    except Exception as error:  # the user's module raises what it likes
        raise BadOption(f"{name} cannot be loaded: {type(error).__name__}: {error}") from error
    if not callable(function):
        raise BadOption(f"{name} is not a function")
    return function  # type: ignore[no-any-return]


def _file_module(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(f"accgate_metric_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    # From the source alone: the loader would take a compiled file beside it, which may be of another source.
    exec(compile(read_plain(path, MOST), path, "exec", dont_inherit=True), module.__dict__)
    return module
