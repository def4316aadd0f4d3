"""How a check stands while it runs: what its scores are held against, and how near a decision is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from accgate.design import sequential_test
from accgate.scores import Floats, Scores, paired
from accgate.verdict import Evidence


@dataclass(frozen=True)
class Limits:
    """What decides a check after the first `n` of `n_max` samples of its order; points.

    `difference` is that of these samples. It is a regression once `p_value` is at most `allowed`, the type I error that
    may be spent by then, 0 before any sample changed. A difference no worse than `passes` rules out a drop of theta;
    None where nothing yet would. `share` says how much of the evidence for a pass is there, from 0 to 1.
    """

    n: int
    n_max: int
    difference: float
    p_value: float
    allowed: float
    passes: float | None
    share: float
    higher_is_better: bool = True


@dataclass(frozen=True)
class Comparison:
    """What the scores of a check are held against while it runs.

    `reference` has the mean score of each sample, or the mean of all; None where a check has no reference, or is
    decided on another statistic than the mean. `limits` says how near a decision is, None where nothing ends early.
    """

    reference: Mapping[str, float] | float | None = None
    limits: Callable[[], Limits | None] = field(default=lambda: None)


def limits_of(evidence: Evidence, alpha: float) -> Limits | None:
    """How near the beginning of a run is to a decision at this alpha.

    The limits are those of the moment: where the run would have to stand by now, with as many samples changed. None
    but for `gsprt` on 0/100 scores, whose walk depends on nothing else than which samples were lost.

    Examples
    --------
    >>> from accgate.design import Design
    >>> before = Scores(tuple(map(str, range(100))), np.full((100, 1), 100.0))
    >>> now = Scores(before.ids, np.where(np.arange(100) < 4, 0.0, 100.0)[:, None])
    >>> limits = limits_of(Evidence(now, before, Design(theta=4.0, early_stopping=True), n_max=200), 0.05)
    >>> limits.n, limits.difference, round(limits.p_value, 4), limits.passes
    (100, -4.0, 0.0625, 2.0)
    """
    design, candidate = evidence.design, evidence.candidate
    if (
        sequential_test(design, evidence.reference) != "gsprt"
        or not isinstance(evidence.reference, Scores)
        or design.theta is None
        or not candidate.n
    ):
        return None
    from accgate.stats.gsprt import gsprt, schedule
    from accgate.stats.sequential import units_of

    sign = 1.0 if design.higher_is_better else -1.0
    difference = sign * (candidate.averaged() - paired(evidence.reference, candidate).averaged())
    units = units_of(difference, evidence.clusters, n_max=evidence.n_max, binary=evidence.binary)
    if not units.exact:
        return None
    rates = {"theta": design.theta, "alpha": alpha, "beta": design.beta}
    result = gsprt(units, **rates, discordance=design.discordance)
    plan = schedule(units, **rates, discordance=design.discordance)
    events = units.events[units.events <= plan.last]
    passes, share = _passing(difference, plan.n[-1], plan.bound[-1], theta=design.theta, beta=design.beta)
    return Limits(
        candidate.n,
        units.n_max,
        sign * float(difference.mean()),
        result.p_value,
        float(plan.allowed[events[-1]]) if len(events) else 0.0,
        None if passes is None else sign * passes,
        share,
        design.higher_is_better,
    )


def _passing(difference: Floats, n: float, bound: float, *, theta: float, beta: float) -> tuple[float | None, float]:
    """(least difference that passes with so many samples changed, None where none does; share of the way to a pass)."""
    from accgate.stats.gsprt import trinomial_llr, unseen_n

    changed, now = int(np.count_nonzero(difference)), int(np.count_nonzero(difference < 0.0))
    if not changed:  # a drop of theta would have changed some
        return None, min(1.0, len(difference) / unseen_n(theta, beta=beta))
    lost = np.arange(changed + 1.0)
    ratio = trinomial_llr(lost, changed - lost, np.full(changed + 1, max(n, float(changed))), theta=theta)
    holds = np.flatnonzero(ratio <= bound)
    share = min(max(float(ratio[now] / bound), 0.0), 1.0)
    return (100.0 * (changed - 2 * int(holds[-1])) / len(difference) if len(holds) else None), share
