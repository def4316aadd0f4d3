"""Rows of Parquet files, whose reader is native code that is not used everywhere."""

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from accgate.errors import BadInput, needing

MOST = 2_000_000_000  # bytes of a file with rows, unpacked
ROWS_AT_ONCE = 100  # of Parquet, where one long text can stand in many rows and once in the file
PARQUET = ".parquet"
_CLOSED: ContextVar[bool] = ContextVar("closed", default=False)


class Closed(BadInput):
    """A file of rows that must not be opened in this process."""


@contextlib.contextmanager
def without_native_readers() -> Iterator[None]:
    """Open no Parquet in here.

    Its reader is native code, which a file of anybody's must not meet where a token is.
    """
    token = _CLOSED.set(True)
    try:
        yield
    finally:
        _CLOSED.reset(token)


def refuse_closed(fault: str) -> None:
    """Raise `Closed` with this fault where `without_native_readers` holds."""
    if _CLOSED.get():
        raise Closed(fault)


def is_parquet(path: Path | str | None) -> bool:
    """Tell whether a file's name says that it is Parquet."""
    return path is not None and Path(path).suffix.lower() == PARQUET


def parquet_rows(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a Parquet file.

    Raises
    ------
    BadInput
        When it cannot be read, or unpacks to too much.
    CannotEvaluate
        When pyarrow is missing.
    """
    refuse_closed(f"{path}: Parquet is not opened in a job with a token; write the rows as JSONL or CSV")
    with needing(f"{path}: Parquet needs pyarrow", "parquet"):
        import pyarrow
        import pyarrow.parquet
    try:
        left = MOST
        for batch in pyarrow.parquet.ParquetFile(path).iter_batches(batch_size=ROWS_AT_ONCE):
            left -= batch.nbytes
            if left < 0:
                raise BadInput(f"{path}: unpacks to more than {MOST:,} bytes; is it the right file?")
            yield from batch.to_pylist()
    except (pyarrow.ArrowException, OSError) as error:
        raise BadInput(f"{path}: cannot be read as Parquet ({error})") from error
