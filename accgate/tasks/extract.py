"""The answer in a reply, and how sure the reply says that it is.

An answer is found by its form, by a regular expression, by a JSON path, or is the whole reply. Confidence is read in
forms such as `Confidence: 90%`, `.9`, `0,9`, `9/10`, `(0-100): 90`, "nine out of ten".
"""

import json
import re
from typing import Any, Literal

from accgate.errors import BadInput
from accgate.inputs.samples import compiled_path
from accgate.metrics.equality import box_content
from accgate.metrics.numbers import number_in, plain
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
    """Return the answer of the given form in a reply.

    The answer is the first or last number, the last \\boxed{}, or Python code. A reply without any gives None.

    >>> by_form("It costs $1,200.", "number"), by_form("Nothing.", "number")
    ('1200', None)
    """
    if form == "number":
        return number_in(reply, which, language)
    return (box_content(reply) or None) if form == "boxed" else python_in(reply, program, which)


def reads_digits_alone(extract: Extract) -> bool:
    r"""Tell whether an extraction gives nothing but digits with a sign.

    All versions of reading numbers read these alike.

    >>> reads_digits_alone(Extract(regex=r"is (-?\d+)")), reads_digits_alone(Extract(regex="[0-9,.]+"))
    (True, False)
    """
    regex = extract.regex or ""
    digits = re.fullmatch(_DIGITS, regex) or (regex.count("(") == 1 and re.search(rf"\({_DIGITS}\)", regex))
    return extract.form == "number" or bool(digits)


