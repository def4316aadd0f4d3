"""TOML files whose errors name the file, the line, the key and the fix."""

import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from accgate.errors import BadInput, CannotEvaluate, Key, KeyFaults, KeyNotReady, key_text
from accgate.inputs.checkout import refuse_conflict
from accgate.inputs.paths import has_file, path_in, read_plain

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

LIMIT = 1_000_000  # bytes; a file people edit in pull requests is far smaller
DEPTH = 100  # tables in tables; Python's own limit would come as a RecursionError from anywhere
WHOLE_FIX = "a whole number of TOML has 64 bits, from -2^63 to 2^63 - 1"


@dataclass(frozen=True)
class TomlFile:
    """A parsed TOML file that can tell on which line a key stands."""

    path: Path
    text: str
    data: Mapping[str, Any]

    def path_of(self, name: str) -> Path:
        """Resolve a path that the file names, relative to its folder."""
        return path_in(self.path.parent, name)

    def has_file(self, name: str) -> bool:
        """Tell whether `path_of(name)` is a file."""
        return has_file(self.path.parent, name)

    def own_line(self, key: Key) -> int | None:
        """Return the line of the key itself, None where the file lacks it."""
        return self._lines.get(tuple(map(str, key)))

    def line(self, key: Key) -> int:
        """Return the line of the key, or of the nearest table around it."""
        return next((line for end in range(len(key), 0, -1) if (line := self.own_line(key[:end]))), 1)

    def error(self, key: Key, message: str) -> str:
        """Write an error with file, line, key and message.

        Every message about a key reads so.
        """
        return f"{self.path}:{self.line(key)}: {key_text(key)}: {message}"

    @contextmanager
    def locating(self, key: Key = ()) -> Iterator[None]:
        """Add file and line to the faults of values in the table at `key`.

        Raises
        ------
        BadInput
            `file:line: key: message` for each fault, in the order of the file.
        CannotEvaluate
            The same for what a key names and this machine lacks.
        """
        try:
            yield
        except KeyFaults as error:
            raise locate_faults(self, [((*key, *inner), fault) for inner, fault in error.faults]) from error
        except KeyNotReady as error:
            raise CannotEvaluate(self.error((*key, *error.key), error.fault)) from error

    @cached_property
    def _lines(self) -> dict[tuple[str, ...], int]:
        """First line of every key, found by parsing the file statement by statement."""
        lines: dict[tuple[str, ...], int] = {}
        table: tuple[str, ...] = ()
        arrays: dict[tuple[str, ...], int] = {}  # arrays of tables, each with the index of its last table
        for first, statement in _statements(self.text):
            parsed = tomllib.loads(statement)
            if statement.lstrip().startswith("["):
                table = _table(parsed, arrays)
                for length in range(1, len(table) + 1):
                    lines.setdefault(table[:length], first)
            else:
                for path, _ in _paths(parsed):
                    lines.setdefault(table + tuple(map(str, path)), first)
        return lines


def read_toml(path: Path, *, fix: str) -> TomlFile:
    """Read a TOML file.

    Raises
    ------
    BadInput
        When the file is missing, a directory, empty, too large, not UTF-8, not TOML, or holds what no setting
        can be; `fix` says what to do where it is missing or empty.
    """
    raw = read_plain(path, LIMIT, fix)
    try:
        text = raw.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise BadInput(f"{path}:{line}: byte {error.start} is not UTF-8; save the file as UTF-8 text") from error
    if not text.strip():
        raise BadInput(f"{path}:1: is empty; {fix}")
    return parsed_toml(path, text)


