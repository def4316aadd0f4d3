"""Differences between groups of samples.

Groups are compared by precision, selection rate and error rates.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from accgate.metrics.aggregates.base import Aggregate, Floats, Rows, Side, Tables, answers, wide
from accgate.metrics.aggregates.labels import Labels, group_names, predicted_and_true, two_groups


def _table(name: str, labels: Labels, positive: str, groups: tuple[str, str] | None, sides: Sequence[Side]) -> Tables:
    """Encode group, truth and prediction of each answer.

    The code is 4 * group + 2 * truly positive + predicted positive. With two named groups, all other groups are one
    more.
    """
    outcomes = predicted_and_true(name, sides, labels, positive)
    names = group_names(name, sides)
    legend = names if groups is None else two_groups(name, names, *groups)
    code = {group: float(i) for i, group in enumerate(legend)}
    columns = []
    for side, (predicted, true) in zip(sides, outcomes, strict=True):
        group = np.array([code.get(text, 2.0) for text in side.texts("group")])
        columns.append((4.0 * group + 2.0 * true + predicted)[:, None])
    return wide(sides, columns)


def _counts(rows: Rows) -> Floats:
    """Count each group's true and false negatives and positives.

    The shape is (groups, 4), in the order true negatives, false positives, false negatives, true positives. There are
    at least two groups.
    """
    codes = answers(rows, 1)[:, 0].astype(np.intp)
    groups = max(2, int(codes.max()) // 4 + 1)
    counts: Floats = np.bincount(codes, minlength=4 * groups).reshape(groups, 4).astype(np.float64)
    return counts


# Of each rate which columns of the counts are its part and its whole.
RATES: Mapping[str, tuple[list[int], list[int]]] = {
    "precision": ([3], [3, 1]),
    "selection_rate": ([3, 1], [0, 1, 2, 3]),
    "true_positive_rate": ([3], [3, 2]),
    "false_positive_rate": ([1], [1, 0]),
}
ODDS = ("true_positive_rate", "false_positive_rate")


def _rate(name: str, counts: Floats) -> Floats:
    """Return a rate of each group in points, NaN for 0/0."""
    part, whole = RATES[name]
    with np.errstate(all="ignore"):
        rate: Floats = 100.0 * counts[:, part].sum(axis=1) / counts[:, whole].sum(axis=1)
    return rate


def _of_two(size: Callable[[Floats], Floats], rates: Sequence[str], rows: Rows) -> float:
    """Return the largest difference in rates, group 1 minus group 0.

    `size` takes the differences' absolute values, or keeps their signs.
    """
    counts = _counts(rows)
    differences = np.array([second - first for first, second, *_ in (_rate(name, counts) for name in rates)])
    return float(size(differences).max())


def _largest(rates: Sequence[str], rows: Rows) -> float:
    """Return the largest difference between any two groups.

    A group that has samples but no rate, as 0/0, makes it NaN.
    """
    counts = _counts(rows)
    counts = counts[counts.sum(axis=1) > 0]
    if len(counts) < 2:
        return float("nan")
    return float(np.max([np.ptp(_rate(name, counts)) for name in rates]))


def _difference(
    name: str, labels: Labels, positive: str, rates: tuple[str, ...], groups: tuple[str, str] | None
) -> Aggregate:
    """Build the signed difference of two groups, or the largest of all groups.

    It is the largest where `groups` is None.
    """
    needs = ("group", "answer", "target") if labels == "answer" else ("group", "label", "score")
    table = partial(_table, name, labels, positive, groups)
    if groups is None:
        return Aggregate(name, needs, table, partial(_largest, rates), False)
    signed = partial(_of_two, np.positive, rates)
    return Aggregate(name, needs, table, partial(_of_two, np.abs, rates), False, signed)


def demographic_parity_difference(
    *, labels: Labels = "answer", positive: str = "", group_0: str = "", group_1: str = ""
) -> Aggregate:
    """Compute the precision of group 1 minus that of group 0."""
    return _difference("demographic_parity_difference", labels, positive, ("precision",), (group_0, group_1))


def demographic_parity_difference_largest(*, labels: Labels = "answer", positive: str = "") -> Aggregate:
    """Compute the largest difference in precision between any two groups."""
    return _difference("demographic_parity_difference_largest", labels, positive, ("precision",), None)


def demographic_parity_difference_selection_rate(*, labels: Labels = "answer", positive: str = "") -> Aggregate:
    """Compute the largest difference in selection rate between any two groups.

    It is as fairlearn defines it.
    """
    return _difference("demographic_parity_difference_selection_rate", labels, positive, ("selection_rate",), None)


def equalised_odds_difference(
    *, labels: Labels = "answer", positive: str = "", group_0: str = "", group_1: str = ""
) -> Aggregate:
    """Compute the larger of two signed differences, group 1 minus group 0.

    One is the difference in true positive rates, the other in false positive rates.
    """
    return _difference("equalised_odds_difference", labels, positive, ODDS, (group_0, group_1))


def equalised_odds_difference_fairlearn(*, labels: Labels = "answer", positive: str = "") -> Aggregate:
    """Compute the larger of two largest differences between any two groups.

    One is the difference in true positive rates, the other in false positive rates.
    """
    return _difference("equalised_odds_difference_fairlearn", labels, positive, ODDS, None)
