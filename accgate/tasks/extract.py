"""The answer in a reply.

It is found by its form, by regular expression, by JSON path, or is the whole reply.
"""

import json
import re
from typing import Any, Literal

from accgate.errors import BadInput
from accgate.inputs.samples import compiled_path
from accgate.metrics.equality import box_content
from accgate.metrics.numbers import number_in
from accgate.signals import limited_seconds
from accgate.tasks.code import python_in
from accgate.tasks.schema import Extract, Form

WHOLE = "$"  # the path of the value itself, for which no library is loaded
_DECODER, _ENCODER = json.JSONDecoder(), json.JSONEncoder(ensure_ascii=False)
_BRACKET = re.compile(r"(?<!\\)[{\[]\s*")
_BRACKET_OR_STRING = re.compile(r'[{}\[\]]|"(?:[^"\\]|\\.)*"', re.DOTALL)
_KEY = re.compile(r"'|\w+\s*:")  # of an object in Python's or JavaScript's notation
SECONDS = 10.0  # of processor time that a regular expression may take on a reply
_DIGITS = r"-?\??(?:\\d|\[0-9\])\+"  # as in `-?\d+`


def by_form(
    reply: str, form: Form, which: Literal["first", "last"] = "last", program: str = "", language: str = ""
) -> str | None:
    """Return the first or last number, what the last \boxed{} holds, or code.

    The code is Python. None where there is none.

    >>> by_form("It costs $1,200.", "number"), by_form("Nothing.", "number")
    ('1200', None)
    """
    if form == "number":
        return number_in(reply, which, language)
    return (box_content(reply) or None) if form == "boxed" else python_in(reply, program, which)


def reads_digits_alone(extract: Extract) -> bool:
    r"""Tell whether an extraction gives nothing but digits with a sign.

    Every version reads these alike. Or it reads by itself.

    >>> reads_digits_alone(Extract(regex=r"is (-?\d+)")), reads_digits_alone(Extract(regex="[0-9,.]+"))
    (True, False)
    """
    regex = extract.regex or ""
    digits = re.fullmatch(_DIGITS, regex) or (regex.count("(") == 1 and re.search(rf"\({_DIGITS}\)", regex))
    return extract.form == "number" or bool(digits)


def by_regex(reply: str, pattern: str, which: Literal["first", "last"] = "last") -> str | None:
    """Return group 1 of the first or last match.

    It is the whole match without groups. None where nothing matches.

    Raises
    ------
    BadInput
        When the pattern takes without end, as `(a+)+$` does on a long word.

    Examples
    --------
    >>> by_regex("12 + 7 is 19", r"-?\\d+")
    '19'
    """
    answer: str | None = None
    try:
        with limited_seconds(SECONDS):
            for match in re.finditer(pattern, reply):
                answer = match[match.re.groups]
                if which == "first":
                    break
    except TimeoutError as error:
        fault = f"takes more than {SECONDS:g} s of processor time on a reply of {len(reply):,} characters"
        raise BadInput(f"regex {pattern!r}: {fault}; repeat nothing that repeats itself, as in (a+)+") from error
    return answer


UNREAD_COST = 10_000  # characters, as which a bracket counts that cannot be read


def by_json_path(reply: str, path: str) -> str | None:
    """Return the first value at the path in the reply's first JSON value.

    Text is as it is, others are JSON.

    >>> by_json_path('Sure: {"answer": {"n": 4}}', "$.answer.n")
    '4'
    """
    parsed = json_in(reply)
    if parsed is None:
        return None
    try:
        values = [*parsed] if path == WHOLE else _values_at(path, parsed[0])
        if not values:
            return None
        return values[0] if isinstance(values[0], str) else _ENCODER.encode(values[0])
    except RecursionError:  # a reply nested too deeply holds no answer
        return None


def _values_at(path: str, value: Any) -> list[Any]:
    import jsonpath

    try:
        return list(compiled_path(path).findall(value))
    except jsonpath.JSONPathError:
        return []


def json_in(reply: str) -> tuple[Any] | None:
    """Return the first JSON object or array in a text.

    Prose or a code fence may be around it. None without one. What begins as JSON and is none, as a reply that was cut
    off, is passed over whole: a value within it is no answer.
    """
    left = 10 * len(reply) + 100_000  # characters that are read, or a thousand unclosed brackets would each read all
    start = -1
    while (match := _BRACKET.search(reply, start + 1)) is not None and left >= 0:
        start = match.start()
        try:
            return (_DECODER.raw_decode(reply, start)[0],)
        except json.JSONDecodeError as error:
            left -= (len(reply) if error.msg.startswith("Unterminated") else error.pos) - start
            left -= error.pos // 100  # the error counts the lines before it
            is_prose = error.pos == start + len(match[0]) and not _KEY.match(reply, error.pos)
        except (ValueError, RecursionError):  # a number of thousands of digits, or too deep
            left -= UNREAD_COST
            is_prose = False
        if not is_prose:
            end = _end_of(reply, start)
            left -= end - start
            start = end
    return None


def _end_of(text: str, start: int) -> int:
    """Find the bracket that closes the one at a place, strings passed over.

    It is the end of the text without it.
    """
    depth = 0
    for match in _BRACKET_OR_STRING.finditer(text, start):
        depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(match[0], 0)
        if depth == 0:
            return match.start()
    return len(text)


def check_json_path(path: str) -> str | None:
    """Say what is wrong with a JSON path.

    None where it can be used.
    """
    if path == WHOLE:
        return None
    try:
        compiled_path(path)
    except Exception as error:  # the library raises what its regular expressions and numbers raise, too
        return f"is not a JSON path: {error}".splitlines()[0]
    return None
