"""Gamma: the mean below which a check fails, with the gains as seen and losses more or fewer.

Each sample could have been lost or not. So a path of outcomes leads down from what was seen, by one whole loss more at
a time, and up, by one fewer. Gamma is the mean of the outcome next to the first that the same test decides otherwise,
on the side that does not fail.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from accgate.decision.conclusion import worst_outcomes
from accgate.decision.evidence import Evidence
from accgate.decision.outcome import Outcome, fails
from accgate.records import Floats
from accgate.stats.walk import Ints


@dataclass(frozen=True)
class Losses:
    """Outcomes of the same samples: the first so many of `order` (places of samples) have the scores of `instead`.

    `instead` has the shape of the candidate's scores.
    """

    evidence: Evidence
    order: Ints
    instead: Floats

    def first(self, count: int) -> Evidence:
        """Return the outcome after so many steps."""
        candidate, changed = self.evidence.candidate, self.order[:count]
        values = candidate.values.copy()
        values[changed] = self.instead[changed]
        return replace(self.evidence, candidate=replace(candidate, values=values))


def more_losses(evidence: Evidence, n: int) -> Losses:
    """Return the path down: the last of the first n samples is lost first, and at the end no gain is left.

    A lost sample has the worst score. Where nothing bounds the scores, it fell as far as any sample changed, or as the
    reference's scores lie apart if none did. Samples that gained come last: to lose one is to have one gain less.
    """
    now, before, (floor, _) = evidence.better(evidence.candidate.means()), _before(evidence), evidence.ends
    if evidence.data.binary:
        floor = evidence.better(0.0 if evidence.design.higher_is_better else 100.0)
    if floor is None:
        worst = before - (float(np.abs(now - before).max()) or float(np.ptp(before)) or 1.0)
    else:
        worst = np.full(len(now), floor)
    places = np.flatnonzero(now[:n] > worst[:n])[::-1]
    is_gain = now[places] > before[places]
    order = np.concatenate([places[~is_gain], places[is_gain]])
    return Losses(evidence, order, _columns(evidence, evidence.better(worst)))


def fewer_losses(evidence: Evidence, n: int) -> Losses:
    """Return the path up, of 0/100 scores: the last lost sample is as good as in the reference first.

    Of several answers to it so many are right, or the next larger number.
    """
    now, before = evidence.better(evidence.candidate.means()), _before(evidence)
    runs, higher = evidence.candidate.values.shape[1], evidence.design.higher_is_better
    share = before / 100.0 if higher else 1.0 + before / 100.0
    is_right = np.arange(runs) < np.ceil(share * runs - 1e-9)[:, np.newaxis]
    order = np.flatnonzero(now[:n] < before[:n])[::-1]
    return Losses(evidence, order, np.where(is_right == higher, 100.0, 0.0))


def gamma_of(evidence: Evidence, outcome: Outcome, alpha: float) -> float | None:
    """Return the mean below which a check of paired scores fails, None where no outcome of its samples does.

    The evidence is in the order in which its test looks at it. A run that stopped early fails where the same test fails
    by then.
    """
    evidence, n = replace(evidence, reference=evidence.before), outcome.n
    if outcome.rejects:
        path = fewer_losses(evidence, n)
        steps = first_step(lambda count: not fails(path.first(count), alpha, n), len(path.order))
        return _mean(path.first(len(path.order) if steps is None else steps), n)
    path = more_losses(evidence, n)
    steps = first_step(lambda count: fails(path.first(count), alpha, n), len(path.order))
    if steps is not None:
        return _mean(path.first(steps - 1), n)
    if any(fails(worst, alpha, n) for worst in worst_outcomes(evidence)):
        return _least_fall(evidence, n)
    return None


def is_by_outcomes(evidence: Evidence, outcome: Outcome) -> bool:
    """Whether gamma is found outcome by outcome: of 0/100 scores, and where the test says no threshold of its own.

    A test that saw no spread at all takes any fall of all samples together for a regression, which is no such limit.
    """
    result = outcome.result
    if result is None or not evidence.is_paired or evidence.statistic is not None:
        return False
    return bool(evidence.data.binary) or result.threshold is None or not (result.sigma or outcome.rejects)


def first_step(holds: Callable[[int], bool], most: int) -> int | None:
    """Return the number of steps, from 1 to `most`, after which a condition holds that does not at the start.

    Where it comes and goes, it is one before which it does not. None where it does not hold after the last.

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


def _least_fall(evidence: Evidence, n: int) -> float:
    """The mean from which on all samples fall by almost the same, which a test rejects however little that is."""
    before, now = float(np.mean(_before(evidence)[:n])), evidence.better(_mean(evidence, n))
    return evidence.better(min(before - evidence.design.allowed_drop, now))


def _before(evidence: Evidence) -> Floats:
    return evidence.better(evidence.before.means())


def _mean(evidence: Evidence, n: int) -> float:
    return float(np.mean(evidence.candidate.means()[:n]))


def _columns(evidence: Evidence, means: Floats) -> Floats:
    """Scores of which all answers to a sample have its mean."""
    return np.repeat(means[:, np.newaxis], evidence.candidate.values.shape[1], axis=1)
