"""Many cases of one behaviour in one test."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, TypeVar

import pytest

from accgate.errors import BadInput

E = TypeVar("E", bound=BaseException)
SHOWN = 200  # characters of a case in the message


def each(names: str | tuple[str, ...], cases: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run a test for each case, as `pytest.mark.parametrize` does, but as one test that names the cases that fail.

    It is for loops over data. Each case has a `tmp_path` of its own; other fixtures are shared by all, so none may
    change what a fixture gave it. Where a case skips, the others are run, and then the test is skipped. A mark may
    stand above or below.

    >>> @each(("kind", "seed"), [("typos", 1), ("case", 2)])
    ... def test(kind: str, seed: int) -> None:
    ...     assert kind == "typos"
    >>> test()
    Traceback (most recent call last):
    AssertionError: 1 of 2 cases failed
    kind='case', seed=2: AssertionError...
    >>> [mark.name for mark in each("kind", [1])(pytest.mark.slow(test)).pytestmark]
    ['slow']
    """
    keys = (names,) if isinstance(names, str) else names
    table = [dict(zip(keys, (row,) if isinstance(names, str) else row, strict=True)) for row in cases]

    if not table:
        raise ValueError(f"no case of {', '.join(keys)}: the test would always pass")

    def of(test: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(test)

        @wraps(test, updated=())
        def run(**fixtures: Any) -> None:
            failures, skips = [], []
            for number, case in enumerate(table):
                try:
                    failure = failure_of(test, case, fixtures | own_folder(fixtures, number))
                except pytest.skip.Exception as skip:
                    skips.append(str(skip))
                else:
                    failures += [failure] if failure else []
            if failures:
                said = "\n".join(f"{text}: {type(error).__name__}: {error}" for text, error in failures)
                raise AssertionError(f"{len(failures)} of {len(table)} cases failed\n{said}") from failures[0][1]
            if skips:
                pytest.skip(f"{len(skips)} of {len(table)} cases: {', '.join(dict.fromkeys(skips))}")

        others = [parameter for name, parameter in signature.parameters.items() if name not in keys]
        run.__signature__ = signature.replace(parameters=others)  # type: ignore[attr-defined]
        run.pytestmark = [*getattr(test, "pytestmark", ())]  # type: ignore[attr-defined]
        return run

    return of


def own_folder(fixtures: dict[str, Any], number: int) -> dict[str, Any]:
    """The folder of one case, where the test has one."""
    if "tmp_path" not in fixtures:
        return {}
    folder = fixtures["tmp_path"] / f"case{number}"
    folder.mkdir()
    return {"tmp_path": folder}


def failure_of(
    test: Callable[..., None], case: dict[str, Any], fixtures: dict[str, Any]
) -> tuple[str, BaseException] | None:
    """The case in words, and why it failed; None where it passed."""
    try:
        test(**fixtures, **case)
    except (Exception, pytest.fail.Exception) as error:
        texts = ((name, repr(value)) for name, value in case.items())
        return ", ".join(f"{name}={text[:SHOWN]}" for name, text in texts), error
    return None


def refused(kind: type[E], call: Callable[..., Any], /, *arguments: Any, **keys: Any) -> E:
    """The error of this kind that a call raises."""
    with pytest.raises(kind) as caught:
        call(*arguments, **keys)
    return caught.value


def refusal(call: Callable[..., Any], /, *arguments: Any, **keys: Any) -> str:
    """The message with which a call is refused as bad input."""
    return str(refused(BadInput, call, *arguments, **keys))
