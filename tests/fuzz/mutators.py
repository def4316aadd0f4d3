"""How a file is damaged: by bytes and words, and by what its form means, from hypothesis's choices."""

from __future__ import annotations

import copy
import gzip
import io
import json
import sys
import zipfile
import zlib
from collections.abc import Callable, MutableMapping, MutableSequence
from typing import Any

from hypothesis import strategies as st

from tests.interop.inspect_logs import archive
from tests.support.gates import toml

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Draw = Callable[[st.SearchStrategy[Any]], Any]
NASTY: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 0.5, 100, 1e308, -0.0, 2**63, -(2**63), 10**400, float("nan"), float("inf"), "", " ",
    "NaN", "0", "-1", "1e999", "null", "\0", "\ud800", "\u202egnp.exe", "\x1b[31mred", "a\nb", "..", "../..", "/",
    "/etc/passwd", "/dev/zero", "~root", "%2e%2e%2f", "::error::", "<script>", "{{ 7 * 7 }}", "{% for %}", "é" * 50,
    "a" * 70_000, "[" * 5_000, '{"a":' * 3_000, "(" * 3_000, "\\" * 500, "1" * 5_000, [], {}, [[]], [{}], [None],
    {"": None}, {"a": {"b": []}},
)  # fmt: skip
DEEP = 2_000  # lists within lists
WORDS = (
    b"", b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\n", b"\r", b"\r\n", b"\x85", b"\xe2\x80\xa8", b",",
    b":", b"=", b'"', b"'", b'"""', b"'''", b"[", b"]", b"[[", b"{", b"}", b"\\", b"\\u0000", b"\\ud800", b"#", b"- ",
    b"? ", b"&a ", b"*a ", b"!!python/object:os.system ", b"!!binary ", b"<<: ", b"|\n", b"-", b"+", b".", b"0",
    b"1e999", b"1_0", b"nan", b"inf", b"null", b"true", b"false", b"1979-05-27", b"07:32:00", b"{{", b"}}", b"{%",
    b"%}", b"{#", b"{% for i in range(9999) %}", b"{% endfor %}", b"{% if %}", b"{% block body %}",
    b"{% extends 'comment.md.j2' %}", b"{% include 'x' %}", b"{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
    b"{{ ''.__class__ }}", b"{{ self }}", b"{{ loop }}", b"|safe", b"|join", b"|length", b"|first", b"(", b")", b"|",
    b"~", b"**", b"%", b"[" * 3_000, b"9" * 5_000, b"a" * 70_000, b"\n" * 5_000, b" " * 20_000, b"{" * 3_000,
    b"(a+)+$", b"a." * 2_000,
)  # fmt: skip


FORMLESS = (
    ValueError, LookupError, TypeError, AttributeError, OSError, EOFError, RuntimeError, zipfile.BadZipFile,
    zlib.error,
)  # fmt: skip


@st.composite
def damaged(draw: Draw, content: bytes, ending: str, others: tuple[bytes, ...] = ()) -> bytes:
    """The content of a file after one damage of its form, or some of its bytes; `others` are files to take parts of."""
    by_form = FORMS.get(ending)
    if by_form is not None and draw(st.integers(0, 3)):
        try:
            return by_form(draw, content)
        except FORMLESS:
            pass  # it was damaged before
    return of_bytes(draw, content, others)


def of_bytes(draw: Draw, content: bytes, others: tuple[bytes, ...] = ()) -> bytes:
    """One to four changes: a part is cut out, doubled or moved, a word put in, a bit turned, or the end cut off."""
    for _ in range(draw(st.integers(1, 4))):
        start, length = draw(st.integers(0, len(content))), draw(st.sampled_from((0, 1, 2, 5, 20, 200)))
        end = min(start + length, len(content))
        kind = draw(st.sampled_from(("cut out", "double", "word", "word", "bit", "cut off", "other")))
        if kind == "cut out":
            content = content[:start] + content[end:]
        elif kind == "double":
            content = content[:end] + content[start:]
        elif kind == "word":
            content = content[:start] + draw(st.sampled_from(WORDS)) + content[end:]
        elif kind == "bit" and start < len(content):
            content = content[:start] + bytes([content[start] ^ 1 << draw(st.integers(0, 7))]) + content[start + 1 :]
        elif kind == "cut off":
            content = content[:start]
        elif others:
            other = draw(st.sampled_from(others))
            content = content[:start] + other[draw(st.integers(0, len(other))) :][:400] + content[end:]
    return content


def of_value(draw: Draw, value: Any) -> Any:
    """A value of JSON or TOML with one to three of its parts replaced, removed, renamed, doubled or exchanged."""
    value = [copy.deepcopy(value)]
    for _ in range(draw(st.integers(1, 3))):
        places = list(_places(value))
        parent, key = draw(st.sampled_from(places))
        kind = draw(st.sampled_from(("replace", "replace", "remove", "rename", "exchange", "wrap", "deep")))
        if kind == "replace":
            parent[key] = copy.deepcopy(draw(st.sampled_from(NASTY)))
        elif kind == "remove" and parent is not value:
            del parent[key]
        elif kind == "rename" and isinstance(parent, MutableMapping):
            parent[str(draw(st.sampled_from(NASTY)))[:100]] = parent.pop(key)
        elif kind == "exchange":
            other, at = draw(st.sampled_from(places))
            parent[key], other[at] = copy.deepcopy(other[at]), copy.deepcopy(parent[key])
        elif kind == "wrap":
            parent[key] = draw(st.sampled_from(([parent[key]], [parent[key]] * 2, {"a": parent[key]})))
        else:
            parent[key] = _Deep()
    return value[0]


