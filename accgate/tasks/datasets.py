"""Rows of a dataset: JSONL, CSV, Parquet, or Hugging Face `datasets`."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from accgate.errors import BadInput, CannotEvaluate

Row = dict[str, Any]


def read_rows(path: Path) -> list[Row]:
    """All rows of a JSONL, CSV or Parquet file.

    Raises
    ------
    BadInput
        With file and line, for a file that cannot be read or holds no rows.
    """
    readers = {".csv": _csv, ".parquet": _parquet}
    reader = readers.get(path.suffix.lower(), _jsonl)
    try:
        rows = list(reader(path))
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}:{_undecodable_line(path)}: is not UTF-8; save the file as UTF-8 text") from error
    if not rows:
        raise BadInput(f"{path}: holds no rows; a task needs at least one")
    return rows


def _undecodable_line(path: Path) -> int:
    """The first line that is not UTF-8; an error while a file is read in blocks knows only the block."""
    good = path.read_bytes().decode(errors="surrogateescape")
    return next(line for line, text in enumerate(good.split("\n"), 1) if re.search("[\udc80-\udcff]", text))


def _jsonl(path: Path) -> Iterator[Row]:
    with path.open(encoding="utf-8-sig") as file:
        for line, text in enumerate(file, 1):
            if not text.strip():
                continue
            try:
                row = json.loads(text)
            except (ValueError, RecursionError) as error:
                raise BadInput(f"{path}:{line}: is not a JSON object ({error}); write one object a line") from error
            if not isinstance(row, dict):
                raise BadInput(f"{path}:{line}: is not a JSON object; write one object a line")
            yield row


def _csv(path: Path) -> Iterator[Row]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file, strict=True, restkey=None, restval=None)
        try:
            for row in reader:
                if None in row or None in row.values():
                    raise BadInput(f"{path}:{reader.line_num}: has not as many cells as the header")
                yield row
        except csv.Error as error:
            raise BadInput(f"{path}:{reader.reader.line_num}: is not CSV ({error})") from error


def _parquet(path: Path) -> Iterator[Row]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise CannotEvaluate(f"{path}: Parquet needs pyarrow; pip install 'accgate[parquet]'") from error
    try:
        yield from pyarrow.parquet.read_table(path).to_pylist()
    except pyarrow.ArrowException as error:
        raise BadInput(f"{path}: is not Parquet ({error})") from error


def hub_rows(name: str, config: str | None, split: str, revision: str | None, options: Mapping[str, Any]) -> list[Row]:
    """All rows of one split of a Hugging Face dataset.

    Raises
    ------
    CannotEvaluate
        When the package is missing or the dataset cannot be had.
    BadInput
        When the split holds no rows.
    """
    try:
        import datasets
    except ImportError as error:
        raise CannotEvaluate(f"dataset {name}: needs Hugging Face datasets; pip install 'accgate[datasets]'") from error
    try:
        loaded = datasets.load_dataset(name, config, split=split, revision=revision, **options)
    except Exception as error:  # the library raises what its file systems and builders raise
        cause = f"{type(error).__name__}: {error}".splitlines()[0]
        raise CannotEvaluate(f"dataset {name}, split {split}: cannot be loaded: {cause}") from error
    rows = [dict(row) for row in loaded]
    if not rows:
        raise BadInput(f"dataset {name}, split {split}: holds no rows")
    return rows
