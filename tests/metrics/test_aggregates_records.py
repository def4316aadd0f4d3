"""How statistics over samples are named, and which records they refuse."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from accgate import metrics
from accgate.metrics.metric import options_of
from accgate.metrics.registry import aggregate_builders
from tests.metrics.aggregate_records import columns, confident, labelled
from tests.support.cases import each, refused

DOCS = Path(__file__).parents[2] / "docs" / "metrics.md"
OPTIONS: dict[str, dict[str, Any]] = {"attack_success_rate_curated": {"ids": "s0"}}
GOOD = columns(
    confidence=[0.2, 0.9, 0.9, 0.5, 0.6],
    score=[100.0, 0.0, 100.0, 100.0, 0.0],
    group=["a", "b", "b", "a", "b"],
    answer=["1", "0", "1", "0", "1"],
    target=["1", "1", "1", "0", "0"],
    attacked=[100.0, 0.0, 0.0, 0.0, 0.0],
)
FINER_BY_REPEATS = {"accuracy_coverage_auc", "selective_accuracy"}  # a curve of more answers has smaller steps


def test_a_name_nearly_right_is_hinted_at() -> None:
    with pytest.raises(metrics.UnknownMetric, match="no aggregate 'brier'; did you mean 'brier_score'"):
        metrics.aggregate("brier")
    assert metrics.aggregate("equalized_odds_difference").name == "equalised_odds_difference"  # fairlearn's spelling


REFUSED: list[tuple[str, dict[str, Any]]] = [
    ("ece", {"bins": 0}), ("ece_adaptive", {"bins": 0}), ("brier_score", {"bins": 3}), ("majority_vote", {"k": -1}),
    ("pass_at_k", {"k": 0}), *(("selective_accuracy", {"coverage": share}) for share in (0.0, 1.1)),
    ("classification_f1", {"positive": "1"}), ("attack_success_rate", {"attack": -1}),
    ("performance_drop_rate", {"attack": -1}), ("attack_success_rate_curated", {}),
    ("attack_success_rate_curated", {"ids": "a", "column": "group", "holds": "x"}),
    ("attack_success_rate_curated", {"column": "group"}),
]  # fmt: skip


def test_an_option_that_is_not_the_statistics_is_refused(messages: SnapshotAssertion) -> None:
    errors = {f"{n} {options}": refused(metrics.BadOption, metrics.aggregate, n, **options) for n, options in REFUSED}
    assert {case: str(error) for case, error in errors.items()} == messages


@each("name", sorted(aggregate_builders()))
def test_every_statistic_stands_in_the_documentation_with_its_direction_options_and_defaults(name: str) -> None:
    rows = [row for row in DOCS.read_text().splitlines() if row.startswith("| `") and f"`{name}`" in row]
    assert len(rows) == 1, f"docs/metrics.md has {len(rows)} rows of a table for {name}"
    better = rows[0].split("|")[3].strip()
    direction = metrics.aggregate(name, **OPTIONS.get(name, {})).higher_is_better
    assert direction == {"higher": True, "lower": False, "nearer to 0": False}[better]
    for option, parameter in options_of(aggregate_builders()[name]).items():
        written = json.dumps(parameter.default) if parameter.default else "0"
        shown = option if parameter.default == "" else f"{option} = {written.removesuffix('.0')}"
        assert option in rows[0]
        assert shown in rows[0] or option in {"right", "attack"}  # given once, in the row of the plain rate


@each("name", sorted(aggregate_builders()))
def test_records_that_are_none_failed_or_lack_a_key_are_refused_by_number_and_name(name: str) -> None:
    statistic = metrics.aggregate(name, **OPTIONS.get(name, {}))
    assert isinstance(statistic(GOOD), float)
    assert statistic([]) is None
    with pytest.raises(metrics.UnusableRecords, match="there are no records"):
        statistic.encode([])
    with pytest.raises(metrics.UnusableRecords, match=r"1 of 5 records failed .* sample 's0'"):
        statistic([GOOD[0] | {"score": None}, *GOOD[1:]])
    for key in statistic.needs:
        lacking = [{k: v for k, v in record.items() if k != key or record["id"] == "s1"} for record in GOOD]
        with pytest.raises(metrics.UnusableRecords, match=rf"{name} needs '{key}', which \d of \d records lack.*; \w"):
            statistic(lacking)


@each("name", sorted(aggregate_builders()))
def test_a_statistic_of_rows_does_not_depend_on_their_order(name: str) -> None:
    rng = np.random.default_rng(3)
    mixed = [
        a | b | {"attacked": 100.0 * float(rng.random() < 0.5)}
        for a, b in zip(labelled(rng, 60, 2), confident(rng, 60, grid=5), strict=True)
    ]
    statistic = metrics.aggregate(name, **OPTIONS.get(name, {}))
    (rows,) = statistic.encode(mixed)
    assert statistic.statistic(rows[rng.permutation(60)]) == pytest.approx(statistic.statistic(rows), abs=1e-9)


def test_objects_are_read_as_mappings_are() -> None:
    assert metrics.aggregate("ece")(SimpleNamespace(**record) for record in GOOD) == metrics.aggregate("ece")(GOOD)


def test_records_without_any_id_are_samples_by_position_but_a_lacking_id_is_refused() -> None:
    bare = [{k: v for k, v in record.items() if k != "id"} for record in GOOD]
    assert metrics.aggregate("ece")(bare) == metrics.aggregate("ece")(GOOD)
    with pytest.raises(metrics.UnusableRecords, match="1 of 5 records lack 'id'"):
        metrics.aggregate("ece")([bare[0], *GOOD[1:]])


def test_rows_of_both_sides_are_of_the_same_samples_in_the_first_sides_order() -> None:
    before, after = metrics.aggregate("brier_score").encode(GOOD, GOOD[::-1])
    np.testing.assert_array_equal(before, after)
    np.testing.assert_allclose(before[:3], [[20.0, 100.0], [90.0, 0.0], [90.0, 100.0]])


def test_labels_and_groups_have_the_same_codes_on_all_sides() -> None:
    labels = metrics.aggregate("classification_f1")
    before = columns(answer=["c", "c", "b"], target=["c", "b", "a"])
    after = columns(answer=["a", "a", "a"], target=["c", "b", "a"])
    rows = labels.encode(before, after)
    np.testing.assert_array_equal(rows[0], [[3, 3], [3, 2], [2, 1]])
    np.testing.assert_array_equal(rows[1], [[1, 3], [1, 2], [1, 1]])


def repeated(records: list[dict[str, Any]], times: int) -> list[dict[str, Any]]:
    return [record | {"repeat": r} for record in records for r in range(times)]


@each("name", sorted(aggregate_builders()))
def test_repeats_of_the_same_answers_change_nothing_and_stay_one_row_a_sample(name: str) -> None:
    statistic = metrics.aggregate(name, **OPTIONS.get(name, {}))
    if name not in FINER_BY_REPEATS:
        assert statistic(repeated(GOOD, 3)) == pytest.approx(statistic(GOOD))
    before, after = statistic.encode(repeated(GOOD, 3), GOOD)
    assert before.shape == after.shape
    assert len(before) == 5
    assert statistic.statistic(after) == pytest.approx(statistic.statistic(statistic.encode(GOOD)[0]))


def test_repeats_are_pooled_answer_by_answer_and_not_averaged_first() -> None:
    """Confidences 0.1 and 0.9 of one sample are not one of 0.5."""
    records = [
        {"id": "a", "repeat": 0, "confidence": 0.1, "score": 0.0},
        {"id": "a", "repeat": 1, "confidence": 0.9, "score": 100.0},
    ]
    assert metrics.aggregate("ece", bins=10)(records) == pytest.approx(10.0)
    assert metrics.aggregate("brier_score")(records) == pytest.approx(1.0)


ODD = [
    *([[GOOD[0] | {"confidence": wrong}]] for wrong in (1.2, -0.1, float("nan"), "0.5", True)),
    [[*GOOD, GOOD[0]]], [GOOD, GOOD[:2]], [GOOD[:2], GOOD], [[*repeated(GOOD[:1], 2), *GOOD[1:]]],
]  # fmt: skip


def test_records_that_do_not_fit_together_are_refused(messages: SnapshotAssertion) -> None:
    errors = [refused(metrics.UnusableRecords, metrics.aggregate("ece").encode, *sides) for sides in ODD]
    parity = metrics.aggregate("demographic_parity_difference")
    changed = [[GOOD[0] | {key: "0"}, *GOOD[1:]] for key in ("group", "target")]
    errors += [refused(metrics.UnusableRecords, parity.encode, GOOD, side) for side in changed]
    assert list(map(str, errors)) == messages
