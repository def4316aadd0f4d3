"""Calibration and selection, against scikit-learn, torchmetrics, closed forms and enumeration."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss

from accgate import metrics
from tests.metrics.aggregate_records import columns, confident
from tests.support.cases import each

answered = st.lists(st.tuples(st.integers(0, 20), st.booleans()), min_size=1, max_size=40)


def records_of(pairs: list[tuple[int, bool]]) -> list[dict[str, object]]:
    return columns(confidence=[c / 20 for c, _ in pairs], score=[100.0 * right for _, right in pairs])


@settings(deadline=None, max_examples=40)
@given(answered, st.sampled_from([1, 2, 3, 4, 5, 8, 10, 15, 16, 20]))
def test_bins_are_those_of_scikit_learns_curve_with_confidences_on_the_edges(pairs, bins: int) -> None:
    right, stated = [r for _, r in pairs], [c / 20 for c, _ in pairs]
    (rows,) = metrics.aggregate("ece", bins=bins).encode(records_of(pairs))
    used = [rows[rows[:, 0] == place] for place in np.unique(rows[:, 0])]
    _, means_of_confidence, means_of_score = np.array([own.mean(axis=0) for own in used]).T
    same_edges = np.array_equal(np.linspace(0.0, 1.0, bins + 1)[1:], np.arange(1, bins + 1) / bins)
    if same_edges and len(set(right)) == 2:  # it takes neither one class nor our edges where linspace rounds others
        accuracy, confidence = calibration_curve(right, stated, n_bins=bins)
        assert means_of_score == pytest.approx(100.0 * accuracy)
        assert means_of_confidence == pytest.approx(100.0 * confidence)
    gaps, sizes = means_of_score - means_of_confidence, np.array([*map(len, used)])
    expected = {
        "ece": (np.abs(gaps) * sizes).sum() / sizes.sum(),
        "rmsce": np.sqrt((gaps**2 * sizes).sum() / sizes.sum()),
        "mce": np.abs(gaps).max(),
    }
    for name, value in expected.items():
        assert metrics.aggregate(name, bins=bins)(records_of(pairs)) == pytest.approx(value)


@pytest.mark.parametrize(("name", "points"), [("ece", 29.00), ("rmsce", 29.18), ("mce", 31.67)])
def test_calibration_errors_are_those_of_torchmetrics_documentation(name: str, points: float) -> None:
    records = columns(confidence=[0.25, 0.25, 0.55, 0.75, 0.75], score=[0.0, 0.0, 100.0, 100.0, 100.0])
    assert metrics.aggregate(name, bins=2)(records) == pytest.approx(points, abs=0.005)


@each(
    ("confidence", "bins", "place"),
    [(0.0, 10, 0), (0.1, 10, 0), (0.1000001, 10, 1), (0.7, 10, 6), (0.07, 100, 6), (0.29, 100, 28), (1.0, 10, 9)],
)
def test_a_confidence_on_an_edge_belongs_to_the_bin_below_and_0_to_the_first(confidence: float, bins, place) -> None:
    (rows,) = metrics.aggregate("ece", bins=bins).encode(columns(confidence=[confidence], score=[0.0]))
    assert rows[0, 0] == place


def test_a_score_between_0_and_100_is_a_share_of_a_right_answer() -> None:
    assert metrics.aggregate("ece")(columns(confidence=[0.7], score=[70.0])) == pytest.approx(0.0)
    with pytest.raises(metrics.UnusableRecords, match="score of sample 's0' is 101; it must be from 0 to 100"):
        metrics.aggregate("ece")(columns(confidence=[0.7], score=[101]))


def test_bins_of_equal_size_by_hand_with_ties_shared_between_them() -> None:
    records = columns(confidence=[0.9, 0.1, 0.5, 0.5, 0.5], score=[100.0, 0.0, 100.0, 0.0, 0.0])
    # sorted: 0.1 | 0.5 0.5 0.5 | 0.9; the tied are right by 1/3 each; bins of 3 and 2
    third = 100.0 / 3.0
    by_hand = (abs(10 + 2 * (50 - third)) + abs(50 - third + 90 - 100)) / 5
    assert metrics.aggregate("ece_adaptive", bins=2)(records) == pytest.approx(by_hand)
    assert metrics.aggregate("ece_adaptive", bins=50)(records) == pytest.approx((10 + 3 * (50 - third) + 10) / 5)


def test_the_brier_score_is_scikit_learns() -> None:
    records = confident(np.random.default_rng(4), 300)
    loss = brier_score_loss([r["score"] > 0 for r in records], [r["confidence"] for r in records])
    assert metrics.aggregate("brier_score")(records) == pytest.approx(100.0 * loss)


# Selection.


def test_the_area_is_the_mean_accuracy_of_the_k_surest() -> None:
    """As uncertainty-calibration's get_selective_stats has it, which HELM takes."""
    records = confident(np.random.default_rng(6), 200)
    ranked = sorted(records, key=lambda r: -r["confidence"])
    accuracies = [np.mean([r["score"] for r in ranked[:k]]) for k in range(1, 201)]
    assert metrics.aggregate("accuracy_coverage_auc")(records) == pytest.approx(np.mean(accuracies))
    assert metrics.aggregate("selective_accuracy", coverage=0.1)(records) == pytest.approx(accuracies[19])
    assert metrics.aggregate("selective_accuracy", coverage=0.101)(records) == pytest.approx(accuracies[20])
    assert metrics.aggregate("selective_accuracy", coverage=1.0)(records) == pytest.approx(accuracies[-1])


@settings(deadline=None, max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 2), st.booleans()), min_size=1, max_size=6))
def test_tied_confidences_count_by_the_mean_over_all_their_orders(pairs: list[tuple[int, bool]]) -> None:
    n = len(pairs)
    areas, tops = [], []
    for order in itertools.permutations(range(n)):
        ranked = sorted(order, key=lambda i: -pairs[i][0])  # stable: the tied stay in this order
        accuracies = np.cumsum([100.0 * pairs[i][1] for i in ranked]) / np.arange(1, n + 1)
        areas.append(accuracies.mean())
        tops.append(accuracies[(n + 1) // 2 - 1])
    assert metrics.aggregate("accuracy_coverage_auc")(records_of(pairs)) == pytest.approx(np.mean(areas))
    assert metrics.aggregate("selective_accuracy", coverage=0.5)(records_of(pairs)) == pytest.approx(np.mean(tops))


def test_a_share_of_answers_is_counted_exactly() -> None:
    """7% of 100 are 7, though 0.07 * 100 is a little more as a double."""
    records = columns(confidence=[1 - i / 100 for i in range(100)], score=[100.0] * 7 + [0.0] * 93)
    assert metrics.aggregate("selective_accuracy", coverage=0.07)(records) == 100.0
