"""Files and mappings of scores: what is read, and what is refused with its place."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from accgate.records.pairing import pair_scores
from accgate.records.scores import from_python, in_points, read_scores
from tests.records.score_files import LINE, one_each, refusal, written
from tests.support.cases import each
from tests.support.cases import refusal as refusal_of


@each(
    ("name", "text"),
    [
        ("a.jsonl", '{"id": "a", "score": "100"}\r\n   \r\n{"id": "7", "score": "12.5"}'),
        ("a.txt", '{"score": 100, "id": "a", "reply": "x", "error": null}\n{"id": 7, "repeat": 0, "score": 12.5}\n'),
        ("a.CSV", "\ufeffscore,cluster,id\r\n100,x,a\r\n\r\n12.5,y,7\r\n"),
        ("a.csv", ",id,score\n0,a,100\n1,7,12.5\n"),  # with the unnamed index of pandas
        ("a.csv", "id,repeat,score\na,3,100\n7,3,12.5\n"),
    ],
)
def test_every_form_of_the_same_two_scores_reads_the_same(tmp_path: Path, name: str, text: str) -> None:
    scores = read_scores(written(tmp_path, name, text), "candidate")
    assert scores.ids == ("a", "7")
    assert scores.values.tolist() == [[100.0], [12.5]]


def test_repeats_become_columns_and_average_to_one_score_a_sample(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", "id,repeat,score\nb,1,0\na,0,100\nb, 0,50\na,1,0\n")
    scores = read_scores(path, "candidate")
    assert (scores.ids, scores.n, scores.failed) == (("b", "a"), 2, 0)
    assert scores.values.tolist() == [[0.0, 50.0], [100.0, 0.0]]
    assert scores.means().tolist() == [25.0, 50.0]
    failed = replace(scores, values=np.array([[100.0, np.nan], [50.0, 70.0]]))
    assert (failed.n, failed.failed, failed.fill(20.0).failed) == (2, 1, 0)
    assert failed.fill(20.0).means().tolist() == [60.0, 60.0]


BAD_LINES = (
    '["b", 100]', '{"score": 100}', '{"id": "b"}', '{"id": "a", "score": 0}',
    *(f'{{"id": {bad}, "score": 100}}' for bad in ('""', "true", "1e30")),
    *(f'{{"id": "b", "score": {bad}}}' for bad in ("NaN", "1" + "0" * 400, "true", "[100]")),
    *(f'{{"id": "b", "score": 1, "repeat": {bad}}}' for bad in ("-1", "true", "0.5")),
    *(f'{{"id": "b", "score": 1, "cluster": {bad}}}' for bad in ("true", "1.0")),
)  # fmt: skip


def test_a_json_line_that_cannot_be_used_is_refused_with_its_number(
    tmp_path: Path, messages: SnapshotAssertion
) -> None:
    last = '{"id": "c", "score": 1}'
    faults = {line: refusal(written(tmp_path, "a.jsonl", f"{LINE}\n{line}\n{last}\n")) for line in BAD_LINES}
    assert all("a.jsonl:3: " in fault for fault in faults.values())
    assert faults == messages


BAD_TABLES = (
    "id,cost\na,100\n", "x,score\na,100\n", *(f"id,score\na,100\n{bad}\n" for bad in ("b", ",100", "b,nan", "b, ")),
    "id,score,repeat\na,100,0\nb,100,-1\n", "id,score,repeat\na,100,3\na,0, 3\n",
    "id,score,repeat\na,100,\u00b2\n",  # which only looks like a digit
    f"id,score,repeat\na,100,{'1' * 5000}\n", 'id,score\na,100\n"b"x,100\n', "id,score\n",
)  # fmt: skip


def test_a_csv_row_that_cannot_be_used_is_refused_with_its_number(tmp_path: Path, messages: SnapshotAssertion) -> None:
    assert {text: refusal(written(tmp_path, "a.csv", text)) for text in BAD_TABLES} == messages


def test_what_a_file_lacks_is_named_and_counted(tmp_path: Path, messages: SnapshotAssertion) -> None:
    unscored = LINE + '{"id": "b", "score": null}\n{"id": "c", "score": ""}\n'
    uneven = "".join(f'{{"id": "{i}", "repeat": {r}, "score": 1}}\n' for i, r in ("a0", "a1", "b1", "c0", "c1"))
    faults = [refusal(written(tmp_path, "a.jsonl", text)) for text in (unscored, uneven, "\n \n")]
    assert [*faults, refusal(tmp_path / "none.jsonl"), refusal(tmp_path)] == messages


@each(
    ("data", "ids"),
    [({"a": np.float32(100.0), 7: 12.5}, ("a", "7")), ((100, 12.5), ("0", "1")), (np.array([100, 12.5]), ("0", "1"))],
)
def test_a_mapping_keeps_its_ids_as_text_and_an_array_is_numbered(data, ids: tuple[str, ...]) -> None:
    scores = from_python(data, "candidate")
    assert (scores.ids, scores.values.tolist()) == (ids, [[100.0], [12.5]])


BAD_DATA = (
    {}, {1: 100.0, "1": 0.0}, ["right", "wrong"], [[1.0], [2.0]], {"a": 1.0, "b": math.nan, "c": math.inf},
    [5.0, None, 6.0],
)  # fmt: skip


def test_python_scores_that_cannot_be_used_are_refused_with_their_side(messages: SnapshotAssertion) -> None:
    assert {str(data): refusal_of(from_python, data, "reference") for data in BAD_DATA} == messages


@each(("scale", "points"), [(100.0, [50.0, 100.0]), (1.0, [0.5, 1.0])])
def test_a_given_scale_multiplies_both_sides(scale: float, points: list[float]) -> None:
    for side in in_points(one_each([0.5, 1.0]), one_each([0.5, 1.0]), scale):
        assert side.means().tolist() == points


@each("largest", [1e-9, 0.999])
def test_scores_that_may_be_fractions_are_refused_until_a_scale_is_given(largest: float) -> None:
    for sides in ((one_each([0.0]), one_each([largest])), (one_each([largest]), one_each([-3.0]))):
        assert "Give scale=100 (--scale 100)" in refusal_of(in_points, *sides, None)


@each("values", [[0.0, 0.0], [0.5, 1.0000001]])
def test_scores_that_cannot_be_fractions_are_points(values: list[float]) -> None:
    reference, candidate = in_points(one_each([0.0]), one_each(values), None)
    assert (reference.means().tolist(), candidate.means().tolist()) == ([0.0], values)


@each("scale", [0.0, math.nan, math.inf])
def test_a_scale_that_is_not_a_positive_number_is_refused(scale: float) -> None:
    assert "give a number above 0" in refusal_of(in_points, one_each([50.0]), one_each([50.0]), scale)


def test_sides_with_different_samples_are_refused_with_counts(messages: SnapshotAssertion) -> None:
    sides = {ids: one_each([0.0] * len(ids), ids) for ids in ("abcd", "bcd", "aba")}
    assert {ids: refusal_of(pair_scores, one_each([1.0] * 3, "abc"), side) for ids, side in sides.items()} == messages


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_scores_beyond_any_metric_are_refused_with_counts(side: int, sign: float) -> None:
    both = [one_each([50.0, 60.0]), one_each([50.0, sign * 1e12])]
    unbounded = (-math.inf, math.inf)
    assert in_points(*both[:: 1 - 2 * side], 1.0, bounds=unbounded)[1 - side].values[1, 0] == sign * 1e12
    fault = refusal_of(in_points, *both[:: 1 - 2 * side], 1.001, bounds=unbounded)
    assert "beyond 1e+12 points for 1 sample: 1" in fault


@each(("before", "now", "bounds"), [
    ([0.0, 100.0], [0.0, 100.0], None), ([-3.0, 250.0], [-2.0, 140.0], None), ([-5.0, -1.0], [-7.0, -2.0], None),
    ([120.0, 180.0], [110.0, 130.0], None), ([5.0, 7.0], [5.0, 140.0], (0.0, math.inf)),
    ([0.0, 100.0], [0.0, 10_000.0], (0.0, 10_000.0)), ([1.0, 5.0], [3.0, 4.0], (1.0, 5.0)),
    ([0.0, 50.0], [-5e-7, 100.0 + 5e-7], (0.0, 100.0)),  # by rounding
])  # fmt: skip
def test_scores_within_their_bounds_or_both_without_any_are_taken(before: Any, now: Any, bounds: Any) -> None:
    sides = in_points(one_each(before), one_each(now), None, bounds=bounds)
    assert [side.means().tolist() for side in sides] == [before, now]


BEYOND: tuple[tuple[list[float], list[float], tuple[float, float] | None], ...] = (
    ([0.0, 100.0], [0.0, 10_000.0], None), ([0.0, -1.0], [0.0, 100.0], None), ([0.0, 10_000.0], [0.0, 10_000.0], None),
    ([100.0, 100.0], [-4.0, -5.0], None), ([1.0, 5.0], [3.0, 6.0], (1.0, 5.0)),
    ([120.0, 180.0], [110.0, 130.0], (0.0, 150.0)), ([0.0, 100.0], [0.0, 100.0], (100.0, 0.0)),
    ([0.0, 100.0], [0.0, 100.0], (math.nan, 0.0)),
)  # fmt: skip


def test_scores_outside_their_bounds_are_refused_with_side_id_value_and_fix(messages: SnapshotAssertion) -> None:
    names = ("A.csv", "B.csv")
    assert [
        refusal_of(in_points, one_each(before, "ab"), one_each(now, "ab"), None, bounds=bounds, names=names)
        for before, now, bounds in BEYOND
    ] == messages
    fractions = one_each([0.0, 1.0, 1.0]), one_each([0.0, 1.0, 100.0])
    assert "candidate: a score outside 0 to 100" in refusal_of(in_points, *fractions, 100.0)


@each("whole", [2**63, 2**64, 10**40])
def test_ids_clusters_and_repeats_beyond_64_bits_keep_every_digit(tmp_path: Path, whole: int) -> None:
    row = f'{{"id": {whole}, "cluster": {whole}, "repeat": {abs(whole)}, "score": 1}}\n'
    scores = read_scores(written(tmp_path, "a.jsonl", row + row.replace(str(whole), str(whole - 1), 1)), "candidate")
    assert scores.ids == (str(whole), str(whole - 1))
    assert scores.clusters == (str(whole), str(whole))


def test_duplicates_are_found_among_mixed_repeats_with_both_lines(tmp_path: Path) -> None:
    rows = [("a", 1), ("a", 0), ("b", 1), ("a", 2), ("b", 0), ("a", 1)]
    text = "\n".join(f'{{"id": "{i}", "repeat": {r}, "score": 1}}\n' for i, r in rows)
    path = written(tmp_path, "a.jsonl", text)
    assert f"{path}:11: id 'a' (repeat 1) is already on line 1;" in refusal(path)
    path = written(tmp_path, "b.jsonl", '{"id": "7", "score": 1}\n{"score": 0, "repeat": 0, "id": 7}\n')
    assert f"{path}:2: id '7' (repeat 0) is already on line 1;" in refusal(path)
