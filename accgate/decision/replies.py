"""The replies of two models to the same samples: which differ, from which token on, and in how many."""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import takewhile

from accgate.evaluation.pair import Records
from accgate.records.file import Record
from accgate.verdict import Reason
from accgate.verdict.figures import ReplyChange, ReplyChanges

TOKEN = re.compile(r"\w+|[^\w\s]")  # a word or a mark: engines give no ids of tokens with their replies
SHOWN, NAMED = 10, 3  # replies that a verdict keeps, and that its reason names
MOST = 2_000  # tokens from the first to the last that differs, of which more than these all count


def reply_changes(records: Records) -> ReplyChanges | None:
    """Return how the replies of both sides differ, whatever they score; None where there are none.

    >>> made = [Record("a", 0, 100.0, "4", "4", text, "stop", 1, 1, 0.1, None) for text in ("It is 4.", "It is: 4!")]
    >>> reply_changes((made[:1], made[1:]))
    ReplyChanges(replies=1, changed=1, tokens=2, first=(ReplyChange(id='a', place=3, before='4', now=':'),))
    """
    pairs = [pair for pair in zip(*records, strict=True) if any(record.reply is not None for record in pair)]
    if not pairs:
        return None
    first: list[ReplyChange] = []
    changed = tokens = 0
    for pair in pairs:
        if _text(pair[0]) == _text(pair[1]):
            continue
        before, now = (TOKEN.findall(_text(record)) for record in pair)
        changed += 1
        tokens += tokens_between(before, now)
        if len(first) < SHOWN:
            place = _same(before, now)
            ends = ("".join(side[place : place + 1]) for side in (before, now))
            first.append(ReplyChange(pair[0].shown_id, place + 1, *ends))
    return ReplyChanges(len(pairs), changed, tokens, tuple(first))


def reason_of(changes: ReplyChanges, other: str) -> Reason:
    """Return the changes as a reason, with the first token of the first replies that differ."""
    first = "; ".join(
        f"{each.id} at token {each.place} ({each.before or 'its end'} → {each.now or 'its end'})"
        for each in changes.first[:NAMED]
    )
    return Reason.of(
        "replies-differ",
        changed=changes.changed,
        replies=changes.replies,
        tokens=changes.tokens,
        other=other,
        first=first,
    )


def _text(record: Record) -> str:
    return "\n".join(part for part in (record.reasoning, record.reply) if part is not None)


def _same(before: Sequence[str], now: Sequence[str]) -> int:
    """The number of tokens with which both begin."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, now, strict=False)))


def tokens_between(before: Sequence[str], now: Sequence[str]) -> int:
    """Count the tokens that differ: those that take another's place, and those that one side has more.

    >>> tokens_between("a b c d".split(), "a x c d e".split())
    2
    """
    start = _same(before, now)
    before, now = before[start:], now[start:]
    end = _same(before[::-1], now[::-1])
    before, now = before[: len(before) - end], now[: len(now) - end]
    if max(len(before), len(now)) > MOST:
        return max(len(before), len(now))
    steps = SequenceMatcher(None, before, now, autojunk=False).get_opcodes()
    return sum(max(i2 - i1, j2 - j1) for kind, i1, i2, j1, j2 in steps if kind != "equal")
