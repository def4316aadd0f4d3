"""Rows of JSONL and CSV files, each with its line: the one place that reads what users bring."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from accgate.errors import BadInput

Row = dict[str, Any]


def read_table(path: Path) -> Iterator[tuple[int, Row]]:
    """(line, row) of every row of a CSV file, by its ending, or else of a JSONL file.

    Raises
    ------
    BadInput
        With file and line, for a file that cannot be read, is not UTF-8, or holds a line that is no row.
    """
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}; give a JSONL or CSV file") from error
    try:
        text = raw.decode().removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise BadInput(f"{path}:{line}: is not UTF-8; save the file as UTF-8 text") from error
    return _csv(text, path) if path.suffix.lower() == ".csv" else _jsonl(text, path)


def _jsonl(text: str, path: Path) -> Iterator[tuple[int, Row]]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            fault = f"is not a JSON object ({error}); is the file cut off? Write one object a line"
            raise BadInput(f"{path}:{number}: {fault}") from error
        if not isinstance(row, dict):
            raise BadInput(f"{path}:{number}: is not a JSON object; write one object a line")
        yield number, row


def _csv(text: str, path: Path) -> Iterator[tuple[int, Row]]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        header = next(reader, [])
        for cells in reader:
            if cells and len(cells) != len(header):
                counts = f"has {len(cells)} cells under a header of {len(header)}"
                raise BadInput(f"{path}:{reader.line_num}: {counts}; is the file cut off?")
            if cells:
                yield reader.line_num, dict(zip(header, cells, strict=True))
    except csv.Error as error:
        raise BadInput(f"{path}:{reader.line_num}: is not CSV ({error})") from error
