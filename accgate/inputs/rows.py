"""Rows of JSONL files and of tables, each with its line.

This is the one place that reads what users bring.
"""

import csv
import io
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import chain, islice
from pathlib import Path
from reprlib import repr as brief
from typing import Any, BinaryIO, TextIO

from accgate.errors import BadInput, reading
from accgate.inputs.checkout import MARKER, MERGE, UTF16, refuse_conflict, refuse_stand_in
from accgate.inputs.paths import read_plain, with_lf

Row = dict[str, Any]
BOM = "\ufeff"
# Columns that say which sample a row is of, as texts or as their digests; lm-evaluation-harness writes doc_hash.
# The file of a reference, and the settings beside records, have digests of more: what `compare` compares is COMPARED.
NAMES = ("target", "prompt", "question", "input", "doc", "dataset")
IDENTITY = frozenset(f"{name}{end}" for name in NAMES for end in ("", "_hash", "_digest", "_sha256"))
COMPARED = frozenset((*NAMES, "extract", "metric", "files"))
ROW = 100_000_000  # bytes of a line, far more than a row with pictures has
TABLE = 2_000_000_000  # bytes of a CSV file, which is held whole
TABLES, TABBED = (".csv", ".tsv", ".tab"), (".tsv", ".tab")
HEADER = re.compile(rb"(?!(\xef\xbb\xbf)?\s*[{\[])\S[^\n]*[,;\t]")  # of a table in a file that may hold JSONL as well
WORKBOOKS = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")  # how an .xlsx or .ods begins, and an .xls
# What a Western European text in Windows-1252 or Latin-1 does not hold: signs that letters of other code pages become,
# three letters or signs beyond ASCII in a row, the Hungarian letter that looks like a Portuguese one, and UTF-8.
LETTERS = "\u00c0-\u00cf\u00d1-\u00d6\u00d8-\u00dc\u00df-\u00ef\u00f1-\u00f6\u00f8-\u00fc\u0152\u0153"
SIGNS = "\u00a0\u00a1\u00a3\u00a7\u00a9-\u00ab\u00ae\u00b0\u00b2\u00b4\u00b5\u00b7\u00ba\u00bb\u00bf\u20ac"
QUOTES = "\u2013\u2014\u2018\u2019\u201c-\u201e\u2022\u2026"
FOREIGN = re.compile(f"[^\0-\x7f{LETTERS}{SIGNS}{QUOTES}]|[\u00a1-\u00ff]{{3}}|\\A[^\u00e3]*\u00f5[^\u00e3]*\\Z")
IN_UTF8 = re.compile(rb"[\xc2-\xf4][\x80-\xbf]")
# What an answer may be called in a word, and the share of it that is right; the last are spreadsheets' own in other
# languages than English.
MARKS = {
    **dict.fromkeys(("true", "yes", "correct", "right", "pass", "passed", "success", "resolved"), 1.0),
    **dict.fromkeys(("wahr", "vrai", "verdadero", "verdadeiro", "vero", "waar", "prawda", "истина"), 1.0),
    **dict.fromkeys(("false", "no", "incorrect", "wrong", "fail", "failed", "failure", "unresolved"), 0.0),
    **dict.fromkeys(("falsch", "faux", "falso", "onwaar", "fałsz", "ложь"), 0.0),
}
AMBIGUOUS = re.compile(r"[-+]?[1-9]\d{0,2},\d{3}")  # a number with a decimal comma, or with thousands
WHOLE = 2.0**63  # orjson rounds whole numbers beyond 64 bits to floats, none of them smaller than this


def read_table(path: Path) -> Iterator[tuple[int, Row]]:
    """Yield (line, row) of every row of a table or a JSONL file.

    The file's ending tells which it is. A JSONL file is never held whole. Cells are separated by commas, semicolons or
    tabs, as the header shows. Text is UTF-8; that of a table may also be UTF-16 with its mark, or Windows-1252 where it
    can be nothing else.

    Raises
    ------
    BadInput
        With file and line, for a file that cannot be read, is in another encoding, or holds a line that is no row.
    """
    refuse_stand_in(path)
    with reading(path, "give a JSONL or CSV file"):
        if path.suffix.lower() in TABLES:
            yield from _table(path, read_plain(path, TABLE))
        else:
            with path.open("rb") as file:
                yield from _jsonl(path, file)


