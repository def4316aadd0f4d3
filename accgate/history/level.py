"""A check's figures on the level of the whole reference, where runs that took different samples can be compared."""

from __future__ import annotations

from dataclasses import dataclass

from accgate.history.run import Point


@dataclass(frozen=True)
class Levels:
    """Reference, mean and gamma of a check in one run, in points; a figure that does not exist is None."""

    reference: float | None
    mean: float | None
    gamma: float | None


def levels(point: Point) -> Levels:
    """A check's figures, moved to where the reference has its mean on all its samples.

    A test that stops early takes the first samples, more in one run than in another, and the means of both sides depend
    on which those are; only their difference does not. The distances between the three figures stay as they are. Where
    the whole reference's mean is not known, they stand as the run had them.

    Examples
    --------
    >>> from accgate.history.run import Against
    >>> from accgate.verdict import CandidateSummary
    >>> known = Against(mean=31.0, n=93, whole_mean=76.0)
    >>> levels(Point("m", "t", "pass", "gsprt", 93, known, CandidateSummary(29.0, 93), gamma=25.0))
    Levels(reference=76.0, mean=74.0, gamma=70.0)
    """
    reference, mean, gamma = point.reference, point.candidate.mean, point.gamma
    if reference.whole_mean is None or reference.mean is None:
        return Levels(reference.mean, mean, gamma)
    shift = reference.whole_mean - reference.mean
    return Levels(
        reference.whole_mean, None if mean is None else mean + shift, None if gamma is None else gamma + shift
    )
