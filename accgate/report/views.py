"""What the templates show of a run, cut to the room there is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from accgate.errors import SEVERITY
from accgate.report import words
from accgate.report.flips import Flip, excerpt, opening
from accgate.report.gauge import gauge

if TYPE_CHECKING:
    from accgate.guard import Guard, RuleChange
    from accgate.result import Result
    from accgate.verdict import Verdict

FlipsByCheck = Mapping[tuple[str | None, str | None], Sequence[Flip]]


@dataclass(frozen=True)
class Room:
    """How much is shown: flips of each check, rows, details, and the length of names and reasons in characters."""

    flips: int = 10
    passing_details: bool = True
    details: bool = True
    changes: int = 200
    passing_rows: int | None = None
    rows: int | None = None
    names: int = 120
    reasons: int = 600
    log: int = 40


def _smaller() -> tuple[Room, ...]:
    """Rooms from large to small; what matters least goes first."""
    rooms = [Room()]
    for less in (
        {"flips": 5}, {"flips": 2}, {"flips": 0}, {"passing_details": False}, {"details": False}, {"changes": 30},
        {"passing_rows": 100}, {"passing_rows": 10}, {"names": 40, "reasons": 200}, {"passing_rows": 0, "log": 20},
        {"rows": 200}, {"rows": 100}, {"rows": 50, "changes": 10}, {"rows": 25},
        {"rows": 10, "changes": 5, "names": 24, "log": 5}, {"rows": 0, "changes": 1, "reasons": 100, "log": 0},
    ):  # fmt: skip
        rooms.append(replace(rooms[-1], **less))
    return tuple(rooms)


ROOMS = _smaller()


@dataclass(frozen=True)
class CheckView:
    """One check as a template shows it: `row` stands under the headings of the table, texts are one line each.

    `changed`, `set_differently` and `drifted` are None where there is nothing to say; `gauge` is empty without figures.
    """

    verdict: Verdict
    name: str
    symbol: str
    row: tuple[str, ...]
    gauge: str
    sentence: str
    changed: str | None
    set_differently: str | None
    drifted: str | None
    reasons: tuple[str, ...]
    flips: tuple[Flip, ...]
    more_flips: int


@dataclass(frozen=True)
class Checks:
    """The checks of a run that there is room for: as rows of the table, and in detail; and how many are left out."""

    rows: tuple[CheckView, ...]
    details: tuple[CheckView, ...]
    passed_left_out: int
    others_left_out: int
    beside: tuple[CheckView, ...]
    beside_left_out: int


def checks_of(result: Result, short: Result, flips: FlipsByCheck, room: Room) -> Checks:
    """The checks of a run and of the same with short names: the worst where not all have room, in the run's order."""
    shown = _rows(result.checks, room)
    rows = tuple(
        check_view(short.checks[i], flips.get((result.checks[i].model, result.checks[i].task), ()), room) for i in shown
    )
    failed = tuple(view for view in rows if view.verdict.verdict != "pass")
    passed = sum(v.verdict == "pass" for v in result.checks) - (len(rows) - len(failed))
    beside = _rows(result.beside, room)
    return Checks(
        rows=rows,
        details=tuple(
            view for view in rows if room.details and (room.passing_details or view.verdict.verdict != "pass")
        ),
        passed_left_out=passed,
        others_left_out=len(result.checks) - len(rows) - passed,
        beside=tuple(check_view(short.beside[i], (), room) for i in beside),
        beside_left_out=len(result.beside) - len(beside),
    )


def _rows(verdicts: Sequence[Verdict], room: Room) -> list[int]:
    """Places of the checks that are shown."""
    worst_first = sorted(range(len(verdicts)), key=lambda i: -SEVERITY.index(verdicts[i].verdict))
    failed = sum(verdict.verdict != "pass" for verdict in verdicts)
    most = len(verdicts) if room.passing_rows is None else failed + room.passing_rows
    return sorted(worst_first[: most if room.rows is None else min(most, room.rows)])


def check_view(verdict: Verdict, flips: Sequence[Flip], room: Room) -> CheckView:
    """One check, with as many of its flips as there is room for."""
    shown = flips[: room.flips]
    return CheckView(
        verdict=verdict,
        name=words.name_of(verdict),
        symbol=words.SYMBOLS[verdict.verdict],
        row=words.row(verdict),
        gauge=gauge(
            verdict.reference.mean, verdict.gamma, verdict.candidate.mean,
            higher_is_better=verdict.higher_is_better, theta=verdict.theta,
        ),
        sentence=opening(words.sentence(verdict), 4 * room.reasons),
        changed=words.changed(verdict),
        set_differently=opening(words.set_differently(verdict), room.reasons) or None,
        drifted=opening(words.drifted(verdict), room.reasons) or None,
        reasons=verdict.reasons if verdict.p_value is not None else (),  # the sentence has them else
        flips=tuple(
            Flip(
                opening(flip.id, room.names), excerpt(flip.prompt), opening(flip.expected), opening(flip.before),
                opening(flip.got),
            )
            for flip in shown
        ),
        more_flips=len(verdict.flips) - len(shown) if verdict.verdict != "pass" else 0,
    )  # fmt: skip


def shortened(verdict: Verdict, room: Room) -> Verdict:
    """A check whose names and reasons are no longer than there is room for."""
    return replace(
        verdict,
        model=None if verdict.model is None else opening(verdict.model, room.names),
        task=None if verdict.task is None else opening(verdict.task, room.names),
        reasons=tuple(opening(reason, room.reasons) for reason in verdict.reasons[:20]),
    )


def shortened_result(result: Result, room: Room) -> Result:
    """A run whose names and reasons are no longer than there is room for."""
    return replace(
        result,
        checks=tuple(shortened(verdict, room) for verdict in result.checks),
        beside=tuple(shortened(verdict, room) for verdict in result.beside),
        correction=opening(result.correction, 40),
        accgate=opening(result.accgate, 40),
    )


def changes_of(guard: Guard | None, room: Room) -> tuple[RuleChange, ...]:
    """The changes of rules that there is room for; those that loosen come first."""
    if guard is None:
        return ()
    order = ("loosening", "new", "tightening")
    first = sorted(guard.changes, key=lambda change: order.index(change.effect))[: room.changes]
    return tuple(
        replace(
            change,
            rule=opening(change.rule, room.names),
            base=None if change.base is None else opening(change.base, room.names),
            head=None if change.head is None else opening(change.head, room.names),
            why=opening(change.why, room.reasons),
        )
        for change in first
    )