def _jsonl(path: Path, file: BinaryIO) -> Iterator[tuple[int, Row]]:
    """Yield rows as the standard json module reads them.

    orjson, which is several times faster, reads most of them.
    """
    from orjson import loads

    for number, line in enumerate(iter(partial(file.readline, ROW), b""), 1):
        if number == 1 and _begins_table(path, line):
            yield from _table(path, line + file.read(TABLE))
            return
        if len(line) == ROW:
            raise BadInput(f"{path}:{number}: is a line of {ROW:,} bytes or more; write one object a line")
        try:
            row = loads(line)
        except ValueError:  # no JSON, or what only json takes: NaN, half surrogates, deep nesting
            text = _text(line, path, number)
            if not text.strip():
                continue
            row = _by_json(text, path, number)
        if type(row) is not dict:
            raise BadInput(f"{path}:{number}: is not a JSON object; write one object a line")
        yield number, _by_json(_text(line, path, number), path, number) if _has_large(row) else row


def _begins_table(path: Path, line: bytes) -> bool:
    """Tell whether a first line begins a workbook, or in a .txt a table."""
    is_text = path.suffix.lower() == ".txt"
    return line.startswith(WORKBOOKS) or (is_text and (line[:2] in UTF16 or HEADER.match(line) is not None))


def _has_large(row: Row) -> bool:
    """Tell whether a row holds a float that may stand for a whole number.

    orjson rounds whole numbers beyond 64 bits to such floats.
    """
    rest: list[Any] = [row]
    for value in rest:  # which grows
        kind = type(value)
        if kind is float and not -WHOLE < value < WHOLE:
            return True
        if kind is list or kind is dict:
            rest.extend(value.values() if kind is dict else value)
    return False


def _text(line: bytes, path: Path, number: int) -> str:
    try:
        text = line.decode()
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}:{number}: is not UTF-8; save the file as UTF-8 text") from error
    return text.removeprefix(BOM) if number == 1 else text


def _by_json(text: str, path: Path, number: int) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        fault = f"is not a JSON object ({error}); is the file cut off? Write one object a line"
        if text.startswith(MARKER):
            fault = MERGE
        raise BadInput(f"{path}:{number}: {fault}") from error


def _table(path: Path, raw: bytes) -> Iterator[tuple[int, Row]]:
    raw = with_lf(raw)  # line ends within cells are the checkout's as well
    encoding = _encoding(path, raw)

    def text_of_table() -> TextIO:
        return io.TextIOWrapper(io.BytesIO(raw), encoding, newline="")

    delimiter, skipped = _delimiter(path, text_of_table)
    reader = _cells(text_of_table(), delimiter)
    try:
        header: list[str] = next(islice(reader, skipped, None), [])
        for cells in chain([header], reader):
            if cells and cells[0].startswith(MARKER) and "\n" not in cells[0]:
                refuse_conflict(path, raw)
            if cells and len(cells) != len(header):
                counts = f"has {len(cells)} cells under a header of {len(header)}"
                raise BadInput(f"{path}:{reader.line_num}: {counts}; is the file cut off?")
            if cells and cells is not header:
                yield reader.line_num, dict(zip(header, cells, strict=True))
    except csv.Error as error:
        raise BadInput(f"{path}:{reader.line_num}: is not CSV ({error})") from error


def _cells(text: TextIO, delimiter: str) -> Any:
    return csv.reader(text, strict=True, delimiter=delimiter)


def _delimiter(path: Path, text: Callable[[], TextIO]) -> tuple[str, int]:
    """Return the separator of a table's cells, and how many lines declare it.

    Raises
    ------
    BadInput
        When more than one sign could.
    """
    if match := re.match(r"sep=(.)\r?\n", text().readline()):  # as Excel writes and reads it
        return match[1], 1
    if path.suffix.lower() in TABBED:
        return "\t", 0
    fitting = [sign for sign in ",;\t" if _columns(text(), sign, rows=1) > 1]
    if len(fitting) > 1:
        fitting = [sign for sign in fitting if _columns(text(), sign) > 1] or fitting
    if len(fitting) > 1:
        fix = f"write the right one as a line of its own before the header: sep={fitting[0]}"
        raise BadInput(f"{path}:1: {' or '.join(map(repr, fitting))} may separate its columns; {fix}")
    return (*fitting, ",")[0], 0


def _columns(text: TextIO, delimiter: str, rows: int | None = None) -> int:
    """Count the cells that each of the first rows has.

    Return 0 where rows differ, or are no CSV.
    """
    try:
        counts = {len(cells) for cells in islice(_cells(text, delimiter), rows) if cells}
    except csv.Error:
        return 0
    return counts.pop() if len(counts) == 1 else 0


def _encoding(path: Path, raw: bytes) -> str:
    """Return the encoding of a table's text.

    Raises
    ------
    BadInput
        For a workbook, and with the first line that is not UTF-8 where the text cannot be told.
    """
    if raw.startswith(WORKBOOKS):
        raise BadInput(f"{path}: is a workbook and not text; save the sheet as CSV (in Excel: CSV UTF-8)")
    encoding = "utf-16" if raw[:2] in UTF16 else "utf-8-sig"
    try:
        raw.decode(encoding)
    except UnicodeDecodeError as error:
        if raw[:2] in UTF16 or IN_UTF8.search(raw) or FOREIGN.search(raw.decode("cp1252", "replace")):
            line = raw.count(b"\n", 0, error.start) + 1
            raise BadInput(f"{path}:{line}: is not UTF-8; save the file as UTF-8 text") from None
        return "cp1252"
    return encoding