def by_regex(reply: str, pattern: str, which: Literal["first", "last"] = "last") -> str | None:
    """Return group 1 of the first or last match.

    A pattern without groups gives the whole match. None means that nothing matches.

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
    """Return the first value at a path in the reply's first JSON value.

    Text is returned as it is, any other value as JSON.

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

    Prose or a code fence may be around it; a text without one gives None. Text that begins as JSON and breaks off, as
    in a reply that was cut, is passed over whole: a value within it is no answer.
    """
    budget = 10 * len(reply) + 100_000  # characters that are read, or a thousand unclosed brackets would each read all
    start = -1
    while (match := _BRACKET.search(reply, start + 1)) is not None and budget >= 0:
        start = match.start()
        try:
            return (_DECODER.raw_decode(reply, start)[0],)
        except json.JSONDecodeError as error:
            budget -= (len(reply) if error.msg.startswith("Unterminated") else error.pos) - start
            budget -= error.pos // 100  # the error counts the lines before it
            is_prose = error.pos == start + len(match[0]) and not _KEY.match(reply, error.pos)
        except (ValueError, RecursionError):  # a number of thousands of digits, or too deep
            budget -= UNREAD_COST
            is_prose = False
        if not is_prose:
            end = _end_of(reply, start)
            budget -= end - start
            start = end
    return None


def _end_of(text: str, start: int) -> int:
    """Find the bracket that closes the one at a place.

    Brackets in strings do not count. Without a closing one this is the end of the text.
    """
    depth = 0
    for match in _BRACKET_OR_STRING.finditer(text, start):
        depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(match[0], 0)
        if depth == 0:
            return match.start()
    return len(text)


def check_json_path(path: str) -> str | None:
    """Say what is wrong with a JSON path.

    A path that can be used gives None.
    """
    if path == WHOLE:
        return None
    try:
        compiled_path(path)
    except Exception as error:  # the library raises what its regular expressions and numbers raise, too
        return f"is not a JSON path: {error}".splitlines()[0]
    return None


CONFIDENCE = 2  # raise it where a reply's confidence is read as another than before
FIRST_READING = r"(?i)confidence\D{0,20}(\d+(?:\.\d+)?\s*%?)"  # what stands for it where tokens say how sure a model is
_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_NAMES = (  # "confidence" in other languages
    "confidence|konfidenz|confiance|confianza|confiança|confidenza|fiducia|уверенность"
    "|置信度|自信度|確信度|确信度|信心|신뢰도|확신도|विश्वास|الثقة"
)
_FIGURE = r"(?:\d+(?:[.,]\d+)?|(?<![\d.,])[.,]\d+)(?:e[-+]?\d{1,3})?"
_COUNT = rf"(?:{_FIGURE}|\b(?:{'|'.join(_WORDS)})\b)"
_PERCENT = r"\s*(?:%|per ?cent\b|prozent\b|pour ?cents?\b|por ?ciento\b|процент\w*|パーセント|퍼센트)"
_SCALE = (  # "(0-100):", "out of 10:", "on a scale from 0 to 1:"
    rf"[^\d.,!?;\n]{{0,40}}?(?:(?P<low>{_FIGURE})\s*(?:-|to|bis|,|\.\.+)|/|\b(?:out )?of)\s*(?P<high>{_FIGURE})"
    r"\s*(?P<unit>%?)\s*(?:[)\]]\s*[:=]?|[:=])"
)
_STATED = re.compile(
    rf"(?<![^\W_])(?:{_NAMES})(?!\W{{1,3}}interval)(?:{_SCALE})?"
    rf"(?P<before>[^\w.,]{{0,20}}|[^\d.,!?;\n]{{0,40}}?(?:approx\.|ca\.)?\s*)"
    rf"(?:(?P<part>{_COUNT})\s*\(?(?:/|out of|of|von|sur|de|из)\s*(?P<whole>{_COUNT})"
    rf"|(?P<number>{_FIGURE})(?P<percent>{_PERCENT})?)"
    rf"|(?<![\d.,])(?P<first>{_FIGURE}){_PERCENT}\s*(?:confiden(?:t|ce)|sure|certain)\b(?!\W{{1,3}}interval)",
    re.IGNORECASE,
)
# Words before a figure that make it a bound or a part of a range.
_BOUND = re.compile(
    r"\b(?:not|no|never|less|more|than|below|under|above|over|at (?:least|most)|up to|between|from)\b|[\s:=][<>≤≥]|-$",
    re.IGNORECASE,
)
# Text after a figure that makes it a range, an interval, a scale or a part of another word.
_GOES_ON = re.compile(rf"(?i)(?:{_PERCENT})?[ ]*(?:(?:-|~|to|bis|or|±|\+/-|,)[ ]*\d|[)\]]?[ ]*[:=/])|\w|[.,]\d")


def stated_confidence(text: str) -> float | None:
    """Return the share from 0 to 1 that a reply's last statement gives.

    None means that it states none that can be read. Without a percent sign or a scale, a number up to 1 is a share, and
    one above 10 and up to 100 a percentage. Those between may be on a scale to ten and are not read; neither are ranges
    and bounds ("95-99%", "over 90%").

    >>> stated_confidence("Confidence: .9"), stated_confidence("Confidence (0-100): 9"), stated_confidence("9 / 10")
    (0.9, 0.09, None)
    """
    bare = re.sub(r"\\boxed\{|[*`$\"“”{}\\]", "", plain(text))
    shares = [_share(match) for match in _STATED.finditer(bare)]
    return shares[-1] if shares else None


def _share(match: re.Match[str]) -> float | None:
    before = match["before"] or match.string[max(0, match.start() - 8) : match.start()]
    if _BOUND.search(before) or _GOES_ON.match(match.string, match.end()):
        return None
    if match["part"]:
        value, top = _number(match["part"]), _number(match["whole"])
    else:
        value, top = _number(match["first"] or match["number"]), 1.0
        if match["first"] or match["percent"] or "%" in before or match["unit"]:
            top = 100.0
        elif match["high"]:
            top = _number(match["high"])
            if _number(match["low"] or "0") and top != 100.0:
                return None  # on a scale from 1 to 10 the least is no 0
        elif value > 1.0:
            top = 100.0 if value > 10.0 else 0.0
    return value / top if 0.0 <= value <= top and top else None


def _number(text: str) -> float:
    return float(_WORDS.index(text.lower())) if text.lower() in _WORDS else float(text.replace(",", "."))
