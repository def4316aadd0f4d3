"""What differs between a run and its reference: settings, and the answers that got worse."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from accgate.report.flips import Flip, excerpt
from accgate.text import visible
from accgate.verdict import Verdict, subject_of

ANSWERS = 3
WIDTH = 60  # characters of an answer
LONGEST = 4_000  # characters of a reply in which the last difference is looked for


class Setting(NamedTuple):
    """A setting that differs from the reference's: its name, the reference's value, this run's."""

    name: str
    before: str
    now: str


class Answer(NamedTuple):
    """A sample that got worse: the end of its prompt, both replies cut to where they differ."""

    prompt: str
    before: str
    now: str


@dataclass(frozen=True)
class Answers:
    """At most three answers of the first check that lost some; `count` is how many it lost.

    `before` and `now` head the columns: they say right and wrong only where every score is 100 and 0.
    """

    check: str
    count: int
    rows: tuple[Answer, ...]
    before: str
    now: str


SHORT_NAMES = {"version": "engine version"}


def settings_of(verdict: Verdict) -> tuple[Setting, ...]:
    """The settings of a check that differ from its reference's, what is only a label last.

    >>> from accgate.verdict import CandidateSummary, ReferenceSummary, Verdict
    >>> sides, changed = (ReferenceSummary(75.0, 9), CandidateSummary(70.0, 9)), ("options.kv: not set → q4_0",)
    >>> settings_of(Verdict("m", "t", "pass", "paired", 9, *sides, 0.05, 0.2, settings_changed=changed))
    (Setting(name='kv', before='not set', now='q4_0'),)
    """
    settings = []
    for text in verdict.settings_changed:
        name, _, values = text.partition(": ")
        before, _, now = values.partition(" → ")
        if not now:
            name, before = text, ""
        settings.append(Setting(SHORT_NAMES.get(name, name.removeprefix("options.")), before, now))
    return tuple(sorted(settings, key=lambda setting: setting.name.startswith("variant.")))


def first_answers(
    checks: Sequence[Verdict], flips: Mapping[tuple[str | None, str | None], Sequence[Flip]]
) -> Answers | None:
    """The first answers of the first regression that has any with their texts."""
    for verdict in checks:
        rows = [flip for flip in flips.get((verdict.model, verdict.task), ()) if flip.prompt is not None]
        if verdict.verdict == "regression" and rows:
            return answers_of(verdict, rows)
    return None


def answers_of(verdict: Verdict, flips: Sequence[Flip]) -> Answers:
    """The first three of a check's answers that got worse, cut to where the replies differ."""
    first = flips[:ANSWERS]
    rows = tuple(Answer(excerpt(flip.prompt, 2 * WIDTH), *cut_to_difference(flip.before, flip.got)) for flip in first)
    is_plain = all((flip.score_before, flip.score) == (100.0, 0.0) for flip in first)
    before, now = ("Before, right", "Now, wrong") if is_plain and verdict.higher_is_better else ("Before", "Now")
    return Answers(subject_of(verdict), verdict.lost or len(verdict.flips), rows, before, now)


def cut_to_difference(before: str | None, now: str | None, width: int = WIDTH) -> tuple[str, str]:
    """Both replies on a line each, in at most `width` characters around the place where they last differ.

    >>> cut_to_difference("6 + 14 is 20.", "6 + 14 is 18.", 10)
    ('… is 20.', '… is 18.')
    """
    first, second = (visible((text or "").strip()[-LONGEST:]) for text in (before, now))
    if max(len(first), len(second)) <= width:
        return first or "(none)", second or "(none)"
    same = len(os.path.commonprefix([first[::-1], second[::-1]]))  # noqa: RUF071 (texts, not paths)
    return _cut(first, same, width) or "(none)", _cut(second, same, width) or "(none)"


def _cut(text: str, same: int, width: int) -> str:
    """The text up to some characters behind the last difference, with the words before it that there is room for."""
    end = len(text) - max(0, same - width // 4)
    head = text[:end].rstrip()
    more = "" if end >= len(text) else " …"
    if len(head) + len(more) <= width:
        return head + more
    tail = head[-(width - 2 - len(more)) :]
    first, space, rest = tail.partition(" ")
    return f"… {rest if space and len(first) < width // 3 else tail}{more}"
