"""The account of alpha of a run.

It says what each thing that can fail the run may spend, and what all may spend together.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from accgate.config.tables import Gate
from accgate.design import Design, Mean, Target
from accgate.records.scores import Scores
from accgate.stats.names import Correction
from accgate.stats.power import share_of_alpha
from accgate.verdict import Allowed

SHARE = 0.2  # of alpha for the overall checks, and as much for the limits on costs
TENTH = 0.1  # for groups that can fail, and as much for a slow decline that can: both see only large losses


@dataclass(frozen=True)
class Claim:
    """What one check claims of the account.

    `alpha` is the check's own rate, `pooled_by` the model whose overall check may pool it, and `limits` counts its
    limits on costs. With `has_groups` its samples come in groups.
    """

    alpha: float
    pooled_by: str | None = None
    limits: int = 0
    has_groups: bool = False


@dataclass(frozen=True)
class Account:
    """How all that can fail a run shares alpha.

    Each of the run's checks has a claim. The overall checks have a fifth of alpha where there are any, the limits on
    costs another. Where `drift` and `groups` can fail a check, each has a tenth. The checks share the rest by the
    correction. With `none` nothing is shared: every check and every limit has its whole alpha, every overall check a
    fifth.

    A pull request's new checks have an account of their own, so that they take nothing from those of its base. So have
    advisory checks.

    >>> account = Account("holm", (Claim(0.05, "a"), Claim(0.05, "a"), Claim(0.05, "b", limits=1)))
    >>> round(account.of_check(0.05), 4), round(account.of_overall("a"), 4), round(account.of_limit(0.05), 4)
    (0.01, 0.01, 0.01)
    >>> round(account.allowed.total, 4)
    0.05
    """

    correction: Correction
    claims: tuple[Claim, ...]
    drift: bool = False
    groups: bool = False

    @cached_property
    def pooled(self) -> Mapping[str, float]:
        """The models that have an overall check. Each has the least alpha of the checks that it pools."""
        names = [claim.pooled_by for claim in self.claims]
        models = dict.fromkeys(name for name in names if name is not None and names.count(name) > 1)
        return {model: min(claim.alpha for claim in self.claims if claim.pooled_by == model) for model in models}

    @cached_property
    def limits(self) -> int:
        """The number of limits on costs."""
        return sum(claim.limits for claim in self.claims)

    @property
    def share_of_checks(self) -> float:
        """The share of alpha that all checks have together."""
        if self.correction == "none":
            return 1.0
        return 1.0 - SHARE * (bool(self.pooled) + bool(self.limits)) - TENTH * (self.drift + bool(self.grouped))

    @cached_property
    def grouped(self) -> int:
        """The number of checks whose groups can fail them."""
        return sum(claim.has_groups for claim in self.claims) if self.groups else 0

    def of_drift(self, alpha: float) -> float | None:
        """Return the alpha of one check's decline over all merges. It is None where declines are only reported."""
        return TENTH * alpha / (1 if self.correction == "none" else len(self.claims)) if self.drift else None

    def of_groups(self, alpha: float) -> float | None:
        """Return the alpha that the groups of one check have together. It is None where groups are only reported."""
        return TENTH * alpha / (1 if self.correction == "none" else self.grouped) if self.grouped else None

    def of_check(self, alpha: float) -> float:
        """Return the alpha that one check has for certain."""
        return share_of_alpha(alpha, self.correction, len(self.claims), total_share=self.share_of_checks)

    def of_overall(self, model: str) -> float:
        """Return the alpha of the overall check of one model."""
        return SHARE * self.pooled[model] / (1 if self.correction == "none" else len(self.pooled))

    def of_limits(self, alpha: float) -> float:
        """Return the alpha that all limits on costs have together.

        `alpha` is the alpha of the checks.
        """
        return alpha if self.correction == "none" else SHARE * alpha

    def of_limit(self, alpha: float) -> float:
        """Return the alpha that one limit on costs has for certain."""
        return share_of_alpha(self.of_limits(alpha), self.correction, self.limits)

    @property
    def allowed(self) -> Allowed:
        """Upper bound on the harmless changes that the run fails, by part.

        Each part's bound is what this part may spend.
        """
        return Allowed(
            checks=sum(self.of_check(claim.alpha) for claim in self.claims),
            overall=sum(map(self.of_overall, self.pooled)),
            limits=sum(claim.limits * self.of_limit(claim.alpha) for claim in self.claims if claim.limits),
            drift=sum(self.of_drift(claim.alpha) or 0.0 for claim in self.claims),
            groups=sum(self.of_groups(claim.alpha) or 0.0 for claim in self.claims if claim.has_groups),
        )


def account_by(gate: Gate, claims: Iterable[Claim]) -> Account:
    """Return the account of these claims by the rules of [gate]."""
    return Account(gate.correction, tuple(claims), drift=gate.drift == "fail", groups=gate.groups == "fail")


def reason_not_pooled(reference: Scores | Mean | Target | None, design: Design) -> str | None:
    """Say why an overall check leaves a check out. It is None for one that it pools."""
    if design.tier == "advisory":
        return "advisory"
    if reference is None:
        return "no reference"
    if not isinstance(reference, Scores) or design.test == "two-sample":
        return "not paired"
    if design.allowed_drop:
        return "a drop is allowed"
    return None if reference.is_binary else "scores other than 0 and 100"
