"""The optional columns of a reference's scores, which some statistics need beside the score."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from accgate.errors import BadInput
from accgate.inputs import read_table, repeat_of, score_of
from accgate.records import Record

TEXTS = ("cluster", "group", "label")
NUMBERS = ("confidence", "attacked")
ANSWERS = ("answer", "target")


def columns_of(records: Sequence[Record], *, answers: bool) -> list[str]:
    """The columns that some record fills; `answers` adds answer and target."""
    columns = (*TEXTS, *NUMBERS, *(ANSWERS if answers else ()))
    return [name for name in columns if any(getattr(record, name) is not None for record in records)]


def cell(value: Any) -> str:
    """A value as a CSV cell; several numbers stand with spaces between, - where there is none.

    >>> cell(0.25), cell([100.0, None]), cell(None)
    ('0.25', '100 -', '')
    """
    if value is None:
        return ""
    if isinstance(value, (list, tuple)):
        return " ".join("-" if each is None else cell(each) for each in value)
    if isinstance(value, float):
        return f"{value:.0f}" if value.is_integer() else repr(value)
    return str(value)


def stored_records(path: Path) -> Iterator[Record]:
    """The records behind a reference's scores, as far as its file holds them.

    Raises
    ------
    BadInput
        With file and line, for a row that cannot be read.
    """
    for line, row in read_table(path):
        score, repeat = score_of(row, path, line), repeat_of(row, path, line)
        columns: dict[str, Any] = {name: row[name] for name in TEXTS if row.get(name)}
        columns |= {name: _numbers(row, name, path, line) for name in NUMBERS if row.get(name)}
        target, answer = row.get("target") or "", row.get("answer")
        yield Record(row["id"], repeat, score, target, answer, None, None, None, None, 0.0, None, **columns)


def _numbers(row: Mapping[str, Any], name: str, path: Path, line: int) -> float | tuple[float | None, ...]:
    """One number, or several with spaces between."""
    try:
        numbers = [None if part == "-" else float(part) for part in str(row[name]).split(" ")]
    except ValueError as error:
        raise BadInput(f"{path}:{line}: {name} is {row[name]!r}; record the reference again") from error
    if len(numbers) == 1 and numbers[0] is not None:
        return numbers[0]
    return tuple(numbers)
