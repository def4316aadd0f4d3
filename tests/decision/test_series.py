"""Scores in Series of pandas pair by their labels, never by their places."""

from typing import Any

import pytest

from accgate.decision.comparison import compare
from accgate.errors import BadInput
from tests.support.cases import each

pd = pytest.importorskip("pandas")


@each(("before", "now", "result"), [
    (pd.Series([100, 0, 50], list("abc")), pd.Series([50, 100, 0], list("cab")), 0.0),
    (pd.Series([100, 0, 50], list("abc")), {"a": 100, "b": 0, "c": 20}, -10.0),
    (pd.Series([100, 0, 50]), [100, 0, 20], -10.0),  # labels that count are places
    (pd.Series([100, 0, 50]), pd.Series([20, 0, 100], [2, 1, 0]), -10.0),
    (pd.Series([100, 0, 50]), pd.Series([100, 0], [0, 1]), "1 missing from the candidate: 2"),
    (pd.Series([100, 0], ["a", "b"]), pd.Series([100, 0]), "2 missing from the candidate: a, b; 2 not in the"),
    (pd.Series([100, 0], ["a", "a"]), {"a": 1}, "reference: 1 labels come more than once: a; each sample must"),
    (pd.DataFrame({"id": ["a"], "score": [100]}), {"a": 1}, "reference: is a table; give one column of it, as"),
    (pd.Series(["x", "y"]), {"0": 1}, "reference: scores must be numbers"),
    (pd.Series([100, None]), {"0": 1}, "reference: no finite score for 1 of 2 samples: 1"),
    ([True, 100.0], [100.0, 0.0], "reference: has true or false beside scores other than 0 and 1"),
])  # fmt: skip
def test_a_series_pairs_by_its_labels(before: Any, now: Any, result: float | str) -> None:
    if isinstance(result, str):
        with pytest.raises(BadInput) as caught:
            compare(before, now)
        assert result in str(caught.value)
    else:
        assert compare(before, now).difference == pytest.approx(result)


def test_a_regression_shows_in_series_of_another_order_and_clusters_go_by_label() -> None:
    names = [f"q{i}" for i in range(200)]
    before = pd.Series([True] * 150 + [False] * 50, names)
    after = (before & (pd.Series(range(200), names) > 20)).sample(frac=1, random_state=1)
    clusters = pd.Series([i // 2 for i in range(200)], names)
    verdict = compare(before, after, clusters=clusters)
    assert (verdict.verdict, verdict.lost) == ("regression", None if verdict.lost is None else 21)
    assert verdict == compare(before, after, clusters=clusters[after.index].tolist())


def test_clusters_in_a_series_without_labels_go_by_place() -> None:
    named = {f"q{i}": 100.0 * (i % 3 > 0) for i in range(60)}
    clusters = [i // 2 for i in range(60)]
    assert compare(named, named, clusters=pd.Series(clusters)) == compare(named, named, clusters=clusters)
    with pytest.raises(BadInput, match="none for 60 of 60 samples"):
        compare(named, named, clusters=pd.Series(clusters, [f"p{i}" for i in range(60)]))
