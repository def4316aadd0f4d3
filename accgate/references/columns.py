"""The optional columns of a reference's scores, which some statistics need besides the score."""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from accgate.errors import BadInput
from accgate.inputs.rows import read_table, repeat_of, score_of
from accgate.records.figures import Figures
from accgate.records.file import Record
from accgate.records.log import fills

TEXTS = ("cluster", "group", "label")
NUMBERS = ("confidence", "attacked")
ANSWERS = ("answer", "target")
COST_COLUMNS = ("completion_tokens", "seconds")


def columns_of(records: Sequence[Record], *, answers: bool) -> list[str]:
    """List the columns that some record fills.

    `answers` adds answer and target. Tokens and seconds are written together. Acceptance lengths are written only if
    some reply was drafted.
    """
    columns = (*TEXTS, *NUMBERS, *(ANSWERS if answers else ()))
    filled = [name for name in columns if fills(records, name)]
    figures = Figures.of(records).columns
    costs = COST_COLUMNS if (figures["completion_tokens"] > 0).any() else ()
    return [*filled, *costs, *(("acceptance",) if (figures["acceptance"] > 1.0).any() else ())]


def value_of(record: Record, column: str) -> Any:
    """Return the value of a column.

    A reply from the cache has no seconds and no acceptance.

    >>> record = Record("a", 0, 100.0, "", None, None, None, 9, 4, 1.23456, None)
    >>> value_of(record, "seconds"), value_of(record, "completion_tokens")
    (1.235, 4)
    """
    if column == "seconds":
        return round(record.seconds, 3) if record.seconds > 0.0 and not record.cached else None
    return None if column == "acceptance" and record.cached else getattr(record, column)


def cell(value: Any) -> str:
    """Write a value as a CSV cell.

    Several numbers have spaces between them, and `-` stands for None.

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
    """Yield the records behind a reference's scores, with the fields that its file holds.

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
        tokens, seconds = (_count_of(row, name, path, line) for name in COST_COLUMNS)
        count = None if tokens is None else int(tokens)
        columns["acceptance"] = _count_of(row, "acceptance", path, line, least=1.0)
        yield Record(row["id"], repeat, score, target, answer, None, None, None, count, seconds or 0.0, None, **columns)


def _count_of(row: Mapping[str, Any], name: str, path: Path, line: int, least: float = 0.0) -> float | None:
    """Read a number of tokens, steps or seconds, None if the cell is empty.

    A number below `least` is refused.
    """
    value = _numbers(row, name, path, line) if row.get(name) else None
    if isinstance(value, tuple) or (value is not None and not least <= value < math.inf):
        raise BadInput(f"{path}:{line}: {name} is {row[name]!r}; record the reference again")
    return value


def _numbers(row: Mapping[str, Any], name: str, path: Path, line: int) -> float | tuple[float | None, ...]:
    """Read one number, or several with spaces between."""
    try:
        numbers = [None if part == "-" else float(part) for part in str(row[name]).split(" ")]
    except ValueError as error:
        raise BadInput(f"{path}:{line}: {name} is {row[name]!r}; record the reference again") from error
    if len(numbers) == 1 and numbers[0] is not None:
        return numbers[0]
    return tuple(numbers)
