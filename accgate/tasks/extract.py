"""The answer in a reply: by its form, by regular expression, by JSON path, or the whole reply."""

from __future__ import annotations

import functools
import json
import re
import string
import unicodedata
from collections.abc import Sequence
from functools import cache
from typing import Any, Literal

from accgate.errors import BadInput
from accgate.metrics.equality import box_content, latex_boxes
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
    """The first or last number, what the last \\boxed{} holds, or the Python code; None where there is none.

    >>> by_form("It costs $1,200.", "number"), by_form("Nothing.", "number")
    ('1200', None)
    """
    if form == "number":
        return number_in(reply, which, language)
    return (box_content(reply) or None) if form == "boxed" else python_in(reply, program, which)


def reads_digits_alone(extract: Extract) -> bool:
    r"""Whether an extraction gives nothing but digits with a sign, which every version reads alike, or reads by itself.

    >>> reads_digits_alone(Extract(regex=r"is (-?\d+)")), reads_digits_alone(Extract(regex="[0-9,.]+"))
    (True, False)
    """
    regex = extract.regex or ""
    return extract.form == "number" or bool(
        re.fullmatch(_DIGITS, regex) or (regex.count("(") == 1 and re.search(rf"\({_DIGITS}\)", regex))
    )


def by_regex(reply: str, pattern: str, which: Literal["first", "last"] = "last") -> str | None:
    """Group 1 (the whole match without groups) of the first or last match; None where nothing matches.

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


ANSWERS = (  # "the answer", as simple-evals knows it in other languages too
    r"answer|antwort|respuesta|resposta|risposta|réponse|jawaban|jibu|ответ|답변|정답|답|答案|答え|答复|回答|解答|正解|答"
    r"|उत्तर|উত্তর|الإجابة(?:\s+(?:النهائية|الصحيحة))?|الجواب"
)
IS = r"is|was|would be|should be|must be|be|ist|es|est|é|è|是|为|選|选|は|が|은|는|هي|है|:|=|-|–|→"
OPENING = r"[\s(\[{<\"'“‘「]{0,8}"  # noqa: RUF001 bounded, or a reply of brackets takes minutes
JOINED = r"(?:or|and|nor|und|oder|et|ou|y|и|или|và|[/&、或和与])"
LEADS = re.compile(  # words before a letter that is named as an answer, and not after a noun: "vitamin C"
    r"(?i)an?|adalah|am|and|answer|are|be|because|but|choice|choose|conclude|das|der|die|either|es|est|for|guess|hence|i"
    r"|indeed|is|it's|la|lautet|le|letra|letter|likely|ma|mean|namely|nor|number|o|only|option|or|pick|say|select|so"
    r"|mais|mas|sino|sondern|that's|the|then|therefore|thus|to|was|with|y|\w+ly"
)
DENIED = (
    r"(?i:\b(?:not|never|neither|nor|cannot be|except(?: for)?|(?:rul(?:e[sd]?|ing)|leav(?:e|es|ing)) out"
    r"|(?:eliminat|exclud|discard|reject)(?:e|es|ed|ing|s)?|rather than|instead of|anything but)|n['’]t(?: be)?)\s+"  # noqa: RUF001
    r"(?:(?i:the|both)\s+)?(?:(?i:answers?|options?|choices?|letter)\s+)?"
)
DENIED_ELSEWHERE = (
    r"(?:(?i:\b(?:nicht|no es|non è|não é|pas|bukan|не|ليست?))\s+|(?:并非|並非|而非|不(?:会|會)?(?:是|选|選))\s?)"
    r"(?:(?i:die|la|le|a)\s+|选项|選項)?"
)
DENIED_AFTER = r"\s?(?:では(?:なく|ない|ありません)|じゃな[いく]|[이가은는]?\s?아(?:니[라고며]?|닌|닙니다)|नहीं|নয়)"
OTHER_THAN = (  # before "answer": not the one that is chosen
    "wrong", "incorrect", "worst", "next best", "next-best", "second best", "second-best", "least likely"
)  # fmt: skip
WRONG = (
    r"\s+(?:(?i:is|are|was|were|seems?|looks?|would be|must be)(?:\s+\w+ly)?\s+"
    r"(?i:not|wrong|incorrect|eliminated|excluded|ruled out)|(?i:cannot|can['’]t|isn['’]t|aren['’]t))\b"  # noqa: RUF001
)
GOES_ON = r"(?:or|because|since|as|for|so|which|due|given|and|but|is|was|by|therefore|thus|here|seems|must)\b"


def by_letter(reply: str, options: Sequence[tuple[str, str]] = ()) -> str | None:
    """The label of the option that a reply chooses; None where it chooses none, or several alike.

    What is alone on the first line counts before a box, "the answer is", "I choose", a label that the reply begins
    with, and a label that alone is named; of several in one of these forms the last counts. `A` and `I` are words too:
    before a small letter they are labels only where the sentence goes on, as in "A because". A label that is denied
    ("not A", "A is wrong") counts for nothing, the latter unless it is all there is: some questions ask what is wrong.
    A reply that is an option's text chooses it.

    Parameters
    ----------
    options : sequence of (label, text)
        Those that were offered; A to Z where there are none.

    Examples
    --------
    >>> by_letter("The answer is (C)."), by_letter("B. Because 4 > 3"), by_letter("I think it is D")
    ('C', 'B', 'D')
    >>> by_letter("A student said so."), by_letter("B or C"), by_letter("It is iron.", [("A", "tin"), ("B", "iron")])
    (None, None, 'B')
    >>> by_letter("It is not A."), by_letter("A is wrong, so B"), by_letter("It needs vitamin C.")
    (None, 'B', None)
    """
    labels = tuple(label for label, _ in options) or tuple(string.ascii_uppercase)
    forms, denied, wrong = _patterns(labels)
    text = denied.sub(" ", _plain(reply))
    for read in (wrong.sub("", text), text):
        for pattern, several in forms:
            answers = [_label(match, labels) for match in pattern.finditer(read)]
            if answers and answers[-1] is None:
                break
            if answers and (several or len(set(answers)) == 1):
                return answers[-1]
        if (label := _option_with_text(read, options)) is not None:
            return label
    return None


def _plain(reply: str) -> str:
    """The reply without the marks of Markdown and LaTeX around a letter; a box stays."""
    text = re.sub(r"[\u200b-\u200f\u2060\ufeff]", "", unicodedata.normalize("NFKC", latex_boxes(reply)))
    text = re.sub(r"\\(?:text|textbf|textrm|mathrm|mathbf|mathsf|underline|bf|rm)\s*\{([^{}]*)\}", r"\1", text)
    text = re.sub(r"\*+|`+|\$+|\\[()\[\],;!]|</?(?:b|i|u|em|strong|\w*answer)>|(?<!\w)_+|_+(?!\w)", "", text)
    return re.sub(r"\s*\n\s*", "\n", re.sub(r"[^\S\n]+", " ", text)).strip()


@cache
def _patterns(
    labels: tuple[str, ...],
) -> tuple[tuple[tuple[re.Pattern[str], bool], ...], re.Pattern[str], re.Pattern[str]]:
    """The forms of a choice, the surest first, each with whether the last of several different ones counts.

    With them the forms in which a label is denied, and called wrong.
    """
    named = "|".join(sorted(map(re.escape, labels), key=len, reverse=True))
    small = "|".join(label.lower() for label in labels if len(label) == 1 and label.lower() not in labels) or r"(?!)"
    single = r"(?![A-Za-z0-9'’+])"  # noqa: RUF001
    beside = (
        rf"(?!\s*[)\]]?\s*(?:{JOINED}\s*\(?(?:{named}){single}|,\s*\(?(?:{named}){single}(?!\s+[a-z])"
        rf"|\((?:{named})\)))"
    )
    ends = rf"{single}(?!\s+(?!{GOES_ON})[a-z])"  # after a letter that may be a word
    mention, letter = rf"(?P<label>(?:{named}){ends})", rf"(?P<label>(?:{named}){ends}{beside})"
    after = rf"(?P<label>(?:(?![AI]\b)(?:{named}){single}|(?:{named}){ends}){beside})(?!\)?\?)"
    alone = rf"(?P<label>{named}|{small})"
    closed = r"[\s)\]}>\"'”’」.:,;!]{0,8}"  # noqa: RUF001
    begins = r"(?<![A-Za-z0-9+])"
    told = rf"(?i:(?<!if the )(?:{ANSWERS}))(?:_\w+)?[\"'”]?(?:\s*(?i:to (?:the|this) (?:question|problem)))?"
    noun = r"(?:\s*(?i:option|choice|letter|number)\b:?)?"
    alone_small = rf"(?:\((?P<bracketed>{small})\)|(?<=[:=])\s*(?P<small>{small})(?=[.)]?\s*(?:\n|\Z)))"
    link = rf"(?:\s*(?i:{IS}))+{noun}"
    choose = (
        r"(?i:choose|select|pick|go(?:ing)? with|opt for|(?:it|this|that)(?:'s| is| must be)|选择?|選"
        r"|correct (?:option|choice|one|letter)(?: is)?)"
    )
    answer = rf"(?i:{''.join(f'(?<!{each} )' for each in OTHER_THAN)}){told}"
    right = r"(?:\s*(?i:option|choice))?\)?\s*(?i:is|are|seems)(?i:\s+the)?(?i:\s+(?:correct|right|best|true))"
    forms = (
        (rf"\A{OPENING}{alone}{closed}(?=\n|\Z)", True),
        (rf"\\(?:boxed|fbox)\s*\{{{noun}{OPENING}(?:{after}|(?P<boxed>{small})[)\s.]*(?=\}}))", True),
        (rf"{begins}{answer}(?:{link}{OPENING}{after}|{link}\s*{alone_small})", True),
        (rf"{begins}{choose}\s*:?{noun}(?:{OPENING}{after}|\s*{alone_small})", True),
        (rf"{begins}{told}(?:{link}{OPENING}{after}|{link}\s*{alone_small})", True),  # of "which is wrong?"
        (rf"(?P<joined>(?:{named})[)\s]*{JOINED}\s*)?{begins}(?:(?i:option|choice)\s+)?\(?{after}{right}", True),
        (rf"{begins}(?i:so|thus|hence|therefore)\s*,?{noun}\s*\(?{mention}\)?(?=\s*\.?\s*(?:\n|\Z))", True),
        (rf"^{OPENING}{noun}\s*{OPENING}{letter}(?=\s*[).:,;\]}}–—-]|\s+{GOES_ON}|\s*$)", False),
        (rf"^{OPENING}{alone}{closed}\Z", True),
        (rf"\((?P<label>{named})\)", False),
        (rf"(?:\b(?P<lead>[A-Za-z'’]+)\s+)?{begins}{mention}(?=\s*[).,:;!?。、।\]}}/&]|\s+(?:or|and)\b|\s*$)", False),  # noqa: RUF001
    )
    one = rf"\(?(?:{named}){single}\)?"
    some = rf"{one}(?:\s?(?:,\s?)?(?:{JOINED}\s?)?{one}){{0,12}}"
    denied = re.compile(rf"(?:{DENIED}|{DENIED_ELSEWHERE}){some}|{begins}{some}{DENIED_AFTER}")
    wrong = re.compile(rf"{begins}{some}{WRONG}")
    return tuple((re.compile(form, re.MULTILINE), several) for form, several in forms), denied, wrong


def _label(match: re.Match[str], labels: Sequence[str]) -> str | None:
    """The label as the options spell it; None for one of two, and after a word that makes it no answer."""
    groups = match.groupdict()
    lead, joined = groups.pop("lead", None), groups.pop("joined", None)
    lead = (lead or "is").replace("’", "'")  # noqa: RUF001
    if joined or not (lead in labels or LEADS.fullmatch(lead)):
        return None
    label = next(text for text in groups.values() if text is not None)
    return label if label in labels else label.upper()


def _option_with_text(text: str, options: Sequence[tuple[str, str]]) -> str | None:
    """The only option whose text is the whole reply, or what follows "the answer is"."""
    after = re.split(rf"(?i:(?:{ANSWERS}|\bit)\s*(?:{IS}))", text)[-1]
    boxes = re.findall(r"\\(?:boxed|fbox)\s*\{([^{}]*)\}", text)[-1:]
    wanted = {each.strip(" \n.:\"'").casefold() for each in (after, text, *boxes)} - {""}
    labels = [label for label, own in options if own.strip(" \n.").casefold() in wanted]
    return labels[0] if len(labels) == 1 else None


def by_json_path(reply: str, path: str) -> str | None:
    """The first value at the path in the first JSON value of the reply; text as it is, others as JSON.

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
        return list(_compile(path).findall(value))
    except jsonpath.JSONPathError:
        return []


@functools.cache
def _compile(path: str) -> Any:
    import jsonpath

    return jsonpath.compile(path)


def json_in(reply: str) -> tuple[Any] | None:
    """The first JSON object or array in a text, with prose or a code fence around it; None without one.

    What begins as JSON and is none, as a reply that was cut off, is passed over whole: a value within it is no answer.
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
    """The place of the bracket that closes the one at a place, strings passed over; the end of the text without it."""
    depth = 0
    for match in _BRACKET_OR_STRING.finditer(text, start):
        depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(match[0], 0)
        if depth == 0:
            return match.start()
    return len(text)


def check_json_path(path: str) -> str | None:
    """The fault of a JSON path; None where it can be used."""
    if path == WHOLE:
        return None
    try:
        _compile(path)
    except Exception as error:  # the library raises what its regular expressions and numbers raise, too
        return f"is not a JSON path: {error}".splitlines()[0]
    return None
