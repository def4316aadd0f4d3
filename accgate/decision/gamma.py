"""Gamma, the mean below which a check fails.

Any sample could have been lost or not. So a path of outcomes leads down from the one that was seen, with one more loss
at each step, and up, with one less; the gains stay as they are. Gamma is the mean of the last outcome on the path that
the same test does not fail.
"""

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from accgate.decision.conclusion import worst_outcomes
from accgate.decision.evidence import Evidence
from accgate.decision.outcome import Outcome, fails
from accgate.records.scores import Floats
from accgate.stats.walk import Ints

FINE = 100  # steps to a standard error, of falls of all samples together
FURTHEST = 10**6  # steps of falls that no worst score ends


@dataclass(frozen=True)
class Path:
    """Outcomes of the same samples, each worse or better than the one before. `most` steps can be taken."""

    at: Callable[[int], Evidence]
    most: int


def is_by_outcomes(evidence: Evidence, outcome: Outcome) -> bool:
    """Tell whether gamma must be found outcome by outcome, without a threshold.

    With 0/100 scores a threshold would depend on the number of changes seen. With other scores there may be none, or no
    spread was seen, so that any fall that all samples share is a regression.
    """
    result = outcome.result
    if result is None or not evidence.is_paired or evidence.statistic is not None:
        return False
    return bool(evidence.data.binary) or result.threshold is None or not (result.sigma or outcome.rejects)


def gamma_of(evidence: Evidence, outcome: Outcome, alpha: float) -> float | None:
    """Return the mean below which a check of paired scores fails.

    It is None where no outcome of its samples fails. The evidence must be in the order in which its test looks at it.
    For a run that stopped early, an outcome fails if the same test rejects it by then, with all but the last losses as
    they were seen. Where the test rejects nothing so early, the samples used count as the whole run.
    """
    evidence, n = replace(evidence, reference=evidence.before), outcome.n
    if outcome.rejects:
        path = fewer_losses(evidence, n)
        steps = first_step(lambda count: not fails(path.at(count), alpha, n), path.most)
        return _mean(path.at(path.most if steps is None else steps), n)
    gamma = None if _rejects_later(evidence, outcome) else _gamma_below(evidence, outcome, alpha)
    if gamma is None and n < (evidence.n_max or evidence.candidate.n):
        gamma = _gamma_below(replace(evidence.first(n), n_max=None), outcome, alpha)
    return gamma


def _rejects_later(evidence: Evidence, outcome: Outcome) -> bool:
    """Tell whether a stopped run's test can reject only after more changes."""
    assert outcome.result is not None
    waits = evidence.choice.method == "group-sequential" and not evidence.data.is_exact
    is_early = outcome.n < (evidence.n_max or evidence.candidate.n)
    return waits and is_early and outcome.result.threshold is None


def _gamma_below(evidence: Evidence, outcome: Outcome, alpha: float) -> float | None:
    """Gamma of a check that does not fail."""
    result, n = outcome.result, outcome.n
    sigma = None if result is None or evidence.data.binary else result.sigma
    path = _falls(evidence, sigma, n) if sigma else more_losses(evidence, n)
    steps = first_step(lambda count: fails(path.at(count), alpha, n), path.most)
    if steps is not None:
        return _mean(path.at(steps - 1), n)
    if any(fails(worst, alpha, n) for worst in worst_outcomes(evidence)):
        return _least_fall(evidence, n)
    return None


def more_losses(evidence: Evidence, n: int) -> Path:
    """Return the path down, with one more loss at each step.

    The last of the first n samples is lost first, and gains go last. A lost sample has the worst score. Where nothing
    bounds the scores, it falls as far as any sample changed, or as far as the reference's scores lie apart if none did.
    """
    now, before, floor = evidence.better(evidence.candidate.means()), _before(evidence), _floor(evidence)
    if floor is None:
        worst = before - (float(np.abs(now - before).max()) or float(np.ptp(before)) or 1.0)
    else:
        worst = np.full(len(now), floor)
    places = np.flatnonzero(now[:n] > worst[:n])[::-1]
    is_gain = now[places] > before[places]
    order = np.concatenate([places[~is_gain], places[is_gain]])
    instead = np.repeat(evidence.better(worst)[:, np.newaxis], evidence.candidate.values.shape[1], axis=1)
    return Path(lambda count: _with_rows(evidence, order[:count], instead), len(order))


def fewer_losses(evidence: Evidence, n: int) -> Path:
    """Return the path up, which restores the last lost sample first.

    The path is for 0/100 scores. A restored sample has the share of right answers that it has in the reference, rounded
    up to whole answers.
    """
    now, before = evidence.better(evidence.candidate.means()), _before(evidence)
    runs, higher = evidence.candidate.values.shape[1], evidence.design.higher_is_better
    share = before / 100.0 if higher else 1.0 + before / 100.0
    is_right = np.arange(runs) < np.ceil(share * runs - 1e-9)[:, np.newaxis]
    order = np.flatnonzero(now[:n] < before[:n])[::-1]
    instead = np.where(is_right == higher, 100.0, 0.0)
    return Path(lambda count: _with_rows(evidence, order[:count], instead), len(order))


def first_step(holds: Callable[[int], bool], most: int) -> int | None:
    """Return the number of steps after which a condition holds.

    It is from 1 to `most`, and the condition does not hold at the start. Where the condition comes and goes, it does
    not hold one step before. None where it does not hold after the last.

    >>> first_step(lambda count: count >= 11, 100), first_step(lambda count: count >= 11, 10)
    (11, None)
    """
    low, step = 0, 1
    while low < most:
        high = min(low + step, most)
        if holds(high):
            return low + 1 + bisect_left(range(low + 1, high), True, key=holds)
        low, step = high, 2 * step
    return None


def _falls(evidence: Evidence, sigma: float, n: int) -> Path:
    """Return the path on which all samples fall by the same small step. No sample falls past the worst score."""
    now, floor, step = evidence.better(evidence.candidate.values), _floor(evidence), sigma / n**0.5 / FINE
    most = FURTHEST if floor is None else int(np.ceil((float(now[:n].max()) - floor) / step))

    def at(count: int) -> Evidence:
        fallen = now - count * step
        values = evidence.better(fallen if floor is None else np.maximum(fallen, floor))
        return _with_rows(evidence, np.arange(n), values)

    return Path(at, min(most, FURTHEST))


def _with_rows(evidence: Evidence, rows: Ints, values: Floats) -> Evidence:
    """Put these rows of `values`, of the shape of its scores, into the evidence."""
    scores = evidence.candidate.values.copy()
    scores[rows] = values[rows]
    return replace(evidence, candidate=replace(evidence.candidate, values=scores))


def _least_fall(evidence: Evidence, n: int) -> float:
    """Return the mean of a fall too small to matter. Some tests reject any fall that all samples share."""
    before, now = float(np.mean(_before(evidence)[:n])), evidence.better(_mean(evidence, n))
    return evidence.better(min(before - evidence.design.allowed_drop, now))


def _floor(evidence: Evidence) -> float | None:
    """Return the worst score, higher better."""
    if evidence.data.binary:
        return evidence.better(0.0 if evidence.design.higher_is_better else 100.0)
    return evidence.ends[0]


def _before(evidence: Evidence) -> Floats:
    return evidence.better(evidence.before.means())


def _mean(evidence: Evidence, n: int) -> float:
    return float(np.mean(evidence.candidate.means()[:n]))
