"""Tables of replies and what is read from them, for the terminal.

The tables hold examples, replies read anew, and first replies.
"""

from collections.abc import Mapping, Sequence

from rich.console import Console

from accgate.evaluation.examples import Example
from accgate.evaluation.rereading import Rereading
from accgate.records.file import Record
from accgate.report.terminal import print_paragraph, print_table
from accgate.text import number, visible

WIDE = 36  # characters of a reply in a table
MOST_REPLIES = 3  # that are shown after a recording
MOST_READINGS = 10  # changed readings of a check that are printed


def print_readings(console: Console, tasks: Mapping[str, tuple[str, Sequence[Example]]]) -> None:
    """Print how each task reads replies, and what it reads from its examples."""
    for name, (reading, examples) in tasks.items():
        print_paragraph(console, f"{name}: {reading}")
        rows = [
            (_shortened(each.reply) + " (cut off)" * each.is_cut, _answer_text(each.answer), number(each.points))
            for each in examples
        ]
        print_table(console, ("Reply", "What is read", "Points"), rows, left=(0, 1))


def print_rereadings(console: Console, done: Sequence[Rereading]) -> None:
    """Print how many readings of each check changed, and the first of them."""
    for each in done:
        print_paragraph(console, _rereading_text(each), "bold")
        rows = [
            (now.shown_id, _shortened(now.reply or ""), _read(then), _read(now), " → ".join(map(number, scores)))
            for then, now in each.changed[:MOST_READINGS]
            for scores in [(then.score, now.score)]
        ]
        print_table(console, ("Sample", "Reply", "Was read", "Is read", "Points"), rows, left=(0, 1, 2, 3))


def print_replies(console: Console, records: Sequence[Record]) -> None:
    """Print up to three replies, each with the answer that was expected.

    If possible they are a right one, a wrong one and an unread one.
    """
    kinds: dict[tuple[bool, float | None], Record] = {}
    for record in records:
        kinds.setdefault((record.is_unread, record.score), record)
    by_score = sorted(kinds.values(), key=lambda record: (record.is_unread, -(record.score or 0.0)))
    chosen = [*by_score[:1], *by_score[-2:], *records[:MOST_REPLIES]] if by_score else []
    replied = {record.key: record for record in chosen if record.reply is not None}
    rows = [
        (r.shown_id, _shortened(r.reply or ""), _answer_text(r.answer), _shortened(r.target), number(r.score))
        for r in [*replied.values()][:MOST_REPLIES]
    ]
    print_table(console, ("Sample", "Reply", "What is read", "Expected", "Points"), rows, left=(0, 1, 2, 3))


def _rereading_text(each: Rereading) -> str:
    check = f"{each.model} / {each.task}"
    if each.problem is not None:
        return f"{check}: not read anew: {each.problem}" + "; the model has to be asked again" * each.left_out
    text = f"{check}: {len(each.changed):,} of {each.replies:,} readings changed"
    gained = sum(then.is_unread and not now.is_unread for then, now in each.changed)
    lost = sum(then.reading == "read" and now.is_unread for then, now in each.changed)
    kinds = {"answers are found now that were not": gained, "answers are no longer found": lost}
    kinds["are read or scored differently"] = len(each.changed) - gained - lost
    counts = ", ".join(f"{count:,} {words}" for words, count in kinds.items() if count)
    return f"{text}: {counts}; mean {' to '.join(map(number, each.means))}." if counts else f"{text}."


def _read(record: Record) -> str:
    """Write what was read, or a dash where the record lacks it."""
    return "-" if record.answer is None and record.reading is None else _answer_text(record.answer)


def _answer_text(answer: str | None) -> str:
    """Write an answer as a table shows it."""
    return "no answer" if answer is None or not answer.strip() else _shortened(answer)


def _shortened(text: str) -> str:
    """Shorten a text to its beginning and end for a table's line."""
    line = " ".join(visible(text).split()) or "(empty)"
    return line if len(line) <= WIDE else f"{line[: WIDE // 2 - 2]} … {line[1 - WIDE // 2 :]}"
