"""The report of a run that was asked to stop: what it evaluated so far, and no verdict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from accgate.report.markdown import cell

if TYPE_CHECKING:
    from accgate.evaluation import EvaluatedCheck
    from accgate.planning import Check

HEADINGS = ("Model", "Task", "Evaluated", "Failed")


def interrupted_report(checks: Sequence[Check], evaluated: Sequence[EvaluatedCheck]) -> str:
    """The report as Markdown. It shows no mean: what finished first is no random subset."""
    done = {(item.check.model, item.check.task.name): item for item in evaluated}
    lines = [
        "## ⚠️ Interrupted: no verdict",
        "",
        "The run was stopped before it ended. What finished is recorded; `accgate run --resume` goes on with it.",
        "",
        "| " + " | ".join(HEADINGS) + " |",
        "|" + " --- |" * len(HEADINGS),
    ]
    for check in checks:
        found = done.get((check.model, check.task.name))
        evaluation = None if found is None else found.evaluation
        count, failed = (len(evaluation.records), len(evaluation.failed)) if evaluation is not None else (0, 0)
        total = check.n * check.repeats
        cells = (cell(check.model), cell(check.task.name), f"{count:,} of {total:,}", f"{failed:,}")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"
