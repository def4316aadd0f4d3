"""The run-record file: what goes in comes out, a crash costs at most the last line, and damage is named."""

from __future__ import annotations

import contextlib
import dataclasses
import gzip
import json
import re
import string
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from accgate.errors import BadInput, CannotEvaluate
from accgate.records.file import Record, RecordWriter, file_name, read_gzip_lines, read_records, to_line
from accgate.records.log import read_log
from accgate.records.replacement import refuse_unwritable, write_atomically, write_gzip_lines
from tests.support.cases import each
from tests.support.cases import refusal as refusal_of
from tests.support.gates import contents

ON_DISK = settings(deadline=None, max_examples=25)  # a slow disk is no fault
# Any text: surrogates alone, NUL, line separators that only some readers take as such.
TEXT = st.text(st.characters(codec=None) | st.sampled_from('\n\r\0\u2028\u2029\x85\ud800\udfff"\\{}'), max_size=20)
RECORD = Record("a", 0, 100.0, "4", "4", " 4\n", "stop", 7, 2, 0.25, None)
RECORDS = st.builds(
    Record,
    id=TEXT,
    repeat=st.integers(0, 9),
    score=st.none() | st.floats(allow_nan=False, allow_infinity=False),
    target=TEXT,
    answer=st.none() | TEXT,
    reply=st.none() | TEXT,
    finish_reason=st.none() | TEXT,
    prompt_tokens=st.none() | st.integers(0),
    completion_tokens=st.none() | st.integers(0),
    seconds=st.floats(0, 1e6),
    error=st.none() | TEXT,
    cluster=st.none() | TEXT,
    group=st.none() | TEXT,
    label=st.none() | TEXT,
)
DISTINCT = st.lists(RECORDS, max_size=5, unique_by=lambda record: record.key)


def numbered(count: int, **changes: Any) -> list[Record]:
    return [dataclasses.replace(RECORD, id=f"{i:016x}", **changes) for i in range(count)]


def refusal(path: Path) -> str:
    fault = refusal_of(read_records, path)
    assert fault == refusal_of(read_log, path)
    return fault.removeprefix(str(path))


