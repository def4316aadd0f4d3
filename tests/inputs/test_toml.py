"""TOML files: what cannot be read, on which line a key stands, and how a fault is worded."""

import re
import sys
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from accgate.errors import key_text
from accgate.inputs.toml import TomlFile, read_toml
from tests.support.cases import each, refusal

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def written(folder: Path, text: str | bytes) -> Path:
    path = folder / "a.toml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def parsed(text: str) -> TomlFile:
    return TomlFile(Path("a.toml"), text, tomllib.loads(text))


BAD: dict[str, bytes] = {
    "empty": b"", "latin-1": b"a = 1\nb = '\xff'\n", "large": b"a" * 10_000_000, "nul": b"a = 1\0\n",
    "no value": b"a = 1\n\nb =\n", "open text": b'a = 1\nb = """x\n\n\n', "deep": b"a = " + b"[" * 5000,
    "101 arrays": b"a = " + b"[" * 100 + b"]" * 100, "deep keys": b"a" + b".a" * 2000 + b" = 1",
    "digits": b"a = 1\nb = " + b"1" * 5000,
    "hexadecimal": b"a = 1\n[t]\nb = [0, 0x" + b"f" * 5000 + b"]", "table twice": b"[a]\nb = 1\n[a]\n",
    "key twice": b"a.b = 1\na.b = 2\n", "2^63": b"a = 9223372036854775808",
    "closed table": b"a = {b = 1}\n[a.c]\n", "key, then table": b"a = 1\n[a]\n",
}  # fmt: skip


def test_a_file_that_cannot_be_used_is_one_message_with_line_and_mend(
    tmp_path: Path, messages: SnapshotAssertion
) -> None:
    faults = {}
    for name, content in BAD.items():
        (fault,) = refusal(read_toml, written(tmp_path, content), fix="do this").splitlines()
        faults[name] = re.sub(r"not valid TOML: [^;]*;", "not valid TOML: WHY;", fault)
    faults |= {name: refusal(read_toml, tmp_path / name, fix="do this") for name in ("missing.toml", ".")}
    assert faults == messages


def test_the_largest_numbers_and_the_deepest_tables_are_read(tmp_path: Path) -> None:
    text = "\ufeffa = [-9223372036854775808, 9223372036854775807]\r\nb = " + "[" * 99 + "]" * 99
    file = read_toml(written(tmp_path, text), fix="")
    assert file.data["a"] == [-(2**63), 2**63 - 1]
    assert file.line(("b",)) == 2


LINES = '''
# a comment
first = 1  # another [comment] = "x"

[plain]
key = 1
  indented = 2
[ plain . "sub table" ]
'literal key' = 1
"quoted \\u0041 = [" = 2
dotted . deep = 1
dotted."x.y" = 2
inline = { one = 1, two = { three = [ { four = 4 } ] } }
[strings]
basic = """
before = 1
[not.a.table]
"quotes" ""
"""
literal = \'\'\'
after = 1 # ]\'\'\'
after = 2
same_line = """ " ] } """
[arrays]
numbers = [ # ]
  1,
  2, # "
]
tables = [
  { name = "]" },
  { name = "}" }
]
last = 1
[[things]]
name = 1
[[things]]
name = 2
[things.part]
size = 1
[[things.list]]
size = 2

[[things.list]]
size = 3
[[things]]
[things.part]
size = 4
'''


@each("newline", ["\n", "\r\n"])
@each(
    ("key", "line"),
    [
        (("first",), 3),
        (("plain", "sub table", "quoted A = ["), 10),
        (("plain", "sub table", "dotted", "x.y"), 12),
        (("plain", "sub table", "inline", "two", "three", 0, "four"), 13),
        (("strings", "before"), 14),  # no such key: the line of its table
        (("strings", "after"), 22),
        (("arrays", "numbers", 1), 25),
        (("arrays", "tables", 1, "name"), 29),
        (("things", 1, "part", "size"), 39),
        (("things", 1, "list", 0, "size"), 41),
        (("things", 1, "list", 1, "size"), 44),
        (("things", 2, "part", "size"), 47),
        (("nowhere", "at", "all"), 1),
    ],
)  # fmt: skip
def test_every_kind_of_key_is_found_on_its_line(key: tuple[str | int, ...], line: int, newline: str) -> None:
    assert parsed(LINES.replace("\n", newline)).line(key) == line


VALUES = st.sampled_from(
    ["1", "true", '"x = 1"', "'#'", "1979-05-27", "[1,\n 2, # ]\n\n]",
     '"""\na = 1\n[b]\n"""', "'''\n]\n'''", "{ a = 1 }",
     '"\u2028\x85 [\x7e]"', "[ '''\n''', [\n], {a = 1}]", '"""a\\\n  b"""', "[]"]
)  # fmt: skip


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["", "\n", "# [c] = \n", "  \n\n"]), VALUES), max_size=12), st.booleans())
def test_keys_are_found_whatever_values_stand_before_them(parts: list[tuple[str, str]], windows: bool) -> None:
    text, lines = "", {}
    for i, (gap, value) in enumerate(parts):
        text += gap + (f"[table{i}]\n" if i % 3 == 2 else "")
        key = (f"table{i - (i + 1) % 3}", f"key{i}") if i >= 2 else (f"key{i}",)
        lines[key] = text.count("\n") + 1
        text += f"key{i} = {value}\n"
    file = parsed(text.replace("\n", "\r\n") if windows else text)
    assert {key: file.line(key) for key in lines} == lines


@settings(deadline=None)
@given(st.lists(st.text(st.characters(max_codepoint=0xFFFF, exclude_categories=["Cs"])), min_size=1, max_size=4))
def test_a_key_in_a_message_is_toml_that_names_the_key_and_stays_on_one_line(key: list[str]) -> None:
    text = key_text(tuple(key))
    assert text.isprintable()
    value = tomllib.loads(f"{text} = 1")
    for part in key:
        value = value[part]
    assert value == 1
