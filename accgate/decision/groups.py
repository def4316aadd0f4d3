"""The groups of a check, and how far each changed.

The intervals hold for all groups together. A check is decided on all its samples. With `[gate] groups = "fail"` a group
that fell fails it too, by Holm's procedure over all of its groups at their own share of alpha. Groups are small, and
their limits must seldom miss: with 57 groups each may miss once in 2,280 times. Single 0/100 scores have McNemar's
exact limits. Other bounded scores have those of bets, which rest on the bounds alone, for the bootstrap's miss far too
often there (docs/statistics.md). An early stop looks at all samples together, so that a group has no fixed number of
them: its limits are those of bets as well, which hold wherever the check stops.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from accgate.decision.evidence import Evidence
from accgate.design import oriented
from accgate.records.scores import Floats
from accgate.stats.betting import betting_path, confidence_sequence
from accgate.stats.bootstrap import weighted_bootstrap
from accgate.stats.difference import exact_difference_interval
from accgate.stats.multiplicity import adjust_p_values
from accgate.stats.paired import mcnemar_p
from accgate.stats.sequential import Units, include, units_of
from accgate.text import count_of, some_of
from accgate.verdict import GroupFigures, Reason, Verdict
from accgate.verdict.figures import NO_GROUP, Groups

MOST_GROUPS = 300  # a column with more is not a grouping, and nobody would read its figures
FEWEST_UNBOUNDED = 50  # samples or clusters of a group, from which unbounded scores have limits
UNBOUNDED = f"Nothing bounds these scores: intervals are approximate, and groups under {FEWEST_UNBOUNDED} have none"
UNBOUNDED_STOP = "Nothing bounds these scores, so no interval holds where a check stops early"
Rows = npt.NDArray[np.intp]


@dataclass(frozen=True)
class _Limits:
    """Limits of a group's difference in points, and its two-sided p.

    Higher is better, and each limit errs at the level.
    """

    low: float
    high: float
    p_value: float


def add_groups(evidence: Evidence, verdict: Verdict) -> Verdict:
    """Add the figures of its groups to a verdict.

    The verdict must compare mean scores of the same samples. Each of G groups has limits at alpha / (2 G), so that all
    intervals hold together with probability 1 - alpha (Bonferroni). Where samples failed, an interval has room for the
    worst and the best score of each.

    References
    ----------
    Bonferroni 1936; Holm 1979, Scand. J. Statist. 6; Howard, Ramdas, McAuliffe and Sekhon 2021, Ann. Stat. 49
    (intervals that hold at any time).
    """
    counts = Counter((evidence.groups or {}).values())
    if len(counts) < 2 or evidence.statistic is not None or not evidence.is_paired:
        return verdict
    groups = Groups(len(counts), verdict.alpha, any_stop=verdict.stop is not None)
    if len(counts) > MOST_GROUPS:
        note = f"The samples are in {len(counts):,} groups, too many to show: at most {MOST_GROUPS} have figures"
        return replace(verdict, groups=replace(groups, note=note))
    cases = [evidence.fill(score) for score in (evidence.worst, evidence.best)[: 2 if evidence.candidate.failed else 1]]
    if any(np.isnan(case.candidate.values).any() for case in cases):
        return verdict
    level = verdict.alpha / (2 * len(counts))
    tables = [_table(case, verdict.n, level, counts, any_stop=groups.any_stop) for case in cases]
    rows = tables[0] if len(tables) == 1 else [_hull(*both) for both in zip(*tables, strict=True)]
    failed = _failed_counts(evidence, verdict.n)
    adjusted = _holm([row.p_value for row in rows], len(counts))
    rows = [
        replace(row, p_adjusted=adjusted_p, errors=failed[row.name], stands_out=_stands_out(row, 2.0 * level))
        for row, adjusted_p in zip(rows, adjusted, strict=True)
    ]
    lack = None if evidence.bounds is not None else UNBOUNDED_STOP if groups.any_stop else UNBOUNDED
    if (alpha := evidence.design.group_alpha) is None:
        return replace(verdict, groups=replace(groups, rows=_sorted(rows, verdict), note=lack))
    falls = [_outcomes(table, alpha, len(counts), verdict.higher_is_better) for table in tables]
    rows = [
        replace(row, outcome="regression" if all(fell) else "error" if any(fell) else None)
        for row, *fell in zip(rows, *falls, strict=True)
    ]
    blind = _blind(cases[0], verdict.n, alpha / len(counts), counts, any_stop=groups.any_stop)
    if blind:
        what = f"{len(blind)} of {count_of(len(counts), 'group')} have too few right answers to fail"
        lack = f"{what}: {some_of(blind)}{'' if lack is None else f'. {lack}'}"
    verdict = replace(verdict, groups=replace(groups, rows=_sorted(rows, verdict), note=lack, level=alpha))
    return _decided_by_groups(verdict, can_fail=len(blind) < len(counts))


def _sorted(rows: Sequence[GroupFigures], verdict: Verdict) -> tuple[GroupFigures, ...]:
    return tuple(sorted(rows, key=lambda row: _surely_worse(row, verdict.higher_is_better)))


def _outcomes(table: Sequence[GroupFigures], alpha: float, count: int, higher_is_better: bool) -> list[bool]:
    """Tell for each group whether it fell, by Holm's procedure at alpha.

    The procedure covers all `count` groups.
    """
    fell = [row.p_value is not None and oriented(row.difference, higher_is_better) < 0.0 for row in table]
    p_values = [(row.p_value or 0.0) / 2.0 if is_lower else 1.0 for row, is_lower in zip(table, fell, strict=True)]
    return [p is not None and p <= alpha for p in _holm(p_values, count)]


def _blind(evidence: Evidence, n: int, level: float, counts: Counter[str], *, any_stop: bool) -> list[str]:
    """Name the groups that could not fail at this level, sorted.

    All of their answers at the worst score would not be enough.
    """
    if (worst := evidence.worst) is None:
        return []
    evidence, worst, blind = evidence.by_cluster(), evidence.better(worst), list[str]()
    for name, rows in sorted(_places(evidence, n).items()):
        lost = worst - evidence.better(evidence.before.means()[rows])
        limits = _limits(evidence, rows, lost, level / 2.0, counts[name], any_stop=any_stop)
        if limits is None or limits.p_value / 2.0 > level:
            blind.append(name or NO_GROUP)
    return blind


def _decided_by_groups(verdict: Verdict, *, can_fail: bool) -> Verdict:
    """Let groups that fell or are undecided change a check's verdict.

    A group that fell makes the check a regression. Otherwise an undecided group makes it an error, and a pass becomes
    inconclusive where no group could fail.
    """
    groups, name = verdict.groups, verdict.verdict
    assert groups is not None
    fell = [row for row in groups.rows if row.outcome == "regression"]
    open_ = [row.name for row in groups.rows if row.outcome == "error"]
    if name in ("regression", "error", "no-reference"):
        return verdict
    if fell:
        (first, *rest), name = fell, "regression"
        more = f", and {len(rest)} more of {groups.count} groups" if rest else ""
        means = {"before": first.reference, "now": first.candidate}
        reason = Reason("group-fell", {"group": first.name, **means, "n": first.n, "more": more})
    elif open_:
        name, reason = "error", Reason.of("groups-open", names=some_of(open_))
    elif name == "pass" and not can_fail:
        name, reason = "inconclusive", Reason.of("groups-too-small", count=groups.count)
    else:
        return verdict
    return replace(verdict, verdict=name, by_scores=verdict.verdict).because(reason)


def _stands_out(row: GroupFigures, level: float) -> bool:
    """Tell whether p and the interval exclude 0, which agree except for rounding."""
    if row.p_value is None or row.interval is None:
        return False
    low, high = row.interval
    return row.p_value <= level and not low <= 0.0 <= high


def _failed_counts(evidence: Evidence, n: int) -> Counter[str]:
    """Count how many of the first n samples failed, by group."""
    assert evidence.groups is not None
    candidate = evidence.by_cluster().candidate
    failed = np.isnan(candidate.values[:n]).any(axis=1)
    return Counter(evidence.groups[candidate.ids[i]] or NO_GROUP for i in np.flatnonzero(failed))


def _table(evidence: Evidence, n: int, level: float, counts: Counter[str], *, any_stop: bool) -> list[GroupFigures]:
    """Return the figures of every group among the first n samples. Groups are in the order of their names."""
    evidence, table = evidence.by_cluster(), list[GroupFigures]()
    change, before = evidence.differences[:n], evidence.before.means()
    for name, rows in sorted(_places(evidence, n).items()):
        d = change[rows]
        limits = _limits(evidence, rows, d, level, counts[name], any_stop=any_stop)
        ends = None if limits is None else sorted(map(evidence.better, (limits.low, limits.high)))
        reference, difference = float(before[rows].mean()), evidence.better(float(d.mean()))
        table.append(
            GroupFigures(
                name=name or NO_GROUP,
                n=len(rows),
                reference=reference,
                candidate=reference + difference,
                difference=difference,
                interval=None if ends is None else (ends[0], ends[1]),
                p_value=None if limits is None else limits.p_value,
                p_adjusted=None,
                lost=int((d < 0.0).sum()),
                gained=int((d > 0.0).sum()),
            )
        )
    return table


def _places(evidence: Evidence, n: int) -> dict[str, Rows]:
    """Find the places of each group's samples among the first n."""
    assert evidence.groups is not None
    places: dict[str, list[int]] = {}
    for place, id_ in enumerate(evidence.candidate.ids[:n]):
        places.setdefault(evidence.groups[id_], []).append(place)
    return {name: np.array(own, dtype=np.intp) for name, own in places.items()}


