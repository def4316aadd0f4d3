"""What a plan will cost, in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from accgate.planning import Cost, Estimate


def cost_sentence(estimate: Estimate) -> str:
    """What a check will cost at most and on average, and where the figures come from."""
    parts = [f"at most {_figures(estimate.most)}"]
    averages = ((estimate.healthy, "where nothing changed"), (estimate.dropped, "after a drop of theta"))
    for cost, when in averages:
        if cost is not None and cost.samples < estimate.most.samples:
            parts.append(f"{_figures(cost)} on average {when}")
    return f"{'; '.join([*parts, *estimate.notes])}."


def total_sentence(estimates: Sequence[Estimate]) -> str | None:
    """What all checks will cost at most; None where there is one, or not all are known."""
    if len(estimates) < 2:
        return None
    costs = [estimate.most for estimate in estimates]

    def total(values: Sequence[float | None]) -> float | None:
        known = [value for value in values if value is not None]
        return sum(known) if len(known) == len(values) else None

    from accgate.planning import Cost

    all_of_them = Cost(
        sum(cost.samples for cost in costs), total([cost.tokens for cost in costs]),
        total([cost.seconds for cost in costs]), total([cost.gpu_hours for cost in costs]),
    )  # fmt: skip
    return f"All checks: at most {_figures(all_of_them)}."


def _figures(cost: Cost) -> str:
    parts = [f"{cost.samples:,.0f} samples"]
    if cost.tokens is not None:
        parts.append(f"{cost.tokens:,.0f} tokens")
    if cost.seconds is not None:
        parts.append(f"{cost.seconds:,.0f} s")
    if cost.gpu_hours is not None:
        parts.append(f"{cost.gpu_hours:.3g} GPU-hours")
    return ", ".join(parts)
