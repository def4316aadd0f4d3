"""Differences between groups, against fairlearn and by hand."""

from typing import Any

import numpy as np
import pytest
from fairlearn.metrics import (
    MetricFrame,
    demographic_parity_difference,
    equalized_odds_difference,
    false_positive_rate,
    true_positive_rate,
)
from sklearn.metrics import precision_score
from syrupy.assertion import SnapshotAssertion

from accgate import metrics
from accgate.metrics.registry import aggregate_builders
from tests.metrics.aggregate_records import columns, labelled
from tests.support.cases import each, refused

SEEDS = range(4)


def arrays(records: list[dict[str, Any]]) -> tuple[list[int], list[int], list[str]]:
    """Targets, answers and groups, as fairlearn takes them."""
    return [int(r["target"]) for r in records], [int(r["answer"]) for r in records], [r["group"] for r in records]


def table(**groups: str) -> list[dict[str, Any]]:
    """Records from words such as "tp fp": each group's answers as outcomes."""
    names = {"tp": ("1", "1"), "fp": ("1", "0"), "fn": ("0", "1"), "tn": ("0", "0")}
    rows = [(group, *names[word]) for group, words in groups.items() for word in words.split()]
    group, answer, target = zip(*rows, strict=True)
    return columns(group=group, answer=answer, target=target)


@each("seed", SEEDS)
def test_the_forms_of_fairlearn_are_fairlearns(seed: int) -> None:
    records = labelled(np.random.default_rng(seed), 120, 2 + seed % 3)
    truth, answers, groups = arrays(records)
    parity = demographic_parity_difference(truth, answers, sensitive_features=groups)
    assert metrics.aggregate("demographic_parity_difference_selection_rate")(records) == pytest.approx(100 * parity)
    odds = equalized_odds_difference(truth, answers, sensitive_features=groups)
    assert metrics.aggregate("equalised_odds_difference_fairlearn")(records) == pytest.approx(100 * odds)


@each("seed", SEEDS)
def test_the_difference_in_precision_is_that_of_scikit_learns_precisions(seed: int) -> None:
    records = labelled(np.random.default_rng(seed), 120, 2 + 2 * (seed % 2))
    truth, answers, groups = arrays(records)
    precision = MetricFrame(metrics=precision_score, y_true=truth, y_pred=answers, sensitive_features=groups).by_group
    largest = metrics.aggregate("demographic_parity_difference_largest")(records)
    assert largest == pytest.approx(100 * (precision.max() - precision.min()))
    pair = metrics.aggregate("demographic_parity_difference", group_0="g0", group_1="g1")
    assert pair(records) == pytest.approx(100 * (precision["g1"] - precision["g0"]))
    turned = metrics.aggregate("demographic_parity_difference", group_0="g1", group_1="g0")
    assert turned(records) == pytest.approx(-pair(records))
    for statistic in (pair, turned):  # the gate decides on the size
        assert statistic.statistic(statistic.encode(records)[0]) == pytest.approx(abs(pair(records) or 0.0))


@each("seed", SEEDS)
def test_equalised_odds_is_the_larger_of_the_two_signed_differences(seed: int) -> None:
    records = labelled(np.random.default_rng(seed), 120, 2)
    truth, answers, groups = arrays(records)
    rates = {"true": true_positive_rate, "false": false_positive_rate}
    by_group = MetricFrame(metrics=rates, y_true=truth, y_pred=answers, sensitive_features=groups).by_group
    signed = by_group.loc["g1"] - by_group.loc["g0"]
    statistic = metrics.aggregate("equalised_odds_difference")
    assert statistic(records) == pytest.approx(100 * signed.max())
    (rows,) = statistic.encode(records)
    assert statistic.statistic(rows) == pytest.approx(100 * signed.abs().max())
    fairlearns = metrics.aggregate("equalised_odds_difference_fairlearn")
    assert fairlearns(records) == pytest.approx(statistic.statistic(rows))


