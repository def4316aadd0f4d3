"""What a check could have shown: the room that its reference has to get worse, and its samples' worst outcomes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from accgate.decision.evidence import Evidence
from accgate.design import Design, choose_test, oriented
from accgate.records import Floats, Scores, is_binary, pair_scores
from accgate.text import drop_word
from accgate.verdict import Reason

UNEVEN = 1e-3  # relative spread of falls that are all but equal, so that a t test has a variance


@dataclass(frozen=True)
class Reach:
    """How much worse a mean can get, points: `width` from the best score on, `room` from the reference's mean on.

    `end` says in words where the room ends. A figure is None where nothing bounds the scores. `unable` says why no
    outcome could fail the check, None where one could. A drop of theta is one on top of what is `allowed`. `loss` is
    the most that one sample can lose, where the test goes by a standard deviation that the samples show.
    """

    width: float | None = None
    room: float | None = None
    end: str = ""
    unable: Reason | None = None
    allowed: float = 0.0
    loss: float | None = None

    def unseen(self, n: int, chance: float) -> float:
        """The drop, points, of which n samples show nothing with this probability where it is made of whole losses.

        Small changes of every sample say nothing of those, and would else make a standard deviation that detects all.

        >>> round(Reach(loss=100.0).unseen(80, 0.2), 2), Reach().unseen(80, 0.2)
        (1.99, 0.0)
        """
        return 0.0 if self.loss is None else -self.loss * math.expm1(math.log(chance) / n)

    def can_be(self, theta: float | None) -> bool:
        """Whether the scale allows a change for the worse of theta at all."""
        return theta is None or self.width is None or self.allowed + theta <= self.width * (1.0 + 1e-9)

    def has_room(self, theta: float | None) -> bool:
        """Whether the reference can get worse by theta."""
        return theta is None or self.room is None or self.allowed + theta <= self.room * (1.0 + 1e-9)


NO_BOUNDS = Reach()


def reach_of(evidence: Evidence) -> Reach:
    """The reach of a check; a mean that guessing gives has no room, since what cannot do a task cannot get worse at it.

    >>> from accgate.design import Design, Mean
    >>> import numpy as np
    >>> scores = Scores(("a", "b"), np.array([[0.0], [100.0]]))
    >>> reach_of(Evidence(scores, Mean(27.0, 100), Design(), chance=25.0))
    Reach(width=100.0, room=2.0, end='chance level (25)', unable=None, allowed=0.0, loss=100.0)
    """
    higher, statistic = evidence.design.higher_is_better, evidence.statistic
    low, high = ends_of(evidence) if statistic is None else (statistic.lowest, statistic.highest)
    width = None if low is None or high is None else high - low
    worst = low if higher else high
    allowed = evidence.design.allowed_drop
    loss = None if _knows_spread(evidence) else width
    if worst is None:
        return Reach(width, allowed=allowed, loss=loss)
    end = f"the {'lowest' if higher else 'highest'} score there is ({worst:g})"
    if statistic is None and higher and evidence.chance is not None and evidence.chance > worst:
        worst, end = evidence.chance, f"chance level ({evidence.chance:g})"
    room = oriented(_reference_value(evidence), higher) - oriented(worst, higher)
    return Reach(width, room, end, allowed=allowed, loss=loss)


def _knows_spread(evidence: Evidence) -> bool:
    """Whether no test takes the spread of a drop from the samples: it is exact, or sigma is declared."""
    reference, candidate, design = evidence.reference, evidence.candidate, evidence.design
    if evidence.statistic is not None:
        return False
    if isinstance(reference, Scores) and choose_test(design.test, reference) != "two-sample":
        return reference.is_binary and candidate.is_binary
    return design.sigma is not None


def _reference_value(evidence: Evidence) -> float:
    """What the reference gives: its statistic, or its mean."""
    reference, statistic = evidence.reference, evidence.statistic
    if statistic is not None:
        return float(statistic.function(statistic.reference))
    return float(np.mean(reference.means())) if isinstance(reference, Scores) else reference.mean


def ends_of(evidence: Evidence) -> tuple[float | None, float | None]:
    """The lowest and the highest score that a sample can have, points; None where there is no bound."""
    ends = (evidence.worst, evidence.best)
    low, high = ends if evidence.design.higher_is_better else ends[::-1]
    return (low, high) if low is None or high is None or low <= high else (high, low)


def room_of(evidence: Evidence, scores: Floats) -> Floats:
    """How much worse each of these scores can get, points; infinite where nothing bounds them."""
    low, high = ends_of(evidence)
    higher = evidence.design.higher_is_better
    worst = low if higher else high
    return np.full(len(scores), math.inf) if worst is None else oriented(scores, higher) - oriented(worst, higher)


def worst_outcomes(evidence: Evidence) -> Iterator[Evidence]:
    """Outcomes of the same samples of which a test rejects one, if it could reject any.

    All scores at the worst there is; and, where scores are not 0 or 100, falls of all samples by almost the same, which
    a t test takes for the clearest.
    """
    candidate, reference, higher = evidence.candidate, evidence.reference, evidence.design.higher_is_better
    low, high = ends_of(evidence)
    worst = low if higher else high
    if worst is not None:
        yield _with_scores(evidence, np.full(candidate.n, worst))
    is_paired = isinstance(reference, Scores) and choose_test(evidence.design.test, reference) != "two-sample"
    if is_paired:
        assert isinstance(reference, Scores)
        before = oriented(pair_scores(reference, candidate).means(), higher)
    else:
        before = np.full(candidate.n, oriented(_reference_value(evidence), higher))
    scores = candidate.means() if not is_paired else np.concatenate([before, candidate.means()])
    if worst is not None and is_binary(scores):
        return
    room = room_of(evidence, oriented(before, higher))
    can_fall = room > 0.0
    if can_fall.any():
        fall = min(float(room[can_fall].min()), 1e3 * (1.0 + float(np.ptp(scores)) + (evidence.design.theta or 0.0)))
        falls = np.where(can_fall, fall * (1.0 - UNEVEN * np.arange(candidate.n) / candidate.n), 0.0)
        yield _with_scores(evidence, oriented(before - falls, higher))


def _with_scores(evidence: Evidence, means: Floats) -> Evidence:
    """The evidence with every repeat of a sample at this score."""
    candidate = evidence.candidate
    values = np.repeat(means[:, None], candidate.values.shape[1], axis=1)
    return replace(evidence, candidate=replace(candidate, values=values))


def too_few(design: Design, n: int, clusters: int | None, alpha: float) -> Reason | None:
    """Why a statistic of so few samples cannot be worse beyond chance; None where it can.

    Of all the ways to swap the two sides of each sample, or cluster, one is the clearest.
    """
    least = 0.5 ** (n if clusters is None else clusters)
    return None if least <= alpha else no_outcome_fails(design, n, clusters, least, alpha)


def no_outcome_fails(design: Design, n: int, clusters: int | None, p_value: float, alpha: float) -> Reason:
    """That nothing could have failed the check, where the worst outcome has this p-value."""
    drop = drop_word(design.higher_is_better)
    count, unit = (n, "sample") if clusters is None else (clusters, "cluster")
    return Reason.of("no-outcome", drop=drop, count=count, unit=unit, p_value=p_value, alpha=alpha)
