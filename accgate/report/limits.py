"""Limits on how much of a run a comment shows.

The module also cuts texts to these limits.
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
class Limits:
    """Limits on how many things are shown, and on the length of texts.

    Lengths are in characters. `flips` are for each check, `groups` are the rows of a check's table of groups, and
    `group_lines` counts the checks whose outstanding groups are named. None means all.
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


LESS: Sequence[dict[str, Any]] = (  # each step's change to the limits before it; what matters least goes first
    {"flips": 5}, {"flips": 2}, {"flips": 0}, {"group_lines": 5}, {"passing_details": False}, {"plot": False},
    {"details": False}, {"changes": 30},
    {"passing_rows": 100}, {"passing_rows": 10}, {"names": 40, "reasons": 200}, {"passing_rows": 0, "log": 20},
    {"rows": 200}, {"rows": 100}, {"rows": 50, "changes": 10}, {"rows": 25},
    {"rows": 10, "changes": 5, "names": 24, "log": 5, "answers": 0}, {"group_lines": 0},
    {"rows": 0, "changes": 1, "reasons": 100, "log": 0, "settings": 0},
)  # fmt: skip
LIMITS = tuple(accumulate(LESS, lambda limits, less: replace(limits, **less), initial=Limits()))  # from large to small


def most_of(verdicts: Sequence[Verdict], limits: Limits) -> int:
    """Count the checks that there is room for."""
    failed = sum(verdict.verdict != "pass" for verdict in verdicts)
    most = len(verdicts) if limits.passing_rows is None else failed + limits.passing_rows
    return most if limits.rows is None else min(most, limits.rows)


def shorten_verdict(verdict: Verdict, limits: Limits) -> Verdict:
    """Cut the names and reasons of a check to the room there is."""
    names = verdict.model, verdict.task, verdict.test, verdict.statistic
    model, task, test, statistic = (None if name is None else opening(name, limits.names) for name in names)
    reasons = tuple(opening(reason, limits.reasons) for reason in verdict.reasons[:20])
    changed = tuple(opening(change, 3 * limits.names) for change in verdict.settings_changed)
    short = replace(verdict, reasons=reasons, settings_changed=changed)
    return replace(short, model=model, task=task, test=test, statistic=statistic)


def shorten_result(result: Result, limits: Limits) -> Result:
    """Cut the names and reasons of a run to the room there is."""
    lists = result.checks, result.overall, result.beside
    checks, overall, beside = (tuple(shorten_verdict(verdict, limits) for verdict in each) for each in lists)
    correction, version = opening(result.correction, 40), opening(result.accgate, 40)
    return replace(result, checks=checks, overall=overall, beside=beside, correction=correction, accgate=version)


def changes_of(guard: Guard | None, limits: Limits) -> tuple[RuleChange, ...]:
    """Return the changes of rules that there is room for, those that loosen first."""
    if guard is None:
        return ()
    order = ("loosening", "new", "tightening")
    first = sorted(guard.changes, key=lambda change: order.index(change.effect))[: limits.changes]
    return tuple(_short_change(change, limits) for change in first)


def _short_change(change: RuleChange, limits: Limits) -> RuleChange:
    base, head = (None if value is None else opening(value, limits.names) for value in (change.base, change.head))
    rule, why = opening(change.rule, limits.names), opening(change.why, limits.reasons)
    return replace(change, rule=rule, base=base, head=head, why=why)
