"""Does the stated confidence agree with the share of right answers: calibration errors and Brier score."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from accgate.metrics.aggregates.base import Aggregate, AggregateEntry, Rows, Table, json_number
from accgate.metrics.aggregates.columns import Floats, Side, answers, wide
from accgate.metrics.aggregates.ties import tie_means

NEEDS = ("score", "confidence")


def confidence_and_score(sides: Sequence[Side]) -> list[Floats]:
    """For each side both columns in points; a score between 0 and 100 is a share of a right answer."""
    return [
        np.stack([100.0 * side.numbers("confidence", 0.0, 1.0), side.numbers("score", 0.0, 100.0)], axis=1)
        for side in sides
    ]


def edges(bins: int) -> Floats:
    """Upper edges m/M of the bins, each the double nearest to it, so that a confidence of 0.7 is on the edge 7/10."""
    upper: Floats = np.arange(1, bins + 1) / bins
    return upper


def bin_of(confidence: Floats, bins: int) -> Floats:
    """Number of the bin ((m-1)/M, m/M], from 0; a confidence of 0 counts in the first."""
    return np.searchsorted(edges(bins), confidence, side="left").astype(np.float64)


def _binned(bins: int, sides: Sequence[Side]) -> Table:
    columns = [
        np.column_stack([bin_of(side.numbers("confidence", 0.0, 1.0), bins), both])
        for side, both in zip(sides, confidence_and_score(sides), strict=True)
    ]
    return Table(wide(sides, columns))


def _gaps(rows: Rows) -> tuple[Floats, Floats]:
    """Sum of confidence minus score (points) and number of answers, by bin."""
    rows = answers(rows, 3)
    bins = rows[:, 0].astype(np.intp)
    gaps, counts = np.bincount(bins, rows[:, 1] - rows[:, 2]), np.bincount(bins)
    return gaps.astype(np.float64), counts.astype(np.float64)


def _expected(rows: Rows) -> float:
    gaps, counts = _gaps(rows)
    return float(np.abs(gaps).sum() / counts.sum())


def _root_mean_square(rows: Rows) -> float:
    gaps, counts = _gaps(rows)
    used = counts > 0
    return float(np.sqrt((gaps[used] ** 2 / counts[used]).sum() / counts.sum()))


def _maximum(rows: Rows) -> float:
    gaps, counts = _gaps(rows)
    used = counts > 0
    return float((np.abs(gaps[used]) / counts[used]).max())


def reliability(bins: int, table: Table) -> dict[str, Any]:
    """The reliability diagram: of each bin its edges (shares), answers, mean confidence and accuracy (points)."""
    rows = answers(table.rows[0], 3)
    which = rows[:, 0].astype(np.intp)
    counts = np.bincount(which, minlength=bins)
    with np.errstate(invalid="ignore"):
        confidence = np.bincount(which, rows[:, 1], bins) / counts
        accuracy = np.bincount(which, rows[:, 2], bins) / counts
    upper = edges(bins)
    return {
        "bins": [
            {
                "above": float(upper[m - 1]) if m else 0.0,
                "up_to": float(upper[m]),
                "answers": int(counts[m]),
                "confidence": json_number(confidence[m]),
                "accuracy": json_number(accuracy[m]),
            }
            for m in range(bins)
        ]
    }


def _calibration_error(name: str, statistic: Callable[[Rows], float], bins: int) -> Aggregate:
    if bins < 1:
        raise ValueError("bins must be 1 or more")
    return Aggregate(
        name, NEEDS, partial(_binned, bins), statistic, False, _never, describe=partial(reliability, bins)
    )  # fmt: skip


def _never(_: Table) -> str:
    return "there are no records"


def ece(*, bins: int = 15) -> Aggregate:
    """Expected calibration error: mean gap of confidence and accuracy over the bins, weighted by their answers."""
    return _calibration_error("ece", _expected, bins)


def rmsce(*, bins: int = 15) -> Aggregate:
    """Root mean square calibration error."""
    return _calibration_error("rmsce", _root_mean_square, bins)


def mce(*, bins: int = 15) -> Aggregate:
    """Maximum calibration error: the largest gap of a bin that has answers."""
    return _calibration_error("mce", _maximum, bins)


def _paired_columns(sides: Sequence[Side]) -> Table:
    return Table(wide(sides, confidence_and_score(sides)))


def _adaptive(bins: int, rows: Rows) -> float:
    rows = answers(rows, 2)
    order = np.argsort(rows[:, 0])
    confidence = rows[order, 0]
    gaps = confidence - tie_means(confidence, rows[order, 1])
    size, larger = divmod(len(gaps), min(bins, len(gaps)))
    sizes = np.full(min(bins, len(gaps)), size)
    sizes[:larger] += 1
    return float(np.abs(np.add.reduceat(gaps, np.cumsum(sizes) - sizes)).sum() / len(gaps))


def ece_adaptive(*, bins: int = 15) -> Aggregate:
    """Expected calibration error over bins of equal numbers of answers."""
    if bins < 1:
        raise ValueError("bins must be 1 or more")
    return Aggregate("ece_adaptive", NEEDS, _paired_columns, partial(_adaptive, bins), False, _never)


def _squared(rows: Rows) -> float:
    rows = answers(rows, 2)
    return float(((rows[:, 0] - rows[:, 1]) ** 2).mean() / 100.0)


def brier_score() -> Aggregate:
    """Mean squared distance of confidence and right answer, in points: 25 for a constant confidence of 0.5."""
    return Aggregate("brier_score", NEEDS, _paired_columns, _squared, False, _never)


ENTRIES = (
    AggregateEntry("ece", ece, "expected calibration error"),
    AggregateEntry("ece_adaptive", ece_adaptive, "expected calibration error in bins of equal size"),
    AggregateEntry("rmsce", rmsce, "root mean square calibration error"),
    AggregateEntry("mce", mce, "maximum calibration error"),
    AggregateEntry("brier_score", brier_score, "mean squared distance of confidence and right answer"),
)