def _limits(evidence: Evidence, rows: Rows, d: Floats, level: float, planned: int, *, any_stop: bool) -> _Limits | None:
    """Bound one group, of which a run has `planned` samples. It is None where no test gives any limits."""
    if evidence.data.is_exact and not any_stop:
        return _exact_limits(int((d < 0.0).sum()), int((d > 0.0).sum()), len(d), level)
    codes = None if evidence.clusters is None else evidence.clusters[rows]
    units, bounds = units_of(d, codes, n_max=planned if any_stop else None), evidence.bounds
    if bounds is not None:
        return _limits_of_bets(units, bounds[1] - bounds[0], level)
    return None if any_stop or len(units.totals) < FEWEST_UNBOUNDED else _approximate_limits(units, level)


def _exact_limits(lost: int, gained: int, n: int, level: float) -> _Limits:
    """Return the limits of McNemar's exact test."""
    low, high = exact_difference_interval(lost, gained, n, alpha=level).two_sided
    return _Limits(low, high, min(1.0, 2.0 * mcnemar_p(max(lost, gained), lost + gained)))


def _limits_of_bets(units: Units, bound: float, level: float) -> _Limits:
    """Bound a group by betting on its samples one by one. The limits hold wherever a run stops."""
    interval = confidence_sequence(units.totals, units.planned, bound=bound, alpha=level)
    p_values = [
        betting_path(side * units.totals, units.planned, bound=bound, theta=None, alpha=level, beta=level).p_value
        for side in (1.0, -1.0)
    ]
    low, high = include(float(units.totals.sum() / units.sizes.sum()), interval).two_sided
    return _Limits(low, high, min(1.0, 2.0 * min(p_values)))


