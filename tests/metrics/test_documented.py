"""docs/metrics.md has every metric, with every option and its default, and no other."""

import json
import re
from pathlib import Path

from accgate.metrics.metric import options_of
from accgate.metrics.registry import metric_builders
from tests.support.cases import each

PAGE = (Path(__file__).parents[2] / "docs" / "metrics.md").read_text(encoding="utf-8")
METRICS = PAGE.partition("\n## Statistics over samples")[0]
SECTIONS = dict(re.findall(r"^### (.*)\n((?:(?!^##).*\n?)*)", METRICS, re.MULTILINE))
OF_METRIC = {
    name: " ".join(text.split()) for heading, text in SECTIONS.items() for name in re.findall(r"`(\w+)`", heading)
}


def test_the_page_has_every_metric_and_no_other() -> None:
    assert sorted(OF_METRIC) == sorted(metric_builders())


@each("name", sorted(metric_builders()))
def test_the_page_has_every_option_with_its_default_and_no_other(name: str) -> None:
    options = {option: json.dumps(each.default) for option, each in options_of(metric_builders()[name]).items()}
    stated = OF_METRIC[name].partition("Options: ")[2]
    assert dict(re.findall(r"`(\w+) = ([^`]+)`", stated)) == options


@each("name", sorted(metric_builders()))
def test_the_page_says_so_where_lower_is_better(name: str) -> None:
    lower = {"perplexity", "word_error_rate", "character_error_rate", "ter"}
    assert ("Lower is better" in OF_METRIC[name]) == (name in lower)
