"""MMMU's score.

A multiple choice is scored by the letter that the reply gives, an open question by a number or phrase in it.

Reference: Yue et al. 2023, arXiv 2311.16502, and the evaluation code that its authors publish.
"""

import ast
import json
import re
import string
from collections.abc import Iterator
from functools import partial
from typing import Any

from accgate.metrics.metric import Metric

HINTS = ("could be ", "so ", "is ", "thus ", "therefore ", "final ", "answer ", "result ")
TRIVIAL = tuple(":,.!?;'")
NUMBERS = (
    r"-?\b\d{1,3}(?:,\d{3})+\b",  # 1,234
    r"-?\d+(?:\.\d+)?[eE][+-]?\d+",  # 1.5e3
    r"-?(?:\d+\.\d+|\.\d+|\d+\b)(?![eE][+-]?\d+)(?![,\d])",
)


def mmmu(answer: str, target: str, *, as_published: bool = False) -> float:
    """Score 100 where the reply has the right letter, number or phrase.

    The rules are MMMU's. `target` is JSON with the dataset's `question_type`, `options` and `answer`; lists may be
    written as Python writes them. Where MMMU's own code finds no letter it would draw one at random. Here the letter is
    then read as that of any other multiple choice, or `as_published` gives 0.

    >>> question = {"question_type": "multiple-choice", "options": "['cat', 'dog']", "answer": "B"}
    >>> mmmu("The answer is (B).", json.dumps(question)), mmmu("Neither.", json.dumps(question))
    (100.0, 0.0)
    >>> mmmu("**B**", json.dumps(question)), mmmu("**B**", json.dumps(question), as_published=True)
    (100.0, 0.0)
    >>> mmmu("So the total is $1,200.", json.dumps({"question_type": "open", "options": "[]", "answer": "1200"}))
    100.0
    """
    question = json.loads(target)
    right = _list(question["answer"])
    if question["question_type"] == "multiple-choice":
        return 100.0 if _letter(answer, question, as_published=as_published) in right else 0.0
    wanted = [form for each in right for form in _forms(each)]
    return 100.0 if any(_holds(form, wanted) for form in set(_open_answers(answer))) else 0.0


def _letter(answer: str, question: Any, *, as_published: bool) -> str | None:
    options = _list(question["options"])
    letter = letter_of(answer, options)
    if letter is None and not as_published:
        from accgate.metrics.letters import by_letter  # whose patterns take long to compile

        letter = by_letter(answer, [*zip(string.ascii_uppercase, options, strict=False)])
    return letter


def _finds(answer: str, target: str, *, as_published: bool) -> bool:
    """Tell whether a reply holds an answer.

    To a multiple choice that is a letter, to an open question any text.
    """
    question = json.loads(target)
    if question["question_type"] == "multiple-choice":
        return _letter(answer, question, as_published=as_published) is not None
    return bool(answer.strip())


def _list(value: object) -> list[str]:
    """Read a list, or a text that is one in Python's notation.

    A text in any other form is the only item.
    """
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            value = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            return [str(value)]
    return [str(each) for each in value] if isinstance(value, list) else [str(value)]


def letter_of(reply: str, options: list[str]) -> str | None:
    """Return the letter that a reply names, the last of several.

    It may stand in brackets, alone, or be given by its option's text.

    >>> letter_of("(A) is wrong, so (B)", ["cat", "dog"]), letter_of("it must of course be the dog", ["cat", "dog"])
    ('B', 'B')
    """
    for mark in ",.!?;:'":
        reply = reply.strip(mark)
    text = f" {reply} "
    letters = dict(zip(string.ascii_uppercase, options, strict=False))
    ways = [{letter: f"({letter})" for letter in letters}, {letter: f" {letter} " for letter in letters}]
    if len(text.split()) > 5:  # short replies with an option's words in them say too little
        ways.append({letter: option.lower() for letter, option in letters.items()})
    for number, way in enumerate(ways):
        searched = text.lower() if number == 2 else text
        places = {letter: searched.rfind(mark) for letter, mark in way.items() if mark in searched}
        if places:
            return max(places, key=places.__getitem__)
    return None


def _open_answers(reply: str) -> Iterator[str | float]:
    """Yield the answers that an open reply may give.

    They are the ends of sentences with a hint such as "so " or "answer ", and the numbers in them.
    """
    parts = re.split(r"\.\s(?=[A-Z])|\n", reply.strip().strip(".").lower())
    ends = []
    for number, part in enumerate(parts, 1):
        hints = (*HINTS, "=") if number == len(parts) else HINTS
        shortest = ""
        for end in (part.split(hint)[-1].strip() for hint in hints if hint in part):
            if not shortest or len(end) < len(shortest):  # an empty end gives way to any later one
                shortest = end
        if shortest and shortest not in TRIVIAL:
            ends.append(shortest)
    for end in ends or [reply.strip().strip(".").lower()]:
        yield from _forms(end)
        for pattern in NUMBERS:
            for number_text in re.findall(pattern, end):
                yield from _forms(number_text)


def _forms(text: str) -> list[str | float]:
    """Write a number to two places, or a text in small letters.

    A single letter gets a space beside it, so that it matches no part of a word.
    """
    bare = text.strip()
    try:
        return [round(float(bare.replace(",", "")), 2)]
    except ValueError:
        lower = bare.lower()
        return [f" {lower}", f"{lower} "] if len(lower) == 1 else [lower]


def _holds(form: str | float, wanted: list[str | float]) -> bool:
    if isinstance(form, float):
        return form in wanted
    return any(isinstance(each, str) and each in form for each in wanted)


def _mmmu(*, as_published: bool = False) -> Metric:
    points = partial(mmmu, as_published=as_published)
    return Metric("mmmu", points, finds=partial(_finds, as_published=as_published))


METRICS = {"mmmu": _mmmu}
