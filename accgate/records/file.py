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

READINGS = ("read", "unread", "empty", "cut", "refused", "full")  # the last two of replies to attacked prompts
SILENT = ("empty", "cut")  # where the reply came to no answer, whatever the extraction looks for
SETTINGS = ".settings.json"
ENDINGS = (".jsonl", ".prompts.jsonl.gz", SETTINGS, ".before.jsonl.gz")
FIX = "name the records of a run"
UNPACKED, LINE = 2_000_000_000, 64_000_000  # bytes of a compressed file, and of one line of it
# In the settings beside records: scored records of a run that was decided early; the whole plan of a shard's part; the
# shards whose records were merged; how long how many records took; who the replies and the server's list say answered,
# and who they say marked the answers; the options that change no answer; the digests of the files that answers depend
# on, as far as this machine has them; the versions of what lies under the engine.
STOPPED, PLAN, MERGED, MEASURED, SERVED = "stopped_with", "plan", "merged", "measured", "served"
JUDGE_SERVED, OPERATIONAL, FILES, ENVIRONMENT = "judge_served", "operational", "files", "environment"
SETTINGS_BYTES = 200_000_000  # the plan of a shard of a million samples has 20 million of them
# Not as they are: of who answered or marked, and of files, what both runs tell is compared.
NOT_COMPARED = frozenset({STOPPED, PLAN, MERGED, MEASURED, SERVED, JUDGE_SERVED, OPERATIONAL, FILES})


@dataclass(frozen=True, slots=True)
class Record:
    """What happened to one sample.

    `score` is in points, None where the sample failed, with `error` saying why. `confidence` goes from 0 to 1.
    `attacked` is the score after an attack, None where none was made; of several attacks it has one each. `cached` is
    true where the reply was kept of an earlier run.

    `reading` says how the reply was read: `read`; `unread`, where the extraction found no answer or options tie;
    `empty`; or `cut`, where it was cut off at max_tokens before an answer. None where there was nothing to read, as
    where a text's perplexity is the score, and in records of earlier versions. `reasoning` is the thought before the
    answer, of a long one its beginning and its end, and `reasoning_tokens` counts its tokens where the engine tells;
    `reply` is what follows. `attacked_reading` says for each attack how the reply to it was read: `refused` where the
    model or a filter refused, and `full` where it was cut off at a limit of the server, as well. `own_id` is the
    id that the dataset gives the sample. `acceptance` is the mean number of tokens per decoding step, as
    `accgate.engines.Reply` has it.
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
        """The id that people see, the dataset's own where it has one."""
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
    """Yield the types that JSON's values of a field have.

    Whole numbers stand for others too, lists for sequences.
    """
    for part in get_args(hint) if isinstance(hint, UnionType) else (hint,):
        yield from (int, float) if part is float else (list if get_origin(part) else part,)


_values = attrgetter(*Record.__slots__)
OPTIONAL = frozenset(each.name for each in fields(Record) if each.default is None)  # written only where there is one
_TYPES = {name: tuple(_types_in(hint)) for name, hint in get_type_hints(Record).items()}


@dataclass(frozen=True)
class RecordPaths:
    """Paths of the files of one (model, task) in a run's folder.

    `before` has the reference's replies of flips.
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
        Where a number of it is none.
    """
    for number in (record.score, record.confidence, record.seconds):
        if number is not None and not math.isfinite(number):
            raise ValueError(f"a record cannot hold {number}")
    values = zip(Record.__slots__, _values(record), strict=True)
    return json_line({name: value for name, value in values if value is not None or name not in OPTIONAL})


def read_records(path: Path) -> list[Record]:
    """Read every complete record of a file.

    A torn last line, as a killed run leaves it, is dropped.

    Raises
    ------
    BadInput
        With file and line, for a line within the file that is not a record, and for a repeated (id, repeat).
    """
    records: dict[tuple[str, int], Record] = {}
    for number, record in numbered_records(path):
        if record.key in records:
            raise BadInput(f"{path}:{number}: id {record.id!r} (repeat {record.repeat}) comes twice; keep one line")
        records[record.key] = record
    return list(records.values())


def numbered_records(path: Path) -> Iterator[tuple[int, Record]]:
    """Yield (line, record) of every complete record of a file.

    The file is never held whole. Raises as `read_records` does.
    """
    return ((number, record_of_line(path, line, number)) for number, line in numbered_lines(path))


def numbered_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield (line, text) of every complete line of a file of records.

    Raises as `read_records` does, but for its content.
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
    """Return how many lines of a file are complete."""
    with path.open("rb") as file:
        return sum(block.count(b"\n") for block in iter(partial(file.read, BLOCK), b""))


