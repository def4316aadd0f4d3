"""The comment's length, and templates of a repository's own: whole, within the limit, and inert."""

import itertools
import random
import re
from dataclasses import replace
from typing import Any

import pytest

from accgate.guard.state import Guard, RuleChange
from accgate.report import comment, sandbox
from accgate.report.comment import render_comment
from accgate.report.flips import Flip
from accgate.report.views import FIGURE_HEADINGS, HEADINGS
from accgate.result import Result
from tests.report.hostile import assert_inert, hostile
from tests.report.kinds import ABOUT, URL
from tests.report.rendered import page_of
from tests.report.runs import render_templates_here, result_of, verdict_of
from tests.support.cases import each

# Length


def of_many(count: int, *, failing: int = 0, name: str = "x" * 200) -> tuple[Result, dict[Any, list[Flip]]]:
    checks = tuple(
        verdict_of(
            "regression" if i < failing else "pass", model=f"{name}{i}", task=name, reasons=("r" * 5000,),
            flips=tuple(map(str, range(99))),
        )
        for i in range(count)
    )  # fmt: skip
    shuffled = random.Random(1).sample(checks, count)
    long = "word " * 20_000
    flips = {(v.model, v.task): [Flip(f"id{i}", long, long, long, long) for i in range(10)] for v in checks[:failing]}
    return result_of(*shuffled), flips


CHANGES = tuple(
    RuleChange(f"tasks.{'t' * 300}.{i}", "b" * 9999, "h" * 9999, "loosening" if i % 2 else "tightening", "w" * 9999)
    for i in range(300)
)


SMALLEST = 8_000  # bytes that a comment may need


@each(
    ("count", "failing", "name", "limit"),
    [(1, 1, "x", 65_000), (30, 0, "x" * 200, SMALLEST), (30, 30, "é<" * 150, 65_000), (30, 7, "@" * 300, SMALLEST)],
)
def test_a_comment_of_any_run_is_whole_and_within_the_limit(count: int, failing: int, name: str, limit: int) -> None:
    result, flips = of_many(count, failing=failing, name=name)
    guard = Guard("loosened", CHANGES, None, "r" * 9999)
    markdown = render_comment(result, ABOUT, guard=guard, flips=flips, limit=limit)
    assert len(markdown.encode()) <= limit
    found = page_of(markdown)
    assert_inert(found, links=(URL,))
    assert found.headings[0].startswith("✕ Regression" if failing else "▽ Waiting")
    assert {len(row) for table in found.tables for row in table} <= {2, 3, 4, 5, 8}
    assert "somebody with write permission" in found.text
    assert markdown.endswith("</sub>\n")


def parts(markdown: str) -> tuple[int, ...]:
    """How much of each kind a comment shows: rows of figures, changed rules, rows of checks."""
    tables = page_of(markdown).tables

    def rows(head: list[str]) -> int:
        return sum(len(table) - 1 for table in tables if table[0] == head)

    left_out = "others pass |" in markdown or "checks pass |" in markdown
    return rows(list(FIGURE_HEADINGS)), rows(["Rule", "Effect", "Base", "Here"]), rows(list(HEADINGS)) - left_out


def test_what_matters_least_goes_first() -> None:
    result, flips = of_many(60, failing=20, name="n" * 60)
    guard = Guard("loosened", CHANGES[:60], None, "reason")
    limits = 600_000, 100_000, 60_000, 30_000, SMALLEST
    seen = [parts(render_comment(result, ABOUT, guard=guard, flips=flips, limit=limit)) for limit in limits]
    assert seen[0] == (60, 60, 60)
    assert all(a >= b for first, second in itertools.pairwise(seen) for a, b in zip(first, second, strict=True))
    for figures, rules, rows in seen:
        assert figures == 0 or (rules == 60 and rows == 60)
        assert rows >= 20 or rules <= 10
    assert {figures for figures, _, _ in seen} >= {60, 0}


def test_left_out_parts_are_counted_and_the_full_report_is_linked() -> None:
    result, flips = of_many(120, failing=3)
    found = page_of(render_comment(result, ABOUT, flips=flips, limit=20_000))
    assert "Parts were left out" in found.text
    assert found.links == [URL]
    signs = [row[0].split()[0] for row in found.tables[0][1:]]
    assert signs[:3] == ["✕"] * 3
    assert found.tables[0][-1][0] == f"✓ {117 - (len(signs) - 4)} others pass"
    result, _ = of_many(150, failing=120, name="é<" * 150)
    markdown = render_comment(
        result, replace(ABOUT, report_url=None), guard=Guard("loosened", CHANGES, None, "r"), limit=SMALLEST
    )
    found, (_, rules, shown) = page_of(markdown), parts(markdown)
    assert "report.md and accgate.json of the run have them" in found.text
    assert 0 < shown < 120
    assert f"and {120 - shown} further checks that did not pass." in found.text
    assert found.tables[0][-1][0] == "✓ 30 others pass"
    assert f"and {300 - rules} more." in markdown
    assert {row[1] for row in found.tables[1][1:]} == {"▽ loosens"}