class _Deep:
    """Stands for lists within lists, deeper than can be copied or written by recursion."""

    def __deepcopy__(self, memo: Any) -> _Deep:
        return self


def _places(value: Any) -> Any:
    rest = [value]
    while rest:
        parent = rest.pop()
        for key in range(len(parent)) if isinstance(parent, MutableSequence) else list(parent):
            yield parent, key
            if isinstance(parent[key], (list, dict)):
                rest.append(parent[key])


def as_json(value: Any) -> bytes:
    """A value as JSON, with what only Python's takes: NaN, and half surrogates as they are."""
    text = json.dumps(value, default=lambda _: "@deep@", ensure_ascii=False)
    return text.replace('"@deep@"', "[" * DEEP + "]" * DEEP).encode("utf-8", "surrogatepass")


def of_json(draw: Draw, content: bytes) -> bytes:
    """JSON with a damaged value, or with a key twice."""
    value = json.loads(content)
    if isinstance(value, dict) and value and not draw(st.integers(0, 6)):
        key = draw(st.sampled_from(sorted(value)))
        return as_json(value)[:-1] + b"," + as_json({key: draw(st.sampled_from(NASTY))})[1:]
    return as_json(of_value(draw, value))


def of_lines(draw: Draw, content: bytes, line_of: Callable[[Draw, bytes], bytes]) -> bytes:
    """Lines of which one is damaged, removed, doubled, or exchanged with another."""
    lines = content.splitlines(keepends=True)
    at, other = draw(st.integers(0, len(lines) - 1)), draw(st.integers(0, len(lines) - 1))
    kind = draw(st.sampled_from(("damage", "damage", "remove", "double", "exchange", "empty")))
    if kind == "damage":
        lines[at] = line_of(draw, lines[at].rstrip(b"\n")) + b"\n"
    elif kind == "remove":
        del lines[at]
    elif kind == "double":
        lines.insert(other, lines[at])
    elif kind == "exchange":
        lines[at], lines[other] = lines[other], lines[at]
    else:
        lines.insert(at, b"\n")
    return b"".join(lines)


def of_jsonl(draw: Draw, content: bytes) -> bytes:
    """JSON lines."""
    return of_lines(draw, content, of_json)


def of_csv(draw: Draw, content: bytes) -> bytes:
    """Lines of cells."""
    return of_lines(draw, content, of_cells)


def of_cells(draw: Draw, line: bytes) -> bytes:
    """A line of CSV with a cell replaced, removed or doubled."""
    cells = line.split(b",")
    at = draw(st.integers(0, len(cells) - 1))
    value = str(draw(st.sampled_from(NASTY))).encode("utf-8", "surrogatepass")
    cells[at : at + 1] = draw(st.sampled_from(([value], [], [cells[at]] * 2, [b'"' + value])))
    return b",".join(cells)


def of_toml(draw: Draw, content: bytes) -> bytes:
    """TOML with a damaged value."""
    value = of_value(draw, tomllib.loads(content.decode()))
    lines = [f"{toml(str(key))} = {_toml(inner)}\n" for key, inner in value.items()]
    return "".join(lines).replace('"@deep@"', "[" * DEEP + "]" * DEEP).encode("utf-8", "surrogatepass")


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{toml(str(key))} = {_toml(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, _Deep):
        return '"@deep@"'
    if value is None or value != value or value in (float("inf"), -float("inf")):  # noqa: PLR0124 (NaN)
        return str(value).lower()
    return toml(value) if isinstance(value, (str, bool, int, float)) else str(value)


def of_gzip(draw: Draw, content: bytes) -> bytes:
    """Compressed JSON lines, damaged within."""
    return gzip.compress(of_jsonl(draw, gzip.decompress(content)), mtime=0)


def of_archive(draw: Draw, content: bytes) -> bytes:
    """An archive with a member damaged, lost or there twice."""
    with zipfile.ZipFile(io.BytesIO(content)) as packed:
        members = [(name, packed.read(name)) for name in packed.namelist()]
    at = draw(st.integers(0, len(members) - 1))
    name, inner = members[at]
    kind = draw(st.sampled_from(("damage", "damage", "remove", "double", "rename")))
    if kind == "damage":
        members[at] = name, (of_json if draw(st.booleans()) else of_bytes)(draw, inner)
    elif kind == "remove":
        del members[at]
    elif kind == "double":
        members.append((name, inner))
    else:
        members[at] = draw(st.sampled_from(("header.json", "samples/x.json", "../x.json", "reductions.json"))), inner
    return archive(members, draw(st.sampled_from((0, 8, 93))))


FORMS: dict[str, Callable[[Draw, bytes], bytes]] = {
    ".csv": of_csv, ".eval": of_archive, ".gz": of_gzip, ".json": of_json, ".jsonl": of_jsonl, ".toml": of_toml,
}  # fmt: skip