def id_of(row: Mapping[str, Any], path: Path, line: int) -> str:
    """Return the id of a row of scores, as text.

    Raises
    ------
    BadInput
        With file and line, where it is neither text nor a whole number.
    """
    value = row.get("id")
    if isinstance(value, bool) or not isinstance(value, (str, int)) or value == "":
        raise BadInput(f"{path}:{line}: id is {brief(value)}; every sample needs an id, text or a whole number")
    return str(value)


def repeat_of(row: Mapping[str, Any], path: Path, line: int) -> int:
    """Return the repeat of a row of scores, 0 where it has none.

    Raises
    ------
    BadInput
        With file and line, where it is no whole number from 0.
    """
    value = row.get("repeat", 0)
    if isinstance(value, str):
        digits = value.strip()
        value = int(digits) if len(digits) <= 9 and digits.isascii() and digits.isdigit() else value
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise BadInput(f"{path}:{line}: repeat is {brief(value)}; write a whole number, 0 or more")
    return value


def score_of(row: Mapping[str, Any], path: Path, line: int) -> float | None:
    """Return the score of a row of scores, None where its sample failed.

    Raises
    ------
    BadInput
        With file and line, where there is none or it is not a finite number.
    """
    if "score" not in row:
        raise BadInput(f"{path}:{line}: has no score; write points, or null where the sample failed")
    value = row["score"]
    if value is None or value == "":
        return None
    try:
        number = _number_in(value, path, line) if isinstance(value, str) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise BadInput(f"{path}:{line}: score is {brief(value)}; write a finite number of points")
    return number


def _number_in(text: str, path: Path, line: int) -> float:
    """Return the number that a text is, or that its mark stands for."""
    text = text.strip()
    if AMBIGUOUS.fullmatch(text):
        fault = f"score is {text!r}, whose comma may stand before decimals or after thousands"
        raise BadInput(f"{path}:{line}: {fault}; write {text.replace(',', '.')} or {text.replace(',', '')}")
    mark = MARKS.get(text.casefold())
    return float(text.replace(",", ".", 1)) if mark is None else mark


def is_mark(value: Any) -> bool:
    """Tell whether a score says right or wrong in a word or boolean.

    >>> is_mark(True), is_mark("passed"), is_mark("TRUE"), is_mark("1")
    (True, True, True, False)
    """
    return isinstance(value, bool) or (isinstance(value, str) and value.strip().casefold() in MARKS)


def text_of(row: Mapping[str, Any], column: str, path: Path, line: int) -> str | None:
    """Return the label of a row of scores in a column, if any.

    Raises
    ------
    BadInput
        With file and line, where it is neither text nor a whole number.
    """
    value = row.get(column)
    if value is None or value == "":
        return None
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise BadInput(f"{path}:{line}: {column} is {brief(value)}; write text or a whole number, or null for none")
    return str(value)


def plain_of(value: Any) -> str:
    """Return a value of a row as text.

    Byte order marks and superfluous spaces are left out. None is empty text.

    >>> plain_of(" 4\\n 2 "), plain_of(42.0), plain_of(["a"]), plain_of(None)
    ('4 2', '42', '["a"]', '')
    """
    if not isinstance(value, str):
        value = "" if value is None else json.dumps(value, ensure_ascii=False, sort_keys=True)
    return " ".join(value.replace(BOM, " ").split()).removesuffix(".0")


def mark_of(value: Any) -> int:
    """Return a number for a value of a row, 0 where it is missing.

    Equal values have equal numbers within this process.
    """
    return 0 if value is None or value == "" else hash(value if isinstance(value, str) else plain_of(value)) or 1


def holds_only(data: Any, whole: Any, *, text: int, entries: int | None = None) -> bool:
    """Tell whether JSON data has no key that `whole` lacks.

    `whole` is plain data. No text is longer than `text` characters, and no list longer than `entries`.

    >>> holds_only({"a": ["b"]}, {"a": (), "c": 1}, text=1), holds_only({"d": 1}, {"a": 1}, text=1)
    (True, False)
    """
    if isinstance(data, dict):
        return isinstance(whole, dict) and all(
            key in whole and holds_only(data[key], whole[key], text=text, entries=entries) for key in data
        )
    if isinstance(data, list):
        fits = isinstance(whole, (list, tuple)) and (entries is None or len(data) <= entries)
        return fits and all(holds_only(d, w, text=text, entries=entries) for d, w in zip(data, whole, strict=False))
    return not isinstance(data, str) or len(data) <= text
