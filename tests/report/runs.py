"""Verdicts and runs of the tests of reports."""

import io
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console

from accgate.errors import exit_code, worst
from accgate.report import sandbox
from accgate.report.markdown import environment
from accgate.result import Result
from accgate.verdict import CandidateSummary, GroupFigures, ReferenceSummary, Verdict
from accgate.verdict.figures import Groups


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def verdict_of(name: str = "pass", **keys: Any) -> Verdict:
    plain = Verdict(
        "m", "t", name, "paired", 100, ReferenceSummary(75.0, 100), CandidateSummary(70.0, 100), 0.05, 0.2,
        difference=-5.0, alpha_applied=0.05, theta=3.0, gamma=72.5, p_value=0.01, p_adjusted=0.02,
        discordance=0.05, lost=5, gained=0,
    )  # fmt: skip
    return replace(plain, **keys)


def groups_of(*names: str, standing_out: int = 1) -> Groups:
    """Groups of these names, the first of which stand out."""
    quiet = GroupFigures("", 40, 80.0, 60.0, -20.0, (-40.0, 5.0), 1e-4, 0.002, 9, 1)
    loud = replace(quiet, interval=(-40.0, -5.0), stands_out=True)
    rows = (replace(loud if i < standing_out else quiet, name=name) for i, name in enumerate(names))
    return Groups(max(len(names), 2), 0.05, any_stop=False, rows=tuple(rows))


def result_of(*verdicts: Verdict) -> Result:
    names = [verdict.verdict for verdict in verdicts]
    return Result(worst(names), exit_code(names), verdicts, accgate="0.1.0")


def printed(show: Callable[[Console], object], width: int = 200, **keys: Any) -> str:
    """What a terminal of this width shows, or a log where no key says otherwise."""
    file = io.StringIO()
    show(Console(file=file, width=width, **keys))
    return file.getvalue()


def render_templates_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the function that the process calls which a template has else, and which takes half a second to start."""
    monkeypatch.setattr(sandbox, "render_apart", lambda text, values: sandbox.render_here(environment(), text, values))