@contextlib.contextmanager
def disk_of(size: int) -> Iterator[None]:
    """No file can grow beyond so many bytes, as on a full disk."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@ON_DISK
@given(DISTINCT)
def test_what_is_appended_is_read_back(tmp_path_factory: pytest.TempPathFactory, records: list[Record]) -> None:
    path = tmp_path_factory.getbasetemp() / "round" / "trip.jsonl"
    with RecordWriter(path) as writer:
        for record in records:
            writer.append(record)
    assert read_records(path) == records == list(read_log(path))
    assert path.read_bytes().decode("utf-8").count("\n") == len(records)


def test_a_new_writer_starts_with_the_kept_records_alone_in_lines_that_people_can_read(tmp_path: Path) -> None:
    path, kept = tmp_path / "kept.jsonl", numbered(2, reply="größer ≥ 4 \u2028")
    path.write_bytes(b"".join(map(to_line, numbered(5))) + b'{"torn')
    with RecordWriter(path, kept):
        assert read_records(path) == kept
        assert "größer ≥ 4 \u2028".encode() in path.read_bytes()
        assert b"cluster" not in path.read_bytes()  # a column that this task lacks


@ON_DISK
@given(st.lists(RECORDS, min_size=1, max_size=3, unique_by=lambda record: record.key), st.data())
def test_a_file_cut_anywhere_gives_the_whole_lines(
    tmp_path_factory: pytest.TempPathFactory, records: list[Record], data: st.DataObject
) -> None:
    content = b"".join(map(to_line, records))
    cut = content[: data.draw(st.integers(0, len(content)))]
    path = tmp_path_factory.getbasetemp() / "cut.jsonl"
    path.write_bytes(cut)
    assert read_records(path) == records[: cut.count(b"\n")]


@each(
    "damaged",
    [
        b"",
        b"[1]",
        b"\xff",
        b'{"id": "a"}',
        b"[" * 100_000,
        to_line(RECORD).strip() + b"{}",
        to_line(RECORD).replace(b'"id"', b'"extra": 1, "id"').strip(),
        to_line(RECORD).replace(b'"a"', b'["a"]').strip(),
        to_line(RECORD).replace(b"100.0", b"NaN").strip(),
        to_line(RECORD).replace(b"100.0", b"1" + b"0" * 400).strip(),
    ],
)
def test_a_damaged_line_is_named_with_the_mend(tmp_path: Path, damaged: bytes) -> None:
    path = tmp_path / "m.jsonl"
    path.write_bytes(b"".join(map(to_line, numbered(2))) + damaged + b"\n" + to_line(RECORD))
    message = refusal(path)
    assert message.startswith(":3: is not a run record (")
    assert message.endswith("; the file was changed or damaged, delete it or name another --out")


JSON = st.recursive(st.none() | st.booleans() | st.floats() | TEXT, lambda inner: st.lists(inner, max_size=2))


@ON_DISK
@given(st.dictionaries(st.sampled_from([f.name for f in dataclasses.fields(Record)]), JSON).map(json.dumps))
def test_whatever_a_line_holds_it_is_a_record_or_bad_input(tmp_path_factory: pytest.TempPathFactory, row: str) -> None:
    path = tmp_path_factory.getbasetemp() / "any.jsonl"
    path.write_bytes(json.dumps({**json.loads(to_line(RECORD)), **json.loads(row)}).encode() + b"\n")
    with contextlib.suppress(BadInput):
        (record,) = read_records(path)
        assert isinstance(record.id, str)


def test_an_id_and_repeat_that_comes_twice_is_named(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    first, second = numbered(2)
    again = dataclasses.replace(first, repeat=1)
    path.write_bytes(b"".join(map(to_line, [first, again, second])))
    assert read_records(path) == [first, again, second]
    path.write_bytes(b"".join(map(to_line, [first, again, second, again])))
    assert refusal(path) == ":4: id '0000000000000000' (repeat 1) comes twice; keep one line"


def test_a_file_that_cannot_be_opened_is_bad_input(tmp_path: Path) -> None:
    assert refusal(tmp_path / "none.jsonl") == ": cannot be read: No such file or directory; name the records of a run"
    assert refusal(tmp_path) == ": cannot be read: Is a directory; name the records of a run"


def test_a_full_disk_says_so_and_leaves_a_readable_file(tmp_path: Path) -> None:
    path, records = tmp_path / "m.jsonl", numbered(20)
    size = len(to_line(records[0]))
    with RecordWriter(path, records[:2]) as writer, disk_of(6 * size + size // 2):
        for record in records[2:6]:
            writer.append(record)
        for _ in range(2):  # one line taken in part, and one that may not damage it
            with pytest.raises(CannotEvaluate) as caught:
                writer.append(records[6])
        assert str(caught.value).startswith(f"{path}: cannot be written: ")
        assert str(caught.value).endswith("; correct that, then go on with --resume")
        with disk_of(100 * size):  # room again, while the others in flight still finish
            writer.append(records[7])
    assert read_records(path) == [*records[:6], records[7]]


def test_a_folder_for_results_whose_name_is_too_long_is_refused(tmp_path: Path) -> None:
    for out in (tmp_path / ("x" * 300), tmp_path / ("x" * 300) / "out"):
        assert "File name too long; name another folder with" in refusal_of(refuse_unwritable, out)


def test_a_folder_that_cannot_be_made_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(CannotEvaluate, match=r"m\.jsonl: cannot be written: (Not a directory|File exists); correct"):
        RecordWriter(tmp_path / "file" / "m.jsonl")


NAMES = st.text(st.characters(codec="utf-8"), min_size=1) | st.text("./\\%2EFA~\0 ", min_size=1, max_size=8)


@given(NAMES)
@example(".")
@example("..")
@example("a/../b")
@example("NUL\0")
def test_a_file_name_is_safe(name: str) -> None:
    made = file_name(name)
    assert made not in {"", ".", ".."}
    assert not made.startswith(".")
    assert set(made) <= {*string.ascii_letters, *string.digits, *"_.-~@=,+ %"}


@given(NAMES, NAMES)
@example(".a", "%2Ea")
@example("..", "%2E.")
@example("a/b", "a%2Fb")
def test_different_names_have_different_files(first: str, second: str) -> None:
    assert (file_name(first) == file_name(second)) == (first == second)


def test_a_file_is_replaced_in_one_step_and_stays_on_a_full_disk(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    for content in (b"old", b"new and longer"):
        write_atomically(path, content)
        with disk_of(1000), pytest.raises(OSError, match="File too large"):
            write_atomically(path, b"x" * 5000)
        assert contents(tmp_path) == {Path("a.json"): content}


@ON_DISK
@given(st.lists(st.fixed_dictionaries({"id": TEXT, "reply": st.none() | TEXT}, optional={"repeat": st.integers()})))
def test_compressed_lines_are_read_back_and_are_the_same_bytes_each_time(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]]
) -> None:
    path = tmp_path_factory.getbasetemp() / "lines" / "rows.gz"
    write_gzip_lines(path, rows)
    content = path.read_bytes()
    assert list(read_gzip_lines(path, "reply")) == rows
    write_gzip_lines(path, rows)
    assert path.read_bytes() == content
    assert list(read_gzip_lines(path.with_name("none.gz"), "reply")) == []


@ON_DISK
@given(st.data())
def test_a_damaged_compressed_file_is_bad_input_or_unharmed(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.getbasetemp() / "damaged.gz"
    rows = [{"id": "a", "reply": "one"}, {"id": "b", "reply": "two"}]
    write_gzip_lines(path, rows)
    content = bytearray(path.read_bytes())
    if data.draw(st.booleans()):
        del content[data.draw(st.integers(0, len(content))) :]
    else:
        content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    path.write_bytes(content)
    try:
        found = list(read_gzip_lines(path, "reply"))
    except BadInput as error:
        assert str(error).startswith(f"{path}: is damaged (")  # noqa: PT017 (either end is right)
    else:
        assert found in ([], rows)


def test_compressed_lines_that_are_no_json_are_bad_input(tmp_path: Path) -> None:
    (tmp_path / "a.gz").write_bytes(gzip.compress(b'{"id": 1}\n{\n'))
    fault = refusal_of(lambda: list(read_gzip_lines(tmp_path / "a.gz", "reply")))
    assert re.search(r"a\.gz: is damaged \(.*\); delete it, or record it again", fault)
