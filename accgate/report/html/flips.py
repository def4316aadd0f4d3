"""The samples that got worse, as data for the report's list of them, each cut to the room there is."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from accgate.report.flips import SCANNED, Flip
from accgate.report.html.diff import ADDED, REMOVED, SAME, Part, shorten, word_diff, words_to_compare
from accgate.report.html.inline import embed

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
        texts = (self.prompt or "", self.expected or "", *("".join(part[1] for part in self.side(k)) for k in (-1, 1)))
        return all(len(text) <= BRIEF and text.count("\n") <= 2 for text in texts)

    @property
    def binary(self) -> bool:
        """Whether it was right and is wrong."""
        return self.scores == SURE

    @property
    def row(self) -> dict[str, Any]:
        """The flip as the page's script reads it."""
        row: dict[str, Any] = {"i": self.id}
        if self.prompt is not None:
            row["p"] = self.prompt
        if self.expected is not None:
            row["e"] = self.expected
        if self.parts:
            row["d"] = [list(part) for part in self.parts]
        if not self.before or not self.got:
            row["k"] = [self.before, self.got]
        if self.reasoning is not None:
            row["t"] = self.reasoning
        if any(self.scores):
            row["s"] = list(self.scores)
        if self.binary:
            row["r"] = 1
        if self.brief:
            row["b"] = 1
        return row

    @property
    def alike(self) -> bool:
        """Whether the replies have anything in common, so that marking what differs tells something."""
        return any(part[0] == SAME and part[1].strip() for part in self.parts)

    def side(self, kind: int) -> list[Part]:
        """The parts of one side: `REMOVED` for the reference's reply, `ADDED` for the candidate's."""
        return [part for part in self.parts if part[0] in (SAME, kind)]

    @property
    def reference(self) -> list[Part] | None:
        """The reference's reply; None where it is not known."""
        return self.side(REMOVED) if self.before else None

    @property
    def candidate(self) -> list[Part] | None:
        """The candidate's reply; None where it is not known."""
        return self.side(ADDED) if self.got else None


@dataclass(frozen=True)
class FlipsOfReport:
    """The flips of each check by its number, and the same as JSON that a script element can hold."""

    by_check: Mapping[int, tuple[ShownFlip, ...]]
    data: str


def flips_of_report(flips: Mapping[int, Sequence[Flip]]) -> FlipsOfReport:
    """The flips of a report, by the number of the check, cut to the room there is."""
    share = max(1, WITH_TEXT // max(len(flips), 1))
    words = words_to_compare(sum(min(len(own), share) for own in flips.values()))
    whole = {check: [_whole(flip, words, at < share) for at, flip in enumerate(own)] for check, own in flips.items()}
    for length in LENGTHS:
        cut = {check: tuple(_cut(flip, length) for flip in own) for check, own in whole.items()}
        rows = {check: [flip.row for flip in own] for check, own in cut.items()}
        if len(json.dumps(rows)) <= ROOM:
            break
    return FlipsOfReport(cut, embed(rows))


def _whole(flip: Flip, compared: int, with_text: bool) -> ShownFlip:
    if not with_text:
        return ShownFlip(plain(flip.id), None, None, (), False, False)
    before, got = (None if text is None else plain(text) for text in (flip.before, flip.got))
    if before is not None and got is not None:
        parts = tuple(word_diff(before, got, most=compared))
    else:
        reply = before if before is not None else got
        kind = REMOVED if before is not None else ADDED
        parts = ((kind, reply),) if reply else ()
    expected = None if flip.expected is None else plain(flip.expected)
    prompt = None if flip.prompt is None else plain(flip.prompt)
    scores = (
        SURE if (flip.score_before, flip.score) == (100.0, 0.0) else (_points(flip.score_before), _points(flip.score))
    )
    reasoning = plain(flip.reasoning) if flip.reasoning else None
    return ShownFlip(plain(flip.id), prompt, expected, parts, before is not None, got is not None, scores, reasoning)


def _points(score: float | None) -> str:
    return "" if score is None else f"{score:.4g} points"


def _cut(flip: ShownFlip, length: int) -> ShownFlip:
    expected = flip.expected
    if expected is not None and len(expected) > length // 2:
        expected = expected[: length // 2].rstrip() + " …"
    prompt, reasoning = (_end(text, length) for text in (flip.prompt, flip.reasoning))
    parts = tuple(shorten(flip.parts, length))
    return replace(flip, id=flip.id[:120], prompt=prompt, expected=expected, parts=parts, reasoning=reasoning)


def _end(text: str | None, length: int) -> str | None:
    return text if text is None or len(text) <= length else f"… {text[-length:].lstrip()}"


def plain(text: str, most: int = 20_000) -> str:
    r"""Any text without characters that turn or hide what is beside them; line breaks stay, the ends are trimmed.

    >>> plain("  a\r\nb\x1b[2J ")
    'a\nb�[2J'
    """
    lines = text.strip()[: SCANNED * most].replace("\r\n", "\n")
    if lines.isprintable():
        return lines
    return "".join(c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in lines)
