"""Precision, recall, F1, accuracy and Matthews' correlation of labels, against scikit-learn and by hand."""

from typing import Any

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, f1_score, matthews_corrcoef, precision_score, recall_score

from accgate import metrics
from tests.metrics.aggregate_records import columns, labelled
from tests.support.cases import each

ORACLES = {
    "classification_precision": precision_score,
    "classification_recall": recall_score,
    "classification_f1": f1_score,
}


def with_strays(seed: int, labels: str) -> list[dict[str, Any]]:
    """Records of which some answers are no label, or none was found."""
    records = labelled(np.random.default_rng(seed), 80, 1, labels)
    for i, record in enumerate(records):
        record["answer"] = {0: "gibberish", 1: None}.get(i % 9, record["answer"])
        record["score"] = 100.0 * (record["answer"] == record["target"])
    return records


def sides(records: list[dict[str, Any]]) -> tuple[list[str], list[str]]:
    return [r["target"] for r in records], [r["answer"] or "gibberish" for r in records]


@each("seed", range(4))
@each("average", ["macro", "micro", "weighted"])
@each("name", ORACLES)
def test_averages_over_labels_are_scikit_learns(name: str, average: str, seed: int) -> None:
    records = with_strays(seed, "abcde"[: 2 + seed])
    truth, found = sides(records)
    expected = ORACLES[name](truth, found, labels=sorted(set(truth)), average=average, zero_division=0)
    assert metrics.aggregate(name, average=average)(records) == pytest.approx(100 * expected)


@pytest.mark.parametrize("name", ORACLES)
def test_the_binary_form_is_scikit_learns_of_the_positive_label(name: str) -> None:
    records = with_strays(7, "abc")
    truth, found = sides(records)
    expected = ORACLES[name]([t == "b" for t in truth], [f == "b" for f in found])
    assert metrics.aggregate(name, average="binary", positive="b")(records) == pytest.approx(100 * expected)
    with pytest.raises(metrics.UnusableRecords, match="with 3 true labels"):
        metrics.aggregate(name, average="binary")(records)


@pytest.mark.parametrize("seed", range(4))
def test_accuracy_and_matthews_correlation_are_scikit_learns(seed: int) -> None:
    records = with_strays(seed, "abcde"[: 2 + seed])
    truth, found = sides(records)
    assert metrics.aggregate("classification_accuracy")(records) == pytest.approx(100 * accuracy_score(truth, found))
    assert metrics.aggregate("matthews_correlation")(records) == pytest.approx(100 * matthews_corrcoef(truth, found))


def test_a_label_that_is_never_answered_counts_as_0_in_an_average_over_labels() -> None:
    records = columns(answer=["a", "a", "a"], target=["a", "a", "b"])
    assert metrics.aggregate("classification_precision")(records) == pytest.approx((200 / 3 + 0) / 2)
    assert metrics.aggregate("classification_recall")(records) == pytest.approx(50.0)
    assert metrics.aggregate("classification_f1")(records) == pytest.approx((80 + 0) / 2)


@pytest.mark.parametrize(
    ("name", "options", "answer"),
    [
        ("classification_precision", {"average": "binary"}, ["a", "a"]),
        ("classification_precision", {"average": "micro"}, ["x", "y"]),
        ("matthews_correlation", {}, ["a", "a"]),
    ],
)
def test_a_statistic_of_0_by_0_has_no_value(name: str, options: dict[str, Any], answer: list[str]) -> None:
    assert metrics.aggregate(name, **options)(columns(answer=answer, target=["a", "b"])) is None


def test_answers_that_are_missing_on_a_whole_side_are_refused_and_not_counted_as_wrong() -> None:
    records = columns(answer=[None, None], target=["a", "b"], score=[0.0, 0.0])
    with pytest.raises(metrics.UnusableRecords, match="needs 'answer', which 2 of 2 records lack"):
        metrics.aggregate("classification_f1")(records)


def test_an_answer_is_compared_with_its_label_as_the_metric_compares_them() -> None:
    answers = [" a", "B.", "**c#**", "C", "C#", "-1", "1", "none"]
    targets = ["a ", "b", "C#", "C#", "c", "1", "1", "None"]
    records = columns(answer=answers, target=targets)
    points = [metrics.get("classification")(*pair) for pair in zip(answers, targets, strict=True)]
    assert points == [100, 100, 100, 0, 0, 0, 100, 100]
    assert metrics.aggregate("classification_accuracy")(records) == pytest.approx(sum(points) / len(points))
    binary = columns(answer=["yes.", "No", "maybe"], target=["Yes", "no", "Yes"])
    assert metrics.aggregate("classification_recall", average="binary", positive="YES")(binary) == 50.0


def test_a_label_that_a_resample_has_no_target_of_is_left_out_of_the_average() -> None:
    statistic = metrics.aggregate("classification_recall")
    (rows,) = statistic.encode(columns(answer=["b", "b", "c"], target=["a", "b", "c"]))
    assert statistic.statistic(rows) == pytest.approx(200 / 3)
    assert statistic.statistic(rows[1:]) == 100.0
    assert statistic.statistic(rows[:2]) == 50.0
