"""The verdict that an outcome leads to. It depends on whether the same samples could have led to another."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from accgate.decision.evidence import Evidence
from accgate.decision.outcome import Outcome, possible_failure
from accgate.design import Design
from accgate.errors import VerdictName
from accgate.records.scores import Floats, is_binary
from accgate.stats.result import TestResult
from accgate.verdict import Figure, Reason

UNEVEN = 1e-3  # relative spread of falls that are all but equal, so that a t test has a variance


@dataclass(frozen=True)
class Reach:
    """How much worse a mean can get, in points.

    `width` is the distance from the best score to the worst, `room` that from the reference's mean, and `end` names the
    worst in words. A figure is None where nothing bounds the scores. A drop of theta comes on top of what is `allowed`.
    """

    width: float | None = None
    room: float | None = None
    end: str = ""
    allowed: float = 0.0

    def can_be(self, theta: float | None) -> bool:
        """Whether the scale allows a change for the worse of theta at all."""
        return theta is None or self.width is None or self.allowed + theta <= self.width * (1.0 + 1e-9)

    def has_room(self, theta: float | None) -> bool:
        """Whether the reference can get worse by theta."""
        return theta is None or self.room is None or self.allowed + theta <= self.room * (1.0 + 1e-9)


@dataclass(frozen=True)
class Conclusion:
    """The verdict that an outcome leads to, with its reasons.

    `theta` is the drop that the test sees, points. `can_fail` says whether some outcome of the same samples fails the
    check.
    """

    verdict: VerdictName
    theta: float | None
    reasons: tuple[Reason, ...] = ()
    can_fail: bool = True


def conclude(evidence: Evidence, outcome: Outcome, alpha: float) -> Conclusion:
    """Return the verdict of a check whose test has decided.

    A check passes only if some outcome could have failed it.
    """
    reach, unable = reach_of(evidence), None
    if not outcome.rejects:
        unable = _why_unable(evidence, outcome.n, alpha)
    conclusion = conclusion_of(outcome, evidence.design, reach, unable, alpha)
    conclusion = replace(conclusion, reasons=(*conclusion.reasons, *outcome.notes))
    if not evidence.design.certify or outcome.rejects or unable is not None:
        return conclusion
    return _with_proof(conclusion, outcome, evidence.design, reach, alpha)


def conclusion_of(outcome: Outcome, design: Design, reach: Reach, unable: Reason | None, alpha: float) -> Conclusion:
    """Return the verdict by a test's figures, with its reasons.

    The drop to be seen is the target, or else the one that the test detects. A check whose reference has no room for
    such a drop cannot pass. `unable` says why no outcome could fail the check. At an `alpha` above beta an interval is
    too narrow to rule out a drop with the certainty that beta promises.
    """
    result, n, target = outcome.result, outcome.n, design.theta
    assert result is not None
    theta = result.theta
    seen = theta if reach.can_be(theta) else None
    if outcome.rejects:
        return Conclusion("regression", seen)
    if unable is not None:
        return Conclusion("inconclusive", None, (unable,), can_fail=False)
    if not reach.has_room(target) or (target is None and not _is_in_room(result, theta, reach)):
        return Conclusion("inconclusive", seen, (_no_room(theta, design, n, reach),))
    if target is None or (theta is not None and theta <= target * (1.0 + 1e-9)):
        return Conclusion("pass", seen)
    ability: dict[str, Figure] = {
        "n": n, "drop": design.drop, "theta": seen, "power": 1 - design.beta, "asked": target,
    }  # fmt: skip
    if alpha <= design.beta and _rules_out(result, target):
        assert result.interval is not None
        least = result.interval.two_sided[0]
        limit = least if design.higher_is_better else 0.0 - least
        return Conclusion("pass", seen, (Reason("rules-out", {**ability, "limit": limit}),))
    return Conclusion("inconclusive", seen, (Reason("too-coarse", ability),))


def _with_proof(conclusion: Conclusion, outcome: Outcome, design: Design, reach: Reach, alpha: float) -> Conclusion:
    """Return the conclusion where a pass must be a proof.

    The proof excludes a drop of allowed_drop + theta. A proof passes the check even where the test could not see theta.
    At an alpha above beta it does not, for the proof is then the weaker of the two.
    """
    assert outcome.result is not None
    interval = outcome.result.interval
    if not reach.has_room(design.theta):
        return conclusion
    limit = design.allowed_drop + (design.theta or 0.0)
    low = -(math.inf if reach.width is None else reach.width) if interval is None else interval.two_sided[0]
    proof: dict[str, Figure] = {"possible": -low, "limit": limit}
    if low <= -limit:
        reasons = (*conclusion.reasons, Reason("not-certified", proof))
        return replace(conclusion, verdict="inconclusive", reasons=reasons)
    if conclusion.verdict == "pass" or alpha > design.beta:
        return conclusion
    return Conclusion("pass", conclusion.theta, (*outcome.notes, Reason("certified", proof)))


def _rules_out(result: TestResult, drop: float) -> bool:
    """Tell whether the interval of a candidate that scored better excludes such a drop.

    Gains make the test see only larger drops, but make a drop no more likely.
    """
    return result.difference > 0.0 and result.interval is not None and result.interval.excludes_drop(drop)


def _is_in_room(result: TestResult, theta: float | None, reach: Reach) -> bool:
    """Tell whether the reference has room for the drop that the test detects.

    It has as well where the interval rules out that the mean fell through all of its room.
    """
    is_seen = reach.has_room(theta) and (theta is not None or reach.width is None)
    return is_seen or (reach.room is not None and _rules_out(result, reach.room))


def _no_room(theta: float | None, design: Design, n: int, reach: Reach) -> Reason:
    """Say why the reference cannot show the drop, and what to do."""
    assert reach.room is not None
    if design.theta is None and (theta is None or not reach.can_be(theta)):
        return Reason.of("low-power", drop=design.drop, n=n, power=1 - design.beta)
    size = reach.allowed + ((theta if design.theta is None else design.theta) or 0.0)
    return Reason.of("no-room", room=max(reach.room, 0.0), end=reach.end, drop=design.drop, size=size)


def reach_of(evidence: Evidence) -> Reach:
    """Return the reach of a check.

    It ends at chance level, for a model that only guesses cannot get worse.

    >>> from accgate.design import Design, Mean
    >>> from accgate.records.scores import Scores
    >>> scores = Scores(("a", "b"), np.array([[0.0], [100.0]]))
    >>> reach_of(Evidence(scores, Mean(27.0, 100), Design(), chance=25.0))
    Reach(width=100.0, room=2.0, end='chance level (25)', allowed=0.0)
    """
    higher, allowed = evidence.design.higher_is_better, evidence.design.allowed_drop
    floor, ceiling = evidence.ends
    width = None if floor is None or ceiling is None else ceiling - floor
    if floor is None:
        return Reach(width, allowed=allowed)
    end = f"the {'lowest' if higher else 'highest'} score there is ({evidence.better(floor):g})"
    if evidence.statistic is None and higher and evidence.chance is not None and evidence.chance > floor:
        floor, end = evidence.chance, f"chance level ({evidence.chance:g})"
    return Reach(width, evidence.reference_value - floor, end, allowed=allowed)


def _why_unable(evidence: Evidence, n: int, alpha: float) -> Reason | None:
    """Return why no outcome of the same samples is a regression at this alpha.

    It is None where some outcome is. A run that its worst outcome leaves undecided would have gone on, and can fail.
    """
    clusters = None if evidence.clusters is None else evidence.first(n).cluster_count
    count, unit = (n, "sample") if clusters is None else (clusters, "cluster")
    if evidence.statistic is not None:
        least = 0.5**count  # of all the ways to swap the two sides of each sample, or cluster, one is the clearest
        if least <= alpha:
            return None
    else:
        least = 1.0
        for worst in worst_outcomes(evidence):
            fails, p_value = possible_failure(worst, alpha)
            if fails:
                return None
            least = min(least, p_value)
    return Reason.of("no-outcome", drop=evidence.design.drop, count=count, unit=unit, p_value=least, alpha=alpha)


def worst_outcomes(evidence: Evidence) -> Iterator[Evidence]:
    """Yield the outcomes of the same samples that a test rejects first.

    A test that rejects none of them rejects no outcome. One has the worst possible score everywhere. Where scores are
    not 0 or 100 the other lets all samples fall by almost the same, which is the clearest outcome for a t test.
    """
    n, (floor, _) = evidence.candidate.n, evidence.ends
    if floor is not None:
        yield _with_scores(evidence, np.full(n, floor))
    now = evidence.candidate.means()
    before = evidence.better(evidence.before.means()) if evidence.is_paired else np.full(n, evidence.reference_value)
    scores = now if not evidence.is_paired else np.concatenate([evidence.before.means(), now])
    if floor is not None and is_binary(scores):
        return
    room = np.full(n, math.inf) if floor is None else before - floor
    can_fall = room > 0.0
    if can_fall.any():
        fall = min(float(room[can_fall].min()), 1e3 * (1.0 + float(np.ptp(scores)) + (evidence.design.theta or 0.0)))
        falls = np.where(can_fall, fall * (1.0 - UNEVEN * np.arange(n) / n), 0.0)
        yield _with_scores(evidence, before - falls)


def _with_scores(evidence: Evidence, means: Floats) -> Evidence:
    """Set every repeat of a sample to this score, higher better."""
    candidate = evidence.candidate
    values = np.repeat(evidence.better(means)[:, None], candidate.values.shape[1], axis=1)
    return replace(evidence, candidate=replace(candidate, values=values))
