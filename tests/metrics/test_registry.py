"""Metrics by name, with the bounds that failed samples are decided at."""

import pytest

from accgate.metrics import BadOption, Metric, UnknownMetric, get
from accgate.metrics.registry import metric_builders
from tests.support.cases import each


def installed(name: str) -> Metric | None:
    """The metric; None where the package that it needs is not there."""
    try:
        return get(name)
    except ImportError:
        return None


NAMES = sorted(metric_builders())
METRICS = {name: metric for name in NAMES if (metric := installed(name))}


def test_each_name_gets_its_metric() -> None:
    assert {"exact_match", "rouge_l", "bleu", "word_error_rate", "code_tests", "judge", "perplexity"} <= {*NAMES}
    assert [metric.name for metric in METRICS.values()] == list(METRICS)


ERRORS = {"ter", "word_error_rate", "character_error_rate", "perplexity"}
SURVEY = {"f_a"}  # its formula goes past 100


@each("name", [name for name in METRICS if name not in ERRORS | SURVEY])
def test_most_metrics_give_0_to_100_points_and_higher_is_better(name: str) -> None:
    metric = get(name)
    assert (metric.lowest, metric.highest, metric.higher_is_better) == (0.0, 100.0, True)
    assert (metric.worst, metric.best) == (0.0, 100.0)


@pytest.mark.parametrize("name", sorted(ERRORS))
def test_errors_have_no_upper_bound_and_lower_is_better(name: str) -> None:
    metric = get(name)
    assert (metric.highest, metric.worst, metric.higher_is_better) == (None, None, False)


@pytest.mark.parametrize("name", [name for name, metric in METRICS.items() if metric.kind != "text"])
def test_what_needs_more_than_a_text_says_so_when_called(name: str) -> None:
    with pytest.raises(TypeError, match="needs more than answer and target"):
        get(name)("a", "b")


@each(
    ("options", "option", "message"),
    [
        ({"m": 3}, "m", "is not an option of rouge_n; known are measure, n, stem, tokenizer"),
        ({"measur": "f"}, "measur", "is not an option of rouge_n; did you mean 'measure'?"),
        ({"n": 0}, None, "rouge_n: n "),
        ({"n": True}, "n", "is True; give a whole number"),
        ({"stem": 1}, "stem", "is 1; give true or false"),
        ({"measure": "g"}, "measure", "is 'g'; give one of "),
    ],
)
def test_an_option_that_cannot_be_used_says_why(options: dict[str, object], option: str | None, message: str) -> None:
    with pytest.raises(BadOption) as caught:
        get("rouge_n", **options)
    assert caught.value.option == option
    assert str(caught.value).startswith(message)


def test_a_whole_number_is_a_number_and_an_infinite_one_is_none() -> None:
    assert get("em_h", h=1)("a b", "a b") == 100.0
    with pytest.raises(BadOption, match="give a finite number"):
        get("f_beta", beta=float("inf"))


def test_several_targets_are_scored_by_the_metrics_own_rule_or_the_best() -> None:
    assert get("exact_match").against("b", ["a", "b"]) == 100.0
    assert get("word_error_rate").against("a b", ["a c", "a b"]) == 0.0
    assert get("rouge_1_recall").against("a b", ["a b", "c d"]) == 50.0
    with pytest.raises(ValueError, match="no reference text"):
        get("exact_match").against("b", [])


@each(
    ("name", "hint"),
    [
        ("exact_mach", "did you mean 'exact_match'?"),
        ("Contains", "did you mean 'contains'?"),
        ("zzz", f"known are {', '.join(NAMES[:12])} and {len(NAMES) - 12} more"),
    ],
)
def test_an_unknown_metric_has_a_hint(name: str, hint: str) -> None:
    with pytest.raises(UnknownMetric) as caught:
        get(name)
    assert str(caught.value) == f"no metric {name!r}; {hint}"
