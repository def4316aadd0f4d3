"""Tokens and seconds per sample, beside accuracy: rows of a table and the sentence under it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accgate.text import figure

if TYPE_CHECKING:
    from accgate.verdict import Cost, Verdict

COST_HEADINGS = ("Per sample", "Before", "Now", "Change", "Interval", "Allowed")
NONE = "–"
NAMES = {"tokens": "Completion tokens", "seconds": "Seconds"}


def cost_rows(verdict: Verdict) -> tuple[tuple[str, ...], ...]:
    """The cells of each figure under `COST_HEADINGS`; none where the reference does not have them."""
    return tuple(_cells(cost) for cost in verdict.costs if cost.change is not None)


def cost_figures(verdict: Verdict) -> tuple[tuple[str, str], ...]:
    """Each figure under its name, in one cell: both sides, the change and its interval, and what a gate allows."""
    rows = []
    for name, before, now, change, interval, allowed in cost_rows(verdict):
        gate = "" if allowed == NONE else f", allowed {allowed}"
        rows.append((f"{name} per sample", f"{before} to {now}, {change} ({interval}){gate}"))
    return tuple(rows)


def _cells(cost: Cost) -> tuple[str, ...]:
    digits = 1 if cost.name == "tokens" else 2
    interval = NONE
    if cost.interval is not None:
        interval = " to ".join(f"{figure(100 * end, sign=True)}%" for end in cost.interval)
    allowed = NONE if cost.allowed is None else f"{100 * cost.allowed:.4g}%{OUTCOMES[cost.outcome or 'pass']}"
    change = f"{figure(None if cost.change is None else 100 * cost.change, sign=True)}%"
    return NAMES[cost.name], figure(cost.reference, digits), figure(cost.candidate, digits), change, interval, allowed


OUTCOMES = {"pass": ": kept", "regression": ": exceeded", "error": ": not decided"}


def cost_note(verdict: Verdict) -> str | None:
    """What a reader must know of the figures; None where there is nothing to say."""
    notes = [cost.note for cost in verdict.costs if cost.note is not None and cost.change is not None]
    return f"Seconds: {notes[0]}." if notes else None
