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


def words_compared(flips: int) -> int:
    """How many words of each reply are compared, so that a report of many flips is made in seconds.

    >>> words_compared(10), words_compared(1_000), words_compared(10**6)
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
        parts += _matched(*middle)
    parts.append((SAME, "".join(left[len(left) - tail :])))
    return [part for part in parts if part[1]]


def _matched(left: Sequence[str], right: Sequence[str]) -> list[Part]:
    parts: list[Part] = []
    for kind, a, b, c, d in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        if kind == "equal":
            parts.append((SAME, "".join(left[a:b])))
        else:
            parts += [(REMOVED, "".join(left[a:b])), (ADDED, "".join(right[c:d]))]
    return [part for part in parts if part[1]]


def shortened(parts: Sequence[Part], length: int) -> list[Part]:
    """The parts without the long stretches that are the same, and cut to about `length` characters a side.

    >>> shortened([(0, "a " * 100), (-1, "x"), (1, "y")], 400)[0][1][:6]
    '… a a '
    """
    kept: list[Part] = []
    room = {REMOVED: length, ADDED: length}
    for place, (kind, words) in enumerate(parts):
        text = words
        if kind == SAME:
            text = _elided(words, starts=place > 0, ends=place < len(parts) - 1)
        sides = [kind] if kind != SAME else [REMOVED, ADDED]
        left = min(room[side] for side in sides)
        if left <= 0:
            continue
        text = text if len(text) <= left else f"{text[: max(left - 2, 1)]} …"
        for side in sides:
            room[side] -= len(text)
        kept.append((kind, text))
    return kept


def _elided(text: str, *, starts: bool, ends: bool) -> str:
    """A stretch that is the same: only what is near a change."""
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
