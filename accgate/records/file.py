"""The run-record file, one JSON line per sample, and the settings beside it.

A line is appended as its sample finishes, and readable after any crash.
"""

from __future__ import annotations

import contextlib
import errno
import gzip
import json
import math
import os
import sys
import urllib.parse
import zlib
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, fields
from functools import partial
from io import FileIO
from operator import attrgetter
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

import orjson

from accgate.errors import BadInput, CannotEvaluate, reading, writing
from accgate.inputs.checkout import MARKER, MERGE, refuse_stand_in
from accgate.inputs.paths import read_json
from accgate.records.replacement import BLOCK, json_line, replacing, write_atomically

READINGS = ("read", "unread", "empty", "cut", "refused", "full")  # the last two only for attacked prompts
SILENT = ("empty", "cut")  # readings of replies in which no extraction would find an answer
SETTINGS = ".settings.json"
ENDINGS = (".jsonl", ".prompts.jsonl.gz", SETTINGS, ".before.jsonl.gz")
FIX = "name the records of a run"
UNPACKED, LINE = 2_000_000_000, 64_000_000  # most bytes of an unpacked file, and of a line: memory must hold these
# Keys of the settings beside records, in their order: number of scored records of a run that was decided early; samples
# of the whole plan of a shard; shards whose records were merged; how many records took how many seconds; who answered,
# and who marked, as replies and servers' lists say; options that change no answer; digests of files that answers depend
# on; versions of the software under the engine.
STOPPED, PLAN, MERGED, MEASURED, SERVED = "stopped_with", "plan", "merged", "measured", "served"
JUDGE_SERVED, OPERATIONAL, FILES, ENVIRONMENT = "judge_served", "operational", "files", "environment"
SETTINGS_BYTES = 200_000_000  # ten times the settings of a shard of a million samples
# Settings that may differ between runs. Makers and files are compared elsewhere, as far as both runs name them.
NOT_COMPARED = frozenset({STOPPED, PLAN, MERGED, MEASURED, SERVED, JUDGE_SERVED, OPERATIONAL, FILES})


@dataclass(frozen=True, slots=True)
class Record:
    """The result of one sample.

    `score` is in points, None where the sample failed; `error` then says why. `confidence` goes from 0 to 1.
    `attacked` is the score after an attack, or one score for each of several attacks, None where the attack was not
    made. `cached` is true for a reply from the cache.

    `reading` says how the reply was read: `read`; `unread`, where the extraction found no answer or options tie;
    `empty`; or `cut`, where the reply ended at max_tokens before an answer. It is None where nothing is read, as for a
    text's perplexity, and in records of earlier versions. `reasoning` is the thought before the `reply`, shortened if
    it is long, and `reasoning_tokens` counts its tokens if the engine does. `attacked_reading` has the reading of each
    attack's reply, with two more kinds: `refused` by the model or a filter, and `full`, cut off at a limit of the
    server. `own_id` is the dataset's own id of the sample. `acceptance` is the mean number of tokens per decoding step,
    as in `accgate.engines.Reply`.
    """

    id: str
    repeat: int
    score: float | None
    target: str
    answer: str | None
    reply: str | None
    finish_reason: str | None
    prompt_tokens: int | None
    completion_tokens: int | None
    seconds: float
    error: str | None
    cluster: str | None = None
    group: str | None = None
    label: str | None = None
    confidence: float | None = None
    attacked: float | Sequence[float | None] | None = None
    cached: bool | None = None
    reading: str | None = None
    reasoning: str | None = None
    reasoning_tokens: int | None = None
    attacked_reading: Sequence[str | None] | None = None
    own_id: str | None = None
    acceptance: float | None = None

    @property
    def shown_id(self) -> str:
        """The id that messages show, the dataset's own if there is one."""
        return self.own_id or self.id

    @property
    def is_unread(self) -> bool:
        """Whether the reply held no answer."""
        return self.reading not in (None, "read")

    @property
    def attacked_unread(self) -> int:
        """Number of attacks to which the reply held no answer."""
        return sum(reading not in (None, "read") for reading in self.attacked_reading or ())

    @property
    def key(self) -> tuple[str, int]:
        """(id, repeat), unique in a record."""
        return self.id, self.repeat


