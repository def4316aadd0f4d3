"""The result of a survey in the terminal and as Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accgate.questionnaire.survey import ItemResult, Survey, SurveyResult
from accgate.report.story import SIGNS
from accgate.text import count_of, number, p_text, visible
from accgate.verdict import Verdict
from accgate.verdict.points import change_text, points_text, theta_text

if TYPE_CHECKING:
    from rich.console import Console

HEADINGS = (
    "Item", "Reference", "Candidate", "Difference", "Gamma", "Theta", "p", "Alpha ordinal", "interval", "Verdict",
)  # fmt: skip


def headline(result: SurveyResult) -> str:
    """Say the verdict in one sentence that names items."""
    checks = result.checks
    worse = [check.task or "" for check in checks if check.verdict == "regression"]
    unsure = [check.task or "" for check in checks if check.verdict not in ("regression", "pass")]
    if worse:
        more = f" No verdict on {', '.join(unsure)}." if unsure else ""
        return f"People rate the candidate lower: {', '.join(worse)}.{more}"
    if unsure:
        return f"No verdict: too few questions to detect the drop that matters in {', '.join(unsure)}."
    return f"People do not rate the candidate lower on any of {len(checks)} items."


def summary(survey: Survey) -> str:
    """Say who rated what, in one sentence."""
    counts = f"{count_of(len(survey.raters), 'rater')}, {survey.questions} questions, {survey.answers} answers"
    return f"{counts}; {survey.candidate} against {survey.reference}."


def legend(result: SurveyResult) -> str:
    """Say what the columns mean."""
    alpha = result.checks[0].alpha
    return (
        "Means in points: 0 is strongly disagree, 100 strongly agree, reversed items are turned round, so that 100 is "
        f"best. p: adjusted for the items ({result.correction}); it is compared with {alpha:g}. Alpha: "
        "Krippendorff's, between raters; 1 is perfect, 0 what chance gives."
    )


def row(item: ItemResult, verdict: Verdict) -> tuple[str, ...]:
    """Return the cells of an item's row, under `HEADINGS`."""
    agreement = item.agreement
    return (
        item.id + (" (reversed)" if item.reversed else ""),
        points_text(verdict, verdict.reference.mean),
        points_text(verdict, verdict.candidate.mean),
        change_text(verdict),
        points_text(verdict, verdict.gamma),
        theta_text(verdict),
        p_text(verdict.p_adjusted if verdict.p_adjusted is not None else verdict.p_value),
        number(agreement.ordinal),
        number(agreement.interval),
        f"{SIGNS[verdict.verdict]} {verdict.verdict}",
    )


def _remarks(result: SurveyResult) -> list[str]:
    """Return the remarks below the table.

    They are notes, reasons of verdicts, and reasons why an alpha is missing.
    """
    survey = result.judgement
    reasons = [f"{check.task}: {reason}" for check in result.checks for reason in check.reasons]
    without = [f"{item.id}: no alpha: {item.agreement.reason}" for item in survey.items if item.agreement.reason]
    return [*survey.notes, *reasons, *(without if any(i.agreement.answers for i in survey.items) else [])]


def print_survey(console: Console, result: SurveyResult) -> None:
    """Print the result in a terminal."""
    from rich.text import Text

    from accgate.report.terminal import COLOURS, print_table

    survey = result.judgement
    console.print(Text(headline(result), style=f"bold {COLOURS[result.verdict]}"))
    console.print(Text(visible(summary(survey))))
    rows: list[tuple[str | Text, ...]] = [
        (*row(item, verdict)[:-1], Text(verdict.verdict, style=COLOURS[verdict.verdict]))
        for item, verdict in zip(survey.items, result.checks, strict=True)
    ]
    print_table(console, HEADINGS, rows, left=(0, len(HEADINGS) - 1))
    console.print(Text(legend(result)))
    for remark in _remarks(result):
        console.print(Text(f"- {visible(remark)}", style="yellow"))


def survey_markdown(result: SurveyResult) -> str:
    """Write the result as GitHub-flavoured Markdown, names and statements escaped."""
    from accgate.report.markdown import fill_template

    survey = result.judgement
    values = {
        "symbol": SIGNS[result.verdict],
        "headline": headline(result),
        "summary": summary(survey),
        "headings": HEADINGS,
        "rows": [row(item, verdict) for item, verdict in zip(survey.items, result.checks, strict=True)],
        "legend": legend(result),
        "remarks": _remarks(result),
        "items": survey.items,
    }
    return fill_template(values, "survey.md.j2")
