"""How much of a run fits into a comment.

Rooms go from large to small, and a run has its texts cut to one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

from accgate.guard.state import Guard, RuleChange
from accgate.report.flips import opening
from accgate.result import Result
from accgate.verdict import Verdict


@dataclass(frozen=True)
class Room:
    """How much is shown.

    It is flips of each check, rows, details, and the length of names and reasons in characters. `groups` are the rows
    of a check's table of groups, and `group_lines` the checks whose outstanding groups are named. `answers` and
    `settings` stand unfolded; `plot` says whether a picture as text does.
    """

    flips: int = 10
    answers: int = 3
    settings: int = 3
    plot: bool = True
    passing_details: bool = True
    details: bool = True
    changes: int = 200
    passing_rows: int | None = None
    rows: int | None = None
    names: int = 120
    reasons: int = 600
    log: int = 40
    groups: int = 0
    group_lines: int = 20


LESS: Sequence[dict[str, Any]] = (  # than in the room before; what matters least goes first
    {"flips": 5}, {"flips": 2}, {"flips": 0}, {"group_lines": 5}, {"passing_details": False}, {"plot": False},
    {"details": False}, {"changes": 30},
    {"passing_rows": 100}, {"passing_rows": 10}, {"names": 40, "reasons": 200}, {"passing_rows": 0, "log": 20},
    {"rows": 200}, {"rows": 100}, {"rows": 50, "changes": 10}, {"rows": 25},
    {"rows": 10, "changes": 5, "names": 24, "log": 5, "answers": 0}, {"group_lines": 0},
    {"rows": 0, "changes": 1, "reasons": 100, "log": 0, "settings": 0},
)  # fmt: skip
ROOMS = tuple(accumulate(LESS, lambda room, less: replace(room, **less), initial=Room()))  # from large to small


def most_of(verdicts: Sequence[Verdict], room: Room) -> int:
    """Count the checks that there is room for."""
    failed = sum(verdict.verdict != "pass" for verdict in verdicts)
    most = len(verdicts) if room.passing_rows is None else failed + room.passing_rows
    return most if room.rows is None else min(most, room.rows)


def shorten_verdict(verdict: Verdict, room: Room) -> Verdict:
    """Cut the names and reasons of a check to the room there is."""
    names = verdict.model, verdict.task, verdict.test, verdict.statistic
    model, task, test, statistic = (None if name is None else opening(name, room.names) for name in names)
    reasons = tuple(opening(reason, room.reasons) for reason in verdict.reasons[:20])
    changed = tuple(opening(change, 3 * room.names) for change in verdict.settings_changed)
    short = replace(verdict, model=model, task=task, test=test, statistic=statistic, reasons=reasons)
    return replace(short, settings_changed=changed)


def shorten_result(result: Result, room: Room) -> Result:
    """Cut the names and reasons of a run to the room there is."""
    return replace(
        result,
        checks=tuple(shorten_verdict(verdict, room) for verdict in result.checks),
        overall=tuple(shorten_verdict(verdict, room) for verdict in result.overall),
        beside=tuple(shorten_verdict(verdict, room) for verdict in result.beside),
        correction=opening(result.correction, 40),
        accgate=opening(result.accgate, 40),
    )


def changes_of(guard: Guard | None, room: Room) -> tuple[RuleChange, ...]:
    """Return the changes of rules that there is room for.

    Those that loosen come first.
    """
    if guard is None:
        return ()
    order = ("loosening", "new", "tightening")
    first = sorted(guard.changes, key=lambda change: order.index(change.effect))[: room.changes]
    return tuple(_short_change(change, room) for change in first)


def _short_change(change: RuleChange, room: Room) -> RuleChange:
    base, head = (None if value is None else opening(value, room.names) for value in (change.base, change.head))
    rule, why = opening(change.rule, room.names), opening(change.why, room.reasons)
    return replace(change, rule=rule, base=base, head=head, why=why)