def _types_in(hint: Any) -> Iterator[type]:
    """Yield the types that a field's JSON values may have.

    Whole numbers may stand for floats, and lists for sequences.
    """
    for part in get_args(hint) if isinstance(hint, UnionType) else (hint,):
        yield from (int, float) if part is float else (list if get_origin(part) else part,)


_values = attrgetter(*Record.__slots__)
OPTIONAL = frozenset(each.name for each in fields(Record) if each.default is None)  # left out of lines when None
_TYPES = {name: tuple(_types_in(hint)) for name, hint in get_type_hints(Record).items()}


@dataclass(frozen=True)
class RecordPaths:
    """Paths of the files of one (model, task) in a run's folder.

    `before` has the reference's scores and replies.
    """

    records: Path
    prompts: Path
    settings: Path
    before: Path


def paths_of(out: Path, model: str, task: str) -> RecordPaths:
    """Return the paths of the files of one (model, task)."""
    base = out / file_name(model) / file_name(task)
    return RecordPaths(*(base.with_name(base.name + end) for end in ENDINGS))


def file_name(name: str) -> str:
    """Make a name safe for a file or folder, without loss.

    >>> file_name("org/model@quant=fp8"), file_name("..")
    ('org%2Fmodel@quant=fp8', '%2E.')
    """
    quoted = urllib.parse.quote(name, safe="@=,+ ")
    return "%2E" + quoted[1:] if quoted.startswith(".") else quoted


def to_line(record: Record) -> bytes:
    """Write one line of the file, with its newline.

    Raises
    ------
    ValueError
        When a number is not finite.
    """
    for number in (record.score, record.confidence, record.seconds):
        if number is not None and not math.isfinite(number):
            raise ValueError(f"a record cannot hold {number}")
    values = zip(Record.__slots__, _values(record), strict=True)
    return json_line({name: value for name, value in values if value is not None or name not in OPTIONAL})


def read_records(path: Path) -> list[Record]:
    """Read every complete record of a file.

    A torn last line, as a killed run leaves it, is left out.

    Raises
    ------
    BadInput
        With file and line, for a line that is not a record, and for a repeated (id, repeat).
    """
    records: dict[tuple[str, int], Record] = {}
    for number, record in numbered_records(path):
        if record.key in records:
            raise BadInput(f"{path}:{number}: id {record.id!r} (repeat {record.repeat}) comes twice; keep one line")
        records[record.key] = record
    return list(records.values())


def numbered_records(path: Path) -> Iterator[tuple[int, Record]]:
    """Yield (line number, record) of every complete record of a file.

    Raises as `read_records` does.
    """
    return ((number, record_of_line(path, line, number)) for number, line in numbered_lines(path))


