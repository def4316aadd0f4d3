"""How the checks of a run share alpha, and which of them a model's overall check pools."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from accgate.design import Design, Mean, Target
from accgate.records import Scores
from accgate.stats import Correction, share_of_alpha

OVERALL_SHARE = 0.2  # of alpha, for the overall checks: 4 to 1


@dataclass(frozen=True)
class AlphaSplit:
    """How a run shares alpha among its `checks` and the overall checks of the `pooled` models.

    The checks share four fifths by their correction, and each overall check has an equal part of the last fifth: the
    chance that a healthy run fails stays within alpha. Without an overall check nothing is split off. With `none` every
    check keeps its whole alpha and every overall check has a fifth.
    """

    correction: Correction
    checks: int
    pooled: tuple[str, ...] = ()

    @property
    def left(self) -> float:
        """The share of alpha that all checks have together."""
        return 1.0 - OVERALL_SHARE if self.pooled and self.correction != "none" else 1.0

    def of_check(self, alpha: float) -> float:
        """The alpha that one check has for certain."""
        return share_of_alpha(alpha, self.correction, self.checks, left=self.left)

    def of_overall(self, alpha: float) -> float:
        """The alpha of one overall check, `alpha` the least of those of its checks."""
        return OVERALL_SHARE * alpha / (1 if self.correction == "none" else len(self.pooled))


def alpha_split(correction: Correction, checks: int, models: Sequence[str]) -> AlphaSplit:
    """The split for a run of so many checks, with the model of each check that an overall check can pool.

    >>> split = alpha_split("holm", 4, ["a", "a", "b"])
    >>> split.pooled, round(split.of_check(0.05), 4), round(split.of_overall(0.05), 4)
    (('a',), 0.01, 0.01)
    """
    return AlphaSplit(correction, checks, tuple(dict.fromkeys(name for name in models if models.count(name) > 1)))


def reason_not_pooled(reference: Scores | Mean | Target | None, design: Design) -> str | None:
    """Why an overall check leaves a check out; None for one that it pools: 0/100 scores of which no drop is allowed."""
    if reference is None:
        return "no reference"
    if not isinstance(reference, Scores) or design.test == "two-sample":
        return "not paired"
    if design.allowed_drop:
        return "a drop is allowed"
    return None if reference.is_binary else "scores other than 0 and 100"
