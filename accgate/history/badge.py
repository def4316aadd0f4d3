"""The latest run as a badge: an SVG, and the JSON from which shields.io draws its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from accgate.errors import VerdictName, worst
from accgate.history.run import Run
from accgate.history.series import series_of
from accgate.report.charts.svg import pixel
from accgate.report.html.inline import page_template
from accgate.text import visible

# White text on each has a contrast of 4.5 to 1 or more.
COLOURS: dict[VerdictName, str] = {
    "pass": "#1a7f37",
    "regression": "#b42318",
    "inconclusive": "#8a5a00",
    "no-reference": "#59636e",
    "error": "#59636e",
}
DRIFTING = "#8a5a00"
MESSAGES: dict[VerdictName, str] = {
    "pass": "no regression",
    "regression": "regressed",
    "inconclusive": "too few samples",
    "no-reference": "no reference",
    "error": "not evaluated",
}


@dataclass(frozen=True)
class Badge:
    """What a badge says; `color` is a hexadecimal number after #."""

    label: str
    message: str
    color: str

    def endpoint(self) -> dict[str, str | int]:
        """The JSON of shields.io's endpoint badge: https://shields.io/badges/endpoint-badge.

        >>> Badge("accuracy", "no regression", "#1a7f37").endpoint()["schemaVersion"]
        1
        """
        return {"schemaVersion": 1, "label": self.label, "message": self.message, "color": self.color}


def badge_of(runs: Sequence[Run], check: str | None = None) -> Badge:
    """The badge of the latest run, or of one check in the latest run that had it, "MODEL/TASK".

    Where a model has several variants, the worst of them counts.

    Raises
    ------
    BadInput
        Where there is no run, or no check of that name.
    """
    if check is None:
        series_of(runs)
        last = runs[-1]
        drifting = any(point.is_declining for point in last.checks)
        return _badge("accuracy", MESSAGES[last.verdict], last.verdict, drifting=drifting)
    series = series_of(runs, check)
    verdict = worst(one.last.point.verdict for one in series)
    drifting = any(one.last.point.is_declining for one in series)
    message = MESSAGES[verdict]
    step, mean = series[0].last, series[0].last.levels.mean
    if len(series) == 1 and verdict in ("pass", "regression") and mean is not None:
        error = "" if step.point.error is None else f" ± {step.text(step.point.error)}"
        figure = f"{step.text(mean)}{error}"
        message = figure if verdict == "pass" else f"{figure}, {message}"
    return _badge(visible(series[0].task) or "accuracy", message, verdict, drifting=drifting)


def _badge(label: str, message: str, verdict: VerdictName, *, drifting: bool) -> Badge:
    if drifting and verdict == "pass":
        return Badge(label, f"{message}, but declining", DRIFTING)
    return Badge(label, message, COLOURS[verdict])


PADDING = 6.0  # pixels at both ends of a text


def svg(badge: Badge) -> str:
    """The badge as an SVG that needs nothing else."""
    left, right = (_width(text) + 2 * PADDING for text in (badge.label, badge.message))
    template = page_template("accgate.history", "badge.svg.j2")
    return template.render(badge=badge, left=left, right=right, padding=PADDING, tenth=pixel) + "\n"


WIDTHS = {"ijlI.,:;|!' ": 3.5, "frt()[]-": 4.6, "cksvxyz": 6.0, "mwMW@%": 10.4}


def _width(text: str) -> float:
    """About how wide a text is in Verdana of 11 pixels."""
    widths = {c: width for group, width in WIDTHS.items() for c in group}
    return sum(widths.get(c, 7.8 if c.isupper() else 6.9) for c in text)
