"""Files and mappings of scores: what is read, and what is refused with its place."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from accgate.errors import BadInput
from accgate.records.pairing import pair_scores
from accgate.records.scores import from_python, in_points, read_scores
from tests.records.score_files import LINE, one_each, refusal, written
from tests.support.cases import each


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


@each(
    ("lines", "message"),
    [
        ('["b", 100]', "is not a JSON object; write one object a line"),
        ('{"score": 100}', "id is None; every sample needs an id"),
        ('{"id": "", "score": 100}', "id is ''"),
        ('{"id": true, "score": 100}', "id is True"),
        ('{"id": 1e30, "score": 1}', "id is 1e+30"),
        ('{"id": "b"}', "has no score; write points, or null"),
        ('{"id": "b", "score": NaN}', "score is nan; write a finite number of points"),
        ('{"id": "b", "score": 1' + "0" * 400 + "}", "score is 1000"),
        ('{"id": "b", "score": true}', "score is True"),
        ('{"id": "b", "score": [100]}', "score is [100]"),
        ('{"id": "b", "score": 1, "repeat": -1}', "repeat is -1; write a whole number, 0 or more"),
        ('{"id": "b", "score": 1, "repeat": true}', "repeat is True"),
        ('{"id": "b", "score": 1, "repeat": 0.5}', "repeat is 0.5"),
        ('{"id": "b", "score": 1, "cluster": true}', "cluster is True; write text or a whole number, or null"),
        ('{"id": "b", "score": 1, "cluster": 1.0}', "cluster is 1.0"),
        ('{"id": "a", "score": 0}', "id 'a' (repeat 0) is already on line 1; each sample must come once"),
    ],
)
def test_a_json_line_that_cannot_be_used_is_refused_with_its_number(tmp_path: Path, lines: str, message: str) -> None:
    path = written(tmp_path, "a.jsonl", LINE + "\n" + lines + '\n{"id": "c", "score": 1}\n')
    assert f"{path}:3: {message}" in refusal(path)


@each(
    ("text", "message"),
    [
        ("id,cost\na,100\n", " no column is known as the score: there are id, cost; choose one with --score"),
        ("x,score\na,100\n", " no column is known as the id; choose one with --id: there are x, score"),
        ("id,score\na,100\nb\n", "3: has 1 cells under a header of 2; is the file cut off?"),
        ("id,score\na,100\n,100\n", "3: id is ''"),
        ("id,score\na,100\nb,nan\n", "3: score is 'nan'"),
        ("id,score\na,100\nb, \n", "3: score is ' '"),
        ("id,score,repeat\na,100,0\nb,100,-1\n", "3: repeat is '-1'"),
        ("id,score,repeat\na,100,3\na,0, 3\n", "3: id 'a' (repeat 3) is already on line 2"),
        ("id,score,repeat\na,100,\u00b2\n", "2: repeat is"),  # which only looks like a digit
        (f"id,score,repeat\na,100,{'1' * 5000}\n", "2: repeat is"),
        ('id,score\na,100\n"b"x,100\n', "3: is not CSV"),
    ],
)
def test_a_csv_row_that_cannot_be_used_is_refused_with_its_number(tmp_path: Path, text: str, message: str) -> None:
    path = written(tmp_path, "a.csv", text)
    assert f"{path}:{message}" in refusal(path)


def test_samples_without_a_score_are_named_and_counted(tmp_path: Path) -> None:
    path = written(tmp_path, "a.jsonl", LINE + '{"id": "b", "score": null}\n{"id": "c", "score": ""}\n')
    assert f"{path}: no score for 2 of 3 samples: b, c; evaluate them again" in refusal(path)


@each(("name", "text"), [("a.jsonl", "\n \n"), ("a.csv", "id,score\n")])
def test_a_file_without_samples_is_refused(tmp_path: Path, name: str, text: str) -> None:
    path = written(tmp_path, name, text)
    assert refusal(path) == f"candidate {path}: holds no samples; a gate needs every expected sample"


def test_samples_with_fewer_repeats_than_others_are_named(tmp_path: Path) -> None:
    rows = [f'{{"id": "{i}", "repeat": {r}, "score": 1}}\n' for i, r in ("a0", "a1", "b1", "c0", "c1")]
    path = written(tmp_path, "a.jsonl", "".join(rows))
    assert f"candidate {path}: fewer than 2 repeats of 1 of 3 samples: b; every sample" in refusal(path)


def test_a_missing_file_and_a_folder_are_refused_by_name(tmp_path: Path) -> None:
    missing = tmp_path / "none.jsonl"
    assert refusal(missing) == f"{missing}: cannot be read: No such file or directory; give a JSONL or CSV file"
    assert refusal(tmp_path) == f"{tmp_path}: cannot be read: Is a directory; give a JSONL or CSV file"


@each(
    ("data", "ids"),
    [({"a": np.float32(100.0), 7: 12.5}, ("a", "7")), ((100, 12.5), ("0", "1")), (np.array([100, 12.5]), ("0", "1"))],
)
def test_a_mapping_keeps_its_ids_as_text_and_an_array_is_numbered(data, ids: tuple[str, ...]) -> None:
    scores = from_python(data, "candidate")
    assert (scores.ids, scores.values.tolist()) == (ids, [[100.0], [12.5]])


@each(
    ("data", "message"),
    [
        ({}, "holds no samples"),
        ({1: 100.0, "1": 0.0}, "two ids are the same text; each sample must come once"),
        (["right", "wrong"], "scores must be numbers (could not convert"),
        ([[1.0], [2.0]], "scores must have one dimension, not 2; give one score a sample"),
        ({"a": 1.0, "b": math.nan, "c": math.inf}, "no finite score for 2 of 3 samples: b, c"),
        ([5.0, None, 6.0], "no finite score for 1 of 3 samples: 1"),
    ],
)
def test_python_scores_that_cannot_be_used_are_refused_with_their_side(data, message: str) -> None:
    with pytest.raises(BadInput) as caught:
        from_python(data, "reference")
    assert str(caught.value).startswith(f"reference: {message}")


@each(("scale", "points"), [(100.0, [50.0, 100.0]), (1.0, [0.5, 1.0])])
def test_a_given_scale_multiplies_both_sides(scale: float, points: list[float]) -> None:
    for side in in_points(one_each([0.5, 1.0]), one_each([0.5, 1.0]), scale):
        assert side.means().tolist() == points


@each("largest", [1e-9, 0.999])
def test_scores_that_may_be_fractions_are_refused_until_a_scale_is_given(largest: float) -> None:
    for sides in ((one_each([0.0]), one_each([largest])), (one_each([largest]), one_each([-3.0]))):
        with pytest.raises(BadInput, match=r"fractions or points\? Give scale=100 \(--scale 100\).*scale=1 \("):
            in_points(*sides, None)


@each("values", [[0.0, 0.0], [0.5, 1.0000001]])
def test_scores_that_cannot_be_fractions_are_points(values: list[float]) -> None:
    reference, candidate = in_points(one_each([0.0]), one_each(values), None)
    assert (reference.means().tolist(), candidate.means().tolist()) == ([0.0], values)


@each("scale", [0.0, math.nan, math.inf])
def test_a_scale_that_is_not_a_positive_number_is_refused(scale: float) -> None:
    with pytest.raises(BadInput, match=r"scale is .*; give a number above 0"):
        in_points(one_each([50.0]), one_each([50.0]), scale)


@each(
    ("candidate", "message"),
    [
        ("abcd", "the candidate has 3 of the reference's 3 samples; 1 not in the reference: d. Evaluate"),
        ("bcd", "the candidate has 2 of the reference's 3 samples; 1 missing from the candidate: a; 1 not in"),
        ("aba", "the candidate has 2 of the reference's 3 samples; 1 missing from the candidate: c. Evaluate"),
    ],
)
def test_sides_with_different_samples_are_refused_with_counts(candidate: str, message: str) -> None:
    with pytest.raises(BadInput) as caught:
        pair_scores(one_each([1.0, 2.0, 3.0], "abc"), one_each([0.0] * len(candidate), candidate))
    assert f"reference and candidate hold different samples: {message}" in str(caught.value)


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_scores_beyond_any_metric_are_refused_with_counts(side: int, sign: float) -> None:
    both = [one_each([50.0, 60.0]), one_each([50.0, sign * 1e12])]
    unbounded = (-math.inf, math.inf)
    assert in_points(*both[:: 1 - 2 * side], 1.0, bounds=unbounded)[1 - side].values[1, 0] == sign * 1e12
    with pytest.raises(BadInput, match=r"a score beyond 1e\+12 points for 1 sample: 1"):
        in_points(*both[:: 1 - 2 * side], 1.001, bounds=unbounded)


@each(("before", "now", "bounds"), [
    ([0.0, 100.0], [0.0, 100.0], None), ([-3.0, 250.0], [-2.0, 140.0], None), ([-5.0, -1.0], [-7.0, -2.0], None),
    ([120.0, 180.0], [110.0, 130.0], None), ([5.0, 7.0], [5.0, 140.0], (0.0, math.inf)),
    ([0.0, 100.0], [0.0, 10_000.0], (0.0, 10_000.0)), ([1.0, 5.0], [3.0, 4.0], (1.0, 5.0)),
    ([0.0, 50.0], [-5e-7, 100.0 + 5e-7], (0.0, 100.0)),  # by rounding
])  # fmt: skip
def test_scores_within_their_bounds_or_both_without_any_are_taken(before: Any, now: Any, bounds: Any) -> None:
    sides = in_points(one_each(before), one_each(now), None, bounds=bounds)
    assert [side.means().tolist() for side in sides] == [before, now]


@each(("before", "now", "bounds", "message"), [
    ([0.0, 100.0], [0.0, 10_000.0], None, "B.csv: a score outside 0 to 100 for 1 of 2 samples: b (a score of 10000); "
     "correct that, or give the bounds of all scores: bounds=(low, high) (--bounds LOW HIGH)"),
    ([0.0, -1.0], [0.0, 100.0], None, "A.csv: a score outside 0 to 100 for 1 of 2 samples: b (a score of -1); "),
    ([0.0, 10_000.0], [0.0, 10_000.0], None, "A.csv: a score outside 0 to 100 for 1 of 2 samples: b "),
    ([100.0, 100.0], [-4.0, -5.0], None, "B.csv: a score outside 0 to 100 for 2 of 2 samples: a, b (the first of -4)"),
    ([1.0, 5.0], [3.0, 6.0], (1.0, 5.0), "B.csv: a score outside 1 to 5 for 1 of 2 samples: b (a score of 6); "),
    ([120.0, 180.0], [110.0, 130.0], (0.0, 150.0), "A.csv: a score outside 0 to 150 for 1 of 2 samples: b "),
    ([0.0, 100.0], [0.0, 100.0], (100.0, 0.0), "bounds are 100 and 0; give the lowest and the highest score, in this"),
    ([0.0, 100.0], [0.0, 100.0], (math.nan, 0.0), "bounds are nan and 0; give the lowest"),
])  # fmt: skip
def test_scores_outside_their_bounds_are_refused_with_side_id_value_and_fix(
    before: Any, now: Any, bounds: Any, message: str
) -> None:
    sides = one_each(before, "ab"), one_each(now, "ab")
    with pytest.raises(BadInput) as caught:
        in_points(*sides, None, bounds=bounds, names=("A.csv", "B.csv"))
    assert str(caught.value).startswith(message)


def test_fractions_with_one_score_in_points_among_them_are_refused() -> None:
    with pytest.raises(BadInput, match=r"candidate: a score outside 0 to 100 for 1 of 3 samples: 2 "):
        in_points(one_each([0.0, 1.0, 1.0]), one_each([0.0, 1.0, 100.0]), 100.0)


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
