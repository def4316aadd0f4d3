"""The groups of a check as rows of a table, in the Markdown report and in a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from accgate.text import clip, number, p_text, signed_number

if TYPE_CHECKING:
    from accgate.verdict import GroupFigures, Verdict

GROUP_HEADINGS = ("Group", "n", "Reference", "Mean", "Difference", "Interval", "p")
SHORT_HEADINGS = ("Group", "n", "Difference", "Interval", "p")
NAME = 120  # characters of a name
LONGEST = 34  # characters of a name in a terminal of 80 columns


def group_rows(verdict: Verdict) -> tuple[tuple[str, ...], ...]:
    """The cells of each group, under `GROUP_HEADINGS`, those that fell most surely first."""
    return tuple(_cells(row) for row in (verdict.groups.rows if verdict.groups is not None else ()))


def short_rows(verdict: Verdict) -> Iterator[tuple[str, ...]]:
    """The cells of each group under `SHORT_HEADINGS`, for a terminal."""
    for name, n, _, _, *rest in group_rows(verdict):
        yield clip(name, LONGEST, " …"), n, *rest


def _cells(row: GroupFigures) -> tuple[str, ...]:
    interval = "-" if row.interval is None else " to ".join(map(signed_number, row.interval))
    mark = "" if not row.stands_out else " *"
    return (
        clip(row.name, NAME, " …"),
        f"{row.n:,}",
        number(row.reference),
        number(row.candidate),
        f"{signed_number(row.difference)}{mark}",
        interval,
        p_text(row.p_adjusted),
    )
