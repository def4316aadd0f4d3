"""Whether two mathematical answers are equal, by math-verify.

The metric `math` asks this process. It answers each line of JSON, `[answer, target]`, with one line. Simplifying what a
model wrote can take for ever (`10^{10^{10}}`), in C code that no signal handler interrupts: the kernel ends the process
at the limit on processor time, by a signal that has no handler. math-verify's own time limit needs the main thread, so
it is off.
"""

import json
import logging
import re
import resource
import signal
import sys
from functools import cache
from itertools import product
from typing import Any

from accgate.metrics.numbers import Number, decimal_comma, number_in, number_of, same_number

BOXES = 2  # raise it where another box's content is read
EQUALITY = 3  # raise it where a pair is compared otherwise than before; part of the fingerprint of a task with `math`
_WALL = 20  # times the processor time: the end of what sleeps
_TOLERANCE = 1e-4  # of the larger number: what six places are where numbers are not small
_DIGITS = 100  # to which two exact expressions are compared that are no fractions
_TAIL = 5000  # characters of a reply without a box that are read: its end
_GROUPS = re.compile(r"(?<=\d)(?:\\[,;: ]|\{,\}|\u00a0|\u2009|\u202f)(?=\d{3}(?!\d))")
_EMPTY = re.compile(r"(?i)\\varnothing(?![A-Za-z])|∅|\\(?:left\s*\\)?\{\s*\\(?:right\s*\\)?\}|\b(?:the )?empty set\b")
_DEGREE = re.compile(r"\s*(?:°|\\degrees?(?![A-Za-z])|\^\s*(?:\\circ(?![A-Za-z])|\{\s*o\s*\}))")
_ANGLE = re.compile(r"(\\(?:sin|cos|tan|cot|sec|csc)(?:\^\d)?\s*[({]?\s*)(\d+(?:\.\d+)?)\^\{?\\circ\s*\}?")
_REPEATING = re.compile(
    r"(?<![\d.])(\d{1,20})\.(\d{0,20}?)(?:\\(?:overline|bar)\s*(?:\{\s*(\d+)\s*\}|(\d))|\((\d+)\)"
    r"|\\dot\s*(?:\{\s*(\d)\s*\}|(\d))(?:(\d*)\\dot\s*(?:\{\s*(\d)\s*\}|(\d)))?"
    r"|(\d{1,12}?)\11{2,}\s*(?:\.{3}|…|\\[lc]?dots(?![A-Za-z])))"
)
_STYLE = (  # commands, marks and spaces that only set how a formula looks
    (re.compile(r"\\[dtc]frac"), r"\\frac"),
    (re.compile(r"\\left|\\right|\\displaystyle|\\!|\\,(?!\d)|\$"), ""),
    (re.compile("~"), " "),
    (_GROUPS, ","),
    (re.compile(r"\\(?:text|textbf|textit|textrm|mathrm|mathbf|mbox)\s*\{([^{}]*)\}"), r"\1"),
    (re.compile(r"^\((\w)\)$"), r"\1"),  # an option's letter
    (re.compile(r"[\s.]+$|(?<![\d\s])\s+|\s+(?![\d\s])|\s+(?=\d{3}(?!\d))"), ""),  # 1 1/2 is not 11/2, 1 000 is 1000
)
# A formula within prose.
_FORMULA = re.compile(r"\$[^$]+\$|\\[(\[A-Za-z]")
BOX = re.compile(r"\\(?:boxed|fbox)\s*\{")
_BETWEEN = re.compile(  # boxes that are one answer
    r"(?:[\s$*,;&、]|(?<=\n)[ ]{0,4}(?:[-•]|\d\.)|\\[()\[\],;:! ]|\\q?quad(?![a-z])"
    r"|\\(?:text|mathrm)\s*\{[\s,]*(?:and|or)?[\s,]*\}|\b(?:and|or|und|oder|et|ou|y|и|или)\b|[和或]"
    r"|[A-Za-z](?:_\{?\w\}?)?[ ]?=)*"
)
# A relation, with which an inequality begins.
_RELATION = re.compile(r"\s*(?:not(?![A-Za-z])|[<>≤≥≠]|\\(?:not|[lg]t|[lg]eq?(?:slant)?|neq?)(?![A-Za-z]))")
_FACTORIAL = re.compile(r"\d\s*!\s*\$?\s*\Z")
# A number in another base, as 1010_2.
_SUBSCRIPT = re.compile(r"^[\da-zA-Z]+_\{?(\d+)\}?$")
_CLOCK = re.compile(r"^\d{1,2}:\d{2}")
_WORD = re.compile(r"^[A-Za-z][A-Za-z '-]{2,}$")
_COMMAND = re.compile(r"\\[A-Za-z]+\s*(?:\{[A-Za-z .,'-]*\})?")
# Words that make a text prose, where they are no functions.
_WORDS = re.compile(r"[A-Za-z]{2,} [A-Za-z]{2,}|[A-Za-z]{3,}|(?![A-Za-z])[^\W\d_]{2,}")
_FUNCTIONS = frozenset(
    ["sin", "cos", "tan", "cot", "sec", "csc", "log", "exp", "sqrt", "max", "min", "gcd", "lcm", "mod"]
)
_SAID = re.compile(r"(?i)\banswer(?:\s+is)?[:\s]+([^\n]{1,200})\s*$")
# A mixed number, as 1 1/2.
_MIXED = re.compile(r"(?<![\d.\w])(\d+)[ ]+(\d+)/(\d+)(?![\d.])")