# Templates of a repository's own


def own(blocks: str, result: Result | None = None, **keys: Any) -> str:
    template = '{% extends "comment.md.j2" %}' + blocks
    return render_comment(result or result_of(verdict_of("regression")), ABOUT, template=template, **keys)


def test_a_block_that_forgets_escaping_is_inert(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = hostile()[::3]
    for some in (texts[at : at + 20] for at in range(0, len(texts), 20)):
        markdown = own(
            "{% block headline %}{% for check in checks %}## {{ check.name }}\n\n{{ check.name | upper }}\n\n"
            "x\n{{ check.verdict.model }}\n\n{{ '**' ~ check.name ~ '**' }}\n\n{{ check.name | e }}\n\n"
            "{{ ('*' | safe) + check.name }}\n\n{{ [check.name, check.name] | join(', ') }}\n\n"
            "- {{ check.name | title }}\n\n{{ check.verdict.reasons }}\n\n"
            "{% filter upper %}{{ check.name }}{% endfilter %}\n\n{% endfor %}{% endblock %}",
            result_of(*(verdict_of("regression", model=text, task=text, reasons=(text,)) for text in some)),
        )
        assert "template of this repository" not in markdown
        assert_inert(page_of(markdown), links=(URL,))
        assert len(page_of(markdown).headings) == len(some)
        render_templates_here(monkeypatch)  # from the second on


def test_a_block_can_be_replaced_and_extended_and_is_cut_to_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = (
        "{% block headline %}## Accuracy: {{ headline }}{% endblock %}"
        "{% block details %}{% for check in checks %}{{ check.change | code }} {{ check.verdict.difference | signed }}"
        "{% endfor %}{% endblock %}{% block footer %}{{ super() }} ours{% endblock %}"
    )
    render_templates_here(monkeypatch)
    markdown = own(blocks)
    found = page_of(markdown)
    assert found.headings == ["Accuracy: Regression: t fell 5.0 points, 75.0 to 70.0"]
    assert "<details>" not in markdown
    assert "`−5.0`" in markdown
    assert "-5.00" in found.text
    assert re.search(r"accgate 0.1.0</sub>\s+ours\n$", markdown)
    result, flips = of_many(30, failing=30, name="n" * 60)
    markdown = own("{% block headline %}## Ours{% endblock %}", result, flips=flips, limit=20_000)
    assert len(markdown.encode()) <= 20_000
    assert page_of(markdown).headings == ["Ours"]
    assert "Parts were left out" in page_of(markdown).text


def test_the_example_of_the_documentation_works(monkeypatch: pytest.MonkeyPatch) -> None:
    render_templates_here(monkeypatch)
    assert comment.__doc__ is not None
    example = "\n".join(line[4:] for line in comment.__doc__.split("\n\n")[2].splitlines())
    found = page_of(render_comment(result_of(verdict_of()), ABOUT, template=example))
    assert found.headings == ["Accuracy: Passed: t 75.0 to 70.0, within chance"]
    assert "m / t: " in found.text


FAULTS = (
    ("{% block headline %}{{ nope }}{% endblock %}", "'nope' is undefined"),
    ("{% block headline %}{% if %}{% endblock %}", "(line 1)"),
    ("{% block headline %}{{ ''.__class__.__mro__ }}{% endblock %}", "unsafe"),
    ("{% block headline %}{{ headline | tojson }}{% endblock %}", "No filter named 'tojson'"),
    ("{% block headline %}{% include '/etc/passwd' %}{% endblock %}", "there is no template /etc/passwd"),
    ("{% block headline %}{{ 'x' | number }}{% endblock %}", "ValueError"),
    ("{% block headline %}" + "x" * 70_000 + "{% endblock %}", "more than 65,000 bytes"),
)
GREEDY = (
    ("{% block headline %}{{ 9 ** (9 ** 9) }}{% endblock %}", "more than 1 s of processor time"),
    ("{# " + "x" * 300_000 + " #}", "more than 200,000 characters"),
)


def test_a_template_that_fails_gives_the_standard_comment_and_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    """The greedy ones in a process of their own; what only fails does so here, which is quicker."""
    monkeypatch.setattr(sandbox, "SECONDS", 1)
    for number, (blocks, fault) in enumerate((*GREEDY, *FAULTS)):
        if number == len(GREEDY):
            render_templates_here(monkeypatch)
        found = page_of(own(blocks))
        assert found.headings == ["✕ Regression: t fell 5.0 points, 75.0 to 70.0"], blocks
        assert "comment template of this repository was not used" in found.text, blocks
        assert fault in found.text.replace("\u200b", ""), blocks
        assert_inert(found, links=(URL,))


def test_a_template_without_extends_is_the_whole_comment() -> None:
    template = "{{ symbol }} {{ about.title }} {{ result.checks | length }}"
    assert render_comment(result_of(verdict_of()), ABOUT, template=template) == "✓ accgate 1\n"
