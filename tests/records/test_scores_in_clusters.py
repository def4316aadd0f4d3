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
from syrupy.assertion import SnapshotAssertion

from accgate.records.membership import cluster_labels, clusters_of, codes_of
from accgate.records.pairing import pair_scores
from accgate.records.scores import Scores, from_python, read_scores
from tests.records.score_files import one_each, refusal, written
from tests.support.cases import each
from tests.support.cases import refusal as refusal_of


@each(
    ("name", "text"),
    [
        ("a.jsonl", "".join(f'{{"id": "{i}", "score": 1, "cluster": {c}}}\n' for i, c in
            [("a", '"7"'), ("b", '"x"'), ("c", "7"), ("d", '"x"')])),
        ("a.csv", "cluster,id,score,repeat\n7,a,1,1\nx,b,1,1\n7,c,1,1\n7,a,1,0\nx,d,1,0\nx,d,1,1\n7,c,1,0\nx,b,1,0\n"),
    ],
)  # fmt: skip
def test_clusters_are_read_beside_their_ids(tmp_path: Path, name: str, text: str) -> None:
    scores = read_scores(written(tmp_path, name, text), "candidate")
    assert (scores.ids, scores.clusters) == (("a", "b", "c", "d"), ("7", "x", "7", "x"))


@each(
    ("name", "text"),
    [
        ("a.csv", "id,score,cluster\na,1,\nb,1,\nc,1,\n"),
        ("a.jsonl", "".join(f'{{"id": "{i}", "repeat": {r}, "score": 1, "cluster": {c}}}\n' for i in "abc"
            for r, c in enumerate(("null", '""')))),
    ],
)  # fmt: skip
def test_samples_without_any_cluster_are_independent(tmp_path: Path, name: str, text: str) -> None:
    scores = read_scores(written(tmp_path, name, text), "candidate")
    assert (scores.ids, scores.clusters) == (("a", "b", "c"), None)


def test_clusters_of_some_samples_alone_or_that_differ_between_repeats_are_refused(
    tmp_path: Path, messages: SnapshotAssertion
) -> None:
    parts = ["a,1,0,\nb,1,0,\nc,1,0,x\n", *(f"a,1,0,x\nb,1,0,x\nb,1,1,{other}\na,1,1,x\n" for other in ("y", ""))]
    tables = [f"id,score,repeat,cluster\n{rows}" for rows in parts]
    assert [refusal(written(tmp_path, "a.csv", text)) for text in tables] == messages


def clustered(values: list[float], ids: str, clusters: str | None) -> Scores:
    return replace(one_each(values, ids), clusters=None if clusters is None else tuple(clusters))


def test_clusters_stay_with_their_samples() -> None:
    scores = clustered([1.0, math.nan, 3.0], "abc", "xyx")
    for same in (scores.fill(2.0), scores.scale(2.0)):
        assert same.clusters == ("x", "y", "x")
    taken = scores.take(["c", "b"])
    assert (taken.ids, taken.clusters, taken.values[0].tolist()) == (("c", "b"), ("x", "y"), [3.0])
    with pytest.raises(KeyError):
        scores.take(["a", "z"])


@each(("left", "right"), [("xyxy", "xyxy"), ("xyxy", None), (None, "xyxy")])
def test_pairing_keeps_the_references_clusters(left: str | None, right: str | None) -> None:
    reference = clustered([1.0, 2.0, 3.0, 4.0], "abcd", left)
    both = pair_scores(reference, clustered([0.0] * 4, "abcd", right).take(list("dbac")))
    assert (list(both.ids), both.means().tolist()) == (list("dbac"), [4.0, 2.0, 1.0, 3.0])
    assert both.clusters == (None if left is None else ("y", "y", "x", "x"))


def test_samples_in_other_clusters_than_the_references_are_refused() -> None:
    reference = clustered([1.0, 2.0, 3.0, 4.0], "abcd", "xyxy")
    candidate = clustered([1.0, 2.0, 3.0, 4.0], "abcd", "xxxz").take(list("dcab"))
    assert ": d, b;" in refusal_of(pair_scores, reference, candidate)


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
    assert codes_of(cluster_labels(candidate, candidate, labels)).tolist() == [0, 1, 0]


def test_ids_of_given_clusters_are_text_as_those_of_scores_are() -> None:
    candidate = from_python({1: 0.0, 2: 0.0}, "candidate")
    assert cluster_labels(None, candidate, {2: "x", 1: "y"}) == ("y", "x")
    assert "two ids are the same" in refusal_of(cluster_labels, None, candidate, {2: "x", 1: "y", "1": "z"})


def test_the_candidates_clusters_go_before_the_references() -> None:
    bare, left, right = (clustered([0.0] * 3, *sides) for sides in (("cab", None), ("abc", "xxy"), ("cab", "xxy")))
    assert clusters_of(left, right).tolist() == clusters_of(bare, right).tolist() == [0, 0, 1]
    assert clusters_of(bare, bare) is clusters_of(None, bare) is None
    wider = clustered([0.0] * 4, "dcba", "wyxx")
    assert clusters_of(left, bare).tolist() == clusters_of(wider, bare).tolist() == [0, 1, 1]
    assert "none for 1 of 3 samples: d;" in refusal_of(clusters_of, left, one_each([0.0] * 3, "abd"))


PARTIAL = (
    ["x", "y"], {"a": "x"}, ["x", None, ""], [1.0, math.nan, 2.0], pandas.Series(["x", None, "y"]),
    np.array(["2020", "NaT", "2021"], dtype="datetime64[Y]"), np.ma.masked_array([1, 2, 3], mask=[False, True, False]),
    [1, pandas.NA, pandas.NaT], np.zeros((3, 2)), [np.zeros(2), "x", "y"],
)  # fmt: skip


def test_given_clusters_that_leave_a_sample_out_are_refused(messages: SnapshotAssertion) -> None:
    candidate = one_each([0.0] * 3, "abc")
    assert [refusal_of(cluster_labels, None, candidate, labels) for labels in PARTIAL] == messages


@each("labels", ["xyz", {"x", "y", "z"}, iter("xyz"), np.array(3)])
def test_what_is_no_mapping_and_no_array_gives_no_clusters(labels) -> None:
    assert "clusters must be a mapping" in refusal_of(cluster_labels, None, one_each([0.0] * 3, "abc"), labels)
