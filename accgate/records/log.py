"""The records of a run, whose texts stay in their file."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import compress
from operator import attrgetter
from pathlib import Path
from typing import BinaryIO, SupportsIndex

import numpy as np
import numpy.typing as npt
import orjson

from accgate.errors import BadInput, reading
from accgate.records.figures import COLUMNS, Figures, row_of
from accgate.records.file import FIX, Record, numbered_lines, record_of_line, to_line
from accgate.records.ids import At, Ids, PackedSequence, Places

NOWHERE = -1
SPARSE = ("cluster", "group", "label", "confidence", "attacked", "answer", "target")  # columns that many runs lack
_sparse = attrgetter(*SPARSE)


def _filled_by(record: Record) -> Iterator[str]:
    return compress(SPARSE, (value is not None for value in _sparse(record)))


class RecordLog(PackedSequence[Record]):
    """Records of a file, with one place for each of the `ids`.

    Each place takes about 65 bytes, for the `figures` that verdicts need. A `Record` is read from its line whenever it
    is asked for. A slice shares its memory.
    """

    def __init__(self, path: Path, ids: Ids) -> None:
        self._paths, self._filled = [path], set[str]()
        self._starts: npt.NDArray[np.int64] = np.full(len(ids), NOWHERE, dtype=np.int64)
        self._files: npt.NDArray[np.int16] = np.zeros(len(ids), dtype=np.int16)  # each record's place in `_paths`
        self.figures = Figures(ids, np.zeros(len(ids), dtype=COLUMNS))

    def put(self, place: int, record: Record, start: int) -> None:
        """Put a record at a place, over any earlier one.

        Its line starts at this byte of the file.
        """
        self._starts[place] = start
        self.figures.columns[place] = row_of(record)
        self._filled.update(_filled_by(record))

    def put_all(self, places: Places, records: Sequence[Record], starts: Sequence[int] | None = None) -> None:
        """Put many records at these places.

        Their lines start at these bytes of the file. Without `starts` they are another log's, and stay in its files.
        """
        if starts is None:
            assert isinstance(records, RecordLog)
            self._files[places] = records._files + len(self._paths)
            self._paths += records._paths
            self._starts[places] = records._starts
        else:
            self._starts[places] = np.array(starts, dtype=np.int64)
        self.figures.columns[places] = Figures.of(records).columns
        self._filled.update(name for name in SPARSE if fills(records, name))

    def has(self, place: int) -> bool:
        """Tell whether there is a record at this place."""
        return bool(self._starts[place] != NOWHERE)

    def fills(self, name: str) -> bool:
        """Tell whether some record has a value in this column, one of `SPARSE`."""
        return name in self._filled

    def places(self) -> Places:
        """Return the places that have a record."""
        return np.flatnonzero(self._starts != NOWHERE)

    @property
    def present(self) -> RecordLog:
        """The records, without places that have none."""
        places = self.places()
        return self.take(slice(None) if len(places) == len(self) else places)

    def take(self, places: At) -> RecordLog:
        """Return the records at these places, in their order."""
        some = RecordLog.__new__(RecordLog)
        some._paths, some._filled = self._paths, self._filled
        some._starts, some._files, some.figures = self._starts[places], self._files[places], self.figures.take(places)
        return some

    def __len__(self) -> int:
        return len(self._starts)

    def _item(self, place: SupportsIndex) -> Record:
        """Read one record from its file, or raise BadInput if that changed."""
        at = range(len(self))[place]
        return next(iter(self.take(slice(at, at + 1))))

    def __iter__(self) -> Iterator[Record]:
        lines = zip(self.figures.ids, self._files, self.lines(), strict=True)
        for number, (id_, file, line) in enumerate(lines, 1):
            try:
                record = Record(**orjson.loads(line))  # unchecked: this run wrote it, or has checked it before
            except (ValueError, TypeError):  # only the standard json reads half surrogates
                record = record_of_line(self._paths[file], line, number)
            if record.id != id_:
                raise self._changed(self._paths[file])
            yield record

    def lines(self) -> Iterator[bytes]:
        """Yield the line of each record, or raise BadInput if a file changed."""
        with ExitStack() as stack:
            files: dict[int, BinaryIO] = {}
            for number, start in zip(map(int, self._files), map(int, self._starts), strict=True):
                path = self._paths[number]
                with reading(path, FIX):
                    if number not in files:
                        files[number] = stack.enter_context(path.open("rb"))
                    if start == NOWHERE:
                        raise IndexError("there is no record at this place")
                    files[number].seek(start)
                    line = files[number].readline()
                if not line.endswith(b"\n"):
                    raise self._changed(path)
                yield line

    def _changed(self, path: Path) -> BadInput:
        return BadInput(f"{path}: was changed while the run went on; run it again, and leave its folder alone")


def read_log(path: Path) -> RecordLog:
    """Read every complete record of a file as `read_records` does, but keep no texts."""
    starts, at, names = array("q"), 0, set[str]()

    def records() -> Iterator[Record]:
        nonlocal at
        for number, line in numbered_lines(path):
            record = record_of_line(path, line, number)
            starts.append(at)
            at += len(line)
            names.update(_filled_by(record))
            yield record

    figures = Figures.of(records())
    if again := figures.ids.first_again(figures.columns["repeat"]):
        place, repeat = again[0], figures.columns["repeat"][again[0]]
        raise BadInput(f"{path}:{place + 1}: id {figures.ids[place]!r} (repeat {repeat}) comes twice; keep one line")
    log = RecordLog(path, Ids())
    log._starts, log._files = np.frombuffer(starts, dtype=np.int64), np.zeros(len(starts), dtype=np.int16)
    log._filled, log.figures = names, figures
    return log


def empty_log(path: Path, ids: Ids, repeats: int) -> RecordLog:
    """Return a log with a place for each repeat of each id."""
    return RecordLog(path, ids if repeats == 1 else ids.take(np.repeat(np.arange(len(ids)), repeats)))


def places_in(ids: Ids, repeats: int, records: Sequence[Record]) -> Places:
    """Find the place of each record, where each id has so many repeats.

    A record that is none of these has -1.
    """
    figures = Figures.of(records)
    places, number = ids.places(figures.ids), figures.columns["repeat"]
    is_one = (places >= 0) & (number >= 0) & (number < repeats)
    return np.where(is_one, places.astype(np.intp) * repeats + number, -1)


def in_fixed_order(ids: Ids, repeats: int, log: RecordLog) -> tuple[RecordLog, Places]:
    """Return records in the order of `places_in`, and their places.

    Records of other ids come first, at -1.
    """
    places = places_in(ids, repeats, log)
    order = np.argsort(places)
    return log.take(order), places[order]


def beginning_of(places: Places, repeats: int) -> int:
    """Count the records of whole samples before the first gap in these rising places.

    >>> import numpy as np
    >>> beginning_of(np.array([0, 1, 2, 3, 4, 7]), repeats=2), beginning_of(np.array([1, 2]), repeats=1)
    (4, 0)
    """
    finished = int((places == np.arange(len(places))).sum())  # after the first gap, every place exceeds its number
    return finished - finished % repeats


def records_at(records: Sequence[Record], places: Places) -> Sequence[Record]:
    """Return the records at these places, in their order."""
    return records.take(places) if isinstance(records, RecordLog) else [records[place] for place in places]


def lines_of(records: Sequence[Record]) -> Iterator[bytes]:
    """Yield the line of each record, as `to_line` writes it."""
    return records.lines() if isinstance(records, RecordLog) else map(to_line, records)


def failed_of(records: Sequence[Record]) -> Sequence[Record]:
    """Return the records without a score."""
    return records_at(records, np.flatnonzero(Figures.of(records).failed))


def fills(records: Iterable[Record], name: str) -> bool:
    """Tell whether some record has a value in a column, one of `SPARSE`."""
    if isinstance(records, RecordLog):
        return records.fills(name)
    return any(getattr(record, name) is not None for record in records)
