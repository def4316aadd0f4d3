"""Every sample of a report as data for its lists.

It is in the page as far as there is room, else in a file beside it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from operator import attrgetter
from typing import Any

from accgate.report.flips import reply_text
from accgate.report.html.inline import embed
from accgate.report.samples import WORSE, Sample, Samples
from accgate.text import clip

LISTED = 100_000  # samples of a report
ROWS, TEXTS = 1_500_000, 2_500_000  # bytes of all rows, and of all texts, that a page itself holds
BESIDE = 60_000_000  # bytes of the file beside it
LEAST, LONGEST = 250, 20_000  # characters of a text; where not all have room, each is cut
ID, HEAD = 120, 4_000  # characters of an id, and of what all prompts begin with
FUNCTION = "accgateSamples"  # of the page's script, which the file beside calls


@dataclass
class Beside:
    """The file beside a page.

    It has its name, and the parts of its content, none where the page holds everything.
    """

    name: str
    parts: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """Its content."""
        return "".join(self.parts)

    @property
    def nonce(self) -> str:
        """A word by which the page lets this content run.

        No text in it can know it.
        """
        return hashlib.sha256(self.text.encode()).hexdigest()


@dataclass(frozen=True)
class ShownList:
    """The list of a check's samples.

    It has how many there are, and how many of them are listed. `textless` counts those whose texts have no room
    anywhere, `worse` those that got worse, and `beside` those whose texts are in the file beside the page.
    """

    count: int
    listed: int
    textless: int
    worse: int
    beside: int


class _Column:
    """JSON of one thing of each sample, taken in until one has no room."""

    def __init__(self, room: int) -> None:
        self.items: list[str] = []
        self.left, self._is_full = room, False

    def take(self, item: str) -> bool:
        """Take an item where there is room, and say whether there was."""
        self._is_full = self._is_full or len(item) >= self.left
        if not self._is_full:
            self.items.append(item)
            self.left -= len(item) + 1
        return not self._is_full


def lists_of(checks: Mapping[int, Samples], beside: Beside | None) -> tuple[Mapping[int, ShownList], str]:
    """Share the room of a page among its checks.

    The file beside it gets what has no room. The second of the pair is JSON that a script element can hold. Without a
    file beside, what has no room is left out.
    """
    room, listed, lists = [ROWS, TEXTS], LISTED, {}
    size, count = (sum(map(of, checks.values())) for of in (attrgetter("size"), len))
    length = LONGEST if size <= BESIDE else max(LEAST, min(LONGEST, BESIDE // (3 * count)))
    inside = []
    for left, (at, samples) in zip(range(len(checks), 0, -1), checks.items(), strict=True):
        page = [_Column(each // left) for each in room]
        more = [_Column(0 if beside is None else BESIDE) for _ in room]
        groups: dict[str, int] = {}
        for sample in islice(samples, listed // left):
            for own, rest, item in zip(page, more, (_row(sample, groups), _texts(sample, length)), strict=True):
                made = embed(item)
                _ = own.take(made) or rest.take(made)
        rows, texts_kept = (len(own.items) + len(rest.items) for own, rest in zip(page, more, strict=True))
        worse = int((samples.kinds & WORSE > 0).sum())
        lists[at] = ShownList(len(samples), rows, len(samples) - texts_kept, worse, len(more[1].items))
        about = {"up": samples.higher_is_better, "head": _cut(samples.head, HEAD), "groups": list(groups)}
        inside.append(f'"{at}":{{"about":{embed(about)},{_columns(page)}}}')
        if beside is not None and any(each.items for each in more):
            beside.parts.append(f'{FUNCTION}({{"{at}":{{{_columns(more)}}}}});\n')
        room = [each - each // left + own.left for each, own in zip(room, page, strict=True)]
        listed -= rows
    return lists, f"{{{','.join(inside)}}}"


def _columns(columns: Sequence[_Column]) -> str:
    return ",".join(f'"{name}":[{",".join(each.items)}]' for name, each in zip(("rows", "texts"), columns, strict=True))


def _row(sample: Sample, groups: dict[str, int]) -> list[Any]:
    """Return what the list's script sorts and filters by.

    A group is its place among those of the check.
    """
    record = sample.record
    group = None if record.group is None else groups.setdefault(clip(plain(record.group), ID, " …"), len(groups))
    before, now = (None if score is None else round(score, 2) for score in sample.scores)
    own = None if record.own_id is None else plain(record.own_id)[:ID]
    seconds = round(record.seconds, 3) if record.seconds > 0.0 else None
    return [plain(record.id)[:ID], own, before, now, sample.kinds, record.completion_tokens, seconds, group,
            sample.answers]  # fmt: skip


def _texts(sample: Sample, length: int) -> list[str | None]:
    """Return prompt, expected answer, both replies and reasoning.

    The reasoning is the candidate's. They go as far as they are known.
    """
    replies = sample.record.target, sample.before, reply_text(sample.record)
    prompt, reasoning = (_cut(text, length, shows_end=True) for text in (sample.prompt, sample.record.reasoning))
    return [prompt, *(_cut(text, length) for text in replies), reasoning]


def _cut(text: str | None, length: int, *, shows_end: bool = False) -> str | None:
    """Return the beginning of a text, or its end, and how much more of it there is."""
    if text is None or len(text) <= length:
        return None if text is None else plain(text)
    if shows_end:
        return f"({len(text) - length:,} characters before this are in the run's folder) … {plain(text[-length:])}"
    return f"{plain(text[:length])} … ({len(text) - length:,} more characters are in the run's folder)"


def plain(text: str) -> str:
    r"""Strip any text of characters that turn or hide what is beside them.

    Line breaks stay, the ends are trimmed.

    >>> plain("  a\r\nb\x1b[2J ")
    'a\nb�[2J'
    """
    lines = text.strip().replace("\r\n", "\n")
    if lines.isprintable():
        return lines
    return "".join(c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in lines)
