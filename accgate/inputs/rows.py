"""Rows of JSONL and CSV files, each with its line: the one place that reads what users bring."""

import csv
import io
import json
import math
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import chain
from pathlib import Path
from reprlib import repr as brief
from typing import Any

from accgate.errors import BadInput, reading
from accgate.inputs.checkout import MARKER, MERGE, refuse_conflict, refuse_stand_in
from accgate.inputs.paths import read_plain, with_lf

Row = dict[str, Any]
BOM = "\ufeff"
# Columns that say which sample a row is of, as texts or as their digests; lm-evaluation-harness writes doc_hash.
# The file of a reference, and the settings beside records, have digests of more: what `compare` compares is TOLD.
NAMES = ("target", "prompt", "question", "input", "doc", "dataset")
IDENTITY = frozenset(f"{name}{end}" for name in NAMES for end in ("", "_hash", "_digest", "_sha256"))
TOLD = frozenset((*NAMES, "extract", "metric", "files"))
ROW = 100_000_000  # bytes of a line, far more than a row with pictures has
TABLE = 2_000_000_000  # bytes of a CSV file, which is held whole
WHOLE = 2.0**63  # orjson rounds whole numbers beyond 64 bits to floats, none of them smaller than this


def read_table(path: Path) -> Iterator[tuple[int, Row]]:
    """(line, row) of every row of a CSV file, by its ending, or else of a JSONL file, which is never held whole.

    Raises
    ------
    BadInput
        With file and line, for a file that cannot be read, is not UTF-8, or holds a line that is no row.
    """
    refuse_stand_in(path)
    with reading(path, "give a JSONL or CSV file"):
        yield from _csv(path) if path.suffix.lower() == ".csv" else _jsonl(path)


def _jsonl(path: Path) -> Iterator[tuple[int, Row]]:
    """Rows as the standard json module reads them, most of them by orjson, which is several times faster."""
    from orjson import loads

    with path.open("rb") as file:
        for number, line in enumerate(iter(partial(file.readline, ROW), b""), 1):
            if len(line) == ROW:
                raise BadInput(f"{path}:{number}: is a line of {ROW:,} bytes or more; write one object a line")
            try:
                row = loads(line)
            except ValueError:  # no JSON, or what only json takes: NaN, half surrogates, deep nesting
                text = _text(line, path, number)
                if not text.strip():
                    continue
                row = _by_json(text, path, number)
            if type(row) is not dict:
                raise BadInput(f"{path}:{number}: is not a JSON object; write one object a line")
            for value in row.values():
                kind = type(value)
                if (kind is float and not -WHOLE < value < WHOLE) or ((kind is list or kind is dict) and _large(value)):
                    row = _by_json(_text(line, path, number), path, number)
                    break
            yield number, row


def _large(value: Any) -> bool:
    """Whether a float within is so large that it may stand for a rounded whole number."""
    rest = [value]
    while rest:
        value = rest.pop()
        if isinstance(value, float) and not -WHOLE < value < WHOLE:
            return True
        if isinstance(value, (list, dict)):
            rest.extend(value.values() if isinstance(value, dict) else value)
    return False


def _text(line: bytes, path: Path, number: int) -> str:
    try:
        text = line.decode()
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}:{number}: is not UTF-8; save the file as UTF-8 text") from error
    return text.removeprefix(BOM) if number == 1 else text


def _by_json(text: str, path: Path, number: int) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        fault = f"is not a JSON object ({error}); is the file cut off? Write one object a line"
        if text.startswith(MARKER):
            fault = MERGE
        raise BadInput(f"{path}:{number}: {fault}") from error


def _csv(path: Path) -> Iterator[tuple[int, Row]]:
    raw = with_lf(read_plain(path, TABLE))  # line ends within cells are the checkout's as well
    reader = csv.reader(io.TextIOWrapper(io.BytesIO(raw), "utf-8-sig", newline=""), strict=True)
    try:
        header = next(reader, [])
        for cells in chain([header], reader):
            if cells and cells[0].startswith(MARKER) and "\n" not in cells[0]:
                refuse_conflict(path, raw)
            if cells and len(cells) != len(header):
                counts = f"has {len(cells)} cells under a header of {len(header)}"
                raise BadInput(f"{path}:{reader.line_num}: {counts}; is the file cut off?")
            if cells and cells is not header:
                yield reader.line_num, dict(zip(header, cells, strict=True))
    except UnicodeDecodeError:
        raise _not_utf8(path, raw) from None
    except csv.Error as error:
        raise BadInput(f"{path}:{reader.line_num}: is not CSV ({error})") from error


