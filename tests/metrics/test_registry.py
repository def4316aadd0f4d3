"""Metrics by name, with the bounds that failed samples are decided at."""

import pytest

from accgate.metrics import Metric, UnknownMetric, get, names


def test_names_are_sorted_and_each_gets_its_metric() -> None:
    assert names() == ("contains", "exact_match", "json_fields", "json_match", "normalized_match", "numeric_match")
    assert [get(name).name for name in names()] == list(names())


@pytest.mark.parametrize("name", names())
def test_every_metric_gives_0_to_100_points_and_higher_is_better(name: str) -> None:
    metric = get(name)
    assert (metric.lowest, metric.highest, metric.higher_is_better) == (0.0, 100.0, True)
    assert (metric.worst, metric.best) == (0.0, 100.0)
    assert (metric("1", "1"), metric("1", "2")) in {(100.0, 0.0), (0.0, 0.0)}  # "1" has no fields


def test_where_lower_is_better_the_worst_score_is_the_highest() -> None:
    errors = Metric("word_error_rate", lambda answer, target: 100.0 * (answer != target), 0.0, None, False)
    assert (errors.worst, errors.best) == (None, 0.0)
    assert (errors("a", "b"), errors("a", "a")) == (100.0, 0.0)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("exact_mach", "did you mean 'exact_match'?"),
        ("numeric", "did you mean 'numeric_match'?"),
        ("Contains", "did you mean 'contains'?"),
        ("bleu", f"known are {', '.join(names())}"),
        ("", f"known are {', '.join(names())}"),
    ],
)
def test_an_unknown_metric_has_a_hint(name: str, hint: str) -> None:
    with pytest.raises(UnknownMetric) as caught:
        get(name)
    assert str(caught.value) == f"no metric {name!r}; {hint}"
