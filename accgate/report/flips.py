"""The samples that got worse, with their prompts and both replies."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeAlias

from accgate.records.file import Record, paths_of, read_gzip_lines, records_with
from accgate.result import Result
from accgate.text import clip, visible
from accgate.verdict import Verdict
from accgate.verdict.findings import COLLAPSED, subject_of

SHOWN = 10  # flips of a check in a report that does not list all samples
ANSWERS = 3
WIDTH = 60  # characters of an answer
LONGEST = 4_000  # characters of a reply in which the last difference is looked for
SCANNED = 8  # characters read for each one shown: a reply of a megabyte costs no more than a short one
Reply = tuple[str | None, float | None]  # its text, and its score where the file has one


@dataclass(frozen=True)
class Flip:
    """One sample that got worse.

    `before` and `got` are the replies of reference and candidate, `got` without its reasoning. Texts, and scores in
    points, are None where the files do not hold them. `id` is the dataset's own where it has one. `sign` marks a sample
    that all runs lost, and stands before its prompt.
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


def flips_of(verdict: Verdict, run_folder: Path) -> tuple[Flip, ...]:
    """Return the first ten flips of a check, worst first.

    `run_folder` is where accgate.json lies. Without record files there the flips have ids only.
    """
    ids = verdict.flips[:SHOWN]
    signs = dict.fromkeys(() if verdict.collapse is None else verdict.collapse.ids, COLLAPSED)
    if not ids or verdict.model is None or verdict.task is None:
        return tuple(Flip(id_, None, None, None, None, sign=signs.get(id_, "")) for id_ in ids)
    paths, wanted = paths_of(run_folder, verdict.model, verdict.task), set(ids)
    rows = (row for row in read_gzip_lines(paths.prompts, "prompt") if row["id"] in wanted)
    prompts: dict[str, str] = {row["id"]: row["prompt"] for row in rows if row["prompt"] is not None}
    head = shared_head([*prompts.values()])
    rows = (row for row in read_gzip_lines(paths.before, "reply") if row["id"] in wanted)
    before = {(row["id"], row.get("repeat", 0)): (row["reply"], row.get("score")) for row in rows}
    by_id: dict[str, list[Record]] = {}
    for record in records_with(paths.records, wanted):
        by_id.setdefault(record.id, []).append(record)
    prompts = {id_: prompt[len(head) :] for id_, prompt in prompts.items()}
    return tuple(_flip(id_, prompts.get(id_), by_id.get(id_, []), before, signs.get(id_, "")) for id_ in ids)


def shared_head(prompts: Sequence[str]) -> str:
    """Return the whole lines with which several prompts begin, as few-shot examples.

    A single prompt shares none.

    >>> shared_head(["1 + 1 = 2\\n3 + 4 =", "1 + 1 = 2\\n3 + 9 ="])
    '1 + 1 = 2\\n'
    """
    head = os.path.commonprefix(list(prompts)) if len(prompts) > 1 else ""  # noqa: RUF071 (texts, not paths)
    return head[: head.rfind("\n") + 1]


def flips_of_result(result: Result, run_folder: Path) -> FlipsByCheck:
    """Return the first flips of every check that did not pass."""
    return {(v.model, v.task): flips_of(v, run_folder) for v in result.checks if v.verdict != "pass"}


def _flip(
    id_: str, prompt: str | None, records: Sequence[Record], before: Mapping[tuple[str, int], Reply], sign: str
) -> Flip:
    worst = min(records, key=lambda r: (r.score is not None, r.score or 0.0, r.repeat), default=None)
    text, score = before.get((id_, 0) if worst is None else worst.key, (None, None))
    if worst is None:
        return Flip(id_, prompt, None, text, None, score, sign=sign)
    reply = reply_text(worst)
    return Flip(worst.shown_id, prompt, worst.target, text, reply, score, worst.score, worst.reasoning, sign)


