"""The records of a run without their texts in memory: those stay in the file that they were written to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from pathlib import Path
from typing import BinaryIO, overload

import numpy as np
import numpy.typing as npt
import orjson

from accgate.errors import BadInput
from accgate.records.figures import COLUMNS, Figures, row_of
from accgate.records.file import Record, record_of_line, to_line
from accgate.records.ids import Ids, Places

NOWHERE = -1
SPARSE = ("cluster", "group", "label", "confidence", "attacked", "answer", "target")  # columns of few runs' records


_sparse = attrgetter(*SPARSE)


class RecordLog(Sequence[Record]):
    """Records of a file, in the order of `ids`, each of which has a place for one; about 60 bytes for each.

    What verdicts are made of is held (`figures`); a `Record` is read from its line each time that it is asked for.
    A slice shares all that is held.
    """

    def __init__(self, path: Path, ids: Ids) -> None:
        self._path, self._filled = path, set[str]()
        self._starts: npt.NDArray[np.int64] = np.full(len(ids), NOWHERE, dtype=np.int64)
        self.figures = Figures(ids, np.zeros(len(ids), dtype=COLUMNS))

    def put(self, place: int, record: Record, start: int) -> None:
        """Take in a record that stands in the file from this byte on; one that was there before is forgotten."""
        self._starts[place] = start
        self.figures.columns[place] = row_of(record)
        for name, value in zip(SPARSE, _sparse(record), strict=True):
            if value is not None:
                self._filled.add(name)

    def has(self, place: int) -> bool:
        """Whether there is a record at this place."""
        return bool(self._starts[place] != NOWHERE)

    def fills(self, name: str) -> bool:
        """Whether some record has this column, which is one of `SPARSE`."""
        return name in self._filled

    def places(self) -> Places:
        """The places of the records that are there."""
        return np.flatnonzero(self._starts != NOWHERE)

    @property
    def present(self) -> RecordLog:
        """The records that are there, without the places of others."""
        return self.take(self.places())

    def take(self, places: Places | slice) -> RecordLog:
        """The records at these places, in their order."""
        some = RecordLog.__new__(RecordLog)
        some._path, some._filled = self._path, self._filled
        some._starts, some.figures = self._starts[places], self.figures.take(places)
        return some

    def __len__(self) -> int:
        return len(self._starts)

    @overload
    def __getitem__(self, place: int) -> Record: ...
    @overload
    def __getitem__(self, place: slice) -> RecordLog: ...
    def __getitem__(self, place: int | slice) -> Record | RecordLog:
        """One record, read from the file, or the records of a slice.

        Raises
        ------
        BadInput
            When the file was changed since.
        """
        if isinstance(place, slice):
            return self.take(place)
        place = range(len(self))[place]
        return next(iter(self.take(slice(place, place + 1))))

    def __iter__(self) -> Iterator[Record]:
        for number, (id_, line) in enumerate(zip(self.figures.ids, self.lines(), strict=True), 1):
            record = self._record(line, number)
            if record.id != id_:
                raise self._changed()
            yield record

    def _record(self, line: bytes, number: int) -> Record:
        """The record of a line that this run wrote, or has read and checked before."""
        try:
            return Record(**orjson.loads(line))
        except (ValueError, TypeError):  # half surrogates are only read by the standard json
            return record_of_line(self._path, line, number)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Sequence) and not isinstance(other, str):
            return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<{len(self):,} records of {self._path}>"

    def lines(self) -> Iterator[bytes]:
        """The line of each record, as `to_line` writes it; raises as reading one does."""
        if not len(self):
            return
        try:
            with self._path.open("rb") as file:
                for start in map(int, self._starts):
                    yield self._line(file, start)
        except OSError as error:
            raise BadInput(f"{self._path}: cannot be read: {error.strerror}") from error

    def _line(self, file: BinaryIO, start: int) -> bytes:
        if start == NOWHERE:
            raise IndexError("there is no record at this place")
        file.seek(start)
        line = file.readline()
        if not line.endswith(b"\n"):
            raise self._changed()
        return line

    def _changed(self) -> BadInput:
        return BadInput(f"{self._path}: was changed while the run went on; run it again, and leave its folder alone")


def records_at(records: Sequence[Record], places: Places) -> Sequence[Record]:
    """The records at these places, in their order."""
    return records.take(places) if isinstance(records, RecordLog) else [records[place] for place in places]


def lines_of(records: Sequence[Record]) -> Iterator[bytes]:
    """The line of each record, as `to_line` writes it."""
    return records.lines() if isinstance(records, RecordLog) else map(to_line, records)


def failed_of(records: Sequence[Record]) -> Sequence[Record]:
    """The records without a score."""
    if isinstance(records, RecordLog):
        return records.take(np.flatnonzero(records.figures.failed))
    return tuple(record for record in records if record.score is None)


def fills(records: Iterable[Record], name: str) -> bool:
    """Whether some record has a column, which is one of `SPARSE`."""
    if isinstance(records, RecordLog):
        return records.fills(name)
    return any(getattr(record, name) is not None for record in records)