def latex_boxes(text: str) -> str:
    """Put LaTeX's boxes in place of GLM's marks."""
    return text.replace("<|begin_of_box|>", r"\boxed{").replace("<|end_of_box|>", "}")


def box_content(text: str) -> str | None:
    r"""Return what the last \boxed{} of a text holds, braces in it matched.

    Without a box, and for a box that is not closed, this is None. Boxes with nothing but "and", "or", commas or space
    between them are one answer.

    >>> box_content(r"so \boxed{1}, no, \boxed{\frac{1}{2}}."), box_content(r"\boxed{1"), box_content("1")
    ('\\frac{1}{2}', None, None)
    >>> box_content(r"$\boxed{1}$ and $\boxed{2}$")
    '1, 2'
    """
    text = latex_boxes(text)
    contents: dict[str, None] = {}
    start = len(text)
    for box in reversed([*BOX.finditer(text)]):
        end = end_of_box(text, box.end() - 1)
        if end is None and not contents:
            return None
        if end is None or (contents and not _BETWEEN.fullmatch(text, end + 1, start)):
            break
        contents[text[box.end() : end].strip()] = None
        start = box.start()
    return ", ".join(filter(None, reversed(contents))) if contents else None


def end_of_box(text: str, place: int) -> int | None:
    """Return the place of the brace that closes the one at a place."""
    depth = 0
    for end in range(place, len(text)):
        if text[end] in "{}" and text[end - 1] != "\\":
            depth += 1 if text[end] == "{" else -1
            if depth == 0:
                return end
    return None


def is_equal(answer: str, target: str) -> bool:
    """Tell whether an answer is equal to the target.

    Of an answer with boxes the last \\boxed{} is compared.

    Raises
    ------
    MemoryError, RecursionError
        When the comparison needs more than there is.
    """
    answer, target = (_plain(box_content(text) or text) for text in (answer, target))
    answer = answer[-_TAIL:]
    left, right = _form(answer), _form(target)
    if left == right:
        return bool(left)
    bases = [match[1] if (match := _SUBSCRIPT.match(form)) else None for form in (left, right)]
    if bases[0] != bases[1] or any(_CLOCK.match(form) for form in (left, right)):
        return False  # math-verify reads 1010_2 as 1010, and 11:30 as 11/30
    if bool(_RELATION.match(left)) != bool(_RELATION.match(right)):
        return False  # it reads > 5 as 5
    if _WORD.match(right):
        letter = _SAID.search(answer)
        return right.casefold() in {left.casefold(), _form(letter[1]).casefold() if letter else ""}
    if (
        not _FACTORIAL.search(target)
        and (value := number_of(target)) is not None
        and (is_it := _is_number(answer, value)) is not None
    ):
        return is_it
    return _verify(answer, target)


def _is_number(answer: str, value: Number) -> bool | None:
    """Tell whether an answer is this number.

    The last number of prose without a formula counts, too. This is None for a formula, which math-verify must compare.
    """
    own = None if _FACTORIAL.search(answer) and _is_bare(answer) else number_of(answer)
    if own is not None and same_number(own, value):
        return True
    if _is_bare(answer) or _FORMULA.search(answer):
        return None
    last = number_in(answer)
    return last is not None and (number := number_of(last)) is not None and same_number(number, value)


def _plain(text: str) -> str:
    r"""Write degrees, decimal commas, repeating decimals and the empty set in one form.

    >>> _plain(r"0.1\overline{6} + 0{,}5"), _plain(r"\sin 30°"), _plain(r"90°")
    ('\\frac{15}{90} + 0.5', '\\sin {(\\frac{30\\pi}{180})}', '90^\\circ ')
    """
    text = decimal_comma(_EMPTY.sub(r"\\emptyset ", _DEGREE.sub(r"^\\circ ", text)))
    text = _ANGLE.sub(r"\1{(\\frac{\2\\pi}{180})}", text)
    return _REPEATING.sub(_fraction, text)


