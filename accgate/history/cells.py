"""A check in one run as a row of figures, for terminal and page alike."""

from __future__ import annotations

from accgate.history.series import Step
from accgate.text import number, signed

HEADINGS = ("Date", "Commit", "n", "Reference", "Mean", "± error", "Difference", "Gamma", "Drift", "Verdict")


def cells(step: Step) -> tuple[str, ...]:
    """A run's row of figures, under `HEADINGS`."""
    point, level = step.point, step.levels
    return (
        step.date,
        step.commit or "-",
        step.samples,
        number(level.reference) + (" (new)" if step.changed else ""),
        number(level.mean),
        number(point.error),
        signed(point.difference),
        number(level.gamma),
        drift_cell(step),
        point.verdict,
    )


def drift_cell(step: Step) -> str:
    """How far a run is from the anchor, and whether that is a decline."""
    drift = step.point.drift
    if drift is None or drift.difference is None:
        return "-"
    return signed(drift.difference) + (" decline" if drift.detected else "")
