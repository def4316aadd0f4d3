"""The plan in words and as a table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from accgate.config import Gate
from accgate.planning import ASSUMED_DISCORDANCE, AnnotationPlan, Check
from accgate.report import words
from accgate.report.console import print_table
from accgate.report.costs import cost_sentence, total_sentence
from accgate.stats import one_sample_n, paired_sd

if TYPE_CHECKING:
    from accgate.planning import Estimate


def gate_sentence(file: Path, gate: Gate, checks: int) -> str:
    """What the gate as a whole holds to."""
    several = f", {gate.correction} over the checks" if checks > 1 and gate.correction != "none" else ""
    count = f"{checks} check{'s' if checks > 1 else ''}"
    early = " Checks with a theta stop as soon as the evidence allows." if gate.early_stopping else ""
    return f"{file}: {count} at alpha {gate.alpha:g}, beta {gate.beta:g}{several}.{early}"


def print_plan(console: Console, checks: Sequence[Check], *, title: str, table: bool) -> None:
    """The plan of each check: a sentence each, and a table of samples, what they see, and the cost."""
    console.print(Text(title))
    if table:
        print_table(console, HEADINGS, [_row(check) for check in checks], left=(0, 1, 2))
        console.print(Text(LEGEND))
    for name, body in together([(check.model, check.task.name, plan_sentence(check)) for check in checks]):
        console.print(Text(f"{name}: {body}"))


def print_costs(console: Console, costs: Sequence[Estimate]) -> None:
    """What each check and all of them will cost."""
    for name, body in together([(cost.model, cost.task, cost_sentence(cost)) for cost in costs]):
        console.print(Text(f"Cost of {name}: {body}"))
    if (total := total_sentence(costs)) is not None:
        console.print(Text(total))


def print_annotation(console: Console, plan: AnnotationPlan) -> None:
    """How many test cases to annotate, and the curve over their number."""
    console.print(Text(plan.sentence()))
    table = Table(box=None, pad_edge=False)
    for heading in plan.header():
        table.add_column(heading, justify="right")
    for row in plan.rows():
        table.add_row(*row)
    console.print(table)


HEADINGS = ("Model", "Task", "Test", "Samples", "Reference", "Theta", "Target", "Gamma", "Most tokens")


LEGEND = (
    "Theta: the smallest drop that is seen. Target: the one asked for. Gamma: where the gate fails after all samples. "
    "Most tokens: the replies' longest length together."
)


def together(lines: Sequence[tuple[str, str, str]]) -> list[tuple[str, str]]:
    """(names, sentence) of (model, task, sentence), where models of which the same is to be said stand together.

    >>> together([("a", "t", "x."), ("b", "t", "x."), ("b", "u", "x.")])
    [('a, b / t', 'x.'), ('b / u', 'x.')]
    """
    models: dict[tuple[str, str], list[str]] = {}
    for model, task, sentence in lines:
        models.setdefault((task, sentence), []).append(model)
    return [(f"{', '.join(names)} / {task}", sentence) for (task, sentence), names in models.items()]


def _row(check: Check) -> tuple[str, ...]:
    return (
        check.model, check.task.name, check.test, f"{check.n * check.repeats:,}", words.number(check.reference_mean),
        words.number(check.theta), words.number(check.design.theta), words.number(check.gamma), f"{check.max_tokens:,}",
    )  # fmt: skip


UNKNOWN = "nothing is known of its standard deviation: set sigma"


def plan_sentence(check: Check) -> str:
    """What a check's plan means, in words that follow its name."""
    basis = "" if check.discordance is None else f" if {100 * check.discordance:g}% of them change their score"
    if check.theta is None:
        statistic = check.task.aggregate
        sees = f"it is decided on {statistic}, whose noise the run shows" if statistic else UNKNOWN
    else:
        seen = f"see a drop of {check.theta:.2f} points with probability {1 - check.design.beta:g}{basis}"
        sees = f"{check.n:,} samples {seen}"
        if check.expected_n_healthy is not None and check.expected_n_dropped is not None:
            means = f"{check.expected_n_healthy:,.0f} on average where nothing changed"
            sees = f"at most {sees}, {means}, {check.expected_n_dropped:,.0f} after such a drop"
    return f"{'; '.join([sees, *_pairing(check), *check.notes])}."


def _pairing(check: Check) -> list[str]:
    """What pairing would save a check that knows only its reference's mean."""
    if check.test != "two-sample" or not check.theta:
        return []
    share = ASSUMED_DISCORDANCE if check.design.discordance is None else check.design.discordance
    sd = paired_sd(share, check.theta)
    n = one_sample_n(check.theta, sd=sd, alpha=check.alpha_planned, beta=check.design.beta)
    if n >= check.n:
        return []
    return [f"with per-sample references about {n:,} would do, if {100 * share:g}% of them change their score"]