def parsed_toml(path: Path, text: str) -> TomlFile:
    """Parse the text of a TOML file, which messages call `path`.

    Raises
    ------
    BadInput
        When the text is not TOML, too deep, or holds numbers that nothing here takes.
    """
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        refuse_conflict(path, text.encode())
        raise BadInput(_syntax_message(path, text, str(error))) from error
    except ValueError as error:  # Python reads no decimal of more than 4,300 digits
        long = re.search(r"\d[\d_]{4299,}", text)
        line = text[: long.start()].count("\n") + 1 if long else 1
        raise BadInput(f"{path}:{line}: holds a number of thousands of digits; {WHOLE_FIX}") from error
    except RecursionError as error:
        raise BadInput(f"{path}: is nested too deeply; is it the right file?") from error
    if _too_deep(data):
        raise BadInput(f"{path}: is nested too deeply; is it the right file?")
    file = TomlFile(path, text, data)
    huge = [key for key, value in _paths(data) if isinstance(value, int) and not -(2**63) <= value < 2**63]
    if huge:
        raise locate_faults(file, ((key, f"is a number of more than 64 bits; {WHOLE_FIX}") for key in huge))
    return file


def _too_deep(data: Any) -> bool:
    level = [data]
    for _ in range(DEPTH):
        nested = [value for value in level if isinstance(value, (dict, list))]
        level = [child for value in nested for child in (value.values() if isinstance(value, dict) else value)]
    return bool(level)


def _syntax_message(path: Path, text: str, message: str) -> str:
    place = re.search(r" \(at (?:line (\d+), column (\d+)|end of document)\)$", message)
    line = int(place[1]) if place and place[1] else text.rstrip().count("\n") + 1
    fact = message[: place.start()] if place else message
    if re.match(r"Cannot (declare|overwrite|mutate|redefine)|Duplicate", fact):
        fix = "each table and key may appear once; rename or remove one of the two"
    else:
        fix = "see https://toml.io for the syntax"
    return f"{path}:{line}: is not valid TOML: {fact}; {fix}"


# What TOML text is made of, as far as it tells where a statement ends.
TOKENS = re.compile(
    r"""
    \"{3}(?:\\.|[^\\])*?\"{3,5}   # text over several lines, which may end with up to two quotes of its own
    | \'{3}.*?\'{3,5}
    | \"(?:\\.|[^"\\\n])*\"
    | \'[^'\n]*\'
    | \#[^\n]*
    | [\[\]{}\n]
    """,
    re.VERBOSE | re.DOTALL,
)


def _statements(text: str) -> Iterable[tuple[int, str]]:
    """Yield (first line, text) of each header and key/value of valid TOML.

    A statement ends with a line on which no bracket is open.
    """
    text = text.replace("\r\n", "\n") + "\n"
    start = depth = 0
    line = first = 1
    for token in TOKENS.finditer(text):
        piece = token[0]
        line += piece.count("\n")
        if piece in "[{":
            depth += 1
        elif piece in "]}":
            depth -= 1
        elif piece == "\n" and not depth:
            statement = text[start : token.start()]
            if statement.strip() and not statement.lstrip().startswith("#"):
                yield first, statement
            start, first = token.end(), line


def _table(header: Any, arrays: dict[tuple[str, ...], int]) -> tuple[str, ...]:
    """Return a parsed header's path.

    The path has the index of each array element that it goes through or begins.
    """
    table: tuple[str, ...] = ()
    while header:
        ((key, header),) = header.items()
        table += (key,)
        if isinstance(header, list):  # of `[[...]]`, at its end
            arrays[table] = arrays.get(table, -1) + 1
            header = header[0]
        if table in arrays:
            table += (str(arrays[table]),)
    return table


def _paths(parsed: Any) -> Iterable[tuple[Key, Any]]:
    """Yield every path of a parsed value with the value there.

    Paths through arrays have the indices of their elements.
    """
    is_table = isinstance(parsed, dict)
    for key, value in parsed.items() if is_table else enumerate(parsed if isinstance(parsed, list) else ()):
        yield (key,), value
        for path, inner in _paths(value):
            yield (key, *path), inner


def locate_faults(file: TomlFile, faults: Iterable[tuple[Key, str]]) -> BadInput:
    """Make one error with a message for each (key, fault), in the file's order."""
    return BadInput(*(file.error(key, fault) for key, fault in sorted(faults, key=lambda f: file.line(f[0]))))
