"""The points of a check as text. Figures have the digits that keep them apart wherever they are printed."""

from accgate.text import asked_figure, change_figure, digits_of_means, drop_figure, figure
from accgate.verdict.figures import Figures


def digits_of(verdict: Figures) -> int:
    """Count the digits with which a check's figures read right.

    These are its means, their change and gamma.

    >>> from accgate.verdict import CandidateSummary, ReferenceSummary, Verdict
    >>> sides = ReferenceSummary(75.0, 400), CandidateSummary(74.98, 400)
    >>> digits_of(Verdict("m", "t", "pass", "paired", 400, *sides, 0.05, 0.2))
    2
    """
    return digits_of_means(verdict.reference.mean, verdict.candidate.mean, verdict.gamma)


def points_text(verdict: Figures, value: float | None, *, sign: bool = False) -> str:
    """Write a figure of a check, in points."""
    return figure(value, digits_of(verdict), sign=sign)


def change_text(verdict: Figures) -> str:
    """Write how much the mean changed, with its sign. The change is the difference of both means as printed."""
    return change_figure(verdict.reference.mean, verdict.candidate.mean, digits_of(verdict))


def corrected_text(verdict: Figures) -> str:
    """Write the difference with the early stop taken into account.

    The text is empty where that is the means' own difference.
    """
    is_other = verdict.difference_raw is not None and verdict.difference != verdict.difference_raw
    return points_text(verdict, verdict.difference, sign=True) if is_other else ""


def size_text(verdict: Figures) -> str:
    """Write how much the mean changed, without a sign."""
    return change_text(verdict).lstrip("+−")


def range_text(verdict: Figures, ends: tuple[float, float] | None) -> str:
    """Write the ends of an interval of a difference, empty without one."""
    return "" if ends is None else " to ".join(points_text(verdict, end, sign=True) for end in ends)


def interval_text(verdict: Figures) -> str:
    """Write the two-sided interval of the difference, empty where there is none."""
    return range_text(verdict, verdict.ends)


def theta_text(verdict: Figures) -> str:
    """Write the smallest drop that a check sees, with the allowed one, rounded up.

    >>> from accgate.verdict import CandidateSummary, ReferenceSummary, Verdict
    >>> sides = ReferenceSummary(75.0, 400), CandidateSummary(74.0, 400)
    >>> theta_text(Verdict("m", "t", "pass", "paired", 400, *sides, 0.05, 0.2, theta=7.51))
    '7.6'
    """
    return drop_figure(verdict.sees, verdict.wanted_drop)


def asked_text(verdict: Figures) -> str:
    """Write the drop that a check was asked to see.

    It includes the allowed drop, in up to four digits as written.

    >>> from accgate.verdict import CandidateSummary, ReferenceSummary, Verdict
    >>> sides = ReferenceSummary(75.0, 400), CandidateSummary(74.0, 400)
    >>> asked_text(Verdict("m", "t", "pass", "paired", 400, *sides, 0.05, 0.2, theta_target=2.25))
    '2.25'
    """
    return asked_figure(verdict.wanted_drop)


def samples_of(verdict: Figures) -> str:
    """Say how many samples a check used.

    The text also says of how many, where its test could stop early.

    >>> from accgate.verdict import CandidateSummary, ReferenceSummary, Verdict
    >>> sides = ReferenceSummary(75.0, 97), CandidateSummary(74.0, 97)
    >>> samples_of(Verdict("m", "t", "pass", "gsprt", 97, *sides, 0.05, 0.2, n_max=1319))
    '97 of 1,319'
    """
    return f"{verdict.n:,}{'' if verdict.n_max is None else f' of {verdict.n_max:,}'}"
