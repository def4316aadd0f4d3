"""Clusters of scores, and pairing by id: what goes with what, and what is refused."""

import math
from collections import deque
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accgate.errors import BadInput
from accgate.records.membership import clusters_of
from accgate.records.pairing import pair_scores
from accgate.records.scores import Scores, collect, from_python, read_scores
from tests.records.score_files import LINE, one_each, refusal, written
from tests.support.cases import each


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.jsonl", "".join(f'{{"id": "{i}", "score": 1, "cluster": {c}}}\n' for i, c in
            [("a", '"7"'), ("b", '"x"'), ("c", "7"), ("d", '"x"')])),
        ("a.csv", "cluster,id,score\n7,a,1\nx,b,1\n7,c,1\nx,d,1\n"),
        ("a.csv", "cluster,id,score,repeat\n7,a,1,1\nx,b,1,1\n7,c,1,1\n7,a,1,0\nx,d,1,0\nx,d,1,1\n7,c,1,0\nx,b,1,0\n"),
    ],
)  # fmt: skip
def test_clusters_are_read_beside_their_ids(tmp_path: Path, name: str, text: str) -> None:
    scores = read_scores(written(tmp_path, name, text), "candidate")
    assert (scores.ids, scores.clusters) == (("a", "b", "c", "d"), ("7", "x", "7", "x"))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.jsonl", LINE + '{"id": "b", "score": 1, "cluster": null}\n{"id": "c", "score": 1, "cluster": ""}\n'),
        ("a.csv", "id,score\na,1\nb,1\nc,1\n"),
        ("a.csv", "id,score,cluster\na,1,\nb,1,\nc,1,\n"),
        ("a.jsonl", "".join(f'{{"id": "{i}", "repeat": {r}, "score": 1, "cluster": {c}}}\n' for i in "abc"
            for r, c in enumerate(("null", '""')))),
    ],
)  # fmt: skip
def test_samples_without_any_cluster_are_independent(tmp_path: Path, name: str, text: str) -> None:
    scores = read_scores(written(tmp_path, name, text), "candidate")
    assert (scores.ids, scores.clusters) == (("a", "b", "c"), None)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.jsonl", LINE + '{"id": "b", "score": 1, "cluster": ""}\n{"id": "c", "score": 1, "cluster": "x"}\n'),
        ("a.csv", "id,score,cluster\na,1,\nb,1,\nc,1,x\n"),
        ("a.csv", "id,score,repeat,cluster\na,1,0,\nb,1,0,\nc,1,0,x\na,1,1,\nb,1,1,\nc,1,1,x\n"),
    ],
)
def test_clusters_that_only_some_samples_have_are_refused(tmp_path: Path, name: str, text: str) -> None:
    path = written(tmp_path, name, text)
    fault = f"candidate {path}: no cluster for 2 of 3 samples: a, b; give every sample its cluster, or none"
    assert refusal(path) == fault


@pytest.mark.parametrize("other", ["y", ""])
def test_repeats_of_one_sample_in_different_clusters_are_refused(tmp_path: Path, other: str) -> None:
    path = written(tmp_path, "a.csv", f"id,score,repeat,cluster\na,1,0,x\nb,1,0,x\nb,1,1,{other}\na,1,1,x\n")
    assert f"candidate {path}: the cluster differs between repeats of 1 of 2 samples: b; give each sample" in refusal(
        path
    )


def test_collected_rows_take_their_clusters_by_key() -> None:
    rows = {("a", 0): 100.0, ("b", 0): None, ("b", 1): 50.0, ("a", 1): 0.0}
    scores = collect(rows, "the run", {("b", 0): "y", ("a", 1): "x", ("b", 1): "y", ("a", 0): "x"})
    assert (scores.ids, scores.clusters) == (("a", "b"), ("x", "y"))
    assert collect(rows, "the run", dict.fromkeys(rows)).clusters is None
    with pytest.raises(BadInput, match="the run: no cluster for 1 of 2 samples: b;"):
        collect(rows, "the run", {("a", 0): "x", ("a", 1): "x"})


def clustered(values: list[float], ids: str, clusters: str | None) -> Scores:
    return replace(one_each(values, ids), clusters=None if clusters is None else tuple(clusters))


def test_clusters_stay_with_their_samples() -> None:
    scores = clustered([1.0, math.nan, 3.0], "abc", "xyx")
    for same in (scores.fill(2.0), scores.scale(2.0), scores.scale(1.0)):
        assert same.clusters == ("x", "y", "x")
    taken = scores.take(["c", "b"])
    assert (taken.ids, taken.clusters, taken.values[0].tolist()) == (("c", "b"), ("x", "y"), [3.0])
    assert scores.take(("a", "b", "c")).clusters == ("x", "y", "x")
    with pytest.raises(KeyError):
        scores.take(["a", "z"])


@each("order", [[0, 1, 2, 3], [3, 1, 0, 2]])
@each(("left", "right"), [("xyxy", "xyxy"), ("xyxy", None), (None, "xyxy"), (None, None)])
def test_pairing_keeps_the_references_clusters(order: list[int], left: str | None, right: str | None) -> None:
    reference = clustered([1.0, 2.0, 3.0, 4.0], "abcd", left)
    candidate = clustered([0.0] * 4, "abcd", right).take(["abcd"[i] for i in order])
    both = pair_scores(reference, candidate)
    assert both.ids == candidate.ids
    assert both.means().tolist() == [i + 1.0 for i in order]
    assert both.clusters == (None if left is None else tuple(left[i] for i in order))


