"""The share of harmless changes that a run may fail, by its sources."""

from __future__ import annotations

from dataclasses import astuple, dataclass

RUNS = 10_000  # every figure of chance is a count of so many runs


@dataclass(frozen=True)
class Allowed:
    """The share of harmless changes that a run fails at most.

    Its parts add up. The `checks` fail a share by their scores, the `overall` checks and the `limits` on costs more,
    and so do `groups` and the `drift` where they can fail a check. On a pull request these are the rules of its base,
    and the checks that it adds may fail the share `new` as well.
    """

    checks: float = 0.0
    overall: float = 0.0
    limits: float = 0.0
    groups: float = 0.0
    drift: float = 0.0
    new: float = 0.0

    def __add__(self, other: Allowed) -> Allowed:
        return Allowed(*map(sum, zip(astuple(self), astuple(other), strict=True)))

    @property
    def base(self) -> float:
        """What all but the new checks may fail."""
        return self.checks + self.overall + self.limits + self.groups + self.drift

    @property
    def total(self) -> float:
        """What the whole run may fail.

        >>> Allowed(0.04, overall=0.01, new=0.05).total
        0.1
        """
        return min(1.0, self.base + self.new)

    def as_new(self) -> Allowed:
        """Return the same as what a pull request adds."""
        return Allowed(new=self.base + self.new)

    @property
    def sources(self) -> str:
        """Say by what harmless changes may fail.

        The text is empty for a single source.

        >>> Allowed(0.03, 0.01, 0.01).sources
        '400 by scores, 100 by limits on costs'
        >>> Allowed(0.05, new=0.05).sources
        "500 by the base's checks, 500 more by those that this pull request adds"
        """
        if self.new and self.base:
            ours, theirs = runs_text(self.base), runs_text(self.new)
            return f"{ours} by the base's checks, {theirs} more by those that this pull request adds"
        parts = {
            "scores": self.checks + self.overall,
            "groups of samples": self.groups,
            "slow declines": self.drift,
            "limits on costs": self.limits,
        }
        texts = [f"{runs_text(share)} by {what}" for what, share in parts.items() if share]
        return ", ".join(texts) if len(texts) > 1 else ""

    @property
    def sentence(self) -> str:
        """How many harmless changes fail, without a full stop.

        >>> Allowed(0.02).sentence
        'At most 200 of 10,000 harmless changes fail'
        """
        sources = f": {self.sources}" if self.sources else ""
        return f"At most {runs_text(self.total)} of {RUNS:,} harmless changes fail{sources}"


def runs_text(share: float) -> str:
    """Write a probability, or a bound on one, as a count of 10,000 runs.

    >>> runs_text(0.0022), runs_text(1e-9), runs_text(1.3)
    ('22', 'fewer than 1', '10,000')
    """
    return "fewer than 1" if share * RUNS < 1.0 - 1e-9 else f"{min(1.0, share) * RUNS:,.0f}"
