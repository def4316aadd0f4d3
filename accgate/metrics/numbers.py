"""Numbers as people and models write them, read in one way everywhere.

Examples are `$1,234.50`, `1{,}234`, `½`, `2 1/2`, `1e3`, `٢١`. docs/tasks.md says how each is read, and where
lm-evaluation-harness reads otherwise.
"""

import re
import unicodedata
from collections import deque
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Literal, TypeAlias

from accgate.metrics.languages import LANGUAGES, in_english, language_of

Number: TypeAlias = Decimal | Fraction

READING = 3  # raise it where a text is read as another number than before; part of a task's fingerprint
_LONGEST = 400  # digits before or after the point up to which a decimal is compared with a fraction

_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
_SIGNS = str.maketrans(
    {
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2212\ufe63\uff0d", "-"),
        **dict.fromkeys(map(chr, (0xA0, *range(0x2000, 0x200B), 0x202F)), "\u00a0"),  # spaces within a number
        "\u066b": ".", "\u066c": ",", "\u060c": ",", "\u066a": "%", "\u2044": "/",
    }
)  # fmt: skip
_LATEX = (
    (re.compile(r"\{,\}|,\\!"), ","),
    (re.compile(r"\\!|\\left|\\right|\\mathbf|\\displaystyle"), ""),
    (re.compile(r"\\[dtc]frac"), r"\\frac"),
    (re.compile(r"\\([$%])"), r"\1"),
    (re.compile(r"(?<=\d)(?:\\[,;: ]|\u00a0|['\u2019])(?=\d{3}(?!\d))"), ","),
)

_DECIMAL_COMMA = re.compile(r"(?<![\d}])(0)\{,\}(?=\d)|(?<=\d)\{,\}(?=\d)(?!\d{3}(?!\d))")
_FRACTION = r"\\frac\s?(?:\{\s?(?P<n1>-?\d{1,15})\s?\}|(?P<n2>\d))\s?(?:\{\s?(?P<d1>\d{1,15})\s?\}|(?P<d2>\d))"
_SLASH = r"(?<!/)(?P<n3>\d{1,15})[ ]?/[ ]?(?P<d3>\d{1,15})(?![\d/]|\.\d|,\d{3})"
_GROUPED = (
    r"\d{1,3}(?:,\d{3})+(?!\d)(?:\.\d+)?"  # 1,234.5
    r"|\d{1,2}(?:,\d{2})+,\d{3}(?!\d)(?:\.\d+)?"  # 12,34,567
)
_EUROPEAN = r"(?P<european>\d{1,3}(?:\.\d{3})+,\d{1,2}(?!\d)|\d{1,3}(?:\.\d{3}){2,}(?!\.?\d))"  # 1.234,5 and 1.234.567
_POWER = r"\s?\^\s?(?:\{\s?(?P<e1>[-+]?\d{1,3})\s?\}|(?P<e2>[-+]?\d{1,3}))"
_TIMES = r"[ ]?(?:[x\u00d7*\u00b7]|\\times|\\cdot)[ ]?10\s?\^\s?(?:\{\s?(?P<t1>[-+]?\d{1,3})\s?\}|(?P<t2>[-+]?\d{1,3}))"
_NUMBER = re.compile(
    rf"(?P<sign>(?<![\w)\]}}$%-])[-+])?(?:(?P<money>[$€£¥₹][ ]?)(?P<inner>-)?)?"
    rf"(?:(?:(?P<whole>\d{{1,15}})[ ]?)?{_FRACTION}"
    rf"|(?:(?P<mixed>\d{{1,15}})[ ])?{_SLASH}"
    rf"|(?:{_EUROPEAN}|(?P<version>\d+(?:\.\d+){{2,}})|(?P<decimal>{_GROUPED}|\d+(?:\.\d+)?|\.\d+))"
    rf"(?:{_TIMES}|{_POWER}|(?P<exponent>[eE][-+]?\d{{1,9}})(?!\w))?)",
    re.ASCII,
)
_BASE = re.compile(r"\s?\^\s?\{?\s?[\w(]")  # of a power that is not read
_MARKED = re.compile(r"(?<!#)####(?!#)[ \t]*(\S[^\n]*)")
_FOOTNOTE = re.compile(r"(?<=[\d.,;!?%)])(?:\[\d{1,2}\])+")
_CURRENCY = re.compile(r"(?:USD|EUR|GBP|CAD|AUD|INR|Rs|US|A|C)$")
_BEFORE, _AFTER = "$€£¥₹*_` ", ".,;:!*_`$€£¥₹% \u00a0"


def numbers_in(text: str, language: str = "") -> Iterator[Number]:
    """Yield the numbers in a text, in its order.

    Exponents (`m^2`), indices (`x_1`) and figures of a name (`CO2`) are no numbers.
    """
    text = _FOOTNOTE.sub("", plain(text, language))
    for match in _NUMBER.finditer(text):
        if not _is_part_of_a_name(text, match) and (value := _value(match)) is not None:
            yield value


def number_in(text: str, which: Literal["first", "last"] = "last", language: str = "") -> str | None:
    """Return the first or last number in a text, in plain notation.

    None means that it has none. In a text with `####`, GSM8K's mark, the last number is the first that stands alone
    after such a mark. Numbers are read as `language` writes them, or that of the text's last word for "answer".

    >>> number_in("That makes $1,234.50, as wanted."), number_in("Half of it: 1/2"), number_in("It is 6-3")
    ('1234.5', '0.5', '3')
    >>> number_in("#### 72\\nI checked 2 ways."), number_in("Antwort: 1.200"), number_in("1.200", language="de")
    ('72', '1200', '1200')
    """
    language = language if language in LANGUAGES else language_of(text)
    numbers = numbers_in(text, language)
    if which == "first":
        answer = next(numbers, None)
    else:
        marked = (number_of(line, language) for line in _MARKED.findall(text))
        last = next((number for number in marked if number is not None), None)
        answer = next(iter(deque(numbers, maxlen=1)), None) if last is None else last
    return None if answer is None else _plain_text(answer)


