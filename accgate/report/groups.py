"""The groups of a check as rows of a table, in the Markdown report and in a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from accgate.text import clip, p_text
from accgate.verdict.points import points_text, range_text

if TYPE_CHECKING:
    from accgate.verdict import GroupFigures, Verdict

GROUP_HEADINGS = ("Group", "n", "Reference", "Mean", "Difference", "Interval", "p")
SHORT_HEADINGS = ("Group", "n", "Difference", "Interval", "p")
NAME = 120  # characters of a name
LONGEST = 34  # characters of a name in a terminal of 80 columns


def group_rows(verdict: Verdict) -> tuple[tuple[str, ...], ...]:
    """The cells of each group, under `GROUP_HEADINGS`, those that fell most surely first."""
    return tuple(_cells(verdict, row) for row in (verdict.groups.rows if verdict.groups is not None else ()))


def short_rows(verdict: Verdict) -> Iterator[tuple[str, ...]]:
    """The cells of each group under `SHORT_HEADINGS`, for a terminal."""
    for name, n, _, _, *rest in group_rows(verdict):
        yield clip(name, LONGEST, " …"), n, *rest


def _cells(verdict: Verdict, row: GroupFigures) -> tuple[str, ...]:
    mark = "" if not row.stands_out else " *"
    return (
        clip(row.name, NAME, " …"),
        f"{row.n:,}",
        points_text(verdict, row.reference),
        points_text(verdict, row.candidate),
        f"{points_text(verdict, row.difference, sign=True)}{mark}",
        range_text(verdict, row.interval) or "–",
        p_text(row.p_adjusted),
    )