@pytest.mark.parametrize("ids", ["abcd", "dcab"])
def test_samples_in_other_clusters_than_the_references_are_refused(ids: str) -> None:
    reference = clustered([1.0, 2.0, 3.0, 4.0], "abcd", "xyxy")
    candidate = clustered([1.0, 2.0, 3.0, 4.0], "abcd", "xxxz").take(list(ids))
    moved = ", ".join(id_ for id_ in ids if id_ in "bd")
    with pytest.raises(
        BadInput, match=f"the cluster of 2 of 4 samples differs between reference and candidate: {moved};"
    ):
        pair_scores(reference, candidate)


def test_an_id_twice_does_not_stand_for_one_that_is_missing() -> None:
    with pytest.raises(BadInput, match=r"the candidate has 2 of the reference's 3 samples; 1 missing from .*: c\."):
        pair_scores(one_each([1.0, 2.0, 3.0], "abc"), one_each([0.0, 0.0, 0.0], "aba"))


@given(data=st.data())
@settings(deadline=None, max_examples=40)
def test_pairing_any_order_finds_every_score_by_its_id(data: st.DataObject) -> None:
    known = data.draw(st.dictionaries(st.text(max_size=3), st.floats(0, 100), min_size=1))
    order = data.draw(st.permutations(list(known)))
    both = pair_scores(from_python(known, "reference"), from_python(dict.fromkeys(order, 0.0), "candidate"))
    assert dict(zip(both.ids, both.values[:, 0].tolist(), strict=True)) == known
    assert list(both.ids) == order


@each(
    "labels",
    [
        {"c": "x", "b": "y", "a": "x", "extra": None},
        ["x", "y", "x"],
        [7, "7", 7],
        np.array([4.0, 2.0, 4.0]),
        np.array(["x", 2, "x"], dtype=object),
        deque("xyx"),
    ],
)
def test_given_clusters_go_before_those_of_either_side(labels) -> None:
    candidate = clustered([0.0, 0.0, 0.0], "abc", "xxy")
    codes = clusters_of(candidate, candidate, labels)
    assert codes is not None
    assert codes.tolist() == [0, 1, 0]
    assert np.issubdtype(codes.dtype, np.integer)


def test_ids_of_given_clusters_are_text_as_those_of_scores_are() -> None:
    candidate = from_python({1: 0.0, 2: 0.0}, "candidate")
    assert clusters_of(None, candidate, {2: "x", 1: "y"}).tolist() == [0, 1]
    with pytest.raises(BadInput, match="two ids are the same text"):
        clusters_of(None, candidate, {2: "x", 1: "y", "1": "z"})


def test_the_candidates_clusters_go_before_the_references() -> None:
    bare, left, right = (clustered([0.0] * 3, *sides) for sides in (("cab", None), ("abc", "xxy"), ("cab", "xxy")))
    assert clusters_of(left, right).tolist() == [0, 0, 1]
    assert clusters_of(left, bare).tolist() == [0, 1, 1]
    assert clusters_of(None, right).tolist() == [0, 0, 1]
    assert clusters_of(bare, right).tolist() == [0, 0, 1]
    assert clusters_of(bare, bare) is None
    assert clusters_of(None, bare) is None
    wider = clustered([0.0] * 4, "dcba", "wyxx")
    assert clusters_of(wider, bare).tolist() == [0, 1, 1]


@each(
    ("labels", "message"),
    [
        (["x", "y"], "2 for 3 samples; give one a sample, in the candidate's order"),
        ({}, "none for 3 of 3 samples: a, b, c; give every sample one"),
        ({"a": "x"}, "none for 2 of 3 samples: b, c;"),
        ({"a": "x", "b": None, "c": "x"}, "none for 1 of 3 samples: b;"),
        (["x", None, ""], "none for 2 of 3 samples: b, c;"),
        ([1.0, math.nan, 2.0], "none for 1 of 3 samples: b;"),
        (np.array(["2020", "NaT", "2021"], dtype="datetime64[Y]"), "none for 1 of 3 samples: b;"),
        (np.ma.masked_array([1, 2, 3], mask=[False, True, False]), "none for 1 of 3 samples: b;"),
        ([1, pandas.NA, pandas.NaT], "none for 2 of 3 samples: b, c;"),
        (pandas.Series(["x", None, "y"]), "none for 1 of 3 samples: b;"),
        (np.zeros((3, 2)), "none for 3 of 3 samples: a, b, c;"),
        ([np.zeros(2), "x", "y"], "none for 1 of 3 samples: a;"),
    ],
)
def test_given_clusters_that_leave_a_sample_out_are_refused(labels, message: str) -> None:
    with pytest.raises(BadInput) as caught:
        clusters_of(None, one_each([0.0] * 3, "abc"), labels)
    assert str(caught.value).startswith(f"clusters: {message}")


@each("labels", ["xyz", b"xyz", {"x", "y", "z"}, iter("xyz"), 3, np.array(3)])
def test_what_is_no_mapping_and_no_array_gives_no_clusters(labels) -> None:
    with pytest.raises(BadInput, match="clusters must be a mapping of id to cluster, or an array"):
        clusters_of(None, one_each([0.0] * 3, "abc"), labels)


def test_a_reference_without_the_candidates_samples_cannot_give_their_clusters() -> None:
    reference = clustered([0.0] * 3, "abc", "xyz")
    with pytest.raises(BadInput, match=r"clusters: none for 1 of 3 samples: d;"):
        clusters_of(reference, one_each([0.0] * 3, "abd"))