def _approximate_limits(units: Units, level: float) -> _Limits | None:
    """Bound a group of unbounded scores by the weighted bootstrap."""
    n = int(units.sizes.sum())
    down, up = (
        weighted_bootstrap(side * units.totals, n, sizes=units.sizes, alpha=level, beta=0.5) for side in (1.0, -1.0)
    )
    if down.interval is None or up.interval is None:
        return None
    low, high = 0.0 - up.interval.one_sided, down.interval.one_sided
    return _Limits(low, high, min(1.0, 2.0 * min(down.p_value, up.p_value))) if math.isfinite(high - low) else None


def _hull(at_worst: GroupFigures, at_best: GroupFigures) -> GroupFigures:
    """Return the worst case's figures of a group with failed samples. The interval holds in both cases."""
    if at_worst.interval is None or at_best.interval is None:
        return replace(at_worst, interval=None, p_value=None)
    low = min(at_worst.interval[0], at_best.interval[0])
    high = max(at_worst.interval[1], at_best.interval[1])
    p_value = 1.0 if low <= 0.0 <= high else max(at_worst.p_value or 0.0, at_best.p_value or 0.0)
    return replace(at_worst, interval=(low, high), p_value=p_value)


def _holm(p_values: Sequence[float | None], count: int) -> list[float | None]:
    """Adjust the p-values of `count` groups by Holm's procedure.

    A missing p-value counts as 1.
    """
    filled = [1.0 if p is None else p for p in p_values]
    adjusted = adjust_p_values(np.array(filled + [1.0] * (count - len(filled))), "holm")
    return [None if p is None else float(q) for p, q in zip(p_values, adjusted, strict=False)]


def _surely_worse(row: GroupFigures, higher_is_better: bool) -> tuple[float, float, str]:
    """Return a key that sorts the surest falls first and the surest gains last."""
    change = oriented(row.difference, higher_is_better)
    doubt = 1.0 if row.p_value is None else row.p_value
    return (doubt - 1.0 if change < 0.0 else 1.0 - doubt if change > 0.0 else 0.0, change, row.name)
