"""Labels predicted against labels true.

The statistics are accuracy, precision, recall, F1 and Matthews' correlation.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Literal

import numpy as np

from accgate.metrics.aggregates.base import Aggregate, Floats, Rows, Side, Tables, answers, wide
from accgate.metrics.aggregates.labels import positive_label, true_labels
from accgate.metrics.forms import one_spelling

Average = Literal["macro", "micro", "weighted", "binary"]
NEEDS = ("answer", "target")


def _table(sides: Sequence[Side], name: str = "", positive: str | None = None) -> Tables:
    """Encode answer and target as numbers of labels, from 1.

    Labels are numbered in sorted order, or the positive label is 1 and all others are 2. An answer that is no label
    is 0.
    """
    truth, labels = true_labels(sides, "answer")
    codes = {label: float(number) for number, label in enumerate(labels, 1)}
    if positive is not None:
        first = positive_label(name, labels, positive)
        codes = {label: 1.0 if label == first else 2.0 for label in labels}
    spelled = one_spelling(codes)
    columns = [
        np.array(
            [(codes.get(spelled(a), 0.0), codes[t]) for a, t in zip(side.texts("answer"), targets, strict=True)],
            dtype=np.float64,
        )
        for side, targets in zip(sides, truth, strict=True)
    ]
    return wide(sides, columns)


def _counts(rows: Rows) -> tuple[Floats, Floats, Floats]:
    """Count right answers, answers and targets by code.

    Code 0 is an answer that is no label.
    """
    answered, true = answers(rows, 2).astype(np.intp).T
    size = max(2, int(max(answered.max(), true.max())) + 1)
    right, predicted = np.bincount(true[answered == true], minlength=size), np.bincount(answered, minlength=size)
    return right.astype(np.float64), predicted.astype(np.float64), np.bincount(true, minlength=size).astype(np.float64)


def _ratio(above: Floats, below: Floats) -> Floats:
    """Return the ratio in points, 0 where a label has 0/0.

    scikit-learn, too, gives 0 for a label without answers or targets.
    """
    return 100.0 * np.divide(above, below, out=np.zeros_like(above), where=below > 0)


Parts = Callable[[Floats, Floats, Floats], tuple[Floats, Floats]]


RATES: Mapping[str, Parts] = {
    "precision": lambda right, predicted, _: (right, predicted),
    "recall": lambda right, _, true: (right, true),
    "f1": lambda right, predicted, true: (2.0 * right, predicted + true),
}


def _average(rate: str, average: Average, rows: Rows) -> float:
    counts, parts = _counts(rows), RATES[rate]
    if average == "binary":
        above, below = parts(*(column[1:2] for column in counts))
        return float(100.0 * above[0] / below[0])
    above, below = parts(*(column[1:] for column in counts))
    if average == "micro":
        return float(100.0 * above.sum() / below.sum())
    true = counts[2][1:]
    there = true > 0
    ratios = _ratio(above, below)[there]
    return float(ratios.mean() if average == "macro" else (ratios * true[there]).sum() / true.sum())


def _accuracy(rows: Rows) -> float:
    answered, true = answers(rows, 2).T
    return float(100.0 * (answered == true).mean())


def _matthews(rows: Rows) -> float:
    """Compute Gorodkin's correlation of any number of labels.

    Answers that are no label count as one more label.
    """
    right, predicted, true = _counts(rows)
    n = true.sum()
    spread = (n**2 - (predicted**2).sum()) * (n**2 - (true**2).sum())
    return float(100.0 * (right.sum() * n - (predicted * true).sum()) / np.sqrt(spread))


def _averaging(rate: str, average: Average, positive: str) -> Aggregate:
    if positive and average != "binary":
        raise ValueError('positive is only for average = "binary"')
    name = f"classification_{rate}"
    table = partial(_table, name=name, positive=positive) if average == "binary" else _table
    return Aggregate(name, NEEDS, table, partial(_average, rate, average), True)


def classification_precision(*, average: Average = "macro", positive: str = "") -> Aggregate:
    """Compute the share of a label's answers that are right."""
    return _averaging("precision", average, positive)


def classification_recall(*, average: Average = "macro", positive: str = "") -> Aggregate:
    """Compute the share of a label's targets that are answered with it."""
    return _averaging("recall", average, positive)


def classification_f1(*, average: Average = "macro", positive: str = "") -> Aggregate:
    """Compute the harmonic mean of a label's precision and recall."""
    return _averaging("f1", average, positive)


def classification_accuracy() -> Aggregate:
    """Compute the share of the answers that are their target."""
    return Aggregate("classification_accuracy", NEEDS, _table, _accuracy, True)


def matthews_correlation() -> Aggregate:
    """Compute the correlation of answers and targets, -100 to 100 points."""
    return Aggregate("matthews_correlation", NEEDS, _table, _matthews, True, lowest=-100.0)