def numbered_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield (line number, line) of every complete line of a file.

    The content of the lines is not checked.
    """
    refuse_stand_in(path)
    if path.exists() and not path.is_file() and not path.is_dir():
        raise BadInput(f"{path}: is a pipe or device; name the file of a run")
    with reading(path, FIX), path.open("rb") as file:
        for number, line in enumerate(iter(partial(file.readline, LINE), b""), 1):
            if len(line) == LINE:
                raise BadInput(f"{path}:{number}: is a line of {LINE:,} bytes or more; delete the file")
            if line.endswith(b"\n"):
                yield number, line


def count_lines(path: Path) -> int:
    """Count the complete lines of a file."""
    with path.open("rb") as file:
        return sum(block.count(b"\n") for block in iter(partial(file.read, BLOCK), b""))


def new_records(path: Path, offset: int) -> tuple[list[Record], int]:
    """Read the complete records of a file from a byte on.

    The second result is the byte where these end.

    Raises as `read_records` does.
    """
    records: list[Record] = []
    with path.open("rb") as file:
        file.seek(offset)
        for line in file:
            if not line.endswith(b"\n"):
                break
            records.append(record_of_line(path, line, offset))
            offset += len(line)
    return records, offset


def record_of_line(path: Path, line: bytes, number: int) -> Record:
    """Read the record in a line of a file, of this number.

    Raises
    ------
    BadInput
        When the line is no record, with file and number.
    """
    with contextlib.suppress(ValueError, TypeError):  # the standard json reads a little more, and explains faults
        return _checked(orjson.loads(line))
    try:
        return _checked(json.loads(line))
    except (ValueError, TypeError, RecursionError) as error:
        fault = f"is not a run record ({error}); the file was changed or damaged, delete it or name another --out"
        raise BadInput(f"{path}:{number}: {MERGE if line.startswith(MARKER.encode()) else fault}") from error


def records_with(path: Path, ids: AbstractSet[str]) -> Iterator[Record]:
    """Yield the records of these ids in a file.

    A missing file has none. Lines of other ids are only checked to be JSON. Raises as `read_records` does.
    """
    for number, line in numbered_lines(path) if path.exists() else ():
        with contextlib.suppress(ValueError, TypeError, KeyError):  # `record_of_line` says what is wrong
            if orjson.loads(line)["id"] not in ids:
                continue
        if (record := record_of_line(path, line, number)).id in ids:
            yield record


def _checked(columns: Any) -> Record:
    """Build a record from the fields of a line.

    Raises ValueError for a field of another type, and for a number that is not finite.
    """
    record = Record(**columns)
    for name, value, types in zip(Record.__slots__, _values(record), _TYPES.values(), strict=True):
        if type(value) not in types:
            raise ValueError(f"{name} is {value!r}")
    for name, can_hold in CAN_HOLD.items():
        if (value := getattr(record, name)) is not None and not can_hold(value):
            raise ValueError(f"{name} is {value!r}")
    return record


def is_number(value: Any) -> bool:
    """Tell whether a JSON value is a number that a float can hold."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def _are_points(value: Any) -> bool:
    return all(each is None or is_number(each) for each in (value if isinstance(value, list) else [value]))


# Tests of JSON values of fields, besides their type. None passes every test.
CAN_HOLD: Mapping[str, Callable[[Any], bool]] = {
    "score": is_number,
    "seconds": is_number,
    "acceptance": lambda value: is_number(value) and value >= 1.0,
    "confidence": lambda value: is_number(value) and 0.0 <= value <= 1.0,
    "reading": lambda value: value in READINGS,
    "attacked": _are_points,
    "attacked_reading": lambda value: isinstance(value, list) and all(each in (None, *READINGS) for each in value),
}


