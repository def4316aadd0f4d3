"""The samples that got worse, with their prompts and replies.

They come from the run folder and the reference.
"""

import os
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, TypeAlias

from accgate.records.file import Record, paths_of, read_gzip_lines, records_with
from accgate.result import Result
from accgate.text import clip, visible
from accgate.verdict import Verdict
from accgate.verdict.findings import COLLAPSED, subject_of

SHOWN = 10
ANSWERS = 3
WIDTH = 60  # characters of an answer
LONGEST = 4_000  # characters of a reply in which the last difference is looked for
SCANNED = 8  # characters read for each one shown: a reply of a megabyte costs no more than a short one
Entry = tuple[str | None, float | None]  # a text, and the score beside it where there is one

NOTHING: Entry = (None, None)


@dataclass(frozen=True)
class Flip:
    """One sample that got worse.

    Texts, and scores in points, are None where the files do not hold them. `id` is the dataset's own where it has one,
    and `got` what follows the candidate's reasoning. `sign` stands before the prompt of one that all runs lost.
    """

    id: str
    prompt: str | None
    expected: str | None
    before: str | None
    got: str | None
    score_before: float | None = None
    score: float | None = None
    reasoning: str | None = None
    sign: str = ""


FlipsByCheck: TypeAlias = Mapping[tuple[str | None, str | None], Sequence[Flip]]  # by (model, task)


def flips_of(verdict: Verdict, run_folder: Path, *, shown: int = SHOWN) -> tuple[Flip, ...]:
    """Return the first `shown` flips of a check, worst first.

    `run_folder` is where accgate.json lies; without record files there the flips have ids only.
    """
    ids = verdict.flips[:shown]
    signs = dict.fromkeys(() if verdict.collapse is None else verdict.collapse.ids[:shown], COLLAPSED)
    if not ids or verdict.model is None or verdict.task is None:
        return tuple(Flip(id_, None, None, None, None, sign=signs.get(id_, "")) for id_ in ids)
    paths = paths_of(run_folder, verdict.model, verdict.task)
    wanted = set(ids)
    prompts = _columns(paths.prompts, "prompt", wanted)
    before = _columns(paths.before, "reply", wanted)
    by_id: dict[str, list[Record]] = {}
    for record in records_with(paths.records, wanted):
        by_id.setdefault(record.id, []).append(record)
    flips = [_flip(id_, prompts.get((id_, 0), NOTHING)[0], by_id.get(id_, []), before) for id_ in ids]
    flips = [replace(flip, sign=signs.get(id_, "")) for id_, flip in zip(ids, flips, strict=True)]
    head = shared_head([flip.prompt for flip in flips if flip.prompt is not None])
    return tuple(flip if flip.prompt is None else replace(flip, prompt=flip.prompt[len(head) :]) for flip in flips)


def shared_head(prompts: Sequence[str]) -> str:
    """Return the whole lines with which all prompts begin.

    Few-shot examples do so. Of a single prompt there are none.

    >>> shared_head(["1 + 1 = 2\\n3 + 4 =", "1 + 1 = 2\\n3 + 9 ="])
    '1 + 1 = 2\\n'
    """
    head = os.path.commonprefix(list(prompts)) if len(prompts) > 1 else ""  # noqa: RUF071 (texts, not paths)
    return head[: head.rfind("\n") + 1]


def flips_of_result(result: Result, run_folder: Path) -> FlipsByCheck:
    """Return the first flips of every check that did not pass."""
    return {(v.model, v.task): flips_of(v, run_folder) for v in result.checks if v.verdict != "pass"}


def _columns(path: Path, column: str, wanted: AbstractSet[str]) -> Mapping[tuple[str, int], Entry]:
    """Read a column of a compressed file and the score, by (id, repeat).

    They are of the samples wanted.
    """
    rows = read_gzip_lines(path, column)
    return {(row["id"], row.get("repeat", 0)): (row[column], row.get("score")) for row in rows if row["id"] in wanted}


def _flip(id_: str, prompt: str | None, records: Sequence[Record], before: Mapping[tuple[str, int], Entry]) -> Flip:
    if not records:
        text, score = before.get((id_, 0), NOTHING)
        return Flip(id_, prompt, None, text, None, score)
    worst = min(records, key=lambda record: (record.score is not None, record.score or 0.0, record.repeat))
    text, score = before.get(worst.key, NOTHING)
    return Flip(worst.shown_id, prompt, worst.target, text, reply_text(worst), score, worst.score, worst.reasoning)