def number_of(text: str, language: str = "") -> Number | None:
    """Return the number that a whole text is.

    Currency, percent sign and a final full stop are ignored. A text that is no number gives None.

    >>> number_of("-$5"), number_of("18 apples"), number_of("1/3")
    (Decimal('-5'), None, Fraction(1, 3))
    """
    bare = re.sub(r"(?<=\d),(?=\d{3}\b)", "", text.strip().rstrip(".").strip("$€£% "))
    try:
        value = Decimal("" if language else bare)
    except InvalidOperation:
        text = plain(text, language).strip().lstrip(_BEFORE.replace("$", "")).rstrip(_AFTER)
        match = _NUMBER.fullmatch(text) or _NUMBER.fullmatch(text.lstrip(_BEFORE))
        return None if match is None else _value(match)
    return value if value.is_finite() else None


def same_number(left: Number, right: Number) -> bool:
    """Tell whether two numbers are exactly equal.

    >>> same_number(Decimal("0.5"), Fraction(1, 2)), same_number(Decimal("0.333"), Fraction(1, 3))
    (True, False)
    """
    if type(left) is type(right):
        return left == right
    one, other = _fraction(left), _fraction(right)
    return one is not None and one == other


def _fraction(value: Number) -> Fraction | None:
    if isinstance(value, Fraction):
        return value
    small = abs(value.adjusted()) <= _LONGEST and len(value.as_tuple().digits) <= _LONGEST
    return Fraction(value) if small else None


def decimal_comma(text: str) -> str:
    """Return a text with a point for each decimal comma as LaTeX sets it.

    >>> decimal_comma("0{,}125 and 1{,}5, but 1{,}000")
    '0.125 and 1.5, but 1{,}000'
    """
    return _DECIMAL_COMMA.sub(r"\1.", text)


def plain(text: str, language: str = "") -> str:
    """Return a text with one form of each digit, sign, space and separator."""
    if not text.isascii():
        text = re.sub("[⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺]+", lambda match: "^" + match[0].translate(_SUPERSCRIPTS), text)
        text = "".join(map(_ascii, text.translate(_SIGNS)))
        text = text.translate(_SIGNS)  # of what `½` consists of
    text = decimal_comma(in_english(text, language))
    for pattern, form in _LATEX:
        text = pattern.sub(form, text)
    return text


def _ascii(character: str) -> str:
    """Write a digit, full-width sign or vulgar fraction in ASCII.

    Digits of every script are written. Other characters stay.
    """
    if character.isascii():
        return character
    if (digit := unicodedata.decimal(character, None)) is not None:
        return str(digit)
    if "\uff01" <= character <= "\uff5e":
        return unicodedata.normalize("NFKC", character)
    if "VULGAR FRACTION" in unicodedata.name(character, ""):
        return " " + unicodedata.normalize("NFKC", character)
    return character


def _is_part_of_a_name(text: str, match: re.Match[str]) -> bool:
    """Tell whether digits are part of a name, an exponent or an index.

    The base of an exponent counts too. A single figure after a letter is part of a name, as in `CO2`.
    """
    if _BASE.match(text, match.end()):
        return True
    before = text[max(0, match.start() - 8) : match.start()]
    if match["sign"] or match["money"]:
        return bool(re.search(r"[\^_]\{?$", before))
    if re.search(r"[\^_]\{?\s?$", before):
        return True
    is_letter = unicodedata.category(before[-1:] or " ") in ("Lu", "Ll")  # of a script with cases: 答案是8 is 8
    return len(match[0]) == 1 and is_letter and not _CURRENCY.search(before) and "\\" not in before


def _value(match: re.Match[str]) -> Number | None:
    if match["version"]:
        return None  # 3.11.4 is no number
    sign = -1 if "-" in (match["sign"] or "") + (match["inner"] or "") else 1
    top, bottom = (match["n1"] or match["n2"] or match["n3"]), (match["d1"] or match["d2"] or match["d3"])
    if top is not None:
        whole = int(match["whole"] or match["mixed"] or 0)
        return sign * (whole + Fraction(int(top), int(bottom))) if int(bottom) else None
    digits = match["decimal"].replace(",", "") if match["decimal"] else match["european"].replace(".", "")
    exponent = match["exponent"] or ("e" + power if (power := match["t1"] or match["t2"]) else "")
    try:
        value = sign * Decimal(digits.replace(",", ".") + exponent)
    except InvalidOperation:
        return None
    return _power_of(value, match["e1"] or match["e2"])


def _power_of(value: Decimal, power: str | None) -> Number | None:
    """Raise a number to a power.

    The sign binds less, so that -2^2 is -4. A result too long to write out gives None.
    """
    if power is None:
        return value
    if abs(int(power)) * max(1, len(value.as_tuple().digits)) > _LONGEST or (not value and int(power) < 0):
        return None
    raised: Fraction = Fraction(abs(value)) ** int(power)
    return -raised if value < 0 else raised


def _plain_text(value: Number) -> str:
    """Write a number in plain notation where that is short."""
    if isinstance(value, Fraction):
        decimal = Decimal(value.numerator) / Decimal(value.denominator)
        if Fraction(decimal) != value:
            return str(value)
        value = decimal
    if not value:
        return "0"
    if abs(value.adjusted()) > _LONGEST:
        return str(value)
    plain = f"{value:f}"
    return plain.rstrip("0").rstrip(".") if "." in plain else plain