def new_records(path: Path, offset: int) -> tuple[list[Record], int]:
    """Read the complete records of a file from a byte on.

    Return also the byte where they end. Raises as `read_records` does.
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
    """Read the record of a line of a file, of this number.

    Raises
    ------
    BadInput
        Where it is none, with file and line.
    """
    with contextlib.suppress(ValueError, TypeError):  # what only the standard json reads, or has words for
        return _checked(orjson.loads(line))
    try:
        return _checked(json.loads(line, parse_constant=_no_number))
    except (ValueError, TypeError, RecursionError) as error:
        fault = f"is not a run record ({error}); the file was changed or damaged, delete it or name another --out"
        raise BadInput(f"{path}:{number}: {MERGE if line.startswith(MARKER.encode()) else fault}") from error


def records_with(path: Path, ids: AbstractSet[str]) -> Iterator[Record]:
    """Read the records of these ids in a file.

    The file is gone through once. There are none where there is no file. Of other lines only the JSON is checked;
    raises as `read_records` does.
    """
    for number, line in numbered_lines(path) if path.exists() else ():
        with contextlib.suppress(ValueError, TypeError, KeyError):  # the whole check says what is wrong, if anything is
            if orjson.loads(line)["id"] not in ids:
                continue
        if (record := record_of_line(path, line, number)).id in ids:
            yield record


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is not a number")


def _checked(columns: Any) -> Record:
    """Build a record of these fields, each of which has its type.

    Numbers are finite.
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
    """Tell whether a value of JSON is a finite number.

    It can spell a whole one that no float holds.
    """
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def _are_points(value: Any) -> bool:
    return all(each is None or is_number(each) for each in (value if isinstance(value, list) else [value]))


# Whether a field can hold a value of JSON that is not null.
CAN_HOLD: Mapping[str, Callable[[Any], bool]] = {
    "score": is_number,
    "seconds": is_number,
    "acceptance": lambda value: is_number(value) and value >= 1.0,
    "confidence": lambda value: is_number(value) and 0.0 <= value <= 1.0,
    "reading": lambda value: value in READINGS,
    "attacked": _are_points,
    "attacked_reading": lambda value: isinstance(value, list) and all(each in (None, *READINGS) for each in value),
}


class RecordWriter:
    """A writer that appends records, each in one write.

    So a kill tears at most the last line.
    """

    def __init__(self, path: Path, records: Iterable[Record] = ()) -> None:
        """Start the file anew with the records of an earlier run.

        They replace it in one step. `starts` has the byte where the line of each of them begins.
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
        """Write one record.

        Return the byte where its line begins.

        Raises
        ------
        CannotEvaluate
            When the disk is full or the file cannot be written; what was written stays readable. When somebody else
            wrote to the file, or cut it.
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

    def __enter__(self) -> RecordWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Close the file.

        Where nothing else went wrong, it must still be the one at its path, with all records.
        """
        with self._file:
            if kind is None:
                about = os.fstat(self._file.fileno())
                if stamp_of(self._path) != (about.st_dev, about.st_ino, self._size):
                    raise changed_fault(self._path)


def stamp_of(path: Path) -> tuple[int, int, int] | None:
    """Return device, inode and size of a file.

    They tell it apart from one that took its place, or was cut. None where it is gone.

    >>> stamp_of(Path("no such file")) is None
    True
    """
    with contextlib.suppress(OSError):
        about = path.stat()
        return about.st_dev, about.st_ino, about.st_size
    return None


def changed_fault(path: Path) -> CannotEvaluate:
    """Return the fault of records that are not as they were written."""
    return CannotEvaluate(
        f"{path}: was removed, replaced or changed by something else while the run went on; see that nothing else "
        "writes there, and run again"
    )


def read_gzip_lines(path: Path, column: str, most: int = UNPACKED) -> Iterator[dict[str, Any]]:
    """Yield rows with `id` and `column` in a compressed file.

    It has at most so many bytes. There are none where there is no file. These two, and `repeat` and `score` where a row
    has them, are of the types of a record.

    Raises
    ------
    BadInput
        When the file is damaged, or unpacks to more than such a file has.
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
                except ValueError:  # half surrogates, and whole numbers of any size, are only the standard json's
                    row = _checked_row(json.loads(line), column)
                yield row
    except (OSError, EOFError, ValueError, RecursionError, zlib.error) as error:
        raise BadInput(f"{path}: is damaged ({error}); delete it, or record it again") from error


def _checked_row(row: Any, column: str) -> dict[str, Any]:
    """Return the row, which has its columns, each of its type."""
    if not isinstance(row, dict) or "id" not in row or column not in row:
        raise ValueError(f"a row lacks id or {column}")
    for name in ("id", "repeat", "score", column):
        if name in row and type(row[name]) not in _TYPES.get(name, (str, type(None))):
            raise ValueError(f"the {name} of a row is {row[name]!r}")
    return row


def settings_of_run(paths: RecordPaths) -> dict[str, Any]:
    """Read the settings that records were made with.

    Raises
    ------
    BadInput
        When the file cannot be read, or is damaged.
    """
    unknown = f"what its records belong to is unknown; delete {paths.records} or name another --out"
    if not paths.settings.exists():
        raise BadInput(f"{paths.settings}: is missing, so {unknown}")
    settings = read_json(paths.settings, SETTINGS_BYTES, unknown)
    if not isinstance(settings, dict):
        raise BadInput(f"{paths.settings}: is damaged; delete {paths.records} or name another --out")
    return settings


def write_settings(paths: RecordPaths, settings: Mapping[str, Any]) -> None:
    """Write the settings beside the records that were made with them."""
    write_atomically(paths.settings, json.dumps(settings, sort_keys=True, indent=1).encode())