class RecordWriter(contextlib.AbstractContextManager["RecordWriter"]):
    """A writer that appends each record in one write.

    A kill thus tears at most the last line.
    """

    def __init__(self, path: Path, records: Iterable[Record] = ()) -> None:
        """Replace the file, in one step, by the records of an earlier run.

        `starts` has the byte where each of their lines begins.
        """
        self._path = path
        self._file = self._replaced(records)

    def _replaced(self, records: Iterable[Record]) -> FileIO:
        with writing(self._path):
            self.starts = array("q")
            with replacing() as files, files.file(self._path) as file:
                for record in records:
                    self.starts.append(file.tell())
                    file.write(to_line(record))
            opened = self._path.open("ab", buffering=0)
            self._size = opened.seek(0, os.SEEK_END)
            return opened

    def rewrite(self, records: Iterable[Record]) -> None:
        """Replace all records in one step.

        Raises as `append` does.
        """
        self._file.close()
        self._file = self._replaced(records)

    def append(self, record: Record) -> int:
        """Write one record, and return the byte where its line begins.

        Raises
        ------
        CannotEvaluate
            When the disk is full or the file cannot be written, and when somebody else wrote to it or cut it. Records
            that were written before stay readable.
        """
        line = to_line(record)
        with writing(self._path):
            written = self._file.write(line)
            if written != len(line):  # a full disk can take part of a line; what follows it would be damaged
                self._file.truncate(self._file.seek(0, os.SEEK_END) - (written or 0))
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            start = self._file.tell() - written
        if start != self._size:
            raise changed_fault(self._path)
        self._size += written
        return start

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Close the file, which must still be whole at its path.

        A file that was replaced, or has another size, is a fault.
        """
        with self._file:
            if kind is None:
                about = os.fstat(self._file.fileno())
                if stamp_of(self._path) != (about.st_dev, about.st_ino, self._size):
                    raise changed_fault(self._path)


def stamp_of(path: Path) -> tuple[int, int, int] | None:
    """Return device, inode and size of a file, None if it is gone.

    A file that took its place, or was cut, has another stamp.
    """
    with contextlib.suppress(OSError):
        about = path.stat()
        return about.st_dev, about.st_ino, about.st_size
    return None


def changed_fault(path: Path) -> CannotEvaluate:
    """Return the error for records that changed after they were written."""
    fault = "was removed, replaced or changed by something else while the run went on"
    return CannotEvaluate(f"{path}: {fault}; see that nothing else writes there, and run again")


def read_gzip_lines(path: Path, column: str, most: int = UNPACKED) -> Iterator[dict[str, Any]]:
    """Yield the rows of a compressed file, each with `id` and `column`.

    There are none if there is no file. These two, and `repeat` and `score` where a row has them, have the types of a
    record's fields. `most` limits the unpacked bytes.

    Raises
    ------
    BadInput
        When the file is damaged, or unpacks to more bytes.
    """
    if not path.is_file():
        return
    refuse_stand_in(path)
    left = most
    try:
        with gzip.open(path, "rb") as file:
            while line := file.readline(min(left, LINE)):
                left -= len(line)
                if not left or len(line) == LINE:
                    raise ValueError(f"it unpacks to more than {most:,} bytes, or {LINE:,} in a line")
                try:
                    row = _checked_row(orjson.loads(line), column)
                except ValueError:  # only the standard json reads half surrogates and whole numbers of any size
                    row = _checked_row(json.loads(line), column)
                yield row
    except (OSError, EOFError, ValueError, RecursionError, zlib.error) as error:
        raise BadInput(f"{path}: is damaged ({error}); delete it, or record it again") from error


def _checked_row(row: Any, column: str) -> dict[str, Any]:
    """Return a row that has the needed columns in the right types.

    Any other row raises ValueError.
    """
    if not isinstance(row, dict) or "id" not in row or column not in row:
        raise ValueError(f"a row lacks id or {column}")
    for name in ("id", "repeat", "score", column):
        if name in row and type(row[name]) not in _TYPES.get(name, (str, type(None))):
            raise ValueError(f"the {name} of a row is {row[name]!r}")
    return row


def settings_of_run(paths: RecordPaths) -> dict[str, Any]:
    """Read the settings beside a run's records.

    Raises
    ------
    BadInput
        When the file cannot be read, or is damaged.
    """
    fix = f"what its records belong to is unknown; delete {paths.records} or name another --out"
    if not paths.settings.exists():
        raise BadInput(f"{paths.settings}: is missing, so {fix}")
    settings = read_json(paths.settings, SETTINGS_BYTES, fix)
    if not isinstance(settings, dict):
        raise BadInput(f"{paths.settings}: is damaged; {fix}")
    return settings


def write_settings(paths: RecordPaths, settings: Mapping[str, Any]) -> None:
    """Write the settings beside the records that were made with them."""
    write_atomically(paths.settings, json.dumps(settings, sort_keys=True, indent=1).encode())
