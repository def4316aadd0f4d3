"""What changed between two replies, word by word."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from difflib import SequenceMatcher

SAME, REMOVED, ADDED = 0, -1, 1
Part = tuple[int, str]
READ = 20_000  # characters of a reply; what comes later is not shown
WORK = 16_000_000  # pairs of words that all flips of a report may compare
LEAST, MOST = 24, 400  # words of one reply that are compared one by one
AROUND = 24  # words kept on each side of a change
TOKEN = re.compile(r"\s+|\w+|[^\w\s]")


def words_to_compare(flips: int) -> int:
    """How many words of each reply to compare, so that a report of many flips is made in seconds.

    >>> words_to_compare(10), words_to_compare(1_000), words_to_compare(10**6)
    (400, 126, 24)
    """
    return max(LEAST, min(MOST, math.isqrt(WORK // max(flips, 1))))


def word_diff(before: str, after: str, *, most: int = MOST) -> list[Part]:
    """Parts of two texts: in both (0), only before (-1), only after (1).

    Of more than `most` words between the first and the last that differ, all count as changed.

    >>> word_diff("the answer is 42.", "the answer is 41.")
    [(0, 'the answer is '), (-1, '42'), (1, '41'), (0, '.')]
    """
    left, right = TOKEN.findall(before[:READ]), TOKEN.findall(after[:READ])
    head = 0
    while head < min(len(left), len(right)) and left[head] == right[head]:
        head += 1
    tail = 0
    while tail < min(len(left), len(right)) - head and left[-1 - tail] == right[-1 - tail]:
        tail += 1
    middle = left[head : len(left) - tail], right[head : len(right) - tail]
    parts: list[Part] = [(SAME, "".join(left[:head]))]
    if max(map(len, middle)) > most:
        parts += [(REMOVED, "".join(middle[0])), (ADDED, "".join(middle[1]))]
    else:
        parts += _match(*middle)
    parts.append((SAME, "".join(left[len(left) - tail :])))
    return [part for part in parts if part[1]]


def _match(left: Sequence[str], right: Sequence[str]) -> list[Part]:
    parts: list[Part] = []
    for kind, a, b, c, d in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        if kind == "equal":
            parts.append((SAME, "".join(left[a:b])))
        else:
            parts += [(REMOVED, "".join(left[a:b])), (ADDED, "".join(right[c:d]))]
    return [part for part in parts if part[1]]


def shorten(parts: Sequence[Part], length: int) -> list[Part]:
    """The parts without long stretches that both texts share, cut to about `length` characters a side.

    >>> shorten([(0, "a " * 100), (-1, "x"), (1, "y")], 400)[0][1][:6]
    '… a a '
    """
    result: list[Part] = []
    room = {REMOVED: length, ADDED: length}
    for place, (kind, words) in enumerate(parts):
        text = words
        if kind == SAME:
            text = _elide(words, starts=place > 0, ends=place < len(parts) - 1)
        sides = [kind] if kind != SAME else [REMOVED, ADDED]
        left = min(room[side] for side in sides)
        if left <= 0:
            continue
        text = text if len(text) <= left else f"{text[: max(left - 2, 1)]} …"
        for side in sides:
            room[side] -= len(text)
        result.append((kind, text))
    return result


def _elide(text: str, *, starts: bool, ends: bool) -> str:
    """A stretch that both texts share, but only the words near a change."""
    tokens = TOKEN.findall(text)
    head, tail = 2 * AROUND if starts else 0, 2 * AROUND if ends else 0
    if not starts and not ends:
        return text
    if len(tokens) <= head + tail + AROUND:
        return text
    return (
        "".join(tokens[:head])
        + (" … " if starts and ends else "… " if ends else " …")
        + "".join(tokens[len(tokens) - tail :] if tail else [])
    )