@each(
    ("name", "groups", "points"),
    [
        ("demographic_parity_difference", {"a": "tp", "b": "fn tn"}, None),
        ("demographic_parity_difference_largest", {"a": "tn", "b": "fn"}, None),
        ("demographic_parity_difference_selection_rate", {"a": "tp fp", "b": "tn fn"}, 100.0),
        ("equalised_odds_difference", {"a": "tp tn", "b": "tn"}, None),
        ("equalised_odds_difference", {"a": "tp", "b": "tp tn"}, None),
        ("equalised_odds_difference_fairlearn", {"a": "tp", "b": "tp tn"}, None),
    ],
)
def test_a_rate_of_0_by_0_leaves_no_value(name: str, groups: dict[str, str], points: float | None) -> None:
    assert metrics.aggregate(name)(table(**groups)) == points


def test_other_groups_do_not_count_in_a_difference_of_two() -> None:
    two, three = table(a="tp fp tn", b="tp tp fp"), table(a="tp fp tn", b="tp tp fp", zed="fp fp fn")
    named = metrics.aggregate("demographic_parity_difference", group_0="a", group_1="b")
    assert named(three) == pytest.approx(named(two)) == pytest.approx(200 / 3 - 50)


def test_a_group_that_a_resample_misses_leaves_the_others_to_compare() -> None:
    statistic = metrics.aggregate("demographic_parity_difference_largest")
    (rows,) = statistic.encode(table(a="tp", b="tp fp", c="tp fp fp"))
    assert statistic.statistic(rows) == pytest.approx(200 / 3)
    assert statistic.statistic(rows[:3]) == pytest.approx(50.0)
    assert statistic.statistic(rows[[0, 3, 4, 5]]) == pytest.approx(200 / 3)
    assert np.isnan(statistic.statistic(rows[:1]))


OPEN: list[tuple[dict[str, Any], dict[str, str]]] = [
    ({}, {"a": "tp tn"}), ({}, {"a": "tp tn", "b": "tp", "c": "tp"}), ({}, {"a": "tp", "b": "tp"}),
    *((options, {"a": "tp tn", "b": "tp"}) for options in (
        {"group_1": "b"}, {"group_0": "a", "group_1": "bb"}, {"positive": "yes"})),
]  # fmt: skip


def test_groups_and_labels_that_leave_the_question_open_are_refused(messages: SnapshotAssertion) -> None:
    faults = {}
    for options, groups in OPEN:
        parity = metrics.aggregate("demographic_parity_difference", **options)
        faults[f"{options} {groups}"] = str(refused(metrics.UnusableRecords, parity, table(**groups)))
    assert faults == messages


def test_the_positive_label_is_named_or_the_last_of_two() -> None:
    records = labelled(np.random.default_rng(0), 60, 2, "xyz")
    with pytest.raises(metrics.UnusableRecords, match="with 3 true labels"):
        metrics.aggregate("demographic_parity_difference")(records)
    as_two = [r | {key: "yes" if r[key] == "y" else "no" for key in ("answer", "target")} for r in records]
    by_name, of_two = (metrics.aggregate("demographic_parity_difference", positive=name) for name in ("y", ""))
    assert by_name(records) == of_two(as_two)
    assert metrics.aggregate("demographic_parity_difference", positive="no")(as_two) != of_two(as_two)


@each("name", [n for n in sorted(aggregate_builders()) if "odds" in n or "parity" in n])
def test_label_and_score_stand_in_for_answer_and_target(name: str) -> None:
    """A wrong answer is the other of two labels."""
    records = labelled(np.random.default_rng(5), 90, 2)
    scored = [
        {"id": r["id"], "group": r["group"], "label": r["target"], "score": 100.0 * (r["answer"] == r["target"])}
        for r in records
    ]
    assert metrics.aggregate(name, labels="score")(scored) == metrics.aggregate(name)(records)
    three = [r | {"label": f"{r['label']}{i % 3}"} for i, r in enumerate(scored)]
    with pytest.raises(metrics.UnusableRecords, match="takes two at most"):
        metrics.aggregate(name, labels="score", positive="11")(three)
