"""The samples that got worse, as data for the report's list of them, each cut to the room there is."""

import json
import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Any

from accgate.report.flips import SCANNED, Flip
from accgate.report.html.inline import embed
from accgate.text import clip

SAME, REMOVED, ADDED = 0, -1, 1
Part = tuple[int, str]
READ = 20_000  # characters of a reply; what comes later is not shown
WORK = 16_000_000  # pairs of words that all flips of a report may compare
LEAST, MOST = 24, 400  # words of one reply that are compared one by one
AROUND = 24  # words kept on each side of a change
TOKEN = re.compile(r"\s+|\w+|[^\w\s]")
ROOM = 640_000  # bytes of all flips in a report
LENGTHS = (1_500, 1_000, 700, 500, 350, 250, 180, 120)  # characters of one reply; the largest that has room is taken
WITH_TEXT = 5_000  # flips of a report whose texts are shown; of the others the ids
BRIEF = 60  # characters of a text that has room beside three others
SURE = ("right", "wrong")  # in place of 100 and 0 points
STATIC = 3  # flips of a check that stand in the page itself, for those without script


@dataclass(frozen=True)
class ShownFlip:
    """One flip: `parts` is the word-level diff of both replies, or one of them where the other is not known.

    `scores` are those of both sides, in words, empty where unknown. `reasoning` is the candidate's.
    """

    id: str
    prompt: str | None
    expected: str | None
    parts: tuple[Part, ...]
    before: bool
    got: bool
    scores: tuple[str, str] = ("", "")
    reasoning: str | None = None

    @property
    def brief(self) -> bool:
        """Whether all its texts are short enough to stand side by side."""
        sides = ("".join(part[1] for part in self.side(kind) or ()) for kind in (REMOVED, ADDED))
        texts = (self.prompt or "", self.expected or "", *sides)
        return all(len(text) <= BRIEF and text.count("\n") <= 2 for text in texts)

    @property
    def binary(self) -> bool:
        """Whether it was right and is wrong."""
        return self.scores == SURE

    @property
    def row(self) -> dict[str, Any]:
        """The flip as the page's script reads it."""
        row = {
            "i": self.id,
            "p": self.prompt,
            "e": self.expected,
            "d": [list(part) for part in self.parts] or None,
            "k": None if self.before and self.got else [self.before, self.got],
            "t": self.reasoning,
            "s": list(self.scores) if any(self.scores) else None,
            "r": 1 if self.binary else None,
            "b": 1 if self.brief else None,
        }
        return {key: value for key, value in row.items() if value is not None}

    @property
    def alike(self) -> bool:
        """Whether the replies have anything in common, so that marking what differs tells something."""
        return any(part[0] == SAME and part[1].strip() for part in self.parts)

    def side(self, kind: int) -> list[Part] | None:
        """The parts of one side: `REMOVED` for the reference's reply, `ADDED` for the candidate's; None if unknown."""
        is_known = self.before if kind == REMOVED else self.got
        return [part for part in self.parts if part[0] in (SAME, kind)] if is_known else None


def flips_of_report(flips: Mapping[int, Sequence[Flip]]) -> tuple[Mapping[int, tuple[ShownFlip, ...]], str]:
    """Cut the flips of a report, by the number of the check, to the room there is.

    The second of the pair has the same as JSON that a script element can hold.
    """
    share = max(1, WITH_TEXT // max(len(flips), 1))
    words = words_to_compare(sum(min(len(own), share) for own in flips.values()))
    whole = {check: [_whole(flip, words, at < share) for at, flip in enumerate(own)] for check, own in flips.items()}
    for length in LENGTHS:
        cut = {check: tuple(_cut(flip, length) for flip in own) for check, own in whole.items()}
        rows = {check: [flip.row for flip in own] for check, own in cut.items()}
        if len(json.dumps(rows)) <= ROOM:
            break
    return cut, embed(rows)


def _whole(flip: Flip, compared: int, with_text: bool) -> ShownFlip:
    if not with_text:
        return ShownFlip(plain(flip.id), None, None, (), False, False)
    texts = flip.prompt, flip.expected, flip.before, flip.got
    prompt, expected, before, got = (None if text is None else plain(text) for text in texts)
    if before is not None and got is not None:
        parts = tuple(word_diff(before, got, most=compared))
    else:
        parts = tuple((kind, reply) for kind, reply in ((REMOVED, before), (ADDED, got)) if reply)
    scores = (
        SURE if (flip.score_before, flip.score) == (100.0, 0.0) else (_points(flip.score_before), _points(flip.score))
    )
    reasoning = plain(flip.reasoning) if flip.reasoning else None
    return ShownFlip(plain(flip.id), prompt, expected, parts, before is not None, got is not None, scores, reasoning)


def _points(score: float | None) -> str:
    return "" if score is None else f"{score:.4g} points"


def _cut(flip: ShownFlip, length: int) -> ShownFlip:
    expected = None if flip.expected is None else clip(flip.expected, length // 2, " …")
    prompt, reasoning = (_end(text, length) for text in (flip.prompt, flip.reasoning))
    parts = tuple(shorten(flip.parts, length))
    return replace(flip, id=flip.id[:120], prompt=prompt, expected=expected, parts=parts, reasoning=reasoning)


def _end(text: str | None, length: int) -> str | None:
    return text if text is None or len(text) <= length else f"… {text[-length:].lstrip()}"


def plain(text: str) -> str:
    r"""Any text without characters that turn or hide what is beside them; line breaks stay, the ends are trimmed.

    >>> plain("  a\r\nb\x1b[2J ")
    'a\nb�[2J'
    """
    lines = text.strip()[: SCANNED * READ].replace("\r\n", "\n")
    if lines.isprintable():
        return lines
    return "".join(c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in lines)


# What changed between two replies, word by word


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
    head = len(os.path.commonprefix([left, right]))  # noqa: RUF071 (words, not paths)
    tail = len(os.path.commonprefix([left[head:][::-1], right[head:][::-1]]))  # noqa: RUF071
    old, new = left[head : len(left) - tail], right[head : len(right) - tail]
    parts: list[Part] = [(SAME, "".join(left[:head]))]
    if max(len(old), len(new)) > most:
        parts += [(REMOVED, "".join(old)), (ADDED, "".join(new))]
    else:
        for kind, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
            if kind == "equal":
                parts.append((SAME, "".join(old[a:b])))
            else:
                parts += [(REMOVED, "".join(old[a:b])), (ADDED, "".join(new[c:d]))]
    parts.append((SAME, "".join(left[len(left) - tail :])))
    return [part for part in parts if part[1]]


def shorten(parts: Sequence[Part], length: int) -> list[Part]:
    """The parts without long stretches that both texts share, cut to about `length` characters a side.

    >>> shorten([(0, "a " * 100), (-1, "x"), (1, "y")], 400)[0][1][:6]
    '… a a '
    """
    result: list[Part] = []
    room = {REMOVED: length, ADDED: length}
    for place, (kind, words) in enumerate(parts):
        text = _elide(words, starts=place > 0, ends=place < len(parts) - 1) if kind == SAME else words
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
    if not (starts or ends) or len(tokens) <= head + tail + AROUND:
        return text
    return (
        "".join(tokens[:head])
        + (" … " if starts and ends else "… " if ends else " …")
        + "".join(tokens[len(tokens) - tail :] if tail else [])
    )