def _not_utf8(path: Path, raw: bytes) -> BadInput:
    """The error about a file that is not UTF-8, with the first line that is not."""
    line = 1
    try:
        raw.decode()
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
    return BadInput(f"{path}:{line}: is not UTF-8; save the file as UTF-8 text")


def id_of(row: Mapping[str, Any], path: Path, line: int) -> str:
    """The id of a row of scores, as text.

    Raises
    ------
    BadInput
        With file and line, where it is neither text nor a whole number.
    """
    value = row.get("id")
    if isinstance(value, bool) or not isinstance(value, (str, int)) or value == "":
        raise BadInput(f"{path}:{line}: id is {brief(value)}; every sample needs an id, text or a whole number")
    return str(value)


def repeat_of(row: Mapping[str, Any], path: Path, line: int) -> int:
    """The repeat of a row of scores, 0 where it has none.

    Raises
    ------
    BadInput
        With file and line, where it is no whole number from 0.
    """
    value = row.get("repeat", 0)
    if isinstance(value, str):
        digits = value.strip()
        value = int(digits) if len(digits) <= 9 and digits.isascii() and digits.isdigit() else value
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise BadInput(f"{path}:{line}: repeat is {brief(value)}; write a whole number, 0 or more")
    return value


def score_of(row: Mapping[str, Any], path: Path, line: int) -> float | None:
    """The score of a row of scores, None where its sample failed.

    Raises
    ------
    BadInput
        With file and line, where there is none or it is not a finite number.
    """
    if "score" not in row:
        raise BadInput(f"{path}:{line}: has no score; write points, or null where the sample failed")
    value = row["score"]
    if value is None or value == "":
        return None
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise BadInput(f"{path}:{line}: score is {brief(value)}; write a finite number of points")
    return number


def text_of(row: Mapping[str, Any], column: str, path: Path, line: int) -> str | None:
    """The label of a row of scores in a column, as text; None where it has none.

    Raises
    ------
    BadInput
        With file and line, where it is neither text nor a whole number.
    """
    value = row.get(column)
    if value is None or value == "":
        return None
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise BadInput(f"{path}:{line}: {column} is {brief(value)}; write text or a whole number, or null for none")
    return str(value)


def plain_of(value: Any) -> str:
    """A value of a row as text without BOM and spaces that do not count; empty where there is none.

    >>> plain_of(" 4\\n 2 "), plain_of(42.0), plain_of(["a"]), plain_of(None)
    ('4 2', '42', '["a"]', '')
    """
    if not isinstance(value, str):
        value = "" if value is None else json.dumps(value, ensure_ascii=False, sort_keys=True)
    return " ".join(value.replace(BOM, " ").split()).removesuffix(".0")


def mark_of(value: Any) -> int:
    """A number for a value of a row, in this process the same for the same value; 0 where there is none."""
    return 0 if value is None or value == "" else hash(value if isinstance(value, str) else plain_of(value)) or 1


def holds_only(data: Any, whole: Any, *, text: int, entries: int | None = None) -> bool:
    """Whether JSON data has no key that `whole`, plain data, lacks; no text, and no list, is longer than this.

    >>> holds_only({"a": ["b"]}, {"a": (), "c": 1}, text=1), holds_only({"d": 1}, {"a": 1}, text=1)
    (True, False)
    """
    if isinstance(data, dict):
        return isinstance(whole, dict) and all(
            key in whole and holds_only(data[key], whole[key], text=text, entries=entries) for key in data
        )
    if isinstance(data, list):
        fits = isinstance(whole, (list, tuple)) and (entries is None or len(data) <= entries)
        return fits and all(holds_only(d, w, text=text, entries=entries) for d, w in zip(data, whole, strict=False))
    return not isinstance(data, str) or len(data) <= text
