"""Metrics by name: their bounds, options and packages, and docs/metrics.md, which has every one and no other."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from accgate.metrics import BadOption, Metric, UnknownMetric, get, tokens
from accgate.metrics.code import unloaded_metric
from accgate.metrics.metric import options_of
from accgate.metrics.registry import metric_builders
from tests.support.cases import each, refused


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


REFUSED: list[tuple[str, dict[str, Any]]] = [
    *(("rouge_n", options) for options in ({"m": 3}, {"measur": "f"}, {"n": 0}, {"n": True}, {"stem": 1})),
    ("rouge_n", {"measure": "g"}), ("f_a", {"a": 0.0}), ("f_beta", {"beta": 1e200}), ("f_beta", {"beta": float("inf")}),
    ("em_h", {"h": 0.0}), ("em_h", {"h": 1.5}), ("rouge_w", {"weight": 0.5}), ("rouge_s", {"skip": -2}),
    *(("rouge_1", {"stem": True, "tokenizer": name}) for name in ("zh", "characters")),
    ("bleu", {"max_order": 0}), ("chrf", {"char_order": 0}), ("chrf", {"word_order": -1}), ("chrf", {"beta": 0}),
    ("code_tests", {"timeout": 0.0}),
]  # fmt: skip


def test_an_option_that_cannot_be_used_says_why(messages: SnapshotAssertion) -> None:
    errors = {f"{name} {options}": refused(BadOption, get, name, **options) for name, options in REFUSED}
    assert {case: (error.option, str(error)) for case, error in errors.items()} == messages


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
def test_a_missing_package_is_named_with_the_command(package: str, name: str, options, monkeypatch) -> None:
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


def test_a_whole_number_is_a_number() -> None:
    assert get("em_h", h=1)("a b", "a b") == 100.0
    assert get("code_tests", timeout=0.5).kind == "code"


@each(("option", "value"), [("higher_is_better", 1), ("lowest", "0"), ("highest", True)])
def test_what_says_nothing_of_a_users_metric_is_refused(option: str, value: object) -> None:
    assert refused(BadOption, unloaded_metric, "mine.py:score", **{option: value}).option == option
    assert unloaded_metric("mine.py:score", highest=float("inf")).highest is None


def test_several_targets_are_scored_by_the_metrics_own_rule_or_the_best() -> None:
    assert get("exact_match").against("b", ["a", "b"]) == 100.0
    assert get("word_error_rate").against("a b", ["a c", "a b"]) == 0.0
    assert get("rouge_1_recall").against("a b", ["a b", "c d"]) == 50.0
    with pytest.raises(ValueError, match="no reference text"):
        get("exact_match").against("b", [])


def test_an_unknown_metric_has_a_hint() -> None:
    known = f"known are {', '.join(NAMES[:12])} and {len(NAMES) - 12} more"
    for name, hint in (("exact_mach", "did you mean 'exact_match'?"), ("zzz", known)):
        assert str(refused(UnknownMetric, get, name)) == f"no metric {name!r}; {hint}"


PAGE = (Path(__file__).parents[2] / "docs" / "metrics.md").read_text(encoding="utf-8")
OF_METRICS = PAGE.partition("\n## Statistics over samples")[0]
SECTIONS = dict(re.findall(r"^### (.*)\n((?:(?!^##).*\n?)*)", OF_METRICS, re.MULTILINE))
DOCUMENTED = {
    name: " ".join(text.split()) for heading, text in SECTIONS.items() for name in re.findall(r"`(\w+)`", heading)
}


def test_the_page_has_every_metric_and_no_other() -> None:
    assert sorted(DOCUMENTED) == sorted(metric_builders())


@each("name", sorted(metric_builders()))
def test_the_page_has_every_option_with_its_default_and_says_where_lower_is_better(name: str) -> None:
    options = {option: json.dumps(each.default) for option, each in options_of(metric_builders()[name]).items()}
    stated = DOCUMENTED[name].partition("Options: ")[2]
    assert dict(re.findall(r"`(\w+) = ([^`]+)`", stated)) == options
    assert ("Lower is better" in DOCUMENTED[name]) == (name in ERRORS)
