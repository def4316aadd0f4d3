"""How a check stands while it runs: what its scores are held against, and how near a decision is."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from accgate.decision.check import in_order, largest_difference, oriented_difference, sequential_units
from accgate.decision.evidence import Evidence
from accgate.design import sequential_test
from accgate.evaluation import Limits
from accgate.records import Scores
from accgate.stats import FEWEST_CHANGES, Units, lost_sums


def limits_of(evidence: Evidence, alpha: float) -> Limits | None:
    """How near the beginning of a run is to a decision at this alpha.

    The limits are those of the moment: where the run would have to stand by now, with as many samples changed. None
    for a test that takes all samples, and where samples failed.

    Examples
    --------
    >>> from accgate.design import Design
    >>> before = Scores(tuple(map(str, range(100))), np.full((100, 1), 100.0))
    >>> now = Scores(before.ids, np.where(np.arange(100) < 4, 0.0, 100.0)[:, None])
    >>> limits = limits_of(Evidence(now, before, Design(theta=4.0, early_stopping=True), n_max=200), 0.05)
    >>> limits.n, limits.difference, round(limits.p_value, 4), limits.passes
    (100, -4.0, 0.0625, 2.0)
    """
    design = evidence.design
    test = sequential_test(design, evidence.reference)
    if test is None or not isinstance(evidence.reference, Scores) or design.theta is None or not evidence.candidate.n:
        return None
    evidence = in_order(evidence)
    difference = oriented_difference(evidence)
    if np.isnan(difference).any():
        return None
    units = sequential_units(evidence, difference)
    if not len(units.totals):
        return None
    if test == "group-sequential":
        near = _group_sequential(units, theta=design.theta, alpha=alpha, beta=design.beta)
    elif test == "e-process":
        bound = largest_difference(evidence)
        near = _e_process(units, bound=bound, theta=design.theta, alpha=alpha, beta=design.beta)
    else:
        near = _gsprt(units, design.discordance, theta=design.theta, alpha=alpha, beta=design.beta)
    sign = 1.0 if design.higher_is_better else -1.0
    return Limits(
        n=int(units.sizes.sum()),
        n_max=units.n_max,
        difference=sign * float(units.totals.sum() / units.sizes.sum()),
        p_value=near.p_value,
        allowed=max(near.allowed, 0.0),
        passes=None if math.isnan(near.passes) else sign * near.passes / int(units.sizes.sum()),
        share=near.share,
        higher_is_better=design.higher_is_better,
        next_n=near.next_n,
    )


@dataclass(frozen=True)
class _Near:
    """As in `Limits`; `passes` is a sum of differences, higher better, NaN where none passes."""

    p_value: float
    allowed: float
    passes: float
    share: float
    next_n: int | None = None


def _gsprt(units: Units, discordance: float | None, *, theta: float, alpha: float, beta: float) -> _Near:
    from accgate.stats import Passing, gsprt_test, schedule

    result = gsprt_test(units, theta=theta, alpha=alpha, beta=beta, discordance=discordance)
    plan = schedule(units, theta=theta, alpha=alpha, beta=beta, discordance=discordance)
    passing, events = Passing(units, plan, theta, beta), units.events[units.events <= plan.last]
    allowed = float(plan.allowed[events[-1]]) if len(events) else 0.0
    return _Near(result.p_value, allowed, float(passing.sums(np.array([plan.last]))[0]), passing.share(plan.last))


def _group_sequential(units: Units, *, theta: float, alpha: float, beta: float) -> _Near:
    from accgate.stats import LOOKS, group_design, group_sequential_test, next_look

    result = group_sequential_test(units, theta=theta, alpha=alpha, beta=beta)
    look = next_look(units, group_design(min(LOOKS, units.n_max), alpha, beta), theta=theta, alpha=alpha)
    changed, total = int(look.changed[0]), float(units.totals.sum())
    enough = changed > 0 and (units.exact or changed >= FEWEST_CHANGES)
    scale, steps = units.lattice()
    judged = scale * float(steps.sum() - 2 * lost_sums(units, steps)[-1]) if changed else 0.0  # the sum it judges
    passes = total + math.ceil((-float(look.most[0]) - judged) / (2.0 * scale)) * 2.0 * scale
    drop = theta * int(units.sizes.sum())
    share = 1.0 if total >= passes else min(max((drop + total) / (drop + passes), 0.0), 1.0)
    return _Near(result.p_value, float(look.spent[0]) if enough else 0.0, passes, share, int(look.n[0]))


def _e_process(units: Units, *, bound: float, theta: float, alpha: float, beta: float) -> _Near:
    from accgate.stats import betting_path

    path = betting_path(units.totals, units.planned, bound=bound, theta=theta, alpha=alpha, beta=beta)
    assert path.log_sound is not None
    share = min(max(float(path.log_sound[-1]) / -math.log(beta), 0.0), 1.0)
    return _Near(path.p_value, alpha, math.nan, share)
