"""Metrics by name: their bounds, options and packages, and docs/metrics.md, which has every one and no other."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from accgate.metrics import BadOption, Metric, UnknownMetric, get, tokens
from accgate.metrics.code import unloaded_metric
from accgate.metrics.metric import options_of
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


@each("name", [name for name in METRICS if name not in SURVEY])
def test_most_metrics_give_0_to_100_points_and_errors_have_no_upper_bound(name: str) -> None:
    metric = METRICS[name]
    highest, best = (None, metric.lowest) if name in ERRORS else (100.0, 100.0)
    assert (metric.highest, metric.worst, metric.best) == (highest, None if name in ERRORS else 0.0, best)
    assert metric.higher_is_better == (name not in ERRORS)


@pytest.mark.parametrize("name", [name for name, metric in METRICS.items() if metric.kind != "text"])
def test_what_needs_more_than_a_text_says_so_when_called(name: str) -> None:
    with pytest.raises(TypeError, match="needs more than answer and target"):
        get(name)("a", "b")


@each(
    ("options", "option", "message"),
    [
        ({"m": 3}, "m", "is not an option of rouge_n; known are measure, n, stem, tokenizer"),
        ({"measur": "f"}, "measur", "is not an option of rouge_n; did you mean 'measure'?"),
        ({"n": 0}, None, "rouge_n: n must be 1 or more"),
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


@each(
    ("name", "options", "message"),
    [
        ("f_a", {"a": 0.0}, "a must be 0.001 to 1000"),
        ("f_beta", {"beta": 1e200}, "beta must be 0.001 to 1000"),
        ("em_h", {"h": 0.0}, "h must be above 0 and at most 1"),
        ("em_h", {"h": 1.5}, "h must be above 0 and at most 1"),
        ("rouge_w", {"weight": 0.5}, "weight must be 1 to 10"),
        ("rouge_s", {"skip": -2}, "skip must be 0 or more"),
        *(("rouge_1", {"stem": True, "tokenizer": name}, "stem is for English words") for name in ("zh", "characters")),
        ("bleu", {"max_order": 0}, "max_order must be 1 or more"),
        ("chrf", {"char_order": 0}, "char_order must be 1 or more"),
        ("chrf", {"word_order": -1}, "word_order must be 0 or more"),
        ("chrf", {"beta": 0}, "beta must be 1 to 1000"),
        ("code_tests", {"timeout": 0.0}, "timeout must be above 0"),
    ],
)
def test_an_option_out_of_range_is_refused(name: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(BadOption, match=f"{name}: {message}"):
        get(name, **options)


@pytest.mark.parametrize(
    ("package", "name", "options"),
    [
        *(("sacrebleu", name, {}) for name in ("bleu", "chrf", "ter")),
        *(("jiwer", name, {}) for name in ("word_error_rate", "character_error_rate")),
        ("jsonschema", "json_schema", {}),
        ("nltk.stem.porter", "rouge_1", {"stem": True}),
        ("sacrebleu.tokenizers", "rouge_1", {"tokenizer": "ja"}),
    ],
)
def test_a_missing_package_is_named_with_the_command(
    package: str, name: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for loader in (tokens._porter, tokens._mecab):
        loader.cache_clear()
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=r"pip install 'accgate\[metrics\]'"):
        get(name, **options)


def test_a_missing_mecab_is_named_with_the_command() -> None:
    # In a process of its own: sacrebleu looks for MeCab once, when it is imported, and never again.
    code = "import sys; sys.modules['MeCab'] = None\nfrom accgate.metrics import get; get('bleu', tokenize='ja-mecab')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "ja-mecab needs MeCab; pip install 'accgate[metrics]'" in done.stderr


def test_a_whole_number_is_a_number_and_an_infinite_one_is_none() -> None:
    assert get("em_h", h=1)("a b", "a b") == 100.0
    assert get("code_tests", timeout=0.5).kind == "code"
    with pytest.raises(BadOption, match="give a finite number"):
        get("f_beta", beta=float("inf"))


@each(("option", "value"), [("higher_is_better", 1), ("lowest", "0"), ("highest", True)])
def test_what_says_nothing_of_a_users_metric_is_refused(option: str, value: object) -> None:
    with pytest.raises(BadOption) as caught:
        unloaded_metric("mine.py:score", **{option: value})
    assert caught.value.option == option
    assert unloaded_metric("mine.py:score", highest=float("inf")).highest is None


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


PAGE = (Path(__file__).parents[2] / "docs" / "metrics.md").read_text(encoding="utf-8")
OF_METRICS = PAGE.partition("\n## Statistics over samples")[0]
SECTIONS = dict(re.findall(r"^### (.*)\n((?:(?!^##).*\n?)*)", OF_METRICS, re.MULTILINE))
DOCUMENTED = {
    name: " ".join(text.split()) for heading, text in SECTIONS.items() for name in re.findall(r"`(\w+)`", heading)
}


def test_the_page_has_every_metric_and_no_other() -> None:
    assert sorted(DOCUMENTED) == sorted(metric_builders())


@each("name", sorted(metric_builders()))
def test_the_page_has_every_option_with_its_default_and_no_other(name: str) -> None:
    options = {option: json.dumps(each.default) for option, each in options_of(metric_builders()[name]).items()}
    stated = DOCUMENTED[name].partition("Options: ")[2]
    assert dict(re.findall(r"`(\w+) = ([^`]+)`", stated)) == options


@each("name", sorted(metric_builders()))
def test_the_page_says_so_where_lower_is_better(name: str) -> None:
    lower = {"perplexity", "word_error_rate", "character_error_rate", "ter"}
    assert ("Lower is better" in DOCUMENTED[name]) == (name in lower)
