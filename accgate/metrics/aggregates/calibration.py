"""Confidence against right answers.

The statistics are calibration errors, the Brier score, and the accuracy of the surest answers.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from accgate.metrics.aggregates.base import Aggregate, Floats, Rows, Side, Tables, answers, wide
from accgate.stats.statistics import Unsigned

NEEDS = ("score", "confidence")


def tie_means(keys: Floats, values: Floats) -> Floats:
    """Replace each value by the mean over its block of equal keys.

    `keys` are sorted.

    >>> tie_means(np.array([1.0, 2.0, 2.0]), np.array([5.0, 0.0, 100.0])).tolist()
    [5.0, 50.0, 50.0]
    """
    starts = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))  # of each block
    if len(starts) == len(keys):
        return values
    sizes = np.diff(np.append(starts, len(keys)))
    return np.repeat(np.add.reduceat(values, starts) / sizes, sizes)


def confidence_and_score(sides: Sequence[Side]) -> list[Floats]:
    """Return both columns of each side in points.

    A score between 0 and 100 counts as a share of a right answer.
    """
    columns = ((100.0 * side.numbers("confidence", 0.0, 1.0), side.numbers("score", 0.0, 100.0)) for side in sides)
    return [np.stack(pair, axis=1) for pair in columns]


def _bins(bins: int, sides: Sequence[Side]) -> Tables:
    """Return confidences and scores behind the number of their bin, from 0.

    Bin m of M holds confidences in ((m-1)/M, m/M]; the first also holds 0.
    """
    edges = np.arange(1, bins + 1) / bins  # each the double nearest to m/M, so that a confidence of 0.7 is on 7/10
    places = (np.searchsorted(edges, side.numbers("confidence", 0.0, 1.0)) for side in sides)
    pairs = zip(places, confidence_and_score(sides), strict=True)
    return wide(sides, [np.column_stack(pair) for pair in pairs])


def _turned(rows: Rows) -> Rows:
    """Exchange confidence and score in the rows (place, confidence, score).

    Each gap between the two changes its sign.
    """
    return rows.reshape(len(rows), -1, 3)[:, :, [0, 2, 1]].reshape(rows.shape)


def _gaps(rows: Rows) -> tuple[Floats, Floats]:
    """Sum confidence minus score (points), and count answers, for each bin that has some."""
    rows = answers(rows, 3)
    bins = rows[:, 0].astype(np.intp)
    gaps, counts = np.bincount(bins, rows[:, 1] - rows[:, 2]), np.bincount(bins)
    return gaps[counts > 0].astype(np.float64), counts[counts > 0].astype(np.float64)


def _expected_error(rows: Rows) -> float:
    gaps, counts = _gaps(rows)
    return float(np.abs(gaps).sum() / counts.sum())


def _root_mean_square(rows: Rows) -> float:
    gaps, counts = _gaps(rows)
    return float(np.sqrt((gaps**2 / counts).sum() / counts.sum()))


def _maximum(rows: Rows) -> float:
    gaps, counts = _gaps(rows)
    return float((np.abs(gaps) / counts).max())


def _calibration_error(
    name: str, statistic: Callable[[Rows], float], bins: int, tabulate: Callable[[Sequence[Side]], Tables] | None = None
) -> Aggregate:
    if bins < 1:
        raise ValueError("bins must be 1 or more")
    return Aggregate(name, NEEDS, tabulate or partial(_bins, bins), Unsigned(statistic, _turned), False)


def ece(*, bins: int = 15) -> Aggregate:
    """Compute the expected calibration error.

    Each bin's gap between confidence and accuracy is weighted by the number of its answers.
    """
    return _calibration_error("ece", _expected_error, bins)


def rmsce(*, bins: int = 15) -> Aggregate:
    """Compute the root mean square calibration error."""
    return _calibration_error("rmsce", _root_mean_square, bins)


def mce(*, bins: int = 15) -> Aggregate:
    """Compute the maximum calibration error.

    This is the largest gap between confidence and accuracy in any bin with answers.
    """
    return _calibration_error("mce", _maximum, bins)


def _paired_columns(sides: Sequence[Side]) -> Tables:
    return wide(sides, confidence_and_score(sides))


def _ordered_columns(sides: Sequence[Side]) -> Tables:
    return wide(sides, [np.column_stack([pair[:, 0], pair]) for pair in confidence_and_score(sides)])


def _adaptive(bins: int, rows: Rows) -> float:
    rows = answers(rows, 3)
    rows = rows[np.argsort(rows[:, 0])]
    gaps = tie_means(rows[:, 0], rows[:, 1] - rows[:, 2])
    size, larger = divmod(len(gaps), min(bins, len(gaps)))
    sizes = np.full(min(bins, len(gaps)), size)
    sizes[:larger] += 1
    return float(np.abs(np.add.reduceat(gaps, np.cumsum(sizes) - sizes)).sum() / len(gaps))


def ece_adaptive(*, bins: int = 15) -> Aggregate:
    """Compute the calibration error over bins of equal numbers of answers."""
    return _calibration_error("ece_adaptive", partial(_adaptive, bins), bins, _ordered_columns)


def _squared_error(rows: Rows) -> float:
    rows = answers(rows, 2)
    return float(((rows[:, 0] - rows[:, 1]) ** 2).mean() / 100.0)


def brier_score() -> Aggregate:
    """Compute the mean squared distance of confidence and right answer.

    The unit is points; a constant confidence of 0.5 gives 25.
    """
    return Aggregate("brier_score", NEEDS, _paired_columns, _squared_error, False)


def _surest_first(rows: Rows) -> Floats:
    """Return the scores from the surest answer on.

    Tied answers each get the mean of their scores, which is the expected score over every order of them.
    """
    rows = answers(rows, 2)
    rows = rows[np.argsort(-rows[:, 0])]
    return tie_means(rows[:, 0], rows[:, 1])


def _area(rows: Rows) -> float:
    scores = _surest_first(rows)
    return float((np.cumsum(scores) / np.arange(1, len(scores) + 1)).mean())


def _accuracy_at(coverage: float, rows: Rows) -> float:
    scores = _surest_first(rows)
    count = max(1, math.ceil(coverage * len(scores) - 1e-9))  # 0.07 of 100 answers are 7, whatever its double
    return float(scores[:count].mean())


def accuracy_coverage_auc() -> Aggregate:
    """Compute the area under the accuracy-coverage curve.

    The area is the mean accuracy of the k surest answers over k = 1 to n.
    """
    return Aggregate("accuracy_coverage_auc", NEEDS, _paired_columns, _area, True)


def selective_accuracy(*, coverage: float = 0.8) -> Aggregate:
    """Compute the accuracy of the surest answers.

    There are `coverage` times n of them, rounded up.
    """
    if not 0.0 < coverage <= 1.0:
        raise ValueError("coverage must be above 0 and at most 1")
    return Aggregate("selective_accuracy", NEEDS, _paired_columns, partial(_accuracy_at, coverage), True)
