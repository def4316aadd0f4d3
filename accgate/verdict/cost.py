"""What a sample costs on both sides, and the limit on it."""

from dataclasses import dataclass
from typing import Literal

from accgate.errors import LIMITS, CostName
from accgate.text import figure

COSTS = {"tokens": "completion tokens per sample", "seconds": "seconds per sample", "acceptance": "acceptance length"}


@dataclass(frozen=True)
class Cost:
    """The mean of what a sample costs on both sides.

    It is taken over the `n` samples of which both sides know it. A cost is completion tokens, seconds, or the
    acceptance length of speculative decoding: tokens per decoding step, of all samples' mean steps per token. `change`
    is a share of the reference's mean (0.1: 10% more), and `interval` its 1 - 2 alpha interval, None where it has no
    ends. With a gate `allowed` is the share by which the mean may change for the worse, `p_value` that of a test of "no
    more than that" at `alpha`, and `outcome` its result, `error` where it cannot be decided. `note` says what the
    figures lack.
    """

    name: CostName
    n: int
    reference: float | None
    candidate: float | None
    change: float | None
    interval: tuple[float, float] | None
    alpha: float | None
    allowed: float | None = None
    p_value: float | None = None
    outcome: Literal["pass", "regression", "error"] | None = None
    note: str | None = None

    @property
    def key(self) -> str:
        """The rule that gates it."""
        return LIMITS[self.name]

    @property
    def is_exceeded(self) -> bool:
        """Whether the mean got worse by more than is allowed.

        Chance alone may be the cause.
        """
        if self.change is None or self.allowed is None:
            return False
        return (-self.change if self.name == "acceptance" else self.change) > self.allowed

    @property
    def sides(self) -> tuple[str, str]:
        """The means of both sides as text."""
        digits = 1 if self.name == "tokens" else 2
        return figure(self.reference, digits), figure(self.candidate, digits)

    @property
    def reach(self) -> str:
        """The interval of the change as text, empty where there is none."""
        return " to ".join(f"{figure(100 * end, sign=True)}%" for end in self.interval or ())

    @property
    def sentence(self) -> str:
        """How the cost changed, with the figures, without a full stop.

        >>> Cost("tokens", 100, 50.0, 60.0, 0.2, (0.16, 0.24), 0.05, 0.1, 1e-5, "regression").sentence
        'completion tokens per sample rose 20.0%, 50.0 to 60.0 (+16.0% to +24.0%); max_more_tokens allows 10%'
        """
        if self.outcome == "error" or self.change is None or self.reference is None or self.candidate is None:
            return f"{self.key} cannot be decided: {self.note or 'there are no figures'}"
        moved = f"{'rose' if self.change > 0.0 else 'fell'} {figure(100 * abs(self.change))}%"
        text = f"{COSTS[self.name]} {moved}, {' to '.join(self.sides)}{f' ({self.reach})' if self.interval else ''}"
        return text if self.allowed is None else f"{text}; {self.key} allows {100 * self.allowed:.4g}%"
