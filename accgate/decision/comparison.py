"""Verdicts of two sets of scores, and of a run's checks together."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from accgate.decision.check import add_collapse, decide_check
from accgate.decision.evidence import Evidence, SampleStatistic
from accgate.decision.groups import add_groups
from accgate.design import Design, Mean, allowed_points, given_of, refuse_unsuitable
from accgate.errors import BadInput
from accgate.records.ids import Ids, order_of
from accgate.records.membership import cluster_labels, codes_of, groups_of
from accgate.records.pairing import chance_correlation
from accgate.records.scores import LARGEST, ROUNDING, Floats, Scores, check_range, from_python, in_points
from accgate.stats.multiplicity import adjust_p_values, level_shares
from accgate.stats.names import Correction, TestName
from accgate.stats.power import share_of_alpha
from accgate.stats.statistics import Method, Rows, unit_codes
from accgate.verdict import Figure, Reason, Verdict

Order = Literal["random", "given"]

LEAST_THETA = 1e-6  # points; no dataset shows less, and floats end not far below


def compare(
    reference: Mapping[Any, float] | Sequence[float] | Floats,
    candidate: Mapping[Any, float] | Sequence[float] | Floats,
    *,
    test: TestName = "auto",
    alpha: float = 0.05,
    beta: float = 0.2,
    sigma: float | None = None,
    theta: float | None = None,
    discordance: float | None = None,
    early_stopping: bool = False,
    clusters: Mapping[Any, Any] | Sequence[Any] | None = None,
    groups: Mapping[Any, Any] | Sequence[Any] | None = None,
    seed: int = 0,
    scale: float | None = None,
    bounds: tuple[float, float] | None = None,
    order: Order = "random",
    higher_is_better: bool = True,
    allowed_drop: float | str = 0.0,
    certify: bool = False,
) -> Verdict:
    """Decide whether the candidate's scores are lower than the reference's.

    Parameters
    ----------
    reference, candidate : mapping of id to score, Series of pandas, or array of shape (n,)
        Scores in points, or in another unit with `scale`; true and false, or 1 and 0, on both sides are 100 and 0.
        A Series pairs by its labels, an array by place, which is what the labels of a Series that has none say.
    test : str
        `auto` pairs by id: exact for 0/100 scores, else a weighted bootstrap, or sign flips of few samples. The others
        are `paired`, `unconditional`, `permutation`, `bootstrap`, the sequential `gsprt`, `group-sequential` and
        `e-process`, and `two-sample`, which compares means.
    alpha, beta : float
        Type I and type II error rates.
    sigma : float, optional
        Standard deviation of one score, points, for two-sample; estimated where it is not given.
    theta : float, optional
        The drop (points) that must be detectable, or the verdict is inconclusive. It is so too, with and without
        theta, where no outcome of these samples could be a regression, and where the reference is too near the worst
        score to fall by what the test detects.
    scale : float, optional
        Factor to points: 100 for fractions, 1 for points.
    bounds : pair of float, optional
        The lowest and the highest score there can be, in points; infinite where there is none. By default 0 and 100,
        unless both sides have scores beyond.
    discordance : float, optional
        Share of samples expected to change. It shapes the bounds of `gsprt`; a wrong one costs samples.
    early_stopping : bool
        Take the samples one by one, in the `order` below, and stop as soon as the evidence allows; n is then the
        number used. Without `theta` the drop that all can show is looked for.
    clusters : mapping of id to cluster, or sequence of shape (n,), optional
        Samples of one cluster depend on each other; the cluster is then the unit of the test.
    groups : mapping of id to group, or sequence of shape (n,), optional
        Subjects or categories: the verdict's `groups` then say how far each changed, and decide nothing.
    seed : int
        Of the random order, and of the resampling tests.
    order : str
        How a test that stops early takes the samples: in the `random` order of `seed`, by id or place in the array,
        clusters whole; or as `given`. Take that only for data in random order: of a file sorted by difficulty or by
        length the beginning is no sample, and no error rate holds.
    allowed_drop : float or str
        A loss that is accepted, in points or as "1%" of the reference's mean; `theta` is what a drop exceeds it by.
    certify : bool
        A pass must prove it: the bound at confidence 1 - alpha excludes a drop of `allowed_drop` + `theta`.

    Raises
    ------
    BadInput
        For samples that are missing, extra, not finite, not in points or outside the bounds, and for arguments out of
        range.

    Examples
    --------
    >>> verdict = compare([100, 100, 0, 100] * 50, [100, 0, 0, 100] * 50)
    >>> verdict.verdict, verdict.difference, verdict.gamma
    ('regression', -25.0, 73.5)
    """
    sides = from_python(reference, "reference"), from_python(candidate, "candidate")
    left, right = in_points(*sides, scale, bounds=bounds)
    allowed = allowed_points(allowed_drop, left.mean)
    design = Design(
        test, alpha, beta, sigma, theta, higher_is_better, discordance, early_stopping, seed, allowed, certify
    )
    return compare_scores(left, right, design, clusters=clusters, groups=groups, bounds=bounds, order=order)


def compare_statistic(
    reference: npt.ArrayLike,
    candidate: npt.ArrayLike,
    statistic: Callable[[Rows], float],
    *,
    alpha: float = 0.05,
    beta: float = 0.2,
    theta: float | None = None,
    higher_is_better: bool = True,
    clusters: npt.ArrayLike | None = None,
    method: Method = "influence",
    resamples: int = 9999,
    seed: int = 0,
) -> Verdict:
    """Decide whether a statistic of the candidate is worse than that of the reference.

    Parameters
    ----------
    reference, candidate : array of shape (n,) or (n, k)
        What the statistic needs of each sample, such as (confidence, right), the same samples row by row.
    statistic : callable
        Takes such rows and returns the statistic in points. An `Unsigned` one, as of calibration errors, is freed of
        what chance alone makes of it.
    alpha, beta : float
        Type I and type II error rates.
    theta : float, optional
        The change for the worse (points) that must be detectable, or the verdict is inconclusive; so it is for samples
        so few that nothing could be a regression.
    method : str
        `influence`, or `bootstrap` for few or skewed samples.

    Raises
    ------
    BadInput
        For sides of different length, a statistic without a value, and arguments out of range.

    Examples
    --------
    The attack success rate rose from 20% to 35%:

    >>> before = np.repeat([1, 1, 0, 0], [34, 6, 36, 124])
    >>> after = np.repeat([1, 0, 1, 0], [34, 6, 36, 124])
    >>> verdict = compare_statistic(before, after, lambda rows: 100.0 * rows.mean(), higher_is_better=False)
    >>> verdict.verdict, round(verdict.gamma, 2)
    ('regression', 25.07)
    """
    before, after = np.asarray(reference), np.asarray(candidate)
    if before.shape != after.shape or not len(before):
        raise BadInput(f"the sides have the shapes {before.shape} and {after.shape}; give the same samples, row by row")
    scores = Scores(Ids(map(str, range(len(after)))), np.zeros((len(after), 1)))  # the statistic alone decides
    design = Design("auto", alpha, beta, None, theta, higher_is_better, seed=seed)
    of_rows = SampleStatistic(statistic, before, after, method, resamples=resamples)
    try:
        codes = None if clusters is None else unit_codes(len(after), clusters)
        (verdict,) = decide([Evidence(scores, scores, design, clusters=codes, statistic=of_rows)])
    except ValueError as error:
        raise BadInput(f"the statistic cannot be compared: {error}") from error
    if verdict.verdict == "error":
        raise BadInput(f"the statistic cannot be compared: {verdict.causes[0].figures['fact']}")
    return replace(verdict, statistic=None, lost=None, gained=None, discordance=None)  # of scores that are not there


def compare_scores(
    reference: Scores,
    candidate: Scores,
    design: Design,
    *,
    clusters: Mapping[Any, Any] | Sequence[Any] | None = None,
    groups: Mapping[Any, Any] | Sequence[Any] | None = None,
    bounds: tuple[float, float] | None = None,
    order: Order = "random",
    is_shown: bool = False,
) -> Verdict:
    """Compare scores that are already in points and within bounds, as `compare` does.

    Clusters and groups are the scores' own by default. The verdict notes scores that agree no better than chance,
    unless more than ids shows that the samples are the same (`is_shown`); the note decides nothing, for two good models
    may be right on quite different samples. Scores that came as marks, 0 and 1, are noted as well.
    """
    if order not in get_args(Order):
        raise BadInput(f"order is {order!r}; give one of {', '.join(get_args(Order))}")
    refuse_unsuitable(design.test, given_of(reference))
    unpaired = design.test == "two-sample"
    labels = None if unpaired else cluster_labels(reference, candidate, clusters)
    group_by_id = None if unpaired else groups_of(reference, candidate, groups)
    if order == "random" and design.may_stop_early:
        rank = order_of(design.seed, candidate.ids, None if labels is None else map(str, labels))
        candidate = candidate.take(candidate.ids.take(rank))
        labels = None if labels is None else [labels[i] for i in rank]
    codes = None if labels is None else codes_of(labels)
    low, high = bounds or _usual_bounds(reference, candidate)
    ends = tuple(end if math.isfinite(end) else None for end in (low, high))
    worst, best = ends if design.higher_is_better else ends[::-1]
    evidence = Evidence(candidate, reference, design, worst=worst, best=best, clusters=codes, groups=group_by_id)
    verdict = decide([evidence])[0]
    if reference.are_marks:
        verdict = verdict.because(Reason.of("from-marks"))
    correlation = None if unpaired or is_shown else chance_correlation(reference, candidate)
    if correlation is None:
        return verdict
    return verdict.because(Reason.of("unrelated", correlation=correlation, n=candidate.n))


def _usual_bounds(*sides: Scores) -> tuple[float, float]:
    """Return 0 and 100, or none where scores are beyond."""
    within = all(float(np.min(side.values)) >= 0.0 and float(np.max(side.values)) <= 100.0 + ROUNDING for side in sides)
    return (0.0, 100.0) if within else (-math.inf, math.inf)


def decide(
    evidences: Sequence[Evidence],
    *,
    correction: Correction = "none",
    checks: int | None = None,
    total_share: float = 1.0,
) -> tuple[Verdict, ...]:
    """Return the verdicts of a run's checks, corrected for their number.

    Where samples failed the checks are decided twice, with every failed sample at the worst and at the best
    score: pass or regression stands only where both agree, else the verdict is `error`.

    `checks` is the run's number of (model, task) pairs, those without evidence included; they count in the
    correction as never rejected. `total_share` is the share of alpha that they have together, beside the overall
    checks.

    Raises
    ------
    BadInput
        For a design that cannot be used on its evidence.
    """
    for evidence in evidences:
        check_design(evidence.design)
        refuse_unsuitable(evidence.design.test, given_of(evidence.reference))
        _check_scores(evidence)
    total = max(len(evidences), checks or 0)
    at_worst = _decide_all([e.fill(e.worst) for e in evidences], correction, total, total_share)
    if not any(e.candidate.failed for e in evidences):
        return tuple(map(_with_parts, evidences, at_worst))
    at_best = _decide_all([e.fill(e.best) for e in evidences], correction, total, total_share)
    return tuple(map(_with_parts, evidences, map(_reconcile, evidences, at_worst, at_best)))


def _with_parts(evidence: Evidence, verdict: Verdict) -> Verdict:
    """Add the figures of its groups and of its single samples to a verdict."""
    return add_collapse(evidence, add_groups(evidence, verdict))


def check_design(design: Design) -> None:
    """Refuse error rates and figures out of their range.

    Raises
    ------
    BadInput
        With every fault.
    """
    q = design.discordance
    ranges = {
        "alpha": (design.alpha, 0.0 < design.alpha < 0.5, "above 0 and below 0.5"),
        "beta": (design.beta, 0.0 < design.beta <= 0.5, "above 0 and up to 0.5"),
        "sigma": (design.sigma, design.sigma is None or 0.0 <= design.sigma < math.inf, "0 or more"),
        "theta": (design.theta, design.theta is None or LEAST_THETA <= design.theta < math.inf, "of 0.000001 or more"),
        "discordance": (q, q is None or 0.0 <= q <= 1.0, "from 0 to 1"),
    }
    faults = [f"{key} is {value}; give a number {rule}" for key, (value, ok, rule) in ranges.items() if not ok]
    if design.certify and design.theta is None:
        faults.append("certify needs theta: the bound must exclude a drop of allowed_drop + theta")
    if design.has_looks and design.test in ("gsprt", "e-process"):
        faults.append(f"the {design.test} test knows no allowed_drop and no certify; use group-sequential, or auto")
    if faults:
        raise BadInput(*faults)


def _check_scores(evidence: Evidence) -> None:
    check_range(evidence.candidate)
    reference = evidence.reference
    if isinstance(reference, Scores):
        check_range(reference)
        if reference.failed:
            raise BadInput(f"the reference has {reference.failed} samples without a score; record it again")
        return
    if not (math.isfinite(reference.mean) and abs(reference.mean) <= LARGEST):
        raise BadInput(f"the reference's mean is {reference.mean}; give a number of points")
    if isinstance(reference, Mean) and reference.n < 1:
        raise BadInput(f"the reference's number of samples is {reference.n}; give 1 or more")


def _decide_all(
    evidences: Sequence[Evidence], correction: Correction, total: int, total_share: float
) -> tuple[Verdict, ...]:
    """Decide sequential checks each at their own share of alpha. All others are decided together at the rest."""
    fixed = [i for i, e in enumerate(evidences) if not e.may_stop_early]
    count = total - len(evidences) + len(fixed)  # checks without evidence stand at p = 1, which no level rejects
    share_of_fixed = 1.0 if correction == "none" else total_share * count / max(total, 1)
    at_fixed_n = _decide_at_fixed_n([evidences[i] for i in fixed], correction, count, share_of_fixed)
    verdicts = dict(zip(fixed, at_fixed_n, strict=True))
    for i, evidence in enumerate(evidences):
        if i not in verdicts:
            alpha = evidence.design.alpha
            level = share_of_alpha(alpha, correction, total, total_share=total_share)
            verdict = decide_check(evidence, level)
            p = verdict.p_value
            verdicts[i] = replace(verdict, p_adjusted=None if p is None else min(1.0, p * (alpha / level)))
    return tuple(verdicts[i] for i in range(len(evidences)))


def _decide_at_fixed_n(
    evidences: Sequence[Evidence], correction: Correction, count: int, share_of_fixed: float
) -> list[Verdict]:
    """Decide checks at a fixed n, at their corrected alphas.

    A first decision of each check, at its own alpha, gives the p-values to correct. `count` includes the checks without
    evidence; together they have `share_of_fixed` of alpha.
    """
    undecided = count - len(evidences)
    levels = np.array([e.design.alpha for e in evidences])
    levels = share_of_fixed * np.append(levels, np.full(undecided, levels.min(initial=0.5)))
    first = [decide_check(e, e.design.alpha) for e in evidences]
    p_values = np.array([1.0 if v.p_value is None else v.p_value for v in first] + [1.0] * undecided)
    adjusted = np.minimum(adjust_p_values(p_values, correction, levels=levels) / share_of_fixed, 1.0)
    shares = level_shares(p_values / levels, correction) * share_of_fixed
    return [
        replace(
            v if share == 1.0 else decide_check(e, float(e.design.alpha * share)),
            p_adjusted=None if v.p_value is None else float(p),
        )
        for e, v, share, p in zip(evidences, first, shares, adjusted, strict=False)
    ]


def _reconcile(evidence: Evidence, at_worst: Verdict, at_best: Verdict) -> Verdict:
    """Reconcile both cases of a check with failed samples.

    Where the verdicts agree, the worst case's figures stand. Samples past the end of a run that stopped early do not
    count, for they may or may not have finished.
    """
    used = max(at_worst.n, at_best.n)
    failed = int(np.isnan(evidence.by_cluster().candidate.values[:used]).any(axis=1).sum())
    summary = replace(at_worst.candidate, errors=failed)
    if not failed:
        return at_worst
    worst, best = at_worst.candidate.mean, at_best.candidate.mean
    if worst is None or best is None or math.isnan(worst + best):
        at_worst = replace(at_worst, verdict="error", candidate=replace(summary, mean=None))
        return at_worst.explained_by((Reason.of("failed-unbounded", failed=failed, used=used),))
    spread: dict[str, Figure] = {"failed": failed, "used": used, "worst_mean": worst, "best_mean": best}
    if at_worst.verdict == at_best.verdict and at_worst.verdict in ("pass", "regression"):
        return replace(at_worst, candidate=summary).because(Reason("failed-alike", spread))
    reason = Reason.of("failed-apart", **spread, at_worst=at_worst.verdict, at_best=at_best.verdict)
    return replace(at_worst, verdict="error", candidate=summary).because(reason)