def reply_text(record: Record) -> str | None:
    """Return the reply of a record without its reasoning, or why it has none."""
    if record.reply is None:
        return record.error
    if record.reply.strip() or record.reading in (None, "read"):
        return record.reply
    return "(no answer after the reasoning)" if record.reasoning else "(empty)"


def excerpt(text: str | None, length: int = 160) -> str:
    """Return the end of a prompt, where the question mostly is, on one line.

    >>> excerpt("Solved examples.\\n\\nWhat is 2 + 2?", length=16)
    '… What is 2 + 2?'
    """
    return opening((text or "").rstrip()[::-1], length)[::-1]


def opening(text: str | None, length: int = 160) -> str:
    """Return the beginning of a text, on one line.

    >>> opening("The answer is 4, because two and two make four.", length=18)
    'The answer is 4, …'
    """
    stripped = (text or "").strip()
    more = " …" if len(stripped) > SCANNED * length else ""
    return clip(visible(stripped[: SCANNED * length]) + more, length, " …")


class Answer(NamedTuple):
    """A sample that got worse, with its prompt and both replies cut short.

    The prompt is cut to its end, and the replies to where they differ.
    """

    prompt: str
    before: str
    now: str


@dataclass(frozen=True)
class Answers:
    """The first three answers that a check lost, of `count`.

    `before` and `now` head the columns. They say "right" and "wrong" only where every score is 100 or 0.
    """

    check: str
    count: int
    rows: tuple[Answer, ...]
    before: str
    now: str


def first_answers(checks: Sequence[Verdict], flips: FlipsByCheck) -> Answers | None:
    """Return the first lost answers of the first regression whose prompts are known."""
    for verdict in checks:
        flips_here = flips.get((verdict.model, verdict.task), ()) if verdict.verdict == "regression" else ()
        if not (first := [flip for flip in flips_here if flip.prompt is not None][:ANSWERS]):
            continue
        rows = tuple(Answer(_question(verdict, flip), *cut_to_difference(flip.before, flip.got)) for flip in first)
        is_plain = all((flip.score_before, flip.score) == (100.0, 0.0) for flip in first)
        before, now = ("Before, right", "Now, wrong") if is_plain and verdict.higher_is_better else ("Before", "Now")
        return Answers(subject_of(verdict), verdict.lost or len(verdict.flips), rows, before, now)
    return None


def _question(verdict: Verdict, flip: Flip) -> str:
    """Return the end of a prompt, after an id that the dataset gave."""
    prompt = excerpt(flip.prompt, 2 * WIDTH)
    return f"{flip.sign}{prompt if flip.id in verdict.flips else f'{opening(flip.id, WIDTH)}: {prompt}'}"


def cut_to_difference(before: str | None, now: str | None, width: int = WIDTH) -> tuple[str, str]:
    """Cut both replies to at most `width` characters around where they last differ.

    >>> cut_to_difference("6 + 14 is 20.", "6 + 14 is 18.", 10)
    ('… is 20.', '… is 18.')
    """
    first, second = (visible((text or "").strip()[-LONGEST:]) for text in (before, now))
    if max(len(first), len(second)) <= width:
        return first or "(none)", second or "(none)"
    same = len(os.path.commonprefix([first[::-1], second[::-1]]))  # noqa: RUF071 (texts, not paths)
    return _cut(first, same, width) or "(none)", _cut(second, same, width) or "(none)"


def _cut(text: str, same: int, width: int) -> str:
    """Cut a text to `width` characters around the last difference.

    A quarter of them comes after the difference, and the words before it fill the rest. The last `same` characters are
    those after the difference.
    """
    end = len(text) - max(0, same - width // 4)
    head = text[:end].rstrip()
    more = "" if end >= len(text) else " …"
    if len(head) + len(more) <= width:
        return head + more
    tail = head[-(width - 2 - len(more)) :]
    first, space, rest = tail.partition(" ")
    return f"… {rest if space and len(first) < width // 3 else tail}{more}"
