"""Rows of a dataset: JSONL, CSV, Parquet, or Hugging Face `datasets`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from accgate.errors import BadInput, CannotEvaluate
from accgate.inputs import Row, read_table

ENDINGS = (".jsonl", ".json", ".csv", ".parquet")


def read_rows(path: Path, key: str | None = None) -> list[Row]:
    """All rows of a JSONL, CSV, Parquet or JSON file; `key` names a JSON object's list of rows.

    Raises
    ------
    BadInput
        With file and line, for a file that cannot be read or holds no rows.
    """
    ending = path.suffix.lower()
    if ending == ".parquet":
        rows = list(_parquet(path))
    else:
        rows = _json(path, key) if ending == ".json" else [row for _, row in read_table(path)]
    if not rows:
        raise BadInput(f"{path}: holds no rows; a task needs at least one")
    return rows


def _json(path: Path, key: str | None) -> list[Row]:
    try:
        content = json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{path}: is not JSON ({error}); is the file cut off?") from error
    rows = content.get(key) if key is not None and isinstance(content, dict) else content
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        where = "the file" if key is None else f"dataset.path = {key!r}"
        raise BadInput(f"{path}: {where} is no list of objects; name the key that holds the rows as dataset.path")
    return rows


def _parquet(path: Path) -> Iterator[Row]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise CannotEvaluate(f"{path}: Parquet needs pyarrow; pip install 'accgate[parquet]'") from error
    try:
        yield from pyarrow.parquet.read_table(path).to_pylist()
    except (pyarrow.ArrowException, OSError) as error:
        raise BadInput(f"{path}: cannot be read as Parquet ({error})") from error


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
