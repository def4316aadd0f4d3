"""How right the answers are that the model is surest of: the accuracy-coverage curve."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from accgate.metrics.aggregates.base import Aggregate, AggregateEntry, Rows, Table
from accgate.metrics.aggregates.calibration import NEEDS, confidence_and_score
from accgate.metrics.aggregates.columns import Floats, Side, answers, wide
from accgate.metrics.aggregates.ties import tie_means, tie_starts

MOST_POINTS = 200  # of a curve in the details; a page draws no more


def _columns(sides: Sequence[Side]) -> Table:
    return Table(wide(sides, confidence_and_score(sides)))


def _surest_first(rows: Rows) -> tuple[Floats, Floats]:
    """Confidences from the largest on, and the expected score at each place over every order of the tied."""
    rows = answers(rows, 2)
    order = np.argsort(-rows[:, 0])
    confidence = rows[order, 0]
    return confidence, tie_means(confidence, rows[order, 1])


def _accuracies(scores: Floats) -> Floats:
    """Accuracy of the first k, for k = 1 to n."""
    means: Floats = np.cumsum(scores) / np.arange(1, len(scores) + 1)
    return means


def _area(rows: Rows) -> float:
    return float(_accuracies(_surest_first(rows)[1]).mean())


def _accuracy_at(coverage: float, rows: Rows) -> float:
    scores = _surest_first(rows)[1]
    kept = max(1, math.ceil(coverage * len(scores) - 1e-9))  # 0.07 of 100 answers are 7, whatever its double
    return float(scores[:kept].mean())


def curve(table: Table) -> dict[str, Any]:
    """Points of the curve, one where each block of equal confidences ends, thinned to 200.

    `coverage` is a share, `accuracy` in points, `confidence` (0 to 1) the least one that is answered.
    """
    confidence, scores = _surest_first(table.rows[0])
    accuracy = _accuracies(scores)
    ends = np.append(tie_starts(confidence)[1:], len(confidence)) - 1
    if len(ends) > MOST_POINTS:
        ends = ends[np.linspace(0, len(ends) - 1, MOST_POINTS).round().astype(np.intp)]
    return {
        "curve": [
            {
                "coverage": (int(k) + 1) / len(scores),
                "accuracy": float(accuracy[k]),
                "confidence": round(float(confidence[k]) / 100.0, 12),
            }
            for k in ends
        ]
    }


def _never(_: Table) -> str:
    return "there are no records"


def accuracy_coverage_auc() -> Aggregate:
    """Area under the accuracy-coverage curve: the mean accuracy of the k surest answers over k = 1 to n."""
    return Aggregate("accuracy_coverage_auc", NEEDS, _columns, _area, True, _never, describe=curve)


def selective_accuracy(*, coverage: float = 0.8) -> Aggregate:
    """Accuracy of the surest answers, of which there are `coverage` times n, rounded up."""
    if not 0.0 < coverage <= 1.0:
        raise ValueError("coverage must be above 0 and at most 1")
    return Aggregate(
        "selective_accuracy", NEEDS, _columns, partial(_accuracy_at, coverage), True, _never, describe=curve
    )  # fmt: skip


ENTRIES = (
    AggregateEntry("accuracy_coverage_auc", accuracy_coverage_auc, "area under the accuracy-coverage curve"),
    AggregateEntry("selective_accuracy", selective_accuracy, "accuracy of the surest share of the answers"),
)
