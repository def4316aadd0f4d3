"""A metric of the user's own, in a process that opens the files alone that it consists of."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from accgate.errors import CannotEvaluate
from accgate.inputs.checkout import refuse_no_text
from accgate.metrics import BadOption, Metric
from accgate.metrics.code import files_digest
from accgate.metrics.own import DESCRIBING, entry_point_of, own_file, unloaded_metric
from accgate.sandbox.declared import Code, CodeFailed, CodeProcess


def own_metric(name: str, code: Code, **options: Any) -> Metric:
    """The metric of a user's function `(answer, target, **options) -> points`, by place or by registered name.

    `lowest` and `highest` (points; 0 and 100) and `higher_is_better` among the options describe the score, and the
    function does not see them; infinite bounds are none.

    Raises
    ------
    BadOption
        When there is no such function, its module fails, or it does not take the options.
    BadInput
        When its module opens a file of the repository that is not part of it.
    """
    described = unloaded_metric(name, **options)
    options = {key: value for key, value in options.items() if key not in DESCRIBING}
    try:
        state = f"{files_digest(code.files, code.folder)} {Path.cwd()}"  # the code may look there
        process = _process(name, code, json.dumps(options, sort_keys=True), state)
    except TypeError as error:  # a date
        raise BadOption(f"{name}: metric_options: {error}; write it as text") from error

    def points(answer: str, target: str) -> float:
        try:
            return float(process.call("points", answer=answer, target=target))
        except ImportError as error:
            raise CannotEvaluate(f"{name} cannot import what it needs: {error}") from error
        except CodeFailed as error:  # as if the function had raised it here
            raise type(error.kind, (Exception,), {})(error.text) from None

    return replace(described, function=points)


@lru_cache(maxsize=16)  # planning asks for a metric several times
def _process(name: str, code: Code, options: str, state: str) -> CodeProcess:  # noqa: ARG001 (of its files)
    """The process with a metric's function, which is there already where nothing changed."""
    place, _, function = (name if ":" in name else entry_point_of(name) or name).rpartition(":")
    is_file, given = own_file(name) is not None, json.loads(options)

    def arguments(inside: Callable[[Path], str]) -> Mapping[str, Any]:
        return {"place": inside(code.folder / place) if is_file else place, "name": function, "options": given}

    try:
        return CodeProcess(code, ":start_function", arguments)
    except ImportError as error:
        hint = "; of the repository it can import its own files alone" if code.trees else ""
        raise BadOption(f"{name} cannot be loaded: {type(error).__name__}: {error}{hint}") from error
    except CodeFailed as error:
        if error.kind == "CannotBeCalled":
            fault = f"cannot be called as function(answer, target, **metric_options): {error.text}"
            raise BadOption(f"{name} {fault}") from error
        for file in code.files:
            refuse_no_text(file, file.read_bytes())
        raise BadOption(f"{name} cannot be loaded: {error}") from error
