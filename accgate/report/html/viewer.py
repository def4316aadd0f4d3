"""The samples of a report as data for the lists of its page.

What the page has no room for goes to a file in the page's folder.
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

# Chosen so that a page of 10,000 samples stays under 5 MB, and a browser opens the largest file.
LISTED = 100_000  # samples of a report
ROWS, TEXTS = 1_500_000, 2_500_000  # bytes of all rows, and of all texts, that a page itself holds
FILE = 60_000_000  # bytes of the file for the others
LEAST, LONGEST = 250, 20_000  # characters of a text; where not all have room, each is cut
ID, HEAD = 120, 4_000  # characters of an id, and of what all prompts begin with
FUNCTION = "accgateSamples"  # of the page's script, which the file calls


@dataclass
class SamplesFile:
    """The script file that takes the samples for which a page has no room.

    The page loads it by its `name` from its own folder. It has no `parts` where the page holds everything.
    """

    name: str
    parts: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """Its content."""
        return "".join(self.parts)

    @property
    def nonce(self) -> str:
        """The word by which the page's policy lets this file run.

        It is a digest of the file, so that no text within can contain it.
        """
        return hashlib.sha256(self.text.encode()).hexdigest()


@dataclass(frozen=True)
class ShownList:
    """Counts of a check's samples for the texts around their list.

    `listed` is how many of all have a row. `textless` counts those whose texts have no room anywhere, `worse` those
    that got worse, and `in_file` those whose texts are in the samples file.
    """

    count: int
    listed: int
    textless: int
    worse: int
    in_file: int


class _Column:
    """JSON items of the first samples, as many as there is room for."""

    def __init__(self, room: int) -> None:
        self.items: list[str] = []
        self.left, self._is_full = room, False

    def take(self, item: str) -> bool:
        """Take an item unless one had no room, and tell whether it was taken."""
        self._is_full = self._is_full or len(item) >= self.left
        if not self._is_full:
            self.items.append(item)
            self.left -= len(item) + 1
        return not self._is_full


def lists_of(checks: Mapping[int, Samples], samples_file: SamplesFile | None) -> tuple[Mapping[int, ShownList], str]:
    """Share the room of a page among the lists of its checks.

    The samples file takes what finds no room. Return the counts of each check, and the page's data as JSON that a
    script element can hold. Without a samples file the rest is left out.
    """
    room, listed, lists = [ROWS, TEXTS], LISTED, {}
    size, count = (sum(map(of, checks.values())) for of in (attrgetter("size"), len))
    length = LONGEST if size <= FILE else max(LEAST, min(LONGEST, FILE // (3 * count)))
    inside = []
    for left, (at, samples) in zip(range(len(checks), 0, -1), checks.items(), strict=True):
        page = [_Column(each // left) for each in room]
        more = [_Column(0 if samples_file is None else FILE) for _ in room]
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
        if samples_file is not None and any(each.items for each in more):
            samples_file.parts.append(f'{FUNCTION}({{"{at}":{{{_columns(more)}}}}});\n')
        room = [each - each // left + own.left for each, own in zip(room, page, strict=True)]
        listed -= rows
    return lists, f"{{{','.join(inside)}}}"


def _columns(columns: Sequence[_Column]) -> str:
    return ",".join(f'"{name}":[{",".join(each.items)}]' for name, each in zip(("rows", "texts"), columns, strict=True))


def _row(sample: Sample, groups: dict[str, int]) -> list[Any]:
    """Return what the list's script sorts and filters by.

    A group's name is written once a check: a row has its place in `groups`, which this extends.
    """
    record = sample.record
    group = None if record.group is None else groups.setdefault(clip(plain(record.group), ID, " …"), len(groups))
    before, now = (None if score is None else round(score, 2) for score in sample.scores)
    own = None if record.own_id is None else plain(record.own_id)[:ID]
    seconds = round(record.seconds, 3) if record.seconds > 0.0 else None
    return [plain(record.id)[:ID], own, before, now, sample.kinds, record.completion_tokens, seconds, group,
            sample.answers]  # fmt: skip


def _texts(sample: Sample, length: int) -> list[str | None]:
    """Return prompt, expected answer, both replies and the candidate's reasoning.

    A text that is not known is None.
    """
    replies = sample.record.target, sample.before, reply_text(sample.record)
    prompt, reasoning = (_cut(text, length, shows_end=True) for text in (sample.prompt, sample.record.reasoning))
    return [prompt, *(_cut(text, length) for text in replies), reasoning]


def _cut(text: str | None, length: int, *, shows_end: bool = False) -> str | None:
    """Cut a long text, and say how many characters are left out.

    With `shows_end` the end of the text stays, else its beginning.
    """
    if text is None or len(text) <= length:
        return None if text is None else plain(text)
    if shows_end:
        return f"({len(text) - length:,} characters before this are in the run's folder) … {plain(text[-length:])}"
    return f"{plain(text[:length])} … ({len(text) - length:,} more characters are in the run's folder)"


def plain(text: str) -> str:
    r"""Replace characters that could turn or hide the text around them.

    Line breaks and tabs stay, the ends are trimmed.

    >>> plain("  a\r\nb\x1b[2J ")
    'a\nb�[2J'
    """
    lines = text.strip().replace("\r\n", "\n")
    if lines.isprintable():
        return lines
    return "".join(c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in lines)