def _fraction(match: re.Match[str]) -> str:
    whole, first, *others = match.groups()
    cycle = "".join(filter(None, others))
    over = int(whole + first + cycle) - int(whole + first)
    return rf"\frac{{{over}}}{{{10 ** len(first) * (10 ** len(cycle) - 1)}}}"


def _form(text: str) -> str:
    """Strip commands and spaces that only set how a text looks."""
    for pattern, form in _STYLE:
        text = pattern.sub(form, text)
    return text


def _verify(answer: str, target: str) -> bool:
    parse, verify = _library()
    trouble: MemoryError | RecursionError | None = None
    pairs = product(_parse(parse, answer), _parse(parse, target, bare=True))
    for left, right in pairs:
        try:
            if verify([right], [left], timeout_seconds=None, raise_on_error=True):
                return True
        except (MemoryError, RecursionError) as error:
            trouble = error
        except Exception as error:
            logging.debug("cannot be compared, so not equal: %r", error)
    if trouble is not None:
        raise trouble
    return False


@cache
def _library() -> tuple[Any, Any]:
    """Return math-verify's `parse` and `verify`.

    math-verify compares decimals to six places and other numbers to 15, so that 1/2^71 would equal 1/2^73 (Math-Verify
    issue 14). Here small numbers that differ are not equal.
    """
    from math_verify import grader, parse, verify

    are_near = grader.sympy_numeric_eq
    grader.sympy_numeric_eq = lambda left, right, *places, **named: (
        are_near(left, right, *places, **named)
        and (any(grader.get_pct_val(each) is not None for each in (left, right)) or not _differ(left, right))
    )
    return parse, verify


def _differ(left: Any, right: Any) -> bool:
    """Tell whether two expressions are different numbers.

    Decimals may differ by a share of `_TOLERANCE`, exact numbers not at all.
    """
    from sympy import Float, Rational, log

    pair = [each.xreplace({n: Rational(str(n)) for n in each.atoms(Float)}).doit() for each in (left, right)]
    try:
        difference = pair[0] - pair[1]
        if difference.free_symbols:
            difference = difference.evalf(_DIGITS, chop=True)
        elif not any(each.free_symbols for each in pair):
            size = max(abs(each.evalf(15)) for each in pair)
            if left.has(Float) or right.has(Float):
                return bool(abs(difference.evalf(15)) > _TOLERANCE * size)
            if not difference.is_Rational:
                difference = difference.evalf(_DIGITS + max(0, -int(log(size, 10))), chop=True)
        return bool(difference != 0)
    except (ArithmeticError, AttributeError, TypeError, ValueError):
        return False  # no numbers


def _is_bare(text: str) -> bool:
    """Tell whether a text is a formula alone, not prose that holds one."""
    words = _WORDS.findall(_COMMAND.sub(" ", text))
    return "$" not in text and r"\(" not in text and r"\[" not in text and _FUNCTIONS.issuperset(words)


def _parse(parse: Any, text: str, *, bare: bool = False) -> list[Any]:
    """Return what math-verify reads in a text.

    A formula alone, or a `bare` target, is read whole. In prose the last formula is read.
    """
    bare = bare or _is_bare(text)
    text = _MIXED.sub(r"\1\\frac{\2}{\3}" if bare else r"$\1\\frac{\2}{\3}$", text[-_TAIL:])
    text = _GROUPS.sub(",", text)
    if bare and "$" not in text.replace(r"\$", ""):
        text = f"\\boxed{{{text}}}"
    return list(parse(text, parsing_timeout=None))


def serve(seconds: float, megabytes: int) -> None:
    """Answer questions on standard input until it ends."""
    logging.disable(logging.CRITICAL)
    import math_verify  # noqa: F401 before the limits

    for number in (signal.SIGPROF, signal.SIGALRM):
        signal.signal(number, signal.SIG_DFL)
    size = megabytes << 20
    resource.setrlimit(resource.RLIMIT_AS, (size, size))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    for line in sys.stdin:
        answer, target = json.loads(line)
        signal.setitimer(signal.ITIMER_PROF, seconds)  # without a handler these end the process
        signal.setitimer(signal.ITIMER_REAL, seconds * _WALL)
        try:
            result: bool | str = is_equal(answer, target)
        except (MemoryError, RecursionError) as error:
            result = type(error).__name__
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        sys.stdout.write(json.dumps(result) + "\n")
        sys.stdout.flush()