def reply_text(record: Record) -> str | None:
    """Return what a sample replied, or why there is nothing."""
    if record.reply is None:
        return record.error
    if record.reply.strip() or record.reading in (None, "read"):
        return record.reply
    return "(no answer after the reasoning)" if record.reasoning else "(empty)"


def excerpt(text: str | None, length: int = 160) -> str:
    """Return the end of a text on one line, where the question mostly is.

    >>> excerpt("Solved examples.\\n\\nWhat is 2 + 2?", length=16)
    '… What is 2 + 2?'
    """
    return opening((text or "").rstrip()[::-1], length)[::-1]


def opening(text: str | None, length: int = 160) -> str:
    """Return the beginning of a text, on one line.

    >>> opening("The answer is 4, because two and two make four.", length=18)
    'The answer is 4, …'
    """
    whole = (text or "").strip()
    more = " …" if len(whole) > SCANNED * length else ""
    return clip(visible(whole[: SCANNED * length]) + more, length, " …")


class Answer(NamedTuple):
    """A sample that got worse.

    It has its own id if there is one, the end of its prompt, and both replies cut to the difference.
    """

    prompt: str
    before: str
    now: str


@dataclass(frozen=True)
class Answers:
    """At most three answers of the first check that lost some.

    `count` is how many it lost. `before` and `now` head the columns: they say right and wrong only where every score is
    100 and 0.
    """

    check: str
    count: int
    rows: tuple[Answer, ...]
    before: str
    now: str


def first_answers(checks: Sequence[Verdict], flips: FlipsByCheck) -> Answers | None:
    """Return the first answers of the first regression that has any.

    They must have their texts.
    """
    for verdict in checks:
        rows = [flip for flip in flips.get((verdict.model, verdict.task), ()) if flip.prompt is not None]
        if verdict.verdict == "regression" and rows:
            return answers_of(verdict, rows)
    return None


def answers_of(verdict: Verdict, flips: Sequence[Flip]) -> Answers:
    """Return the first three of a check's answers that got worse.

    They are cut to where the replies differ.
    """
    first = flips[:ANSWERS]
    rows = tuple(Answer(_question(verdict, flip), *cut_to_difference(flip.before, flip.got)) for flip in first)
    is_plain = all((flip.score_before, flip.score) == (100.0, 0.0) for flip in first)
    before, now = ("Before, right", "Now, wrong") if is_plain and verdict.higher_is_better else ("Before", "Now")
    return Answers(subject_of(verdict), verdict.lost or len(verdict.flips), rows, before, now)


def _question(verdict: Verdict, flip: Flip) -> str:
    """Return the end of a prompt, after the user's own id.

    It is one that is no digest.
    """
    prompt = excerpt(flip.prompt, 2 * WIDTH)
    return f"{flip.sign}{prompt if flip.id in verdict.flips else f'{opening(flip.id, WIDTH)}: {prompt}'}"


def cut_to_difference(before: str | None, now: str | None, width: int = WIDTH) -> tuple[str, str]:
    """Cut both replies to a line each around where they last differ.

    A line has at most `width` characters.

    >>> cut_to_difference("6 + 14 is 20.", "6 + 14 is 18.", 10)
    ('… is 20.', '… is 18.')
    """
    first, second = (visible((text or "").strip()[-LONGEST:]) for text in (before, now))
    if max(len(first), len(second)) <= width:
        return first or "(none)", second or "(none)"
    same = len(os.path.commonprefix([first[::-1], second[::-1]]))  # noqa: RUF071 (texts, not paths)
    return _cut(first, same, width) or "(none)", _cut(second, same, width) or "(none)"


def _cut(text: str, same: int, width: int) -> str:
    """Cut the text some characters behind the last difference.

    It keeps the words before it that there is room for.
    """
    end = len(text) - max(0, same - width // 4)
    head = text[:end].rstrip()
    more = "" if end >= len(text) else " …"
    if len(head) + len(more) <= width:
        return head + more
    tail = head[-(width - 2 - len(more)) :]
    first, space, rest = tail.partition(" ")
    return f"… {rest if space and len(first) < width // 3 else tail}{more}"
