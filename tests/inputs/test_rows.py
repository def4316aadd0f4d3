"""Lines of JSONL and CSV files: whatever the standard library reads is read, exactly as it reads it."""

import csv
import json
import math
import os
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accgate.errors import BadInput
from accgate.inputs.rows import read_table
from tests.support.cases import each

ENDS = st.sampled_from(["", " ", "\t", "\r", "\ufeff"])
whole = st.integers() | st.integers(2**63 - 3, 2**63 + 3) | st.integers(2**64 - 3, 2**64 + 3) | st.just(-(2**63) - 1)
text = st.text(max_size=5) | st.sampled_from(["\ud800", "a\udfff", "\u2028", "\x85", "\x7f", "\x00", "\U0001f600"])
values = st.recursive(
    st.none() | st.booleans() | whole | st.floats() | st.sampled_from([1e18, 2.0**63, 2.0**64, 1e300]) | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=5,
)


def written(folder: Path, content: str | bytes, name: str = "a.jsonl") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def refusal(path: Path) -> str:
    with pytest.raises(BadInput) as caught:
        list(read_table(path))
    return str(caught.value)


@given(rows=st.lists(st.dictionaries(text, values, max_size=3)), escaped=st.booleans(), end=st.sampled_from(["", "\r"]))
@settings(deadline=None, max_examples=40)
def test_objects_are_read_exactly_as_the_json_module_reads_them(tmp_path_factory, rows, escaped, end) -> None:
    lines = []
    for row in rows:
        try:
            line = json.dumps(row, ensure_ascii=escaped)
            line.encode()
        except UnicodeEncodeError:  # half a surrogate is JSON only when escaped
            line = json.dumps(row)
        lines.append(line + end)
    path = written(tmp_path_factory.getbasetemp(), "\n".join(lines))
    # repr tells 1 from 1.0 and from True, 0.0 from -0.0, and lets NaN equal itself
    assert repr(list(read_table(path))) == repr([(i, json.loads(line)) for i, line in enumerate(lines, 1)])


@given(
    line=st.text(alphabet='{}[]":,0123456789.eE+-\\/ \tunltrfas\x00\x0c\x1f\x7f\x85\u00e9NIi', max_size=12)
    | st.builds('{{"a":{}}}'.format, st.text(alphabet="0123456789.eE+-NaInfity", max_size=24))
    | st.builds('{{"a":"{}"}}'.format, st.text(alphabet="\\/udD8c0Fbfnrt\"'x\x01\t", max_size=14)),
    start=ENDS,
    end=ENDS,
)
@settings(deadline=None, max_examples=120)
def test_a_line_is_a_row_where_the_json_module_says_so(tmp_path_factory, line: str, start: str, end: str) -> None:
    line = start + line + end
    bare = line.removeprefix("\ufeff")
    path = written(tmp_path_factory.getbasetemp(), line)
    known, fault = None, ""
    try:
        known = json.loads(bare)
    except ValueError as error:
        fault = f" ({error})"
    if isinstance(known, dict) or not bare.strip():
        assert repr(list(read_table(path))) == repr([(1, known)] if known is not None else [])
    else:
        assert f"{path}:1: is not a JSON object{fault}; " in refusal(path)


@each("number", ["NaN", "1e999", "18446744073709551616", "-0"])
@each("form", ['{{"a": {}}}', '{{"a": [1, {{"b": {}}}]}}'])
def test_a_line_that_needs_the_slow_reader_stands_beside_lines_that_do_not(tmp_path, number: str, form: str) -> None:
    line, plain = form.format(number), '{"a": 1.5}'
    rows = list(read_table(written(tmp_path, f"{plain}\n\n{line}\n{plain}\n")))
    assert [number for number, _ in rows] == [1, 3, 4]
    assert repr(rows[1][1]) == repr(json.loads(line))
    assert rows[0][1] == rows[2][1] == {"a": 1.5}


def test_deep_nesting_is_refused_with_its_line(tmp_path: Path) -> None:
    path = written(tmp_path, f'{{"a": 1}}\n{{"a": {"[" * 100_000}1e30{"]" * 100_000}}}\n')
    assert f"{path}:2: is not a JSON object (" in refusal(path)


@each("cut", range(1, 27, 3))
def test_a_torn_last_line_is_refused_wherever_it_is_torn(tmp_path: Path, cut: int) -> None:
    line = '{"id": "\u00e9", "score": 10.5}'.encode()
    path = written(tmp_path, line + b"\n" + line[:cut])
    assert len(line) == 27
    assert f"{path}:2: is not " in refusal(path)


def test_two_objects_on_one_line_and_one_on_two_lines_are_refused(tmp_path: Path) -> None:
    assert ":1: is not a JSON object (Extra data" in refusal(written(tmp_path, '{"a": 1}{"a": 2}\n'))
    assert ":1: is not a JSON object (Expecting" in refusal(written(tmp_path, '{"a":\n1}\n'))


@pytest.mark.parametrize(("bom", "line"), [(b"\xff\xfe", 1), (b'{"a": 1}\n\n{"b": "\xed\xa0\x80"}', 3)])
def test_the_first_line_that_is_not_utf8_is_named(tmp_path: Path, bom: bytes, line: int) -> None:
    path = written(tmp_path, bom + b"\n")
    assert refusal(path) == f"{path}:{line}: is not UTF-8; save the file as UTF-8 text"


def test_a_byte_order_mark_belongs_at_the_start_only(tmp_path: Path) -> None:
    assert list(read_table(written(tmp_path, '\ufeff{"a": 1}\n'))) == [(1, {"a": 1})]
    assert list(read_table(written(tmp_path, '\ufeff\r\n \u00a0\n{"a": 1}'))) == [(3, {"a": 1})]
    assert ":2: is not a JSON object (" in refusal(written(tmp_path, '{"a": 1}\n\ufeff{"a": 1}\n'))


@given(rows=st.lists(st.tuples(*[st.text(st.characters(codec="utf-8"), max_size=4)] * 2), max_size=5))
@settings(deadline=None, max_examples=40)
def test_csv_cells_are_read_back_as_written(tmp_path_factory, rows: list[tuple[str, str]]) -> None:
    path = written(tmp_path_factory.getbasetemp(), "", "a.csv")
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("x", "y"), *rows])
    assert [row for _, row in read_table(path)] == [{"x": x, "y": y} for x, y in rows]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_read_once_from_start_to_end(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(b'{"a": 1}\n{"a": NaN}\n',))
    writer.start()
    (first, second) = read_table(pipe)
    writer.join()
    assert first == (1, {"a": 1})
    assert math.isnan(second[1]["a"])
