"""The errors that stop accgate, and the exit codes of errors and verdicts."""

from __future__ import annotations

import errno
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

VerdictName = Literal["pass", "inconclusive", "no-reference", "regression", "error"]
Tier = Literal["required", "advisory"]  # whether a check can fail the run
CostName = Literal["tokens", "seconds", "acceptance"]
# What a sample costs, and the rule that limits each cost.
LIMITS: Mapping[CostName, str] = {
    "tokens": "max_more_tokens", "seconds": "max_slower", "acceptance": "max_less_accepted",
}  # fmt: skip

PASSED = 0
REGRESSION = 1
BAD_INPUT = 2
CANNOT_EVALUATE = 3
NO_VERDICT = 4
INTERRUPTED = 130

# From best to worst: the run's verdict is the worst of its checks.
SEVERITY: tuple[VerdictName, ...] = ("pass", "inconclusive", "no-reference", "regression", "error")


class AccgateError(Exception):
    """An error that ends a command without a verdict.

    The message says what is wrong, where, and how to fix it.
    """

    exit_code = CANNOT_EVALUATE


class BadInput(AccgateError):
    """Config, files or arguments cannot be used."""

    exit_code = BAD_INPUT

    def __init__(self, *messages: str) -> None:
        super().__init__("\n".join(messages))
        self.messages = messages


class KeyFaults(BadInput):
    """Values of a table that cannot be used.

    Each fault is a key, relative to that table, and what is wrong with it. The code that read the table from a file
    adds file and line; without these a message is `key: what is wrong`.

    >>> str(KeyFaults((("options", "dtype"), "is 4; write text")))
    'options.dtype: is 4; write text'
    """

    def __init__(self, *faults: tuple[Key, str]) -> None:
        super().__init__(*(f"{key_text(key)}: {fault}" for key, fault in faults))
        self.faults = faults

    def __reduce__(self) -> tuple[type[KeyFaults], tuple[tuple[Key, str], ...]]:
        return type(self), self.faults  # they travel between processes


def refuse_faults(faults: Iterable[tuple[Key, str]]) -> None:
    """Raise KeyFaults with all of these faults, if there are any."""
    if listed := tuple(faults):
        raise KeyFaults(*listed)


class CannotEvaluate(AccgateError):
    """Engine, dataset or network failed, so that the evaluation could not finish."""

    exit_code = CANNOT_EVALUATE


class KeyNotReady(CannotEvaluate):
    """Something named in a table that this machine lacks, such as weights.

    The key is relative to that table. The code that read the table from a file adds file and line.
    """

    def __init__(self, key: Key, fault: str) -> None:
        super().__init__(f"{key_text(key)}: {fault}")
        self.key, self.fault = key, fault

    def __reduce__(self) -> tuple[type[KeyNotReady], tuple[Key, str]]:
        return type(self), (self.key, self.fault)  # it travels between processes


DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def writing(
    path: Path, fix: str = "correct that, then go on with --resume", *, kind: type[AccgateError] = CannotEvaluate
) -> Iterator[None]:
    """Name the file or folder that cannot be written, and what to do.

    Raises
    ------
    CannotEvaluate
        For an OSError, or another `kind` for a name that the user gave, unless the disk is full.
    """
    try:
        yield
    except OSError as error:
        if error.errno in DISK_FULL and kind is BadInput:  # the name that the user gave is right
            kind, fix = CannotEvaluate, "free some space, then run it again"
        raise kind(f"{path}: cannot be written: {error.strerror}; {fix}") from error


@contextmanager
def reading(path: Path, fix: str) -> Iterator[None]:
    """Name the file or folder that cannot be read.

    The message gives the system's reason and the fix.

    Raises
    ------
    BadInput
        For an OSError.
    """
    try:
        yield
    except OSError as error:
        if isinstance(error, FileNotFoundError) and os.path.islink(path):  # noqa: PTH114 (Path's own may raise)
            fault = "is a link that leads nowhere, or out of its repository; put a plain file there"
            raise BadInput(f"{path}: {fault}") from error
        raise BadInput(f"{path}: cannot be read: {error.strerror}; {fix}") from error


@contextmanager
def needing(what: str, extra: str, *, kind: type[AccgateError] = CannotEvaluate) -> Iterator[None]:
    """Say what needs a package that cannot be imported, and how to install it.

    Raises
    ------
    CannotEvaluate
        For an ImportError, or another `kind`.
    """
    try:
        yield
    except ImportError as error:
        raise kind(f"{what} ({error}); pip install 'accgate[{extra}]'") from error


def worst(verdicts: Iterable[VerdictName]) -> VerdictName:
    """Return the worst of the verdicts.

    No verdicts at all are `error`, because a run that checked nothing has not passed.

    >>> worst(["pass", "regression", "inconclusive"])
    'regression'
    """
    return max(verdicts, key=SEVERITY.index, default="error")


def exit_code(verdicts: Sequence[VerdictName], *, inconclusive_passes: bool = False) -> int:
    """Return the exit code of a run with these verdicts.

    `inconclusive_passes` is on_inconclusive = "warn".

    >>> exit_code(["pass", "inconclusive"]), exit_code(["pass", "inconclusive"], inconclusive_passes=True)
    (4, 0)
    """
    return {
        "pass": PASSED,
        "inconclusive": PASSED if inconclusive_passes else NO_VERDICT,
        "no-reference": NO_VERDICT,
        "regression": REGRESSION,
        "error": CANNOT_EVALUATE,
    }[worst(verdicts)]


Key = tuple["str | int", ...]  # of a value in a table, through tables and arrays


def key_text(key: Key) -> str:
    """Write a key as TOML does.

    Parts that are no bare keys are quoted on one line, so that none can start a new line or write to the terminal.

    >>> key_text(("models", "a b", "sampling", "stop", 0))
    'models."a b".sampling.stop[0]'
    """
    text = ""
    for part in key:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            bare = re.fullmatch(r"[A-Za-z0-9_-]+", part)
            text += ("." if text else "") + (part if bare else json.dumps(part, ensure_ascii=not part.isprintable()))
    return text or "(file)"
