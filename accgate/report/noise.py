"""The noise of a task in a terminal."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from accgate.planning import Noise
from accgate.report import words
from accgate.stats import Estimate


def print_noise(console: Console, noise: Noise) -> None:
    """What was estimated, with intervals, and the samples that each design needs."""
    for line in _lines(noise):
        console.print(Text(line))
    table = Table(box=None, pad_edge=False)
    for heading in ("Design", f"Samples for theta = {noise.theta:g}", "Mean when healthy", f"Theta at {noise.n:,}"):
        table.add_column(heading, justify="left" if heading == "Design" else "right")
    for row in noise.designs:
        table.add_row(row.test, f"{row.n:,}", f"{row.expected_n_healthy:,.0f}", words.number(row.theta))
    console.print(table)
    if noise.discordance is not None and noise.discordance.value is not None:
        console.print(Text(f"Plans use it with discordance = {noise.discordance.value:.4f} under [tasks.NAME]."))


def _lines(noise: Noise) -> list[str]:
    lines = [
        f"{noise.n:,} samples, mean {words.number(noise.mean)}.",
        f"sigma: {_estimate(noise.sigma)} points.",
    ]
    if noise.discordance is None:
        lines.append("discordance: one run does not show it; give a second run of the same model.")
    else:
        lines.append(f"discordance: {_estimate(noise.discordance, 100.0)}% of the samples change their score.")
    if noise.parts is not None and noise.parts.within is not None and noise.parts.between is not None:
        parts = noise.parts
        lines.append(
            f"variance: {parts.between:,.1f} between questions, {parts.within:,.1f} within; standard error of the mean "
            f"{words.number(parts.error_now)}, {words.number(parts.error_2x)} with twice the repeats, "
            f"{words.number(parts.error_4x)} with four times, {words.number(parts.error_limit)} with no end of them."
        )
    for estimate in (noise.sigma, noise.discordance):
        lines += [f"- {reason}" for reason in (estimate.reasons if estimate is not None else ())]
    return lines


def _estimate(estimate: Estimate, factor: float = 1.0) -> str:
    """A value with its interval at 95%."""
    value, low, high = (None if x is None else factor * x for x in (estimate.value, estimate.low, estimate.high))
    return f"{words.number(value)} (95%: {words.number(low)} to {words.number(high)})"
